//===- SketchReduction.cpp - accumulators over tiles -----------------------------------------===//
//
// As BackEnd/LowerReduction.cpp and LowerTopK.cpp lower them.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"

#include "Candidate.h"

namespace spyre::costmodel {

using program::Unit;

/// Axes that input (place 0) and output (place 1) share, then the reduced one; returns its number.
static size_t addAxes(const Candidate &candidate, Sketch &sketch, int64_t outputFactor,
                      int64_t count, int64_t full) {
  const PricedKernel &priced = *candidate.priced;
  const Kernel &kernel = priced.kernel;
  AxisTable &table = sketch.table;
  table.places = 2;
  for (size_t d = 0; d < kernel.dims.size(); ++d) {
    bool shared =
        candidate.holds(1, d) && (kernel.kernelClass != KernelClass::TopK || candidate.holds(0, d));
    if (shared) {
      size_t a = table.add(int(d) == kernel.stickDim ? candidate.perCore[d] / priced.lanes()
                                                     : candidate.perCore[d]);
      table.stride[0][a] = candidate.stride[0][d];
      table.stride[1][a] = candidate.stride[1][d] * (int(d) == kernel.stickDim ? outputFactor : 1);
    }
  }
  table.coalesce(0, !priced.tensor(0).arrives);
  size_t axis = table.add(count, full);
  int dim = kernel.reducedDim;
  table.stride[0][axis] = dim < 0 ? 0 : candidate.stride[0][size_t(dim)];
  table.stride[1][axis] = 0;
  return axis;
}

/// Kept axes outside, the reduced one inside.
static size_t addReductionLoops(Sketch &sketch, size_t axis) {
  addLoops(sketch, 1);
  size_t kept = sketch.loops;
  if (sketch.table.axis[axis].tiled()) {
    sketch.loop[sketch.loops++] = uint8_t(axis);
  }
  return kept;
}

static void addStore(const Candidate &candidate, Sketch &sketch, size_t depth, uint16_t buffer) {
  SketchStep &store = sketch.add(Work::Transfer, Unit::Store, depth);
  store.leaving = true;
  store.rates = &candidate.rates[1];
  store.reads = buffer;
  sketch.addLevels(store, 1, true);
}

bool sketchReduction(const Candidate &candidate, Sketch &sketch) {
  const PricedKernel &priced = *candidate.priced;
  const Kernel &kernel = priced.kernel;
  const arch::Timing &timing = priced.device->timing;
  const int64_t lanes = priced.lanes(), accBytes = program::accBytes(kernel.format);
  const bool overStick =
      kernel.kernelClass == KernelClass::StickReduction && !kernel.inputs[0].sparse;
  int64_t count = kernel.reducedDim < 0 ? 1 : candidate.perCore[size_t(kernel.reducedDim)];
  count = overStick ? count / lanes : count;
  const bool hasTail = overStick && kernel.maskedElements > 0;
  size_t axis = addAxes(candidate, sketch, 1, count, count - hasTail);

  AxisTable &table = sketch.table;
  const bool inLx = kernel.inputs[0].inLx, outLx = kernel.output.inLx;
  StagingBytes bytes;
  bytes.perStep[0] = inLx ? 0 : kStickBytes;
  bytes.perStep[1] =
      kernel.values * (accBytes + (kernel.pairs ? kStickBytes : 0)) + (outLx ? 0 : kStickBytes);
  std::array<uint8_t, kMaxAxes> order;
  table.innerFirst(0, order);
  if (!fillTiles(table, order.data(), table.axes, program::kMaxLevels - 1,
                 priced.device->lxStagingBytes(), bytes)) {
    return false;
  }
  size_t kept = addReductionLoops(sketch, axis);
  auto steps = double(table.tileSteps(1));
  uint16_t in = inLx ? 0 : sketch.addBuffer(double(table.tileSteps(0) * kStickBytes), 0);
  uint16_t out = outLx ? 0 : sketch.addBuffer(steps * kStickBytes, 1);
  std::array<uint16_t, 2> acc{}, total{};
  for (int64_t v = 0; v < kernel.values; ++v) {
    acc[size_t(v)] = sketch.addBuffer(steps * double(accBytes), 1);
    total[size_t(v)] = kernel.pairs ? sketch.addBuffer(steps * kStickBytes, 1) : out;
    SketchStep &fill = addLanes(candidate, sketch, 1, kept, 1, kStickBytes);
    fill.addLevel(-1, 0, accBytes / kStickBytes);
    fill.writes = acc[size_t(v)];
  }
  if (!inLx) {
    addLoad(candidate, sketch, 0, 0, sketch.depthOf(0), in);
  }
  // The masked stick apart.
  for (int part = 0; part < (hasTail ? 2 : 1); ++part) {
    for (int64_t v = 0; v < kernel.values; ++v) {
      SketchStep &add = addLanes(candidate, sketch, 1, sketch.loops, timing.sfpReductionFactor,
                                 kStickBytes + 2 * accBytes);
      add.reads = in | acc[size_t(v)];
      add.writes = acc[size_t(v)];
      if (part == 0) {
        add.addLevel(int(axis), 0, 1, hasTail ? 1 : 0);
      } else {
        add.onlyTail = int8_t(axis);
      }
    }
  }
  for (int64_t v = 0; v < kernel.values; ++v) {
    addCombine(candidate, sketch, 1, kept, accBytes, acc[size_t(v)]);
    SketchStep &finish =
        addLanes(candidate, sketch, 1, kept, timing.sfpReductionFactor, accBytes + kStickBytes);
    finish.leaving = true;
    finish.reads = acc[size_t(v)];
    finish.writes = total[size_t(v)];
  }
  if (kernel.pairs) {
    SketchStep &fill = addLanes(candidate, sketch, 1, kept, 1, kStickBytes);
    fill.leaving = true;
    fill.writes = out;
    for (int64_t v = 0; v < kernel.values; ++v) {
      SketchStep &move = sketch.add(Work::Move, Unit::Vector, kept);
      move.leaving = true;
      move.cycles = 1 / timing.moveElementsPerCycle;
      move.lxBytes = double(2 * numerics::elementBytes(kernel.format));
      sketch.addLevels(move, 1, false);
      move.reads = total[size_t(v)] | out;
      move.writes = out;
    }
  }
  if (kernel.inputs[0].sparse) {
    SketchStep &spread = addLanes(candidate, sketch, 1, kept, 1, 2 * kStickBytes);
    spread.leaving = true;
    spread.reads = spread.writes = out;
  }
  if (!outLx) {
    addStore(candidate, sketch, kept, out);
  }
  return true;
}

bool sketchTopK(const Candidate &candidate, Sketch &sketch) {
  const PricedKernel &priced = *candidate.priced;
  const Kernel &kernel = priced.kernel;
  const arch::Timing &timing = priced.device->timing;
  const int64_t accBytes = program::accBytes(kernel.format);
  const int64_t listBytes = kernel.topK * accBytes;
  const int64_t halves = priced.lanes() / numerics::elemsPerStick(kernel.output.format);
  const bool inLx = kernel.inputs[0].inLx, outLx = kernel.output.inLx;
  int64_t count = kernel.reducedDim < 0 ? 1 : candidate.perCore[size_t(kernel.reducedDim)];
  size_t axis = addAxes(candidate, sketch, halves, count, count);
  AxisTable &table = sketch.table;
  StagingBytes bytes;
  bytes.perStep[0] = inLx ? 0 : kStickBytes;
  bytes.perStep[1] = 2 * listBytes + (outLx ? 0 : kernel.topK * halves * kStickBytes);
  std::array<uint8_t, kMaxAxes> order;
  table.innerFirst(0, order);
  if (!fillTiles(table, order.data(), table.axes, program::kMaxLevels - 2,
                 priced.device->lxStagingBytes(), bytes)) {
    return false;
  }
  size_t kept = addReductionLoops(sketch, axis);
  auto steps = double(table.tileSteps(1));
  uint16_t in = bytes.perStep[0] == 0
                    ? uint16_t(0)
                    : sketch.addBuffer(double(table.tileSteps(0) * kStickBytes), 0);
  uint16_t lists = sketch.addBuffer(steps * 2 * double(listBytes), 1);
  uint16_t out =
      outLx ? uint16_t(0) : sketch.addBuffer(steps * double(kernel.topK * halves * kStickBytes), 1);
  for (int half = 0; half < 2; ++half) {
    SketchStep &fill = addLanes(candidate, sketch, 1, kept, 1, kStickBytes);
    fill.addLevel(-1, 0, listBytes / kStickBytes);
    fill.writes = lists;
  }
  if (!inLx) {
    addLoad(candidate, sketch, 0, 0, sketch.depthOf(0), in);
  }
  SketchStep &take = addLanes(candidate, sketch, 1, sketch.loops, double(kernel.topK),
                              kStickBytes + 4 * listBytes);
  take.addLevel(int(axis));
  take.reads = in | lists;
  take.writes = lists;
  SketchStep &finish =
      addLanes(candidate, sketch, 1, kept, timing.sfpReductionFactor, accBytes + kStickBytes);
  finish.leaving = true;
  finish.addLevel(-1, 0, kernel.topK);
  finish.addLevel(-1, 0, halves);
  if (kernel.wantsIndex) {
    // Of int32, whatever is compared.
    finish.cycles = 32 * timing.sfpReductionFactor / timing.sfpLanesPerCycle;
    finish.lxBytes = 2 * kStickBytes;
  }
  finish.reads = lists;
  finish.writes = out;
  if (!outLx) {
    addStore(candidate, sketch, kept, out);
    SketchStep &store = sketch.step[sketch.steps - 1];
    int64_t kStride = 0;
    for (size_t d = 0; d < kernel.dims.size(); ++d) {
      kStride = candidate.holds(1, d) && !candidate.holds(0, d) ? candidate.stride[1][d] : kStride;
    }
    store.addLevel(-1, kStride, kernel.topK);
    store.addLevel(-1, kernel.stickDim < 0 ? 0 : candidate.stride[1][size_t(kernel.stickDim)],
                   halves);
  }
  return true;
}

} // namespace spyre::costmodel
