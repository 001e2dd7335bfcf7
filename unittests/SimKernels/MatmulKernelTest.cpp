//===- MatmulKernelTest.cpp - every matmul kernel of this host against a scalar loop --------===//
#include "Sim/MatmulKernel.h"

#include "KernelSamples.h"
#include "gtest/gtest.h"

#include <string>

namespace spyre::sim {
namespace {

struct Shape {
  int64_t rows, depth, aStride, accStride;
};

struct Case {
  Shape shape;
  std::vector<float> a, b, acc;
};

Case makeCase(Random &random, const Shape &shape, uint64_t specialEvery) {
  return {shape, anyFloats(random, shape.rows * shape.aStride + shape.depth, specialEvery),
          anyFloats(random, shape.depth * kMatmulLanes, specialEvery),
          anyFloats(random, shape.rows * shape.accStride + kMatmulLanes, specialEvery)};
}

/// The definition, one scalar after the other.
std::vector<float> expected(const Case &c) {
  std::vector<float> acc = c.acc;
  for (int64_t m = 0; m < c.shape.rows; ++m) {
    for (int64_t n = 0; n < kMatmulLanes; ++n) {
      float &sum = acc[size_t(m * c.shape.accStride + n)];
      for (int64_t k = 0; k < c.shape.depth; ++k) {
        sum = __builtin_fmaf(c.a[size_t(m * c.shape.aStride + k)],
                             c.b[size_t(k * kMatmulLanes + n)], sum);
      }
      if (sum != sum) {
        sum = std::bit_cast<float>(0x7FC00000u);
      }
    }
  }
  return acc;
}

void expectSameBits(const std::vector<float> &got, const std::vector<float> &wanted,
                    const std::string &what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(wanted[i]))
        << what << " at " << i << ": " << got[i] << " instead of " << wanted[i];
  }
}

void checkAllVariants(const Case &c) {
  std::vector<float> wanted = expected(c);
  for (const MatmulVariant &variant : matmulVariants()) {
    std::vector<float> got = c.acc;
    variant.run(c.a.data(), c.shape.aStride, c.b.data(), got.data(), c.shape.accStride,
                c.shape.rows, c.shape.depth);
    expectSameBits(got, wanted,
                   std::string(variant.name) + ", rows " + std::to_string(c.shape.rows) +
                       ", depth " + std::to_string(c.shape.depth));
  }
}

TEST(MatmulKernel, EveryVariantEqualsAScalarLoop) {
  Random random(11);
  for (int i = 0; i < 60; ++i) {
    Shape shape;
    shape.rows = random.between(1, i < 40 ? 20 : 200);
    shape.depth = random.between(1, 128);
    shape.aStride = shape.depth + random.between(0, 9);
    shape.accStride = kMatmulLanes + random.between(0, 70);
    checkAllVariants(makeCase(random, shape, 1 << 20));
  }
}

TEST(MatmulKernel, EveryNumberOfRowsLeavesTheRestAlone) {
  Random random(12);
  for (int64_t rows = 0; rows <= 26; ++rows) {
    checkAllVariants(makeCase(random, {rows, 5, 7, kMatmulLanes + 3}, 1 << 20));
  }
  checkAllVariants(makeCase(random, {9, 0, 1, kMatmulLanes}, 4));
}

// Rows of A may lie closer than the depth (a sliding window) or all be the same.
TEST(MatmulKernel, RowsOfAMayOverlap) {
  Random random(13);
  checkAllVariants(makeCase(random, {13, 64, 1, kMatmulLanes}, 1 << 20));
  checkAllVariants(makeCase(random, {13, 64, 0, kMatmulLanes}, 1 << 20));
}

// From nearly all special to a few: with many, every sum is NaN.
TEST(MatmulKernel, SpecialValuesGiveTheBitsOfTheScalarLoop) {
  Random random(14);
  for (uint64_t specialEvery : {2, 20, 200, 2000}) {
    for (int i = 0; i < 6; ++i) {
      Shape shape{random.between(1, 14), random.between(1, 128), 128, kMatmulLanes};
      checkAllVariants(makeCase(random, shape, specialEvery));
    }
  }
}

// Products and sums that are subnormal: a host in a mode that flushes them would fail.
TEST(MatmulKernel, SubnormalsAreNotFlushed) {
  Case c{{7, 3, 3, kMatmulLanes}, {}, {}, {}};
  c.a.assign(21, 0x1p-70f);
  c.b.assign(3 * kMatmulLanes, 0x1.8p-70f);
  c.acc.assign(7 * kMatmulLanes, 0x1p-149f);
  checkAllVariants(c);
  EXPECT_NE(expected(c)[0], 0.0f);
}

TEST(MatmulKernel, UsesTheFirstVariantAndThePortableOneIsLast) {
  ASSERT_FALSE(matmulVariants().empty());
  EXPECT_STREQ(matmulVariants().back().name, "portable");
  Random random(15);
  Case c = makeCase(random, {8, 64, 64, kMatmulLanes}, 1 << 20);
  std::vector<float> got = c.acc;
  matmulRows(c.a.data(), 64, c.b.data(), got.data(), kMatmulLanes, 8, 64);
  expectSameBits(got, expected(c), "matmulRows");
}

} // namespace
} // namespace spyre::sim
