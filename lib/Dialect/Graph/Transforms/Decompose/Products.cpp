//===- Products.cpp - products of 32-bit matrices, which the matrix unit does not take ------===//
//
// c[m, n] is the sum over k of a[m, k] * b[k, n], both on the vector unit: a product with the
// dimensions [.., m, k, n], then a sum over k. The product is k times as large as the result, so
// it is made in tiles of rows, each small enough for the scratchpads of all cores; where a row
// alone is larger than that, tiles are single rows. Every element of the result is one sum of all
// its terms, whatever the tiles.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/DeviceLayout.h"

#include "Calls.h"

#include <algorithm>

namespace spyre::graph {

using mlir::Value;

/// Elements of a product that 32 cores hold in half a MiB each.
static constexpr int64_t kTileElems = int64_t(1) << 22;
/// More tiles than these make the program long and save nothing.
static constexpr int64_t kMostTiles = 64;
/// A tile beyond this fits no memory.
static constexpr int64_t kLargestTileElems = int64_t(1) << 31;

static Value unsqueezed(Calls &calls, Value x, int64_t dim) {
  std::vector<int64_t> shape = shapeOf(x);
  shape.insert(shape.begin() + dim, 1);
  return calls.reshape(x, shape);
}

/// Sum over k of the products of some rows of a with b, in the rank of the operands.
static Value sumOfProducts(Calls &calls, Value a, Value b) {
  const int64_t rank = rankOf(a);
  std::vector<int64_t> shape = shapeOf(a);
  shape.back() = shapeOf(b).back();
  if (shapeOf(a).back() == 1) {
    return calls.mul(a, b);
  }
  Value product = calls.mul(unsqueezed(calls, a, rank), unsqueezed(calls, b, rank - 2));
  return calls.reshape(calls.reduce("aten.sum.dim_IntList", product, rank - 1), shape);
}

/// Batches joined to one dimension, where the product would have too many.
static Value withOneBatch(Calls &calls, Value x) {
  std::vector<int64_t> shape = shapeOf(x);
  const int64_t rank = rankOf(x);
  int64_t batch = 1;
  for (int64_t d = 0; d + 2 < rank; ++d) {
    batch *= shape[size_t(d)];
  }
  return calls.reshape(x, {batch, shape[size_t(rank - 2)], shape.back()});
}

Expected<Value> wideProduct(CallOp call, Calls &calls) {
  Value a = call.getOperand(0), b = call.getOperand(1);
  if (rankOf(a) + 1 > layout::kMaxRank) {
    a = withOneBatch(calls, a);
    b = withOneBatch(calls, b);
  }
  const int64_t rank = rankOf(a), rows = shapeOf(a)[size_t(rank - 2)];
  int64_t elemsPerRow = shapeOf(b).back();
  for (int64_t d = 0; d < rank; ++d) {
    elemsPerRow *= d == rank - 2 ? 1 : shapeOf(a)[size_t(d)];
  }
  const int64_t fitting = std::max<int64_t>(kTileElems / elemsPerRow, 1);
  const int64_t rowsPerTile =
      std::min(rows, std::max(fitting, (rows + kMostTiles - 1) / kMostTiles));
  if (elemsPerRow > kLargestTileElems / rowsPerTile) {
    return error<1004>(
        "{} in 32 bits: a tile of {} rows has more than {} products; use f16 or bf16, or "
        "multiply in parts",
        call.getCallee().str(), rowsPerTile, kLargestTileElems);
  }
  std::vector<Value> tiles;
  for (int64_t row = 0; row < rows; row += rowsPerTile) {
    const int64_t end = std::min(rows, row + rowsPerTile);
    Value tile = end - row == rows ? a : calls.slice(a, rank - 2, row, end);
    tiles.push_back(sumOfProducts(calls, tile, b));
  }
  Value joined = tiles.size() == 1 ? tiles.front() : calls.cat(tiles, rank - 2);
  return calls.reshape(joined, shapeOf(call.getResult()));
}

} // namespace spyre::graph
