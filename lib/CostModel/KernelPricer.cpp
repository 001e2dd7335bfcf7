//===- KernelPricer.cpp - from a batch of divisions to their times --------------------------===//
#include "spyre/CostModel/KernelPricer.h"

#include "Candidate.h"
#include "PriceBound.h"
#include "TileClock.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spyre::costmodel {

struct KernelPricer::State {
  State(Kernel kernel, const arch::DeviceDesc &device)
      : priced(prepare(std::move(kernel), device)), bound(priced) {}
  PricedKernel priced;
  PriceBound bound;
};

KernelPricer::KernelPricer(std::unique_ptr<State> state) : state(std::move(state)) {}
KernelPricer::~KernelPricer() = default;
KernelPricer::KernelPricer(KernelPricer &&) noexcept = default;
KernelPricer &KernelPricer::operator=(KernelPricer &&) noexcept = default;

Expected<KernelPricer> KernelPricer::create(Kernel kernel, const arch::DeviceDesc &device) {
  SPYRE_RETURN_IF_ERROR(checkKernel(kernel));
  return KernelPricer(std::make_unique<State>(std::move(kernel), device));
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
  doubleBuffers(sketch, *priced.device);
  const arch::Timing &timing = priced.device->timing;
  return runSketch(sketch, timing, breakdown) + overheadCycles(timing);
}

void KernelPricer::price(std::span<const int32_t> splits, std::span<double> nanoseconds) const {
  const size_t count = dims();
  const double clock = state->priced.device->timing.clockGhz;
  Candidate candidate;
  Sketch sketch;
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    nanoseconds[i] =
        cyclesOf(state->priced, splits.subspan(i * count, count), candidate, sketch, nullptr) /
        clock;
  }
}

void KernelPricer::lowerBounds(std::span<const int32_t> splits,
                               std::span<double> nanoseconds) const {
  const arch::Timing &timing = state->priced.device->timing;
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    double cycles = state->bound.nearerCycles(splits.data() + i * dims(), 0x1p1000);
    nanoseconds[i] = (cycles + overheadCycles(timing)) / timing.clockGhz;
  }
}

namespace {
struct Bounded {
  /// What comes first; the bound itself where all that may be cheaper are priced.
  double order, nanoseconds;
  size_t candidate;
  /// By the nearer of the bounds.
  bool isNear = false;
};
/// Of heaps with the first on top, of equals the first candidate.
bool isLater(const Bounded &a, const Bounded &b) {
  return a.order != b.order ? a.order > b.order : a.candidate > b.candidate;
}
} // namespace

BestPrice KernelPricer::priceBest(std::span<const int32_t> splits, double slack, size_t mostPriced,
                                  size_t first) const {
  const size_t width = dims(), count = splits.size() / width;
  const arch::Timing &timing = state->priced.device->timing;
  const bool isLimited = mostPriced < count;
  std::array<Bounded, 128> few;
  std::vector<Bounded> many(count > few.size() ? count : 0);
  std::span<Bounded> heap(count > few.size() ? many.data() : few.data(), count);
  for (size_t i = 0; i < count; ++i) {
    const PriceBound::Bound bound = state->bound.boundOf(splits.data() + i * width);
    const double least = (bound.least + overheadCycles(timing)) / timing.clockGhz;
    heap[i] = {isLimited ? bound.likely : least, least, i, false};
  }
  std::make_heap(heap.begin(), heap.end(), isLater);
  BestPrice best;
  Candidate candidate;
  Sketch sketch;
  auto priceOne = [&](size_t i) {
    const double price =
        cyclesOf(state->priced, splits.subspan(i * width, width), candidate, sketch, nullptr) /
        timing.clockGhz;
    // Those that the back end refuses tell nothing.
    best.priced += std::isfinite(price) || !isLimited ? 1 : 0;
    if (price < best.nanoseconds || (price == best.nanoseconds && i < best.candidate)) {
      best.nanoseconds = price;
      best.candidate = i;
    }
    return price;
  };
  if (first < count) {
    best.firstNanoseconds = priceOne(first);
    mostPriced += isLimited && best.priced > 0 ? 1 : 0;
  }
  while (!heap.empty() && best.priced < mostPriced && std::isfinite(heap.front().order)) {
    const Bounded next = heap.front();
    // One that costs the same and comes first wins.
    const double limit = best.nanoseconds * (1 - slack);
    std::pop_heap(heap.begin(), heap.end(), isLater);
    const bool mayBeLess = next.nanoseconds <= limit;
    if (!isLimited && !next.isNear && mayBeLess && state->bound.hasNearer() && best.priced > 0) {
      double cycles = state->bound.nearerCycles(splits.data() + next.candidate * width,
                                                limit * timing.clockGhz);
      const double nearer = (cycles + overheadCycles(timing)) / timing.clockGhz;
      heap.back() = {nearer, nearer, next.candidate, true};
      std::push_heap(heap.begin(), heap.end(), isLater);
      continue;
    }
    heap = heap.first(heap.size() - 1);
    if (next.nanoseconds > limit ||
        (next.nanoseconds == limit && next.candidate > best.candidate)) {
      if (isLimited) {
        continue;
      }
      break;
    }
    if (next.candidate != first) {
      priceOne(next.candidate);
    }
  }
  return best;
}

Breakdown KernelPricer::explain(std::span<const int32_t> splits) const {
  Breakdown breakdown;
  Candidate candidate;
  Sketch sketch;
  breakdown.totalCycles = cyclesOf(state->priced, splits, candidate, sketch, &breakdown);
  breakdown.overheadCycles = overheadCycles(state->priced.device->timing);
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
