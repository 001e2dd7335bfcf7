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
  /// Of any number of loads that have so many bytes together.
  double atLeast(double bytes) const { return std::min(alone, together) * bytes; }
};

double tripsOf(int64_t count, int64_t tile) { return double((count + tile - 1) / tile); }

constexpr size_t kOperands = 3, kA = 0, kB = 1, kC = 2;
using PerOperand = std::array<double, kOperands>;

/// A tile's part of the row axes.
struct RowTile {
  double rows = 1, trips = 1;
  /// Of each operand: steps of a tile, and how often the loops over rows turn down to the last one
  /// that moves it; 0: none does.
  PerOperand steps{1, 1, 1}, reach{};
};

/// Parts of n and k.
struct ColumnTile {
  double n, k, nTrips, kTrips;
};

/// All tilings by branch and bound.
class Search {
public:
  Search(const MatmulShape &shape, const arch::DeviceDesc &device);
  std::optional<MatmulTiles> run();

private:
  void tryRows(int64_t rows);
  void tryTiles(const RowTile &row, const ColumnTile &tile, MatmulTiles tiles);
  RowTile rowTileOf(int64_t rows) const;
  bool moves(size_t operand, size_t axis) const { return axesOf[operand] >> axis & 1; }
  /// How often a tile of the operand is another one than before.
  double loads(size_t operand, const RowTile &row, const ColumnTile &tile, bool rowsOutside) const;
  double compute(const RowTile &row, const ColumnTile &tile) const {
    const double trips = batches * row.trips * tile.nTrips * tile.kTrips;
    return matmulCycles(work.macs, row.rows, trips, device.timing);
  }
  /// Bytes of results, and of one copy of each factor.
  double fixedBytes(const RowTile &row, double n, bool sliced) const;
  double aBytes(const RowTile &row, const ColumnTile &tile) const;
  double bBytes(const RowTile &row, const ColumnTile &tile) const;
  bool fits(const RowTile &row, const ColumnTile &tile) const {
    const double fixed = fixedBytes(row, tile.n, mayBeSliced(tile.n));
    return fixed + aBytes(row, tile) + bBytes(row, tile) <= double(shape.stagingBytes);
  }
  bool mayBeSliced(double n) const { return scarce && !shape.cInLx && n > 1; }
  bool isTooSlow(double least) const {
    // Sums of other terms than those of the cycles: they may differ in the last digits.
    constexpr double kRounding = 1 - 1e-9;
    return best && least * kRounding > best->cycles;
  }
  double leastTransfer(const RowTile &row, const ColumnTile &tile) const;

  const MatmulShape &shape;
  const arch::DeviceDesc &device;
  const bool scarce;
  const Work work;
  const Choices rows, n, k;
  const std::array<uint32_t, kOperands> axesOf;
  double batches = 1;
  PerOperand batchReach{1, 1, 1};
  /// Cycles to load all of a factor once, at least; and whether it is one of a product (it moves
  /// along its side and k, not along the other side), so that it is loaded again for parts of the
  /// other's side.
  double wholeA = 0, wholeB = 0;
  bool aRepeats = true, bRepeats = true;
  std::optional<MatmulTiles> best;
};

Search::Search(const MatmulShape &shape, const arch::DeviceDesc &device)
    : shape(shape), device(device), scarce(isScarce(shape)), work(workOf(shape, device)),
      rows(tileCandidates(tileableRows(shape))),
      n(scarce ? finerCandidates(shape.count[shape.nAxis()])
               : tileCandidates(shape.count[shape.nAxis()])),
      k(tileCandidates(shape.count[shape.kAxis()])), axesOf{shape.aAxes, shape.bAxes, shape.cAxes} {
  for (size_t a = shape.nAxis(); a-- > shape.rowAxes;) {
    batches *= double(shape.count[a]);
    for (size_t x = 0; x < kOperands; ++x) {
      batchReach[x] = shape.count[a] > 1 && moves(x, a) ? batches : batchReach[x];
    }
  }
  PerOperand whole{1, 1, 1};
  for (size_t a = 0; a < shape.axes; ++a) {
    whole[kA] *= moves(kA, a) ? double(shape.count[a]) : 1;
    whole[kB] *= moves(kB, a) ? double(shape.count[a]) : 1;
    bRepeats &= a >= shape.rowAxes ? a < shape.nAxis() || moves(kB, a) : !moves(kB, a);
  }
  aRepeats = !moves(kA, shape.nAxis()) && moves(kA, shape.kAxis());
  if (!shape.aInLx) {
    wholeA = LoadLine(shape.aReaders, shape.cores, device).atLeast(whole[kA] * kStickBytes);
  }
  if (!shape.bInLx) {
    wholeB = LoadLine(shape.bReaders, shape.cores, device).atLeast(whole[kB] * kBlockBytes);
  }
}

RowTile Search::rowTileOf(int64_t rowCount) const {
  Tile tile;
  setMatmulTiles(shape, {rowCount, 1, 1, false, 0, false}, tile);
  RowTile row;
  for (size_t a = shape.rowAxes; a-- > 0;) {
    const double trips = tripsOf(shape.count[a], tile[a]);
    row.rows *= double(tile[a]);
    row.trips *= trips;
    for (size_t x = 0; x < kOperands; ++x) {
      row.steps[x] *= moves(x, a) ? double(tile[a]) : 1;
      row.reach[x] = trips > 1 && moves(x, a) ? row.trips : row.reach[x];
    }
  }
  return row;
}

double Search::loads(size_t operand, const RowTile &row, const ColumnTile &tile,
                     bool rowsOutside) const {
  const bool alongN = tile.nTrips > 1 && moves(operand, shape.nAxis());
  const double reach = row.reach[operand];
  if (tile.kTrips > 1 && moves(operand, shape.kAxis())) {
    return batches * row.trips * tile.nTrips * tile.kTrips;
  }
  if (rowsOutside) {
    return alongN      ? batches * row.trips * tile.nTrips
           : reach > 0 ? batches * reach
                       : batchReach[operand];
  }
  return reach > 0 ? batches * tile.nTrips * reach
         : alongN  ? batches * tile.nTrips
                   : batchReach[operand];
}

double Search::fixedBytes(const RowTile &row, double n, bool sliced) const {
  const double results = row.steps[kC] * (moves(kC, shape.nAxis()) ? n : 1);
  const double out = shape.cInLx ? 0 : (sliced ? std::floor(results / n) : results);
  return results * double(program::kMatmulAccBytes) + out * double(kStickBytes);
}

double Search::aBytes(const RowTile &row, const ColumnTile &tile) const {
  const double columns =
      (moves(kA, shape.nAxis()) ? tile.n : 1) * (moves(kA, shape.kAxis()) ? tile.k : 1);
  return shape.aInLx ? 0 : row.steps[kA] * columns * double(kStickBytes);
}

double Search::bBytes(const RowTile &row, const ColumnTile &tile) const {
  const double columns =
      (moves(kB, shape.nAxis()) ? tile.n : 1) * (moves(kB, shape.kAxis()) ? tile.k : 1);
  return shape.bInLx ? 0 : row.steps[kB] * columns * double(kBlockBytes);
}

/// With parts of k, both factors are loaded again for each part of the other's side; with all of
/// it the outer one stays.
double Search::leastTransfer(const RowTile &row, const ColumnTile &tile) const {
  const double a = wholeA * (aRepeats ? tile.nTrips : 1), b = wholeB * (bRepeats ? row.trips : 1);
  if (tile.kTrips > 1) {
    return work.storeCycles + a + b;
  }
  return work.storeCycles + std::min(wholeA + (tile.nTrips > 1 ? b : wholeB),
                                     (row.reach[kA] > 0 ? a : wholeA) + wholeB);
}

/// All orders of one size of tiles. Of equals the last that was tried is taken.
void Search::tryTiles(const RowTile &row, const ColumnTile &tile, MatmulTiles tiles) {
  const double a = aBytes(row, tile), b = bBytes(row, tile), room = double(shape.stagingBytes);
  const double aCycles = shape.aInLx ? 0 : loadCycles(a, shape.aReaders, shape.cores, device);
  const double bCycles = shape.bInLx ? 0 : loadCycles(b, shape.bReaders, shape.cores, device);
  TileLoop loop;
  loop.iterations = batches * row.trips * tile.nTrips * tile.kTrips;
  loop.computeCycles = compute(row, tile);
  for (bool sliced : {true, false}) {
    const double fixed = fixedBytes(row, tile.n, sliced);
    if ((sliced && !mayBeSliced(tile.n)) || fixed + a + b > room) {
      continue;
    }
    for (bool rowsOutside : {true, false}) {
      const double aLoads = loads(kA, row, tile, rowsOutside);
      const double bLoads = loads(kB, row, tile, rowsOutside);
      loop.doubled = fixed + a * (aLoads > 1 ? 2 : 1) + b * (bLoads > 1 ? 2 : 1) <= room;
      loop.transferCycles = work.storeCycles + aLoads * aCycles + bLoads * bCycles;
      const double stores = sliced ? loads(kC, row, tile, rowsOutside) * tile.n : 0;
      // There is one set of accumulators: the matrix unit stands still while they are taken over.
      tiles.cycles =
          cyclesOf(loop, device.timing) + work.accCycles + stores * device.timing.ddrLatencyCycles;
      if (!best || tiles.cycles <= best->cycles) {
        best = tiles;
        best->rowsOutside = rowsOutside;
        best->sliced = sliced;
      }
    }
  }
}

void Search::tryRows(int64_t rowCount) {
  const RowTile row = rowTileOf(rowCount);
  const int64_t nAll = shape.count[shape.nAxis()], kAll = shape.count[shape.kAxis()];
  if (isTooSlow(compute(row, {double(nAll), double(kAll), 1, 1}) + work.accCycles)) {
    return;
  }
  for (size_t c = n.count; c-- > 0;) {
    ColumnTile tile{double(n.tile[c]), 1, tripsOf(nAll, n.tile[c]), double(kAll)};
    if (!fits(row, tile)) {
      continue;
    }
    for (size_t d = k.count; d-- > 0;) {
      tile.k = double(k.tile[d]);
      tile.kTrips = tripsOf(kAll, k.tile[d]);
      const double computing = compute(row, tile);
      if (isTooSlow(computing + work.accCycles)) {
        break; // smaller parts of k have more instructions
      }
      if (fits(row, tile) &&
          !isTooSlow(std::max(computing, leastTransfer(row, tile)) + work.accCycles)) {
        tryTiles(row, tile, {rowCount, n.tile[c], k.tile[d], false, 0, false});
      }
    }
  }
}

/// Large tiles are mostly the best: from there on, most small ones need no look. Of equals the
/// smallest is taken.
std::optional<MatmulTiles> Search::run() {
  for (size_t r = rows.count; r-- > 0;) {
    tryRows(rows.tile[r]);
  }
  return best;
}

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
  return Search(shape, device).run();
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
  const double aBytes = shape.aInLx ? 0 : r * k * kStickBytes;
  const double bBytes = shape.bInLx ? 0 : n * k * kBlockBytes;
  const double acc = r * n * program::kMatmulAccBytes;
  const bool mayBeSliced = scarce && !shape.cInLx && n > 1;
  if (acc + outStick * (mayBeSliced ? r : r * n) + aBytes + bBytes > room) {
    return false;
  }
  const double all = batches * rTrips * nTrips * kTrips, stream = r * rowStream;
  const double compute =
      (stream < fill ? macCycles * fill / stream : macCycles) + all * std::min(fill, stream);
  // No order and no number of copies is faster than this.
  if (compute + accCycles >= best.cycles) {
    return false;
  }
  const double aCycles = aLoad.at(aBytes), bCycles = bLoad.at(bBytes);
  const double perTrip = 1 / all;
  bool better = false;
  for (bool sliced : {false, true}) {
    if (sliced && !mayBeSliced) {
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
