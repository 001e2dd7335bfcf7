//===- SketchRestickify.cpp - blocks that are transposed (BackEnd/LowerRestickify.cpp) ------===//
#include "spyre/Base/Math.h"

#include "Candidate.h"

#include <algorithm>

namespace spyre::costmodel {

using program::Unit;

namespace {
struct Sides {
  size_t i = 0, j = 0;
  int64_t iTail = 0, jTail = 0;
};
} // namespace

/// Rows that exist along a side: a padded one has fewer than the kernel visits.
static int64_t rowsOf(const PricedKernel &priced, size_t tensor, int dim, int64_t perCore) {
  for (const HeldDim &held : priced.tensor(tensor).dims) {
    if (held.dim == dim && held.gap < 0) {
      return perCore + held.gap;
    }
  }
  return perCore;
}

/// One shuffle of blocks; along each side whole ones or the partial one.
static void addShuffle(const Candidate &candidate, Sketch &sketch, const Sides &sides, bool iPart,
                       bool jPart, uint16_t in, uint16_t out) {
  const PricedKernel &priced = *candidate.priced;
  const int64_t lanes = priced.lanes();
  SketchStep &move = sketch.add(Work::Move, Unit::Vector, sketch.loops);
  move.cycles = 1 / priced.device->timing.moveElementsPerCycle;
  move.lxBytes = double(2 * numerics::elementBytes(priced.kernel.format));
  move.reads = in;
  move.writes = out;
  if (iPart) {
    move.onlyTail = int8_t(sides.i);
    move.addLevel(-1, 0, sides.iTail);
  } else {
    move.addLevel(int(sides.i), 0, lanes, sides.iTail > 0 ? lanes : 0);
  }
  if (jPart) {
    move.onlyTail = int8_t(sides.j);
    move.addLevel(-1, 0, sides.jTail);
  } else {
    move.addLevel(int(sides.j), 0, lanes, sides.jTail > 0 ? lanes : 0);
  }
  // Where both sides are partial, this block exists only in the last tile of both.
  move.alsoTail = iPart && jPart ? int8_t(sides.i) : int8_t(-1);
}

/// One block through room for a part of it on each side: for each part of the output rows all input
/// rows pass by.
static void sketchParts(const Candidate &candidate, Sketch &sketch, const Sides &sides, uint16_t in,
                        uint16_t out, int64_t part) {
  const PricedKernel &priced = *candidate.priced;
  AxisTable &table = sketch.table;
  const int64_t lanes = priced.lanes();
  // All parts of all blocks along i, and of one block along j; rows on average.
  const SketchAxis &iAxis = table.axis[sides.i], &jAxis = table.axis[sides.j];
  const int64_t iParts = iAxis.full * (lanes / part) + ceilDiv(sides.iTail, part);
  const int64_t jParts = jAxis.full == 0 ? ceilDiv(sides.jTail, part) : lanes / part;
  const int64_t iRows = (iAxis.full * lanes + sides.iTail) / iParts;
  const int64_t jRows = (jAxis.full * lanes + sides.jTail) / (jAxis.count * jParts);
  size_t kept = 0;
  for (size_t l = 0; l < sketch.loops; ++l) {
    if (sketch.loop[l] != sides.i) {
      sketch.loop[kept++] = sketch.loop[l];
    }
  }
  sketch.loops = kept;
  table.axis[sides.i] = {1, 1, 1};
  for (int64_t parts : {iParts, jParts}) {
    size_t axis = table.add(parts);
    table.stride[0][axis] = table.stride[1][axis] = 0;
    if (table.axis[axis].tiled()) {
      sketch.loop[sketch.loops++] = uint8_t(axis);
    }
  }
  const size_t iDepth = sketch.loops - (jParts > 1);
  if (sides.jTail > 0) {
    SketchStep &fill = sketch.add(Work::Lanes, Unit::Vector, iDepth);
    fill.cycles = double(lanes) / priced.device->timing.sfpLanesPerCycle;
    fill.lxBytes = kStickBytes;
    fill.writes = out;
    fill.onlyTail = int8_t(sides.j);
    fill.addLevel(-1, 0, iRows);
  }
  SketchStep &load = sketch.add(Work::Transfer, Unit::Load, sketch.loops);
  load.rates = &candidate.rates[0];
  load.writes = in;
  load.addLevel(-1, candidate.stride[0][size_t(priced.kernel.stickDim)], jRows);
  SketchStep &move = sketch.add(Work::Move, Unit::Vector, sketch.loops);
  move.cycles = 1 / priced.device->timing.moveElementsPerCycle;
  move.lxBytes = double(2 * numerics::elementBytes(priced.kernel.format));
  move.reads = in;
  move.writes = out;
  move.addLevel(-1, 0, iRows * jRows);
  SketchStep &store = sketch.add(Work::Transfer, Unit::Store, iDepth);
  store.leaving = true;
  store.rates = &candidate.rates[1];
  store.reads = out;
  store.addLevel(-1, candidate.stride[1][size_t(priced.kernel.inputStickDim)], iRows);
}

bool sketchRestickify(const Candidate &candidate, Sketch &sketch) {
  const PricedKernel &priced = *candidate.priced;
  const Kernel &kernel = priced.kernel;
  const int64_t lanes = priced.lanes();
  const auto iDim = size_t(kernel.inputStickDim), jDim = size_t(kernel.stickDim);
  AxisTable &table = sketch.table;
  table.places = 2;
  for (size_t d = 0; d < kernel.dims.size(); ++d) {
    if (d != iDim && d != jDim) {
      size_t a = table.add(candidate.perCore[d]);
      table.stride[0][a] = candidate.stride[0][d];
      table.stride[1][a] = candidate.stride[1][d];
    }
  }
  table.coalesce(0, true);
  Sides sides;
  int64_t iRows = rowsOf(priced, 1, int(iDim), candidate.perCore[iDim]);
  int64_t jRows = rowsOf(priced, 0, int(jDim), candidate.perCore[jDim]);
  sides.iTail = iRows % lanes;
  sides.jTail = jRows % lanes;
  int64_t iCount = candidate.perCore[iDim] / lanes, jCount = candidate.perCore[jDim] / lanes;
  if (candidate.perCore[iDim] % lanes != 0 || candidate.perCore[jDim] % lanes != 0) {
    return false;
  }
  const int64_t inRow = candidate.stride[0][jDim], outRow = candidate.stride[1][iDim];
  sides.i = table.add(iCount, iCount - (sides.iTail > 0));
  table.stride[0][sides.i] = candidate.stride[0][iDim];
  table.stride[1][sides.i] = lanes * outRow;
  sides.j = table.add(jCount, jCount - (sides.jTail > 0));
  table.stride[0][sides.j] = lanes * inRow;
  table.stride[1][sides.j] = candidate.stride[1][jDim];

  const bool inLx = kernel.inputs[0].inLx, outLx = kernel.output.inLx;
  int64_t blockBytes = lanes * kStickBytes, parts = 1;
  // Both tiles depend on both sides, and on nothing else.
  AxisTable blocks;
  blocks.places = 1;
  blocks.add(jCount);
  blocks.add(iCount);
  blocks.stride[0][0] = blocks.stride[0][1] = 1;
  StagingBytes bytes;
  bytes.perStep[0] = (int64_t(!inLx) + !outLx) * blockBytes;
  const uint8_t order[] = {0, 1};
  const int64_t room = priced.device->lxStagingBytes();
  bool fits = fillTiles(blocks, order, 2, 2, room, bytes);
  while (!fits && !inLx && !outLx && parts < lanes) {
    parts *= 2;
    fits = 2 * (lanes / parts) * kStickBytes <= room;
  }
  if (!fits) {
    return false;
  }
  table.axis[sides.j].tile = blocks.axis[0].tile;
  table.axis[sides.i].tile = blocks.axis[1].tile;
  for (size_t a = 0; a < sides.i; ++a) {
    table.axis[a].tile = 1;
  }
  addLoops(sketch, 1);
  double tileBytes = double(blocks.axis[0].tile * blocks.axis[1].tile * blockBytes) / double(parts);
  int inLayout = sketch.addLayout(), outLayout = sketch.addLayout();
  table.stride[size_t(inLayout)][sides.j] = table.stride[size_t(outLayout)][sides.i] = 1;
  table.stride[size_t(inLayout)][sides.i] = table.stride[size_t(outLayout)][sides.j] = 2;
  uint16_t in = inLx ? uint16_t(0) : sketch.addBuffer(tileBytes, inLayout);
  uint16_t out = outLx ? uint16_t(0) : sketch.addBuffer(tileBytes, outLayout);
  if (parts > 1) {
    sketchParts(candidate, sketch, sides, in, out, lanes / parts);
    return true;
  }
  if (!inLx) {
    SketchStep &load = sketch.add(Work::Transfer, Unit::Load, sketch.loops);
    load.rates = &candidate.rates[0];
    load.writes = in;
    load.addLevel(int(sides.i), table.stride[0][sides.i]);
    load.addLevel(int(sides.j), inRow, lanes, sides.jTail > 0 ? lanes - sides.jTail : 0);
  }
  if (sides.jTail > 0) {
    SketchStep &fill = sketch.add(Work::Lanes, Unit::Vector, sketch.loops);
    fill.cycles = double(lanes) / priced.device->timing.sfpLanesPerCycle;
    fill.lxBytes = kStickBytes;
    fill.onlyTail = int8_t(sides.j);
    fill.writes = out;
    fill.addLevel(int(sides.i), 0, lanes, sides.iTail > 0 ? lanes - sides.iTail : 0);
  }
  for (bool iPart : {false, true}) {
    for (bool jPart : {false, true}) {
      if ((!iPart || sides.iTail > 0) && (!jPart || sides.jTail > 0)) {
        addShuffle(candidate, sketch, sides, iPart, jPart, in, out);
      }
    }
  }
  if (!outLx) {
    SketchStep &store = sketch.add(Work::Transfer, Unit::Store, sketch.loops);
    store.rates = &candidate.rates[1];
    store.reads = out;
    store.addLevel(int(sides.j), table.stride[1][sides.j]);
    store.addLevel(int(sides.i), outRow, lanes, sides.iTail > 0 ? lanes - sides.iTail : 0);
  }
  return true;
}

} // namespace spyre::costmodel
