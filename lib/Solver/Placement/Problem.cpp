//===- Problem.cpp - what a sound problem is -------------------------------------------------===//
#include "spyre/Solver/Placement/Problem.h"

#include "fmt/ranges.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>

namespace spyre::solver::placement {
namespace {

constexpr std::array<std::string_view, 3> kVariantNames = {"fit", "min", "pick"};

/// A name of a megabyte does not belong in a message.
std::string shown(const Buffer &buffer) { return buffer.name.substr(0, 60); }

Status checkRanges(const Problem &problem, const Buffer &buffer) {
  auto bad = [&](const char *field, int64_t value, int64_t low, int64_t high) {
    return error<3040>("buffer '{}': {} is {}, outside {}..{}", shown(buffer), field, value, low,
                       high);
  };
  if (buffer.lower < -kMaxTick || buffer.lower > kMaxTick) {
    return bad("lower", buffer.lower, -kMaxTick, kMaxTick);
  }
  if (buffer.upper <= buffer.lower || buffer.upper > kMaxTick) {
    return bad("upper", buffer.upper, buffer.lower + 1, kMaxTick);
  }
  if (buffer.sizeBytes < 1 || buffer.sizeBytes > kMaxBytes) {
    return bad("size", buffer.sizeBytes, 1, kMaxBytes);
  }
  if (buffer.alignment < 0 || buffer.alignment > kMaxBytes) {
    return bad("alignment", buffer.alignment, 0, kMaxBytes);
  }
  if (buffer.value && (*buffer.value < 0 || *buffer.value > kMaxValue)) {
    return bad("value", *buffer.value, 0, kMaxValue);
  }
  if (buffer.hint && (*buffer.hint < 0 || *buffer.hint > kMaxBytes)) {
    return bad("hint", *buffer.hint, 0, kMaxBytes);
  }
  if (buffer.pinned) {
    if (*buffer.pinned < 0 || *buffer.pinned > kMaxBytes) {
      return bad("offset", *buffer.pinned, 0, kMaxBytes);
    }
    if (*buffer.pinned % problem.alignmentOf(buffer) != 0) {
      return error<3040>("buffer '{}': its offset {} is no multiple of the alignment {}; give a "
                         "multiple or an alignment of 1",
                         shown(buffer), *buffer.pinned, problem.alignmentOf(buffer));
    }
  }
  for (size_t i = 0; i < buffer.uses.size(); ++i) {
    if (buffer.uses[i] < buffer.lower || buffer.uses[i] >= buffer.upper ||
        (i > 0 && buffer.uses[i] <= buffer.uses[i - 1])) {
      return error<3040>("buffer '{}': use {} is outside its lifetime [{}, {}) or not ascending",
                         shown(buffer), buffer.uses[i], buffer.lower, buffer.upper);
    }
  }
  return Status::success();
}

Status checkGaps(const Buffer &buffer) {
  int64_t last = buffer.lower;
  for (const Gap &gap : buffer.gaps) {
    if (gap.lower < last || gap.upper <= gap.lower || gap.upper > buffer.upper) {
      return error<3042>("buffer '{}': gap {}-{} is empty, outside the lifetime {}-{} or before "
                         "the end of the gap before it; give ascending disjoint gaps",
                         shown(buffer), gap.lower, gap.upper, buffer.lower, buffer.upper);
    }
    if (gap.low < 0 || gap.high < gap.low || gap.high > buffer.sizeBytes) {
      return error<3042>("buffer '{}': window {}:{} of gap {}-{} is not inside its {} bytes",
                         shown(buffer), gap.low, gap.high, gap.lower, gap.upper, buffer.sizeBytes);
    }
    last = gap.upper;
  }
  return Status::success();
}

Status checkParents(const Problem &problem, size_t index) {
  const Buffer &child = problem.buffers[index];
  std::set<int> seen;
  for (int parentIndex : child.parents) {
    if (parentIndex < 0 || size_t(parentIndex) >= problem.buffers.size() ||
        size_t(parentIndex) == index) {
      return error<3043>("buffer '{}': parent number {} is no other buffer of the problem",
                         shown(child), parentIndex);
    }
    const Buffer &parent = problem.buffers[parentIndex];
    if (!seen.insert(parentIndex).second) {
      return error<3043>("buffer '{}' names its parent '{}' twice", shown(child), shown(parent));
    }
    if (parent.upper != child.lower + 1) {
      return error<3043>("buffer '{}' cannot take the place of '{}': the parent ends at {}, and "
                         "must end at {}, one tick after the child begins",
                         shown(child), shown(parent), parent.upper, child.lower + 1);
    }
    if (child.sizeBytes > parent.sizeBytes) {
      return error<3043>("buffer '{}' of {} bytes cannot take the place of '{}', which has {}",
                         shown(child), child.sizeBytes, shown(parent), parent.sizeBytes);
    }
    // A parent of one tick is read there and nowhere else: only an input can be that.
    if (parent.lower == child.lower && (!parent.firstUseIsRead || child.firstUseIsRead)) {
      return error<3043>("buffer '{}' cannot take the place of '{}', which begins at the same tick",
                         shown(child), shown(parent));
    }
    if (!parent.gaps.empty() && parent.gaps.back().upper == parent.upper) {
      return error<3043>("buffer '{}' cannot take the place of '{}', which ends with a gap",
                         shown(child), shown(parent));
    }
  }
  return Status::success();
}

} // namespace

std::string_view nameOf(Variant variant) { return kVariantNames[size_t(variant)]; }

Expected<Variant> parseVariant(std::string_view name) {
  for (size_t i = 0; i < kVariantNames.size(); ++i) {
    if (name == kVariantNames[i]) {
      return Variant(i);
    }
  }
  return error<3050>("the variant is '{}', not {}", name.substr(0, 60),
                     fmt::join(kVariantNames, ", "));
}

Status validate(const Problem &problem) {
  if (problem.capacityBytes < 1 || problem.capacityBytes > kMaxBytes) {
    return error<3040>("capacity is {} bytes, outside 1..{}", problem.capacityBytes, kMaxBytes);
  }
  if (problem.alignment < 1 || problem.alignment > kMaxBytes) {
    return error<3040>("alignment is {}, outside 1..{}", problem.alignment, kMaxBytes);
  }
  if (problem.buffers.size() > size_t(kMaxBuffers)) {
    return error<3040>("{} buffers, at most {} can be placed", problem.buffers.size(), kMaxBuffers);
  }
  std::unordered_set<std::string> names;
  for (const Buffer &buffer : problem.buffers) {
    if (buffer.name.empty()) {
      return error<3041>("a buffer has no name");
    }
    if (!names.insert(buffer.name).second) {
      return error<3041>("two buffers are named '{}'", shown(buffer));
    }
    SPYRE_RETURN_IF_ERROR(checkRanges(problem, buffer));
    SPYRE_RETURN_IF_ERROR(checkGaps(buffer));
  }
  int64_t bytes = 0, value = 0;
  for (const Buffer &buffer : problem.buffers) {
    bytes += buffer.sizeBytes;
    value += buffer.worth();
    if (bytes > kMaxSum || value > kMaxSum) {
      return error<3040>("the sizes or the values of the buffers add up to more than {}", kMaxSum);
    }
  }
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(checkParents(problem, i));
  }
  for (const Transient &need : problem.transients) {
    if (need.tick < -kMaxTick || need.tick > kMaxTick || need.bytes < 0 ||
        need.bytes > problem.capacityBytes) {
      return error<3040>("the operation at tick {} needs {} bytes of its own, outside 0..{}",
                         need.tick, need.bytes, problem.capacityBytes);
    }
  }
  return Status::success();
}

int64_t valueOf(const Problem &problem, const Offsets &offsets) {
  int64_t sum = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    sum += offsets[i] ? problem.buffers[i].worth() : 0;
  }
  return sum;
}

int64_t heightOf(const Problem &problem, const Offsets &offsets) {
  int64_t height = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i]) {
      height = std::max(height, *offsets[i] + problem.buffers[i].sizeBytes);
    }
  }
  return height;
}

} // namespace spyre::solver::placement
