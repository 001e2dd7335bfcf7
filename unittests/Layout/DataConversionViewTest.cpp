//===- DataConversionViewTest.cpp - copies into and out of parts of a device tensor ---------===//
//
// The documented stack loses the storage offset of a device view. Here each copy is compared with
// the long way: the whole storage to the host, the view there, the whole storage back.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"
#include "spyre/Base/ThreadPool.h"
#include "spyre/Layout/DataConversion.h"
#include "spyre/Layout/Transfer.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

namespace spyre::layout {
namespace {

using numerics::DataFormat;
using numerics::HostType;
using Ints = std::vector<int64_t>;
using Values = std::vector<int16_t>;

int64_t product(const Ints &factors) {
  return std::accumulate(factors.begin(), factors.end(), int64_t(1), std::multiplies<>());
}

/// Calls body(offset in the storage, offset in host memory) for each element of the view.
template <typename Body>
void forEachElement(const DataConversionRequest &request, const Body &body) {
  Ints at(request.size.size(), 0);
  for (int64_t left = product(request.size); left > 0; --left) {
    int64_t storage = request.deviceOffset;
    int64_t host = request.hostOffset;
    for (size_t i = 0; i < at.size(); ++i) {
      storage += at[i] * request.matchStride[i];
      host += at[i] * request.hostStride[i];
    }
    body(storage, host);
    for (size_t i = at.size(); i-- > 0 && ++at[i] == request.size[i];) {
      at[i] = 0;
    }
  }
}

Values packed(const Values &storage, const DataConversionRequest &request) {
  Values device(size_t(request.layout.bytes() / 2), 0);
  Values copy = storage;
  HostTensorRef ref{copy.data(), HostType::Int16, request.storage->size, request.storage->stride};
  EXPECT_TRUE(packToDevice(ref, ref.stride, request.layout, device.data()).ok());
  return device;
}

void checkView(DataConversionRequest request, int64_t hostElems, int64_t storageElems) {
  Values storage(static_cast<size_t>(storageElems)), host(static_cast<size_t>(hostElems));
  std::iota(storage.begin(), storage.end(), int16_t(1));
  std::iota(host.begin(), host.end(), int16_t(-20000));
  Values device = packed(storage, request);
  const Values before = device;
  ThreadPool pool(2);

  request.hostToDevice = false;
  auto down = makeDataConversion(request);
  ASSERT_TRUE(down.ok()) << down.status().message();
  Values back(host.size(), -1), expectedBack = back;
  Status status = runDataConversion(*down, device.data(), request.layout.bytes(), back.data(),
                                    hostElems * 2, &pool);
  ASSERT_TRUE(status.ok()) << status.message();
  forEachElement(
      request, [&](int64_t from, int64_t to) { expectedBack[size_t(to)] = storage[size_t(from)]; });
  ASSERT_EQ(back, expectedBack);
  ASSERT_EQ(device, before);

  request.hostToDevice = true;
  auto up = makeDataConversion(request);
  ASSERT_TRUE(up.ok()) << up.status().message();
  status = runDataConversion(*up, host.data(), hostElems * 2, device.data(), request.layout.bytes(),
                             &pool);
  ASSERT_TRUE(status.ok()) << status.message();
  forEachElement(request,
                 [&](int64_t to, int64_t from) { storage[size_t(to)] = host[size_t(from)]; });
  ASSERT_EQ(device, packed(storage, request)); // The neighbours survive.
}

DataConversionRequest viewOf(const Ints &storage, const Ints &order) {
  DataConversionRequest request;
  request.hostType = HostType::Int16;
  request.storage = DeviceStorage{storage, rowMajorStrides(storage)};
  auto layout = DeviceLayout::make(storage, request.storage->stride, HostType::Int16, order);
  EXPECT_TRUE(layout.ok());
  request.layout = *layout;
  return request;
}

TEST(DataConversionView, AColumnSliceInsideSticks) {
  DataConversionRequest request = viewOf({40, 240}, {0, 1});
  request.size = {10, 150};
  request.matchStride = {240, 1};
  request.hostStride = {150, 1};
  request.deviceOffset = 5 * 240 + 50;
  auto info = makeDataConversion(request);
  ASSERT_TRUE(info.ok());
  EXPECT_FALSE(info->zeroFill);
  // Columns 50..199: a whole stick column, the end in column 3, the start in column 0.
  ASSERT_EQ(info->strides.size(), 3u);
  EXPECT_EQ(info->strides[0].size, (Ints{64, 10, 2}));
  EXPECT_EQ(info->strides[0].offsetSrc, 14);
  EXPECT_EQ(info->strides[0].offsetDst, (40 + 5) * 64);
  EXPECT_EQ(info->strides[1].size, (Ints{8, 10, 1}));
  EXPECT_EQ(info->strides[1].offsetDst, (3 * 40 + 5) * 64);
  EXPECT_EQ(info->strides[2].size, (Ints{14, 10, 1}));
  EXPECT_EQ(info->strides[2].offsetSrc, 0);
  EXPECT_EQ(info->strides[2].offsetDst, 5 * 64 + 50);
  checkView(request, 1500, 9600);
}

TEST(DataConversionView, StepsAlongAPlainDimension) {
  DataConversionRequest request = viewOf({40, 100}, {0, 1});
  request.size = {13, 100};
  request.matchStride = {300, 1};
  request.hostStride = {100, 1};
  request.deviceOffset = 200;
  checkView(request, 1300, 4000);
  // Every second lane is no nest of whole sticks.
  request.size = {40, 50};
  request.matchStride = {100, 2};
  request.hostStride = {50, 1};
  request.deviceOffset = 0;
  EXPECT_EQ(makeDataConversion(request).status().code(), 2014);
}

TEST(DataConversionView, RandomBoxes) {
  const int64_t sizes[] = {1, 2, 3, 5, 40, 65, 130, 200};
  Random random(61);
  for (int round = 0; round < 1500; ++round) {
    Ints storage(random.below(5) + 1);
    int64_t elems = 1;
    for (int64_t &extent : storage) {
      extent = sizes[random.below(elems < 100 ? 8 : elems < 2000 ? 4 : 1)];
      elems *= extent;
    }
    Ints order = DeviceLayout::genericStickDimOrder(int64_t(storage.size()));
    for (size_t i = order.size(); i-- > 1;) {
      std::swap(order[i], order[random.below(i + 1)]);
    }
    if (random.below(4) == 0) {
      order.push_back(-1);
    }
    DataConversionRequest request = viewOf(storage, order);
    // A box, its dimensions in any order, single indices sometimes dropped.
    Ints dims = DeviceLayout::genericStickDimOrder(int64_t(storage.size()));
    for (size_t i = dims.size(); i-- > 1;) {
      std::swap(dims[i], dims[random.below(i + 1)]);
    }
    for (int64_t dim : dims) {
      int64_t first = random.between(0, storage[size_t(dim)] - 1);
      int64_t count = random.between(1, storage[size_t(dim)] - first);
      request.deviceOffset += first * request.storage->stride[size_t(dim)];
      if (count > 1 || random.below(2) == 0) {
        request.size.push_back(count);
        request.matchStride.push_back(request.storage->stride[size_t(dim)]);
      }
    }
    request.hostStride = rowMajorStrides(request.size);
    request.hostOffset = int64_t(random.below(4));
    SCOPED_TRACE(fmt::format("round {} {} size {} offset {}", round, request.layout.toString(),
                             fmt::join(request.size, ","), request.deviceOffset));
    ASSERT_NO_FATAL_FAILURE(checkView(request, product(request.size) + request.hostOffset, elems));
  }
}

// Both dimensions are cut twice, so a view begins and ends inside tiles of each.
TEST(DataConversionView, BoxesOfATiledStorage) {
  Random random(62);
  for (int round = 0; round < 300; ++round) {
    DataConversionRequest request = viewOf({100, 150}, {0, 1});
    request.layout = {{24, 3, 5, 64}, {150, 64, 3600, 1}, DataFormat::SenInt16};
    for (size_t dim = 0; dim < 2; ++dim) {
      int64_t first = random.between(0, request.storage->size[dim] - 1);
      request.deviceOffset += first * request.storage->stride[dim];
      request.size.push_back(random.between(1, request.storage->size[dim] - first));
      request.matchStride.push_back(request.storage->stride[dim]);
    }
    // A slice of a larger host tensor.
    request.hostStride = {request.size[1] + 3, 1};
    request.hostOffset = 5;
    SCOPED_TRACE(fmt::format("round {} size {} offset {}", round, fmt::join(request.size, ","),
                             request.deviceOffset));
    ASSERT_NO_FATAL_FAILURE(checkView(request, request.size[0] * request.hostStride[0] + 5, 15000));
  }
}

TEST(DataConversionView, WhatIsNoBoxIsRefused) {
  DataConversionRequest good = viewOf({40, 100}, {0, 1});
  good.size = {10, 50};
  good.matchStride = {100, 1};
  good.hostStride = {50, 1};
  EXPECT_TRUE(makeDataConversion(good).ok());
  auto code = [&](auto change) {
    DataConversionRequest request = good;
    change(request);
    return makeDataConversion(request).status().code();
  };
  using Request = DataConversionRequest;
  EXPECT_EQ(code([](Request &r) { r.deviceOffset = -1; }), 2014);
  EXPECT_EQ(code([](Request &r) { r.deviceOffset = 4000; }), 2014);
  EXPECT_EQ(code([](Request &r) { r.deviceOffset = INT64_MAX; }), 2014);
  EXPECT_EQ(code([](Request &r) { r.deviceOffset = 51; }), 2014);      // runs into the next row
  EXPECT_EQ(code([](Request &r) { r.deviceOffset = 3100; }), 2014);    // below the last row
  EXPECT_EQ(code([](Request &r) { r.matchStride = {150, 1}; }), 2014); // between rows
  EXPECT_EQ(code([](Request &r) { r.matchStride = {1, 1}; }), 2014);   // overlapping windows
  EXPECT_EQ(code([](Request &r) { r.matchStride = {0, 1}; }), 2014);   // expanded
  EXPECT_EQ(code([](Request &r) { r.matchStride = {INT64_MAX, 1}; }), 2014);
  EXPECT_EQ(code([](Request &r) { r.size = {500}; }), 2014);
  EXPECT_EQ(code([](Request &r) { r.size = {10, -50}; }), 2014);
  EXPECT_EQ(code([](Request &r) { r.storage->stride = {100}; }), 2014);
  EXPECT_EQ(code([](Request &r) { r.storage->stride = {0, 1}; }), 2014);
  EXPECT_EQ(code([](Request &r) { r.storage->size = {41, 100}; }), 2009);
  EXPECT_EQ(code([](Request &r) { r.layout = {{63, 64}, {64, 1}, DataFormat::SenInt16}; }), 2014);
  EXPECT_EQ(code([](Request &r) {
              r.storage.reset();
              r.deviceOffset = 5;
            }),
            2014);
  EXPECT_EQ(code([](Request &r) { r.size = {10, 0}; }), 0);
}

} // namespace
} // namespace spyre::layout
