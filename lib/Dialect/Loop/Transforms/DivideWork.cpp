//===- DivideWork.cpp - splits of output variables over the cores ---------------------------===//
//
// Output variables by decreasing size (stick variables counted in sticks), each the largest divisor
// that still fits the cores left. Every core gets the same amount of work and whole sticks. Where a
// core would then touch more DDR of a tensor than the machine allows, all divisor combinations are
// tried and the legal one with the most cores is taken.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "Division.h"
#include "LoopPass.h"
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

struct DivideWork : LoopPass<impl::DivideWorkPassBase<DivideWork>> {
  using DivideWorkPassBase::cores, DivideWorkPassBase::spanLimitBytes;
  Status runOnMain(mlir::func::FuncOp main) override {
    if (cores < 1) {
      return error<3002>("cores = {}; give at least 1", cores.getValue());
    }
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      SPYRE_RETURN_IF_ERROR(divide(op, cores, spanLimitBytes, trace));
    }
    for (HostOp op : main.getOps<HostOp>()) {
      if (trace) {
        trace->record("divide-work", op.getCallee().str(),
                      Decision::no("host-step", "runs on the CPU: {}", op.getReason().str()));
      }
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createDivideWorkPass(int64_t cores, int64_t spanLimitBytes,
                                                 DecisionTrace *trace) {
  auto pass = createLoopPass<DivideWork>(trace);
  pass->cores = cores;
  pass->spanLimitBytes = spanLimitBytes;
  return pass;
}

} // namespace spyre::loop
