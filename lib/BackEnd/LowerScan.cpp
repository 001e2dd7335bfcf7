//===- LowerScan.cpp - running sums along one dimension -------------------------------------===//
//
// y[s] = y[s - 1] + x[s] along 'out', which is no stick and not split (docs/adr/0022). Steps of the
// other axes are independent, so they are tiled first; the sum so far is carried from tile to tile
// of 'out' in a stick per step of the others:
//
//     loop over tiles of the other axes {
//       Fill carry with 0
//       loop over tiles of 'out', ascending {
//         Load x;  y[0] = x[0] + carry;  y[s] = x[s] + y[s - 1];  carry = y[last];  Store y
//       }
//     }
//
// The steps of 'out' are the outermost level of one Vector instruction: its points run in order.
//===--------------------------------------------------------------------------------------------===//
#include "Lowerings.h"
#include "PhaseBuilder.h"

#include <algorithm>

namespace spyre::backend {

using program::Function;
using program::Instruction;
using program::Opcode;

static const char *const kScanned = "out";

namespace {
struct Scan {
  const Kernel *kernel = nullptr;
  size_t axis = 0;
  Place input, output;                ///< the tensors
  Place inputUnit, outputUnit, carry; ///< where the unit finds them
};
} // namespace

static int64_t stepsOf(const Kernel &kernel, const std::string &dim) {
  return dim == kernel.output.stickDim ? kernel.perCore(dim) / kernel.lanes() : kernel.perCore(dim);
}

static Status checkRules(const Kernel &kernel) {
  const TensorMap &input = kernel.inputs[0], &output = kernel.output;
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(""));
  if (input.stickDim != output.stickDim) {
    return error<5302>("{}: the input has its stick along '{}', the output along '{}'; restickify "
                       "first",
                       kernel.name, input.stickDim, output.stickDim);
  }
  if (output.stickDim == kScanned || kernel.slices(kScanned) != 1) {
    return error<5302>("{}: it sums along '{}', which is {}; restickify, or split another "
                       "dimension",
                       kernel.name, kScanned,
                       output.stickDim == kScanned ? "the stick" : "split over cores");
  }
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (!output.holds(dim) && (stepsOf(kernel, dim) > 1 || kernel.slices(dim) > 1)) {
      return error<5302>("{}: the output does not hold '{}' of size {}", kernel.name, dim, size);
    }
  }
  return Status::success();
}

static void addAxes(Scan &scan, PhaseBuilder &builder) {
  const Kernel &kernel = *scan.kernel;
  scan.input = builder.placeOf(kernel.inputs[0]);
  scan.output = builder.placeOf(kernel.output);
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (dim != kScanned) {
      builder.axes.push_back(Axis::whole(dim, stepsOf(kernel, dim)));
      scan.input.stride.push_back(kernel.inputs[0].strideBytes(dim));
      scan.output.stride.push_back(kernel.output.strideBytes(dim));
    }
  }
  coalesce(builder.axes, {&scan.input, &scan.output});
  scan.axis = builder.axes.size();
  builder.axes.push_back(Axis::whole(kScanned, kernel.perCore(kScanned)));
  scan.input.stride.push_back(kernel.inputs[0].strideBytes(kScanned));
  scan.output.stride.push_back(kernel.output.strideBytes(kScanned));
}

static Status planStaging(Scan &scan, PhaseBuilder &builder) {
  const Kernel &kernel = *scan.kernel;
  Place kept = scan.output;
  kept.stride[scan.axis] = 0;
  auto bytes = [&] {
    auto room = [&](const Place &place, bool inLx) {
      return inLx ? 0 : saturatingProduct(tileSteps(builder.axes, place), kStickBytes);
    };
    return room(scan.input, kernel.inputs[0].inLx) + room(scan.output, kernel.output.inLx) +
           room(kept, false);
  };
  if (!fillTiles(builder.axes, innerFirst(scan.output), program::kMaxLevels,
                 builder.stagingBytesLeft(), bytes)) {
    return error<5303>("{}: one stick per operand needs {} bytes of staging area, the machine has "
                       "{}; leave more of LX to the back end",
                       kernel.name, bytes(), builder.stagingBytesLeft());
  }
  scan.inputUnit =
      kernel.inputs[0].inLx ? scan.input : builder.stage("in0.tile", scan.input, kStickBytes);
  scan.outputUnit =
      kernel.output.inLx ? scan.output : builder.stage("out.tile", scan.output, kStickBytes);
  scan.carry = builder.stage("carry", kept, kStickBytes);
  return Status::success();
}

/// \p to = function(\p from...) over \p count steps of the scanned axis, in order.
static void apply(const Scan &scan, PhaseBuilder &builder, Function function,
                  const std::vector<const Place *> &places, int64_t count) {
  if (count == 0) {
    return;
  }
  Instruction instruction;
  instruction.opcode = Opcode::Vector;
  instruction.function = function;
  std::vector<Level> nest = builder.levels({scan.axis}, places);
  nest[0].count = count;
  for (size_t axis : builder.axesOf(scan.output)) {
    if (axis != scan.axis) {
      nest.push_back(builder.levels({axis}, places)[0]);
    }
  }
  builder.emit(instruction, places, std::move(nest));
}

static void addTile(const Scan &scan, PhaseBuilder &builder) {
  int64_t steps = builder.steps(scan.axis);
  Place secondInput = PhaseBuilder::shifted(scan.inputUnit, scan.axis, 1);
  Place secondOutput = PhaseBuilder::shifted(scan.outputUnit, scan.axis, 1);
  Place lastOutput = PhaseBuilder::shifted(scan.outputUnit, scan.axis, steps - 1);
  apply(scan, builder, Function::Add, {&scan.inputUnit, &scan.carry, &scan.outputUnit}, 1);
  apply(scan, builder, Function::Add, {&secondInput, &scan.outputUnit, &secondOutput}, steps - 1);
  if (builder.axes[scan.axis].tiled()) {
    apply(scan, builder, Function::Copy, {&lastOutput, &scan.carry}, 1);
  }
  if (!scan.kernel->output.inLx) {
    builder.store(scan.outputUnit, scan.output);
  }
}

Expected<program::Phase> lowerScan(const Kernel &kernel, BufferTable &buffers) {
  Scan scan;
  scan.kernel = &kernel;
  SPYRE_RETURN_IF_ERROR(checkRules(kernel));
  PhaseBuilder builder(kernel, buffers);
  addAxes(scan, builder);
  SPYRE_RETURN_IF_ERROR(planStaging(scan, builder));
  std::vector<size_t> order;
  for (size_t axis : builder.axesOf(scan.output)) {
    if (axis != scan.axis && builder.axes[axis].tiled()) {
      order.push_back(axis);
    }
  }
  size_t keptDepth = order.size();
  if (builder.axes[scan.axis].tiled()) {
    order.push_back(scan.axis);
  }
  auto enter = [&](size_t depth) {
    if (depth == keptDepth) {
      builder.fill(scan.carry, 0, kStickBytes);
    }
    if (depth == PhaseBuilder::depthOf(order, scan.input) && !kernel.inputs[0].inLx) {
      builder.load(scan.input, scan.inputUnit);
    }
    if (depth == order.size()) {
      addTile(scan, builder);
    }
  };
  builder.walk(order, enter, [](size_t) {});
  return builder.finish();
}

} // namespace spyre::backend
