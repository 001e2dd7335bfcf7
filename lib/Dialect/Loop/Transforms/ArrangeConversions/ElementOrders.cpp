//===- ElementOrders.cpp - see ElementOrders.h ----------------------------------------------===//
#include "ElementOrders.h"

#include <algorithm>

namespace spyre::loop {

/// Variables of one copy: the interface names eight dimensions, one may be needed for the lanes.
static constexpr size_t kMaxCopyVars = 7;
/// Where all other dimensions are smaller, blocks are brought in a dimension of their own, so that
/// the sticks of the rearranging copy are not nearly empty.
static constexpr int64_t kFewRows = 32;

BufferOp ElementOrders::standardOf(BufferOp buffer, mlir::Operation *before) {
  auto found = standards.find(buffer);
  if (found != standards.end()) {
    return found->second;
  }
  if (!arranged.count(buffer)) {
    return buffer;
  }
  const unsigned dim = arranged.lookup(buffer);
  BufferOp from = positions.at({buffer, dim});
  if (typeOf(buffer).getDimSize(dim) <= kInOrder) {
    return standards[buffer] = from;
  }
  BufferOp to = rewriter.addTemp(buffer.getName().str() + "_standard", shapeOf(from),
                                 typeOf(from).getElementType(), buffer.getLoc());
  rearrange(from, to, dim, Order::ToStandard, blockOf(buffer), before);
  note(buffer, "order-undone", "dimension {} is put in order: {} elements", dim,
       typeOf(from).getNumElements());
  return standards[buffer] = to;
}

BufferOp ElementOrders::standardFor(const Access &access, mlir::Operation *before) {
  BufferOp buffer = access.buffer, standard = standardOf(buffer, before);
  bool divides = true;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    llvm::ArrayRef<LinearIndex::Term> terms = access.dims[d].terms;
    divides = divides && (terms.empty() ||
                          typeOf(standard).getDimSize(unsigned(d)) % terms[0].coefficient == 0);
  }
  if (divides) {
    return standard;
  }
  const std::vector<int64_t> shape = shapeOf(buffer);
  BufferOp result = rewriter.addTemp(buffer.getName().str() + "_standard", shape,
                                     typeOf(buffer).getElementType(), buffer.getLoc());
  rewriter.addCopy(before, standard, identityMap(shape.size()), result, identityMap(shape.size()),
                   shape);
  return standards[buffer] = result;
}

bool ElementOrders::hasStandard(BufferOp buffer) const {
  return !arranged.count(buffer) || standards.count(buffer) != 0 ||
         typeOf(buffer).getDimSize(arranged.lookup(buffer)) <= kInOrder;
}

BufferOp ElementOrders::positionsOf(BufferOp buffer, unsigned dim, mlir::Operation *before) {
  auto found = positions.find({buffer, dim});
  if (found != positions.end()) {
    return found->second;
  }
  BufferOp from = padded(standardOf(buffer, before), dim, before);
  if (typeOf(buffer).getDimSize(dim) <= kInOrder) {
    return positions[{buffer, dim}] = from;
  }
  BufferOp to = rewriter.addTemp(buffer.getName().str() + "_positions", shapeOf(from),
                                 typeOf(from).getElementType(), buffer.getLoc());
  rearrange(from, to, dim, Order::ToPositions, blockOf(buffer), before);
  note(buffer, "order-made", "dimension {} is put in the order of a conversion: {} elements", dim,
       typeOf(from).getNumElements());
  return positions[{buffer, dim}] = to;
}

BufferOp ElementOrders::padded(BufferOp buffer, unsigned dim, mlir::Operation *before) {
  std::vector<int64_t> shape = shapeOf(buffer), extents = shape;
  shape[dim] = roundUp(shape[dim], blockOf(buffer));
  if (shape == extents) {
    return buffer;
  }
  mlir::Type type = typeOf(buffer).getElementType();
  BufferOp result =
      rewriter.addTemp(buffer.getName().str() + "_padded", shape, type, buffer.getLoc());
  mlir::AffineMap identity = identityMap(shape.size());
  BufferOp zero = rewriter.addConstant(0.0, type, buffer.getLoc());
  rewriter.addCopy(before, zero,
                   mlir::AffineMap::get(unsigned(shape.size()), 0, rewriter.builder.getContext()),
                   result, identity, shape);
  ComputeOp copy = rewriter.addCopy(before, buffer, identity, result, identity, extents);
  copy->setDiscardableAttr(kOverwritesPadding, rewriter.builder.getUnitAttr());
  return result;
}

void ElementOrders::rearrange(BufferOp from, BufferOp to, unsigned dim, Order order, int64_t block,
                              mlir::Operation *before) {
  std::vector<int64_t> shape = shapeOf(from);
  int64_t largest = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    largest = d == dim ? largest : std::max(largest, shape[d]);
  }
  const int64_t blocks = shape[dim] / block;
  const bool split = largest < kFewRows && blocks > largest && shape.size() + 4 <= kMaxCopyVars;
  if (!split) {
    return copyDigits(from, to, dim, order, block, before);
  }
  // [.., block * q + p, ..] as [.., q, p, ..] on both sides.
  std::vector<int64_t> cut = shape;
  cut[dim] = blocks;
  cut.insert(cut.begin() + dim + 1, block);
  mlir::Type type = typeOf(from).getElementType();
  BufferOp cutFrom = rewriter.addTemp(from.getName().str() + "_blocks", cut, type, from.getLoc());
  BufferOp cutTo = rewriter.addTemp(to.getName().str() + "_blocks", cut, type, to.getLoc());
  llvm::SmallVector<mlir::AffineExpr> joined;
  for (unsigned d = 0, v = 0; d < shape.size(); ++d, ++v) {
    mlir::AffineExpr index = rewriter.builder.getAffineDimExpr(v);
    if (d == dim) {
      index = index * block + rewriter.builder.getAffineDimExpr(++v);
    }
    joined.push_back(index);
  }
  mlir::AffineMap join =
      mlir::AffineMap::get(unsigned(cut.size()), 0, joined, rewriter.builder.getContext());
  rewriter.addCopy(before, from, join, cutFrom, identityMap(cut.size()), cut);
  copyDigits(cutFrom, cutTo, dim + 1, order, block, before);
  rewriter.addCopy(before, cutTo, identityMap(cut.size()), to, join, cut);
}

void ElementOrders::copyDigits(BufferOp from, BufferOp to, unsigned dim, Order order, int64_t block,
                               mlir::Operation *before) {
  std::vector<int64_t> shape = shapeOf(from);
  const auto others = size_t(std::count_if(shape.begin(), shape.end(), [&](const int64_t &size) {
    return &size != &shape[dim] && size > 1;
  }));
  const size_t free = kMaxCopyVars > others ? kMaxCopyVars - others : 0;
  const bool loopsS = free >= 4, loopsH = free >= 3;
  for (int64_t h = 0; h < (loopsH ? 1 : block / 16); ++h) {
    for (int64_t s = 0; s < (loopsS ? 1 : 2); ++s) {
      copyDigits(from, to, dim, order, before, {block, loopsH, loopsS, h, s});
    }
  }
}

void ElementOrders::copyDigits(BufferOp from, BufferOp to, unsigned dim, Order order,
                               mlir::Operation *before, const Digits &digits) {
  mlir::OpBuilder &builder = rewriter.builder;
  std::vector<int64_t> extents;
  auto variable = [&](int64_t extent) {
    extents.push_back(extent);
    return builder.getAffineDimExpr(unsigned(extents.size() - 1));
  };
  llvm::SmallVector<mlir::AffineExpr> wide, dense;
  std::vector<int64_t> shape = shapeOf(from);
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (d != dim) {
      wide.push_back(variable(shape[d]));
      dense.push_back(wide.back());
      continue;
    }
    const int64_t block = digits.block;
    mlir::AffineExpr q = variable(shape[d] / block) * block;
    mlir::AffineExpr digitH =
        digits.loopsH ? variable(block / 16) : builder.getAffineConstantExpr(digits.h);
    mlir::AffineExpr digitS = digits.loopsS ? variable(2) : builder.getAffineConstantExpr(digits.s);
    mlir::AffineExpr i = variable(8);
    wide.push_back(q + digitS * (block / 2) + digitH * 8 + i);
    dense.push_back(q + digitH * 16 + digitS * 8 + i);
  }
  auto mapTo = [&](llvm::ArrayRef<mlir::AffineExpr> results) {
    return mlir::AffineMap::get(unsigned(extents.size()), 0, results, builder.getContext());
  };
  const bool undoes = order == Order::ToStandard;
  rewriter.addCopy(before, from, mapTo(undoes ? wide : dense), to, mapTo(undoes ? dense : wide),
                   extents);
}

void ElementOrders::forget(BufferOp buffer) {
  auto first = positions.lower_bound({buffer, 0});
  auto last = first;
  while (last != positions.end() && last->first.first == buffer.getOperation()) {
    ++last;
  }
  positions.erase(first, last);
}

BufferOp ElementOrders::addPositions(BufferOp buffer, unsigned dim) {
  std::vector<int64_t> shape = shapeOf(buffer);
  shape[dim] = roundUp(shape[dim], blockOf(buffer));
  BufferOp result = rewriter.addTemp(buffer.getName().str() + "_positions", shape,
                                     typeOf(buffer).getElementType(), buffer.getLoc());
  positions[{buffer, dim}] = result;
  arranged[buffer] = dim;
  return result;
}

bool ElementOrders::isReadOutside(BufferOp buffer) {
  auto users = buffer.getResult().getUsers();
  return buffer.getKind() == "output" ||
         llvm::any_of(users, [](mlir::Operation *user) { return llvm::isa<HostOp>(user); });
}

void ElementOrders::finishOutput(BufferOp buffer, mlir::Operation *before) {
  if (!isReadOutside(buffer)) {
    return;
  }
  const unsigned dim = arranged.lookup(buffer);
  BufferOp from = positions.at({buffer, dim});
  if (shapeOf(from) == shapeOf(buffer)) {
    rearrange(from, buffer, dim, Order::ToStandard, blockOf(buffer), before);
  } else {
    std::vector<int64_t> shape = shapeOf(buffer);
    mlir::AffineMap identity = identityMap(shape.size());
    rewriter.addCopy(before, standardOf(buffer, before), identity, buffer, identity, shape);
  }
  standards[buffer] = buffer;
}

} // namespace spyre::loop
