//===- AskedSplits.cpp - see AskedSplits.h --------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/AskedSplits.h"

#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

namespace spyre::loop {

static constexpr const char *kAsked = "asked", *kAskedCount = "asked_operations";

static int64_t countOf(mlir::func::FuncOp main) {
  auto count = main->getAttrOfType<mlir::IntegerAttr>(kAskedCount);
  return count ? count.getInt() : 0;
}

void askForSplits(ComputeOp op, llvm::ArrayRef<int64_t> splits) {
  mlir::Builder builder(op.getContext());
  llvm::SmallVector<mlir::NamedAttribute> asked;
  for (size_t v = 0; v < splits.size(); ++v) {
    if (splits[v] > 0) {
      asked.push_back(builder.getNamedAttr(llvm::cast<mlir::StringAttr>(op.getVars()[v]).getValue(),
                                           builder.getI64IntegerAttr(splits[v])));
    }
  }
  auto main = op->getParentOfType<mlir::func::FuncOp>();
  const int64_t more = op->hasAttr(kAsked) ? 0 : 1;
  main->setAttr(kAskedCount, builder.getI64IntegerAttr(countOf(main) + more));
  op->setAttr(kAsked, builder.getDictionaryAttr(asked));
}

static Status takeAskedSplits(ComputeOp op, mlir::DictionaryAttr asked) {
  llvm::SmallVector<int64_t> hints(op.getVars().size(), 0);
  for (mlir::NamedAttribute entry : asked) {
    auto found = llvm::find(op.getVars(), mlir::Attribute(entry.getName()));
    if (found == op.getVars().end()) {
      return error<1504>(
          "'{}': splits are asked for {}, which the compiler has merged into another "
          "variable; ask at pre-fusion, where the division can be set",
          subjectOf(op), entry.getName().getValue().str());
    }
    hints[size_t(found - op.getVars().begin())] =
        llvm::cast<mlir::IntegerAttr>(entry.getValue()).getInt();
  }
  op->setAttr(kHints, mlir::DenseI64ArrayAttr::get(op.getContext(), hints));
  op->removeAttr(kAsked);
  return Status::success();
}

Status takeAskedSplits(mlir::func::FuncOp main) {
  const int64_t expected = countOf(main);
  int64_t taken = 0;
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    if (auto asked = op->getAttrOfType<mlir::DictionaryAttr>(kAsked)) {
      SPYRE_RETURN_IF_ERROR(takeAskedSplits(op, asked));
      ++taken;
    }
  }
  main->removeAttr(kAskedCount);
  return taken >= expected
             ? Status::success()
             : error<1504>("splits are asked for {} operations, {} of which the compiler has "
                           "rewritten since; ask at pre-fusion, where the division can be set",
                           expected, expected - taken);
}

} // namespace spyre::loop
