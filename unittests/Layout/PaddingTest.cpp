//===- PaddingTest.cpp - masks against the definition, stick by stick -----------------------===//
#include "spyre/Layout/Padding.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"
#include "spyre/Layout/Coordinates.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

namespace spyre::layout {
namespace {

using numerics::DataFormat;
using numerics::HostType;
using Ints = std::vector<int64_t>;
using Masks = std::vector<uint64_t>;

/// Every position by itself: a half-word is padding when no element of it maps to the host.
Masks slowPadding(const DeviceLayout &layout, const Ints &size, const Ints &stride) {
  auto map = CoordinateMap::make(layout, size, stride);
  EXPECT_TRUE(map.ok()) << map.status().message();
  Masks masks(size_t(layout.sticks()), ~uint64_t(0));
  Ints at(layout.deviceSize.size(), 0);
  const int64_t elems = layout.elemsPerStick();
  for (int64_t position = 0; position < layout.sticks() * elems; ++position) {
    if (!map->isPadding(at)) {
      int64_t firstBit = at.back() * 1024 / elems;
      int64_t lastBit = (at.back() + 1) * 1024 / elems - 1;
      for (int64_t half = firstBit / 16; half <= lastBit / 16; ++half) {
        masks[size_t(position / elems)] &= ~(uint64_t(1) << half);
      }
    }
    for (size_t i = at.size(); i-- > 0 && ++at[i] == layout.deviceSize[i];) {
      at[i] = 0;
    }
  }
  bool none = std::all_of(masks.begin(), masks.end(), [](uint64_t mask) { return mask == 0; });
  return none ? Masks() : masks;
}

void check(const DeviceLayout &layout, const Ints &size, const Ints &stride) {
  SCOPED_TRACE(layout.toString() + fmt::format(" host {}", fmt::join(size, ",")));
  auto masks = stickPadding(layout, size, stride);
  ASSERT_TRUE(masks.ok()) << masks.status().message();
  ASSERT_EQ(*masks, slowPadding(layout, size, stride));
}

Masks defaultPadding(const Ints &size, HostType type) {
  auto layout = DeviceLayout::makeDefault(size, type);
  EXPECT_TRUE(layout.ok());
  auto masks = stickPadding(*layout, size, rowMajorStrides(size));
  EXPECT_TRUE(masks.ok());
  return *masks;
}

TEST(Padding, OfTheLastStickColumn) {
  Masks expected(1536, 0);
  expected.resize(2048, 0xFFFF000000000000ull);
  EXPECT_EQ(defaultPadding({512, 240}, HostType::Float16), expected);
}

TEST(Padding, OfEveryElementWidth) {
  EXPECT_EQ(defaultPadding({60}, HostType::Float16), Masks{0xF000000000000000ull});
  EXPECT_EQ(defaultPadding({30}, HostType::Float32), Masks{0xF000000000000000ull});
  EXPECT_EQ(defaultPadding({120}, HostType::Int8), Masks{0xF000000000000000ull});
  // An odd number of bytes: the last half-word holds an element.
  EXPECT_EQ(defaultPadding({121}, HostType::Int8), Masks{0xE000000000000000ull});
  EXPECT_EQ(defaultPadding({127}, HostType::Int8), Masks());
  DeviceLayout nibbles{{1, 256}, {256, 1}, DataFormat::SenInt4};
  EXPECT_EQ(*stickPadding(nibbles, {237}, {1}), Masks{0xF000000000000000ull});
  EXPECT_EQ(*stickPadding(nibbles, {253}, {1}), Masks());
  // One element per stick, and a scalar.
  EXPECT_EQ(defaultPadding({3, 1}, HostType::Float16), Masks(3, ~uint64_t(1)));
  EXPECT_EQ(defaultPadding({}, HostType::Float32), Masks{~uint64_t(3)});
}

TEST(Padding, OfAlignedTensorsIsEmpty) {
  for (const Ints &size : {Ints{64}, Ints{512, 256}, Ints{3, 5, 128}, Ints{1, 1, 64}, Ints{0, 7}}) {
    EXPECT_EQ(defaultPadding(size, HostType::Float16), Masks());
  }
  DeviceLayout rows{{1, 512, 64}, {64, 0, 1}, DataFormat::Sen169Fp16};
  EXPECT_EQ(*stickPadding(rows, {64}, {1}), Masks());
  DeviceLayout lanes{{3, 64}, {1, 0}, DataFormat::Sen169Fp16};
  EXPECT_EQ(*stickPadding(lanes, {3}, {1}), Masks());
}

TEST(Padding, OfATensorWithoutElements) {
  DeviceLayout layout{{2, 64}, {64, 1}, DataFormat::Sen169Fp16};
  EXPECT_EQ(*stickPadding(layout, {0}, {1}), Masks(2, ~uint64_t(0)));
}

TEST(Padding, ExpertLayouts) {
  const std::vector<std::tuple<Ints, Ints, Ints>> rows = {
      {{40, 240}, {4, 512, 64}, {64, 240, 1}},
      {{40, 60}, {38, 64}, {64, 1}},
      {{60}, {1, 60, 64}, {64, 1, 1}},
      {{60}, {2, 1, 2, 64}, {15, 64, 30, 1}},
      {{60}, {1, 512, 64}, {64, 0, 1}},
      {{60}, {7, 1, 3, 64}, {0, 64, 0, 1}},
      {{4800}, {3, 2, 14, 64}, {120, 64, 360, 1}},
      {{40, 60}, {24, 1, 2, 64}, {60, 64, 1440, 1}},
      {{40, 60}, {3, 4, 3, 1, 2, 64}, {600, 180, 60, 64, 1800, 1}},
      {{3}, {5, 7, 64}, {1, 0, 0}},
      {{60}, {64}, {1}},
  };
  for (const auto &[size, deviceSize, strideMap] : rows) {
    check({deviceSize, strideMap, DataFormat::Sen169Fp16}, size, rowMajorStrides(size));
  }
}

TEST(Padding, RandomLayoutsFollowTheDefinition) {
  const HostType types[] = {HostType::Float16, HostType::Float32, HostType::Int8, HostType::Int64};
  const int64_t sizes[] = {1, 2, 3, 5, 31, 64, 70, 128};
  Random random(71);
  int enlarged = 0;
  for (int round = 0; round < 400; ++round) {
    Ints size(random.below(9));
    int64_t elems = 1;
    for (int64_t &extent : size) {
      extent = sizes[random.below(elems < 50 ? 8 : elems < 200 ? 3 : 1)];
      elems *= extent;
    }
    Ints order = DeviceLayout::genericStickDimOrder(int64_t(size.size()));
    for (size_t i = order.size(); i-- > 1;) {
      std::swap(order[i], order[random.below(i + 1)]);
    }
    if (random.below(5) == 0) {
      order.push_back(-1);
    }
    Ints stride = rowMajorStrides(size);
    auto layout = DeviceLayout::make(size, stride, types[random.below(4)], order);
    ASSERT_TRUE(layout.ok());
    const DeviceLayout plain = *layout;
    for (size_t i = 0; i + 1 < layout->deviceSize.size() && random.below(3) == 0; ++i) {
      // More room than needed, and copies along a dimension without a host counterpart.
      ++layout->deviceSize[i];
      layout->strideMap[i] =
          layout->strideMap[i] == -1 && random.below(2) == 0 ? 0 : layout->strideMap[i];
    }
    if (*layout != plain && !stickPadding(*layout, size, stride).ok()) {
      continue; // The room belongs to another host dimension.
    }
    enlarged += *layout != plain;
    ASSERT_NO_FATAL_FAILURE(check(*layout, size, stride));
  }
  EXPECT_GT(enlarged, 50);
}

TEST(Padding, LayoutsOfOtherTensorsAreRefused) {
  DeviceLayout layout{{2, 64}, {64, 1}, DataFormat::Sen169Fp16};
  EXPECT_EQ(stickPadding(layout, {129}, {1}).status().code(), 2009);
  EXPECT_EQ(stickPadding(layout, {120}, {}).status().code(), 2009);
  layout.arrangement = ElementArrangement::Exx2;
  EXPECT_EQ(stickPadding(layout, {120}, {1}).status().code(), 2009);
}

} // namespace
} // namespace spyre::layout
