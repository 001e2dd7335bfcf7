//===- DimOrderTest.cpp - a recovered order rebuilds the same layout ------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"
#include "spyre/Layout/DeviceLayout.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

namespace spyre::layout {
namespace {

using numerics::HostType;
using Ints = std::vector<int64_t>;

TEST(DimOrder, DistinctDimensionsGiveTheOriginalOrder) {
  Ints size = {3, 70, 5, 130}, stride = rowMajorStrides(size), order = {0, 1, 2, 3};
  do {
    for (bool sparse : {false, true}) {
      Ints full = order;
      if (sparse) {
        full.push_back(-1);
      }
      auto layout = DeviceLayout::make(size, stride, HostType::Float16, full);
      ASSERT_TRUE(layout.ok());
      auto recovered = layout->recoverDimOrder(size, stride);
      ASSERT_TRUE(recovered.ok()) << recovered.status().message();
      EXPECT_EQ(*recovered, full);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DimOrder, RandomLayoutsAreReproduced) {
  const int64_t sizes[] = {0, 1, 1, 2, 2, 3, 60, 64, 65, 130};
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    size_t rank = random.below(9);
    Ints size(rank), order(rank), memoryOrder(rank), stride(rank);
    int64_t elems = 1;
    for (size_t i = 0; i < rank; ++i) {
      size[i] = sizes[random.below(elems < 100000 ? 10 : 6)];
      elems *= std::max<int64_t>(size[i], 1);
    }
    std::iota(order.begin(), order.end(), 0);
    memoryOrder = order;
    for (size_t i = rank; i-- > 1;) {
      std::swap(order[i], order[random.below(i + 1)]);
      std::swap(memoryOrder[i], memoryOrder[random.below(i + 1)]);
    }
    int64_t next = 1;
    for (int64_t dim : memoryOrder) {
      stride[size_t(dim)] = random.below(12) == 0 ? 0 : next; // Some expanded dimensions.
      next *= std::max<int64_t>(size[size_t(dim)], 1);
    }
    if (random.below(4) == 0) {
      order.push_back(-1);
    }
    auto layout = DeviceLayout::make(size, stride, HostType::Float16, order);
    ASSERT_TRUE(layout.ok()) << layout.status().message();
    auto recovered = layout->recoverDimOrder(size, stride);
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    auto rebuilt = DeviceLayout::make(size, stride, HostType::Float16, *recovered);
    ASSERT_TRUE(rebuilt.ok());
    ASSERT_EQ(*rebuilt, *layout) << "round " << round;
  }
}

TEST(DimOrder, EqualDimensionsKeepTheirNaturalOrder) {
  Ints size = {1, 5, 1, 1, 1}, stride = rowMajorStrides(size);
  auto layout = DeviceLayout::makeDefault(size, HostType::Float16);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(*layout->recoverDimOrder(size, stride), (Ints{0, 1, 2, 3, 4}));
  auto scalar = DeviceLayout::makeDefault({}, HostType::Float16);
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(*scalar->recoverDimOrder({}, {}), Ints{});
}

TEST(DimOrder, ExpertLayoutsHaveNone) {
  auto format = numerics::DataFormat::Sen169Fp16;
  auto code = [](const DeviceLayout &layout, const Ints &size) {
    return layout.recoverDimOrder(size, rowMajorStrides(size)).status().code();
  };
  EXPECT_EQ(code({{38, 64}, {64, 1}, format}, {40, 60}), 2007);
  EXPECT_EQ(code({{1, 2, 64}, {64, 30, 1}, format}, {60}), 2007);
  EXPECT_EQ(code({{4, 512, 64}, {64, 240, 1}, format}, {40, 240}), 2007);
  EXPECT_EQ(code({{2, 40, 64}, {64, 121, 1}, format}, {40, 120}), 2007);
  EXPECT_EQ(code({{1, 64}, {64, 1}, format}, {}), 2007);
  EXPECT_EQ(code(DeviceLayout(), {40, 60}), 2007);
  DeviceLayout layout{{2, 40, 64}, {64, 120, 1}, format};
  EXPECT_EQ(layout.recoverDimOrder({40, 120}, {1}).status().code(), 2007);
  EXPECT_EQ(layout.recoverDimOrder(Ints(9, 1), Ints(9, 1)).status().code(), 2007);
}

} // namespace
} // namespace spyre::layout
