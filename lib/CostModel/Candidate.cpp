//===- Candidate.cpp - slices, strides and rates of one division ----------------------------===//
#include "Candidate.h"

#include "spyre/Base/Math.h"
#include "spyre/CostModel/Rates.h"

#include <algorithm>
#include <cstdlib>

namespace spyre::costmodel {

using program::Unit;

PricedKernel prepare(Kernel moved, const arch::DeviceDesc &device) {
  PricedKernel priced;
  priced.kernel = std::move(moved);
  const Kernel &kernel = priced.kernel;
  priced.device = &device;
  priced.tensors = kernel.inputs.size() + 1;
  for (size_t t = 0; t < priced.allTensors(); ++t) {
    priced.perStick[t].fill(1);
    int64_t stride = kStickBytes;
    for (const HeldDim &held : priced.tensor(t).dims) {
      auto dim = size_t(held.dim);
      priced.held[t] |= 1u << dim;
      priced.perStick[t][dim] = held.perStick;
      priced.ddrStride[t][dim] = stride;
      stride *= std::max<int64_t>(ceilDiv(kernel.dims[dim] + held.gap, held.perStick), 1);
    }
    priced.moves[t] = priced.held[t];
    for (size_t w = 0; t == 0 && w < 2; ++w) {
      priced.moves[t] |= kernel.window.pixel[w] < 0 ? 0 : 1u << kernel.window.pixel[w];
    }
  }
  for (size_t d = 0; d < kernel.dims.size(); ++d) {
    priced.coreOrder[d] = uint8_t(kernel.coreOrder.empty() ? d : size_t(kernel.coreOrder[d]));
  }
  return priced;
}

//===- Transfers ----------------------------------------------------------------------------===//

int64_t Candidate::readersOf(size_t tensor) const {
  int64_t readers = 1;
  for (size_t d = 0; d < priced->kernel.dims.size(); ++d) {
    readers *= moves(tensor, d) ? split[d] : 1;
  }
  return readers;
}

/// \p reads cores ask, of which a port has \p port and a core \p core parts.
static TransferRates::Way wayOf(double reads, double port, double core,
                                const arch::Timing &timing) {
  TransferRates::Way way;
  way.reads = reads;
  way.chipPerByte = reads * (1 + (reads - 1) * timing.ddrStreamLoss) / timing.ddrBytesPerCycle;
  way.portPerByte = port / timing.ddrPortBytesPerCycle;
  way.corePerByte = core / timing.ddrCoreBytesPerCycle;
  way.latency = timing.ddrLatencyCycles;
  return way;
}

/// \p withoutLast: only cores without the last slice of the reduced dim load.
static TransferRates loadRates(const Candidate &candidate, size_t tensor,
                               bool withoutLast = false) {
  const PricedKernel &priced = *candidate.priced;
  const arch::Timing &timing = priced.device->timing;
  const int64_t slices = withoutLast ? candidate.reducedSlices() : 1;
  const int64_t loading = slices > 1 ? candidate.cores / slices * (slices - 1) : candidate.cores;
  auto cores = double(loading);
  double port = std::min(double(priced.device->ddrCoresPerPort), double(candidate.cores));
  if (slices > 1) {
    int64_t step = candidate.coreStride[size_t(priced.kernel.reducedDim)], last = 0;
    for (int64_t core = 0; core < int64_t(port); ++core) {
      last += core / step % slices == slices - 1;
    }
    port -= double(last);
  }
  TransferRates rates;
  rates.cores = cores;
  rates.alone = wayOf(cores, port, 1, timing);
  int64_t readers = candidate.readersOf(tensor);
  if (readers == candidate.cores) {
    return rates;
  }
  readers = slices > 1 ? readers / slices * (slices - 1) : readers;
  int64_t apart = 0;
  for (size_t d = 0; d < priced.kernel.dims.size(); ++d) {
    apart += candidate.moves(tensor, d) ? 0 : (candidate.split[d] - 1) * candidate.coreStride[d];
  }
  double hops = double(std::min(apart, priced.device->cores / 2)) * timing.ringHopCycles;
  double part = double(readers) / cores;
  rates.together = wayOf(double(readers), port * part, part, timing);
  rates.together.ringPerByte = 1 / timing.ringBytesPerCycle;
  rates.together.latency += hops;
  double gain = loadCycles(1, loading, loading, *priced.device) -
                (groupLoadCycles(1, readers, loading, 0, *priced.device) - 1);
  rates.togetherFromBytes = gain > 0 ? (hops + 1) / gain : -1;
  return rates;
}

/// Only the roots of a split reduction store.
static TransferRates storeRates(const Candidate &candidate) {
  const PricedKernel &priced = *candidate.priced;
  int64_t slices = candidate.reducedSlices();
  int64_t port = std::min(priced.device->ddrCoresPerPort, candidate.cores);
  if (slices > 1) {
    int64_t step = candidate.coreStride[size_t(priced.kernel.reducedDim)], roots = 0;
    for (int64_t core = 0; core < port; ++core) {
      roots += core / step % slices == 0;
    }
    port = roots;
  }
  TransferRates rates;
  rates.cores = double(candidate.roots);
  rates.alone = wayOf(rates.cores, double(port), 1, priced.device->timing);
  return rates;
}

//===- Division -----------------------------------------------------------------------------===//

static void lxStrides(const PricedKernel &priced, size_t t, const Candidate &candidate,
                      Strides &stride) {
  stride.fill(0);
  int64_t bytes = kStickBytes;
  for (const HeldDim &held : priced.tensor(t).dims) {
    auto dim = size_t(held.dim);
    stride[dim] = bytes;
    bytes *= std::max<int64_t>(ceilDiv(candidate.perCore[dim] + held.gap, held.perStick), 1);
  }
}

bool Candidate::set(const PricedKernel &kernel, std::span<const int32_t> splits) {
  priced = &kernel;
  const size_t dims = kernel.kernel.dims.size();
  cores = 1;
  for (size_t d = 0; d < dims; ++d) {
    split[d] = splits[d];
    if (split[d] < 1 || kernel.kernel.dims[d] % split[d] != 0) {
      return false;
    }
    perCore[d] = split[d] == 1 ? kernel.kernel.dims[d] : kernel.kernel.dims[d] / split[d];
    cores *= split[d];
  }
  if (cores > kernel.device->cores) {
    return false;
  }
  int64_t step = 1;
  for (size_t i = 0; i < dims; ++i) {
    size_t d = kernel.coreOrder[i];
    coreStride[d] = step;
    step *= split[d];
  }
  roots = cores / reducedSlices();
  for (size_t t = 0; t < kernel.allTensors(); ++t) {
    const KernelTensor &tensor = kernel.tensor(t);
    for (const HeldDim &held : tensor.dims) {
      const int64_t each = perCore[size_t(held.dim)];
      // Cores may share a stick of indices, if none of them has more.
      const bool sharesStick =
          t >= kernel.tensors && (split[size_t(held.dim)] == 1 || each < held.perStick);
      if (held.perStick > 1 && each % held.perStick != 0 && !sharesStick) {
        return false;
      }
    }
    if (tensor.inLx) {
      lxStrides(kernel, t, *this, stride[t]);
    } else {
      stride[t] = kernel.ddrStride[t];
      rates[t] = t + 1 == kernel.tensors ? storeRates(*this) : loadRates(*this, t);
    }
  }
  const bool splitsMask = kernel.kernel.maskedElements > 0 && reducedSlices() > 1;
  if (splitsMask && kernel.kernel.inputs.size() > 1 && !kernel.tensor(1).inLx) {
    fewerRates = loadRates(*this, 1, true);
  }
  return true;
}

//===- Parts of sketches --------------------------------------------------------------------===//

int64_t outputSteps(const Candidate &candidate, size_t dim) {
  const PricedKernel &priced = *candidate.priced;
  return int(dim) == priced.kernel.stickDim ? candidate.perCore[dim] / priced.lanes()
                                            : candidate.perCore[dim];
}

SketchStep &addLoad(const Candidate &candidate, Sketch &sketch, size_t tensor, size_t place,
                    size_t depth, uint16_t buffer) {
  SketchStep &load = sketch.add(Work::Transfer, Unit::Load, depth);
  load.rates = &candidate.rates[tensor];
  load.scattered = candidate.priced->tensor(tensor).indices >= 0;
  load.writes = buffer;
  sketch.addLevels(load, place, true);
  return load;
}

SketchStep &addLanes(const Candidate &candidate, Sketch &sketch, size_t place, size_t depth,
                     double factor, int64_t lxBytes) {
  const PricedKernel &priced = *candidate.priced;
  SketchStep &lanes = sketch.add(Work::Lanes, Unit::Vector, depth);
  lanes.cycles = double(priced.lanes()) * factor / priced.device->timing.sfpLanesPerCycle;
  lanes.lxBytes = double(lxBytes);
  sketch.addLevels(lanes, place, false);
  return lanes;
}

static int64_t hopsBetween(int64_t a, int64_t b, int64_t cores) {
  int64_t apart = std::abs(a - b);
  return std::min(apart, cores - apart);
}

/// Transfers over the fullest link when every root takes slice \p slice.
static double linkTransfers(const Candidate &candidate, int64_t slice, int64_t &hops) {
  const PricedKernel &priced = *candidate.priced;
  int64_t ring = priced.device->cores,
          step = candidate.coreStride[size_t(priced.kernel.reducedDim)];
  int64_t slices = candidate.reducedSlices();
  hops = hopsBetween(0, slice * step, ring);
  constexpr size_t kMaxRing = 256;
  if (step == 1 || size_t(ring) > kMaxRing) {
    return double(step);
  }
  // Ways begin and end at all cores of a block of `step`, and blocks follow each other: count how
  // many cover each link.
  std::array<int16_t, kMaxRing> change{};
  const bool isShort = slice * step == hops;
  int64_t most = 0, covered = 0;
  for (int64_t root = 0; root < candidate.cores; ++root) {
    if (root / step % slices == 0) {
      int64_t begin = isShort ? root : (root + slice * step) % ring;
      int64_t end = begin + hops;
      ++change[size_t(begin)];
      if (end < ring) {
        --change[size_t(end)];
      } else {
        ++change[0];
        --change[size_t(end - ring)];
      }
    }
  }
  for (int64_t link = 0; link < ring; ++link) {
    covered += change[size_t(link)];
    most = std::max(most, covered);
  }
  return double(most);
}

void addCombine(const Candidate &candidate, Sketch &sketch, size_t place, size_t depth,
                int64_t accBytes, uint16_t buffer) {
  int64_t slices = candidate.reducedSlices();
  double ways = 0, hopSum = 0, lastHops = 0;
  for (int64_t slice = 1; slice < slices; ++slice) {
    int64_t hops = 0;
    ways += linkTransfers(candidate, slice, hops);
    lastHops = double(hops);
    hopSum += lastHops;
  }
  if (slices > 1) {
    // They follow each other on one unit: one step with the sum of their times.
    SketchStep &exchange = sketch.add(Work::Exchange, Unit::Ring, depth);
    exchange.leaving = true;
    exchange.reads = exchange.writes = buffer;
    exchange.linkTransfers = ways;
    exchange.hops = hopSum;
    exchange.lastHops = lastHops;
    sketch.addLevels(exchange, place, false);
    exchange.addLevel(-1, 0, accBytes / kStickBytes);
  }
}

void addLoops(Sketch &sketch, size_t place) {
  std::array<uint8_t, kMaxAxes> order;
  sketch.table.innerFirst(place, order);
  sketch.loops = 0;
  for (size_t i = sketch.table.axes; i-- > 0;) {
    if (sketch.table.axis[order[i]].tiled() && sketch.table.depends(place, order[i])) {
      sketch.loop[sketch.loops++] = order[i];
    }
  }
}

} // namespace spyre::costmodel
