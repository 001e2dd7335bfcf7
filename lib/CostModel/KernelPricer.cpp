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

static bool makeSketch(const PricedKernel &priced, std::span<const int32_t> splits,
                       Candidate &candidate, Sketch &sketch) {
  if (!candidate.set(priced, splits) || !makeSketch(candidate, sketch)) {
    return false;
  }
  doubleBuffers(sketch, *priced.device);
  return true;
}

/// \p enough: as for runSketch().
static double cyclesOf(const PricedKernel &priced, std::span<const int32_t> splits,
                       Candidate &candidate, Sketch &sketch, Breakdown *breakdown,
                       double enough = std::numeric_limits<double>::infinity()) {
  if (!makeSketch(priced, splits, candidate, sketch)) {
    return std::numeric_limits<double>::infinity();
  }
  const arch::Timing &timing = priced.device->timing;
  const double overhead = overheadCycles(timing);
  return runSketch(sketch, timing, breakdown, enough - overhead) + overhead;
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

void KernelPricer::workBounds(std::span<const int32_t> splits,
                              std::span<double> nanoseconds) const {
  const arch::Timing &timing = state->priced.device->timing;
  Candidate candidate;
  Sketch sketch;
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    const std::span<const int32_t> one = splits.subspan(i * dims(), dims());
    const double cycles = makeSketch(state->priced, one, candidate, sketch)
                              ? leastCycles(sketch, timing)
                              : std::numeric_limits<double>::infinity();
    nanoseconds[i] = (cycles + overheadCycles(timing)) / timing.clockGhz;
  }
}

namespace {

struct Bounded {
  double nanoseconds, likely;
  size_t candidate;
  /// By the nearer of the bounds.
  bool isNear = false;
  bool isPriced = false;
};

/// Of heaps with the least bound on top, of equals the first candidate.
bool isLater(const Bounded &a, const Bounded &b) {
  return a.nanoseconds != b.nanoseconds ? a.nanoseconds > b.nanoseconds : a.candidate > b.candidate;
}

/// One search for the cheapest of a batch.
class Cheapest {
public:
  Cheapest(const PricedKernel &priced, const PriceBound &bound, std::span<const int32_t> splits,
           double slack)
      : priced(priced), bound(bound), splits(splits), slack(slack),
        width(priced.kernel.dims.size()), overhead(overheadCycles(priced.device->timing)),
        clockGhz(priced.device->timing.clockGhz) {
    const size_t count = splits.size() / width;
    many.resize(count > few.size() ? count : 0);
    heap = std::span(count > few.size() ? many.data() : few.data(), count);
    for (size_t i = 0; i < count; ++i) {
      const PriceBound::Bound of = bound.boundOf(splits.data() + i * width);
      heap[i] = {nanoseconds(of.least), of.likely, i};
    }
  }

  BestPrice run(size_t likely, size_t first) {
    if (first < heap.size()) {
      best.firstNanoseconds = price(heap[first]);
    }
    priceLikely(likely);
    std::make_heap(heap.begin(), heap.end(), isLater);
    while (!heap.empty() && std::isfinite(heap.front().nanoseconds) && !isProven(heap.front())) {
      std::pop_heap(heap.begin(), heap.end(), isLater);
      Bounded &next = heap.back();
      if (!next.isNear && !next.isPriced && bound.hasNearer() && best.priced > 0) {
        next.nanoseconds = nearer(next);
        next.isNear = true;
        std::push_heap(heap.begin(), heap.end(), isLater);
        continue;
      }
      if (!next.isPriced) {
        price(next);
      }
      heap = heap.first(heap.size() - 1);
    }
    best.leastNanoseconds =
        heap.empty() ? best.nanoseconds : std::min(best.nanoseconds, heap.front().nanoseconds);
    return best;
  }

private:
  double nanoseconds(double cycles) const { return (cycles + overhead) / clockGhz; }
  std::span<const int32_t> splitsOf(const Bounded &of) const {
    return splits.subspan(of.candidate * width, width);
  }
  double limit() const { return best.nanoseconds * (1 - slack); }

  /// Neither \p least nor any behind it is cheaper; one that costs the same and comes first is.
  bool isProven(const Bounded &least) const {
    return least.nanoseconds > limit() ||
           (least.nanoseconds == limit() && least.candidate > best.candidate);
  }

  double nearer(const Bounded &of) const {
    return nanoseconds(bound.nearerCycles(splitsOf(of).data(), limit() * clockGhz));
  }

  /// Where it is above the best so far, nobody asks by how much.
  double price(Bounded &of) {
    of.isPriced = true;
    const double enough = best.nanoseconds * clockGhz;
    const double found =
        cyclesOf(priced, splitsOf(of), candidate, sketch, nullptr, enough) / clockGhz;
    best.priced += 1;
    if (found < best.nanoseconds || (found == best.nanoseconds && of.candidate < best.candidate)) {
      best.nanoseconds = found;
      best.candidate = of.candidate;
    }
    return found;
  }

  /// Those that the back end refuses tell nothing and do not count.
  void priceLikely(size_t count) {
    while (count > 0) {
      Bounded *next = nullptr;
      for (Bounded &each : heap) {
        const bool isHopeless = each.isPriced || !std::isfinite(each.likely) || isProven(each);
        if (!isHopeless && (next == nullptr || each.likely < next->likely)) {
          next = &each;
        }
      }
      if (next == nullptr) {
        return;
      }
      count -= std::isfinite(price(*next)) ? 1 : 0;
    }
  }

  const PricedKernel &priced;
  const PriceBound &bound;
  std::span<const int32_t> splits;
  double slack;
  size_t width;
  double overhead, clockGhz;
  std::array<Bounded, 128> few;
  std::vector<Bounded> many;
  std::span<Bounded> heap;
  Candidate candidate;
  Sketch sketch;
  BestPrice best;
};

} // namespace

BestPrice KernelPricer::priceBest(std::span<const int32_t> splits, double slack, size_t likely,
                                  size_t first) const {
  return Cheapest(state->priced, state->bound, splits, slack).run(likely, first);
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
