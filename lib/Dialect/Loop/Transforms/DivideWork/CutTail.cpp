//===- CutTail.cpp - see CutTail.h ----------------------------------------------------------===//
#include "CutTail.h"

#include "spyre/Dialect/Loop/IR/Nests.h"
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"

#include "../Pieces.h"
#include "../Rewrite.h"

namespace spyre::loop {

namespace {

/// One side of the copy: its dimensions in order, each walked by one variable in single steps.
struct Side {
  Access access;
  std::vector<int64_t> order;
  /// Nothing where sticks hold one element each.
  std::optional<unsigned> stickVar;
};

std::optional<Side> sideOf(ComputeOp op, unsigned operand) {
  Side side{accessOf(op, operand), {}, {}};
  for (const LinearIndex &index : side.access.dims) {
    if (index.terms.size() > 1 || (!index.terms.empty() && index.terms[0].coefficient != 1)) {
      return std::nullopt;
    }
  }
  Expected<StickUse> use = stickUse(side.access);
  Expected<DimRoles> roles = dimRolesOf(side.access.buffer);
  if (!use.ok() || use->kind == StickUse::Kind::Illegal || !roles.ok() || !roles->given.empty()) {
    return std::nullopt;
  }
  if (use->kind == StickUse::Kind::Var) {
    side.stickVar = use->var;
  }
  side.order = roles->order;
  return side;
}

/// A temp that holds what \p piece touches of \p side, and where the piece finds it there.
struct Tail {
  BufferOp buffer;
  mlir::AffineMap map;
};

Tail tailOf(Rewriter &rewriter, ComputeOp piece, const Side &side) {
  std::vector<int64_t> shape;
  llvm::SmallVector<mlir::AffineExpr> indices;
  for (const LinearIndex &index : side.access.dims) {
    const bool isWalked = !index.terms.empty();
    shape.push_back(isWalked ? piece.getExtents()[index.terms[0].var] : 1);
    indices.push_back(isWalked ? rewriter.builder.getAffineDimExpr(index.terms[0].var)
                               : rewriter.builder.getAffineConstantExpr(0));
  }
  BufferOp whole = side.access.buffer;
  const mlir::Type type =
      llvm::cast<mlir::MemRefType>(whole.getResult().getType()).getElementType();
  Tail tail;
  tail.buffer = rewriter.addTemp(whole.getName().str() + "_tail", shape, type, piece.getLoc());
  rewriter.setLayout(tail.buffer, side.order);
  tail.map = mlir::AffineMap::get(piece.getExtents().size(), 0, indices, piece.getContext());
  return tail;
}

std::vector<ComputeOp> cutAt(ComputeOp op, unsigned var, int64_t whole, const Side &from,
                             const Side &to) {
  Rewriter rewriter(op->getParentOfType<mlir::func::FuncOp>());
  ComputeOp body = cloneRange(op, var, 0, whole);
  ComputeOp rest = cloneRange(op, var, whole, op.getExtents()[var] - whole);
  const Tail read = tailOf(rewriter, rest, from), written = tailOf(rewriter, rest, to);
  const auto mapOf = [&](unsigned operand) {
    return llvm::cast<mlir::AffineMapAttr>(rest.getMaps()[operand]).getValue();
  };
  const std::vector<int64_t> extents(rest.getExtents().begin(), rest.getExtents().end());
  rewriter.why =
      fmt::format("tail: the last {} of {} are no whole stick", extents[var], op.getExtents()[var]);
  std::vector<ComputeOp> made = {
      body, rewriter.addCopy(op, from.access.buffer, mapOf(0), read.buffer, read.map, extents),
      rewriter.addCopy(op, read.buffer, read.map, written.buffer, written.map, extents),
      rewriter.addCopy(op, written.buffer, written.map, to.access.buffer, mapOf(1), extents)};
  rest->erase();
  return made;
}

} // namespace

std::vector<ComputeOp> cutTail(ComputeOp op) {
  if (op.getCallee() != kCopy || op.getIndirect() || op->hasAttr(kTiles) || op->hasAttr(kLoops) ||
      op->hasAttr(kHints)) {
    return {};
  }
  const std::optional<Side> from = sideOf(op, 0), to = sideOf(op, 1);
  if (!from || !to || from->stickVar == to->stickVar) {
    return {};
  }
  const int64_t lanes = elemsPerStick(to->access.buffer);
  for (std::optional<unsigned> var : {to->stickVar, from->stickVar}) {
    const int64_t extent = var ? op.getExtents()[*var] : 0, rest = extent % lanes;
    // A dimension of one element could not be told from the others.
    const int64_t whole = extent - (rest == 1 ? rest + lanes : rest);
    if (whole > 0 && whole < extent && elemsPerStick(from->access.buffer) == lanes) {
      return cutAt(op, *var, whole, *from, *to);
    }
  }
  return {};
}

} // namespace spyre::loop
