//===- MergeEqual.cpp - equal calls are one, hints included ---------------------------------===//
#include "spyre/Dialect/Graph/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

namespace spyre::graph {

#define GEN_PASS_DEF_MERGEEQUALPASS
#include "spyre/Dialect/Graph/Transforms/Passes.h.inc"

namespace {

/// Beside the operation only while equal ones are looked for.
constexpr const char *kHints = "graph.hints";

/// Slices are the same wherever they were asked for; loops are those of their scope.
mlir::Attribute compared(mlir::Attribute hints) {
  auto all = llvm::dyn_cast<mlir::DictionaryAttr>(hints);
  auto slices = all ? all.getAs<mlir::ArrayAttr>("work_div") : mlir::ArrayAttr();
  if (!slices) {
    return hints;
  }
  mlir::Builder builder(hints.getContext());
  llvm::SmallVector<mlir::Attribute> entries;
  for (mlir::Attribute each : slices) {
    auto entry = llvm::dyn_cast<mlir::ArrayAttr>(each); // name, count, scope
    entries.push_back(
        entry && entry.size() == 3 ? builder.getArrayAttr(entry.getValue().take_front(2)) : each);
  }
  mlir::NamedAttrList list(all);
  list.set("work_div", builder.getArrayAttr(entries));
  return list.getDictionary(hints.getContext());
}

struct MergeEqual : impl::MergeEqualPassBase<MergeEqual> {
  void runOnOperation() override {
    getOperation().walk([](mlir::Operation *op) {
      auto fused = llvm::dyn_cast<mlir::FusedLoc>(op->getLoc());
      if (fused && fused.getMetadata()) {
        op->setAttr(kHints, compared(fused.getMetadata()));
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
