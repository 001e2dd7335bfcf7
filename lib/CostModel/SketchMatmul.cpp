//===- SketchMatmul.cpp - products in tiles (BackEnd/LowerMatmul.cpp) -----------------------===//
#include "spyre/Base/Math.h"
#include "spyre/CostModel/MatmulTiles.h"

#include "Candidate.h"

namespace spyre::costmodel {

using program::Unit;

namespace {
/// Places.
constexpr size_t kA = 0, kB = 1, kC = 2;
constexpr int64_t kBlock = program::kMatmulBlock;

struct Product {
  size_t kDim = 0, nDim = 0;
  size_t rowAxes = 0, nAxis = 0, kAxis = 0;
  int64_t bRowBytes = 0;
  bool hasTail = false;
  /// Rows of B that the masked stick of A lacks.
  int64_t lackingRows = 0;
};
} // namespace

/// Sorts axes from \p first on by their stride in C, innermost first.
static void sortByResult(AxisTable &table, size_t first) {
  for (size_t a = first; a < table.axes; ++a) {
    for (size_t b = a; b > first && table.stride[kC][b - 1] > table.stride[kC][b]; --b) {
      std::swap(table.axis[b - 1], table.axis[b]);
      for (size_t p = 0; p < table.places; ++p) {
        std::swap(table.stride[p][b - 1], table.stride[p][b]);
      }
    }
  }
}

static void addFreeAxes(const Candidate &candidate, Sketch &sketch, const Product &product,
                        bool rows) {
  const PricedKernel &priced = *candidate.priced;
  AxisTable &table = sketch.table;
  size_t first = table.axes;
  for (size_t d = 0; d < priced.kernel.dims.size(); ++d) {
    if (d != product.kDim && d != product.nDim && candidate.holds(kB, d) != rows) {
      size_t a = table.add(candidate.perCore[d]);
      for (size_t p : {kA, kB, kC}) {
        table.stride[p][a] = candidate.stride[p][d];
      }
    }
  }
  table.coalesce(first, !priced.tensor(kA).arrives && !priced.tensor(kB).arrives);
  sortByResult(table, first);
}

static void addAxes(const Candidate &candidate, Sketch &sketch, Product &product) {
  const PricedKernel &priced = *candidate.priced;
  AxisTable &table = sketch.table;
  table.places = 3;
  addFreeAxes(candidate, sketch, product, true);
  product.rowAxes = table.axes;
  addFreeAxes(candidate, sketch, product, false);
  product.nAxis = table.add(candidate.perCore[product.nDim] / priced.lanes());
  table.stride[kA][product.nAxis] = 0;
  table.stride[kB][product.nAxis] = candidate.stride[kB][product.nDim];
  table.stride[kC][product.nAxis] = candidate.stride[kC][product.nDim];
  int64_t kLanes = priced.perStick[kA][product.kDim];
  int64_t kCount = candidate.perCore[product.kDim] / kLanes;
  product.hasTail = priced.kernel.maskedElements > 0;
  product.kAxis = table.add(kCount, kCount - product.hasTail);
  product.bRowBytes = candidate.stride[kB][product.kDim];
  table.stride[kA][product.kAxis] = candidate.stride[kA][product.kDim];
  table.stride[kB][product.kAxis] = kBlock * product.bRowBytes;
  table.stride[kC][product.kAxis] = 0;
  // The roots of a split have whole slices; only the last one is masked.
  if (product.hasTail && candidate.reducedSlices() == 1) {
    int64_t rowsPerStick = priced.perStick[kB][product.kDim];
    product.lackingRows = kBlock - ceilDiv(kLanes - priced.kernel.maskedElements, rowsPerStick);
  }
}

static MatmulShape shapeOf(const Candidate &candidate, const Sketch &sketch,
                           const Product &product) {
  const PricedKernel &priced = *candidate.priced;
  MatmulShape shape;
  shape.axes = sketch.table.axes;
  shape.rowAxes = product.rowAxes;
  for (size_t a = 0; a < shape.axes; ++a) {
    shape.count[a] = sketch.table.axis[a].count;
    shape.aAxes |= uint32_t(sketch.table.depends(kA, a)) << a;
    shape.bAxes |= uint32_t(sketch.table.depends(kB, a)) << a;
    shape.cAxes |= uint32_t(sketch.table.depends(kC, a)) << a;
  }
  shape.aInLx = priced.tensor(kA).inLx;
  shape.bInLx = priced.tensor(kB).inLx;
  shape.cInLx = priced.tensor(kC).inLx;
  shape.aReaders = candidate.readersOf(kA);
  shape.bReaders = candidate.readersOf(kB);
  shape.cores = candidate.cores;
  shape.stagingBytes = priced.device->lxStagingBytes();
  shape.lanes = priced.lanes();
  shape.integers = priced.tensor(kA).format == numerics::DataFormat::SenInt8;
  return shape;
}

/// The masked last rows of B are not loaded; with several n the gaps they leave are read over, and
/// then the back end gives the tile no second copy (DoubleBuffer.h).
static bool leavesGaps(const AxisTable &table, const Product &product) {
  const SketchAxis &k = table.axis[product.kAxis];
  int64_t n = table.axis[product.nAxis].tile;
  int64_t steps = k.count % k.tile == 0 ? k.tile : k.count % k.tile;
  int64_t tail = kBlock - product.lackingRows, before = (n - 1) * k.tile * kBlock;
  int64_t written = n * (steps * kBlock - product.lackingRows);
  return product.lackingRows > 0 &&
         (written < before + tail || (steps > 1 && written < before + (steps - 1) * kBlock));
}

static void addRows(SketchStep &step, const Product &product) {
  for (size_t a = 0; a < product.rowAxes; ++a) {
    if (a < kMaxTileRowAxes) {
      step.addLevel(int(a));
    }
  }
}

static void addProducts(const Candidate &candidate, Sketch &sketch, const Product &product,
                        uint16_t operands, uint16_t acc) {
  double cycles = double(kBlock * kBlock) / candidate.priced->device->timing.ptMacsPerCycle;
  for (int part = 0; part < (product.hasTail ? 2 : 1); ++part) {
    SketchStep &multiply = sketch.add(Work::Matmul, Unit::Matrix, sketch.loops);
    multiply.cycles = cycles;
    multiply.reads = operands | acc;
    multiply.writes = acc;
    multiply.addLevel(int(product.nAxis));
    multiply.blockLevels = 1;
    if (part == 0) {
      multiply.addLevel(int(product.kAxis), 0, 1, product.hasTail ? 1 : 0);
      multiply.blockLevels = 2;
    } else {
      multiply.onlyTail = int8_t(product.kAxis);
    }
    addRows(multiply, product);
  }
}

static void addResults(const Candidate &candidate, Sketch &sketch, const Product &product,
                       size_t depth, uint16_t acc, uint16_t out, bool sliced) {
  const PricedKernel &priced = *candidate.priced;
  const arch::Timing &timing = priced.device->timing;
  addCombine(candidate, sketch, kC, depth, program::kMatmulAccBytes, acc);
  if (priced.tensor(kA).format == numerics::DataFormat::SenInt8) {
    SketchStep &convert = addLanes(candidate, sketch, kC, depth, 1, 2 * kStickBytes);
    convert.cycles = 32 / timing.sfpLanesPerCycle;
    convert.leaving = true;
    convert.addLevel(-1, 0, program::kMatmulAccBytes / kStickBytes);
    convert.reads = convert.writes = acc;
  }
  SketchStep &finish = addLanes(candidate, sketch, kC, depth, timing.sfpReductionFactor,
                                program::accBytes(priced.kernel.format) + kStickBytes);
  finish.leaving = true;
  finish.perStepOf = sliced ? int8_t(product.nAxis) : int8_t(-1);
  finish.reads = acc;
  finish.writes = out;
  if (!priced.tensor(kC).inLx) {
    SketchStep &store = sketch.add(Work::Transfer, Unit::Store, depth);
    store.leaving = true;
    store.perStepOf = finish.perStepOf;
    store.rates = &candidate.rates[kC];
    store.reads = out;
    sketch.addLevels(store, kC, true);
  }
}

bool sketchMatmul(const Candidate &candidate, Sketch &sketch) {
  const PricedKernel &priced = *candidate.priced;
  Product product;
  product.kDim = size_t(priced.kernel.inputStickDim);
  product.nDim = size_t(priced.kernel.stickDim);
  addAxes(candidate, sketch, product);
  AxisTable &table = sketch.table;
  MatmulShape shape = shapeOf(candidate, sketch, product);
  std::optional<MatmulTiles> tiles = chooseMatmulTiles(shape, *priced.device);
  if (!tiles) {
    return false;
  }
  std::array<int64_t, MatmulShape::kMaxAxes> tile;
  std::array<uint8_t, MatmulShape::kMaxAxes> order;
  setMatmulTiles(shape, *tiles, tile);
  sketch.loops = matmulLoops(shape, tile, tiles->rowsOutside, order);
  for (size_t i = 0; i < sketch.loops; ++i) {
    sketch.loop[i] = order[i];
  }
  for (size_t a = 0; a < table.axes; ++a) {
    table.axis[a].tile = tile[a];
  }
  size_t accDepth = sketch.loops - table.axis[product.kAxis].tiled();
  auto results = double(table.tileSteps(kC));
  uint16_t a =
      shape.aInLx ? uint16_t(0) : sketch.addBuffer(double(table.tileSteps(kA) * kStickBytes), kA);
  if (!shape.aInLx && product.hasTail) {
    sketch.buffer[0].readApart = int(product.kAxis);
  }
  int bLayout = sketch.addLayout();
  table.stride[size_t(bLayout)][product.kAxis] = 1;
  table.stride[size_t(bLayout)][product.nAxis] = 2;
  uint16_t b = shape.bInLx ? uint16_t(0)
                           : sketch.addBuffer(double(table.tileSteps(kB) * kBlock * kStickBytes),
                                              leavesGaps(table, product) ? kNeverDoubled : bLayout);
  uint16_t acc = sketch.addBuffer(results * program::kMatmulAccBytes, kC);
  uint16_t out = 0;
  if (!shape.cInLx) {
    int layout = sketch.addLayout();
    table.stride[size_t(layout)] = table.stride[kC];
    int64_t &alongN = table.stride[size_t(layout)][product.nAxis];
    alongN = tiles->sliced ? 0 : alongN;
    out = sketch.addBuffer(
        results * kStickBytes / double(tiles->sliced ? table.axis[product.nAxis].tile : 1), layout);
  }
  SketchStep &fill = addLanes(candidate, sketch, kC, accDepth, 1, kStickBytes);
  fill.addLevel(-1, 0, program::kMatmulAccBytes / kStickBytes);
  fill.writes = acc;
  if (!shape.aInLx) {
    addLoad(candidate, sketch, kA, kA, sketch.depthOf(kA), a);
  }
  if (!shape.bInLx) {
    SketchStep &load = sketch.add(Work::Transfer, Unit::Load, sketch.depthOf(kB));
    load.rates = &candidate.rates[kB];
    load.writes = b;
    load.addLevel(int(product.nAxis), table.stride[kB][product.nAxis]);
    load.addLevel(int(product.kAxis), product.bRowBytes, kBlock, product.lackingRows);
    if (product.hasTail && candidate.reducedSlices() > 1) {
      load.fewer = &candidate.fewerRates;
      load.fewerAxis = int8_t(product.kAxis);
    }
  }
  addProducts(candidate, sketch, product, a | b, acc);
  addResults(candidate, sketch, product, accDepth, acc, out, tiles->sliced);
  return true;
}

} // namespace spyre::costmodel
