//===- AlignTensors.cpp - one iteration space in which no tensor divides a variable ---------===//
#include "spyre/Layout/AlignTensors.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace spyre::layout {

namespace {

Status checkTensor(const AlignTensor &tensor) {
  if (tensor.deviceSize.empty() || tensor.deviceSize.size() != tensor.coordinates.size()) {
    return error<2023>("{} coordinates for {} device dimensions; give one per dimension",
                       tensor.coordinates.size(), tensor.deviceSize.size());
  }
  for (size_t dim = 0; dim < tensor.deviceSize.size(); ++dim) {
    for (const AlignTerm &term : tensor.coordinates[dim].terms) {
      if (term.num < 1 || term.den < 1 || term.mod < 1 || (term.num > 1 && term.den > 1) ||
          term.variable < 0) {
        return error<2023>("coordinate {} has the factor {}/{}; give a whole number or its inverse",
                           dim, term.num, term.den);
      }
    }
    if (tensor.deviceSize[dim] < 1 || tensor.coordinates[dim].offset < 0) {
      return error<2023>("dimension {} has size {} and offset {}", dim, tensor.deviceSize[dim],
                         tensor.coordinates[dim].offset);
    }
  }
  return Status::success();
}

/// The terms of one dimension, coarse first; each takes its part of the size and of the offset.
Expected<std::vector<AlignTerm>> splitDim(AlignCoordinate coordinate, int64_t size) {
  std::vector<AlignTerm> &terms = coordinate.terms;
  std::stable_sort(terms.begin(), terms.end(), [](const AlignTerm &a, const AlignTerm &b) {
    return std::pair(a.num, a.mod) < std::pair(b.num, b.mod);
  });
  int64_t offset = coordinate.offset;
  for (size_t i = terms.size(); i-- > 0;) {
    terms[i].offset = offset / terms[i].num;
    offset %= terms[i].num;
  }
  if (offset != 0) {
    return error<2023>("the offset {} lies between the elements that a variable reaches",
                       coordinate.offset);
  }
  int64_t rest = size;
  for (size_t i = 0; i + 1 < terms.size(); ++i) {
    const int64_t next = terms[i + 1].num;
    if (next % terms[i].num != 0 || rest % (next / terms[i].num) != 0) {
      return error<2023>("terms with factors {} and {} overlap in a dimension of {}", terms[i].num,
                         next, size);
    }
    terms[i].dimSize = next / terms[i].num;
    rest /= terms[i].dimSize;
  }
  terms.back().dimSize = rest;
  if (terms.size() > 1) {
    for (AlignTerm &term : terms) {
      term.num = 1;
    }
  }
  std::reverse(terms.begin(), terms.end());
  return std::move(terms);
}

/// Quotient and remainder of one variable in neighbouring dimensions are one term.
bool fuse(AlignTerm &left, const AlignTerm &right) {
  if (left.variable < 0 || left.variable != right.variable || left.num != 1 || right.num != 1 ||
      left.den != right.mod || right.dimSize * right.den != right.mod) {
    return false;
  }
  left.den = right.den;
  left.offset = left.offset * right.dimSize + right.offset;
  left.dimSize *= right.dimSize;
  return true;
}

} // namespace

Expected<std::vector<AlignTerm>> normalizeCoordinates(const AlignTensor &tensor, int64_t firstNew) {
  SPYRE_RETURN_IF_ERROR(checkTensor(tensor));
  std::vector<AlignTerm> result;
  const size_t rank = tensor.deviceSize.size();
  for (size_t dim = 0; dim < rank; ++dim) {
    const AlignCoordinate &coordinate = tensor.coordinates[dim];
    const int64_t size = tensor.deviceSize[dim];
    const bool isStick = dim + 1 == rank;
    std::vector<AlignTerm> terms;
    if (coordinate.opaque >= 0) {
      terms = {{1, 1, -1, 1, size, 0, coordinate.opaque}};
    } else if (!coordinate.terms.empty()) {
      SPYRE_ASSIGN_OR_RETURN(terms, splitDim(coordinate, size));
      if (isStick && terms.size() > 1) {
        return error<2023>("the stick is read by {} variables; one is possible", terms.size());
      }
    } else if (size > 1 && !isStick) {
      terms = {{1, 1, firstNew++, 1, size, coordinate.offset, -1}};
    } else if (coordinate.offset != 0 && !isStick) {
      return error<2023>("element {} of a dimension of one", coordinate.offset);
    } else {
      terms = {{1, 1, -1, 1, size, coordinate.offset, -1}};
    }
    for (const AlignTerm &term : terms) {
      const bool isNothing = term.variable < 0 && term.opaque < 0 && term.dimSize == 1;
      if (!isStick && (isNothing || (!result.empty() && fuse(result.back(), term)))) {
        continue;
      }
      result.push_back(term);
    }
  }
  return result;
}

namespace {

/// Pieces of a variable between points: points[i] to points[i + 1] is variable pieces[i].
struct Pieces {
  std::vector<int64_t> points, variables;
};

class Aligner {
public:
  explicit Aligner(std::vector<AlignVariable> variables)
      : given(int64_t(variables.size())), space(std::move(variables)) {}

  Expected<Alignment> run(const std::vector<AlignTensor> &tensors) {
    int64_t synthetic = 0;
    for (const AlignTensor &tensor : tensors) {
      SPYRE_ASSIGN_OR_RETURN(std::vector<AlignTerm> terms, normalizeCoordinates(tensor, given));
      for (const AlignTerm &term : terms) {
        synthetic = std::max(synthetic, term.variable - given + 1);
      }
      normal.push_back(std::move(terms));
    }
    space.resize(size_t(given + synthetic), {1, 1});
    for (std::vector<AlignTerm> &terms : normal) {
      addMissing(terms, synthetic);
    }
    SPYRE_RETURN_IF_ERROR(cutVariables());
    Alignment result;
    for (const std::vector<AlignTerm> &terms : normal) {
      SPYRE_ASSIGN_OR_RETURN(std::vector<AlignedDim> dims, rewrite(terms));
      result.tensors.push_back(std::move(dims));
    }
    equaliseRanks(result.tensors);
    result.variables = space;
    return result;
  }

private:
  /// A tensor without a synthetic variable has one element of it.
  void addMissing(std::vector<AlignTerm> &terms, int64_t synthetic) const {
    for (int64_t variable = given + synthetic; variable-- > given;) {
      if (std::none_of(terms.begin(), terms.end(),
                       [&](const AlignTerm &term) { return term.variable == variable; })) {
        terms.insert(terms.begin(), {1, 1, variable, 1, 1, 0, -1});
      }
    }
  }

  /// The variable runs through the tensor's dimension more than once.
  bool isRepeated(const std::vector<AlignTerm> &terms, int64_t variable) const {
    int64_t most = 0;
    for (const AlignTerm &term : terms) {
      most = term.variable == variable ? std::max(most, term.mod) : most;
    }
    return most != 0 && most < space[size_t(variable)].range;
  }

  Status cutVariables() {
    const size_t count = space.size();
    std::vector<bool> repeated(count, false);
    for (const std::vector<AlignTerm> &terms : normal) {
      for (const AlignTerm &term : terms) {
        if (term.variable >= 0 && isRepeated(terms, term.variable)) {
          repeated[size_t(term.variable)] = true;
        }
      }
    }
    std::vector<std::set<int64_t>> points(count);
    for (const std::vector<AlignTerm> &terms : normal) {
      for (const AlignTerm &term : terms) {
        if (term.variable < 0) {
          continue;
        }
        const bool isStick = term.variable == terms.back().variable;
        for (int64_t point : {term.den, term.mod}) {
          if (!isStick || point != terms.back().dimSize || repeated[size_t(term.variable)]) {
            points[size_t(term.variable)].insert(point);
          }
        }
      }
    }
    for (size_t variable = 0; variable < count; ++variable) {
      pieces.push_back({});
      SPYRE_RETURN_IF_ERROR(cut(int64_t(variable), points[variable]));
    }
    return Status::success();
  }

  Status cut(int64_t variable, std::set<int64_t> points) {
    const int64_t range = space[size_t(variable)].range;
    points.insert(1);
    points.insert(range);
    Pieces &result = pieces[size_t(variable)];
    result.points.assign(points.begin(), points.end());
    int64_t cores = space[size_t(variable)].split;
    for (size_t i = 0; i + 1 < result.points.size(); ++i) {
      if (result.points[i + 1] % result.points[i] != 0) {
        return error<2023>("variable {} of {} is read in pieces of {} and of {}; one must divide "
                           "the other",
                           variable, range, result.points[i], result.points[i + 1]);
      }
      if (i > 0) {
        space.push_back({});
      }
      const int64_t piece = i == 0 ? variable : int64_t(space.size()) - 1;
      result.variables.push_back(piece);
      space[size_t(piece)].range = result.points[i + 1] / result.points[i];
    }
    for (size_t i = result.variables.size(); i-- > 0;) { // the outermost piece is divided first
      AlignVariable &piece = space[size_t(result.variables[i])];
      piece.split = std::gcd(cores, piece.range);
      cores /= piece.split;
    }
    return Status::success();
  }

  Expected<std::vector<AlignedDim>> rewrite(const std::vector<AlignTerm> &terms) const {
    std::vector<AlignedDim> dims;
    for (size_t i = 0; i + 1 < terms.size(); ++i) {
      SPYRE_RETURN_IF_ERROR(rewriteTerm(terms[i], dims));
    }
    const AlignTerm &stick = terms.back();
    if (stick.variable >= 0) {
      const Pieces &cuts = pieces[size_t(stick.variable)];
      if (cuts.points.size() > 2 && cuts.points[1] % stick.dimSize != 0) {
        return error<2023>("a stick of {} elements is cut after {}, since another tensor reads its "
                           "variable in such pieces",
                           stick.dimSize, cuts.points[1]);
      }
    }
    dims.push_back({stick.dimSize, stick.variable, 0, stick.variable < 0 ? 0 : stick.dimSize,
                    stick.offset, stick.opaque});
    return dims;
  }

  /// One dimension per piece between den and mod, outermost first.
  Status rewriteTerm(const AlignTerm &term, std::vector<AlignedDim> &dims) const {
    if (term.variable < 0) {
      dims.push_back({term.dimSize, -1, 0, 0, term.offset, term.opaque});
      return Status::success();
    }
    const Pieces &cuts = pieces[size_t(term.variable)];
    int64_t offset = term.offset * term.den;
    bool isOutermost = true;
    for (size_t i = cuts.variables.size(); i-- > 0;) {
      const int64_t begin = cuts.points[i], end = cuts.points[i + 1];
      if (begin >= term.mod || end <= term.den) {
        continue;
      }
      // The outer part of a stick begins inside its piece.
      const int64_t divisor = begin < term.den ? term.den / begin : 1;
      if (isOutermost && term.dimSize * term.den % begin != 0) {
        return error<2023>("a dimension of {} elements is read in pieces of {}",
                           term.dimSize * term.den, begin);
      }
      int64_t size = isOutermost ? term.dimSize * term.den / begin : end / begin;
      size /= divisor;
      const int64_t unit = begin * divisor;
      dims.push_back({size, cuts.variables[i], divisor == 1 ? 0 : divisor, 0, offset / unit, -1});
      offset %= unit;
      isOutermost = false;
    }
    if (isOutermost) { // one element of the variable
      dims.push_back({term.dimSize, term.variable, 0, 0, term.offset, -1});
    }
    if (term.num > 1) {
      dims.push_back({term.num, -1, 0, 0, 0, -1});
    }
    return Status::success();
  }

  static bool isFree(const AlignedDim &dim) {
    return dim.size == 1 && dim.variable < 0 && dim.offset == 0 && dim.opaque < 0;
  }

  /// A stick has an outer part, or room for it.
  static bool hasOuterStick(const std::vector<AlignedDim> &dims) {
    const int64_t variable = dims.back().variable;
    return std::any_of(dims.begin(), dims.end() - 1, [&](const AlignedDim &dim) {
      return isFree(dim) || (variable >= 0 && dim.variable == variable);
    });
  }

  static void equaliseRanks(std::vector<std::vector<AlignedDim>> &tensors) {
    size_t rank = 0;
    for (const std::vector<AlignedDim> &dims : tensors) {
      rank = std::max(rank, dims.size() + (hasOuterStick(dims) ? 0 : 1));
    }
    for (std::vector<AlignedDim> &dims : tensors) {
      dims.insert(dims.begin(), rank - dims.size(), AlignedDim{});
      const AlignedDim stick = dims.back();
      const bool hasOuter = std::any_of(dims.begin(), dims.end() - 1, [&](const AlignedDim &dim) {
        return dim.variable == stick.variable;
      });
      auto free = std::find_if(dims.begin(), dims.end() - 1, isFree);
      if (stick.variable >= 0 && !hasOuter && free != dims.end() - 1) {
        *free = {1, stick.variable, stick.size, 0, 0, -1};
      }
    }
  }

  const int64_t given;
  std::vector<AlignVariable> space;
  std::vector<std::vector<AlignTerm>> normal;
  std::vector<Pieces> pieces;
};

} // namespace

Expected<Alignment> alignTensors(const std::vector<AlignVariable> &variables,
                                 const std::vector<AlignTensor> &tensors) {
  for (const AlignVariable &variable : variables) {
    if (variable.range < 1 || variable.split < 1) {
      return error<2023>("a variable of range {} on {} cores", variable.range, variable.split);
    }
  }
  for (const AlignTensor &tensor : tensors) {
    for (const AlignCoordinate &coordinate : tensor.coordinates) {
      for (const AlignTerm &term : coordinate.terms) {
        if (term.variable >= int64_t(variables.size())) {
          return error<2023>("variable {} is not in the iteration space", term.variable);
        }
      }
    }
  }
  return Aligner(variables).run(tensors);
}

} // namespace spyre::layout
