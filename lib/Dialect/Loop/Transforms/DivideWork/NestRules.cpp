//===- NestRules.cpp - dependences between operations in one loop ---------------------------===//
#include "NestRules.h"

#include <algorithm>

namespace spyre::loop {

bool Footprint::movesAt(size_t level) const {
  return llvm::any_of(motion[level], [](int64_t step) { return step != 0; });
}

int64_t Footprint::stepAlong(size_t dim) const {
  int64_t step = 0;
  for (const auto &steps : motion) {
    step = step == 0 || (steps[dim] > 0 && steps[dim] < step) ? steps[dim] : step;
  }
  return step;
}

Footprint footprintOf(ComputeOp op, unsigned operand, const Levels &levels, size_t depth) {
  const Access access = accessOf(op, operand);
  llvm::SmallVector<int64_t> extents(op.getExtents());
  for (size_t level = 0; level < depth; ++level) {
    if (levels[level].var >= 0) {
      extents[size_t(levels[level].var)] /= levels[level].count;
    }
  }
  Footprint print;
  print.motion.assign(depth, llvm::SmallVector<int64_t, 4>(access.dims.size(), 0));
  BufferOp buffer = access.buffer;
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  for (size_t d = 0; d < access.dims.size(); ++d) {
    const LinearIndex &index = access.dims[d];
    Footprint::Range range{index.offset, index.offset};
    for (const LinearIndex::Term &term : index.terms) {
      range.last += term.coefficient * (extents[term.var] - 1);
      for (size_t level = 0; level < depth; ++level) {
        if (levels[level].var == int64_t(term.var)) {
          print.motion[level][d] += term.coefficient * stepOf(op, levels, level);
        }
      }
    }
    if (int64_t(d) == access.indirectDim) { // anywhere
      range = {0, type.getDimSize(unsigned(d)) - 1};
    }
    print.ranges.push_back(range);
  }
  return print;
}

std::optional<size_t> accumulatingLevel(ComputeOp op, const Levels &levels) {
  const int64_t firstReduced = int64_t(op.getExtents().size()) - int64_t(op.getReductions());
  for (size_t level = 0; level < levels.size(); ++level) {
    if (levels[level].var >= firstReduced) {
      return level;
    }
  }
  return std::nullopt;
}

namespace {

bool areApart(const Footprint &a, const Footprint &b) {
  for (size_t d = 0; d < a.ranges.size(); ++d) {
    if (a.ranges[d].last < b.ranges[d].first || b.ranges[d].last < a.ranges[d].first) {
      return true;
    }
  }
  return false;
}

/// Calls \p visit with operands of both that are the same buffer, one of them a result, where they
/// touch the same elements; stops at the first false.
template <typename Fn>
bool allConflicts(ComputeOp earlier, ComputeOp later, Fn &&visit) {
  const unsigned written = operandCount(earlier) - 1, result = operandCount(later) - 1;
  for (unsigned i = 0; i <= written; ++i) {
    for (unsigned j = 0; j <= result; ++j) {
      if (operandBuffer(earlier, i) != operandBuffer(later, j) || (i != written && j != result) ||
          areApart(footprintOf(earlier, i, {}, 0), footprintOf(later, j, {}, 0))) {
        continue;
      }
      if (!visit(i, j)) {
        return false;
      }
    }
  }
  return true;
}

/// \p inner touches nothing along the dimensions that \p outer moves along which it does not touch.
bool covers(const Footprint &outer, const Footprint &inner) {
  for (size_t d = 0; d < outer.ranges.size(); ++d) {
    if (outer.stepAlong(d) > 0 && (inner.ranges[d].first < outer.ranges[d].first ||
                                   inner.ranges[d].last > outer.ranges[d].last)) {
      return false;
    }
  }
  return true;
}

/// What is read follows what was written.
bool followsWriter(const Footprint &written, const Footprint &read) {
  for (size_t level = 0; level < written.motion.size(); ++level) {
    if (written.movesAt(level) && written.motion[level] != read.motion[level]) {
      return false;
    }
  }
  return covers(written, read);
}

/// Every iteration of both has elements of its own.
bool keepApart(const Footprint &a, const Footprint &b) {
  for (size_t level = 0; level < a.motion.size(); ++level) {
    if (!a.movesAt(level) || a.motion[level] != b.motion[level]) {
      return false;
    }
  }
  for (size_t d = 0; d < a.ranges.size(); ++d) {
    const int64_t step = a.stepAlong(d);
    const int64_t reach = std::max(a.ranges[d].last, b.ranges[d].last) -
                          std::min(a.ranges[d].first, b.ranges[d].first) + 1;
    if (step > 0 && reach > step) {
      return false;
    }
  }
  return true;
}

bool accumulatesIn(ComputeOp op, const Levels &levels, size_t depth) {
  const std::optional<size_t> level = accumulatingLevel(op, levels);
  return level && *level < depth;
}

} // namespace

bool areIndependent(ComputeOp earlier, ComputeOp later) {
  return allConflicts(earlier, later, [](unsigned, unsigned) { return false; });
}

size_t levelsTogether(ComputeOp earlier, const Levels &earlierLevels, ComputeOp later,
                      const Levels &laterLevels, size_t shared) {
  const unsigned written = operandCount(earlier) - 1, result = operandCount(later) - 1;
  for (size_t depth = shared; depth > 0; --depth) {
    const bool may = allConflicts(earlier, later, [&](unsigned i, unsigned j) {
      const Footprint first = footprintOf(earlier, i, earlierLevels, depth);
      const Footprint second = footprintOf(later, j, laterLevels, depth);
      // A sum is there when the last of its tiles is added, and begins before the first.
      if ((i == written && accumulatesIn(earlier, earlierLevels, depth)) ||
          (j == result && accumulatesIn(later, laterLevels, depth))) {
        return false;
      }
      return i == written && j != result ? followsWriter(first, second) : keepApart(first, second);
    });
    if (may) {
      return depth;
    }
  }
  return 0;
}

Levels soundLevels(ComputeOp op, Levels levels) {
  const unsigned result = operandCount(op) - 1;
  for (unsigned i = 0; i < result; ++i) {
    while (operandBuffer(op, i) == operandBuffer(op, result) && !levels.empty() &&
           !keepApart(footprintOf(op, i, levels, levels.size()),
                      footprintOf(op, result, levels, levels.size()))) {
      levels.pop_back();
    }
  }
  if (const std::optional<size_t> sum = accumulatingLevel(op, levels)) {
    Levels kept;
    for (size_t level = 0; level < levels.size(); ++level) {
      if (level < *sum || levels[level].var >= 0) {
        kept.push_back(levels[level]);
      }
    }
    return kept;
  }
  return levels;
}

} // namespace spyre::loop
