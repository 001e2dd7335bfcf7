//===- LowerReduction.cpp - sums and maxima along one dimension -----------------------------===//
//
// Axes: those the output keeps, and last the reduced one. Each output stick has an fp32 accumulator
// in LX that lives over all tiles of the reduced axis:
//
//     loop over tiles of kept axes {
//       Fill accumulators
//       loop over tiles of the reduced axis, ascending { Load; Accumulate }
//       Finish; Store
//     }
//
// Along the stick dimension the lanes accumulate over the sticks and Finish folds the lanes; lanes
// of a masked tail take the mask value. Otherwise lanes stay apart.
//===--------------------------------------------------------------------------------------------===//
#include "Lowerings.h"
#include "PhaseBuilder.h"

#include <bit>
#include <limits>

namespace spyre::backend {

using program::Function;
using program::Instruction;
using program::Opcode;

/// An accumulator level needs room for its own two sticks beside the axes.
static constexpr size_t kMaxTileAxes = program::kMaxLevels - 1;

namespace {
struct Reduction {
  const Kernel *kernel = nullptr;
  /// Empty when nothing is reduced (all candidates have size 1).
  std::string dim;
  bool overStick = false;
  StickSteps steps;
  uint32_t maskBits = 0;

  Place input, output;              ///< the tensors
  Place inputUnit, acc, outputUnit; ///< where the unit finds them
  size_t axis = 0;
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
  if (!reduction.dim.empty() && kernel.slices(reduction.dim) > 1) {
    return error<5302>(
        "{}: the reduced dimension '{}' is split over {} cores, which is not lowered "
        "yet; split a dimension the output keeps",
        kernel.name, reduction.dim, kernel.slices(reduction.dim));
  }
  return Status::success();
}

/// fp32 bits of the constant that replaces masked lanes.
static Expected<uint32_t> maskBits(const Kernel &kernel) {
  for (const spec::DscConstant &constant : kernel.dsc->constants) {
    if (constant.name == "samv-maskvalue") {
      return constant.format == numerics::DataFormat::IeeeFp32
                 ? constant.bits
                 : std::bit_cast<uint32_t>(numerics::dl16ToFloat(uint16_t(constant.bits)));
    }
  }
  return error<5302>("{}: has masked elements but no constant 'samv-maskvalue'", kernel.name);
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
    SPYRE_ASSIGN_OR_RETURN(reduction.maskBits, maskBits(kernel));
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
  auto bytes = [&] {
    int64_t inputBytes = kernel.inputs[0].inLx ? 0 : kStickBytes;
    int64_t outputBytes = accBytes + (kernel.output.inLx ? 0 : kStickBytes);
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
  reduction.acc = builder.stage("acc", reduction.output, accBytes);
  reduction.outputUnit = kernel.output.inLx
                             ? reduction.output
                             : builder.stage("out.tile", reduction.output, kStickBytes);
  return Status::success();
}

static void accumulate(const Reduction &reduction, PhaseBuilder &builder, int64_t first,
                       int64_t count, int64_t validLanes) {
  if (count == 0) {
    return;
  }
  Instruction instruction;
  instruction.opcode = Opcode::Accumulate;
  instruction.function = reduction.kernel->op.function;
  instruction.validLanes = uint16_t(validLanes);
  instruction.immediate = validLanes < reduction.kernel->lanes() ? reduction.maskBits : 0;
  Place input = PhaseBuilder::shifted(reduction.inputUnit, reduction.axis, first);
  std::vector<const Place *> places{&input, &reduction.acc};
  // The reduced axis is the outermost level: each accumulator sees its sticks in ascending order.
  std::vector<Level> nest = builder.levels({reduction.axis}, places);
  nest[0].count = count;
  for (Level &level : builder.levels(builder.axesOf(reduction.output), places)) {
    nest.push_back(std::move(level));
  }
  builder.emit(instruction, places, std::move(nest));
}

static void finishAndStore(const Reduction &reduction, PhaseBuilder &builder) {
  bool isMax = reduction.kernel->op.function == Function::Max;
  Instruction finish;
  finish.opcode = Opcode::Finish;
  finish.immediate = program::kScaleOne;
  finish.function = !reduction.overStick ? Function::Lanes
                    : isMax              ? Function::TreeMax
                                         : Function::TreeSum;
  std::vector<const Place *> places{&reduction.acc, &reduction.outputUnit};
  std::vector<size_t> kept = builder.axesOf(reduction.output);
  builder.emit(finish, places, builder.levels(kept, places));
  if (reduction.kernel->inputs[0].sparse) {
    // Only lane 0 of a sparse stick is data; the result is written to all lanes like any other.
    Instruction spread;
    spread.opcode = Opcode::Vector;
    spread.function = Function::Copy;
    Place lane0 = reduction.outputUnit;
    lane0.splat = true;
    std::vector<const Place *> same{&lane0, &reduction.outputUnit};
    builder.emit(spread, same, builder.levels(kept, same));
  }
  if (!reduction.kernel->output.inLx) {
    builder.store(reduction.outputUnit, reduction.output);
  }
}

static uint32_t initialBits(const Reduction &reduction) {
  bool isMax = reduction.kernel->op.function == Function::Max;
  return std::bit_cast<uint32_t>(isMax ? -std::numeric_limits<float>::infinity() : 0.0f);
}

Expected<program::Phase> lowerReduction(const Kernel &kernel, BufferTable &buffers) {
  Reduction reduction;
  reduction.kernel = &kernel;
  SPYRE_RETURN_IF_ERROR(findReducedDim(reduction));
  SPYRE_RETURN_IF_ERROR(findSteps(reduction));
  PhaseBuilder builder(kernel, buffers);
  addAxes(reduction, builder);
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
    if (depth == keptDepth) {
      builder.fill(reduction.acc, initialBits(reduction), program::accBytes(kernel.format));
    }
    if (depth == PhaseBuilder::depthOf(order, reduction.input) && !kernel.inputs[0].inLx) {
      builder.load(reduction.input, reduction.inputUnit);
    }
    if (depth == order.size()) {
      int64_t tail = builder.hasTail(reduction.axis);
      int64_t whole = builder.steps(reduction.axis) - tail;
      accumulate(reduction, builder, 0, whole, kernel.lanes());
      accumulate(reduction, builder, whole, tail, reduction.steps.tailLanes);
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
