//===- View.cpp - views as lists of buffer pieces -------------------------------------------===//
#include "View.h"

#include "spyre/Base/Status.h"

#include <algorithm>
#include <set>

namespace spyre::views {

View View::whole(int64_t buffer, const std::vector<int64_t> &shape) {
  View view;
  view.buffer = buffer;
  view.offset.assign(shape.size(), 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    view.dims.push_back(shape[i] == 1 ? Atoms{} : Atoms{{int64_t(i), shape[i], 1}});
  }
  return view;
}

std::vector<int64_t> View::shape() const {
  std::vector<int64_t> sizes;
  for (const Atoms &atoms : dims) {
    sizes.push_back(extentOf(atoms));
  }
  return sizes;
}

bool View::isWhole(const std::vector<int64_t> &bufferShape) const {
  View all = whole(buffer, bufferShape);
  return dims == all.dims && offset == all.offset && shape() == bufferShape;
}

int64_t extentOf(const Atoms &atoms) {
  int64_t extent = 1;
  for (const Atom &atom : atoms) {
    extent *= atom.extent;
  }
  return extent;
}

int64_t atomCount(const View &view) {
  int64_t count = 0;
  for (const Atoms &atoms : view.dims) {
    count += int64_t(atoms.size());
  }
  return count;
}

Atoms normalize(const Atoms &atoms) {
  Atoms result;
  for (const Atom &atom : atoms) {
    if (atom.extent == 1) {
      continue;
    }
    bool joins = !result.empty() && result.back().dim == atom.dim &&
                 (atom.dim == kBroadcast || result.back().stride == atom.stride * atom.extent);
    if (joins) {
      result.back().extent *= atom.extent;
      result.back().stride = atom.stride;
    } else {
      result.push_back(atom);
    }
  }
  return result;
}

View permute(const View &view, const std::vector<int64_t> &order) {
  View result{view.buffer, {}, view.offset};
  for (int64_t dim : order) {
    result.dims.push_back(view.dims[dim]);
  }
  return result;
}

View broadcast(const View &view, const std::vector<int64_t> &shape) {
  View result{view.buffer, {}, view.offset};
  size_t added = shape.size() - view.dims.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    Atoms atoms = i < added ? Atoms{} : view.dims[i - added];
    if (extentOf(atoms) == 1 && shape[i] != 1) {
      atoms = {{kBroadcast, shape[i], 1}};
    }
    result.dims.push_back(atoms);
  }
  return result;
}

std::optional<View> reshape(const View &view, const std::vector<int64_t> &shape) {
  Atoms pieces;
  for (const Atoms &atoms : view.dims) {
    pieces.insert(pieces.end(), atoms.begin(), atoms.end());
  }
  View result{view.buffer, {}, view.offset};
  result.dims.resize(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t needed = shape[i];
    Atoms taken; // innermost first
    while (needed > 1) {
      SPYRE_CHECK(!pieces.empty(), "both shapes have the same number of elements");
      Atom &last = pieces.back();
      if (needed % last.extent == 0) {
        needed /= last.extent;
        taken.push_back(last);
        pieces.pop_back();
      } else if (last.extent % needed == 0) {
        taken.push_back({last.dim, needed, last.stride});
        last.extent /= needed;
        last.stride *= last.dim == kBroadcast ? 1 : needed;
        needed = 1;
      } else {
        return std::nullopt;
      }
    }
    std::reverse(taken.begin(), taken.end());
    result.dims[i] = normalize(taken);
  }
  return result;
}

/// Atoms of a slice; the place where it begins is added to \p offset.
static std::optional<Atoms> sliceAtoms(const Atoms &atoms, int64_t start, int64_t extent,
                                       int64_t step, std::vector<int64_t> &offset) {
  if (atoms.empty()) {
    return Atoms{};
  }
  const Atom &first = atoms.front();
  const Atoms rest(atoms.begin() + 1, atoms.end());
  const int64_t inner = extentOf(rest);
  auto advance = [&](int64_t steps) {
    if (first.dim != kBroadcast) {
      offset[size_t(first.dim)] += steps * first.stride;
    }
  };
  const int64_t last = start + (extent - 1) * step;
  if (start / inner == last / inner) { // inside one entry of the first atom
    advance(start / inner);
    return sliceAtoms(rest, start % inner, extent, step, offset);
  }
  if (step == 1 && start % inner == 0 && extent % inner == 0) { // whole entries
    advance(start / inner);
    Atoms sliced{{first.dim, extent / inner, first.stride}};
    sliced.insert(sliced.end(), rest.begin(), rest.end());
    return normalize(sliced);
  }
  if (step % inner == 0) { // one place in every so many entries
    advance(start / inner);
    const int64_t every = first.dim == kBroadcast ? 1 : step / inner;
    std::optional<Atoms> fixed = sliceAtoms(rest, start % inner, 1, 1, offset);
    return fixed ? std::optional(normalize({{first.dim, extent, first.stride * every}}))
                 : std::nullopt;
  }
  return std::nullopt;
}

std::optional<View> slice(const View &view, int64_t dim, int64_t start, int64_t extent,
                          int64_t step) {
  View result = view;
  std::optional<Atoms> atoms =
      sliceAtoms(view.dims[size_t(dim)], start, extent, step, result.offset);
  if (!atoms) {
    return std::nullopt;
  }
  result.dims[size_t(dim)] = *atoms;
  return result;
}

View dropDim(const View &view, int64_t dim) {
  View result = view;
  result.dims.erase(result.dims.begin() + dim);
  return result;
}

std::optional<View> unfold(const View &view, int64_t dim, int64_t size, int64_t step) {
  const Atoms &atoms = view.dims[size_t(dim)];
  const int64_t windows = (extentOf(atoms) - size) / step + 1;
  const bool joined = atoms.size() > 1 || (atoms.size() == 1 && atoms[0].dim == kBroadcast);
  if (joined || (windows > 1 && step < size)) {
    return std::nullopt;
  }
  View result = view;
  const Atom atom = atoms.empty() ? Atom{} : atoms[0];
  result.dims[size_t(dim)] = normalize({{atom.dim, windows, atom.stride * step}});
  result.dims.push_back(normalize({{atom.dim, size, atom.stride}}));
  return result;
}

bool nests(const View &view) {
  std::vector<std::vector<int64_t>> strides(view.offset.size());
  for (const Atoms &atoms : view.dims) {
    for (const Atom &atom : atoms) {
      if (atom.dim != kBroadcast && atom.extent > 1) {
        strides[size_t(atom.dim)].push_back(atom.stride);
      }
    }
  }
  for (std::vector<int64_t> &steps : strides) {
    std::sort(steps.begin(), steps.end());
    for (size_t i = 1; i < steps.size(); ++i) {
      if (steps[i] % steps[i - 1] != 0) {
        return false;
      }
    }
  }
  return true;
}

std::optional<std::vector<int64_t>> commonSegments(int64_t extent,
                                                   const std::vector<const Atoms *> &operands) {
  std::set<int64_t> cuts = {1, extent};
  for (const Atoms *atoms : operands) {
    int64_t inner = 1;
    for (size_t i = atoms->size(); i-- > 0;) {
      inner *= (*atoms)[i].extent;
      cuts.insert(inner);
    }
  }
  std::vector<int64_t> segments;
  int64_t previous = 0;
  for (int64_t cut : cuts) {
    if (previous != 0) {
      if (cut % previous != 0) {
        return std::nullopt;
      }
      segments.push_back(cut / previous);
    }
    previous = cut;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

std::vector<Step> stepsOf(const Atoms &atoms, const std::vector<int64_t> &segments) {
  std::vector<Step> steps(segments.size());
  size_t atom = atoms.size();
  int64_t covered =
      0; // elements of the current atom already covered by inner segments; 0 = take the next
  for (size_t i = segments.size(); i-- > 0;) {
    if (covered == 0) {
      if (atom == 0) {
        break; // the operand has size 1 along this loop: broadcast
      }
      --atom;
      covered = 1;
    }
    const Atom &current = atoms[atom];
    if (current.dim != kBroadcast) {
      steps[i] = {current.dim, current.stride * covered};
    }
    covered *= segments[i];
    if (covered == current.extent) {
      covered = 0;
    }
  }
  return steps;
}

} // namespace spyre::views
