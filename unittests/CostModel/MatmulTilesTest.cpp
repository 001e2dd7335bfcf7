//===- MatmulTilesTest.cpp - the tiles that are chosen against all there are ----------------===//
#include "spyre/CostModel/MatmulTiles.h"

#include "spyre/Base/Random.h"
#include "spyre/CostModel/Rates.h"
#include "spyre/Program/Program.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <vector>

namespace spyre::costmodel {
namespace {

const arch::DeviceDesc &device() {
  static const arch::DeviceDesc desc = *arch::DeviceDesc::preset("openspyre");
  return desc;
}

/// One row axis, n and k, perhaps a batch.
MatmulShape randomShape(Random &random) {
  MatmulShape shape;
  auto size = [&](uint64_t most) { return int64_t(1 + random.below(most)); };
  bool batched = random.below(3) == 0;
  shape.rowAxes = 1;
  shape.axes = batched ? 4 : 3;
  shape.count[0] = size(600);
  if (batched) {
    shape.count[1] = size(8);
  }
  shape.count[shape.nAxis()] = size(64);
  shape.count[shape.kAxis()] = size(200);
  uint32_t batch = batched ? 2 : 0, n = 1u << shape.nAxis(), k = 1u << shape.kAxis();
  shape.aAxes = 1 | batch | k;
  shape.bAxes = batch | n | k;
  shape.cAxes = 1 | batch | n;
  shape.cores = int64_t(1) << random.below(6);
  shape.aReaders = std::max<int64_t>(shape.cores >> random.below(6), 1);
  shape.bReaders = std::max<int64_t>(shape.cores >> random.below(6), 1);
  shape.aInLx = random.below(6) == 0;
  shape.cInLx = random.below(6) == 0;
  shape.stagingBytes = device().lxStagingBytes();
  return shape;
}

//===- All tilings --------------------------------------------------------------------------===//

using Tile = std::array<int64_t, MatmulShape::kMaxAxes>;

/// Several row axes, of which a factor may lack some, and several batches, as the dims of a
/// division give them.
MatmulShape wideShape(Random &random) {
  MatmulShape shape = randomShape(random);
  shape.rowAxes = random.below(4);
  shape.axes = shape.rowAxes + random.below(3) + 2;
  shape.aAxes = shape.bAxes = shape.cAxes = 0;
  for (size_t a = 0; a < shape.axes; ++a) {
    const bool isRow = a < shape.rowAxes, isBatch = !isRow && a < shape.nAxis();
    shape.count[a] = int64_t(1 + random.below(isRow ? 40 : isBatch ? 6 : 80));
    shape.aAxes |= uint32_t(a != shape.nAxis() && random.below(8) > 0) << a;
    shape.bAxes |= uint32_t(!isRow && random.below(8) > 0) << a;
    shape.cAxes |= uint32_t(a != shape.kAxis() && random.below(8) > 0) << a;
  }
  shape.bInLx = random.below(6) == 0;
  return shape;
}

int64_t stepsOf(const MatmulShape &shape, const Tile &tile, uint32_t operand) {
  int64_t steps = 1;
  for (size_t a = 0; a < shape.axes; ++a) {
    steps *= operand >> a & 1 ? tile[a] : 1;
  }
  return steps;
}

/// How often the loops turn down to the last one that moves the operand.
double loadsOf(const MatmulShape &shape, const Tile &tile, bool rowsOutside, uint32_t operand) {
  std::array<uint8_t, MatmulShape::kMaxAxes> order;
  const size_t loops = matmulLoops(shape, tile, rowsOutside, order);
  double turns = 1, loads = 1;
  for (size_t i = 0; i < loops; ++i) {
    turns *= double((shape.count[order[i]] + tile[order[i]] - 1) / tile[order[i]]);
    loads = operand >> order[i] & 1 ? turns : loads;
  }
  return loads;
}

/// Nothing where the tiles do not fit.
std::optional<double> cyclesOfTiles(const MatmulShape &shape, const MatmulTiles &tiles) {
  constexpr int64_t kStick = 128, kBlock = program::kMatmulBlock;
  Tile tile;
  setMatmulTiles(shape, tiles, tile);
  const double room = double(shape.stagingBytes);
  const double a = shape.aInLx ? 0 : double(stepsOf(shape, tile, shape.aAxes) * kStick);
  const double b = shape.bInLx ? 0 : double(stepsOf(shape, tile, shape.bAxes) * kBlock * kStick);
  const double fixed = double(matmulStagingBytes(shape, tiles)) - a - b;
  if (fixed + a + b > room) {
    return std::nullopt;
  }
  double points = 1, rows = 1, results = 1;
  for (size_t i = 0; i < shape.axes; ++i) {
    points *= double(shape.count[i]);
    results *= i == shape.kAxis() ? 1 : double(shape.count[i]);
    rows *= i < shape.rowAxes ? double(tile[i]) : 1;
  }
  const double aLoads = loadsOf(shape, tile, tiles.rowsOutside, shape.aAxes);
  const double bLoads = loadsOf(shape, tile, tiles.rowsOutside, shape.bAxes);
  const double cLoads = loadsOf(shape, tile, tiles.rowsOutside, shape.cAxes);
  TileLoop loop;
  loop.doubled = fixed + a * (aLoads > 1 ? 2 : 1) + b * (bLoads > 1 ? 2 : 1) <= room;
  loop.iterations = loadsOf(shape, tile, tiles.rowsOutside, ~0u);
  loop.computeCycles =
      matmulCycles(points * double(kBlock * kBlock), rows, loop.iterations, device().timing);
  loop.transferCycles = storeCycles(shape.cInLx ? 0 : results * kStick, shape.cores, device());
  loop.transferCycles +=
      shape.aInLx ? 0 : aLoads * loadCycles(a, shape.aReaders, shape.cores, device());
  loop.transferCycles +=
      shape.bInLx ? 0 : bLoads * loadCycles(b, shape.bReaders, shape.cores, device());
  const double rounding = results * double(3 * shape.lanes) / device().timing.sfpLanesPerCycle;
  const double slices = tiles.sliced ? cLoads * double(tiles.n) : 0;
  return cyclesOf(loop, device().timing) + rounding + slices * device().timing.ddrLatencyCycles;
}

/// Sizes of tiles: \p odds times powers of two, and all.
std::vector<int64_t> sizesOf(int64_t count, const std::vector<int64_t> &odds) {
  std::vector<int64_t> sizes{count};
  for (int64_t odd : odds) {
    for (int64_t size = odd; size < count; size *= 2) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

int64_t rowsOf(const MatmulShape &shape) {
  int64_t rows = 1;
  for (size_t a = 0; a < shape.rowAxes; ++a) {
    rows *= shape.count[a];
  }
  return rows;
}

/// Whether all results do not fit beside two copies of the factors: only then are there finer
/// sizes and slices.
bool isScarce(const MatmulShape &shape) {
  const MatmulTiles all{rowsOf(shape), shape.count[shape.nAxis()], 1, false, 0, false};
  MatmulShape inLx = shape;
  inLx.aInLx = inLx.bInLx = true;
  return 2 * matmulStagingBytes(shape, all) - matmulStagingBytes(inLx, all) > shape.stagingBytes;
}

double leastCycles(const MatmulShape &shape) {
  const bool scarce = isScarce(shape);
  double least = 0x1p1000;
  auto take = [&](const MatmulTiles &tiles) {
    least = std::min(least, cyclesOfTiles(shape, tiles).value_or(least));
  };
  const std::vector<int64_t> odds =
      scarce ? std::vector<int64_t>{1, 3, 5} : std::vector<int64_t>{1};
  for (int64_t rows : sizesOf(rowsOf(shape), {1})) {
    for (int64_t n : sizesOf(shape.count[shape.nAxis()], odds)) {
      for (int64_t k : sizesOf(shape.count[shape.kAxis()], {1})) {
        for (bool rowsOutside : {true, false}) {
          take({rows, n, k, rowsOutside, 0, false});
          if (scarce && !shape.cInLx && n > 1) {
            take({rows, n, k, rowsOutside, 0, true});
          }
        }
      }
    }
  }
  return least;
}

// The search leaves out tilings by bounds; what it finds is the cheapest of all, and its cycles are
// those of its tiles.
TEST(MatmulTiles, NoTilingIsCheaper) {
  Random random(11);
  int sliced = 0, tiledRows = 0;
  for (int i = 0; i < 1000; ++i) {
    const MatmulShape shape = wideShape(random);
    const std::optional<MatmulTiles> found = chooseMatmulTiles(shape, device());
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->cycles, leastCycles(shape), 1e-9 * found->cycles) << i;
    EXPECT_NEAR(cyclesOfTiles(shape, *found).value_or(0), found->cycles, 1e-9 * found->cycles) << i;
    sliced += found->sliced;
    tiledRows += found->rows < rowsOf(shape);
  }
  EXPECT_GT(sliced, 20);
  EXPECT_GT(tiledRows, 100);
}

} // namespace
} // namespace spyre::costmodel
