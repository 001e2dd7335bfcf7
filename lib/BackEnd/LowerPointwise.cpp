//===- LowerPointwise.cpp - lane-wise functions and copies ----------------------------------===//
//
// All tensors have the same stick dimension, so one step of every axis is one stick of every
// operand that holds the axis; operands that do not hold it repeat. The tile is a run of the
// output's memory as long as the staging area allows:
//
//     loop over tiles { Load inputs; Vector; Store output }
//
// A copy needs no Vector when its input has plain sticks: it stores what it loaded. Inputs whose
// rows are chosen by indices are gathered instead of loaded (Gather.h).
//
// The tiles know tensors only. What else the vector function takes is written into the finished
// instructions: constants, the second lane of a pair, another order (docs/adr/0015).
//===--------------------------------------------------------------------------------------------===//
#include "Constants.h"
#include "Gather.h"
#include "Lowerings.h"
#include "PhaseBuilder.h"

#include <algorithm>

namespace spyre::backend {

static Status checkRules(const Kernel &kernel) {
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(""));
  const TensorMap &output = kernel.output;
  for (const TensorMap &input : kernel.inputs) {
    if (input.stickDim != output.stickDim) {
      return error<5302>(
          "{}: an input has its stick along '{}', the output along '{}'; a lane-wise "
          "operation needs the same stick dimension everywhere, restickify first",
          kernel.name, input.stickDim, output.stickDim);
    }
  }
  for (const auto &[dim, size] : kernel.dsc->size) {
    int64_t steps =
        dim == output.stickDim ? kernel.perCore(dim) / kernel.lanes() : kernel.perCore(dim);
    if (!output.holds(dim) && (steps > 1 || kernel.slices(dim) > 1)) {
      return error<5302>(
          "{}: the output does not hold '{}' of size {}; only a reduction may drop a "
          "dimension",
          kernel.name, dim, size);
    }
  }
  int pair = kernel.op.pairInput();
  if (pair >= 0 && !kernel.inputs[size_t(pair)].sparse) {
    return error<5302>("{}: input {} is the pair of mean and mean of squares; its stick dimension "
                       "'{}' has scale 1, but one stick holds one pair (scale -2)",
                       kernel.name, pair, output.stickDim);
  }
  return Status::success();
}

/// Turns the operands of a Vector, the tensors in their order, into those of its function.
static void completeVector(const OpInfo &op, const std::vector<uint32_t> &constants,
                           program::Instruction &instruction) {
  std::vector<program::Operand> &operands = instruction.operands;
  program::Operand result = operands.back();
  operands.pop_back();
  if (op.form == VectorForm::Swapped) {
    std::swap(operands[0], operands[1]);
  } else if (op.form == VectorForm::Pair) {
    operands.push_back(program::Operand(operands[0]));
    operands.back().splatLane = 1;
  }
  for (uint32_t bits : constants) {
    operands.push_back(program::constantOperand(bits));
  }
  operands.push_back(result);
}

namespace {
/// A copy needs no unit when a Load or a Store alone can do it. Copies inside LX move bytes when
/// the vector unit does not have the format as a float.
enum class Path : uint8_t { Vector, MoveBytes, LoadIntoOutput, StoreFromInput };

/// The operands of the phase, inputs first, the output last: where each tensor is and where the
/// unit finds it.
struct Operands {
  explicit Operands(const Kernel &kernel) : gathers(kernel) {}

  std::vector<std::string> names;
  std::vector<Place> tensors;
  /// The tensors as their tiles depend on axes: gathered ones on those of their indices, too.
  std::vector<Place> shapes;
  GatherPlan gathers;
  std::vector<bool> inLx;
  std::vector<Place> units;
  Path path = Path::Vector;

  size_t output() const { return tensors.size() - 1; }
  bool ownsBuffer(size_t i) const {
    return !inLx[i] && !(path == Path::StoreFromInput && i == output()) &&
           !(path == Path::LoadIntoOutput);
  }
};
} // namespace

static void addAxes(const Kernel &kernel, PhaseBuilder &builder, Operands &operands) {
  std::vector<const TensorMap *> maps;
  for (const TensorMap &input : kernel.inputs) {
    maps.push_back(&input);
  }
  maps.push_back(&kernel.output);
  for (const TensorMap *map : maps) {
    operands.tensors.push_back(builder.placeOf(*map));
    operands.inLx.push_back(map->inLx);
    operands.names.push_back(map->role);
    if (map->indices >= 0) {
      operands.gathers.add(operands.tensors.size() - 1, builder);
    }
  }
  for (const auto &[dim, size] : kernel.dsc->size) {
    int64_t steps = kernel.perCore(dim);
    steps = dim == kernel.output.stickDim ? steps / kernel.lanes() : steps;
    builder.axes.push_back(Axis::whole(dim, steps));
    for (size_t i = 0; i < maps.size(); ++i) {
      operands.tensors[i].stride.push_back(maps[i]->strideBytes(dim));
    }
    operands.gathers.addAxis(dim);
  }
  std::vector<Place *> places;
  for (Place &place : operands.tensors) {
    places.push_back(&place);
  }
  operands.gathers.finishAxes(builder, places);
  for (size_t i = 0; i < operands.tensors.size(); ++i) {
    operands.shapes.push_back(operands.gathers.shapeOf(i, operands.tensors[i]));
  }
}

static Path choosePath(const Kernel &kernel, const Operands &operands) {
  const Place &input = operands.shapes[0];
  bool computes = kernel.format == numerics::DataFormat::Sen169Fp16 ||
                  kernel.format == numerics::DataFormat::IeeeFp32;
  if (kernel.op.opClass != OpClass::Copy) {
    return Path::Vector;
  }
  Path unit = computes ? Path::Vector : Path::MoveBytes;
  if (input.splat) {
    return unit;
  }
  if (!operands.inLx[1]) {
    return Path::StoreFromInput;
  }
  bool repeats = false;
  for (size_t a = 0; a < input.stride.size(); ++a) {
    repeats |= !input.dependsOn(a);
  }
  return operands.inLx[0] || repeats ? unit : Path::LoadIntoOutput;
}

static int64_t stagingBytes(const PhaseBuilder &builder, const Operands &operands) {
  int64_t bytes = operands.gathers.stagingBytes(builder);
  for (size_t i = 0; i < operands.tensors.size(); ++i) {
    if (operands.ownsBuffer(i)) {
      bytes += saturatingProduct(tileSteps(builder.axes, operands.shapes[i]), kStickBytes);
    }
  }
  return bytes;
}

static void stageOperands(PhaseBuilder &builder, Operands &operands) {
  operands.units = operands.tensors;
  for (size_t i = 0; i < operands.tensors.size(); ++i) {
    if (operands.ownsBuffer(i)) {
      operands.units[i] =
          builder.stage(operands.names[i] + ".tile", operands.shapes[i], kStickBytes);
    }
  }
  operands.gathers.stage(builder);
  if (operands.path == Path::LoadIntoOutput) {
    operands.units[0] = operands.units[1];
  } else if (operands.path == Path::StoreFromInput) {
    operands.units[1] = operands.units[0];
  }
}

/// Bytes the shuffle unit moves at once: whole words, single elements when one is repeated.
static int64_t movedBytes(const Kernel &kernel, const Operands &operands) {
  return operands.tensors[0].splat ? numerics::elementBytes(kernel.format) : 4;
}

static void emitWork(const Kernel &kernel, PhaseBuilder &builder, const Operands &operands) {
  const Place &output = operands.tensors.back();
  std::vector<const Place *> places;
  for (const Place &place : operands.units) {
    places.push_back(&place);
  }
  std::vector<Level> nest = builder.levels(builder.axesOf(output), places);
  program::Instruction instruction;
  if (operands.path == Path::Vector) {
    instruction.opcode = program::Opcode::Vector;
    instruction.function = kernel.op.function;
    builder.emit(instruction, places, std::move(nest));
  } else if (operands.path == Path::MoveBytes) {
    int64_t bytes = movedBytes(kernel, operands);
    instruction.opcode = program::Opcode::Shuffle;
    instruction.elementBytes = uint16_t(bytes);
    nest.push_back({kStickBytes / bytes, {operands.tensors[0].splat ? 0 : bytes, bytes}});
    builder.emit(instruction, places, std::move(nest));
  }
  if (!operands.inLx.back()) {
    builder.store(operands.units.back(), output);
  }
}

/// The tiles of all axes, or of what a chunked one has left.
static void walkTiles(const Kernel &kernel, PhaseBuilder &builder, const Operands &operands) {
  std::vector<size_t> order;
  int64_t chunks = operands.gathers.chunkAxis();
  for (size_t a : builder.axesOf(operands.tensors.back())) {
    if (builder.axes[a].tiled()) {
      order.insert(int64_t(a) == chunks ? order.begin() : order.end(), a);
    }
  }
  auto enter = [&](size_t depth) {
    operands.gathers.loadIndices(builder, order, depth);
    for (size_t i = 0; i < operands.output(); ++i) {
      if (operands.inLx[i] || depth != PhaseBuilder::depthOf(order, operands.shapes[i])) {
        continue;
      }
      if (operands.gathers.isGathered(i)) {
        operands.gathers.gather(builder, i, operands.tensors[i], operands.units[i]);
      } else {
        builder.load(operands.tensors[i], operands.units[i]);
      }
    }
    if (depth == order.size()) {
      emitWork(kernel, builder, operands);
    }
  };
  builder.walk(order, enter, [](size_t) {});
}

/// Places that move with the axes: tensors, and units that are tensors in LX.
static std::vector<Place *> movingPlaces(Operands &operands) {
  std::vector<Place *> places;
  for (size_t i = 0; i < operands.tensors.size(); ++i) {
    places.push_back(&operands.tensors[i]);
    if (!operands.units[i].staged) {
      places.push_back(&operands.units[i]);
    }
  }
  return places;
}

Expected<program::Phase> lowerPointwise(const Kernel &kernel, BufferTable &buffers) {
  SPYRE_RETURN_IF_ERROR(checkRules(kernel));
  SPYRE_ASSIGN_OR_RETURN(std::vector<uint32_t> constants, readConstants(kernel));
  PhaseBuilder builder(kernel, buffers);
  Operands operands(kernel);
  addAxes(kernel, builder, operands);
  operands.path = choosePath(kernel, operands);
  if (operands.path == Path::MoveBytes && movedBytes(kernel, operands) > 4) {
    return error<5302>("{}: one {} cannot be spread over a stick; expand it on the host",
                       kernel.name, numerics::formatName(kernel.format));
  }
  // Moving bytes takes one level for the inside of a stick, indices one for their sticks.
  size_t maxAxes = program::kMaxLevels - (operands.path == Path::MoveBytes) -
                   (operands.path != Path::MoveBytes && !operands.gathers.empty());
  std::vector<size_t> growing = innerFirst(operands.tensors.back());
  std::erase_if(growing, [&](size_t a) { return int64_t(a) == operands.gathers.chunkAxis(); });
  auto bytes = [&] { return stagingBytes(builder, operands); };
  if (!fillTiles(builder.axes, growing, maxAxes, builder.stagingBytesLeft(), bytes)) {
    return error<5303>("{}: one stick per operand needs {} bytes of staging area, the machine has "
                       "{}; leave more of LX to the back end",
                       kernel.name, bytes(), builder.stagingBytesLeft());
  }
  stageOperands(builder, operands);
  do {
    walkTiles(kernel, builder, operands);
  } while (operands.gathers.nextPart(builder, movingPlaces(operands)));
  SPYRE_ASSIGN_OR_RETURN(program::Phase phase, builder.finish());
  for (program::Instruction &instruction : phase.instructions) {
    if (instruction.opcode == program::Opcode::Vector) {
      completeVector(kernel.op, constants, instruction);
    }
  }
  return phase;
}

} // namespace spyre::backend
