//===- LowerPool.cpp - pooling and depthwise convolution ------------------------------------===//
//
// Channels stay apart, so one step of every axis is one stick of every tensor. The elements of a
// window are accumulated in fp32, ki then kj ascending (docs/adr/0021):
//
//     loop over tiles of channels, batch, y, x {
//       Fill accumulators
//       loop over tiles of ki, kj, ascending { Load; Accumulate }
//       Finish; Store
//     }
//
// No instruction accumulates a product. So a depthwise convolution brings both operands to fp32
// first and adds with a fused multiply-add; in DLFloat16 its accumulators have the lane order of
// that conversion, which the conversion back undoes:
//
//     Convert input, weights; Vector fma acc <- input, weights, acc; Convert acc
//===--------------------------------------------------------------------------------------------===//
#include "Lowerings.h"
#include "PhaseBuilder.h"
#include "WindowTile.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace spyre::backend {

using numerics::DataFormat;
using program::Function;
using program::Instruction;
using program::Opcode;

/// Two fp32 sticks hold the lanes of one DLFloat16 stick.
static constexpr int64_t kWideBytes = 2 * kStickBytes;

namespace {
struct Pool {
  const Kernel *kernel = nullptr;
  WindowAxes axes;
  uint32_t scaleBits = program::kScaleOne;
  WindowTile input;
  Place weights, output;                         ///< the tensors
  Place inputTile, weightsTile;                  ///< where Load puts them
  Place inputUnit, weightsUnit, outputUnit, acc; ///< where the unit finds them

  bool isDepthwise() const { return kernel->op.function == Function::Fma; }
  bool converts() const { return isDepthwise() && kernel->format == DataFormat::Sen169Fp16; }
};
} // namespace

/// The factor of an average; other ops have none.
static Status findScale(Pool &pool) {
  const Kernel &kernel = *pool.kernel;
  if (kernel.op.function != Function::Sum) {
    return Status::success();
  }
  for (const spec::DscConstant &constant : kernel.dsc->constants) {
    if (constant.name == "nmap") {
      pool.scaleBits =
          constant.format == DataFormat::IeeeFp32
              ? constant.bits
              : std::bit_cast<uint32_t>(numerics::dl16ToFloat(uint16_t(constant.bits)));
      return Status::success();
    }
  }
  return error<5302>("{}: needs the constant 'nmap' (1 / window size), which is missing",
                     kernel.name);
}

static void addAxes(Pool &pool, PhaseBuilder &builder) {
  const Kernel &kernel = *pool.kernel;
  pool.axes = addWindowAxes(kernel, builder);
  pool.axes.channels = builder.axes.size();
  builder.axes.push_back(Axis::whole("out", kernel.perCore("out") / kernel.lanes()));
  pool.input = WindowTile(kernel, pool.axes, builder);
  if (pool.isDepthwise()) {
    pool.weights = builder.placeOf(kernel.inputs[1]);
  }
  pool.output = builder.placeOf(kernel.output);
  for (const Axis &axis : builder.axes) {
    pool.weights.stride.push_back(pool.isDepthwise() ? kernel.inputs[1].strideBytes(axis.name) : 0);
    pool.output.stride.push_back(kernel.output.strideBytes(axis.name));
  }
}

static int64_t accBytes(const Pool &pool) { return program::accBytes(pool.kernel->format); }

static int64_t stagingBytes(const Pool &pool, const PhaseBuilder &builder) {
  const Kernel &kernel = *pool.kernel;
  const int64_t wide = pool.converts() ? kWideBytes : 0;
  auto operandBytes = [&](size_t input) {
    return (kernel.inputs[input].inLx ? 0 : kStickBytes) + wide;
  };
  int64_t outBytes = accBytes(pool) + (kernel.output.inLx ? 0 : kStickBytes);
  int64_t bytes = saturatingProduct(pool.input.sticks(builder), operandBytes(0)) +
                  saturatingProduct(tileSteps(builder.axes, pool.output), outBytes);
  if (pool.isDepthwise()) {
    bytes += saturatingProduct(tileSteps(builder.axes, pool.weights), operandBytes(1));
  }
  return bytes;
}

/// The window first, so that its elements are loaded once; then pixels, channels, batch.
static Status chooseTiles(const Pool &pool, PhaseBuilder &builder) {
  std::vector<Axis> &axes = builder.axes;
  const int64_t room = builder.stagingBytesLeft();
  auto bytes = [&] { return stagingBytes(pool, builder); };
  const auto &[ki, kj] = pool.axes.window;
  if (!fillTiles(axes, {kj, ki}, 2, room, bytes)) {
    return error<5303>("{}: one stick per operand needs {} bytes of staging area, the machine has "
                       "{}; leave more of LX to the back end",
                       pool.kernel->name, bytes(), room);
  }
  // Converted sticks are pairs: one level more.
  size_t levels = program::kMaxLevels - pool.converts() - (axes[ki].tile > 1) - (axes[kj].tile > 1);
  fillTiles(axes, {pool.axes.pixel[1], pool.axes.pixel[0], pool.axes.channels, pool.axes.batch},
            levels, room, bytes);
  return Status::success();
}

static void stageOperands(Pool &pool, PhaseBuilder &builder) {
  const Kernel &kernel = *pool.kernel;
  auto stageInput = [&](const char *name, int64_t stickBytes) {
    Place place = builder.stageRoom(name, pool.input.sticks(builder) * stickBytes);
    place.stride = pool.input.compactStrides(builder, stickBytes);
    return place;
  };
  pool.inputTile = kernel.inputs[0].inLx ? pool.input.place : stageInput("in0.tile", kStickBytes);
  pool.inputUnit = pool.converts() ? stageInput("in0.wide", kWideBytes) : pool.inputTile;
  if (pool.isDepthwise()) {
    pool.weightsTile =
        kernel.inputs[1].inLx ? pool.weights : builder.stage("in1.tile", pool.weights, kStickBytes);
    pool.weightsUnit =
        pool.converts() ? builder.stage("in1.wide", pool.weights, kWideBytes) : pool.weightsTile;
  }
  pool.acc = builder.stage("acc", pool.output, accBytes(pool));
  pool.outputUnit =
      kernel.output.inLx ? pool.output : builder.stage("out.tile", pool.output, kStickBytes);
}

static void convert(PhaseBuilder &builder, const std::vector<const Place *> &places,
                    std::vector<Level> levels, bool toWide) {
  Instruction instruction;
  instruction.opcode = Opcode::Convert;
  instruction.function = Function::Nearest;
  instruction.group = 1;
  instruction.parameter = kStickBytes;
  instruction.toFormat = toWide ? DataFormat::IeeeFp32 : DataFormat::Sen169Fp16;
  builder.emitAs(toWide ? DataFormat::Sen169Fp16 : DataFormat::IeeeFp32, instruction, places,
                 std::move(levels));
}

static void loadInput(const Pool &pool, PhaseBuilder &builder) {
  const bool inLx = pool.kernel->inputs[0].inLx;
  std::vector<Level> nest = pool.input.levels(builder, kStickBytes);
  if (!inLx) {
    Instruction load;
    load.opcode = Opcode::Load;
    builder.emit(load, {&pool.input.place, &pool.inputTile}, nest);
  }
  if (pool.converts()) {
    for (Level &level : nest) {
      int64_t compact = level.strides[1];
      level.strides = {inLx ? level.strides[0] : compact, 2 * compact};
    }
    convert(builder, {&pool.inputTile, &pool.inputUnit}, std::move(nest), true);
  }
}

static void loadWeights(const Pool &pool, PhaseBuilder &builder) {
  if (!pool.kernel->inputs[1].inLx) {
    builder.load(pool.weights, pool.weightsTile);
  }
  if (pool.converts()) {
    std::vector<const Place *> places{&pool.weightsTile, &pool.weightsUnit};
    convert(builder, places, builder.levels(builder.axesOf(pool.weights), places), true);
  }
}

/// The window is outermost: each accumulator sees its elements in ascending order.
static std::vector<size_t> workOrder(const Pool &pool, const PhaseBuilder &builder) {
  std::vector<size_t> order{pool.axes.window[0], pool.axes.window[1]};
  for (size_t axis : builder.axesOf(pool.output)) {
    order.push_back(axis);
  }
  return order;
}

static void accumulate(const Pool &pool, PhaseBuilder &builder) {
  Instruction instruction;
  instruction.function = pool.kernel->op.function;
  if (!pool.isDepthwise()) {
    instruction.opcode = Opcode::Accumulate;
    instruction.validLanes = uint16_t(pool.kernel->lanes());
    std::vector<const Place *> places{&pool.inputUnit, &pool.acc};
    builder.emit(instruction, places, builder.levels(workOrder(pool, builder), places));
    return;
  }
  instruction.opcode = Opcode::Vector;
  std::vector<const Place *> places{&pool.inputUnit, &pool.weightsUnit, &pool.acc, &pool.acc};
  std::vector<Level> nest = builder.levels(workOrder(pool, builder), places);
  if (pool.converts()) {
    nest.push_back({2, std::vector<int64_t>(places.size(), kStickBytes)});
  }
  builder.emitAs(DataFormat::IeeeFp32, instruction, places, std::move(nest));
}

static void finishAndStore(const Pool &pool, PhaseBuilder &builder) {
  std::vector<const Place *> places{&pool.acc, &pool.outputUnit};
  std::vector<Level> nest = builder.levels(builder.axesOf(pool.output), places);
  if (pool.converts()) {
    convert(builder, places, std::move(nest), false);
  } else {
    Instruction finish;
    finish.opcode = Opcode::Finish;
    finish.function = Function::Lanes;
    finish.constant = pool.scaleBits;
    builder.emit(finish, places, std::move(nest));
  }
  if (!pool.kernel->output.inLx) {
    builder.store(pool.outputUnit, pool.output);
  }
}

Expected<program::Phase> lowerPool(const Kernel &kernel, BufferTable &buffers) {
  Pool pool;
  pool.kernel = &kernel;
  SPYRE_RETURN_IF_ERROR(checkWindowRules(kernel, ""));
  SPYRE_RETURN_IF_ERROR(findScale(pool));
  PhaseBuilder builder(kernel, buffers);
  addAxes(pool, builder);
  SPYRE_RETURN_IF_ERROR(chooseTiles(pool, builder));
  stageOperands(pool, builder);

  std::vector<size_t> order;
  auto addTiled = [&](std::initializer_list<size_t> axes) {
    std::copy_if(axes.begin(), axes.end(), std::back_inserter(order),
                 [&](size_t axis) { return builder.axes[axis].tiled(); });
  };
  addTiled({pool.axes.channels, pool.axes.batch, pool.axes.pixel[0], pool.axes.pixel[1]});
  size_t accDepth = order.size();
  addTiled({pool.axes.window[0], pool.axes.window[1]});
  const bool isMax = kernel.op.function == Function::Max;
  const auto initial =
      std::bit_cast<uint32_t>(isMax ? -std::numeric_limits<float>::infinity() : 0.0f);
  auto enter = [&](size_t depth) {
    if (depth == accDepth) {
      builder.fill(pool.acc, initial, accBytes(pool));
    }
    if (pool.isDepthwise() && depth == PhaseBuilder::depthOf(order, pool.weights)) {
      loadWeights(pool, builder);
    }
    if (depth == PhaseBuilder::depthOf(order, pool.input.place)) {
      loadInput(pool, builder);
    }
    if (depth == order.size()) {
      accumulate(pool, builder);
    }
  };
  auto leave = [&](size_t depth) {
    if (depth == accDepth) {
      finishAndStore(pool, builder);
    }
  };
  builder.walk(order, enter, leave);
  return builder.finish();
}

} // namespace spyre::backend
