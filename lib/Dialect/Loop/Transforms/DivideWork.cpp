//===- DivideWork.cpp - splits of output variables over the cores ---------------------------===//
//
// Output variables by decreasing size (stick variables counted in sticks), each the largest divisor
// that still fits the cores left. Every core gets the same amount of work and whole sticks. Where a
// core would then touch more DDR of a tensor than the machine allows, all divisor combinations are
// tried and the legal one with the most cores is taken.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "Division.h"
#include "Rewrite.h"

#include <algorithm>

namespace spyre::loop {

#define GEN_PASS_DECL_DIVIDEWORKPASS
#define GEN_PASS_DEF_DIVIDEWORKPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

Status divide(ComputeOp op, int64_t cores, int64_t spanLimitBytes, DecisionTrace *trace) {
  std::vector<int64_t> extents = dialect::toVector(op.getExtents());
  const std::vector<int64_t> tiles = tilesOf(op);
  for (size_t v = 0; v < extents.size(); ++v) {
    extents[v] /= tiles[v];
  }
  Division division(op, extents, cores, spanLimitBytes);
  SPYRE_RETURN_IF_ERROR(division.run());
  op.setSplits(division.splits);
  if (!trace) {
    return Status::success();
  }
  int64_t used = 1;
  for (int64_t split : division.splits) {
    used *= split;
  }
  std::string subject =
      op.getCallee().str() + " -> " + operandBuffer(op, operandCount(op) - 1).getName().str();
  const char *reason = !division.bySize ? "span-limit"
                       : used == cores  ? "all-cores"
                                        : "fewer-cores";
  trace->record("divide-work", subject,
                Decision::yes(reason, "splits [{}] use {} of {} cores; divisible pieces are [{}]",
                              fmt::join(division.splits, ", "), used, cores,
                              fmt::join(division.pieces, ", ")));
  return Status::success();
}

struct DivideWork : impl::DivideWorkPassBase<DivideWork> {
  DivideWork(int64_t coreCount, int64_t spanBytes, DecisionTrace *trace) : trace(trace) {
    cores = coreCount;
    spanLimitBytes = spanBytes;
  }
  DivideWork(const DivideWork &other) : DivideWorkPassBase(other), trace(other.trace) {}
  DecisionTrace *trace;
  void runOnOperation() override {
    mlir::func::FuncOp main = findMain(getOperation());
    Status status = main ? Status::success()
                         : error<1202>("a loop module holds one func.func @main() with one block");
    if (cores < 1) {
      status = error<3002>("cores = {}; give at least 1", cores.getValue());
    }
    if (status.ok()) {
      for (ComputeOp op : main.getOps<ComputeOp>()) {
        status = divide(op, cores, spanLimitBytes, trace);
        if (!status.ok()) {
          break;
        }
      }
    }
    if (!status.ok()) {
      (void)dialect::report(getOperation(), status);
      return signalPassFailure();
    }
    for (HostOp op : main.getOps<HostOp>()) {
      if (trace) {
        trace->record("divide-work", op.getCallee().str(),
                      Decision::no("host-step", "runs on the CPU: {}", op.getReason().str()));
      }
    }
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createDivideWorkPass(int64_t cores, int64_t spanLimitBytes,
                                                 DecisionTrace *trace) {
  return std::make_unique<DivideWork>(cores, spanLimitBytes, trace);
}

} // namespace spyre::loop
