//===- Pieces.h - part of an operation: a copy over a smaller iteration space ---------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Loop.h"

#include "mlir/IR/Builders.h"

namespace spyre::loop {

/// A copy of \p op, before it, with \p expression in place of variable \p var in all maps.
inline ComputeOp cloneWith(ComputeOp op, unsigned var, mlir::AffineExpr expression) {
  mlir::OpBuilder builder(op);
  auto copy = llvm::cast<ComputeOp>(builder.clone(*op));
  const unsigned numVars = op.getExtents().size();
  llvm::SmallVector<mlir::AffineExpr> replacements;
  for (unsigned v = 0; v < numVars; ++v) {
    replacements.push_back(v == var ? expression : builder.getAffineDimExpr(v));
  }
  llvm::SmallVector<mlir::Attribute> maps;
  for (mlir::Attribute map : op.getMaps()) {
    maps.push_back(mlir::AffineMapAttr::get(
        llvm::cast<mlir::AffineMapAttr>(map).getValue().replaceDimsAndSymbols(replacements, {},
                                                                              numVars, 0)));
  }
  copy.setMapsAttr(builder.getArrayAttr(maps));
  return copy;
}

/// The part of \p op where \p var runs over \p count values from \p first on.
inline ComputeOp cloneRange(ComputeOp op, unsigned var, int64_t first, int64_t count) {
  mlir::Builder builder(op.getContext());
  ComputeOp part = cloneWith(op, var, builder.getAffineDimExpr(var) + first);
  llvm::SmallVector<int64_t> extents(op.getExtents());
  extents[var] = count;
  part.setExtents(extents);
  return part;
}

/// The part of \p op where \p var is \p value; it no longer has the variable.
inline ComputeOp cloneWithout(ComputeOp op, unsigned var, int64_t value) {
  mlir::Builder builder(op.getContext());
  ComputeOp part = cloneWith(op, var, builder.getAffineConstantExpr(value));
  llvm::SmallVector<int64_t> extents(op.getExtents());
  llvm::SmallVector<mlir::Attribute> vars(op.getVars().begin(), op.getVars().end());
  const unsigned numVars = extents.size();
  extents.erase(extents.begin() + var);
  vars.erase(vars.begin() + var);
  llvm::SmallVector<mlir::AffineExpr> renumbered;
  for (unsigned v = 0; v < numVars; ++v) {
    renumbered.push_back(builder.getAffineDimExpr(v > var ? v - 1 : v));
  }
  llvm::SmallVector<mlir::Attribute> maps;
  for (mlir::Attribute map : part.getMaps()) {
    maps.push_back(mlir::AffineMapAttr::get(
        llvm::cast<mlir::AffineMapAttr>(map).getValue().replaceDimsAndSymbols(renumbered, {},
                                                                              numVars - 1, 0)));
  }
  part.setMapsAttr(builder.getArrayAttr(maps));
  part.setExtents(extents);
  part.setVarsAttr(builder.getArrayAttr(vars));
  return part;
}

} // namespace spyre::loop
