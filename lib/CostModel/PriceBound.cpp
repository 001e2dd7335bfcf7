//===- PriceBound.cpp - rooflines of divisions ----------------------------------------------===//
#include "PriceBound.h"

#include "spyre/Base/Math.h"
#include "spyre/Program/Program.h"

#include "TileClock.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace spyre::costmodel {

/// Instructions have at least so many levels for tiles; more dims may become loops.
static constexpr size_t kTileDims = 4;

//===- What does not depend on the division -------------------------------------------------===//

PriceBound::PriceBound(const PricedKernel &priced) {
  const Kernel &kernel = priced.kernel;
  const arch::Timing &timing = priced.device->timing;
  dims = kernel.dims.size();
  reducedDim = kernel.reducedDim;
  splitsMask = kernel.maskedElements > 0;
  for (size_t d = 0; d < dims; ++d) {
    size[d] = double(kernel.dims[d]);
    coreOrder[d] = priced.coreOrder[d];
  }
  streamLoss = timing.ddrStreamLoss;
  perDdrByte = 1 / timing.ddrBytesPerCycle;
  perPortByte = 1 / timing.ddrPortBytesPerCycle;
  perCoreByte = 1 / timing.ddrCoreBytesPerCycle;
  perRingByte = 1 / timing.ringBytesPerCycle;
  perRequest = timing.ddrRequestCycles;
  coresPerPort = double(priced.device->ddrCoresPerPort);
  deviceCores = double(priced.device->cores);
  turnPerByte = timing.ddrTurnaroundCycles / arch::kDdrWriteBatchBytes;
  hopCycles = timing.ringRunCycles;
  latency = timing.ddrLatencyCycles;
  lxBytesPerCycle = timing.lxBytesPerCycle;
  addTransfers(priced);
  addTurns(priced);
  addVectorWork(priced);
  addProducts(priced);
  addWindow(priced);
  addStaging(priced);
}

static bool isWindow(const Kernel &kernel) {
  return kernel.kernelClass == KernelClass::Window ||
         kernel.kernelClass == KernelClass::Convolution;
}

/// Where not even a block fits, a restickify goes through parts of it, counted on average.
static bool goesInParts(const PricedKernel &priced) {
  return priced.kernel.kernelClass == KernelClass::Restickify &&
         2 * priced.lanes() * kStickBytes > priced.device->lxStagingBytes();
}

/// Blocks of a restickify walk its two sides; tiles of a matmul have one step along batches.
static unsigned dimsOfTransfers(const PricedKernel &priced) {
  const Kernel &kernel = priced.kernel;
  const unsigned sides = 1u << kernel.stickDim | 1u << kernel.inputStickDim;
  if (kernel.kernelClass == KernelClass::Restickify) {
    return sides;
  }
  return kernel.kernelClass == KernelClass::Matmul ? ~priced.held[1] | sides : ~0u;
}

PriceBound::Range PriceBound::rangeOf(const PricedKernel &priced, size_t t) {
  Range range;
  switch (priced.kernel.kernelClass) {
  case KernelClass::Pointwise:
  case KernelClass::Copy:
  case KernelClass::Restickify:
  case KernelClass::StickReduction:
  case KernelClass::NonStickReduction:
  case KernelClass::Matmul:
    break;
  default:
    return range;
  }
  const KernelTensor &tensor = priced.tensor(t);
  const unsigned walked = dimsOfTransfers(priced);
  range.isKnown = tensor.indices < 0 && !tensor.arrives;
  for (const HeldDim &held : tensor.dims) {
    auto d = size_t(held.dim);
    if ((walked >> d & 1) != 0) {
      // Where the last elements do not exist, a part of a dim may be all of it.
      const int64_t most = std::max<int64_t>(priced.kernel.dims[d] + held.gap, 1);
      range.level[range.count++] = {uint8_t(d), double(held.perStick),
                                    double(priced.ddrStride[t][d]),
                                    double(ceilDiv(most, held.perStick))};
    }
  }
  return range;
}

void PriceBound::addTransfers(const PricedKernel &priced) {
  const Kernel &kernel = priced.kernel;
  const bool isProduct =
      kernel.kernelClass == KernelClass::Matmul || kernel.kernelClass == KernelClass::Convolution;
  const bool isRestickify = kernel.kernelClass == KernelClass::Restickify;
  unsigned checked = 0;
  for (size_t t = 0; t < priced.tensors; ++t) {
    const KernelTensor &tensor = priced.tensor(t);
    Steps sticks;
    for (const HeldDim &held : tensor.dims) {
      auto d = size_t(held.dim);
      if (held.perStick > 1 && (checked >> d & 1) == 0) {
        checked |= 1u << d;
        whole.add(d, double(held.perStick));
      }
      double perStep = double(held.perStick);
      // Of a restickify each tensor has its own sticks.
      const bool inLanes = held.dim == kernel.stickDim && !isRestickify;
      perStep = inLanes ? std::max(perStep, double(priced.lanes())) : perStep;
      bool masked = isProduct && t == 1 && held.dim == kernel.reducedDim;
      // Rows that the mask leaves out may be those that the tensor lacks.
      double less =
          double(std::max<int64_t>({-held.gap, masked ? kernel.maskedElements : 0, int64_t(0)}));
      // The results of a topk are as many as the kernel says, whatever the dim is.
      bool isList = kernel.kernelClass == KernelClass::TopK && !(priced.held[0] >> d & 1);
      if (!isList) {
        sticks.add(d, perStep, less);
      }
    }
    if (tensor.inLx) {
      continue;
    }
    if (t == priced.output()) {
      hasStore = !goesInParts(priced);
      store = sticks;
      storeRange = rangeOf(priced, t);
      continue;
    }
    hasLoad = true;
    // Windows meet in elements that are loaded once.
    knowsLoads &= !isWindow(kernel) && !goesInParts(priced) && tensor.indices < 0;
    if (!(isWindow(kernel) && t == 0) && !goesInParts(priced)) {
      load[loads++] = {sticks, rangeOf(priced, t), priced.moves[t], splitsMask && t == 1};
    }
  }
}

static bool lacksElements(const KernelTensor &tensor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(),
                     [](const HeldDim &held) { return held.gap < 0; });
}

/// Where an input has all dims of the output, its tile is loaded before the result is stored: the
/// bus turns for every byte of the result.
void PriceBound::addTurns(const PricedKernel &priced) {
  switch (priced.kernel.kernelClass) {
  case KernelClass::Pointwise:
  case KernelClass::Copy:
  case KernelClass::Conversion:
  case KernelClass::Restickify:
  case KernelClass::Scan:
    break;
  default:
    return;
  }
  for (size_t t = 0, l = 0; hasStore && t < priced.output(); ++t) {
    const KernelTensor &tensor = priced.tensor(t);
    // The last blocks of a padded restickify load less than they store: later loads turn the bus.
    if (lacksElements(tensor)) {
      return;
    }
    if (tensor.inLx) {
      continue;
    }
    unsigned result = priced.held[priced.output()];
    if (tensor.indices < 0 && (priced.held[t] & result) == result && l < loads) {
      turnsBehind = int(l);
      return;
    }
    ++l;
  }
}

PriceBound::Steps PriceBound::resultSteps(const PricedKernel &priced) const {
  Steps steps;
  for (size_t d = 0; d < dims; ++d) {
    bool isList = priced.kernel.kernelClass == KernelClass::TopK && !(priced.held[0] >> d & 1);
    if ((priced.held[priced.output()] >> d & 1) != 0 && !isList) {
      steps.add(d, int(d) == priced.kernel.stickDim ? double(priced.lanes()) : 1);
    }
  }
  return steps;
}

double PriceBound::perPoint(double workCyclesPerPoint, double lxBytes) const {
  return std::max(workCyclesPerPoint, lxBytes / lxBytesPerCycle);
}

void PriceBound::addVectorWork(const PricedKernel &priced) {
  const Kernel &kernel = priced.kernel;
  const arch::Timing &timing = priced.device->timing;
  const double stick = double(priced.lanes()) / timing.sfpLanesPerCycle;
  const double reduce = stick * timing.sfpReductionFactor;
  const auto accBytes = double(program::accBytes(kernel.format));
  const double finish = perPoint(reduce, accBytes + kStickBytes);
  work = results = resultSteps(priced);
  switch (kernel.kernelClass) {
  case KernelClass::Pointwise: {
    auto operands = double(kernel.vectorOperands > 0 ? kernel.vectorOperands : priced.tensors);
    workCycles = perPoint(stick * (kernel.transcendental ? timing.sfpTranscendentalFactor : 1),
                          operands * kStickBytes);
    break;
  }
  case KernelClass::StickReduction:
  case KernelClass::NonStickReduction: {
    const bool overStick =
        kernel.kernelClass == KernelClass::StickReduction && !kernel.inputs[0].sparse;
    if (kernel.reducedDim >= 0) {
      work.add(size_t(kernel.reducedDim), overStick ? double(priced.lanes()) : 1);
    }
    workCycles = double(kernel.values) * perPoint(reduce, kStickBytes + 2 * accBytes);
    resultCycles = double(kernel.values) * finish;
    ringBytesPerResult = accBytes;
    exchanges = double(kernel.values);
    break;
  }
  case KernelClass::TopK:
    if (kernel.reducedDim >= 0) {
      work.add(size_t(kernel.reducedDim), 1);
    }
    workCycles =
        perPoint(stick * double(kernel.topK), kStickBytes + 4 * double(kernel.topK) * accBytes);
    break;
  case KernelClass::Scan:
    workCycles = perPoint(stick, 3 * kStickBytes);
    break;
  case KernelClass::Conversion: {
    work = {};
    for (size_t d = 0; d < dims; ++d) {
      if (priced.held[1] >> d & 1) {
        work.add(d, double(std::max(priced.perStick[0][d], priced.perStick[1][d])));
      }
    }
    int64_t lanes = std::max(numerics::elemsPerStick(kernel.inputs[0].format),
                             numerics::elemsPerStick(kernel.output.format));
    workCycles = perPoint(double(lanes) / timing.sfpLanesPerCycle, 2 * kStickBytes);
    break;
  }
  case KernelClass::Matmul:
    workCycles = finish;
    ringBytesPerResult = double(program::kMatmulAccBytes);
    break;
  case KernelClass::Convolution:
    workCycles = finish;
    ringBytesPerResult = double(program::kMatmulAccBytes);
    break;
  case KernelClass::Restickify:
  case KernelClass::Window:
  case KernelClass::Copy:
    break;
  }
}

void PriceBound::addProducts(const PricedKernel &priced) {
  const Kernel &kernel = priced.kernel;
  const arch::Timing &timing = priced.device->timing;
  constexpr double kBlock = double(program::kMatmulBlock);
  rowCycles = kBlock * kBlock / timing.ptMacsPerCycle;
  fillCycles = kBlock * kStickBytes / timing.ptFillBytesPerCycle;
  if (kernel.kernelClass != KernelClass::Matmul) {
    return;
  }
  multiplies = true;
  const auto kDim = size_t(kernel.inputStickDim), nDim = size_t(kernel.stickDim);
  blocks.add(nDim, double(priced.lanes()));
  blocks.add(kDim, double(priced.perStick[0][kDim]));
  hasTiles = loads == 2;
  int64_t rowDims = 0;
  for (size_t d = 0; d < dims; ++d) {
    if (d != kDim && d != nDim) {
      const bool isRow = (priced.held[1] >> d & 1) == 0;
      (isRow ? rows : blocks).add(d, 1);
      rowDims += isRow && kernel.dims[d] > 1;
      hasTiles &= !isRow || (priced.held[0] & priced.held[2] & 1u << d) != 0;
    }
  }
  hasOneRow = rowDims <= 1;
  columns.add(nDim, double(priced.lanes()));
  depth.add(kDim, double(priced.perStick[0][kDim]));
  matmulRoom = double(priced.device->lxStagingBytes());
}

void PriceBound::addWindow(const PricedKernel &priced) {
  const Kernel &kernel = priced.kernel;
  const KernelWindow &window = kernel.window;
  const arch::Timing &timing = priced.device->timing;
  const auto lanes = double(priced.lanes());
  auto addTo = [&](Steps &steps, int dim, double perStep) {
    if (dim >= 0) {
      steps.add(size_t(dim), perStep);
    }
  };
  if (kernel.kernelClass == KernelClass::Convolution) {
    multiplies = true;
    addTo(blocks, window.channels, lanes);
    addTo(blocks, window.inChannels, lanes);
    for (size_t w = 0; w < 2; ++w) {
      addTo(blocks, window.element[w], 1);
      addTo(rows, window.pixel[w], 1);
    }
    addTo(rows, window.batch, 1);
  }
  if (kernel.kernelClass == KernelClass::Window) {
    for (int element : window.element) {
      addTo(work, element, 1);
    }
    double cycles = window.depthwise ? 32 : lanes * timing.sfpReductionFactor;
    workCycles = perPoint(cycles / timing.sfpLanesPerCycle, kStickBytes);
  }
}

/// Bytes that one tile of everything needs, for kernels whose tiles grow until LX is full.
void PriceBound::addStaging(const PricedKernel &priced) {
  const Kernel &kernel = priced.kernel;
  auto accBytes = double(program::accBytes(kernel.format));
  switch (kernel.kernelClass) {
  case KernelClass::Pointwise:
  case KernelClass::Copy:
    inputStaging = resultStaging = kStickBytes;
    break;
  case KernelClass::StickReduction:
  case KernelClass::NonStickReduction:
    inputStaging = kStickBytes;
    resultStaging = double(kernel.values) * (accBytes + kStickBytes) + kStickBytes;
    break;
  default:
    return;
  }
  size_t longDims = 0;
  for (size_t d = 0; d < dims; ++d) {
    longDims += kernel.dims[d] > 1;
  }
  if (longDims > kTileDims || !kernel.indices.empty() || !kernel.overlaps) {
    return;
  }
  for (size_t t = 0; t < priced.tensors; ++t) {
    for (const HeldDim &held : priced.tensor(t).dims) {
      bool isStick = held.dim == kernel.stickDim && held.perStick == priced.lanes();
      if ((held.perStick != 1 && !isStick) || held.gap < 0) {
        return;
      }
    }
  }
  stagingRoom = double(priced.device->lxStagingBytes() / 2);
}

//===- One division -------------------------------------------------------------------------===//

static bool isWhole(double value) { return double(int64_t(value)) == value; }

bool PriceBound::setSlices(const int32_t *splits, Slices &slices) const {
  bool fits = true;
  for (size_t d = 0; d < dims; ++d) {
    slices.perCore[d] = size[d];
    if (splits[d] != 1) {
      if (splits[d] < 1) {
        return false;
      }
      slices.split |= 1u << d;
      slices.perCore[d] = size[d] / splits[d];
      slices.cores *= splits[d];
      fits &= isWhole(slices.perCore[d]);
    }
  }
  for (size_t i = 0; i < whole.count; ++i) {
    fits &= isWhole(slices.perCore[whole.factor[i].dim] * whole.factor[i].perElement);
  }
  slices.reduced = reducedDim < 0 ? 1 : splits[reducedDim];
  return fits && slices.cores <= deviceCores;
}

double PriceBound::Range::bytes(const std::array<double, kMaxKernelDims> &perCore) const {
  double bytes = kStickBytes;
  for (size_t l = 0; l < count; ++l) {
    const double steps = std::min(perCore[level[l].dim] / level[l].perStick, level[l].mostSteps);
    if (steps <= 1) {
      continue;
    }
    if (level[l].strideBytes != bytes) {
      break;
    }
    bytes *= steps;
  }
  return bytes;
}

double PriceBound::requestsPerByte(const Range &range, const Slices &slices) const {
  return range.isKnown ? perRequest / std::min(range.bytes(slices.perCore), arch::kDdrRequestBytes)
                       : 0;
}

PriceBound::Moved PriceBound::loaded(const Transfer &transfer, const int32_t *splits,
                                     const Slices &slices) const {
  double loading = slices.cores, port = std::min(coresPerPort, slices.cores), readers = 1;
  for (size_t d = 0; d < dims; ++d) {
    readers *= (transfer.moves >> d & 1) != 0 ? double(splits[d]) : 1;
  }
  const double part = readers / slices.cores;
  if (transfer.byFewer && slices.reduced > 1) {
    loading *= 1 - 1 / slices.reduced;
    port = 0;
  }
  const double requests = requestsPerByte(transfer.range, slices);
  double chip = chipPerByte(loading, requests);
  double perByte = std::max({chip, port * perPortByte, perCoreByte});
  bool isChip = chip == perByte && port > 0;
  if (part < 1) {
    chip = chipPerByte(loading * part, requests);
    const double together =
        std::max({chip, port * part * perPortByte, part * perCoreByte, perRingByte});
    isChip &= chip == together;
    perByte = std::min(perByte, together);
  }
  const double bytes = transfer.sticks.of(slices.perCore) * kStickBytes;
  return {bytes * perByte, bytes * part, isChip};
}

/// The bus turns for every byte that is written and that one was read for, however loads and stores
/// follow each other, where the chip's border is what all of them wait for.
double PriceBound::turnCycles(const Slices &slices, double readBytes, bool isChip) const {
  if (!hasStore || !knowsLoads || !isChip) {
    return 0;
  }
  const double roots = slices.cores / slices.reduced;
  const double port = std::min(coresPerPort, slices.cores) * perPortByte;
  if (chipPerByte(roots, requestsPerByte(storeRange, slices)) < std::max(port, perCoreByte)) {
    return 0;
  }
  return roots * turnPerByte * std::min(readBytes, store.of(slices.perCore) * kStickBytes);
}

double PriceBound::storeCycles(const Slices &slices, bool turns) const {
  double roots = slices.cores / slices.reduced;
  double chip = chipPerByte(roots, requestsPerByte(storeRange, slices));
  double port = slices.reduced > 1 ? 0 : std::min(coresPerPort, slices.cores);
  double busy = std::max({chip, port * perPortByte, perCoreByte});
  // The bus turns while the chip's border has nothing else to wait for.
  double turn = turns ? std::max(roots * turnPerByte - (busy - chip), 0.0) : 0;
  return store.of(slices.perCore) * kStickBytes * (busy + turn);
}

/// Partial results come over the ring, slice by slice: as many ways share a link as cores lie
/// between the slices, or as the way is long.
double PriceBound::ringCycles(const int32_t *splits, const Slices &slices) const {
  if (slices.reduced <= 1 || ringBytesPerResult == 0) {
    return 0;
  }
  double step = 1;
  for (size_t i = 0; int(coreOrder[i]) != reducedDim; ++i) {
    step *= splits[coreOrder[i]];
  }
  double ways = 0, hops = 0;
  for (double slice = 1; slice < slices.reduced; ++slice) {
    double way = std::min(slice * step, deviceCores - slice * step);
    ways += std::min(step, way);
    hops += way;
  }
  double bytes = results.of(slices.perCore) * ringBytesPerResult;
  return exchanges * (bytes * ways * perRingByte + hops * hopCycles);
}

/// Loads of both factors, \p a and \p b when each is read once. Results of a tile have to fit, so
/// whatever the tiles are, one factor is read again for each tile of the other's side; but for
/// tiles with all of k, where one of them may stay.
double PriceBound::factorCycles(double a, double b, const Slices &slices) const {
  constexpr double kBlockBytes = double(program::kMatmulBlock * kStickBytes);
  const double r = rows.of(slices.perCore), n = columns.of(slices.perCore);
  const double most = matmulRoom / double(program::kMatmulAccBytes);
  if (r * n <= most) {
    return a + b;
  }
  // Parts of tiles are better than any whole number of them.
  double tile = std::sqrt(a * n * most / (b * r));
  tile = std::clamp(tile, std::max(1.0, most / r), std::min(n, most));
  double least = a * n / tile + b * std::max(r * tile / most, 1.0);
  const double k = depth.of(slices.perCore);
  const double rowsBeside = (matmulRoom - kBlockBytes * k) / (kStickBytes * k);
  const double columnsBeside = (matmulRoom - kStickBytes * k) / (kBlockBytes * k);
  if (rowsBeside >= 1) {
    least = std::min(least, a + b * std::max(r / rowsBeside, 1.0));
  }
  if (columnsBeside >= 1) {
    least = std::min(least, b + a * std::max(n / columnsBeside, 1.0));
  }
  return least;
}

PriceBound::Bound PriceBound::boundOf(const int32_t *splits) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  constexpr double kSeldomOverlaps = 0.2;
  Slices slices;
  if (!setSlices(splits, slices)) {
    return {kNever, kNever};
  }
  double loading = 0, readBytes = 0;
  bool isChip = true;
  std::array<double, kMaxKernelTensors> each;
  for (size_t l = 0; l < loads; ++l) {
    const Moved moved = loaded(load[l], splits, slices);
    each[l] = moved.cycles;
    loading += moved.cycles;
    readBytes += moved.bytes;
    isChip &= moved.isChip;
  }
  if (hasTiles) {
    loading = factorCycles(each[0], each[1], slices);
  }
  double storing = 0;
  if (hasStore) {
    // Cores that read together read less than they write.
    const Transfer *before = turnsBehind < 0 ? nullptr : &load[size_t(turnsBehind)];
    bool turns = before != nullptr && (slices.split & ~before->moves) == 0 &&
                 before->sticks.of(slices.perCore) >= store.of(slices.perCore);
    storing = std::max(storeCycles(slices, turns),
                       storeCycles(slices, false) + turnCycles(slices, readBytes, isChip));
  }
  const double arrives = hasLoad ? latency : 0, leaves = hasStore ? latency : 0;
  const double ring = ringCycles(splits, slices);
  double computing = work.of(slices.perCore) * workCycles;
  computing += resultCycles == 0 ? 0 : results.of(slices.perCore) * resultCycles;
  const bool inOneTile = stagingRoom > 0 && [&] {
    double staged = results.of(slices.perCore) * resultStaging;
    for (size_t l = 0; l < loads; ++l) {
      staged += load[l].sticks.of(slices.perCore) * inputStaging;
    }
    return staged <= stagingRoom;
  }();
  if (inOneTile) {
    const double chain = arrives + loading + computing + ring + storing + leaves;
    return {chain, chain};
  }
  double matrix = 0;
  if (multiplies) {
    double stream = rows.of(slices.perCore) * rowCycles;
    matrix = blocks.of(slices.perCore) * std::max(stream, fillCycles);
  }
  const double moving = loading + storing - arrives;
  const double busiest = std::max({moving, computing, ring, matrix});
  const double others = moving + computing + ring + matrix - busiest;
  const double least = kRepeats * busiest + arrives + leaves;
  return {least, least + kSeldomOverlaps * others};
}

//===- Matmuls in tiles ---------------------------------------------------------------------===//

/// One core's part of a matmul: sticks of its sides, blocks in all, cycles of both factors' loads
/// when each is read once, and of the results' stores.
struct PriceBound::Product {
  double rows, columns, depth, blocks;
  double a, b, storing;
};

static double wholeTrips(double steps, double tile) {
  return double(int64_t((steps + tile - 1) / tile));
}

/// Tiles of at most \p most columns: all, or one, three or five times a power of two
/// (MatmulTiles.cpp).
static double columnTrips(double columns, double most) {
  if (most >= columns) {
    return 1;
  }
  const auto power = double(std::bit_floor(uint64_t(most)));
  double tile = most >= 1.5 * power && power >= 2    ? 1.5 * power
                : most >= 1.25 * power && power >= 4 ? 1.25 * power
                                                     : power;
  return wholeTrips(columns, tile);
}

/// The cheapest with tiles of \p tileRows rows. Of each factor a tile is there once or twice: once
/// means that loads and products take turns.
double PriceBound::tileCycles(const Product &product, double tileRows, double enough) const {
  constexpr double kBlockBytes = double(program::kMatmulBlock * kStickBytes);
  constexpr auto kAccBytes = double(program::kMatmulAccBytes);
  const double trips = wholeTrips(product.rows, tileRows), stream = tileRows * rowCycles;
  const double streaming = product.blocks * std::max(product.rows * rowCycles, trips * fillCycles);
  if (streaming >= enough) {
    return streaming;
  }
  const double firstBlocks =
      product.blocks * (product.rows / tileRows) * std::min(stream, fillCycles) * kBlockBytes;
  double least = std::numeric_limits<double>::infinity();
  for (int aTiles = 1; aTiles <= 2; ++aTiles) {
    for (int bTiles = 1; bTiles <= 2; ++bTiles) {
      // Every instruction waits for its first block, and has no more than LX holds.
      const double computing = streaming + firstBlocks * bTiles / matmulRoom;
      auto take = [&](double a, double b) {
        double apart = computing + (aTiles == 1 ? a : 0) + (bTiles == 1 ? b : 0);
        least = std::min(least, std::max(a + b + product.storing, apart));
      };
      const double room = matmulRoom - kStickBytes * tileRows;
      const double aBytes = aTiles * kStickBytes * tileRows, bBytes = bTiles * kBlockBytes;
      double columns = (room - aBytes) / (kAccBytes * tileRows + bBytes);
      if (columns >= 1) {
        take(product.a * columnTrips(product.columns, columns), product.b * trips);
      }
      // Tiles with all of k: the outer one of the factors stays.
      columns = (room - aBytes * product.depth) / (kAccBytes * tileRows + bBytes * product.depth);
      if (columns >= 1) {
        bool isAll = columns >= product.columns;
        take(product.a, isAll ? product.b : product.b * trips);
        take(product.a * columnTrips(product.columns, columns), product.b);
      }
    }
  }
  return least;
}

double PriceBound::nearerCycles(const int32_t *splits, double enough) const {
  Slices slices;
  const double coarse = cycles(splits);
  if (!hasNearer() || !setSlices(splits, slices)) {
    return coarse;
  }
  Product product;
  product.rows = rows.of(slices.perCore);
  product.columns = columns.of(slices.perCore);
  product.depth = depth.of(slices.perCore);
  product.blocks = blocks.of(slices.perCore);
  const Moved a = loaded(load[0], splits, slices), b = loaded(load[1], splits, slices);
  product.a = a.cycles;
  product.b = b.cycles;
  product.storing = hasStore ? storeCycles(slices, false) +
                                   turnCycles(slices, a.bytes + b.bytes, a.isChip && b.isChip)
                             : 0;
  double least = tileCycles(product, product.rows, enough);
  for (double tileRows = 1; tileRows < product.rows && least > coarse; tileRows *= 2) {
    least = std::min(least, tileCycles(product, tileRows, enough));
  }
  const double arrives = hasLoad ? latency : 0;
  return std::max(coarse, kRepeats * (least - arrives) + arrives);
}

} // namespace spyre::costmodel
