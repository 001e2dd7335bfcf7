//===- LowerConversion.cpp - formats of whole tensors ---------------------------------------===//
//
// One side has more lanes per stick, the dense one; two or four sticks of the other, wide side
// share one of its sticks. These are neighbours along the stick dimension itself (ch), along a
// partner of which the dense stick holds several elements (mb, wt), or two by two along both (mb in
// 4 bits). So every axis counts dense sticks, and one step of a shared axis is several of the wide
// tensor:
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

namespace {

/// Wide sticks along one dimension that share a dense stick, and how far they are apart in the
/// tensor, where the unit finds them, and where they are compact.
struct Share {
  std::string dim;
  int64_t sticks = 1;
  int64_t tensorBytes = 0, unitBytes = 0, compactBytes = 0;
};

/// A tensor of the operation, and where the unit finds it.
struct Side {
  const TensorMap *map = nullptr;
  DataFormat format = DataFormat::Invalid;
  Place tensor, unit;
  /// Empty on the dense side. The unit takes the sticks of the last one first.
  std::vector<Share> shares;

  int64_t sticks(const std::string &dim) const {
    int64_t count = 1;
    for (const Share &share : shares) {
      count *= share.dim == dim ? share.sticks : 1;
    }
    return count;
  }
  int64_t stepBytes() const {
    int64_t bytes = kStickBytes;
    for (const Share &share : shares) {
      bytes *= share.sticks;
    }
    return bytes;
  }
};

struct Conversion {
  const Kernel *kernel = nullptr;
  /// Of the wide side; addAxes() gives them to it.
  std::vector<Share> shares;
  Side in, out;
  /// Scaled values, when there are constants.
  Place scaled;
  std::vector<uint32_t> constants;

  const Side &wide() const { return in.shares.empty() ? out : in; }
};

} // namespace

static std::string stickText(const TensorMap &map) {
  std::string text;
  for (const auto &[dim, elements] : map.stick) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", dim, elements);
  }
  return "[" + text + "]";
}

/// The sticks are those of the packing; finds the dimensions along which they are shared.
static Status findShares(Conversion &op) {
  const Kernel &kernel = *op.kernel;
  const TensorMap &in = kernel.inputs[0], &out = kernel.output;
  using Stick = std::vector<std::pair<std::string, int64_t>>;
  const std::string &dim = in.stickDim;
  Stick wanted{{dim, out.lanes}};
  std::string partner = dim, form = "alone";
  op.shares = {{dim, std::max(in.lanes, out.lanes) / std::min(in.lanes, out.lanes)}};
  if (kernel.op.packing == Packing::Mb) {
    partner = out.stick.size() == 3 ? out.stick[1].first : dim;
    wanted = {{dim, 8}, {partner, 2}, {dim, out.lanes / 16}};
    form = fmt::format("as [8, partner=2, {}]", out.lanes / 16);
    op.shares = {{dim, out.lanes / (2 * in.lanes)}, {partner, 2}};
  } else if (kernel.op.packing == Packing::Wt) {
    partner = out.stick.size() == 2 ? out.stick[0].first : dim;
    wanted = {{partner, out.lanes / 64}, {dim, 64}};
    form = fmt::format("as [partner={}, 64]", out.lanes / 64);
    op.shares = {{partner, out.lanes / 64}};
  }
  if (in.sparse || out.sparse || in.stick.size() != 1 || out.stick != wanted ||
      (kernel.op.packing != Packing::Ch) != (partner != dim)) {
    return error<5302>("{}: sticks {} and {}; a conversion has one dimension in the input's stick, "
                       "and in the output's the same one {}",
                       kernel.name, stickText(in), stickText(out), form);
  }
  std::erase_if(op.shares, [](const Share &share) { return share.sticks == 1; });
  for (const Share &share : op.shares) {
    if (!in.holds(share.dim) || !out.holds(share.dim)) {
      return error<5302>("{}: a tensor does not hold '{}', along which sticks are paired; expand "
                         "it",
                         kernel.name, share.dim);
    }
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
  op.in = {&in, kernel.op.from, builder.placeOf(in), {}, {}};
  op.out = {&out, kernel.op.to, builder.placeOf(out), {}, {}};
  Side &wide = inIsWide ? op.in : op.out;
  int64_t compactBytes = kStickBytes;
  for (size_t i = op.shares.size(); i-- > 0;) {
    Share &share = op.shares[i];
    share.tensorBytes = wide.map->strideBytes(share.dim);
    share.compactBytes = compactBytes;
    compactBytes *= share.sticks;
  }
  wide.shares = op.shares;
  for (const auto &[dim, size] : kernel.dsc->size) {
    int64_t elements = std::max(in.stepElements(dim), out.stepElements(dim));
    builder.axes.push_back(Axis::whole(dim, kernel.perCore(dim) / elements));
    for (Side *side : {&op.in, &op.out}) {
      side->tensor.stride.push_back(side->map->strideBytes(dim) * side->sticks(dim));
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
  if (!side.map->inLx) {
    side.unit = builder.stage(side.map->role + ".tile", side.tensor, side.stepBytes());
  }
  for (Share &share : side.shares) {
    share.unitBytes = side.map->inLx ? share.tensorBytes : share.compactBytes;
  }
}

/// Of the sticks of a share: how far apart they are where they come from and where they go.
using Distance = int64_t Share::*;

/// The steps of the tile, and all sticks that share one at each.
static std::vector<Level> stickLevels(const Side &side, const PhaseBuilder &builder,
                                      const std::vector<const Place *> &places, Distance from,
                                      Distance to) {
  std::vector<Level> nest = builder.levels(builder.axesOf(side.tensor), places);
  for (const Share &share : side.shares) {
    nest.push_back({share.sticks, {share.*from, share.*to}});
  }
  return nest;
}

static void loadInput(const Conversion &op, PhaseBuilder &builder) {
  Instruction load;
  load.opcode = Opcode::Load;
  std::vector<const Place *> places{&op.in.tensor, &op.in.unit};
  builder.emitAs(op.in.format, load, places,
                 stickLevels(op.in, builder, places, &Share::tensorBytes, &Share::unitBytes));
}

static void scaleInput(const Conversion &op, PhaseBuilder &builder) {
  Instruction vector;
  vector.opcode = Opcode::Vector;
  vector.function = op.kernel->op.function;
  std::vector<const Place *> places{&op.in.unit, &op.scaled};
  builder.emitAs(op.in.format, vector, places,
                 stickLevels(op.in, builder, places, &Share::unitBytes, &Share::compactBytes));
}

static void convertTile(const Conversion &op, PhaseBuilder &builder) {
  bool isScaled = !op.constants.empty();
  Instruction convert;
  convert.opcode = Opcode::Convert;
  convert.function = program::Function::Nearest;
  convert.toFormat = op.out.format;
  convert.group = op.kernel->op.packing == Packing::Wt ? 1 : 8;
  // The unit knows one distance: of compact sticks, or of those along the only dimension there is.
  SPYRE_CHECK(isScaled || op.shares.size() == 1, "sticks shared along two dimensions are scaled");
  convert.parameter = isScaled ? kStickBytes : op.wide().shares[0].unitBytes;
  std::vector<const Place *> places{isScaled ? &op.scaled : &op.in.unit, &op.out.unit};
  builder.emitAs(op.in.format, convert, places,
                 builder.levels(builder.axesOf(op.out.tensor), places));
}

static void storeOutput(const Conversion &op, PhaseBuilder &builder) {
  Instruction store;
  store.opcode = Opcode::Store;
  std::vector<const Place *> places{&op.out.unit, &op.out.tensor};
  builder.emitAs(op.out.format, store, places,
                 stickLevels(op.out, builder, places, &Share::unitBytes, &Share::tensorBytes));
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
  SPYRE_RETURN_IF_ERROR(findShares(op));
  SPYRE_ASSIGN_OR_RETURN(op.constants, readConstants(kernel));
  PhaseBuilder builder(kernel, buffers);
  addAxes(op, builder);
  auto bytes = [&] { return stagingBytes(op, builder); };
  // The other levels are for the sticks that share one.
  if (!fillTiles(builder.axes, innerFirst(op.out.tensor), program::kMaxLevels - op.shares.size(),
                 builder.stagingBytesLeft(), bytes)) {
    return error<5303>(
        "{}: one stick and those that share it need {} bytes of staging area, the machine has "
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
