//===- SketchConversion.cpp - other formats, running sums ------------------------------------===//
//
// As BackEnd/LowerConversion.cpp and LowerScan.cpp lower them.
//===--------------------------------------------------------------------------------------------===//
// LowerScan.cpp) ===//
#include "Candidate.h"

#include <algorithm>

namespace spyre::costmodel {

using program::Unit;

namespace {
/// Sticks of the wide side that share one of the dense side, by dim.
struct Shares {
  size_t wide = 0;
  int64_t count = 1;
  size_t dims = 0;
  std::array<int64_t, kMaxKernelDims> sticks;
};
} // namespace

static Shares findShares(const PricedKernel &priced) {
  Shares shares;
  int64_t inLanes = numerics::elemsPerStick(priced.tensor(0).format);
  int64_t outLanes = numerics::elemsPerStick(priced.tensor(1).format);
  shares.wide = inLanes < outLanes ? 0 : 1;
  for (size_t d = 0; d < priced.kernel.dims.size(); ++d) {
    shares.sticks[d] =
        std::max<int64_t>(priced.perStick[1 - shares.wide][d] / priced.perStick[shares.wide][d], 1);
    shares.count *= shares.sticks[d];
    shares.dims += shares.sticks[d] > 1;
  }
  return shares;
}

static void addShares(const Candidate &candidate, const Shares &shares, size_t tensor,
                      SketchStep &step) {
  for (size_t d = 0; d < candidate.priced->kernel.dims.size(); ++d) {
    if (shares.wide == tensor && shares.sticks[d] > 1) {
      step.addLevel(-1, candidate.stride[tensor][d], shares.sticks[d]);
    }
  }
}

bool sketchConversion(const Candidate &candidate, Sketch &sketch) {
  const PricedKernel &priced = *candidate.priced;
  const Kernel &kernel = priced.kernel;
  const arch::Timing &timing = priced.device->timing;
  const Shares shares = findShares(priced);
  AxisTable &table = sketch.table;
  table.places = 2;
  for (size_t d = 0; d < kernel.dims.size(); ++d) {
    int64_t elements = std::max(priced.perStick[0][d], priced.perStick[1][d]);
    size_t a = table.add(candidate.perCore[d] / elements);
    for (size_t t : {size_t(0), size_t(1)}) {
      table.stride[t][a] = candidate.stride[t][d] * (t == shares.wide ? shares.sticks[d] : 1);
    }
  }
  table.coalesce(0, !kernel.inputs[0].arrives);
  const int64_t inBytes = kStickBytes * (shares.wide == 0 ? shares.count : 1);
  const int64_t outBytes = kStickBytes * (shares.wide == 1 ? shares.count : 1);
  const bool inLx = kernel.inputs[0].inLx, outLx = kernel.output.inLx;
  StagingBytes bytes;
  bytes.perStep[0] = (inLx ? 0 : inBytes) + (kernel.scaled ? inBytes : 0);
  bytes.perStep[1] = outLx ? 0 : outBytes;
  std::array<uint8_t, kMaxAxes> order;
  table.innerFirst(1, order);
  if (!fillTiles(table, order.data(), table.axes, program::kMaxLevels - shares.dims,
                 priced.device->lxStagingBytes(), bytes)) {
    return false;
  }
  addLoops(sketch, 1);
  uint16_t in = inLx ? uint16_t(0) : sketch.addBuffer(double(table.tileSteps(0) * inBytes), 0);
  uint16_t out = outLx ? uint16_t(0) : sketch.addBuffer(double(table.tileSteps(1) * outBytes), 1);
  size_t loadDepth = sketch.depthOf(0);
  if (!inLx) {
    addShares(candidate, shares, 0, addLoad(candidate, sketch, 0, 0, loadDepth, in));
  }
  uint16_t source = in;
  int64_t inLanes = numerics::elemsPerStick(kernel.inputs[0].format);
  if (kernel.scaled) {
    source = sketch.addBuffer(double(table.tileSteps(0) * inBytes), 0);
    SketchStep &scale = addLanes(candidate, sketch, 0, loadDepth, 1, 2 * kStickBytes);
    scale.cycles = double(inLanes) / timing.sfpLanesPerCycle;
    scale.addLevel(-1, 0, inBytes / kStickBytes);
    scale.reads = in;
    scale.writes = source;
  }
  SketchStep &convert =
      addLanes(candidate, sketch, 1, sketch.loops, 1, kStickBytes * (1 + shares.count));
  int64_t outLanes = numerics::elemsPerStick(kernel.output.format);
  convert.cycles = double(std::max(inLanes, outLanes)) / timing.sfpLanesPerCycle;
  convert.reads = source;
  convert.writes = out;
  if (!outLx) {
    SketchStep &store = sketch.add(Work::Transfer, Unit::Store, sketch.loops);
    store.rates = &candidate.rates[1];
    store.reads = out;
    sketch.addLevels(store, 1, true);
    addShares(candidate, shares, 1, store);
  }
  return true;
}

//===- Running sums -------------------------------------------------------------------------===//

bool sketchScan(const Candidate &candidate, Sketch &sketch) {
  const PricedKernel &priced = *candidate.priced;
  const Kernel &kernel = priced.kernel;
  constexpr size_t kIn = 0, kOut = 1, kCarry = 2;
  AxisTable &table = sketch.table;
  table.places = 3;
  auto addDim = [&](size_t d, int64_t steps, bool carried) {
    size_t a = table.add(steps);
    table.stride[kIn][a] = candidate.stride[0][d];
    table.stride[kOut][a] = candidate.stride[1][d];
    table.stride[kCarry][a] = carried ? candidate.stride[1][d] : 0;
    return a;
  };
  const auto scanned = size_t(std::max(kernel.reducedDim, 0));
  for (size_t d = 0; d < kernel.dims.size(); ++d) {
    if (d != scanned) {
      addDim(d, outputSteps(candidate, d), true);
    }
  }
  table.coalesce(0, !kernel.inputs[0].arrives);
  size_t axis = addDim(scanned, candidate.perCore[scanned], false);
  const bool inLx = kernel.inputs[0].inLx, outLx = kernel.output.inLx;
  StagingBytes bytes;
  bytes.perStep[kIn] = inLx ? 0 : kStickBytes;
  bytes.perStep[kOut] = outLx ? 0 : kStickBytes;
  bytes.perStep[kCarry] = kStickBytes;
  std::array<uint8_t, kMaxAxes> order;
  table.innerFirst(kOut, order);
  if (!fillTiles(table, order.data(), table.axes, program::kMaxLevels,
                 priced.device->lxStagingBytes(), bytes)) {
    return false;
  }
  addLoops(sketch, kCarry);
  size_t kept = sketch.loops;
  const bool isCut = table.axis[axis].tiled();
  if (isCut) {
    sketch.loop[sketch.loops++] = uint8_t(axis);
  }
  uint16_t in =
      inLx ? uint16_t(0) : sketch.addBuffer(double(table.tileSteps(kIn) * kStickBytes), kIn);
  // A sum reads what the same instruction wrote: its tile is not known to be written first.
  uint16_t out = outLx ? uint16_t(0)
                       : sketch.addBuffer(double(table.tileSteps(kOut) * kStickBytes),
                                          table.axis[axis].tile > 1 ? kNeverDoubled : int(kOut));
  uint16_t carry = sketch.addBuffer(double(table.tileSteps(kCarry) * kStickBytes), kCarry);
  addLanes(candidate, sketch, kCarry, kept, 1, kStickBytes).writes = carry;
  if (!inLx) {
    addLoad(candidate, sketch, 0, kIn, sketch.depthOf(kIn), in);
  }
  SketchStep &sum = addLanes(candidate, sketch, kOut, sketch.loops, 1, 3 * kStickBytes);
  sum.reads = in | carry;
  sum.writes = out;
  if (isCut) {
    SketchStep &copy = addLanes(candidate, sketch, kCarry, sketch.loops, 1, 2 * kStickBytes);
    copy.reads = out;
    copy.writes = carry;
  }
  if (!outLx) {
    SketchStep &store = sketch.add(Work::Transfer, Unit::Store, sketch.loops);
    store.rates = &candidate.rates[1];
    store.reads = out;
    sketch.addLevels(store, kOut, true);
  }
  return true;
}

} // namespace spyre::costmodel
