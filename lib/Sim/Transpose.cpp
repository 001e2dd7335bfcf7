//===- Transpose.cpp - transposes of blocks -------------------------------------------------===//
#include "Transpose.h"

#include <algorithm>
#include <cstring>

namespace spyre::sim {

static constexpr int64_t kStickBytes = 128;

/// Eight 16-bit lanes; the compiler has an instruction for each interleave on every host we know.
using Lanes = uint16_t __attribute__((vector_size(16)));

/// 8 x 8 elements: three rounds that interleave each row of the upper half with one of the lower.
static void transposeBlock(const uint8_t *from, uint8_t *to) {
  Lanes rows[8], pairs[8];
  for (int i = 0; i < 8; ++i) {
    std::memcpy(&rows[i], from + i * kStickBytes, sizeof(Lanes));
  }
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    pairs[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (int i = 0; i < 4; ++i) {
    rows[2 * i] = __builtin_shufflevector(pairs[i], pairs[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    rows[2 * i + 1] = __builtin_shufflevector(pairs[i], pairs[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    pairs[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; ++i) {
    std::memcpy(to + i * kStickBytes, &pairs[i], sizeof(Lanes));
  }
}

void transposeSticks(const uint8_t *from, uint8_t *to) {
  constexpr int64_t kBlockBytes = 16, kBlockLanes = 8;
  for (int64_t row = 0; row < kTransposeLanes / kBlockLanes; ++row) {
    for (int64_t column = 0; column < kTransposeLanes / kBlockLanes; ++column) {
      transposeBlock(from + row * kBlockLanes * kStickBytes + column * kBlockBytes,
                     to + column * kBlockLanes * kStickBytes + row * kBlockBytes);
    }
  }
}

/// Swaps the off-diagonal quarters of ever smaller squares.
void transposeBits(const uint64_t *from, uint64_t *to) {
  std::copy_n(from, kTransposeLanes, to);
  uint64_t mask = 0x00000000FFFFFFFF;
  for (int64_t half = 32; half > 0; half /= 2, mask ^= mask << half) {
    for (int64_t row = 0; row < kTransposeLanes; row = (row + half + 1) & ~half) {
      uint64_t difference = (to[row] >> half ^ to[row + half]) & mask;
      to[row] ^= difference << half;
      to[row + half] ^= difference;
    }
  }
}

} // namespace spyre::sim
