//===- MatmulTiles.cpp - all tilings that fit, and the cheapest of them ---------------------===//
#include "spyre/CostModel/MatmulTiles.h"

#include "spyre/CostModel/Rates.h"
#include "spyre/Program/Program.h"

#include <algorithm>
#include <bitset>
#include <cmath>

namespace spyre::costmodel {

static_assert(kMaxTileRowAxes == program::kMaxLevels - 2);

namespace {

using Tile = std::array<int64_t, MatmulShape::kMaxAxes>;
using Order = std::array<uint8_t, MatmulShape::kMaxAxes>;

constexpr int64_t kStickBytes = 128;
constexpr int64_t kBlockBytes = program::kMatmulBlock * kStickBytes;

/// What does not change from tiling to tiling.
struct Work {
  double macs = 0, accCycles = 0, storeCycles = 0;
};

int64_t saturatingProduct(int64_t a, int64_t b) {
  constexpr int64_t kLarge = int64_t(1) << 60;
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kLarge : std::min(product, kLarge);
}

int64_t tileSteps(const MatmulShape &shape, const Tile &tile, uint32_t operand) {
  int64_t steps = 1;
  for (size_t a = 0; a < shape.axes; ++a) {
    steps = operand >> a & 1 ? saturatingProduct(steps, tile[a]) : steps;
  }
  return steps;
}

/// Of the tiles of all operands, each with its number of copies.
struct TileBytes {
  int64_t fixed = 0, a = 0, b = 0;
  int64_t with(int64_t aCopies, int64_t bCopies) const {
    return fixed + saturatingProduct(a, aCopies) + saturatingProduct(b, bCopies);
  }
};

TileBytes bytesOf(const MatmulShape &shape, const Tile &tile, bool sliced) {
  int64_t cSteps = tileSteps(shape, tile, shape.cAxes);
  int64_t outSteps = sliced ? cSteps / tile[shape.nAxis()] : cSteps;
  TileBytes bytes;
  bytes.fixed = saturatingProduct(cSteps, program::kMatmulAccBytes);
  bytes.fixed += shape.cInLx ? 0 : saturatingProduct(outSteps, kStickBytes);
  bytes.a = shape.aInLx ? 0 : saturatingProduct(tileSteps(shape, tile, shape.aAxes), kStickBytes);
  bytes.b = shape.bInLx ? 0 : saturatingProduct(tileSteps(shape, tile, shape.bAxes), kBlockBytes);
  return bytes;
}

/// How often the first \p depth loops run their body.
int64_t tripsOf(const MatmulShape &shape, const Tile &tile, const Order &order, size_t depth) {
  int64_t trips = 1;
  for (size_t i = 0; i < depth; ++i) {
    trips = saturatingProduct(trips, (shape.count[order[i]] + tile[order[i]] - 1) / tile[order[i]]);
  }
  return trips;
}

size_t depthOf(const Order &order, size_t loops, uint32_t operand) {
  while (loops > 0 && (operand >> order[loops - 1] & 1) == 0) {
    --loops;
  }
  return loops;
}

Work workOf(const MatmulShape &shape, const arch::DeviceDesc &device) {
  double cSteps = 1;
  for (size_t a = 0; a < shape.axes; ++a) {
    cSteps *= a == shape.kAxis() ? 1 : double(shape.count[a]);
  }
  Work work;
  work.macs =
      cSteps * double(shape.count[shape.kAxis()] * program::kMatmulBlock * program::kMatmulBlock);
  // An accumulator has two sticks to fill (int8: and to convert) and one result to round.
  int64_t sticks = shape.integers ? 5 : 3;
  work.accCycles = cSteps * double(sticks * shape.lanes) / device.timing.sfpLanesPerCycle;
  work.storeCycles =
      storeCycles(shape.cInLx ? 0 : cSteps * double(kStickBytes), shape.cores, device);
  return work;
}

/// Cycles of one core, or nothing when the tiles do not fit.
std::optional<double> cyclesOfTiles(const MatmulShape &shape, const Tile &tile, bool rowsOutside,
                                    bool sliced, const Work &work, const arch::DeviceDesc &device) {
  TileBytes bytes = bytesOf(shape, tile, sliced);
  if (bytes.with(1, 1) > shape.stagingBytes) {
    return std::nullopt;
  }
  Order order;
  size_t loops = matmulLoops(shape, tile, rowsOutside, order);
  int64_t aLoads = tripsOf(shape, tile, order, depthOf(order, loops, shape.aAxes));
  int64_t bLoads = tripsOf(shape, tile, order, depthOf(order, loops, shape.bAxes));
  auto cTrips = double(tripsOf(shape, tile, order, depthOf(order, loops, shape.cAxes)));
  TileLoop loop;
  loop.doubled = bytes.with(aLoads > 1 ? 2 : 1, bLoads > 1 ? 2 : 1) <= shape.stagingBytes;
  loop.iterations = double(tripsOf(shape, tile, order, loops));
  double rows = 1;
  for (size_t a = 0; a < shape.rowAxes; ++a) {
    rows *= double(tile[a]);
  }
  loop.computeCycles = matmulCycles(work.macs, rows, loop.iterations, device.timing);
  loop.transferCycles = work.storeCycles;
  if (!shape.aInLx) {
    loop.transferCycles +=
        double(aLoads) * loadCycles(double(bytes.a), shape.aReaders, shape.cores, device);
  }
  if (!shape.bInLx) {
    loop.transferCycles +=
        double(bLoads) * loadCycles(double(bytes.b), shape.bReaders, shape.cores, device);
  }
  double stores = sliced ? cTrips * double(tile[shape.nAxis()]) : 0;
  // There is one set of accumulators: the matrix unit stands still while they are taken over.
  return cyclesOf(loop, device.timing) + work.accCycles + stores * device.timing.ddrLatencyCycles;
}

//===- Search -------------------------------------------------------------------------------===//

/// Tiles of an axis to try, ascending.
struct Choices {
  std::array<int64_t, 192> tile;
  size_t count = 0;
  void add(int64_t value) { tile[count++] = value; }
};

Choices tileCandidates(int64_t count) {
  Choices choices;
  for (int64_t tile = 1; tile < count; tile *= 2) {
    choices.add(tile);
  }
  choices.add(count);
  return choices;
}

/// Also three and five times powers of two: where LX is scarce, half as much again of the result
/// per tile saves much of what is read again.
Choices finerCandidates(int64_t count) {
  Choices choices = tileCandidates(count);
  for (int64_t odd : {3, 5}) {
    for (int64_t tile = odd; tile < count; tile *= 2) {
      choices.add(tile);
    }
  }
  std::sort(choices.tile.begin(), choices.tile.begin() + ptrdiff_t(choices.count));
  return choices;
}

int64_t tileableRows(const MatmulShape &shape) {
  int64_t rows = 1;
  for (size_t a = 0; a < std::min(kMaxTileRowAxes, shape.rowAxes); ++a) {
    rows *= shape.count[a];
  }
  return rows;
}

/// Where all results fit beside two copies of the operands there is no room to save.
bool isScarce(const MatmulShape &shape) {
  Tile tile;
  setMatmulTiles(shape, {tileableRows(shape), shape.count[shape.nAxis()], 1, false, 0, false},
                 tile);
  return bytesOf(shape, tile, false).with(2, 2) > shape.stagingBytes;
}

class Search {
public:
  Search(const MatmulShape &shape, const arch::DeviceDesc &device)
      : shape(shape), device(device), scarce(isScarce(shape)), work(workOf(shape, device)),
        rows(tileCandidates(tileableRows(shape))),
        n(scarce ? finerCandidates(shape.count[shape.nAxis()])
                 : tileCandidates(shape.count[shape.nAxis()])),
        k(tileCandidates(shape.count[shape.kAxis()])) {}

  /// All orders of one size of tiles. Of equals the last that was tried is taken.
  void tryTiles(size_t r, size_t c, size_t d) {
    const bool mayBeSliced = scarce && !shape.cInLx && n.tile[c] > 1;
    Tile tile;
    setMatmulTiles(shape, {rows.tile[r], n.tile[c], k.tile[d], false, 0, false}, tile);
    if (best && leastCycles(tile) > best->cycles) {
      return;
    }
    for (bool sliced : {true, false}) {
      if (sliced && !mayBeSliced) {
        continue;
      }
      for (bool rowsOutside : {true, false}) {
        std::optional<double> cycles =
            cyclesOfTiles(shape, tile, rowsOutside, sliced, work, device);
        if (cycles && (!best || *cycles <= best->cycles)) {
          best = MatmulTiles{rows.tile[r], n.tile[c], k.tile[d], rowsOutside, *cycles, sliced};
        }
      }
    }
  }

  /// No order and no number of copies is faster than the products.
  double leastCycles(const Tile &tile) const {
    double trips = 1, tileRows = 1;
    for (size_t a = 0; a < shape.axes; ++a) {
      trips *= double((shape.count[a] + tile[a] - 1) / tile[a]);
      tileRows *= a < shape.rowAxes ? double(tile[a]) : 1;
    }
    return matmulCycles(work.macs, tileRows, trips, device.timing) + work.accCycles;
  }

  const MatmulShape &shape;
  const arch::DeviceDesc &device;
  const bool scarce;
  const Work work;
  const Choices rows, n, k;
  std::optional<MatmulTiles> best;
};

} // namespace

void setMatmulTiles(const MatmulShape &shape, const MatmulTiles &tiles, Tile &tile) {
  for (size_t a = shape.rowAxes; a < shape.axes; ++a) {
    tile[a] = 1;
  }
  int64_t rowsLeft = tiles.rows;
  for (size_t a = 0; a < shape.rowAxes; ++a) {
    tile[a] = a < kMaxTileRowAxes ? std::min(shape.count[a], std::max<int64_t>(rowsLeft, 1)) : 1;
    // Rows of the next axis join only whole runs of this one.
    rowsLeft = tile[a] < shape.count[a] ? 1 : rowsLeft / tile[a];
  }
  tile[shape.nAxis()] = tiles.n;
  tile[shape.kAxis()] = tiles.k;
}

size_t matmulLoops(const MatmulShape &shape, const Tile &tile, bool rowsOutside, Order &order) {
  size_t loops = 0;
  auto add = [&](size_t a) {
    if (tile[a] < shape.count[a]) {
      order[loops++] = uint8_t(a);
    }
  };
  for (size_t a = shape.nAxis(); a-- > shape.rowAxes;) {
    add(a);
  }
  if (!rowsOutside) {
    add(shape.nAxis());
  }
  for (size_t a = shape.rowAxes; a-- > 0;) {
    add(a);
  }
  if (rowsOutside) {
    add(shape.nAxis());
  }
  add(shape.kAxis());
  return loops;
}

int64_t matmulStagingBytes(const MatmulShape &shape, const MatmulTiles &tiles) {
  Tile tile;
  setMatmulTiles(shape, tiles, tile);
  return bytesOf(shape, tile, tiles.sliced).with(1, 1);
}

std::optional<MatmulTiles> chooseMatmulTiles(const MatmulShape &shape,
                                             const arch::DeviceDesc &device) {
  Search search(shape, device);
  // Large tiles are mostly the best: from there on, most small ones need no look. Of equals the
  // smallest is taken.
  for (size_t r = search.rows.count; r-- > 0;) {
    for (size_t c = search.n.count; c-- > 0;) {
      for (size_t d = search.k.count; d-- > 0;) {
        search.tryTiles(r, c, d);
      }
    }
  }
  return search.best;
}

//===- A short search -----------------------------------------------------------------------===//

namespace {

/// Sizes of tiles by number: powers of two, and as finerCandidates() has them.
struct Sizes {
  static constexpr int kCount = 128;
  std::array<double, kCount> plain{}, finer{1, 2, 3};
  constexpr Sizes() {
    double size = 1;
    for (int i = 0; i < kCount; ++i, size *= 2) {
      plain[size_t(i)] = size;
    }
    size = 4;
    for (int i = 3; i + 2 < kCount; i += 3, size *= 2) {
      finer[size_t(i)] = size;
      finer[size_t(i) + 1] = 1.25 * size;
      finer[size_t(i) + 2] = 1.5 * size;
    }
  }
};
constexpr Sizes kSizes;

/// The number of the first size that is all of \p count.
int lastIndex(double count, const std::array<double, Sizes::kCount> &sizes) {
  int index = 0;
  while (sizes[size_t(index)] < count) {
    ++index;
  }
  return index;
}

/// loadCycles() as a function of bytes.
struct LoadLine {
  double alone = 0, together = 0, first = 0;
  LoadLine() = default;
  LoadLine(int64_t readers, int64_t cores, const arch::DeviceDesc &device)
      : alone(loadCycles(1, cores, cores, device)), together(alone) {
    if (readers < cores) {
      first = groupLoadCycles(0, readers, cores, std::min(cores - 1, device.cores / 2), device);
      together = groupLoadCycles(1, readers, cores, 0, device) - 1;
    }
  }
  double at(double bytes) const { return std::min(alone * bytes, together * bytes + first); }
};

/// The cost of chooseMatmulTiles() with everything that does not change taken out of it, for shapes
/// with at most one row axis and operands that all move along the batch.
class ShortSearch {
public:
  ShortSearch(const MatmulShape &shape, const arch::DeviceDesc &device)
      : shape(shape), timing(device.timing), rowCount(double(tileableRows(shape))),
        nCount(double(shape.count[shape.nAxis()])), kCount(double(shape.count[shape.kAxis()])),
        room(double(shape.stagingBytes)) {
    for (size_t a = shape.rowAxes; a < shape.nAxis(); ++a) {
      batches *= double(shape.count[a]);
    }
    Work work = workOf(shape, device);
    macCycles = work.macs / timing.ptMacsPerCycle;
    store = work.storeCycles;
    accCycles = work.accCycles;
    aLoad = LoadLine(shape.aReaders, shape.cores, device);
    bLoad = LoadLine(shape.bReaders, shape.cores, device);
    outStick = shape.cInLx ? 0 : kStickBytes;
    rowStream = double(program::kMatmulBlock * program::kMatmulBlock) / timing.ptMacsPerCycle;
    fill = double(kBlockBytes) / timing.ptFillBytesPerCycle;
  }

  static bool takes(const MatmulShape &shape) {
    auto batch = uint32_t((1u << shape.nAxis()) - (1u << shape.rowAxes));
    uint32_t wanted = batch;
    for (size_t a = shape.rowAxes; a < shape.nAxis(); ++a) {
      wanted &= shape.count[a] > 1 ? ~0u : ~(1u << a);
    }
    return shape.rowAxes <= 1 && (shape.aAxes & wanted) == wanted &&
           (shape.bAxes & wanted) == wanted && (shape.cAxes & wanted) == wanted &&
           (shape.rowAxes == 0 || (shape.aAxes & shape.cAxes & 1) == 1);
  }

  MatmulTiles run();

private:
  MatmulTiles from(int r, int n, int k);
  void descend();
  void setSides();
  /// True when it is the best so far.
  bool tryTiles(int r, int n, int k);

  const MatmulShape &shape;
  const arch::Timing &timing;
  double rowCount, nCount, kCount, room;
  double batches = 1, macCycles = 0, store = 0, accCycles = 0;
  const bool scarce = isScarce(shape);
  const std::array<double, Sizes::kCount> &nSizes = scarce ? kSizes.finer : kSizes.plain;
  LoadLine aLoad, bLoad;
  double outStick = 0, rowStream = 0, fill = 0;
  MatmulTiles best{1, 1, 1, true, 0x1p1000, false};
  int bestR = 0, bestN = 0, bestK = 0;
  int rLast = 0, nLast = 0, kLast = 0;
  /// Tiles of each size, and how many there are of them.
  struct Side {
    double size, trips;
  };
  std::array<Side, Sizes::kCount> rSides, nSides, kSides;
  /// Tilings that were looked at: from another place they are not better.
  static constexpr size_t kMostSizes = 32;
  std::bitset<kMostSizes * kMostSizes * kMostSizes> visited;
};

void ShortSearch::setSides() {
  auto set = [](std::array<Side, Sizes::kCount> &sides, int last, double count,
                const std::array<double, Sizes::kCount> &sizes) {
    for (int i = 0; i <= last; ++i) {
      double size = std::min(sizes[size_t(i)], count);
      sides[size_t(i)] = {size, double(int64_t((count + size - 1) / size))};
    }
  };
  set(rSides, rLast, rowCount, kSizes.plain);
  set(nSides, nLast, nCount, nSizes);
  set(kSides, kLast, kCount, kSizes.plain);
}

bool ShortSearch::tryTiles(int ri, int ni, int ki) {
  const auto most = int(kMostSizes);
  if (ri < most && ni < most && ki < most) {
    auto seen = visited[(size_t(ri) * kMostSizes + size_t(ni)) * kMostSizes + size_t(ki)];
    if (seen) {
      return false;
    }
    seen = true;
  }
  const auto [r, rTrips] = rSides[size_t(ri)];
  const auto [n, nTrips] = nSides[size_t(ni)];
  const auto [k, kTrips] = kSides[size_t(ki)];
  const double all = batches * rTrips * nTrips * kTrips, stream = r * rowStream;
  const double compute =
      (stream < fill ? macCycles * fill / stream : macCycles) + all * std::min(fill, stream);
  // No order and no number of copies is faster than this.
  if (compute + accCycles >= best.cycles) {
    return false;
  }
  const double aBytes = shape.aInLx ? 0 : r * k * kStickBytes;
  const double bBytes = shape.bInLx ? 0 : n * k * kBlockBytes;
  const double acc = r * n * program::kMatmulAccBytes;
  const double aCycles = aLoad.at(aBytes), bCycles = bLoad.at(bBytes);
  const double perTrip = 1 / all;
  bool better = false;
  for (bool sliced : {false, true}) {
    if (sliced && (!scarce || shape.cInLx || n == 1)) {
      break;
    }
    const double fixed = acc + outStick * (sliced ? r : r * n);
    if (fixed + aBytes + bBytes > room) {
      continue;
    }
    const double slicing =
        sliced ? batches * rTrips * nTrips * n * timing.ddrLatencyCycles + accCycles : accCycles;
    // With parts of k both factors are loaded again for every tile, whatever the order.
    for (bool rowsOutside : {false, true}) {
      if (rowsOutside && kTrips > 1) {
        break;
      }
      double aLoads = all, bLoads = all;
      if (kTrips == 1) {
        aLoads = batches * (rTrips > 1 ? rTrips * (rowsOutside ? 1 : nTrips) : 1);
        bLoads = batches * (nTrips > 1 ? nTrips * (rowsOutside ? rTrips : 1) : 1);
      }
      const double transfer = store + aLoads * aCycles + bLoads * bCycles;
      const double oneByOne = (transfer + compute) * perTrip + timing.ddrLatencyCycles;
      const bool doubled =
          fixed + aBytes * (aLoads > 1 ? 2 : 1) + bBytes * (bLoads > 1 ? 2 : 1) <= room;
      // cyclesOf() of a TileLoop.
      const double period =
          doubled ? std::max(std::max(transfer, compute) * perTrip, oneByOne / 2) : oneByOne;
      const double cycles = oneByOne + (all - 1) * period + slicing;
      if (cycles < best.cycles) {
        best = {int64_t(r), int64_t(n), int64_t(k), rowsOutside, cycles, sliced};
        better = true;
      }
    }
  }
  return better;
}

MatmulTiles ShortSearch::run() {
  rLast = lastIndex(rowCount, kSizes.plain);
  nLast = lastIndex(nCount, nSizes);
  kLast = lastIndex(kCount, kSizes.plain);
  setSides();
  // From several places downhill; where a tile does not fit, from a smaller one.
  MatmulTiles cheapest = from(0, 0, 0);
  for (int n : {0, nLast / 2, nLast}) {
    for (int r : {rLast, rLast / 2}) {
      MatmulTiles found = from(r, n, kLast);
      cheapest = found.cycles < cheapest.cycles ? found : cheapest;
    }
  }
  return cheapest;
}

MatmulTiles ShortSearch::from(int r, int n, int k) {
  best.cycles = 0x1p1000;
  while (r >= 0 && n >= 0 && k >= 0 && !tryTiles(r, n, k)) {
    (k > 0 ? k : n > 0 ? n : r) -= 1;
  }
  bestR = r;
  bestN = n;
  bestK = k;
  if (r >= 0) {
    descend();
  }
  return best;
}

/// Downhill from the best so far.
void ShortSearch::descend() {
  static constexpr int kMoves[][3] = {{0, 0, 1},  {0, 0, -1}, {0, 1, 0},  {0, -1, 0}, {1, 0, 0},
                                      {-1, 0, 0}, {0, 1, -1}, {0, -1, 1}, {-1, 1, 0}, {1, -1, 0},
                                      {1, 0, -1}, {-1, 0, 1}, {0, 2, 0},  {0, -2, 0}, {2, 0, 0},
                                      {-2, 0, 0}, {0, 0, 2},  {0, 0, -2}};
  for (bool moved = true; moved;) {
    moved = false;
    int r = bestR, n = bestN, k = bestK;
    for (const auto &move : kMoves) {
      int toR = r + move[0], toN = n + move[1], toK = k + move[2];
      if (toR < 0 || toR > rLast || toN < 0 || toN > nLast || toK < 0 || toK > kLast) {
        continue;
      }
      if (tryTiles(toR, toN, toK)) {
        bestR = toR;
        bestN = toN;
        bestK = toK;
        moved = true;
      }
    }
  }
}

} // namespace

std::optional<MatmulTiles> findMatmulTiles(const MatmulShape &shape,
                                           const arch::DeviceDesc &device) {
  if (!ShortSearch::takes(shape)) {
    return chooseMatmulTiles(shape, device);
  }
  MatmulTiles found = ShortSearch(shape, device).run();
  return found.cycles < 0x1p1000 ? std::optional(found) : std::nullopt;
}

} // namespace spyre::costmodel
