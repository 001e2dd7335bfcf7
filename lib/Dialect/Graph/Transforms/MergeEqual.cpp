//===- MergeEqual.cpp - equal calls are one, hints included ---------------------------------===//
#include "spyre/Dialect/Graph/Transforms/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

namespace spyre::graph {

#define GEN_PASS_DEF_MERGEEQUALPASS
#include "spyre/Dialect/Graph/Transforms/Passes.h.inc"

namespace {

/// Beside the operation only while equal ones are looked for.
constexpr const char *kHints = "graph.hints";

struct MergeEqual : impl::MergeEqualPassBase<MergeEqual> {
  void runOnOperation() override {
    getOperation().walk([](mlir::Operation *op) {
      auto fused = llvm::dyn_cast<mlir::FusedLoc>(op->getLoc());
      if (fused && fused.getMetadata()) {
        op->setAttr(kHints, fused.getMetadata());
      }
    });
    mlir::IRRewriter rewriter(&getContext());
    mlir::DominanceInfo dominance(getOperation());
    mlir::eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    getOperation().walk([](mlir::Operation *op) { op->removeAttr(kHints); });
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createMergeEqualPass() { return std::make_unique<MergeEqual>(); }

} // namespace spyre::graph
