//===- MatmulTiles.cpp - all tilings that fit, and the cheapest of them ---------------------===//
#include "spyre/CostModel/MatmulTiles.h"

#include "spyre/CostModel/Rates.h"
#include "spyre/Program/Program.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// Tiles of an axis to try, ascending, and how many each has.
struct Choices {
  std::array<int64_t, 192> tile;
  std::array<double, 192> trips;
  size_t count = 0;
  void add(int64_t value) { tile[count++] = value; }
  void countTrips(int64_t all) {
    for (size_t i = 0; i < count; ++i) {
      trips[i] = double((all + tile[i] - 1) / tile[i]);
    }
  }
};

Choices tileCandidates(int64_t count) {
  Choices choices;
  for (int64_t tile = 1; tile < count; tile *= 2) {
    choices.add(tile);
  }
  choices.add(count);
  choices.countTrips(count);
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
  choices.countTrips(count);
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

/// Cycles of any number of loads that have so many bytes together, at least.
double leastLoadCycles(double bytes, int64_t readers, int64_t cores,
                       const arch::DeviceDesc &device) {
  const double alone = loadCycles(bytes, cores, cores, device);
  return readers == cores ? alone
                          : std::min(alone, groupLoadCycles(bytes, readers, cores, 0, device) - 1);
}

constexpr size_t kOperands = 3, kA = 0, kB = 1, kC = 2;
using PerOperand = std::array<double, kOperands>;

/// A tile's part of the row axes.
struct RowTile {
  double rows, trips;
  /// Of the matrix unit: the products, and what each instruction adds.
  double productCycles, instructionCycles;
  /// Of each operand: steps of a tile, and how often the loops over rows turn down to the last one
  /// that moves it; 0: none does.
  PerOperand steps, reach;
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
  void guess();
  void tryRows(const RowTile &row, int64_t rowCount, size_t most);
  void tryTiles(const RowTile &row, const ColumnTile &tile, MatmulTiles tiles);
  RowTile rowTileOf(int64_t rows) const;
  bool moves(size_t operand, size_t axis) const { return axesOf[operand] >> axis & 1; }
  /// How often a tile of the operand is another one than before.
  double loads(size_t operand, const RowTile &row, const ColumnTile &tile, bool rowsOutside) const;
  double tripsOf(const RowTile &row, const ColumnTile &tile) const {
    return batches * row.trips * tile.nTrips * tile.kTrips;
  }
  /// Bytes of results, and of one copy of each factor.
  double fixedBytes(const RowTile &row, double n, bool sliced) const;
  double aBytes(const RowTile &row, const ColumnTile &tile) const;
  double bBytes(const RowTile &row, const ColumnTile &tile) const;
  bool fits(const RowTile &row, const ColumnTile &tile, double copies = 1) const {
    const double fixed = fixedBytes(row, tile.n, mayBeSliced(tile.n));
    return fixed + copies * (aBytes(row, tile) + bBytes(row, tile)) <= double(shape.stagingBytes);
  }
  ColumnTile columnTile(size_t c, size_t d) const {
    return {double(n.tile[c]), double(k.tile[d]), n.trips[c], k.trips[d]};
  }
  bool mayBeSliced(double n) const { return scarce && !shape.cInLx && n > 1; }
  bool isTooSlow(double least) const {
    // Sums of other terms than those of the cycles: they may differ in the last digits.
    constexpr double kRounding = 1 - 1e-9;
    return least * kRounding > enough;
  }
  double leastTransfer(const RowTile &row, const ColumnTile &tile) const;
  double leastCycles(const RowTile &row, const ColumnTile &tile) const;

  const MatmulShape &shape;
  const arch::DeviceDesc &device;
  const bool scarce;
  const Work work;
  const Choices rows, n, k;
  /// Of `rows`: powers of two.
  std::array<RowTile, 65> rowTile;
  const std::array<uint32_t, kOperands> axesOf;
  double batches = 1;
  PerOperand batchReach{1, 1, 1};
  /// Cycles to load all of a factor once, at least; and whether it is one of a product (it moves
  /// along its side and k, not along the other side), so that it is loaded again for parts of the
  /// other's side.
  double wholeA = 0, wholeB = 0;
  bool aRepeats = true, bRepeats = true;
  std::optional<MatmulTiles> best;
  /// What some tiles cost.
  double enough = std::numeric_limits<double>::infinity();
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
    wholeA = leastLoadCycles(whole[kA] * kStickBytes, shape.aReaders, shape.cores, device);
  }
  if (!shape.bInLx) {
    wholeB = leastLoadCycles(whole[kB] * kBlockBytes, shape.bReaders, shape.cores, device);
  }
}

RowTile Search::rowTileOf(int64_t rowCount) const {
  Tile tile;
  setMatmulTiles(shape, {rowCount, 1, 1, false, 0, false}, tile);
  RowTile row{1, 1, 0, 0, {1, 1, 1}, {}};
  for (size_t a = shape.rowAxes; a-- > 0;) {
    const auto trips = double((shape.count[a] + tile[a] - 1) / tile[a]);
    row.rows *= double(tile[a]);
    row.trips *= trips;
    for (size_t x = 0; x < kOperands; ++x) {
      row.steps[x] *= moves(x, a) ? double(tile[a]) : 1;
      row.reach[x] = trips > 1 && moves(x, a) ? row.trips : row.reach[x];
    }
  }
  row.productCycles = matmulCycles(work.macs, row.rows, 0, device.timing);
  row.instructionCycles = matmulCycles(0, row.rows, 1, device.timing);
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
  const bool alongN = moves(kC, shape.nAxis());
  const double results = alongN ? row.steps[kC] * n : row.steps[kC];
  const double slice = alongN ? row.steps[kC] : std::floor(results / n);
  const double out = shape.cInLx ? 0 : (sliced ? slice : results);
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

/// Of whatever order and number of copies; more with smaller tiles.
double Search::leastCycles(const RowTile &row, const ColumnTile &tile) const {
  const double trips = tripsOf(row, tile), transfer = leastTransfer(row, tile);
  const double computing = row.productCycles + trips * row.instructionCycles;
  // Two tiles take the time of one by one.
  const double half = (transfer + computing + trips * device.timing.ddrLatencyCycles) / 2;
  return std::max({transfer, computing, half}) + work.accCycles;
}

/// All orders of one size of tiles. Of equals the last that was tried is taken.
void Search::tryTiles(const RowTile &row, const ColumnTile &tile, MatmulTiles tiles) {
  const double a = aBytes(row, tile), b = bBytes(row, tile), room = double(shape.stagingBytes);
  const double aCycles = shape.aInLx ? 0 : loadCycles(a, shape.aReaders, shape.cores, device);
  const double bCycles = shape.bInLx ? 0 : loadCycles(b, shape.bReaders, shape.cores, device);
  TileLoop loop;
  loop.iterations = tripsOf(row, tile);
  loop.computeCycles = row.productCycles + loop.iterations * row.instructionCycles;
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
        enough = std::min(enough, tiles.cycles);
        best = tiles;
        best->rowsOutside = rowsOutside;
        best->sliced = sliced;
      }
    }
  }
}

/// The largest tiles that fit twice are mostly good: their cycles rule out most of the others.
void Search::guess() {
  size_t c = n.count - 1;
  for (size_t r = 0; r < rows.count; ++r) {
    const RowTile &row = rowTile[r];
    while (c > 0 && !fits(row, columnTile(c, 0), 2)) {
      --c;
    }
    size_t d = 0;
    while (d + 1 < k.count && fits(row, columnTile(c, d + 1), 2)) {
      ++d;
    }
    if (!isTooSlow(leastCycles(row, columnTile(c, d)))) {
      tryTiles(row, columnTile(c, d), {rows.tile[r], n.tile[c], k.tile[d], false, 0, false});
    }
  }
}

/// Tiles of so many rows, and of at most so much of n as \p most has.
void Search::tryRows(const RowTile &row, int64_t rowCount, size_t most) {
  for (size_t c = most + 1; c-- > 0;) {
    if (isTooSlow(leastCycles(row, columnTile(c, k.count - 1)))) {
      return; // and so are smaller parts of n
    }
    for (size_t d = k.count; d-- > 0;) {
      const ColumnTile tile = columnTile(c, d);
      if (!fits(row, tile)) {
        continue;
      }
      if (isTooSlow(leastCycles(row, tile))) {
        break; // and so are smaller parts of k
      }
      tryTiles(row, tile, {rowCount, n.tile[c], k.tile[d], false, 0, false});
    }
  }
}

/// Of equals the smallest is taken, which is tried last.
std::optional<MatmulTiles> Search::run() {
  for (size_t r = 0; r < rows.count; ++r) {
    rowTile[r] = rowTileOf(rows.tile[r]);
  }
  guess();
  best.reset();
  // More of n takes more room, but where the results do not move along it.
  size_t most = moves(kC, shape.nAxis()) ? 0 : n.count - 1;
  for (size_t r = rows.count; r-- > 0;) {
    const RowTile &row = rowTile[r];
    if (most == 0 && !fits(row, columnTile(0, 0))) {
      continue;
    }
    while (most + 1 < n.count && fits(row, columnTile(most + 1, 0))) {
      ++most;
    }
    tryRows(row, rows.tile[r], most);
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

} // namespace spyre::costmodel
