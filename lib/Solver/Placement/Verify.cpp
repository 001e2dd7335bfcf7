//===- Verify.cpp - the judge of every plan --------------------------------------------------===//
//
// It shares nothing with the solvers. Each buffer becomes rectangles in time and address; a child
// that took the place of a parent begins one tick later, since the parent's rectangle holds the
// place for the tick they share. Then a sweep over time keeps what is alive in the order of
// addresses: two that overlap are found when the second begins.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Solver/Placement/Problem.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace spyre::solver::placement {
namespace {

struct Rectangle {
  int64_t lower, upper, low, high;
  int buffer;
};

/// Rectangles of a buffer from \p lower on.
void addRectangles(const Problem &problem, int index, int64_t offset, int64_t lower,
                   std::vector<Rectangle> &out) {
  const Buffer &buffer = problem.buffers[index];
  int64_t at = lower;
  auto add = [&](int64_t upper, int64_t low, int64_t high) {
    if (at < upper && low < high) {
      out.push_back({at, upper, offset + low, offset + high, index});
    }
    at = std::max(at, upper);
  };
  for (const Gap &gap : buffer.gaps) {
    add(gap.lower, 0, buffer.sizeBytes);
    add(gap.upper, gap.low, gap.high);
  }
  add(buffer.upper, 0, buffer.sizeBytes);
}

/// The parent whose place the child has, or -1. A parent hands over once.
Expected<int> takenParent(const Problem &problem, const Offsets &offsets, int child,
                          std::vector<int> &heir) {
  for (int parent : problem.buffers[child].parents) {
    if (offsets[parent] != offsets[child]) {
      continue;
    }
    if (heir[parent] >= 0) {
      return error<3044>("'{}' and '{}' both took the place of '{}' at {}",
                         problem.buffers[heir[parent]].name, problem.buffers[child].name,
                         problem.buffers[parent].name, *offsets[parent]);
    }
    heir[parent] = child;
    return parent;
  }
  return -1;
}

Status checkOne(const Problem &problem, int index, int64_t offset) {
  const Buffer &buffer = problem.buffers[index];
  if (offset < 0 || offset > kMaxBytes) {
    return error<3044>("'{}' is at {}, which is no address", buffer.name, offset);
  }
  if (offset % problem.alignmentOf(buffer) != 0) {
    return error<3044>("'{}' is at {}, no multiple of its alignment {}", buffer.name, offset,
                       problem.alignmentOf(buffer));
  }
  if (buffer.forbidden) {
    return error<3044>("'{}' is placed at {} though it is forbidden", buffer.name, offset);
  }
  if (buffer.pinned && *buffer.pinned != offset) {
    return error<3044>("'{}' is at {} though it is pinned at {}", buffer.name, offset,
                       *buffer.pinned);
  }
  if (offset + buffer.sizeBytes > problem.capacityBytes) {
    return error<3044>("'{}' at {} ends at {}, above the capacity {}", buffer.name, offset,
                       offset + buffer.sizeBytes, problem.capacityBytes);
  }
  return Status::success();
}

Status clash(const Problem &problem, const Rectangle &a, const Rectangle &b) {
  return error<3044>("'{}' [{}, {}) and '{}' [{}, {}) overlap at tick {}",
                     problem.buffers[a.buffer].name, a.low, a.high, problem.buffers[b.buffer].name,
                     b.low, b.high, std::max(a.lower, b.lower));
}

/// Two that share a byte at a tick, or none.
std::optional<std::pair<Rectangle, Rectangle>> firstClash(std::vector<Rectangle> &rectangles) {
  std::sort(rectangles.begin(), rectangles.end(), [](const Rectangle &a, const Rectangle &b) {
    return std::tie(a.lower, a.low, a.buffer) < std::tie(b.lower, b.low, b.buffer);
  });
  // By end, to know who leaves; by address, to find neighbours.
  std::multimap<int64_t, const Rectangle *> leaving;
  std::map<int64_t, const Rectangle *> alive;
  for (const Rectangle &rectangle : rectangles) {
    while (!leaving.empty() && leaving.begin()->first <= rectangle.lower) {
      alive.erase(leaving.begin()->second->low);
      leaving.erase(leaving.begin());
    }
    auto next = alive.lower_bound(rectangle.low);
    if (next != alive.end() && next->second->low < rectangle.high) {
      return std::pair(*next->second, rectangle);
    }
    if (next != alive.begin() && std::prev(next)->second->high > rectangle.low) {
      return std::pair(*std::prev(next)->second, rectangle);
    }
    alive.emplace(rectangle.low, &rectangle);
    leaving.emplace(rectangle.upper, &rectangle);
  }
  return std::nullopt;
}

Status checkTransients(const Problem &problem, const std::vector<Rectangle> &rectangles) {
  std::map<int64_t, int64_t> needs;
  for (const Transient &need : problem.transients) {
    int64_t &most = needs[need.tick];
    most = std::max(most, need.bytes);
  }
  for (const Rectangle &rectangle : rectangles) {
    for (auto it = needs.lower_bound(rectangle.lower);
         it != needs.end() && it->first < rectangle.upper; ++it) {
      if (rectangle.high > problem.capacityBytes - it->second) {
        return error<3044>("'{}' ends at {}, but the operation at tick {} needs the {} bytes below "
                           "{}",
                           problem.buffers[rectangle.buffer].name, rectangle.high, it->first,
                           it->second, problem.capacityBytes);
      }
    }
  }
  return Status::success();
}

/// Does the child share the place of a parent that has no other heir yet?
bool takesPinnedPlace(const Problem &problem, int child, std::vector<char> &handedOver) {
  const Buffer &buffer = problem.buffers[child];
  for (int parent : buffer.parents) {
    const Buffer &from = problem.buffers[parent];
    if (!from.forbidden && from.pinned == buffer.pinned && !handedOver[parent]) {
      handedOver[parent] = 1;
      return true;
    }
  }
  return false;
}

std::string describePin(const Problem &problem, const Rectangle &pin) {
  const Buffer &buffer = problem.buffers[pin.buffer];
  return fmt::format("'{}' (bytes {} to {}, ticks {} to {})", buffer.name.substr(0, 60), pin.low,
                     pin.high - 1, buffer.lower, buffer.upper - 1);
}

} // namespace

Status checkPins(const Problem &problem) {
  std::vector<Rectangle> rectangles;
  std::vector<char> handedOver(problem.buffers.size(), 0);
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (buffer.pinned && !buffer.forbidden) {
      const int64_t shared = takesPinnedPlace(problem, int(i), handedOver) ? 1 : 0;
      addRectangles(problem, int(i), *buffer.pinned, buffer.lower + shared, rectangles);
    }
  }
  const auto two = firstClash(rectangles);
  if (!two) {
    return Status::success();
  }
  return error<3120>("pinned buffers {} and {} share bytes at tick {}; move one of the pins, or "
                     "let one of the buffers be free or forbidden",
                     describePin(problem, two->first), describePin(problem, two->second),
                     std::max(two->first.lower, two->second.lower));
}

Status verifyPlan(const Problem &problem, const Offsets &offsets, Variant variant) {
  SPYRE_RETURN_IF_ERROR(validate(problem));
  if (offsets.size() != problem.buffers.size()) {
    return error<3044>("the plan has {} entries for {} buffers", offsets.size(),
                       problem.buffers.size());
  }
  std::vector<Rectangle> rectangles;
  std::vector<int> heir(offsets.size(), -1);
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (!offsets[i]) {
      if (variant != Variant::Pick) {
        return error<3044>("'{}' has no place", problem.buffers[i].name);
      }
      continue;
    }
    SPYRE_RETURN_IF_ERROR(checkOne(problem, int(i), *offsets[i]));
    SPYRE_ASSIGN_OR_RETURN(int parent, takenParent(problem, offsets, int(i), heir));
    addRectangles(problem, int(i), *offsets[i], problem.buffers[i].lower + (parent >= 0 ? 1 : 0),
                  rectangles);
  }
  if (const auto two = firstClash(rectangles)) {
    return clash(problem, two->first, two->second);
  }
  return checkTransients(problem, rectangles);
}

} // namespace spyre::solver::placement
