//===- LowerMatmul.cpp - batched matrix products --------------------------------------------===//
//
// C[batch, row, n] = sum over k of A[batch, row, k] * B[batch, k, n]. Sticks run along k in A and
// along n in B and C, so the axes are: batch and row dimensions in elements, N and K in sticks. One
// Matmul point multiplies one A stick with a block of 64 B sticks into one fp32 accumulator stick.
//
//     loop batch { loop row tiles and n tiles, in the cheaper order {
//       Fill accumulators
//       loop k tiles, ascending { Load A; Load B; Matmul }
//       Exchange the accumulators of cores that share them; Finish; Store
//     } }
//
// Rows of C fall into one axis of "rows" whenever B does not change with them, so a shared weight
// is streamed once for all of them. In 8 bits a K step is 128 elements and a B stick has two rows
// of it, so a block is 64 sticks all the same (docs/adr/0019). Integers are summed in int32
// accumulators, which become fp32 when they are finished. Tiles are the cheapest of all that fit
// the staging area (CostModel/MatmulTiles.h), with two copies of the tiles of A and B where there
// is room for them.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/CostModel/MatmulTiles.h"

#include "Cost.h"
#include "Lowerings.h"
#include "PhaseBuilder.h"
#include "Split.h"

#include <algorithm>
#include <optional>

namespace spyre::backend {

using costmodel::MatmulShape;
using costmodel::MatmulTiles;
using numerics::DataFormat;
using program::Instruction;
using program::kMatmulBlock;
using program::Opcode;

static constexpr int64_t kBlockBytes = kMatmulBlock * kStickBytes;

namespace {
struct Matmul {
  const Kernel *kernel = nullptr;
  std::string kDim, nDim;
  StickSteps kSteps;
  Split split;
  /// Of A and B, elements of a K step, and how many of them a stick of B has.
  DataFormat format = DataFormat::Sen169Fp16;
  int64_t kLanes = 0, rowsPerStick = 1;
  /// Bytes between sticks of rows of B in its tensor, and where the unit finds it.
  int64_t bRowBytes = 0, bUnitRowBytes = 0;

  Place a, b, c;                  ///< the tensors
  Place aUnit, bUnit, acc, cUnit; ///< where the unit finds them
  std::vector<size_t> batchAxes;  ///< outermost first
  std::vector<size_t> rowAxes;    ///< innermost in A first
  size_t nAxis = 0, kAxis = 0;
  /// Results are rounded and stored one n step after the other, through room for one.
  bool sliced = false;
};
} // namespace

/// In 8 bits B has two rows in a stick, in 16 bits one.
static Status checkSticks(Matmul &mm) {
  const Kernel &kernel = *mm.kernel;
  const TensorMap &a = kernel.inputs[0], &b = kernel.inputs[1], &c = kernel.output;
  mm.format = kernel.op.mixesFormats() ? kernel.op.from : kernel.format;
  mm.kLanes = a.lanes;
  mm.rowsPerStick = b.stepElements(a.stickDim);
  std::vector<std::pair<std::string, int64_t>> rows{{b.stickDim, kMatmulBlock}};
  if (kernel.op.mixesFormats()) {
    rows.insert(rows.begin(), {a.stickDim, 2});
  }
  if (a.stick.size() != 1 || c.stick.size() != 1 || b.stick != rows) {
    return error<5302>("{}: {} dimensions in the sticks of the inputs and {} in that of the "
                       "output; k alone in input 1, n in the output, in input 2 {}",
                       kernel.name, fmt::format("{} and {}", a.stick.size(), b.stick.size()),
                       c.stick.size(), rows.size() == 2 ? "2 of k inside 64 of n" : "64 of n");
  }
  return Status::success();
}

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
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (dim != mm.kDim && !c.holds(dim) && size > 1) {
      return error<5302>("{}: the output does not hold '{}' of size {}; one reduced dimension is "
                         "lowered",
                         kernel.name, dim, size);
    }
  }
  SPYRE_RETURN_IF_ERROR(checkSticks(mm));
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(mm.kDim));
  SPYRE_ASSIGN_OR_RETURN(mm.kSteps, kernel.maskedSteps(mm.kDim, mm.kLanes));
  return Status::success();
}

/// Adds axes for the dimensions with B stride zero (rows) or not (batch); returns how many remain.
static size_t addFreeAxes(Matmul &mm, PhaseBuilder &builder, bool rows) {
  const Kernel &kernel = *mm.kernel;
  std::vector<Axis> axes;
  Place a, b, c;
  a.arriving = mm.a.arriving;
  b.arriving = mm.b.arriving;
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

/// What the choice of tiles depends on.
static MatmulShape shapeOf(const Matmul &mm, const PhaseBuilder &builder) {
  const Kernel &kernel = *mm.kernel;
  MatmulShape shape;
  shape.axes = builder.axes.size();
  shape.rowAxes = mm.rowAxes.size();
  for (size_t a = 0; a < shape.axes; ++a) {
    shape.count[a] = builder.axes[a].count;
    shape.aAxes |= uint32_t(mm.a.dependsOn(a)) << a;
    shape.bAxes |= uint32_t(mm.b.dependsOn(a)) << a;
    shape.cAxes |= uint32_t(mm.c.dependsOn(a)) << a;
  }
  shape.aInLx = kernel.inputs[0].inLx;
  shape.bInLx = kernel.inputs[1].inLx;
  shape.cInLx = kernel.output.inLx;
  shape.aReaders = readersOf(kernel.inputs[0]);
  shape.bReaders = readersOf(kernel.inputs[1]);
  shape.cores = kernel.dsc->cores;
  shape.stagingBytes = builder.stagingBytesLeft();
  shape.lanes = kernel.lanes();
  shape.integers = mm.format == DataFormat::SenInt8;
  return shape;
}

/// Sets the tiles; returns the tiled axes, outermost first, k last.
static std::vector<size_t> setTiles(const MatmulShape &shape, const MatmulTiles &tiles,
                                    PhaseBuilder &builder) {
  std::array<int64_t, MatmulShape::kMaxAxes> tile{};
  std::array<uint8_t, MatmulShape::kMaxAxes> loops{};
  costmodel::setMatmulTiles(shape, tiles, tile);
  for (size_t a = 0; a < shape.axes; ++a) {
    builder.axes[a].tile = tile[a];
  }
  size_t count = costmodel::matmulLoops(shape, tile, tiles.rowsOutside, loops);
  return {loops.begin(), loops.begin() + ptrdiff_t(count)};
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
  Place out = mm.c;
  out.stride[mm.nAxis] = mm.sliced ? 0 : out.stride[mm.nAxis];
  mm.cUnit = kernel.output.inLx ? mm.c : builder.stage("out.tile", out, kStickBytes);
}

static void loadA(const Matmul &mm, PhaseBuilder &builder) {
  if (mm.a.arriving) {
    builder.load(mm.a, mm.aUnit);
    return;
  }
  Instruction load;
  load.opcode = Opcode::Load;
  std::vector<const Place *> places{&mm.a, &mm.aUnit};
  builder.emitAs(mm.format, load, places, builder.levels(builder.axesOf(mm.a), places));
}

/// \p rows sticks of B for each n.
static void loadRows(const Matmul &mm, PhaseBuilder &builder, int64_t rows, int32_t only) {
  if (mm.b.arriving) {
    std::vector<PhaseBuilder::Span> spans;
    for (size_t a : builder.axesOf(mm.b)) {
      if (a != mm.kAxis) {
        spans.push_back({builder.axes[a].name, builder.firstStep(a), builder.steps(a),
                         mm.b.stride[a], mm.bUnit.stride[a]});
      }
    }
    spans.push_back({mm.kDim, builder.firstStep(mm.kAxis) * kMatmulBlock, rows, mm.bRowBytes,
                     mm.bUnitRowBytes});
    builder.arrive(mm.b, mm.bUnit, spans, only);
    return;
  }
  Instruction load;
  load.opcode = Opcode::Load;
  load.onlyTable = only;
  std::vector<Level> nest = builder.levels({mm.nAxis}, {&mm.b, &mm.bUnit});
  nest.push_back({rows, {mm.bRowBytes, mm.bUnitRowBytes}});
  builder.emitAs(mm.format, load, {&mm.b, &mm.bUnit}, std::move(nest));
}

/// Loads the rows of B that hold data: a masked tail needs no padding rows in memory.
static void loadB(const Matmul &mm, PhaseBuilder &builder) {
  int64_t whole = builder.steps(mm.kAxis) * kMatmulBlock;
  if (!builder.hasTail(mm.kAxis)) {
    loadRows(mm, builder, whole, -1);
    return;
  }
  int64_t tail = ceilDiv(mm.kSteps.tailLanes, mm.rowsPerStick);
  loadRows(mm, builder, whole - kMatmulBlock + tail, mm.split.lastSlice);
  if (mm.split.otherSlices >= 0) {
    loadRows(mm, builder, whole, mm.split.otherSlices);
  }
}

static void multiply(const Matmul &mm, PhaseBuilder &builder, int64_t first, int64_t count,
                     int64_t validLanes, int32_t only) {
  if (count == 0) {
    return;
  }
  Instruction instruction;
  instruction.opcode = Opcode::Matmul;
  instruction.onlyTable = only;
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
  builder.emitAs(mm.format, instruction, places, std::move(nest));
}

static void multiplyTile(const Matmul &mm, PhaseBuilder &builder) {
  int64_t tail = builder.hasTail(mm.kAxis);
  int64_t whole = builder.steps(mm.kAxis) - tail;
  multiply(mm, builder, 0, whole, mm.kLanes, -1);
  multiply(mm, builder, whole, tail, mm.kSteps.tailLanes, mm.split.lastSlice);
  if (mm.split.otherSlices >= 0) {
    multiply(mm, builder, whole, tail, mm.kLanes, mm.split.otherSlices);
  }
}

/// Brings accumulators of integers to fp32, in place.
static void convertSums(const Matmul &mm, PhaseBuilder &builder) {
  Instruction convert;
  convert.opcode = Opcode::Convert;
  convert.onlyTable = mm.split.roots;
  convert.function = program::Function::Nearest;
  convert.toFormat = DataFormat::IeeeFp32;
  convert.group = 1;
  std::vector<const Place *> places{&mm.acc, &mm.acc};
  std::vector<Level> nest = builder.levels(builder.axesOf(mm.acc), places);
  nest.push_back({program::kMatmulAccBytes / kStickBytes, {kStickBytes, kStickBytes}});
  builder.emitAs(DataFormat::IeeeInt32, convert, places, std::move(nest));
}

static void finishAndStore(const Matmul &mm, PhaseBuilder &builder) {
  bool isInteger = mm.format == DataFormat::SenInt8;
  combineSlices(mm.split, program::Function::Sum, mm.acc, program::kMatmulAccBytes, builder,
                isInteger);
  if (isInteger) {
    convertSums(mm, builder);
  }
  std::vector<size_t> axes = builder.axesOf(mm.c);
  if (mm.sliced) {
    std::erase(axes, mm.nAxis);
  }
  const int64_t slices = mm.sliced ? builder.steps(mm.nAxis) : 1;
  for (int64_t slice = 0; slice < slices; ++slice) {
    const Place acc = PhaseBuilder::shifted(mm.acc, mm.nAxis, slice);
    const Place c = PhaseBuilder::shifted(mm.c, mm.nAxis, slice);
    Instruction finish;
    finish.opcode = Opcode::Finish;
    finish.onlyTable = mm.split.roots;
    finish.constant = program::kScaleOne;
    finish.function = program::Function::Lanes;
    std::vector<const Place *> places{&acc, &mm.cUnit};
    builder.emit(finish, places, builder.levels(axes, places));
    if (!mm.kernel->output.inLx) {
      Instruction store;
      store.opcode = Opcode::Store;
      store.onlyTable = mm.split.roots;
      places = {&mm.cUnit, &c};
      builder.emit(store, places, builder.levels(axes, places));
    }
  }
}

Expected<program::Phase> lowerMatmul(const Kernel &kernel, BufferTable &buffers) {
  Matmul mm;
  mm.kernel = &kernel;
  SPYRE_RETURN_IF_ERROR(checkRules(mm));
  PhaseBuilder builder(kernel, buffers);
  addAxes(mm, builder);
  SPYRE_ASSIGN_OR_RETURN(mm.split, planSplit(kernel, mm.kDim, mm.kSteps.tailLanes > 0, builder));
  if (builder.axes.size() > MatmulShape::kMaxAxes) {
    return error<5302>("{}: {} dimensions are more than a matmul has; join some", kernel.name,
                       builder.axes.size());
  }
  const MatmulShape shape = shapeOf(mm, builder);
  std::optional<MatmulTiles> tiles = costmodel::chooseMatmulTiles(shape, *kernel.device);
  if (!tiles) {
    return error<5303>("{}: one row and one block of 64 sticks need {} bytes of staging area, the "
                       "machine has {}; leave more of LX to the back end",
                       kernel.name, costmodel::matmulStagingBytes(shape, {}),
                       builder.stagingBytesLeft());
  }
  std::vector<size_t> order = setTiles(shape, *tiles, builder);
  mm.sliced = tiles->sliced;
  stageOperands(mm, builder);
  size_t accDepth = order.size() - builder.axes[mm.kAxis].tiled();
  auto enter = [&](size_t depth) {
    if (depth == accDepth) {
      builder.fill(mm.acc, 0, program::kMatmulAccBytes);
    }
    if (depth == PhaseBuilder::depthOf(order, mm.a) && !kernel.inputs[0].inLx) {
      loadA(mm, builder);
    }
    if (depth == PhaseBuilder::depthOf(order, mm.b) && !kernel.inputs[1].inLx) {
      loadB(mm, builder);
    }
    if (depth == order.size()) {
      multiplyTile(mm, builder);
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
