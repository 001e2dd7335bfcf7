//===- CoordinatesTest.cpp - positions agree with the transfer, in both directions ----------===//
#include "spyre/Layout/Coordinates.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"
#include "spyre/Layout/Transfer.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace spyre::layout {
namespace {

using numerics::DataFormat;
using numerics::HostType;
using Ints = std::vector<int64_t>;

CoordinateMap mapOf(const DeviceLayout &layout, const Ints &size, const Ints &stride) {
  auto map = CoordinateMap::make(layout, size, stride);
  EXPECT_TRUE(map.ok()) << map.status().message();
  return *map;
}

/// Steps \p at through a box; false after the last position.
bool advance(const Ints &size, Ints &at) {
  for (size_t i = at.size(); i-- > 0;) {
    if (++at[i] < size[i]) {
      return true;
    }
    at[i] = 0;
  }
  return false;
}

TEST(Coordinates, PositionsOfAPaddedMatrix) {
  auto layout = DeviceLayout::makeDefault({512, 240}, HostType::Float16);
  ASSERT_TRUE(layout.ok());
  CoordinateMap map = mapOf(*layout, {512, 240}, {240, 1});
  EXPECT_EQ(*map.deviceCoordinatesOf({7, 239}), (Ints{3, 7, 47}));
  EXPECT_EQ(map.hostOffsetOf({3, 7, 47}), 7 * 240 + 239);
  EXPECT_TRUE(map.isPadding({3, 7, 48}));
  EXPECT_FALSE(map.isPadding({3, 7, 47}));
  EXPECT_FALSE(map.isPadding({2, 511, 63}));
  EXPECT_TRUE(map.isPadding({4, 0, 0}));
  EXPECT_TRUE(map.isPadding({0, 0}));
  EXPECT_TRUE(map.isPadding({0, 0, -1}));
  EXPECT_EQ(*deviceByteOffsetOf(*layout, {3, 7, 47}), (3 * 512 + 7) * 128 + 94);
  EXPECT_EQ(*coordinatesAtByte(*layout, (3 * 512 + 7) * 128 + 95), (Ints{3, 7, 47}));
  EXPECT_EQ(*deviceCoordinatesOf(*layout, {512, 240}, {240, 1}, {0, 64}), (Ints{1, 0, 0}));
}

TEST(Coordinates, TheIdentityNeedsNoHostShape) {
  DeviceLayout layout{{256, 1, 8, 64}, {1, -1, 256, -1}, DataFormat::Sen169Fp16};
  EXPECT_EQ(hostOffsetOf(layout, {3, 0, 2, 0}), 515);
  EXPECT_FALSE(hostOffsetOf(layout, {3, 0, 2, 1}).has_value());
  EXPECT_FALSE(hostOffsetOf(layout, {256, 0, 2, 0}).has_value());
  EXPECT_FALSE(hostOffsetOf(layout, {3, 0, 2}).has_value());
  DeviceLayout wild{{3, 64}, {INT64_MAX, 1}, DataFormat::Sen169Fp16};
  EXPECT_FALSE(hostOffsetOf(wild, {2, 0}).has_value());
  EXPECT_EQ(hostOffsetOf(wild, {1, 0}), INT64_MAX);
}

TEST(Coordinates, ExpandedPositionsHoldTheSameElement) {
  CoordinateMap map = mapOf({{1, 512, 64}, {64, 0, 1}, DataFormat::Sen169Fp16}, {60}, {1});
  EXPECT_EQ(map.hostOffsetOf({0, 0, 59}), 59);
  EXPECT_EQ(map.hostOffsetOf({0, 511, 59}), 59);
  EXPECT_TRUE(map.isPadding({0, 5, 60}));
  EXPECT_EQ(*map.deviceCoordinatesOf({59}), (Ints{0, 0, 59}));
  CoordinateMap lanes = mapOf({{3, 64}, {1, 0}, DataFormat::Sen169Fp16}, {3}, {1});
  EXPECT_EQ(lanes.hostOffsetOf({2, 63}), 2);
  EXPECT_EQ(*lanes.deviceCoordinatesOf({2}), (Ints{2, 0}));
}

TEST(Coordinates, ScalarsAndEmptyTensors) {
  CoordinateMap scalar = mapOf({{1, 64}, {-1, -1}, DataFormat::Sen169Fp16}, {}, {});
  EXPECT_EQ(*scalar.deviceCoordinatesOf({}), (Ints{0, 0}));
  EXPECT_EQ(scalar.hostOffsetOf({0, 0}), 0);
  EXPECT_TRUE(scalar.isPadding({0, 1}));
  auto layout = DeviceLayout::makeDefault({3, 0}, HostType::Float16);
  ASSERT_TRUE(layout.ok());
  CoordinateMap empty = mapOf(*layout, {3, 0}, {1, 1});
  EXPECT_TRUE(empty.isPadding({0, 0, 0}));
  EXPECT_EQ(empty.deviceCoordinatesOf({0, 0}).status().code(), 2017);
}

TEST(Coordinates, SubByteElementsShareBytes) {
  DeviceLayout layout{{2, 3, 256}, {256, 512, 1}, DataFormat::SenInt4};
  EXPECT_EQ(*deviceByteOffsetOf(layout, {1, 2, 5}), 5 * 128 + 2);
  EXPECT_EQ(*coordinatesAtByte(layout, 5 * 128 + 2), (Ints{1, 2, 4}));
}

TEST(Coordinates, FaultsAreNumbered) {
  DeviceLayout layout{{2, 64}, {64, 1}, DataFormat::Sen169Fp16};
  EXPECT_EQ(CoordinateMap::make(layout, {129}, {1}).status().code(), 2009);
  EXPECT_EQ(deviceCoordinatesOf(layout, {120}, {1}, {120}).status().code(), 2017);
  EXPECT_EQ(deviceCoordinatesOf(layout, {120}, {1}, {-1}).status().code(), 2017);
  EXPECT_EQ(deviceCoordinatesOf(layout, {120}, {1}, {}).status().code(), 2017);
  EXPECT_EQ(deviceByteOffsetOf(layout, {2, 0}).status().code(), 2017);
  EXPECT_EQ(deviceByteOffsetOf(layout, {0, 64}).status().code(), 2017);
  EXPECT_EQ(deviceByteOffsetOf(DeviceLayout(), {}).status().code(), 2008);
  EXPECT_EQ(coordinatesAtByte(layout, 256).status().code(), 2017);
  EXPECT_EQ(coordinatesAtByte(layout, -1).status().code(), 2017);
}

Ints shuffled(size_t count, Random &random) {
  Ints order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = count; i-- > 1;) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
  return order;
}

/// Packs numbered elements; every device position must hold what the map says, and every element
/// must lie where the map says.
void checkAgainstPack(const DeviceLayout &layout, const Ints &size, const Ints &stride,
                      int64_t hostElems) {
  std::vector<int32_t> host(static_cast<size_t>(hostElems));
  std::iota(host.begin(), host.end(), 1);
  std::vector<int32_t> device(size_t(layout.bytes() / 4), -1);
  HostTensorRef ref{host.data(), HostType::Int32, size, stride};
  ASSERT_TRUE(packToDevice(ref, stride, layout, device.data()).ok());
  CoordinateMap map = mapOf(layout, size, stride);
  Ints at(layout.deviceSize.size(), 0);
  size_t position = 0;
  do {
    std::optional<int64_t> offset = map.hostOffsetOf(at);
    ASSERT_EQ(offset.value_or(-1) + 1, device[position]) << fmt::format("{}", fmt::join(at, ","));
    ASSERT_EQ(*deviceByteOffsetOf(layout, at), int64_t(position) * 4);
    ASSERT_EQ(*coordinatesAtByte(layout, int64_t(position) * 4 + 3), at);
    if (offset) {
      ASSERT_EQ(hostOffsetOf(layout, at), offset);
    }
    ++position;
  } while (advance(layout.deviceSize, at));
  Ints index(size.size(), 0);
  do {
    auto coordinates = map.deviceCoordinatesOf(index);
    ASSERT_TRUE(coordinates.ok());
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      offset += index[i] * stride[i];
    }
    ASSERT_EQ(map.hostOffsetOf(*coordinates), offset);
  } while (advance(size, index));
}

TEST(Coordinates, RandomLayoutsAgreeWithTheTransfer) {
  const int64_t sizes[] = {1, 2, 3, 5, 31, 33, 70};
  Random random(41);
  for (int round = 0; round < 300; ++round) {
    Ints size(random.below(9));
    int64_t elems = 1;
    for (int64_t &extent : size) {
      extent = sizes[random.below(elems < 50 ? 7 : elems < 200 ? 3 : 1)];
      elems *= extent;
    }
    Ints stride(size.size());
    elems = 1;
    for (int64_t dim : shuffled(size.size(), random)) {
      elems += random.below(4) == 0 ? int64_t(random.below(3)) : 0;
      stride[size_t(dim)] = elems;
      elems *= size[size_t(dim)];
    }
    Ints order = shuffled(size.size(), random);
    if (random.below(4) == 0) {
      order.push_back(-1);
    }
    auto layout = DeviceLayout::make(size, stride, HostType::Int32, order);
    ASSERT_TRUE(layout.ok());
    SCOPED_TRACE(fmt::format("round {} {}", round, layout->toString()));
    ASSERT_NO_FATAL_FAILURE(checkAgainstPack(*layout, size, stride, elems));
  }
}

TEST(Coordinates, ExpertLayoutsAgreeWithTheTransfer) {
  const std::vector<std::tuple<Ints, Ints, Ints>> rows = {
      {{40, 60}, {75, 32}, {32, 1}},
      {{40, 60}, {76, 32}, {32, 1}},
      {{60}, {60, 1, 32}, {1, 64, 1}},
      {{60}, {2, 1, 2, 32}, {15, 64, 30, 1}},
      {{4800}, {3, 4, 14, 32}, {120, 32, 360, 1}},
      {{40, 60}, {24, 2, 2, 32}, {60, 32, 1440, 1}},
      {{3, 40, 60}, {75, 3, 32}, {32, 2400, 1}},
      {{3}, {3, 7, 32}, {1, 0, 0}},
  };
  for (const auto &[size, deviceSize, strideMap] : rows) {
    DeviceLayout layout{deviceSize, strideMap, DataFormat::IeeeInt32};
    SCOPED_TRACE(layout.toString());
    Ints stride = rowMajorStrides(size);
    checkAgainstPack(layout, size, stride, stride[0] * size[0]);
  }
}

} // namespace
} // namespace spyre::layout
