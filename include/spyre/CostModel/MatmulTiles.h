//===- MatmulTiles.h - tiles of a matrix product --------------------------------------------===//
//
// The cheapest of all tilings that fit the staging area, in cycles of one core (Rates.h). The back
// end lowers what is chosen here and planners price it, so they cannot differ.
//
// Axes: rows (innermost in A first), batches, n in sticks, k in steps of a stick of A. A tile has
// whole runs of row axes, one batch, and parts of n and k; k is always the innermost loop.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"

#include <array>
#include <cstdint>
#include <optional>

namespace spyre::costmodel {

struct MatmulShape {
  static constexpr size_t kMaxAxes = 32;
  /// Row axes first (as many as `rowAxes`), then batch axes, n, k.
  size_t axes = 0, rowAxes = 0;
  std::array<int64_t, kMaxAxes> count{};
  /// Bit a: the operand moves along axis a.
  uint32_t aAxes = 0, bAxes = 0, cAxes = 0;
  bool aInLx = false, bInLx = false, cInLx = false;
  int64_t aReaders = 1, bReaders = 1, cores = 1;
  int64_t stagingBytes = 0;
  /// Of a result stick.
  int64_t lanes = 64;
  /// Sums are integers that have to be converted.
  bool integers = false;

  size_t nAxis() const { return axes - 2; }
  size_t kAxis() const { return axes - 1; }
};

struct MatmulTiles {
  int64_t rows = 1, n = 1, k = 1;
  bool rowsOutside = true;
  double cycles = 0;
  /// Results are rounded and stored one n step after the other, through room for one.
  bool sliced = false;
};

/// A Matmul walks k, n and at most this many row axes inside one tile.
constexpr size_t kMaxTileRowAxes = 4;

/// Steps of a tile along every axis.
void setMatmulTiles(const MatmulShape &shape, const MatmulTiles &tiles,
                    std::array<int64_t, MatmulShape::kMaxAxes> &tile);
/// Tiled axes, outermost first; returns how many.
size_t matmulLoops(const MatmulShape &shape, const std::array<int64_t, MatmulShape::kMaxAxes> &tile,
                   bool rowsOutside, std::array<uint8_t, MatmulShape::kMaxAxes> &order);
/// Staging bytes of a tile with one copy of everything.
int64_t matmulStagingBytes(const MatmulShape &shape, const MatmulTiles &tiles);

/// None when not even the smallest tiles fit.
std::optional<MatmulTiles> chooseMatmulTiles(const MatmulShape &shape,
                                             const arch::DeviceDesc &device);

} // namespace spyre::costmodel
