//===- KernelPricer.cpp - from a batch of divisions to their times --------------------------===//
#include "spyre/CostModel/KernelPricer.h"

#include "Candidate.h"
#include "TileClock.h"

#include <algorithm>
#include <limits>

namespace spyre::costmodel {

struct KernelPricer::State {
  PricedKernel priced;
};

KernelPricer::KernelPricer(std::unique_ptr<State> state) : state(std::move(state)) {}
KernelPricer::~KernelPricer() = default;
KernelPricer::KernelPricer(KernelPricer &&) noexcept = default;
KernelPricer &KernelPricer::operator=(KernelPricer &&) noexcept = default;

Expected<KernelPricer> KernelPricer::create(const Kernel &kernel, const arch::DeviceDesc &device) {
  SPYRE_RETURN_IF_ERROR(checkKernel(kernel));
  auto state = std::make_unique<State>();
  state->priced = prepare(kernel, device);
  return KernelPricer(std::move(state));
}

size_t KernelPricer::dims() const { return state->priced.kernel.dims.size(); }

static bool makeSketch(const Candidate &candidate, Sketch &sketch) {
  sketch.table.axes = sketch.loops = sketch.steps = sketch.buffers = sketch.layouts = 0;
  sketch.overlaps = candidate.priced->kernel.overlaps;
  switch (candidate.priced->kernel.kernelClass) {
  case KernelClass::StickReduction:
  case KernelClass::NonStickReduction:
    return sketchReduction(candidate, sketch);
  case KernelClass::TopK:
    return sketchTopK(candidate, sketch);
  case KernelClass::Matmul:
    return sketchMatmul(candidate, sketch);
  case KernelClass::Restickify:
    return sketchRestickify(candidate, sketch);
  case KernelClass::Conversion:
    return sketchConversion(candidate, sketch);
  case KernelClass::Scan:
    return sketchScan(candidate, sketch);
  case KernelClass::Pointwise:
  case KernelClass::Copy:
    return sketchPointwise(candidate, sketch);
  case KernelClass::Convolution:
    return sketchConvolution(candidate, sketch);
  case KernelClass::Window:
    return sketchPool(candidate, sketch);
  }
  return false;
}

static double overheadCycles(const arch::Timing &timing) {
  return timing.phaseOverheadCycles + timing.barrierCycles;
}

static double cyclesOf(const PricedKernel &priced, std::span<const int32_t> splits,
                       Candidate &candidate, Sketch &sketch, Breakdown *breakdown) {
  if (!candidate.set(priced, splits) || !makeSketch(candidate, sketch)) {
    return std::numeric_limits<double>::infinity();
  }
  doubleBuffers(sketch, priced.device);
  const arch::Timing &timing = priced.device.timing;
  return runSketch(sketch, timing, breakdown) + overheadCycles(timing);
}

void KernelPricer::price(std::span<const int32_t> splits, std::span<double> nanoseconds) const {
  const size_t count = dims();
  const double clock = state->priced.device.timing.clockGhz;
  Candidate candidate;
  Sketch sketch;
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    nanoseconds[i] =
        cyclesOf(state->priced, splits.subspan(i * count, count), candidate, sketch, nullptr) /
        clock;
  }
}

Breakdown KernelPricer::explain(std::span<const int32_t> splits) const {
  Breakdown breakdown;
  Candidate candidate;
  Sketch sketch;
  breakdown.totalCycles = cyclesOf(state->priced, splits, candidate, sketch, &breakdown);
  breakdown.overheadCycles = overheadCycles(state->priced.device.timing);
  for (size_t i = 0; i < sketch.loops; ++i) {
    breakdown.tiles *= double(sketch.table.axis[sketch.loop[i]].trips());
  }
  struct Part {
    const char *name;
    double cycles;
  };
  const Part parts[] = {{"overhead", breakdown.overheadCycles},
                        {"latency", breakdown.ddrLatencyCycles},
                        {"ddr", breakdown.ddrCycles},
                        {"lx", breakdown.lxCycles},
                        {"ring", breakdown.ringCycles},
                        {"pt fill", breakdown.ptFillCycles},
                        {"pt", breakdown.ptCycles},
                        {"sfp", breakdown.sfpCycles}};
  const Part *most =
      std::max_element(std::begin(parts), std::end(parts),
                       [](const Part &a, const Part &b) { return a.cycles < b.cycles; });
  breakdown.bound = most->name;
  return breakdown;
}

double launchNanoseconds(const arch::DeviceDesc &device) {
  return (device.timing.launchOverheadCycles + device.timing.bundleOverheadCycles) /
         device.timing.clockGhz;
}

} // namespace spyre::costmodel
