//===- MatmulKernel.cpp - register-blocked multiply-add, one kernel per class of host -------===//
//
// A tile of several rows of accumulators stays in registers over all k; each row of B is loaded
// once per tile and k, each value of A is broadcast. Twelve or more independent chains of fused
// multiply-adds hide their latency. The tile is a template over its rows, so that the last rows of
// a block run in registers too.
//===--------------------------------------------------------------------------------------------===//
#include "MatmulKernel.h"

#include "spyre/Numerics/Functions.h"

#include <array>

#if defined(__x86_64__) && defined(__GNUC__)
#define SPYRE_X86_KERNELS 1
#include <immintrin.h>
#else
#define SPYRE_X86_KERNELS 0
#endif

namespace spyre::sim {

namespace {

struct Operands {
  const float *a;
  int64_t aStride;
  const float *b;
  float *acc;
  int64_t accStride;
  int64_t depth;
};

using Tile = void (*)(const Operands &operands);

} // namespace

/// Rows in tiles of as many as \p tiles has entries; tiles[i] does i + 1 rows.
template <size_t kTileRows>
static inline void forEachTile(Operands operands, int64_t rows,
                               const std::array<Tile, kTileRows> &tiles) {
  while (rows > 0) {
    int64_t now = rows < int64_t(kTileRows) ? rows : int64_t(kTileRows);
    tiles[size_t(now - 1)](operands);
    operands.a += now * operands.aStride;
    operands.acc += now * operands.accStride;
    rows -= now;
  }
}

/// Without a fused instruction this calls the C library's fmaf: slow, but correctly rounded.
static void portableRows(const float *a, int64_t aStride, const float *b, float *acc,
                         int64_t accStride, int64_t rows, int64_t depth) {
  for (int64_t m = 0; m < rows; ++m) {
    float sum[kMatmulLanes];
    float *out = acc + m * accStride;
    for (int64_t n = 0; n < kMatmulLanes; ++n) {
      sum[n] = out[n];
    }
    for (int64_t k = 0; k < depth; ++k) {
      float factor = a[m * aStride + k];
      for (int64_t n = 0; n < kMatmulLanes; ++n) {
        sum[n] = __builtin_fmaf(factor, b[k * kMatmulLanes + n], sum[n]);
      }
    }
    // A NaN stays one through all later k, so making it the one NaN at the end is enough.
    for (int64_t n = 0; n < kMatmulLanes; ++n) {
      out[n] = numerics::canonicalNan(sum[n]);
    }
  }
}

#if SPYRE_X86_KERNELS

//===- AVX-512: 6 rows x 64 lanes = 24 accumulators, 4 registers of B, 1 of A ---------------===//

template <int64_t kRows>
__attribute__((target("avx512f"))) static void avx512Tile(const Operands &operands) {
  constexpr int64_t kVectors = 4, kWidth = 16;
  __m512 sums[kRows][kVectors];
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t v = 0; v < kVectors; ++v) {
      sums[m][v] = _mm512_loadu_ps(operands.acc + m * operands.accStride + v * kWidth);
    }
  }
  for (int64_t k = 0; k < operands.depth; ++k) {
    __m512 row[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      row[v] = _mm512_loadu_ps(operands.b + k * kMatmulLanes + v * kWidth);
    }
    for (int64_t m = 0; m < kRows; ++m) {
      __m512 factor = _mm512_set1_ps(operands.a[m * operands.aStride + k]);
      for (int64_t v = 0; v < kVectors; ++v) {
        sums[m][v] = _mm512_fmadd_ps(factor, row[v], sums[m][v]);
      }
    }
  }
  const __m512 nan = _mm512_set1_ps(std::numeric_limits<float>::quiet_NaN());
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t v = 0; v < kVectors; ++v) {
      __mmask16 unordered = _mm512_cmp_ps_mask(sums[m][v], sums[m][v], _CMP_UNORD_Q);
      _mm512_storeu_ps(operands.acc + m * operands.accStride + v * kWidth,
                       _mm512_mask_mov_ps(sums[m][v], unordered, nan));
    }
  }
}

static void avx512Rows(const float *a, int64_t aStride, const float *b, float *acc,
                       int64_t accStride, int64_t rows, int64_t depth) {
  static constexpr std::array<Tile, 6> kTiles = {avx512Tile<1>, avx512Tile<2>, avx512Tile<3>,
                                                 avx512Tile<4>, avx512Tile<5>, avx512Tile<6>};
  forEachTile({a, aStride, b, acc, accStride, depth}, rows, kTiles);
}

//===- AVX2: 6 rows x 16 lanes = 12 accumulators, 2 registers of B, 1 of A, four times ------===//

template <int64_t kRows>
__attribute__((target("avx2,fma"))) static void avx2Tile(const Operands &operands) {
  constexpr int64_t kVectors = 2, kWidth = 8;
  const __m256 nan = _mm256_set1_ps(std::numeric_limits<float>::quiet_NaN());
  for (int64_t lane = 0; lane < kMatmulLanes; lane += kVectors * kWidth) {
    __m256 sums[kRows][kVectors];
    float *acc = operands.acc + lane;
    for (int64_t m = 0; m < kRows; ++m) {
      for (int64_t v = 0; v < kVectors; ++v) {
        sums[m][v] = _mm256_loadu_ps(acc + m * operands.accStride + v * kWidth);
      }
    }
    for (int64_t k = 0; k < operands.depth; ++k) {
      __m256 row[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) {
        row[v] = _mm256_loadu_ps(operands.b + k * kMatmulLanes + lane + v * kWidth);
      }
      for (int64_t m = 0; m < kRows; ++m) {
        __m256 factor = _mm256_broadcast_ss(operands.a + m * operands.aStride + k);
        for (int64_t v = 0; v < kVectors; ++v) {
          sums[m][v] = _mm256_fmadd_ps(factor, row[v], sums[m][v]);
        }
      }
    }
    for (int64_t m = 0; m < kRows; ++m) {
      for (int64_t v = 0; v < kVectors; ++v) {
        __m256 unordered = _mm256_cmp_ps(sums[m][v], sums[m][v], _CMP_UNORD_Q);
        _mm256_storeu_ps(acc + m * operands.accStride + v * kWidth,
                         _mm256_blendv_ps(sums[m][v], nan, unordered));
      }
    }
  }
}

static void avx2Rows(const float *a, int64_t aStride, const float *b, float *acc, int64_t accStride,
                     int64_t rows, int64_t depth) {
  static constexpr std::array<Tile, 6> kTiles = {avx2Tile<1>, avx2Tile<2>, avx2Tile<3>,
                                                 avx2Tile<4>, avx2Tile<5>, avx2Tile<6>};
  forEachTile({a, aStride, b, acc, accStride, depth}, rows, kTiles);
}

#endif // SPYRE_X86_KERNELS

namespace {

struct VariantList {
  std::array<MatmulVariant, 3> variants{};
  size_t count = 0;

  VariantList() {
#if SPYRE_X86_KERNELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
      variants[count++] = {"avx512", avx512Rows};
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      variants[count++] = {"avx2", avx2Rows};
    }
#endif
    variants[count++] = {"portable", portableRows};
  }
};

} // namespace

std::span<const MatmulVariant> matmulVariants() {
  static const VariantList list;
  return {list.variants.data(), list.count};
}

void matmulRows(const float *a, int64_t aStride, const float *b, float *acc, int64_t accStride,
                int64_t rows, int64_t depth) {
  static const MatmulKernel kernel = matmulVariants().front().run;
  kernel(a, aStride, b, acc, accStride, rows, depth);
}

} // namespace spyre::sim
