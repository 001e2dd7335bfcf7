//===- PlanPool.cpp - one pool of device memory for intermediates ---------------------------===//
//
// First fit over live ranges [first writer, last use], counted in operations. Temps that touch in
// time (one is read where the other is written) do not share space: cores of one phase run at their
// own pace. A temp that a host step reads or writes is none of the pool's: it has memory of its
// own. What a loop uses and something outside of it as well must last for all its iterations.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/IR/Nests.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "LoopPass.h"
#include "Rewrite.h"

#include <algorithm>
#include <limits>
#include <map>

namespace spyre::loop {

#define GEN_PASS_DEF_PLANPOOLPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

struct Interval {
  BufferOp buffer;
  int64_t first = 0, last = 0;
  int64_t bytes = 0;
  int64_t offset = 0;
};

struct Range {
  int64_t first = 0, last = 0;

  void add(int64_t step) { add({step, step}); }
  void add(const Range &other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
  bool contains(const Range &other) const { return first <= other.first && other.last <= last; }
};

/// Of each loop, its operations.
std::map<int64_t, Range> loopRanges(mlir::func::FuncOp main) {
  std::map<int64_t, Range> loops;
  int64_t step = 0;
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    for (const Level &level : levelsOf(op)) {
      loops.try_emplace(level.loop, Range{step, step}).first->second.add(step);
    }
    ++step;
  }
  return loops;
}

Expected<std::vector<Interval>> liveRanges(mlir::func::FuncOp main) {
  llvm::DenseMap<mlir::Value, Range> ranges;
  int64_t step = 0;
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    for (mlir::Value operand : op->getOperands()) {
      ranges.try_emplace(operand, Range{step, step}).first->second.add(step);
    }
    ++step;
  }
  const std::map<int64_t, Range> loops = loopRanges(main);
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    for (const Level &level : levelsOf(op)) {
      const Range &loop = loops.at(level.loop);
      for (mlir::Value operand : op->getOperands()) {
        if (Range &range = ranges.find(operand)->second; !loop.contains(range)) {
          range.add(loop);
        }
      }
    }
  }
  std::vector<Interval> intervals;
  for (BufferOp buffer : main.getOps<BufferOp>()) {
    auto it = ranges.find(buffer.getResult());
    if (!isPooled(buffer) || it == ranges.end()) {
      continue;
    }
    SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, layoutOf(buffer));
    intervals.push_back({buffer, it->second.first, it->second.last, layout.bytes(), 0});
  }
  std::stable_sort(intervals.begin(), intervals.end(),
                   [](const Interval &a, const Interval &b) { return a.first < b.first; });
  return intervals;
}

/// Lowest offset where the interval meets no placed one that is live at the same time.
int64_t firstFit(const std::vector<Interval> &placed, const Interval &interval) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const Interval &other : placed) {
    if (other.first <= interval.last && interval.first <= other.last) {
      taken.push_back({other.offset, other.offset + other.bytes});
    }
  }
  std::sort(taken.begin(), taken.end());
  int64_t offset = 0;
  for (auto [begin, end] : taken) {
    if (offset + interval.bytes <= begin) {
      break;
    }
    offset = std::max(offset, end);
  }
  return offset;
}

struct PlanPool : LoopPass<impl::PlanPoolPassBase<PlanPool>> {
  bool sharePlaces = true;
  Status runOnMain(mlir::func::FuncOp main) override {
    SPYRE_ASSIGN_OR_RETURN(std::vector<Interval> intervals, liveRanges(main));
    std::vector<Interval> placed;
    for (Interval interval : intervals) {
      if (!sharePlaces) {
        interval.first = 0;
        interval.last = std::numeric_limits<int64_t>::max();
      }
      interval.offset = firstFit(placed, interval);
      interval.buffer.setPoolOffset(interval.offset);
      placed.push_back(interval);
      if (trace) {
        trace->record("plan-pool", interval.buffer.getName().str(),
                      Decision::yes("first-fit", "{} bytes at {}, live [{}, {}]", interval.bytes,
                                    interval.offset, interval.first, interval.last));
      }
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlanPoolPass(DecisionTrace *trace, bool sharePlaces) {
  auto pass = createLoopPass<PlanPool>(trace);
  pass->sharePlaces = sharePlaces;
  return pass;
}

} // namespace spyre::loop
