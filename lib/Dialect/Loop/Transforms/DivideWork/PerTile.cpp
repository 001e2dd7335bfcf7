//===- PerTile.cpp - see PerTile.h ----------------------------------------------------------===//
#include "PerTile.h"

#include "spyre/Dialect/Utils/Attributes.h"

#include "../Rewrite.h"
#include "NestRules.h"

#include <algorithm>

namespace spyre::loop {

namespace {

struct Use {
  ComputeOp op;
  unsigned operand;
  Levels levels;
};

/// Empty when something uses the buffer outside of loops.
std::vector<Use> usesOf(BufferOp buffer) {
  std::vector<Use> uses;
  for (mlir::OpOperand &operand : buffer.getResult().getUses()) {
    auto op = llvm::dyn_cast<ComputeOp>(operand.getOwner());
    Levels levels = op ? levelsOf(op) : Levels();
    if (levels.empty()) {
      return {};
    }
    uses.push_back({op, operand.getOperandNumber(), std::move(levels)});
  }
  return uses;
}

/// One buffer.
class Shrinker {
public:
  explicit Shrinker(BufferOp buffer) : buffer(buffer), uses(usesOf(buffer)) {}

  /// The size of the tile, or nothing when the buffer must stay.
  std::optional<std::vector<int64_t>> tileShape() {
    if (buffer.getKind() != "temp" || isPerTile(buffer) || uses.empty() || !hasPlainLayout()) {
      return std::nullopt;
    }
    size_t shared = uses.front().levels.size();
    for (const Use &use : uses) {
      shared = std::min(shared, sharedLevels(use.levels, uses.front().levels));
    }
    std::vector<int64_t> shape = shapeOf(buffer);
    bool isSmaller = false;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t tile = tileAlong(d, shared);
      if (tile == 0) {
        return std::nullopt;
      }
      isSmaller = isSmaller || tile < shape[d];
      shape[d] = tile;
    }
    return isSmaller ? std::optional(shape) : std::nullopt;
  }

  void shrinkTo(const std::vector<int64_t> &shape) {
    auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
    mlir::Builder builder(buffer.getContext());
    buffer.getResult().setType(mlir::MemRefType::get(shape, type.getElementType()));
    buffer.setStrideAttr(builder.getDenseI64ArrayAttr(rowMajorStrides(shape)));
    Rewriter(buffer->getParentOfType<mlir::func::FuncOp>()).setLayout(buffer, order);
    buffer->setAttr(kPerTile, builder.getUnitAttr());
  }

private:
  static std::vector<int64_t> shapeOf(BufferOp buffer) {
    return dialect::toVector(llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getShape());
  }

  /// One that follows from the order of the dimensions, and will for the tile.
  bool hasPlainLayout() {
    Expected<layout::DeviceLayout> layout = layoutOf(buffer);
    Expected<DimRoles> roles =
        layout.ok() ? dimRolesOf(buffer) : Expected<DimRoles>(layout.status());
    auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
    Expected<numerics::HostType> host = dialect::hostTypeOf(type.getElementType());
    if (!roles.ok() || !roles->given.empty() || !host.ok()) {
      return false;
    }
    order = roles->order;
    lanes = layout->elemsPerStick();
    Expected<layout::DeviceLayout> plain = layout::DeviceLayout::make(
        shapeOf(buffer), dialect::toVector(buffer.getStride()), *host, order);
    return plain.ok() && *plain == *layout;
  }

  /// Elements of dimension \p d that one iteration needs; 0 when iterations differ in more than
  /// where their tile begins.
  int64_t tileAlong(size_t d, size_t shared) const {
    const Footprint first = footprintOf(uses.front(), shared);
    const int64_t step = first.stepAlong(d);
    const int64_t size = shapeOf(buffer)[d];
    for (const Use &use : uses) {
      const Footprint print = footprintOf(use, shared), whole = footprintOf(use, use.levels.size());
      for (size_t level = 0; level < use.levels.size(); ++level) {
        const int64_t wanted = level < shared ? first.motion[level][d] : 0;
        if (whole.motion[level][d] != wanted) {
          return 0;
        }
      }
      if (step > 0 && print.ranges[d].last >= step) {
        return 0;
      }
    }
    const bool isStick = !order.empty() && order.back() == int64_t(d);
    if (step == 0) {
      return size;
    }
    return walkedBy(first, d, shared) == size && (!isStick || step % lanes == 0) ? step : 0;
  }

  static Footprint footprintOf(const Use &use, size_t depth) {
    return loop::footprintOf(use.op, use.operand, use.levels, depth);
  }

  /// How far all iterations get, if each loop moves on by what those inside it walk.
  int64_t walkedBy(const Footprint &print, size_t d, size_t shared) const {
    std::vector<std::pair<int64_t, int64_t>> loops;
    for (size_t level = 0; level < shared; ++level) {
      if (print.motion[level][d] > 0) {
        loops.emplace_back(print.motion[level][d], uses.front().levels[level].count);
      }
    }
    std::sort(loops.begin(), loops.end());
    int64_t walked = loops.empty() ? 0 : loops.front().first;
    for (const auto &[step, count] : loops) {
      if (step != walked) {
        return 0;
      }
      walked *= count;
    }
    return walked;
  }

  BufferOp buffer;
  std::vector<Use> uses;
  std::vector<int64_t> order;
  int64_t lanes = 1;
};

} // namespace

void shrinkToTiles(mlir::func::FuncOp main, DecisionTrace *trace) {
  for (BufferOp buffer : llvm::to_vector(main.getOps<BufferOp>())) {
    Shrinker shrinker(buffer);
    const std::optional<std::vector<int64_t>> shape = shrinker.tileShape();
    if (!shape) {
      continue;
    }
    const auto before =
        dialect::toVector(llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getShape());
    shrinker.shrinkTo(*shape);
    if (trace) {
      trace->record("nests", buffer.getName().str(),
                    Decision::yes("per-tile",
                                  "[{}] instead of [{}]: only needed inside of its loop",
                                  fmt::join(*shape, ", "), fmt::join(before, ", ")));
    }
  }
}

} // namespace spyre::loop
