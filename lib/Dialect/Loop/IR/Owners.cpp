//===- Owners.cpp - owner maps and their verifier -------------------------------------------===//
#include "spyre/Dialect/Loop/IR/Owners.h"

#include <algorithm>
#include <numeric>

namespace spyre::loop {

int unevenVar(ComputeOp op) {
  auto var = op->getAttrOfType<mlir::IntegerAttr>(kUneven);
  return var ? int(var.getInt()) : -1;
}

std::vector<unsigned> coreOrder(ComputeOp op, llvm::ArrayRef<int64_t> splits,
                                const Numbering &numbering) {
  std::vector<unsigned> order(splits.size());
  std::iota(order.begin(), order.end(), 0u);
  const bool isFast = op.getCallee() == kMatmul ? numbering.kFastCores && splits.size() >= 3
                                                : numbering.fastReduction && op.getReductions() > 0;
  if (isFast && splits.back() > 1) {
    std::rotate(order.begin(), order.end() - 1, order.end());
  }
  std::stable_partition(order.begin(), order.end(),
                        [&](unsigned var) { return int(var) != numbering.uneven; });
  return order;
}

mlir::AffineMap ownersOf(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> splits,
                         llvm::ArrayRef<unsigned> order) {
  const mlir::AffineExpr core = mlir::getAffineDimExpr(0, context);
  const mlir::AffineExpr zero = mlir::getAffineConstantExpr(0, context);
  int64_t cores = 1;
  for (int64_t split : splits) {
    cores *= split;
  }
  llvm::SmallVector<mlir::AffineExpr, 8> slices(splits.size(), zero);
  int64_t step = 1;
  for (unsigned var : order) {
    const int64_t split = splits[var];
    if (split > 1) {
      mlir::AffineExpr slice = step > 1 ? core.floorDiv(step) : core;
      slices[var] = step * split < cores ? slice % split : slice;
    }
    step *= split;
  }
  return mlir::AffineMap::get(1, 0, slices, context);
}

void divide(ComputeOp op, llvm::ArrayRef<int64_t> splits, const Numbering &numbering) {
  mlir::Builder builder(op.getContext());
  op.setSplits(splits);
  op->setAttr(kOwners, mlir::AffineMapAttr::get(
                           ownersOf(op.getContext(), splits, coreOrder(op, splits, numbering))));
  op->removeAttr(kUneven);
  if (numbering.uneven >= 0) {
    op->setAttr(kUneven, builder.getI64IntegerAttr(numbering.uneven));
  }
}

Numbering numberingOf(ComputeOp op, bool kFastCores) {
  Numbering plain{kFastCores, false, unevenVar(op)}, fast{kFastCores, true, unevenVar(op)};
  auto owners = op->getAttrOfType<mlir::AffineMapAttr>(kOwners);
  const auto hasOrder = [&](const Numbering &numbering) {
    return owners.getValue() ==
           ownersOf(op.getContext(), *op.getSplits(), coreOrder(op, *op.getSplits(), numbering));
  };
  return owners && !hasOrder(plain) && hasOrder(fast) ? fast : plain;
}

namespace {

/// core floordiv step, mod count; a count of 0 is none.
struct Digit {
  int64_t step = 1, count = 0;
};

std::optional<Digit> digitOf(mlir::AffineExpr expression) {
  Digit digit;
  auto constantOf = [](mlir::AffineExpr side) {
    auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(side);
    return constant ? constant.getValue() : 0;
  };
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
  if (binary && binary.getKind() == mlir::AffineExprKind::Mod) {
    digit.count = constantOf(binary.getRHS());
    expression = binary.getLHS();
    binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
    if (digit.count < 1) {
      return std::nullopt;
    }
  }
  if (binary && binary.getKind() == mlir::AffineExprKind::FloorDiv) {
    digit.step = constantOf(binary.getRHS());
    expression = binary.getLHS();
  }
  const bool isCore = llvm::isa<mlir::AffineDimExpr>(expression) && digit.step >= 1;
  return isCore ? std::optional<Digit>(digit) : std::nullopt;
}

} // namespace

std::optional<std::vector<unsigned>> ownerOrder(mlir::AffineMap owners,
                                                llvm::ArrayRef<int64_t> splits) {
  struct Place {
    int64_t step;
    unsigned var;
  };
  llvm::SmallVector<Place, 8> places;
  int64_t cores = 1;
  for (int64_t split : splits) {
    cores *= split;
  }
  for (unsigned var = 0; var < splits.size(); ++var) {
    const mlir::AffineExpr slice = owners.getResult(var);
    if (splits[var] == 1) {
      auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(slice);
      if (!constant || constant.getValue() != 0) {
        return std::nullopt;
      }
      continue;
    }
    const std::optional<Digit> digit = digitOf(slice);
    const bool fits = digit && (digit->count == splits[var] ||
                                (digit->count == 0 && digit->step * splits[var] == cores));
    if (!fits) {
      return std::nullopt;
    }
    places.push_back({digit->step, var});
  }
  std::sort(places.begin(), places.end(),
            [](const Place &a, const Place &b) { return a.step < b.step; });
  std::vector<unsigned> order;
  int64_t step = 1;
  for (const Place &place : places) {
    if (place.step != step) {
      return std::nullopt;
    }
    step *= splits[place.var];
    order.push_back(place.var);
  }
  for (unsigned var = 0; var < splits.size(); ++var) {
    if (splits[var] == 1) {
      order.push_back(var);
    }
  }
  return order;
}

/// Divisors are positive in a verified map; others give nothing sensible, but no fault either.
static int64_t valueAt(mlir::AffineExpr expression, int64_t core) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression)) {
    return constant.getValue();
  }
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
  if (!binary) {
    return core;
  }
  const int64_t left = valueAt(binary.getLHS(), core), right = valueAt(binary.getRHS(), core);
  switch (binary.getKind()) {
  case mlir::AffineExprKind::Add:
    return int64_t(uint64_t(left) + uint64_t(right));
  case mlir::AffineExprKind::Mul:
    return int64_t(uint64_t(left) * uint64_t(right));
  case mlir::AffineExprKind::Mod:
    return right > 0 ? ((left % right) + right) % right : -1;
  case mlir::AffineExprKind::FloorDiv:
    return right > 0 && left >= 0 ? left / right : -1;
  default:
    return right > 0 && left >= 0 ? left / right + (left % right != 0) : -1;
  }
}

std::vector<int64_t> slicesOf(mlir::AffineMap owners, int64_t core) {
  std::vector<int64_t> slices;
  slices.reserve(owners.getNumResults());
  for (mlir::AffineExpr slice : owners.getResults()) {
    slices.push_back(valueAt(slice, core));
  }
  return slices;
}

/// More cores than any machine has.
static constexpr int64_t kMostCores = 1 << 16;

static mlir::LogicalResult verifyUneven(ComputeOp op) {
  mlir::Attribute attribute = op->getAttr(kUneven);
  auto var = llvm::dyn_cast_or_null<mlir::IntegerAttr>(attribute);
  const int64_t results = int64_t(op.getExtents().size()) - int64_t(op.getReductions());
  const bool isVar = var && var.getType().isSignlessInteger(64) && var.getInt() >= 0 &&
                     var.getInt() < results && op.getSplits() &&
                     (*op.getSplits())[size_t(var.getInt())] > 1;
  if (attribute && !isVar) {
    return op.emitOpError("uneven is the number of a split var that is not reduced");
  }
  return mlir::success();
}

mlir::LogicalResult verifyOwners(ComputeOp op) {
  if (mlir::failed(verifyUneven(op))) {
    return mlir::failure();
  }
  mlir::Attribute attribute = op->getAttr(kOwners);
  if (!attribute) {
    return mlir::success();
  }
  auto owners = llvm::dyn_cast<mlir::AffineMapAttr>(attribute);
  if (!owners || !op.getSplits() || owners.getValue().getNumDims() != 1 ||
      owners.getValue().getNumSymbols() != 0 ||
      owners.getValue().getNumResults() != op.getSplits()->size()) {
    return op.emitOpError("owners is a map from a core to its slice of each var, beside splits");
  }
  const llvm::ArrayRef<int64_t> splits = *op.getSplits();
  int64_t cores = 1;
  for (int64_t split : splits) {
    if (split < 1 || __builtin_mul_overflow(cores, split, &cores) || cores > kMostCores) {
      return op.emitOpError("splits must be 1 or more, for at most ") << kMostCores << " cores";
    }
  }
  if (ownerOrder(owners.getValue(), splits)) {
    return mlir::success();
  }
  std::vector<bool> owned(size_t(cores), false);
  for (int64_t core = 0; core < cores; ++core) {
    int64_t place = 0;
    const std::vector<int64_t> slices = slicesOf(owners.getValue(), core);
    for (size_t var = 0; var < slices.size(); ++var) {
      if (slices[var] < 0 || slices[var] >= splits[var]) {
        return op.emitOpError("core ") << core << " owns slice " << slices[var] << " of var " << var
                                       << ", which has " << splits[var];
      }
      place = place * splits[var] + slices[var];
    }
    if (owned[size_t(place)]) {
      return op.emitOpError("core ") << core << " owns slices that another core has";
    }
    owned[size_t(place)] = true;
  }
  return mlir::success();
}

} // namespace spyre::loop
