//===- LowerReduction.cpp - sums, extremes and means along one dimension --------------------===//
//
// Axes: those the output keeps, and last the reduced one. Each output stick has an fp32 accumulator
// in LX that lives over all tiles of the reduced axis:
//
//     loop over tiles of kept axes {
//       Fill accumulators
//       loop over tiles of the reduced axis, ascending { Load; Accumulate }
//       Exchange the accumulators of cores that share an output (Split.h)
//       Finish; Store
//     }
//
// Along the stick dimension the lanes accumulate over the sticks and Finish folds the lanes; lanes
// of a masked tail take the mask value. Otherwise lanes stay apart.
//
// exx2 has two accumulators, for the mean and the mean of squares. Each is finished into a stick of
// its own, and lane 0 of these becomes lane 0 and 1 of the output stick, of which all other lanes
// are zero (ADR 0016).
//===--------------------------------------------------------------------------------------------===//
#include "Lowerings.h"
#include "PhaseBuilder.h"
#include "Split.h"

#include <bit>
#include <limits>

namespace spyre::backend {

using program::Function;
using program::Instruction;
using program::Opcode;

/// An accumulator level needs room for its own two sticks beside the axes.
static constexpr size_t kMaxTileAxes = program::kMaxLevels - 1;

namespace {
/// One value per output element: how it accumulates, and where it is meanwhile.
struct Value {
  Function function = Function::Sum;
  /// Lane of the output stick, or -1: the value is the output.
  int64_t lane = -1;
  Place acc, total;

  /// Of two accumulators, and of lanes.
  Function combine() const {
    return function == Function::SumSquares ? Function::Sum
           : function == Function::AbsMax   ? Function::Max
                                            : function;
  }
  Function tree() const {
    return combine() == Function::Max   ? Function::TreeMax
           : combine() == Function::Min ? Function::TreeMin
                                        : Function::TreeSum;
  }
  /// Magnitudes start at 0, so that is the largest magnitude of nothing.
  uint32_t initialBits(numerics::DataFormat format) const {
    if (format == numerics::DataFormat::IeeeInt32) {
      return function == Function::Max   ? uint32_t(std::numeric_limits<int32_t>::min())
             : function == Function::Min ? uint32_t(std::numeric_limits<int32_t>::max())
                                         : 0;
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return std::bit_cast<uint32_t>(function == Function::Max   ? -kInfinity
                                   : function == Function::Min ? kInfinity
                                                               : 0.0f);
  }
};

struct Reduction {
  const Kernel *kernel = nullptr;
  /// Empty when nothing is reduced (all candidates have size 1).
  std::string dim;
  bool overStick = false;
  StickSteps steps;
  Split split;
  uint32_t maskBits = 0, scaleBits = program::kScaleOne;
  std::vector<Value> values;

  Place input, output;         ///< the tensors
  Place inputUnit, outputUnit; ///< where the unit finds them
  size_t axis = 0;

  bool isPair() const { return values[0].lane >= 0; }
};
} // namespace

static int64_t stepsOf(const Kernel &kernel, const std::string &dim) {
  return dim == kernel.output.stickDim ? kernel.perCore(dim) / kernel.lanes() : kernel.perCore(dim);
}

/// Finds the one dimension the output drops.
static Status findReducedDim(Reduction &reduction) {
  const Kernel &kernel = *reduction.kernel;
  const TensorMap &input = kernel.inputs[0], &output = kernel.output;
  if (input.stickDim != output.stickDim) {
    return error<5302>("{}: the input has its stick along '{}', the output along '{}'; a reduction "
                       "keeps the stick dimension, restickify first",
                       kernel.name, input.stickDim, output.stickDim);
  }
  // A sparse input has one value per stick: its stick dimension is only a carrier of that value.
  reduction.overStick = kernel.op.opClass == OpClass::StickReduction && !input.sparse;
  if (reduction.overStick != (output.sparse && !input.sparse)) {
    return error<5302>("{}: {} needs an output that {} the stick dimension '{}'", kernel.name,
                       kernel.op.name, reduction.overStick ? "drops" : "keeps", output.stickDim);
  }
  if (reduction.overStick) {
    reduction.dim = output.stickDim;
  }
  for (const auto &[dim, size] : kernel.dsc->size) {
    bool carrier = dim == output.stickDim && input.sparse;
    if (output.holds(dim) || carrier || dim == reduction.dim ||
        (stepsOf(kernel, dim) == 1 && kernel.slices(dim) == 1)) {
      continue;
    }
    if (!reduction.dim.empty()) {
      return error<5302>("{}: reduces '{}' and '{}'; one dimension at a time is lowered",
                         kernel.name, reduction.dim, dim);
    }
    reduction.dim = dim;
  }
  return Status::success();
}

/// fp32 bits of the constant \p name, or those of an integer. Error: E5302 when there is none.
static Expected<uint32_t> constantBits(const Kernel &kernel, const std::string &name) {
  using numerics::DataFormat;
  for (const spec::DscConstant &constant : kernel.dsc->constants) {
    if (constant.name == name) {
      return constant.format == DataFormat::IeeeFp32 || constant.format == DataFormat::IeeeInt32
                 ? constant.bits
                 : std::bit_cast<uint32_t>(numerics::dl16ToFloat(uint16_t(constant.bits)));
    }
  }
  return error<5302>("{}: needs the constant '{}', which is missing", kernel.name, name);
}

/// What is accumulated, and what the total is multiplied by.
static Status findValues(Reduction &reduction) {
  const Kernel &kernel = *reduction.kernel;
  const std::string name = kernel.op.name;
  if (kernel.op.function != Function::SumSquares) {
    reduction.values = {{kernel.op.function, -1, {}, {}}};
    if (name == "mean" || name == "meannonstick") {
      SPYRE_ASSIGN_OR_RETURN(reduction.scaleBits, constantBits(kernel, "scaling_factor"));
    }
    return Status::success();
  }
  if (!reduction.overStick) {
    return error<5302>("{}: {} reduces whole sticks, but its input has one value per stick",
                       kernel.name, name);
  }
  SPYRE_ASSIGN_OR_RETURN(reduction.scaleBits, constantBits(kernel, "exx2scale"));
  Expected<uint32_t> zeroMean = constantBits(kernel, "useZeroMean");
  bool isZero = zeroMean.ok() && std::bit_cast<float>(*zeroMean) != 0;
  if (name == "exx2" && !isZero) {
    reduction.values.push_back({Function::Sum, 0, {}, {}});
  }
  reduction.values.push_back({Function::SumSquares, 1, {}, {}});
  return Status::success();
}

static Status findSteps(Reduction &reduction) {
  const Kernel &kernel = *reduction.kernel;
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(reduction.overStick ? reduction.dim : ""));
  if (!reduction.overStick) {
    reduction.steps = {reduction.dim.empty() ? 1 : kernel.perCore(reduction.dim), 0};
    return Status::success();
  }
  SPYRE_ASSIGN_OR_RETURN(reduction.steps, kernel.maskedSteps(reduction.dim));
  if (reduction.steps.tailLanes > 0) {
    SPYRE_ASSIGN_OR_RETURN(reduction.maskBits, constantBits(kernel, "samv-maskvalue"));
  }
  return Status::success();
}

static void addAxes(Reduction &reduction, PhaseBuilder &builder) {
  const Kernel &kernel = *reduction.kernel;
  reduction.input = builder.placeOf(kernel.inputs[0]);
  reduction.output = builder.placeOf(kernel.output);
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (kernel.output.holds(dim)) {
      builder.axes.push_back(Axis::whole(dim, stepsOf(kernel, dim)));
      reduction.input.stride.push_back(kernel.inputs[0].strideBytes(dim));
      reduction.output.stride.push_back(kernel.output.strideBytes(dim));
    }
  }
  coalesce(builder.axes, {&reduction.input, &reduction.output});
  reduction.axis = builder.axes.size();
  int64_t count = reduction.steps.count;
  builder.axes.push_back({reduction.dim, count, count - (reduction.steps.tailLanes > 0), 1});
  reduction.input.stride.push_back(kernel.inputs[0].strideBytes(reduction.dim));
  reduction.output.stride.push_back(0);
}

static Status planStaging(Reduction &reduction, PhaseBuilder &builder) {
  const Kernel &kernel = *reduction.kernel;
  int64_t accBytes = program::accBytes(kernel.format);
  int64_t valueBytes = accBytes + (reduction.isPair() ? kStickBytes : 0);
  auto bytes = [&] {
    int64_t inputBytes = kernel.inputs[0].inLx ? 0 : kStickBytes;
    int64_t outputBytes =
        int64_t(reduction.values.size()) * valueBytes + (kernel.output.inLx ? 0 : kStickBytes);
    return saturatingProduct(tileSteps(builder.axes, reduction.input), inputBytes) +
           saturatingProduct(tileSteps(builder.axes, reduction.output), outputBytes);
  };
  if (!fillTiles(builder.axes, innerFirst(reduction.input), kMaxTileAxes,
                 builder.stagingBytesLeft(), bytes)) {
    return error<5303>("{}: one stick with its accumulator needs {} bytes of staging area, the "
                       "machine has {}; leave more of LX to the back end",
                       kernel.name, bytes(), builder.stagingBytesLeft());
  }
  reduction.inputUnit = kernel.inputs[0].inLx
                            ? reduction.input
                            : builder.stage("in0.tile", reduction.input, kStickBytes);
  reduction.outputUnit = kernel.output.inLx
                             ? reduction.output
                             : builder.stage("out.tile", reduction.output, kStickBytes);
  for (Value &value : reduction.values) {
    std::string suffix = value.lane > 0 ? fmt::format(".{}", value.lane) : "";
    value.acc = builder.stage("acc" + suffix, reduction.output, accBytes);
    value.total = reduction.isPair()
                      ? builder.stage("total" + suffix, reduction.output, kStickBytes)
                      : reduction.outputUnit;
  }
  return Status::success();
}

static void accumulate(const Reduction &reduction, PhaseBuilder &builder, int64_t first,
                       int64_t count, int64_t validLanes, int32_t only) {
  if (count == 0) {
    return;
  }
  for (const Value &value : reduction.values) {
    Instruction instruction;
    instruction.opcode = Opcode::Accumulate;
    instruction.function = value.function;
    instruction.onlyTable = only;
    instruction.validLanes = uint16_t(validLanes);
    instruction.constant = validLanes < reduction.kernel->lanes() ? reduction.maskBits : 0;
    Place input = PhaseBuilder::shifted(reduction.inputUnit, reduction.axis, first);
    std::vector<const Place *> places{&input, &value.acc};
    // The reduced axis is the outermost level: each accumulator sees its sticks in ascending order.
    std::vector<Level> nest = builder.levels({reduction.axis}, places);
    nest[0].count = count;
    for (Level &level : builder.levels(builder.axesOf(reduction.output), places)) {
      nest.push_back(std::move(level));
    }
    builder.emit(instruction, places, std::move(nest));
  }
}

static void accumulateTile(const Reduction &reduction, PhaseBuilder &builder) {
  int64_t tail = builder.hasTail(reduction.axis);
  int64_t whole = builder.steps(reduction.axis) - tail;
  int64_t lanes = reduction.kernel->lanes();
  accumulate(reduction, builder, 0, whole, lanes, -1);
  accumulate(reduction, builder, whole, tail, reduction.steps.tailLanes, reduction.split.lastSlice);
  if (reduction.split.otherSlices >= 0) {
    accumulate(reduction, builder, whole, tail, lanes, reduction.split.otherSlices);
  }
}

/// Puts the totals, which fill their sticks, into single lanes of the output's.
static void writePair(const Reduction &reduction, PhaseBuilder &builder) {
  builder.fill(reduction.outputUnit, 0, kStickBytes, reduction.split.roots);
  int64_t bytes = numerics::elementBytes(reduction.kernel->format);
  for (const Value &value : reduction.values) {
    Instruction move;
    move.opcode = Opcode::Shuffle;
    move.elementBytes = uint16_t(bytes);
    move.onlyTable = reduction.split.roots;
    Place lane = reduction.outputUnit;
    lane.offset += value.lane * bytes;
    std::vector<const Place *> places{&value.total, &lane};
    builder.emit(move, places, builder.levels(builder.axesOf(reduction.output), places));
  }
}

static void finishAndStore(const Reduction &reduction, PhaseBuilder &builder) {
  std::vector<size_t> kept = builder.axesOf(reduction.output);
  for (const Value &value : reduction.values) {
    combineSlices(reduction.split, value.combine(), value.acc,
                  program::accBytes(reduction.kernel->format), builder);
    Instruction finish;
    finish.opcode = Opcode::Finish;
    finish.constant = reduction.scaleBits;
    finish.function = reduction.overStick ? value.tree() : Function::Lanes;
    finish.onlyTable = reduction.split.roots;
    std::vector<const Place *> places{&value.acc, &value.total};
    builder.emit(finish, places, builder.levels(kept, places));
  }
  if (reduction.isPair()) {
    writePair(reduction, builder);
  }
  if (reduction.kernel->inputs[0].sparse) {
    // Only lane 0 of a sparse stick is data; the result is written to all lanes like any other.
    Instruction spread;
    spread.opcode = Opcode::Vector;
    spread.function = Function::Copy;
    spread.onlyTable = reduction.split.roots;
    Place lane0 = reduction.outputUnit;
    lane0.splat = true;
    std::vector<const Place *> same{&lane0, &reduction.outputUnit};
    builder.emit(spread, same, builder.levels(kept, same));
  }
  if (!reduction.kernel->output.inLx) {
    builder.store(reduction.outputUnit, reduction.output, reduction.split.roots);
  }
}

Expected<program::Phase> lowerReduction(const Kernel &kernel, BufferTable &buffers) {
  Reduction reduction;
  reduction.kernel = &kernel;
  SPYRE_RETURN_IF_ERROR(findReducedDim(reduction));
  SPYRE_RETURN_IF_ERROR(findValues(reduction));
  SPYRE_RETURN_IF_ERROR(findSteps(reduction));
  PhaseBuilder builder(kernel, buffers);
  addAxes(reduction, builder);
  SPYRE_ASSIGN_OR_RETURN(reduction.split,
                         planSplit(kernel, reduction.dim, reduction.steps.tailLanes > 0, builder));
  SPYRE_RETURN_IF_ERROR(planStaging(reduction, builder));

  std::vector<size_t> order;
  for (size_t a : builder.axesOf(reduction.output)) {
    if (builder.axes[a].tiled()) {
      order.push_back(a);
    }
  }
  size_t keptDepth = order.size();
  if (builder.axes[reduction.axis].tiled()) {
    order.push_back(reduction.axis);
  }
  auto enter = [&](size_t depth) {
    for (const Value &value : reduction.values) {
      if (depth == keptDepth) {
        builder.fill(value.acc, value.initialBits(kernel.format), program::accBytes(kernel.format));
      }
    }
    if (depth == PhaseBuilder::depthOf(order, reduction.input) && !kernel.inputs[0].inLx) {
      builder.load(reduction.input, reduction.inputUnit);
    }
    if (depth == order.size()) {
      accumulateTile(reduction, builder);
    }
  };
  auto leave = [&](size_t depth) {
    if (depth == keptDepth) {
      finishAndStore(reduction, builder);
    }
  };
  builder.walk(order, enter, leave);
  return builder.finish();
}

} // namespace spyre::backend
