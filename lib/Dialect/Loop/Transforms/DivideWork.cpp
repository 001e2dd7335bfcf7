//===- DivideWork.cpp - splits of output variables over the cores -------------------------------------------------===//
//
// Output variables by decreasing size (stick variables counted in sticks), each the largest divisor that still fits
// the cores left. Every core gets the same amount of work and whole sticks.
//===----------------------------------------------------------------------------------------===//
#include "Rewrite.h"

#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include <algorithm>

namespace spyre::loop {

#define GEN_PASS_DECL_DIVIDEWORKPASS
#define GEN_PASS_DEF_DIVIDEWORKPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

/// Pieces a variable can be divided into at most; 1 when it must stay whole.
Expected<std::vector<int64_t>> piecesPerVar(ComputeOp op) {
  llvm::ArrayRef<int64_t> extents = op.getExtents();
  std::vector<int64_t> pieces(extents.begin(), extents.end());
  std::fill(pieces.end() - op.getReductions(), pieces.end(), 1);
  std::vector<StickUse> uses;
  for (unsigned i = 0; i < operandCount(op); ++i) {
    SPYRE_ASSIGN_OR_RETURN(StickUse use, stickUse(accessOf(op, i)));
    uses.push_back(use);
  }
  bool restick = op.getCallee() == kCopy && isRestickify(accessOf(op, 0), uses[0], uses[1]);
  for (unsigned i = 0; i < operandCount(op); ++i) {
    if (uses[i].kind != StickUse::Kind::Var || pieces[uses[i].var] == 1) {
      continue;
    }
    int64_t lanes = elemsPerStick(accessOf(op, i).buffer), extent = extents[uses[i].var];
    bool padded = extent % lanes != 0;
    pieces[uses[i].var] = restick && padded ? 1 : ceilDiv(extent, lanes);
  }
  return pieces;
}

int64_t largestDivisorUpTo(int64_t value, int64_t limit) {
  for (int64_t divisor = std::min(value, limit); divisor > 1; --divisor) {
    if (value % divisor == 0) {
      return divisor;
    }
  }
  return 1;
}

Status divide(ComputeOp op, int64_t cores, DecisionTrace *trace) {
  SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> pieces, piecesPerVar(op));
  std::vector<unsigned> order(pieces.size());
  for (unsigned v = 0; v < order.size(); ++v) {
    order[v] = v;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](unsigned a, unsigned b) { return pieces[a] > pieces[b]; });
  std::vector<int64_t> splits(pieces.size(), 1);
  int64_t left = cores;
  for (unsigned v : order) {
    splits[v] = largestDivisorUpTo(pieces[v], left);
    left /= splits[v];
  }
  op.setSplits(splits);
  if (trace) {
    int64_t used = 1;
    for (int64_t split : splits) {
      used *= split;
    }
    std::string subject =
        op.getCallee().str() + " -> " + BufferOp(accessOf(op, operandCount(op) - 1).buffer).getName().str();
    trace->record("divide-work", subject,
                  used == cores
                      ? Decision::yes("all-cores", "splits [{}]", fmt::join(splits, ", "))
                      : Decision::yes("fewer-cores", "splits [{}] use {} of {} cores; pieces [{}] have no "
                                                     "larger divisor",
                                      fmt::join(splits, ", "), used, cores, fmt::join(pieces, ", ")));
  }
  return Status::success();
}

struct DivideWork : impl::DivideWorkPassBase<DivideWork> {
  explicit DivideWork(int64_t coreCount, DecisionTrace *trace) : trace(trace) { cores = coreCount; }
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
        status = divide(op, cores, trace);
        if (!status.ok()) {
          break;
        }
      }
    }
    if (!status.ok()) {
      (void)dialect::report(getOperation(), status);
      signalPassFailure();
    }
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createDivideWorkPass(int64_t cores, DecisionTrace *trace) {
  return std::make_unique<DivideWork>(cores, trace);
}

} // namespace spyre::loop
