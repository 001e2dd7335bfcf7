//===- Nests.cpp - levels of an operation and their verifier --------------------------------===//
#include "spyre/Dialect/Loop/IR/Nests.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

namespace spyre::loop {

/// As deep as kernels may be (Spec/LoopSpec.h), less the loops an operation may have of its own.
static constexpr size_t kMostLevels = 8;

Levels levelsOf(ComputeOp op) {
  Levels levels;
  if (auto list = op->getAttrOfType<mlir::ArrayAttr>(kLoops)) {
    for (mlir::Attribute entry : list) {
      auto numbers = llvm::cast<mlir::DenseI64ArrayAttr>(entry);
      levels.push_back({numbers[0], numbers[1], numbers[2]});
    }
  }
  return levels;
}

void setLevels(ComputeOp op, const Levels &levels) {
  mlir::Builder builder(op.getContext());
  op->removeAttr(kLoops);
  op->removeAttr(kTiles);
  llvm::SmallVector<mlir::Attribute> list;
  std::vector<int64_t> tiles(op.getExtents().size(), 1);
  for (const Level &level : levels) {
    list.push_back(builder.getDenseI64ArrayAttr({level.loop, level.count, level.var}));
    if (level.var >= 0) {
      tiles[size_t(level.var)] *= level.count;
    }
  }
  if (!levels.empty()) {
    op->setAttr(kLoops, builder.getArrayAttr(list));
  }
  if (llvm::any_of(tiles, [](int64_t count) { return count > 1; })) {
    op->setAttr(kTiles, builder.getDenseI64ArrayAttr(tiles));
  }
}

size_t sharedLevels(const Levels &a, const Levels &b) {
  size_t shared = 0;
  while (shared < std::min(a.size(), b.size()) && a[shared].loop == b[shared].loop) {
    ++shared;
  }
  return shared;
}

int64_t stepOf(ComputeOp op, const Levels &levels, size_t level) {
  const int64_t var = levels[level].var;
  if (var < 0) {
    return 0;
  }
  int64_t step = op.getExtents()[size_t(var)];
  for (size_t outer = 0; outer <= level; ++outer) {
    step /= levels[outer].var == var ? levels[outer].count : 1;
  }
  return step;
}

mlir::LogicalResult verifyLevels(ComputeOp op) {
  mlir::Attribute given = op->getAttr(kLoops);
  if (!given) {
    return mlir::success();
  }
  auto list = llvm::dyn_cast<mlir::ArrayAttr>(given);
  if (!list || list.empty() || list.size() > kMostLevels) {
    return op.emitOpError("loops lists 1 to ") << kMostLevels << " levels";
  }
  const int64_t vars = int64_t(op.getExtents().size());
  std::vector<int64_t> tiles(size_t(vars), 1);
  llvm::SmallVector<int64_t> seen;
  for (mlir::Attribute entry : list) {
    auto level = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(entry);
    const bool isSound = level && level.size() == 3 && level[0] >= 0 && level[1] >= 2 &&
                         level[1] <= (int64_t(1) << 30) && level[2] >= -1 && level[2] < vars &&
                         !llvm::is_contained(seen, level[0]);
    if (!isSound) {
      return op.emitOpError("a level is array<i64: loop, count, var>, with its own loop, a count "
                            "from 2 on, and a var or -1");
    }
    seen.push_back(level[0]);
    if (level[2] >= 0 &&
        __builtin_mul_overflow(tiles[size_t(level[2])], level[1], &tiles[size_t(level[2])])) {
      return op.emitOpError("loops count too far");
    }
  }
  const std::vector<int64_t> all = tilesOf(op);
  for (size_t v = 0; v < all.size(); ++v) {
    if (all[v] % tiles[v] != 0) {
      return op.emitOpError("tiles of var ")
             << v << " are " << all[v] << ", its loops count " << tiles[v];
    }
  }
  return mlir::success();
}

} // namespace spyre::loop
