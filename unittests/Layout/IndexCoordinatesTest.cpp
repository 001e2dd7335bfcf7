//===- IndexCoordinatesTest.cpp - the documented expressions, and the identity behind them --===//
#include "spyre/Layout/IndexCoordinates.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"
#include "spyre/Layout/Coordinates.h"

#include "fmt/ranges.h"
#include "gtest/gtest.h"

#include <algorithm>

namespace spyre::layout {
namespace {

using numerics::HostType;
using Ints = std::vector<int64_t>;

std::vector<LoopVariable> named(const Ints &ranges) {
  std::vector<LoopVariable> variables;
  for (size_t i = 0; i < ranges.size(); ++i) {
    variables.push_back({fmt::format("p{}", i), ranges[i]});
  }
  return variables;
}

std::string text(const Ints &size, const Ints &stride, const LinearIndex &index,
                 const Ints &ranges) {
  auto coordinates = computeCoordinates(size, stride, index, named(ranges));
  if (!coordinates.ok()) {
    return coordinates.status().message();
  }
  std::vector<std::string> parts;
  for (const CoordinateExpr &expr : *coordinates) {
    parts.push_back(expr.toString(named(ranges)));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

// [spec: device-and-layouts 3.11]
TEST(IndexCoordinates, TheDocumentedExpressions) {
  const LinearIndex split{{{0, 1048576}, {1, 128}, {2, 4096}, {3, 1}}, 0};
  const Ints splitRanges = {2, 32, 256, 128};
  const LinearIndex merged{{{0, 4096}, {1, 1}}, 0};
  const Ints host = {2, 256, 4096}, hostStride = {1048576, 4096, 1};
  EXPECT_EQ(text(host, hostStride, split, splitRanges), "[p0, p2, 128p1+p3]");
  EXPECT_EQ(text(host, hostStride, merged, {512, 4096}), "[p0//256, p0%256, p1]");
  EXPECT_EQ(text(host, hostStride, {{{0, 4096, 256}, {1, 1}}, 0}, {512, 4096}), "[0, p0%256, p1]");
  const LinearIndex rows{{{0, 128}, {1, 1}}, 0};
  EXPECT_EQ(text({3, 1, 128}, {128, 128, 1}, rows, {3, 128}), "[p0, 0, p1]");
  EXPECT_EQ(text({3, 1, 128}, {128, -1, 1}, rows, {3, 128}), "[p0, 0, p1]");
  EXPECT_EQ(text({3, 42, 128}, {128, 0, 1}, rows, {3, 128}), "[p0, 0, p1]");
  auto shifted = [](int64_t offset) { return LinearIndex{{{0, 5760}, {1, 384}, {2, 1}}, offset}; };
  const Ints image = {9, 15, 384}, imageStride = {5760, 384, 1};
  EXPECT_EQ(text(image, imageStride, shifted(17280), {6, 15, 384}), "[p0+3, p1, p2]");
  EXPECT_EQ(text(image, imageStride, shifted(1920), {9, 10, 384}), "[p0, p1+5, p2]");
  EXPECT_EQ(text(image, imageStride, shifted(128), {9, 15, 128}), "[p0, p1, p2+128]");
  EXPECT_EQ(text({10, 20, 30}, {600, 30, 1}, {{{0, 600}, {1, 30}, {2, 1}}, 1855}, {2, 3, 4}),
            "[p0+3, p1+1, p2+25]");
  const Ints device = {256, 64, 2, 64}, strideMap = {4096, 64, 1048576, 1};
  EXPECT_EQ(text(device, strideMap, split, splitRanges), "[p2, 2p1+p3//64, p0, p3%64]");
  EXPECT_EQ(text(device, strideMap, merged, {512, 4096}), "[p0%256, p1//64, p0//256, p1%64]");
  EXPECT_EQ(text({15, 6, 9, 64}, {384, 64, 5760, 1}, shifted(128), {9, 15, 128}),
            "[p1, p2//64+2, p0, p2%64]");
  LinearIndex middle = split;
  middle.offset = 200;
  EXPECT_EQ(text(device, strideMap, middle, splitRanges), "[p2, 2p1+p3//64+3, p0, p3%64+8]");
}

TEST(IndexCoordinates, WhereStridesDoNotDivideEachOther) {
  // Two levels of tiles: 64 does not divide 120. The lane is what is left of the tile.
  EXPECT_EQ(text({3, 2, 14, 64}, {120, 64, 360, 1}, {{{0, 1}}, 0}, {4800}),
            "[p0%360//120, p0%120//64, p0//360, p0%120%64]");
  // A step that is no multiple of the tile leaves a rest to the lanes.
  EXPECT_EQ(text({38, 64}, {64, 1}, {{{0, 60}, {1, 1}}, 0}, {40, 60}), "[15p0//16, 60p0%64+p1]");
  EXPECT_EQ(text({38, 64}, {64, 1}, {{{0, 100}}, 0}, {20}), "[25p0//16, 100p0%64]");
  EXPECT_EQ(text({8, 64}, {64, 1}, {{{0, 4, 100}}, 0}, {300}), "[p0%100//16, 4(p0%100)%64]");
  // One element per stick: the first dimension of a stride counts.
  EXPECT_EQ(text({1, 60, 64}, {64, 1, 1}, {{{0, 1}}, 0}, {60}), "[0, p0, 0]");
  EXPECT_EQ(text({}, {}, {}, {}), "[]");
}

TEST(IndexCoordinates, LoadedIndicesTakeTheRangeOfTheirDimension) {
  const std::vector<LoopVariable> variables = {{"i0", 0}, {"p1", 64}};
  auto device = computeCoordinates({8, 4, 64}, {64, 512, 1}, {{{0, 64}, {1, 1}}, 0}, variables);
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)[0].toString(variables), "i0");
  EXPECT_EQ((*device)[1].toString(variables), "0");
  EXPECT_EQ((*device)[2].toString(variables), "p1");
  // With a modulus the range is known.
  auto part = computeCoordinates({8, 4, 64}, {64, 512, 1}, {{{0, 32, 4}}, 0}, variables);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ((*part)[0].toString(variables), "i0%4//2");
  EXPECT_EQ((*part)[2].toString(variables), "32(i0%4)%64");
}

TEST(IndexCoordinates, FaultsAreNumbered) {
  auto code = [](const Ints &size, const Ints &stride, const LinearIndex &index) {
    return computeCoordinates(size, stride, index, {{"p0", 3}, {"i1", 0}}).status().code();
  };
  EXPECT_EQ(code({3, 4}, {8, 2}, {{{0, 8}}, 2}), 0);
  EXPECT_EQ(code({3, 4}, {8, 2}, {{{0, 8}}, 1}), 2021); // between elements
  EXPECT_EQ(code({3, 4}, {8, 2}, {{{0, 3}}, 0}), 2021);
  EXPECT_EQ(code({3, 4}, {8, 2}, {{{0, 1}}, 0}), 2021);
  EXPECT_EQ(code({3}, {1, 1}, {}), 2021);
  EXPECT_EQ(code({3}, {1}, {{{2, 1}}, 0}), 2021); // no such variable
  EXPECT_EQ(code({3}, {1}, {{{0, -1}}, 0}), 2021);
  EXPECT_EQ(code({3}, {1}, {{{0, 1, -1}}, 0}), 2021);
  EXPECT_EQ(code({3}, {1}, {{{0, 1}}, -1}), 2021);
  EXPECT_EQ(code({-3}, {1}, {}), 2021);
  EXPECT_EQ(code({3}, {INT64_MAX}, {}), 2021);
  EXPECT_EQ(code({3}, {1}, {{{0, int64_t(1) << 55}}, 0}), 2021);
  EXPECT_EQ(code({3}, {1}, {std::vector<IndexTerm>(2000), 0}), 2021);
  EXPECT_EQ(code({3}, {1}, {{{1, 7}}, 0}), 2022);
  EXPECT_EQ(code({3}, {1}, {{{1, 0}}, 0}), 0);
}

Ints randomSizes(Random &random) {
  const int64_t sizes[] = {1, 2, 3, 5, 40, 65, 130};
  Ints size(random.below(5) + 1);
  int64_t elems = 1;
  for (int64_t &extent : size) {
    extent = sizes[random.below(elems < 100 ? 7 : elems < 2000 ? 4 : 1)];
    elems *= extent;
  }
  return size;
}

// One variable runs over the whole tensor: its coordinates are the device position of the element.
TEST(IndexCoordinates, AFlatLoopFindsEveryElement) {
  Random random(81);
  for (int round = 0; round < 150; ++round) {
    Ints size = randomSizes(random), stride = rowMajorStrides(size);
    Ints order = DeviceLayout::genericStickDimOrder(int64_t(size.size()));
    for (size_t i = order.size(); i-- > 1;) {
      std::swap(order[i], order[random.below(i + 1)]);
    }
    auto layout = DeviceLayout::make(size, stride, HostType::Float16, order);
    ASSERT_TRUE(layout.ok());
    SCOPED_TRACE(layout->toString());
    const int64_t elems = stride[0] * size[0];
    auto map = CoordinateMap::make(*layout, size, stride);
    auto host = computeCoordinates(size, stride, {{{0, 1}}, 0}, named({elems}));
    auto device =
        computeCoordinates(layout->deviceSize, layout->strideMap, {{{0, 1}}, 0}, named({elems}));
    ASSERT_TRUE(map.ok() && host.ok() && device.ok());
    for (int64_t element = 0; element < elems; element += 1 + int64_t(random.below(7))) {
      Ints index, coordinates;
      for (const CoordinateExpr &expr : *host) {
        index.push_back(expr.evaluate({element}));
      }
      for (const CoordinateExpr &expr : *device) {
        coordinates.push_back(expr.evaluate({element}));
      }
      auto expected = map->deviceCoordinatesOf(index);
      ASSERT_TRUE(expected.ok()) << expected.status().message();
      ASSERT_EQ(coordinates, *expected);
    }
  }
}

// Any sum of terms: coordinate * stride adds up to the index.
TEST(IndexCoordinates, TheIdentityHoldsForAnyIndex) {
  const int64_t strides[] = {-1, 0, 1, 2, 3, 30, 64, 120, 360, 1000, 4096};
  Random random(82);
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    Ints size(random.below(5) + 1), stride(size.size()), ranges(random.below(4));
    for (size_t i = 0; i < size.size(); ++i) {
      size[i] = random.between(1, 70);
      stride[i] = strides[random.below(11)];
    }
    LinearIndex index;
    index.offset = random.between(0, 500);
    for (size_t i = 0; i < ranges.size(); ++i) {
      ranges[i] = random.between(1, 300);
      index.terms.push_back(
          {i, random.between(0, 130), random.below(3) == 0 ? random.between(1, 100) : 0});
    }
    auto coordinates = computeCoordinates(size, stride, index, named(ranges));
    if (!coordinates.ok()) {
      ASSERT_EQ(coordinates.status().code(), 2021);
      continue;
    }
    ++accepted;
    for (int sample = 0; sample < 20; ++sample) {
      Ints values;
      for (int64_t range : ranges) {
        values.push_back(random.between(0, range - 1));
      }
      int64_t expected = index.offset;
      for (const IndexTerm &term : index.terms) {
        int64_t value = values[term.variable];
        expected += term.coefficient * (term.modulus > 0 ? value % term.modulus : value);
      }
      int64_t reached = 0;
      for (size_t i = 0; i < size.size(); ++i) {
        int64_t coordinate = (*coordinates)[i].evaluate(values);
        ASSERT_TRUE(coordinate == 0 || (size[i] > 1 && stride[i] > 0));
        reached += coordinate * std::max<int64_t>(stride[i], 0);
      }
      ASSERT_EQ(reached, expected) << "round " << round;
    }
  }
  EXPECT_GT(accepted, 500);
}

} // namespace
} // namespace spyre::layout
