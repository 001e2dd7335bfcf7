//===- LowerConv.cpp - convolutions over input channels -------------------------------------===//
//
// C[batch, y, x, n] = sum over ki, kj, k of A[batch, i, j, k] * B[ki, kj, k, n]: a matrix product
// with one reduced dimension and a shifted A per element of the window. Sticks run along k in A and
// along n in B and C (docs/adr/0021).
//
//     loop n tiles { loop batch, y and x tiles {
//       Fill accumulators
//       loop ki, kj, k tiles, ascending { Load A and what B needs; Matmul }
//       Exchange the accumulators of cores that share them; Finish; Store
//     } }
//
// The order of the sum is ki, kj, k. So k is cut into tiles only when a tile has one window
// element, kj only when it has one ki. When the whole window fits, B is loaded once per n tile and
// A once per tile of pixels, with the rows and columns its windows share (WindowTile.h).
//===--------------------------------------------------------------------------------------------===//
#include "Lowerings.h"
#include "PhaseBuilder.h"
#include "Split.h"
#include "WindowTile.h"

#include <algorithm>

namespace spyre::backend {

using program::Instruction;
using program::kMatmulBlock;
using program::Opcode;

static constexpr int64_t kBlockBytes = kMatmulBlock * kStickBytes;
/// With a masked tail of k each window element takes two instructions: no more of them in a tile.
static constexpr int64_t kMaxUnrolled = 64;

namespace {
struct Convolution {
  const Kernel *kernel = nullptr;
  StickSteps kSteps;
  Split split;
  WindowAxes axes;
  size_t nAxis = 0;
  /// Bytes between rows of B in its tensor, and where the unit finds it.
  int64_t bRowBytes = 0, bUnitRowBytes = 0;
  WindowTile input;
  Place b, c;
  Place aUnit, bUnit, acc, cUnit;

  size_t kAxis() const { return axes.channels; }
};
} // namespace

static Status checkRules(Convolution &conv) {
  const Kernel &kernel = *conv.kernel;
  SPYRE_RETURN_IF_ERROR(checkWindowRules(kernel, "in"));
  if (!kernel.inputs[1].holds("in")) {
    return error<5302>("{}: the weights have no rows of 'in'", kernel.name);
  }
  SPYRE_ASSIGN_OR_RETURN(conv.kSteps, kernel.maskedSteps("in"));
  return Status::success();
}

static void addAxes(Convolution &conv, PhaseBuilder &builder) {
  const Kernel &kernel = *conv.kernel;
  const TensorMap &b = kernel.inputs[1], &c = kernel.output;
  conv.axes = addWindowAxes(kernel, builder);
  conv.nAxis = builder.axes.size();
  builder.axes.push_back(Axis::whole("out", kernel.perCore("out") / kernel.lanes()));
  conv.axes.channels = builder.axes.size();
  int64_t count = conv.kSteps.count;
  builder.axes.push_back({"in", count, count - (conv.kSteps.tailLanes > 0), 1});

  conv.input = WindowTile(kernel, conv.axes, builder);
  conv.b = builder.placeOf(b);
  conv.c = builder.placeOf(c);
  for (const Axis &axis : builder.axes) {
    conv.b.stride.push_back(b.strideBytes(axis.name));
    conv.c.stride.push_back(c.strideBytes(axis.name));
  }
  conv.bRowBytes = b.strideBytes("in");
  conv.b.stride[conv.kAxis()] = kMatmulBlock * conv.bRowBytes;
}

static int64_t stagingBytes(const Convolution &conv, const PhaseBuilder &builder) {
  const Kernel &kernel = *conv.kernel;
  int64_t cBytes = program::kMatmulAccBytes + (kernel.output.inLx ? 0 : kStickBytes);
  int64_t bytes = saturatingProduct(tileSteps(builder.axes, conv.c), cBytes);
  if (!kernel.inputs[0].inLx) {
    bytes += saturatingProduct(conv.input.sticks(builder), kStickBytes);
  }
  if (!kernel.inputs[1].inLx) {
    bytes += saturatingProduct(tileSteps(builder.axes, conv.b), kBlockBytes);
  }
  return bytes;
}

/// All of \p summed in one tile, when that leaves room for pixels. Nothing of B is loaded twice
/// then, so it needs no second copy.
static bool takeWhole(const std::vector<size_t> &summed, std::vector<Axis> &axes, int64_t room,
                      const std::function<int64_t()> &bytes) {
  for (size_t axis : summed) {
    axes[axis].tile = axes[axis].count;
  }
  return bytes() <= room / 4 * 3;
}

/// First what is summed, in up to half of the room, then pixels, then output channels.
static Status chooseTiles(const Convolution &conv, PhaseBuilder &builder) {
  std::vector<Axis> &axes = builder.axes;
  const int64_t room = builder.stagingBytesLeft();
  auto bytes = [&] { return stagingBytes(conv, builder); };
  const auto &[ki, kj] = conv.axes.window;
  const int64_t unrolled = conv.kSteps.tailLanes > 0 ? kMaxUnrolled : INT64_MAX;
  std::vector<size_t> summed{conv.kAxis()};
  if (axes[kj].count <= unrolled) {
    summed.push_back(kj);
  }
  if (saturatingProduct(axes[kj].count, axes[ki].count) <= unrolled) {
    summed.push_back(ki);
  }
  if (!takeWhole(summed, axes, room, bytes) &&
      !fillTiles(axes, summed, summed.size(), room / 2, bytes) &&
      !fillTiles(axes, summed, summed.size(), room, bytes)) {
    return error<5303>("{}: one pixel and one block of 64 weight rows need {} bytes of staging "
                       "area, the machine has {}; leave more of LX to the back end",
                       conv.kernel->name, bytes(), room);
  }
  auto levelsLeft = [&] {
    auto used = std::count_if(axes.begin(), axes.end(), [](const Axis &a) { return a.tile > 1; });
    return program::kMaxLevels - size_t(used);
  };
  fillTiles(axes, {conv.axes.pixel[1], conv.axes.pixel[0], conv.axes.batch}, levelsLeft(), room,
            bytes);
  fillTiles(axes, {conv.nAxis}, levelsLeft(), room, bytes);
  return Status::success();
}

static void stageOperands(Convolution &conv, PhaseBuilder &builder) {
  const Kernel &kernel = *conv.kernel;
  conv.aUnit = conv.input.place;
  if (!kernel.inputs[0].inLx) {
    conv.aUnit = builder.stageRoom("in0.tile", conv.input.sticks(builder) * kStickBytes);
    conv.aUnit.stride = conv.input.compactStrides(builder, kStickBytes);
  }
  conv.bUnit = conv.b;
  conv.bUnitRowBytes = conv.bRowBytes;
  if (!kernel.inputs[1].inLx) {
    const auto &[ki, kj] = conv.axes.window;
    // k innermost: all rows of a window element are one run.
    conv.bUnit = builder.stage("in1.tile", conv.b, {conv.kAxis(), kj, ki, conv.nAxis}, kBlockBytes);
    conv.bUnitRowBytes = kStickBytes;
  }
  conv.acc = builder.stage("acc", conv.c, program::kMatmulAccBytes);
  conv.cUnit = kernel.output.inLx ? conv.c : builder.stage("out.tile", conv.c, kStickBytes);
}

static void loadA(const Convolution &conv, PhaseBuilder &builder) {
  Instruction load;
  load.opcode = Opcode::Load;
  builder.emit(load, {&conv.input.place, &conv.aUnit}, conv.input.levels(builder, kStickBytes));
}

static void loadRows(const Convolution &conv, PhaseBuilder &builder, int64_t rows, int32_t only) {
  Instruction load;
  load.opcode = Opcode::Load;
  load.onlyTable = only;
  const auto &[ki, kj] = conv.axes.window;
  std::vector<Level> nest = builder.levels({conv.nAxis, ki, kj}, {&conv.b, &conv.bUnit});
  nest.push_back({rows, {conv.bRowBytes, conv.bUnitRowBytes}});
  builder.emit(load, {&conv.b, &conv.bUnit}, std::move(nest));
}

/// Rows behind a masked tail are not needed.
static void loadB(const Convolution &conv, PhaseBuilder &builder) {
  int64_t whole = builder.steps(conv.kAxis()) * kMatmulBlock;
  if (!builder.hasTail(conv.kAxis())) {
    loadRows(conv, builder, whole, -1);
    return;
  }
  loadRows(conv, builder, whole - kMatmulBlock + conv.kSteps.tailLanes, conv.split.lastSlice);
  if (conv.split.otherSlices >= 0) {
    loadRows(conv, builder, whole, conv.split.otherSlices);
  }
}

/// Part of a tile: a run of k sticks, of all window elements or of one.
struct Part {
  int64_t first = 0, count = 0, validLanes = kMatmulBlock;
  int32_t only = -1;
  int64_t ki = -1, kj = -1;
};

static void multiply(const Convolution &conv, PhaseBuilder &builder, const Part &part) {
  if (part.count == 0) {
    return;
  }
  Instruction instruction;
  instruction.opcode = Opcode::Matmul;
  instruction.onlyTable = part.only;
  instruction.validLanes = uint16_t(part.validLanes);
  instruction.parameter = conv.bUnitRowBytes;
  const auto &[ki, kj] = conv.axes.window;
  auto shifted = [&](Place place) {
    place = PhaseBuilder::shifted(std::move(place), conv.kAxis(), part.first);
    place = PhaseBuilder::shifted(std::move(place), ki, std::max<int64_t>(part.ki, 0));
    return PhaseBuilder::shifted(std::move(place), kj, std::max<int64_t>(part.kj, 0));
  };
  Place a = shifted(conv.aUnit), b = shifted(conv.bUnit);
  std::vector<const Place *> places{&a, &b, &conv.acc};
  // Pixels innermost: a block of B stays in the array while they stream past it.
  std::vector<Level> nest = builder.levels(
      {conv.nAxis, ki, kj, conv.kAxis(), conv.axes.batch, conv.axes.pixel[0], conv.axes.pixel[1]},
      places);
  nest[1].count = part.ki < 0 ? nest[1].count : 1;
  nest[2].count = part.kj < 0 ? nest[2].count : 1;
  nest[3].count = part.count;
  builder.emit(instruction, places, std::move(nest));
}

static void multiplyTile(const Convolution &conv, PhaseBuilder &builder) {
  int64_t steps = builder.steps(conv.kAxis());
  if (!builder.hasTail(conv.kAxis())) {
    multiply(conv, builder, {0, steps});
    return;
  }
  // The tail of one window element comes before the next element.
  for (int64_t ki = 0; ki < builder.steps(conv.axes.window[0]); ++ki) {
    for (int64_t kj = 0; kj < builder.steps(conv.axes.window[1]); ++kj) {
      multiply(conv, builder, {0, steps - 1, kMatmulBlock, -1, ki, kj});
      multiply(conv, builder, {steps - 1, 1, conv.kSteps.tailLanes, conv.split.lastSlice, ki, kj});
      if (conv.split.otherSlices >= 0) {
        multiply(conv, builder, {steps - 1, 1, kMatmulBlock, conv.split.otherSlices, ki, kj});
      }
    }
  }
}

static void finishAndStore(const Convolution &conv, PhaseBuilder &builder) {
  combineSlices(conv.split, program::Function::Sum, conv.acc, program::kMatmulAccBytes, builder);
  Instruction finish;
  finish.opcode = Opcode::Finish;
  finish.onlyTable = conv.split.roots;
  finish.constant = program::kScaleOne;
  finish.function = program::Function::Lanes;
  std::vector<const Place *> places{&conv.acc, &conv.cUnit};
  builder.emit(finish, places, builder.levels(builder.axesOf(conv.c), places));
  if (!conv.kernel->output.inLx) {
    builder.store(conv.cUnit, conv.c, conv.split.roots);
  }
}

Expected<program::Phase> lowerConvolution(const Kernel &kernel, BufferTable &buffers) {
  Convolution conv;
  conv.kernel = &kernel;
  SPYRE_RETURN_IF_ERROR(checkRules(conv));
  PhaseBuilder builder(kernel, buffers);
  addAxes(conv, builder);
  SPYRE_ASSIGN_OR_RETURN(conv.split, planSplit(kernel, "in", conv.kSteps.tailLanes > 0, builder));
  SPYRE_RETURN_IF_ERROR(chooseTiles(conv, builder));
  stageOperands(conv, builder);

  std::vector<size_t> order;
  auto addTiled = [&](std::initializer_list<size_t> axes) {
    std::copy_if(axes.begin(), axes.end(), std::back_inserter(order),
                 [&](size_t axis) { return builder.axes[axis].tiled(); });
  };
  addTiled({conv.nAxis, conv.axes.batch, conv.axes.pixel[0], conv.axes.pixel[1]});
  size_t accDepth = order.size();
  addTiled({conv.axes.window[0], conv.axes.window[1], conv.kAxis()});
  auto enter = [&](size_t depth) {
    if (depth == accDepth) {
      builder.fill(conv.acc, 0, program::kMatmulAccBytes);
    }
    if (depth == PhaseBuilder::depthOf(order, conv.input.place) && !kernel.inputs[0].inLx) {
      loadA(conv, builder);
    }
    if (depth == PhaseBuilder::depthOf(order, conv.b) && !kernel.inputs[1].inLx) {
      loadB(conv, builder);
    }
    if (depth == order.size()) {
      multiplyTile(conv, builder);
    }
  };
  auto leave = [&](size_t depth) {
    if (depth == accDepth) {
      finishAndStore(conv, builder);
    }
  };
  builder.walk(order, enter, leave);
  return builder.finish();
}

} // namespace spyre::backend
