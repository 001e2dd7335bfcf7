//===- LxClones.cpp - see LxClones.h --------------------------------------------------------===//
#include "LxClones.h"

#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace spyre {

using loop::BufferOp;
using loop::ComputeOp;

static constexpr const char *kCloneReason = "lx-clone: ";

bool isLxClone(ComputeOp op) {
  auto why = op->getAttrOfType<mlir::StringAttr>(loop::kWhy);
  return op.getCallee() == loop::kCopy && why && why.getValue().starts_with(kCloneReason);
}

/// A temp like \p buffer, declared behind it.
static BufferOp tempLike(mlir::func::FuncOp main, BufferOp buffer) {
  std::set<std::string> names;
  for (BufferOp other : main.getOps<BufferOp>()) {
    names.insert(other.getName().str());
  }
  const std::string stem = buffer.getName().str() + "_lx";
  std::string name = stem;
  for (int64_t n = 1; names.contains(name); ++n) {
    name = fmt::format("{}_{}", stem, n);
  }
  mlir::OpBuilder builder(buffer);
  builder.setInsertionPointAfter(buffer);
  auto temp = llvm::cast<BufferOp>(builder.clone(*buffer));
  temp.setName(name);
  temp.setKind("temp");
  temp.removeIndexAttr();
  temp.removeOffsetAttr();
  return temp;
}

/// Variables in the order in which their slices change from core to core: a copy that names them so
/// has the same parts on the same cores, however \p op numbers its own.
static std::vector<unsigned> varsByCore(ComputeOp op) {
  std::vector<unsigned> order(op.getExtents().size());
  std::iota(order.begin(), order.end(), 0u);
  if (auto owners = op->getAttrOfType<mlir::AffineMapAttr>(loop::kOwners)) {
    const llvm::ArrayRef<int64_t> splits = *op.getSplits();
    const auto found = loop::ownerOrder(owners.getValue(), splits);
    const auto isSplit = [&](unsigned var) { return splits[var] > 1; };
    if (found &&
        !std::is_sorted(found->begin(), std::find_if_not(found->begin(), found->end(), isSplit))) {
      return *found;
    }
  }
  return order;
}

/// from -> to over the variables by which operand \p operand of \p like runs through either.
static ComputeOp copyLike(mlir::OpBuilder &builder, ComputeOp like, unsigned operand, BufferOp from,
                          BufferOp to, const std::string &why) {
  const std::set<unsigned> used = loop::varsOf(loop::accessOf(like, operand));
  const unsigned count = like.getExtents().size();
  llvm::SmallVector<mlir::AffineExpr> replacements(count, builder.getAffineConstantExpr(0));
  llvm::SmallVector<mlir::Attribute> vars;
  llvm::SmallVector<int64_t> extents, splits;
  for (unsigned var : varsByCore(like)) {
    if (!used.contains(var)) {
      continue;
    }
    replacements[var] = builder.getAffineDimExpr(extents.size());
    vars.push_back(like.getVars()[var]);
    extents.push_back(like.getExtents()[var]);
    splits.push_back((*like.getSplits())[var]);
  }
  const mlir::AffineMap map = llvm::cast<mlir::AffineMapAttr>(like.getMaps()[operand])
                                  .getValue()
                                  .replaceDimsAndSymbols(replacements, {}, extents.size(), 0);
  auto copy = builder.create<ComputeOp>(
      like.getLoc(), builder.getStringAttr(loop::kCopy), mlir::ValueRange{from.getResult()},
      to.getResult(), builder.getArrayAttr(vars), builder.getDenseI64ArrayAttr(extents),
      builder.getI64IntegerAttr(0),
      builder.getArrayAttr({mlir::AffineMapAttr::get(map), mlir::AffineMapAttr::get(map)}),
      mlir::DictionaryAttr(), mlir::ArrayAttr(), builder.getDenseI64ArrayAttr(splits));
  loop::divide(copy, splits);
  copy->setAttr(loop::kWhy, builder.getStringAttr(kCloneReason + why));
  return copy;
}

BufferOp cloneForReaders(mlir::func::FuncOp main, BufferOp source, mlir::Operation *before,
                         const std::vector<LxRead> &readers) {
  BufferOp temp = tempLike(main, source);
  for (const LxRead &read : readers) {
    mlir::Operation *op = read.op;
    op->setOperand(read.operand, temp.getResult());
  }
  mlir::OpBuilder builder(before);
  copyLike(builder, readers.front().op, readers.front().operand, source, temp,
           fmt::format("'{}' is read more than once", source.getName().str()));
  return temp;
}

BufferOp cloneInput(mlir::func::FuncOp main, BufferOp input, mlir::Operation *before) {
  std::vector<LxRead> readers;
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      if (loop::operandBuffer(op, i) == input) {
        readers.push_back({op, i});
      }
    }
  }
  return cloneForReaders(main, input, before, readers);
}

BufferOp cloneOutput(mlir::func::FuncOp main, BufferOp output) {
  BufferOp temp = tempLike(main, output);
  ComputeOp writer;
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    if (!writer && op.getOutput() == output.getResult()) {
      writer = op;
    }
  }
  output.getResult().replaceAllUsesWith(temp.getResult());
  mlir::OpBuilder builder(writer);
  builder.setInsertionPointAfter(writer);
  copyLike(builder, writer, loop::operandCount(writer) - 1, temp, output,
           fmt::format("output '{}' is read", output.getName().str()));
  return temp;
}

} // namespace spyre
