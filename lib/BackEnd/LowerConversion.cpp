//===- LowerConversion.cpp - formats of whole tensors ---------------------------------------===//
//
// One side has more lanes per stick, the dense one; two sticks of the other, wide side share one of
// its sticks. These two are neighbours along the pair dimension: the stick dimension itself (ch) or
// a partner of which the dense stick holds two elements (mb, wt). So every axis counts dense
// sticks, and one step of the pair axis is two steps of the wide tensor:
//
//     loop over tiles { Load; [Vector: x * scale + shift]; Convert; Store }
//
// All lanes are converted, those of a padded tail too: lanes do not meet, and padding stays padding
// (docs/adr/0019).
//===--------------------------------------------------------------------------------------------===//
#include "Constants.h"
#include "Lowerings.h"
#include "PhaseBuilder.h"

#include <algorithm>

namespace spyre::backend {

using numerics::DataFormat;
using program::Instruction;
using program::Opcode;

/// Wide sticks that share one dense stick.
static constexpr int64_t kPair = 2;

namespace {

/// A tensor of the operation, where the unit finds it, and how far the sticks of a pair are apart
/// in both; 0 on the dense side.
struct Side {
  const TensorMap *map = nullptr;
  DataFormat format = DataFormat::Invalid;
  Place tensor, unit;
  int64_t tensorPairBytes = 0, unitPairBytes = 0;

  bool isWide() const { return tensorPairBytes != 0; }
  int64_t stepBytes() const { return isWide() ? kPair * kStickBytes : kStickBytes; }
};

struct Conversion {
  const Kernel *kernel = nullptr;
  std::string pairDim;
  Side in, out;
  /// Scaled values, when there are constants.
  Place scaled;
  std::vector<uint32_t> constants;

  const Side &wide() const { return in.isWide() ? in : out; }
};

} // namespace

static std::string stickText(const TensorMap &map) {
  std::string text;
  for (const auto &[dim, elements] : map.stick) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", dim, elements);
  }
  return "[" + text + "]";
}

/// The sticks are those of the packing; finds the pair dimension.
static Status findPair(Conversion &op) {
  const Kernel &kernel = *op.kernel;
  const TensorMap &in = kernel.inputs[0], &out = kernel.output;
  using Stick = std::vector<std::pair<std::string, int64_t>>;
  const std::string &dim = in.stickDim;
  Stick wanted{{dim, out.lanes}};
  op.pairDim = dim;
  if (kernel.op.packing == Packing::Mb && out.stick.size() == 3) {
    op.pairDim = out.stick[1].first;
    wanted = {{dim, 8}, {op.pairDim, kPair}, {dim, 8}};
  } else if (kernel.op.packing == Packing::Wt && out.stick.size() == 2) {
    op.pairDim = out.stick[0].first;
    wanted = {{op.pairDim, kPair}, {dim, 64}};
  }
  bool hasPartner = kernel.op.packing == Packing::Mb || kernel.op.packing == Packing::Wt;
  if (in.sparse || out.sparse || in.stick.size() != 1 || out.stick != wanted ||
      hasPartner != (op.pairDim != dim)) {
    return error<5302>("{}: sticks {} and {}; a conversion has one dimension in the input's stick, "
                       "and in the output's the same one{}",
                       kernel.name, stickText(in), stickText(out),
                       kernel.op.packing == Packing::Mb   ? " as [8, partner=2, 8]"
                       : kernel.op.packing == Packing::Wt ? " as [partner=2, 64]"
                                                          : " alone");
  }
  if (!in.holds(op.pairDim) || !out.holds(op.pairDim)) {
    return error<5302>("{}: a tensor does not hold '{}', along which sticks are paired; expand it",
                       kernel.name, op.pairDim);
  }
  return Status::success();
}

/// Sticks move, so results would overwrite elements that are still to be read.
static Status checkNotInPlace(const Kernel &kernel) {
  const TensorMap &in = kernel.inputs[0], &out = kernel.output;
  for (size_t core = 0; in.inLx && out.inLx && core < in.startAddress.size(); ++core) {
    int64_t from = in.startAddress[core], to = out.startAddress[core];
    if (from < to + out.spanBytes() && to < from + in.spanBytes()) {
      return error<5302>(
          "{}: input at {} and output at {} share bytes of LX; a conversion does not "
          "work in place, give the output another address",
          kernel.name, from, to);
    }
  }
  return Status::success();
}

static Status checkRules(const Kernel &kernel) {
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(""));
  SPYRE_RETURN_IF_ERROR(checkNotInPlace(kernel));
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (!kernel.output.holds(dim) && size > 1) {
      return error<5302>(
          "{}: the output does not hold '{}' of size {}; only a reduction may drop a dimension",
          kernel.name, dim, size);
    }
  }
  return Status::success();
}

static void addAxes(Conversion &op, PhaseBuilder &builder) {
  const Kernel &kernel = *op.kernel;
  const TensorMap &in = kernel.inputs[0], &out = kernel.output;
  bool inIsWide = in.lanes < out.lanes;
  op.in = {&in, kernel.op.from, builder.placeOf(in), {}, 0, 0};
  op.out = {&out, kernel.op.to, builder.placeOf(out), {}, 0, 0};
  Side &wide = inIsWide ? op.in : op.out;
  wide.tensorPairBytes = wide.map->strideBytes(op.pairDim);
  for (const auto &[dim, size] : kernel.dsc->size) {
    int64_t elements = std::max(in.stepElements(dim), out.stepElements(dim));
    builder.axes.push_back(Axis::whole(dim, kernel.perCore(dim) / elements));
    for (Side *side : {&op.in, &op.out}) {
      bool isPair = side == &wide && dim == op.pairDim;
      side->tensor.stride.push_back(side->map->strideBytes(dim) * (isPair ? kPair : 1));
    }
  }
  coalesce(builder.axes, {&op.in.tensor, &op.out.tensor});
}

static int64_t stagingBytes(const Conversion &op, const PhaseBuilder &builder) {
  int64_t bytes = 0;
  for (const Side *side : {&op.in, &op.out}) {
    if (!side->map->inLx) {
      bytes += saturatingProduct(tileSteps(builder.axes, side->tensor), side->stepBytes());
    }
  }
  if (!op.constants.empty()) {
    bytes += saturatingProduct(tileSteps(builder.axes, op.in.tensor), op.in.stepBytes());
  }
  return bytes;
}

static void stageSide(Side &side, PhaseBuilder &builder) {
  side.unit = side.tensor;
  side.unitPairBytes = side.tensorPairBytes;
  if (!side.map->inLx) {
    side.unit = builder.stage(side.map->role + ".tile", side.tensor, side.stepBytes());
    side.unitPairBytes = side.isWide() ? kStickBytes : 0;
  }
}

/// The steps of the tile, and both sticks of a pair at each.
static std::vector<Level> stickLevels(const Side &side, const PhaseBuilder &builder,
                                      const std::vector<const Place *> &places,
                                      const std::vector<int64_t> &pairBytes) {
  std::vector<Level> nest = builder.levels(builder.axesOf(side.tensor), places);
  if (side.isWide()) {
    nest.push_back({kPair, pairBytes});
  }
  return nest;
}

static void loadInput(const Conversion &op, PhaseBuilder &builder) {
  Instruction load;
  load.opcode = Opcode::Load;
  std::vector<const Place *> places{&op.in.tensor, &op.in.unit};
  builder.emitAs(op.in.format, load, places,
                 stickLevels(op.in, builder, places, {op.in.tensorPairBytes, op.in.unitPairBytes}));
}

static void scaleInput(const Conversion &op, PhaseBuilder &builder) {
  Instruction vector;
  vector.opcode = Opcode::Vector;
  vector.function = op.kernel->op.function;
  std::vector<const Place *> places{&op.in.unit, &op.scaled};
  builder.emitAs(op.in.format, vector, places,
                 stickLevels(op.in, builder, places, {op.in.unitPairBytes, kStickBytes}));
}

static void convertTile(const Conversion &op, PhaseBuilder &builder) {
  bool isScaled = !op.constants.empty();
  Instruction convert;
  convert.opcode = Opcode::Convert;
  convert.function = program::Function::Nearest;
  convert.toFormat = op.out.format;
  convert.group = op.kernel->op.packing == Packing::Wt ? 1 : 8;
  convert.parameter = isScaled ? kStickBytes : op.wide().unitPairBytes;
  std::vector<const Place *> places{isScaled ? &op.scaled : &op.in.unit, &op.out.unit};
  builder.emitAs(op.in.format, convert, places,
                 builder.levels(builder.axesOf(op.out.tensor), places));
}

static void storeOutput(const Conversion &op, PhaseBuilder &builder) {
  Instruction store;
  store.opcode = Opcode::Store;
  std::vector<const Place *> places{&op.out.unit, &op.out.tensor};
  builder.emitAs(
      op.out.format, store, places,
      stickLevels(op.out, builder, places, {op.out.unitPairBytes, op.out.tensorPairBytes}));
}

/// Puts the constants between input and result of the vector function.
static void completeVector(const std::vector<uint32_t> &constants, Instruction &instruction) {
  program::Operand result = instruction.operands.back();
  instruction.operands.pop_back();
  for (uint32_t bits : constants) {
    instruction.operands.push_back(program::constantOperand(bits));
  }
  instruction.operands.push_back(result);
}

Expected<program::Phase> lowerConversion(const Kernel &kernel, BufferTable &buffers) {
  Conversion op;
  op.kernel = &kernel;
  SPYRE_RETURN_IF_ERROR(checkRules(kernel));
  SPYRE_RETURN_IF_ERROR(findPair(op));
  SPYRE_ASSIGN_OR_RETURN(op.constants, readConstants(kernel));
  PhaseBuilder builder(kernel, buffers);
  addAxes(op, builder);
  auto bytes = [&] { return stagingBytes(op, builder); };
  // One level is for the two sticks of a pair.
  if (!fillTiles(builder.axes, innerFirst(op.out.tensor), program::kMaxLevels - 1,
                 builder.stagingBytesLeft(), bytes)) {
    return error<5303>("{}: one stick and its pair need {} bytes of staging area, the machine has "
                       "{}; leave more of LX to the back end",
                       kernel.name, bytes(), builder.stagingBytesLeft());
  }
  stageSide(op.in, builder);
  stageSide(op.out, builder);
  if (!op.constants.empty()) {
    op.scaled = builder.stage("scaled", op.in.tensor, op.in.stepBytes());
  }
  std::vector<size_t> order;
  for (size_t a : builder.axesOf(op.out.tensor)) {
    if (builder.axes[a].tiled()) {
      order.push_back(a);
    }
  }
  size_t loadDepth = PhaseBuilder::depthOf(order, op.in.tensor);
  auto enter = [&](size_t depth) {
    if (depth == loadDepth && !op.in.map->inLx) {
      loadInput(op, builder);
    }
    // Inputs in LX are scaled where they change, too.
    if (depth == loadDepth && !op.constants.empty()) {
      scaleInput(op, builder);
    }
    if (depth == order.size()) {
      convertTile(op, builder);
      if (!op.out.map->inLx) {
        storeOutput(op, builder);
      }
    }
  };
  builder.walk(order, enter, [](size_t) {});
  SPYRE_ASSIGN_OR_RETURN(program::Phase phase, builder.finish());
  for (Instruction &instruction : phase.instructions) {
    if (instruction.opcode == Opcode::Vector) {
      completeVector(op.constants, instruction);
    }
  }
  return phase;
}

} // namespace spyre::backend
