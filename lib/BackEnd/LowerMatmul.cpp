//===- LowerMatmul.cpp - batched matrix products --------------------------------------------===//
//
// C[batch, row, n] = sum over k of A[batch, row, k] * B[batch, k, n]. Sticks run along k in A and
// along n in B and C, so the axes are: batch and row dimensions in elements, N and K in sticks. One
// Matmul point multiplies one A stick with a block of 64 B sticks into one fp32 accumulator stick.
//
//     loop batch { loop row tiles and n tiles, in the cheaper order {
//       Fill accumulators
//       loop k tiles, ascending { Load A; Load B; Matmul }
//       Finish; Store
//     } }
//
// Rows of C fall into one axis of "rows" whenever B does not change with them, so a shared weight
// is streamed once for all of them. Tiles are the cheapest of all that fit the staging area,
// counted in DDR bytes plus the latency of each load expressed in bytes.
//===--------------------------------------------------------------------------------------------===//
#include "Lowerings.h"
#include "PhaseBuilder.h"

#include <algorithm>

namespace spyre::backend {

using program::Instruction;
using program::kMatmulBlock;
using program::Opcode;

static constexpr int64_t kBlockBytes = kMatmulBlock * kStickBytes;
/// Matmul walks k, n and at most this many row axes inside one tile.
static constexpr size_t kMaxRowAxes = program::kMaxLevels - 2;

namespace {
struct Matmul {
  const Kernel *kernel = nullptr;
  std::string kDim, nDim;
  StickSteps kSteps;
  /// Bytes between rows of B in its tensor, and where the unit finds it.
  int64_t bRowBytes = 0, bUnitRowBytes = 0;

  Place a, b, c;                  ///< the tensors
  Place aUnit, bUnit, acc, cUnit; ///< where the unit finds them
  std::vector<size_t> batchAxes;  ///< outermost first
  std::vector<size_t> rowAxes;    ///< innermost in A first
  size_t nAxis = 0, kAxis = 0;
  bool rowsOutside = true;
};

struct Tiles {
  int64_t rows = 1, n = 1, k = 1;
  bool rowsOutside = true;
  int64_t cost = 0;
};
} // namespace

static Status checkRules(Matmul &mm) {
  const Kernel &kernel = *mm.kernel;
  const TensorMap &a = kernel.inputs[0], &b = kernel.inputs[1], &c = kernel.output;
  mm.kDim = a.stickDim;
  mm.nDim = b.stickDim;
  if (a.sparse || b.sparse || c.sparse) {
    return error<5302>("{}: a matmul operand is broadcast along its stick; expand it first",
                       kernel.name);
  }
  if (mm.kDim == mm.nDim || c.stickDim != mm.nDim || c.holds(mm.kDim) || !b.holds(mm.kDim) ||
      a.holds(mm.nDim)) {
    return error<5302>(
        "{}: sticks along '{}', '{}' and '{}'; matmul needs input 1 along k, input 2 "
        "and the output along n, k only in the inputs, n not in input 1",
        kernel.name, mm.kDim, mm.nDim, c.stickDim);
  }
  if (kernel.slices(mm.kDim) > 1) {
    return error<5302>(
        "{}: the reduced dimension '{}' is split over {} cores, which is not lowered "
        "yet; split a dimension the output keeps",
        kernel.name, mm.kDim, kernel.slices(mm.kDim));
  }
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (dim != mm.kDim && !c.holds(dim) && size > 1) {
      return error<5302>("{}: the output does not hold '{}' of size {}; one reduced dimension is "
                         "lowered",
                         kernel.name, dim, size);
    }
  }
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(mm.kDim));
  SPYRE_ASSIGN_OR_RETURN(mm.kSteps, kernel.maskedSteps(mm.kDim));
  return Status::success();
}

/// Adds axes for the dimensions with B stride zero (rows) or not (batch); returns how many remain.
static size_t addFreeAxes(Matmul &mm, PhaseBuilder &builder, bool rows) {
  const Kernel &kernel = *mm.kernel;
  std::vector<Axis> axes;
  Place a, b, c;
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (dim == mm.kDim || dim == mm.nDim || kernel.inputs[1].holds(dim) == rows) {
      continue;
    }
    axes.push_back(Axis::whole(dim, kernel.perCore(dim)));
    a.stride.push_back(kernel.inputs[0].strideBytes(dim));
    b.stride.push_back(kernel.inputs[1].strideBytes(dim));
    c.stride.push_back(kernel.output.strideBytes(dim));
  }
  coalesce(axes, {&a, &b, &c});
  for (size_t i : innerFirst(c)) {
    builder.axes.push_back(axes[i]);
    mm.a.stride.push_back(a.stride[i]);
    mm.b.stride.push_back(b.stride[i]);
    mm.c.stride.push_back(c.stride[i]);
  }
  return axes.size();
}

static void addAxes(Matmul &mm, PhaseBuilder &builder) {
  const Kernel &kernel = *mm.kernel;
  const TensorMap &a = kernel.inputs[0], &b = kernel.inputs[1], &c = kernel.output;
  mm.a = builder.placeOf(a);
  mm.b = builder.placeOf(b);
  mm.c = builder.placeOf(c);
  size_t rows = addFreeAxes(mm, builder, true);
  size_t batches = addFreeAxes(mm, builder, false);
  for (size_t i = 0; i < rows; ++i) {
    mm.rowAxes.push_back(i);
  }
  for (size_t i = batches; i-- > 0;) {
    mm.batchAxes.push_back(rows + i);
  }
  mm.nAxis = builder.axes.size();
  builder.axes.push_back(Axis::whole(mm.nDim, kernel.perCore(mm.nDim) / kernel.lanes()));
  mm.a.stride.push_back(0);
  mm.b.stride.push_back(b.strideBytes(mm.nDim));
  mm.c.stride.push_back(c.strideBytes(mm.nDim));
  mm.kAxis = builder.axes.size();
  int64_t kCount = mm.kSteps.count;
  builder.axes.push_back({mm.kDim, kCount, kCount - (mm.kSteps.tailLanes > 0), 1});
  mm.bRowBytes = b.strideBytes(mm.kDim);
  mm.a.stride.push_back(a.strideBytes(mm.kDim));
  mm.b.stride.push_back(kMatmulBlock * mm.bRowBytes);
  mm.c.stride.push_back(0);
}

static void setTiles(const Matmul &mm, PhaseBuilder &builder, const Tiles &tiles) {
  int64_t rowsLeft = tiles.rows;
  for (size_t i = 0; i < mm.rowAxes.size(); ++i) {
    Axis &axis = builder.axes[mm.rowAxes[i]];
    axis.tile = i < kMaxRowAxes ? std::min(axis.count, std::max<int64_t>(rowsLeft, 1)) : 1;
    // Rows of the next axis join only whole runs of this one.
    rowsLeft = axis.tiled() ? 1 : rowsLeft / axis.tile;
  }
  builder.axes[mm.nAxis].tile = tiles.n;
  builder.axes[mm.kAxis].tile = tiles.k;
}

static int64_t stagingBytes(const Matmul &mm, const PhaseBuilder &builder) {
  const Kernel &kernel = *mm.kernel;
  int64_t cBytes = program::kMatmulAccBytes + (kernel.output.inLx ? 0 : kStickBytes);
  int64_t bytes = saturatingProduct(tileSteps(builder.axes, mm.c), cBytes);
  if (!kernel.inputs[0].inLx) {
    bytes += saturatingProduct(tileSteps(builder.axes, mm.a), kStickBytes);
  }
  if (!kernel.inputs[1].inLx) {
    bytes += saturatingProduct(tileSteps(builder.axes, mm.b), kBlockBytes);
  }
  return bytes;
}

/// Tiled axes, outermost first, k last.
static std::vector<size_t> loopOrder(const Matmul &mm, const PhaseBuilder &builder,
                                     bool rowsOutside) {
  std::vector<size_t> order = mm.batchAxes;
  if (!rowsOutside) {
    order.push_back(mm.nAxis);
  }
  order.insert(order.end(), mm.rowAxes.rbegin(), mm.rowAxes.rend());
  if (rowsOutside) {
    order.push_back(mm.nAxis);
  }
  order.push_back(mm.kAxis);
  std::erase_if(order, [&](size_t axis) { return !builder.axes[axis].tiled(); });
  return order;
}

/// Bytes that loading a tensor costs, latencies included.
static int64_t loadCost(const PhaseBuilder &builder, const std::vector<size_t> &order,
                        const Place &place, int64_t stepBytes, int64_t latencyBytes) {
  int64_t loads = 1;
  size_t depth = PhaseBuilder::depthOf(order, place);
  for (size_t i = 0; i < depth; ++i) {
    const Axis &axis = builder.axes[order[i]];
    loads = saturatingProduct(loads, (axis.count + axis.tile - 1) / axis.tile);
  }
  int64_t bytes = saturatingProduct(tileSteps(builder.axes, place), stepBytes);
  return saturatingProduct(loads, bytes + latencyBytes);
}

static std::vector<int64_t> tileCandidates(int64_t count) {
  std::vector<int64_t> candidates;
  for (int64_t tile = 1; tile < count; tile *= 2) {
    candidates.push_back(tile);
  }
  candidates.push_back(count);
  return candidates;
}

/// The cheapest tiles that fit; none when not even the smallest do.
static std::vector<Tiles> chooseTiles(const Matmul &mm, PhaseBuilder &builder) {
  const Kernel &kernel = *mm.kernel;
  const arch::Timing &timing = kernel.device->timing;
  int64_t latencyBytes = int64_t(timing.ddrLatencyCycles * timing.ddrBytesPerCycle) /
                         std::max<int64_t>(kernel.dsc->cores, 1);
  int64_t rows = 1;
  for (size_t i = 0; i < std::min(kMaxRowAxes, mm.rowAxes.size()); ++i) {
    rows *= builder.axes[mm.rowAxes[i]].count;
  }
  std::vector<Tiles> best;
  for (int64_t row : tileCandidates(rows)) {
    for (int64_t n : tileCandidates(builder.axes[mm.nAxis].count)) {
      for (int64_t k : tileCandidates(builder.axes[mm.kAxis].count)) {
        for (bool rowsOutside : {false, true}) {
          Tiles tiles{row, n, k, rowsOutside, 0};
          setTiles(mm, builder, tiles);
          if (stagingBytes(mm, builder) > builder.stagingBytesLeft()) {
            continue;
          }
          std::vector<size_t> order = loopOrder(mm, builder, rowsOutside);
          tiles.cost =
              kernel.inputs[0].inLx ? 0 : loadCost(builder, order, mm.a, kStickBytes, latencyBytes);
          tiles.cost +=
              kernel.inputs[1].inLx ? 0 : loadCost(builder, order, mm.b, kBlockBytes, latencyBytes);
          tiles.cost += loadCost(builder, order, mm.c, kStickBytes, latencyBytes);
          if (best.empty() || tiles.cost < best[0].cost) {
            best.assign(1, tiles);
          }
        }
      }
    }
  }
  return best;
}

static void stageOperands(Matmul &mm, PhaseBuilder &builder) {
  const Kernel &kernel = *mm.kernel;
  mm.aUnit = kernel.inputs[0].inLx ? mm.a : builder.stage("in0.tile", mm.a, kStickBytes);
  mm.bUnit = mm.b;
  mm.bUnitRowBytes = mm.bRowBytes;
  if (!kernel.inputs[1].inLx) {
    // k innermost: all rows of a tile are one run, also those of a partial last block.
    mm.bUnit = builder.stage("in1.tile", mm.b, {mm.kAxis, mm.nAxis}, kBlockBytes);
    mm.bUnitRowBytes = kStickBytes;
  }
  mm.acc = builder.stage("acc", mm.c, program::kMatmulAccBytes);
  mm.cUnit = kernel.output.inLx ? mm.c : builder.stage("out.tile", mm.c, kStickBytes);
}

/// Loads the rows of B that hold data: a masked tail needs no padding rows in memory.
static void loadB(const Matmul &mm, PhaseBuilder &builder) {
  Instruction load;
  load.opcode = Opcode::Load;
  std::vector<Level> nest = builder.levels({mm.nAxis}, {&mm.b, &mm.bUnit});
  int64_t tail = builder.hasTail(mm.kAxis);
  int64_t rows = (builder.steps(mm.kAxis) - tail) * kMatmulBlock + tail * mm.kSteps.tailLanes;
  nest.push_back({rows, {mm.bRowBytes, mm.bUnitRowBytes}});
  builder.emit(load, {&mm.b, &mm.bUnit}, std::move(nest));
}

static void multiply(const Matmul &mm, PhaseBuilder &builder, int64_t first, int64_t count,
                     int64_t validLanes) {
  if (count == 0) {
    return;
  }
  Instruction instruction;
  instruction.opcode = Opcode::Matmul;
  instruction.validLanes = uint16_t(validLanes);
  instruction.parameter = mm.bUnitRowBytes;
  Place a = PhaseBuilder::shifted(mm.aUnit, mm.kAxis, first);
  Place b = PhaseBuilder::shifted(mm.bUnit, mm.kAxis, first);
  std::vector<const Place *> places{&a, &b, &mm.acc};
  // Rows innermost: a block of B stays in the array while rows stream past it.
  std::vector<size_t> order{mm.nAxis, mm.kAxis};
  for (size_t i = mm.rowAxes.size(); i-- > 0;) {
    order.push_back(mm.rowAxes[i]);
  }
  std::vector<Level> nest = builder.levels(order, places);
  nest[1].count = count;
  builder.emit(instruction, places, std::move(nest));
}

static void finishAndStore(const Matmul &mm, PhaseBuilder &builder) {
  Instruction finish;
  finish.opcode = Opcode::Finish;
  finish.immediate = program::kScaleOne;
  finish.function = program::Function::Lanes;
  std::vector<const Place *> places{&mm.acc, &mm.cUnit};
  builder.emit(finish, places, builder.levels(builder.axesOf(mm.c), places));
  if (!mm.kernel->output.inLx) {
    builder.store(mm.cUnit, mm.c);
  }
}

Expected<program::Phase> lowerMatmul(const Kernel &kernel, BufferTable &buffers) {
  Matmul mm;
  mm.kernel = &kernel;
  SPYRE_RETURN_IF_ERROR(checkRules(mm));
  PhaseBuilder builder(kernel, buffers);
  addAxes(mm, builder);
  std::vector<Tiles> tiles = chooseTiles(mm, builder);
  if (tiles.empty()) {
    setTiles(mm, builder, {});
    return error<5303>("{}: one row and one block of 64 rows need {} bytes of staging area, the "
                       "machine has {}; leave more of LX to the back end",
                       kernel.name, stagingBytes(mm, builder), builder.stagingBytesLeft());
  }
  setTiles(mm, builder, tiles[0]);
  stageOperands(mm, builder);
  std::vector<size_t> order = loopOrder(mm, builder, tiles[0].rowsOutside);
  size_t accDepth = order.size() - builder.axes[mm.kAxis].tiled();
  auto enter = [&](size_t depth) {
    if (depth == accDepth) {
      builder.fill(mm.acc, 0, program::kMatmulAccBytes);
    }
    if (depth == PhaseBuilder::depthOf(order, mm.a) && !kernel.inputs[0].inLx) {
      builder.load(mm.a, mm.aUnit);
    }
    if (depth == PhaseBuilder::depthOf(order, mm.b) && !kernel.inputs[1].inLx) {
      loadB(mm, builder);
    }
    if (depth == order.size()) {
      int64_t tail = builder.hasTail(mm.kAxis);
      int64_t whole = builder.steps(mm.kAxis) - tail;
      multiply(mm, builder, 0, whole, kMatmulBlock);
      multiply(mm, builder, whole, tail, mm.kSteps.tailLanes);
    }
  };
  auto leave = [&](size_t depth) {
    if (depth == accDepth) {
      finishAndStore(mm, builder);
    }
  };
  builder.walk(order, enter, leave);
  return builder.finish();
}

} // namespace spyre::backend
