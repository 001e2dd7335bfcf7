//===- Tiling.h - operations no division fits run as loops over tiles -----------------------===//
//
// Where every division leaves some core a span beyond the limit, variables of the result are cut in
// tiles that run one after the other, each divided over the cores. A tile is a view of the whole
// tensor: it keeps the physical strides, and each trip moves the addresses by them.
// [spec: work-division 19.8, 21]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Solver/Division/Cost.h"
#include "spyre/Solver/Division/Plan.h"

#include <optional>

namespace spyre::solver::division {

struct TiledPart {
  /// Elements of each dim in one tile of this part; equal tiles.
  std::vector<int64_t> tileExtent;
  /// Tiles per dim.
  std::vector<int64_t> tiles;
  /// First element of each dim.
  std::vector<int64_t> first;
  /// Division of one tile.
  Plan plan;
  /// advanceBytes[tensor][dim]: from one tile to the next.
  std::vector<std::vector<int64_t>> advanceBytes;
  double nanoseconds = 0;

  int64_t trips() const { return productOf(tiles); }
};

struct TilingPlan {
  /// One; two or more where what is left over is divided by itself.
  std::vector<TiledPart> parts;
  double nanoseconds = 0;
};

/// The fewest tiles that can be divided, of those the cheapest. Nothing when no tiling of result
/// variables helps.
std::optional<TilingPlan> tileOp(const Op &op, const arch::DeviceDesc &device, int64_t cores,
                                 const CostModel &costs);

/// Bytes a tensor's address moves when \p dim moves by \p elements, by physical strides.
int64_t advanceBytes(const Tensor &tensor, int dim, int64_t elements);

/// \p op as one tile of it: extents \p tileExtent, layouts as they are.
Op tileOf(const Op &op, const std::vector<int64_t> &tileExtent);

} // namespace spyre::solver::division
