//===- LowerRestickify.cpp - moving the stick to another dimension --------------------------===//
//
// The input has its stick along dimension I, the output along J. A block is w x w elements (w lanes
// per stick): w input sticks, one per j, become w output sticks, one per i. Axes I and J count
// blocks; all other dimensions are loops.
//
// Iteration sizes are padded to whole blocks, memory need not be [spec: codegen-and-backend 2.8]:
// input rows j that do not exist are not loaded and their lanes of the output become zero, output
// rows i that do not exist are not stored.
//
// Where the staging area has no room for one block on each side (128 lanes on a tiny machine), the
// block is moved in parts: for each part of the output rows all input rows pass by, part by part.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"

#include "Lowerings.h"
#include "PhaseBuilder.h"

#include <algorithm>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;

namespace {
/// A side of the block: its axis, and how many elements of the last step exist (0: all).
struct Side {
  size_t axis = 0;
  int64_t tail = 0;
  /// Elements along this side in the current tile.
  int64_t elements(const PhaseBuilder &builder, int64_t lanes) const {
    int64_t partial = builder.hasTail(axis);
    return (builder.steps(axis) - partial) * lanes + partial * tail;
  }
};

struct Restickify {
  const Kernel *kernel = nullptr;
  Side i, j;
  Place input, output, inputUnit, outputUnit;
  /// Pieces of a block's side that are staged at a time; 1: whole blocks.
  int64_t parts = 1;
  /// Bytes between neighbours j of the input and i of the output: tensor, then unit.
  int64_t inputRowBytes = 0, outputRowBytes = 0, inputUnitRowBytes = 0, outputUnitRowBytes = 0;
};
} // namespace

static Status checkRules(const Kernel &kernel) {
  const TensorMap &input = kernel.inputs[0], &output = kernel.output;
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(""));
  if (input.sparse || output.sparse || input.stickDim == output.stickDim ||
      !input.holds(output.stickDim) || !output.holds(input.stickDim)) {
    return error<5302>("{}: sticks along '{}' and '{}'; a restickify needs two different stick "
                       "dimensions that both tensors hold",
                       kernel.name, input.stickDim, output.stickDim);
  }
  for (const auto &[dim, size] : kernel.dsc->size) {
    const TensorMap::Dim *in = input.find(dim), *out = output.find(dim);
    if (!out && size > 1) {
      return error<5302>("{}: the output does not hold '{}' of size {}", kernel.name, dim, size);
    }
    bool isSide = dim == input.stickDim || dim == output.stickDim;
    if (!isSide &&
        ((in && in->steps != kernel.perCore(dim)) || (out && out->steps != kernel.perCore(dim)))) {
      return error<5302>("{}: '{}' has a gap, but only the two stick dimensions are padded",
                         kernel.name, dim);
    }
  }
  return Status::success();
}

/// Blocks along \p dim; \p rows of them exist in the tensor where it is not the stick.
static Expected<Axis> sideAxis(const Kernel &kernel, const std::string &dim, int64_t rows,
                               Side &side) {
  int64_t count = kernel.perCore(dim) / kernel.lanes();
  side.tail = rows % kernel.lanes();
  if (kernel.perCore(dim) % kernel.lanes() != 0 || ceilDiv(rows, kernel.lanes()) != count) {
    return error<5302>("{}: '{}' is iterated over {} elements, which are not the {} rows in memory "
                       "rounded up to whole sticks",
                       kernel.name, dim, kernel.perCore(dim), rows);
  }
  return Axis{dim, count, count - (side.tail > 0), 1};
}

static Status addAxes(Restickify &op, PhaseBuilder &builder) {
  const Kernel &kernel = *op.kernel;
  const TensorMap &in = kernel.inputs[0], &out = kernel.output;
  const std::string &iDim = in.stickDim, &jDim = out.stickDim;
  op.input = builder.placeOf(in);
  op.output = builder.placeOf(out);
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (dim != iDim && dim != jDim) {
      builder.axes.push_back(Axis::whole(dim, kernel.perCore(dim)));
      op.input.stride.push_back(in.strideBytes(dim));
      op.output.stride.push_back(out.strideBytes(dim));
    }
  }
  coalesce(builder.axes, {&op.input, &op.output});
  op.inputRowBytes = in.strideBytes(jDim);
  op.outputRowBytes = out.strideBytes(iDim);

  op.i.axis = builder.axes.size();
  SPYRE_ASSIGN_OR_RETURN(Axis iAxis, sideAxis(kernel, iDim, out.find(iDim)->steps, op.i));
  builder.axes.push_back(iAxis);
  op.input.stride.push_back(in.strideBytes(iDim));
  op.output.stride.push_back(kernel.lanes() * op.outputRowBytes);

  op.j.axis = builder.axes.size();
  SPYRE_ASSIGN_OR_RETURN(Axis jAxis, sideAxis(kernel, jDim, in.find(jDim)->steps, op.j));
  builder.axes.push_back(jAxis);
  op.input.stride.push_back(kernel.lanes() * op.inputRowBytes);
  op.output.stride.push_back(out.strideBytes(jDim));
  return Status::success();
}

static Status planStaging(Restickify &op, PhaseBuilder &builder) {
  const Kernel &kernel = *op.kernel;
  int64_t blockBytes = kernel.lanes() * kStickBytes;
  int64_t buffers = !kernel.inputs[0].inLx + !kernel.output.inLx;
  auto bytes = [&] {
    int64_t blocks = saturatingProduct(builder.axes[op.i.axis].tile, builder.axes[op.j.axis].tile);
    return saturatingProduct(blocks, buffers * blockBytes);
  };
  bool fits = fillTiles(builder.axes, {op.j.axis, op.i.axis}, 2, builder.stagingBytesLeft(), bytes);
  while (!fits && buffers == 2 && op.parts < kernel.lanes()) {
    op.parts *= 2;
    blockBytes = kernel.lanes() / op.parts * kStickBytes;
    fits = bytes() <= builder.stagingBytesLeft();
  }
  if (!fits) {
    return error<5303>(
        "{}: one block needs {} bytes of staging area, the machine has {}; leave more "
        "of LX to the back end",
        kernel.name, bytes(), builder.stagingBytesLeft());
  }
  op.inputUnit = op.input;
  op.inputUnitRowBytes = op.inputRowBytes;
  if (!kernel.inputs[0].inLx) {
    op.inputUnit = builder.stage("in0.tile", op.input, {op.j.axis, op.i.axis}, blockBytes);
    op.inputUnitRowBytes = kStickBytes;
  }
  op.outputUnit = op.output;
  op.outputUnitRowBytes = op.outputRowBytes;
  if (!kernel.output.inLx) {
    op.outputUnit = builder.stage("out.tile", op.output, {op.i.axis, op.j.axis}, blockBytes);
    op.outputUnitRowBytes = kStickBytes;
  }
  return Status::success();
}

/// Lanes of missing rows j are zero, not what the buffer held before.
static void clearTail(const Restickify &op, PhaseBuilder &builder) {
  Instruction fill;
  fill.opcode = Opcode::Fill;
  Place last = PhaseBuilder::shifted(op.outputUnit, op.j.axis, builder.steps(op.j.axis) - 1);
  std::vector<Level> nest;
  nest.push_back({op.i.elements(builder, op.kernel->lanes()), {op.outputUnitRowBytes}});
  builder.emit(fill, {&last}, std::move(nest));
}

/// Transposes the blocks [iFirst, +iBlocks) x [jFirst, +jBlocks), each of iRows x jRows elements.
static void shuffle(const Restickify &op, PhaseBuilder &builder, int64_t iFirst, int64_t iBlocks,
                    int64_t iRows, int64_t jFirst, int64_t jBlocks, int64_t jRows) {
  if (iBlocks == 0 || jBlocks == 0) {
    return;
  }
  int64_t elementBytes = numerics::elementBytes(op.kernel->format);
  Instruction instruction;
  instruction.opcode = Opcode::Shuffle;
  instruction.elementBytes = uint16_t(elementBytes);
  Place input = PhaseBuilder::shifted(op.inputUnit, op.i.axis, iFirst);
  Place output = PhaseBuilder::shifted(op.outputUnit, op.i.axis, iFirst);
  input = PhaseBuilder::shifted(input, op.j.axis, jFirst);
  output = PhaseBuilder::shifted(output, op.j.axis, jFirst);
  std::vector<Level> nest = builder.levels({op.j.axis, op.i.axis}, {&input, &output});
  nest[0].count = jBlocks;
  nest[1].count = iBlocks;
  nest.push_back({iRows, {elementBytes, op.outputUnitRowBytes}});
  nest.push_back({jRows, {op.inputUnitRowBytes, elementBytes}});
  builder.emit(instruction, {&input, &output}, std::move(nest));
}

static Place movedBy(Place place, int64_t bytes) {
  place.offset += bytes;
  return place;
}

/// One block through a staging area of lanes / parts sticks on each side.
static void emitBlockInParts(const Restickify &op, PhaseBuilder &builder) {
  int64_t lanes = op.kernel->lanes(), part = lanes / op.parts;
  int64_t elementBytes = numerics::elementBytes(op.kernel->format);
  int64_t iRows = op.i.elements(builder, lanes), jRows = op.j.elements(builder, lanes);
  for (int64_t i = 0; i < iRows; i += part) {
    int64_t iCount = std::min(part, iRows - i);
    if (jRows < lanes) {
      Instruction fill;
      fill.opcode = Opcode::Fill;
      builder.emit(fill, {&op.outputUnit}, {{iCount, {kStickBytes}}});
    }
    for (int64_t j = 0; j < jRows; j += part) {
      int64_t jCount = std::min(part, jRows - j);
      Instruction load, move;
      load.opcode = Opcode::Load;
      Place rows = movedBy(op.input, j * op.inputRowBytes);
      builder.emit(load, {&rows, &op.inputUnit}, {{jCount, {op.inputRowBytes, kStickBytes}}});
      move.opcode = Opcode::Shuffle;
      move.elementBytes = uint16_t(elementBytes);
      Place from = movedBy(op.inputUnit, i * elementBytes);
      Place to = movedBy(op.outputUnit, j * elementBytes);
      builder.emit(move, {&from, &to},
                   {{iCount, {elementBytes, kStickBytes}}, {jCount, {kStickBytes, elementBytes}}});
    }
    Instruction store;
    store.opcode = Opcode::Store;
    Place rows = movedBy(op.output, i * op.outputRowBytes);
    builder.emit(store, {&op.outputUnit, &rows}, {{iCount, {kStickBytes, op.outputRowBytes}}});
  }
}

static void emitTile(const Restickify &op, PhaseBuilder &builder) {
  if (op.parts > 1) {
    return emitBlockInParts(op, builder);
  }
  const Kernel &kernel = *op.kernel;
  int64_t lanes = kernel.lanes();
  if (!kernel.inputs[0].inLx) {
    Instruction load;
    load.opcode = Opcode::Load;
    std::vector<Level> nest = builder.levels({op.i.axis}, {&op.input, &op.inputUnit});
    nest.push_back({op.j.elements(builder, lanes), {op.inputRowBytes, op.inputUnitRowBytes}});
    builder.emit(load, {&op.input, &op.inputUnit}, std::move(nest));
  }
  int64_t iTail = builder.hasTail(op.i.axis), jTail = builder.hasTail(op.j.axis);
  int64_t iWhole = builder.steps(op.i.axis) - iTail, jWhole = builder.steps(op.j.axis) - jTail;
  if (jTail) {
    clearTail(op, builder);
  }
  shuffle(op, builder, 0, iWhole, lanes, 0, jWhole, lanes);
  shuffle(op, builder, 0, iWhole, lanes, jWhole, jTail, op.j.tail);
  shuffle(op, builder, iWhole, iTail, op.i.tail, 0, jWhole, lanes);
  shuffle(op, builder, iWhole, iTail, op.i.tail, jWhole, jTail, op.j.tail);
  if (!kernel.output.inLx) {
    Instruction store;
    store.opcode = Opcode::Store;
    std::vector<Level> nest = builder.levels({op.j.axis}, {&op.outputUnit, &op.output});
    nest.push_back({op.i.elements(builder, lanes), {op.outputUnitRowBytes, op.outputRowBytes}});
    builder.emit(store, {&op.outputUnit, &op.output}, std::move(nest));
  }
}

Expected<program::Phase> lowerRestickify(const Kernel &kernel, BufferTable &buffers) {
  SPYRE_RETURN_IF_ERROR(checkRules(kernel));
  Restickify op;
  op.kernel = &kernel;
  PhaseBuilder builder(kernel, buffers);
  SPYRE_RETURN_IF_ERROR(addAxes(op, builder));
  SPYRE_RETURN_IF_ERROR(planStaging(op, builder));
  std::vector<size_t> order;
  for (size_t a : builder.axesOf(op.output)) {
    if (builder.axes[a].tiled()) {
      order.push_back(a);
    }
  }
  auto enter = [&](size_t depth) {
    if (depth == order.size()) {
      emitTile(op, builder);
    }
  };
  builder.walk(order, enter, [](size_t) {});
  return builder.finish();
}

} // namespace spyre::backend
