//===- Tiling.h - axes, tiles and places: what a lowering plans with ------------------------===//
//
// A lowering sees its operation as a box of axes. An axis has `count` steps per core; the last step
// may be partial (a masked or missing tail), then `full` = count - 1. A tile takes `tile` steps of
// each axis. An axis with tile == count is inside the tile, one with tile < count becomes a loop
// over tiles with the rest peeled behind it:
//
//     count 10, tile 4:            Loop 2 { 4 steps }  2 steps
//     count 9, full 8, tile 4:     Loop 2 { 4 steps }  1 partial step
//
// A Place says where an operand's stick is: an offset in a buffer and one byte stride per axis.
// Places of tensors follow the loops, places in the staging area start anew with every tile.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Geometry.h"

#include <functional>
#include <vector>

namespace spyre::backend {

struct Axis {
  std::string name;
  int64_t count = 1;
  int64_t full = 1;
  int64_t tile = 1;

  static Axis whole(std::string name, int64_t count) { return {std::move(name), count, count, 1}; }
  bool tiled() const { return tile < count; }
};

struct Place {
  int32_t buffer = -1;
  int64_t offset = 0;
  int32_t coreTable = -1;
  int32_t sliceTable = -1;
  bool staged = false;
  /// Staged places: an axis of which all steps are there, not those of one tile; or -1.
  int wholeAxis = -1;
  bool splat = false;
  /// The tensor lies in other cores' LX; its axes are dimensions, none are joined.
  const TensorMap *arriving = nullptr;
  /// Bytes per step of each axis.
  std::vector<int64_t> stride;

  bool dependsOn(size_t axis) const { return stride[axis] != 0; }
};

/// a * b, or a very large number: for sizes that are only compared with a budget.
int64_t saturatingProduct(int64_t a, int64_t b);
/// Steps of one tile over the axes \p place depends on, saturating.
int64_t tileSteps(const std::vector<Axis> &axes, const Place &place);

/// Drops axes of one step and joins axes that are one run in every place; strides of \p places
/// follow. Axes with a partial step are kept.
void coalesce(std::vector<Axis> &axes, const std::vector<Place *> &places);

/// Axis numbers by ascending stride in \p place: the first is innermost in memory.
std::vector<size_t> innerFirst(const Place &place);

/// Grows tiles in the order given until bytes(axes) would exceed \p budget: each axis as far as
/// possible, the first that does not fit as a whole ends the tile. At most \p maxAxes axes get more
/// than one step, since an instruction walks few levels. Half of the budget is left to the second
/// copies of tiles (DoubleBuffer.h) unless one step needs it. False when even one step does not
/// fit.
bool fillTiles(std::vector<Axis> &axes, const std::vector<size_t> &order, size_t maxAxes,
               int64_t budget, const std::function<int64_t()> &bytes);

} // namespace spyre::backend
