//===- DataConversionTest.cpp - the documented nests, and the same bytes as a transfer ------===//
#include "spyre/Layout/DataConversion.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"
#include "spyre/Base/ThreadPool.h"
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
using Bytes = std::vector<uint8_t>;

Ints reversed(const Ints &values) { return Ints(values.rbegin(), values.rend()); }

int64_t product(const Ints &factors) {
  return std::accumulate(factors.begin(), factors.end(), int64_t(1), std::multiplies<>());
}

DataConversionRequest denseRequest(const Ints &size, const DeviceLayout &layout, HostType type) {
  DataConversionRequest request;
  request.hostType = type;
  request.size = size;
  request.matchStride = request.hostStride = rowMajorStrides(size);
  request.layout = layout;
  return request;
}

DataConversionInfo made(const DataConversionRequest &request) {
  auto info = makeDataConversion(request);
  EXPECT_TRUE(info.ok()) << info.status().message();
  return info.ok() ? *info : DataConversionInfo();
}

/// One documented nest, outermost first.
struct Nest {
  Ints size;
  int64_t hostOffset, deviceOffset;
};

struct Row {
  Ints host, deviceSize, strideMap, hostStride, deviceStride;
  std::vector<Nest> nests;
};

// [spec: device-and-layouts 4.3]
const std::vector<Row> kRows = {
    {{1024, 256},
     {4, 1024, 64},
     {64, 256, 1},
     {64, 256, 1},
     {65536, 64, 1},
     {{{4, 1024, 64}, 0, 0}}},
    {{60}, {1, 64}, {64, 1}, {64, 1}, {64, 1}, {{{1, 60}, 0, 0}}},
    {{120}, {2, 64}, {64, 1}, {64, 1}, {64, 1}, {{{1, 64}, 0, 0}, {{1, 56}, 64, 64}}},
    {{40, 120},
     {2, 40, 64},
     {64, 120, 1},
     {64, 120, 1},
     {2560, 64, 1},
     {{{1, 40, 64}, 0, 0}, {{1, 40, 56}, 64, 2560}}},
    {{40, 240},
     {4, 512, 64},
     {64, 240, 1},
     {64, 240, 1},
     {32768, 64, 1},
     {{{3, 40, 64}, 0, 0}, {{1, 40, 48}, 192, 98304}}},
    {{5, 100, 150},
     {100, 3, 5, 64},
     {150, 64, 15000, 1},
     {150, 64, 15000, 1},
     {960, 320, 64, 1},
     {{{100, 2, 5, 64}, 0, 0}, {{100, 1, 5, 22}, 128, 640}}},
    {{40, 60}, {1, 60, 64}, {3840, 1, 60}, {3840, 1, 60}, {3840, 64, 1}, {{{1, 60, 40}, 0, 0}}},
    {{70, 70},
     {2, 70, 64},
     {4480, 1, 70},
     {4480, 1, 70},
     {4480, 64, 1},
     {{{1, 70, 64}, 0, 0}, {{1, 70, 6}, 4480, 4480}}},
    {{60}, {1, 512, 64}, {64, 0, 1}, {64, 0, 1}, {32768, 64, 1}, {{{1, 512, 60}, 0, 0}}},
    {{40, 60}, {38, 64}, {64, 1}, {64, 1}, {64, 1}, {{{37, 64}, 0, 0}, {{1, 32}, 2368, 2368}}},
    {{60}, {1, 60, 64}, {64, 1, 1}, {64, 1, 1}, {3840, 64, 1}, {{{1, 60, 1}, 0, 0}}},
    {{60}, {1, 2, 64}, {64, 30, 1}, {64, 30, 1}, {128, 64, 1}, {{{1, 2, 30}, 0, 0}}},
    {{4800},
     {3, 2, 14, 64},
     {120, 64, 360, 1},
     {120, 64, 360, 1},
     {1792, 896, 64, 1},
     {{{3, 1, 13, 64}, 0, 0},
      {{1, 1, 1, 64}, 4680, 832},
      {{3, 1, 13, 56}, 64, 896},
      {{1, 1, 1, 56}, 4744, 1728}}},
    {{40, 60},
     {24, 1, 2, 64},
     {60, 64, 1440, 1},
     {60, 64, 1440, 1},
     {128, 128, 64, 1},
     {{{24, 1, 1, 60}, 0, 0}, {{16, 1, 1, 60}, 1440, 64}}},
    {{8, 256},
     {256, 1, 8, 64},
     {1, -1, 256, -1},
     {1, 1, 256, 1},
     {512, 512, 64, 1},
     {{{256, 1, 8, 1}, 0, 0}}},
    {{}, {1, 64}, {-1, -1}, {1, 1}, {64, 1}, {{{1, 1}, 0, 0}}},
};

TEST(DataConversion, NestsAreTheDocumentedOnes) {
  for (const Row &row : kRows) {
    DeviceLayout layout{row.deviceSize, row.strideMap, DataFormat::Sen169Fp16};
    SCOPED_TRACE(layout.toString());
    DataConversionRequest request = denseRequest(row.host, layout, HostType::Float16);
    DataConversionInfo info = made(request);
    DataConversionInfo expected;
    expected.isHostToSen = true;
    expected.formatSrc = DataFormat::IeeeFp16;
    expected.formatDst = DataFormat::Sen169Fp16;
    expected.inputShape = row.host.empty() ? Ints{1} : reversed(row.host);
    expected.outputShape = reversed(row.deviceSize);
    expected.zeroFill = true;
    for (const Nest &nest : row.nests) {
      expected.strides.push_back({reversed(nest.size), reversed(row.hostStride),
                                  reversed(row.deviceStride), nest.hostOffset, nest.deviceOffset});
    }
    EXPECT_EQ(info.name, "DCI-Tensor-0");
    ASSERT_EQ(info.strides.size(), expected.strides.size());
    for (size_t i = 0; i < info.strides.size(); ++i) {
      EXPECT_EQ(info.strides[i].size, expected.strides[i].size);
      EXPECT_EQ(info.strides[i].strideSrc, expected.strides[i].strideSrc);
      EXPECT_EQ(info.strides[i].strideDst, expected.strides[i].strideDst);
      EXPECT_EQ(info.strides[i].offsetSrc, expected.strides[i].offsetSrc);
      EXPECT_EQ(info.strides[i].offsetDst, expected.strides[i].offsetDst);
    }
    EXPECT_EQ(info, expected);
  }
}

TEST(DataConversion, TheWayBackIsTheMirror) {
  for (const Row &row : kRows) {
    DeviceLayout layout{row.deviceSize, row.strideMap, DataFormat::Sen169Fp16};
    DataConversionRequest request = denseRequest(row.host, layout, HostType::Bfloat16);
    DataConversionInfo to = made(request);
    request.hostToDevice = false;
    DataConversionInfo back = made(request);
    EXPECT_FALSE(back.isHostToSen);
    EXPECT_FALSE(back.zeroFill);
    EXPECT_EQ(back.formatSrc, DataFormat::Sen169Fp16);
    EXPECT_EQ(back.formatDst, DataFormat::Bfloat16);
    EXPECT_EQ(back.inputShape, to.outputShape);
    EXPECT_EQ(back.outputShape, to.inputShape);
    ASSERT_EQ(back.strides.size(), to.strides.size());
    for (size_t i = 0; i < to.strides.size(); ++i) {
      EXPECT_EQ(back.strides[i].strideSrc, to.strides[i].strideDst);
      EXPECT_EQ(back.strides[i].offsetSrc, to.strides[i].offsetDst);
      EXPECT_EQ(back.strides[i].offsetDst, to.strides[i].offsetSrc);
    }
  }
}

// Rows in tiles of 24 and columns in sticks: both end inside a tile.
TEST(DataConversion, RemaindersOfTwoDimensionsGiveFourNests) {
  DeviceLayout layout{{24, 2, 5, 64}, {100, 64, 2400, 1}, DataFormat::Sen169Fp16};
  const std::vector<Nest> nests = {{{24, 1, 4, 64}, 0, 0},
                                   {{24, 1, 4, 36}, 64, 320},
                                   {{4, 1, 1, 64}, 9600, 256},
                                   {{4, 1, 1, 36}, 9664, 576}};
  for (bool hostToDevice : {true, false}) {
    DataConversionRequest request = denseRequest({100, 100}, layout, HostType::Float16);
    request.hostToDevice = hostToDevice;
    request.hostOffset = 7;
    DataConversionInfo info = made(request);
    ASSERT_EQ(info.strides.size(), nests.size());
    for (size_t i = 0; i < nests.size(); ++i) {
      const Ints host = {1, 2400, 64, 100}, device = {1, 64, 320, 640};
      const int64_t hostOffset = 7 + nests[i].hostOffset;
      DataConversionStrideInfo expected{reversed(nests[i].size), host, device, hostOffset,
                                        nests[i].deviceOffset};
      if (!hostToDevice) {
        std::swap(expected.strideSrc, expected.strideDst);
        std::swap(expected.offsetSrc, expected.offsetDst);
      }
      EXPECT_EQ(info.strides[i], expected) << "nest " << i;
    }
  }
}

void fillRandom(Bytes &bytes, Random &random) {
  for (uint8_t &byte : bytes) {
    byte = uint8_t(random.next());
  }
}

/// Bytes of both directions against packToDevice and unpackFromDevice; \p hostElems of memory.
void compareWithTransfer(DataConversionRequest request, int64_t hostElems, Random &random,
                         ThreadPool *pool) {
  int64_t width = numerics::hostTypeBytes(request.hostType);
  request.hostOffset = int64_t(random.below(5));
  Bytes host(size_t((hostElems + request.hostOffset) * width));
  fillRandom(host, random);
  const DeviceLayout &layout = request.layout;
  Bytes device(size_t(layout.bytes()), 0xEE), expected(device.size(), 0xDD);
  HostTensorRef ref{host.data() + request.hostOffset * width, request.hostType, request.size,
                    request.hostStride};
  Status status = packToDevice(ref, request.matchStride, layout, expected.data());
  ASSERT_TRUE(status.ok()) << status.message();
  request.hostToDevice = true;
  status = runDataConversion(made(request), host.data(), int64_t(host.size()), device.data(),
                             int64_t(device.size()), pool);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(device, expected);

  Bytes back(host.size(), 0xA5), expectedBack = back;
  ref.data = expectedBack.data() + request.hostOffset * width;
  ASSERT_TRUE(unpackFromDevice(device.data(), layout, request.matchStride, ref).ok());
  request.hostToDevice = false;
  status = runDataConversion(made(request), device.data(), int64_t(device.size()), back.data(),
                             int64_t(back.size()), pool);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(back, expectedBack);
}

TEST(DataConversion, ExpertLayoutsGiveTheBytesOfATransfer) {
  std::vector<std::tuple<Ints, Ints, Ints>> rows = {
      {{60}, {1, 1, 1, 64}, {60, 64, 60, 1}},
      {{60}, {1, 1, 60, 64}, {1, 64, 1, 1}},
      {{60}, {2, 2, 1, 1, 64}, {30, 15, 64, 60, 1}},
      {{60}, {2, 1, 2, 64}, {15, 64, 30, 1}},
      {{40, 60}, {2, 12, 1, 2, 64}, {720, 60, 64, 1200, 1}},
      {{40, 60}, {2, 6, 2, 1, 2, 64}, {720, 120, 60, 64, 1200, 1}},
      {{40, 60}, {3, 4, 3, 1, 2, 64}, {600, 180, 60, 64, 1800, 1}},
      {{131072}, {4, 512, 64}, {64, 256, 1}},
      {{3, 40, 60}, {38, 3, 64}, {64, 2400, 1}},
      {{3}, {3, 64}, {1, 0}},
  };
  for (const Row &row : kRows) {
    rows.emplace_back(row.host, row.deviceSize, row.strideMap);
  }
  Random random(31);
  ThreadPool pool(3);
  for (const auto &[size, deviceSize, strideMap] : rows) {
    DeviceLayout layout{deviceSize, strideMap, DataFormat::Sen169Fp16};
    SCOPED_TRACE(layout.toString());
    for (HostType type : {HostType::Float16, HostType::Bool}) {
      compareWithTransfer(denseRequest(size, layout, type), product(size), random, &pool);
    }
  }
}

Ints shuffled(size_t count, Random &random) {
  Ints order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = count; i-- > 1;) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
  return order;
}

Ints permutedStrides(const Ints &size, Random &random, int64_t &elems) {
  Ints stride(size.size());
  elems = 1;
  for (int64_t dim : shuffled(size.size(), random)) {
    elems += random.below(4) == 0 ? int64_t(random.below(3)) : 0;
    stride[size_t(dim)] = elems;
    elems *= size[size_t(dim)];
  }
  return stride;
}

Ints randomSizes(size_t rank, Random &random) {
  const int64_t sizes[] = {1, 1, 2, 3, 5, 17, 64, 65, 130, 200};
  Ints size;
  int64_t elems = 1;
  for (size_t i = 0; i < rank; ++i) {
    size.push_back(sizes[random.below(elems < 200 ? 10 : elems < 3000 ? 5 : 3)]);
    elems *= size.back();
  }
  return size;
}

TEST(DataConversion, RandomTensorsGiveTheBytesOfATransfer) {
  const HostType types[] = {
      HostType::Float16,      HostType::Bfloat16,       HostType::Float32, HostType::Bool,
      HostType::Int8,         HostType::Int16,          HostType::Int32,   HostType::Int64,
      HostType::Float8E4m3fn, HostType::Float8E5m2fnuz, HostType::Uint8,
  };
  Random random(32);
  ThreadPool pool(3);
  for (int round = 0; round < 600; ++round) {
    DataConversionRequest request;
    request.hostType = types[random.below(std::size(types))];
    request.size = randomSizes(random.below(9), random);
    Ints order = shuffled(request.size.size(), random);
    if (random.below(5) == 0) {
      order.push_back(-1);
    }
    int64_t elems = 0;
    request.matchStride = permutedStrides(request.size, random, elems);
    request.hostStride = permutedStrides(request.size, random, elems);
    auto layout = DeviceLayout::make(request.size, request.matchStride, request.hostType, order);
    ASSERT_TRUE(layout.ok()) << layout.status().message();
    request.layout = *layout;
    SCOPED_TRACE(fmt::format("round {} {}", round, layout->toString()));
    ASSERT_NO_FATAL_FAILURE(
        compareWithTransfer(request, elems, random, round % 2 == 0 ? &pool : nullptr));
  }
}

TEST(DataConversion, ThreeRemaindersGiveEightNests) {
  DeviceLayout layout{
      {24, 3, 2, 5, 14, 64}, {4800, 120, 64, 115200, 360, 1}, DataFormat::Sen169Fp16};
  DataConversionRequest request = denseRequest({100, 4800}, layout, HostType::Float16);
  EXPECT_EQ(made(request).strides.size(), 8u);
  Random random(35);
  ThreadPool pool(3);
  compareWithTransfer(request, 480000, random, &pool);
}

TEST(DataConversion, BigTensorsAreTheSameOnThreads) {
  Random random(33);
  ThreadPool pool(4);
  auto layout = DeviceLayout::makeDefault({700, 1000}, HostType::Float16);
  ASSERT_TRUE(layout.ok());
  compareWithTransfer(denseRequest({700, 1000}, *layout, HostType::Float16), 700000, random, &pool);
}

// Random layouts, also nonsense: the nests exist and agree with the transfer, or there is an error.
TEST(DataConversion, RandomLayoutsAreRefusedOrAgree) {
  const int64_t sizes[] = {1, 2, 3, 6, 12, 60};
  const int64_t strides[] = {-1, 0, 1, 2, 3, 6, 12, 30, 32, 36, 61, 120};
  Random random(34);
  int accepted = 0;
  int tilingFaults = 0;
  for (int round = 0; round < 20000; ++round) {
    Ints size(random.below(3) + 1);
    for (int64_t &extent : size) {
      extent = sizes[random.below(6)];
    }
    DeviceLayout layout{{}, {}, DataFormat::IeeeInt32};
    for (uint64_t i = random.below(4); i > 0; --i) {
      layout.deviceSize.push_back(sizes[random.below(6)]);
      layout.strideMap.push_back(strides[random.below(12)]);
    }
    layout.deviceSize.push_back(32);
    layout.strideMap.push_back(strides[random.below(12)]);
    DataConversionRequest request = denseRequest(size, layout, HostType::Int32);
    auto info = makeDataConversion(request);
    if (!info.ok()) {
      ASSERT_TRUE(info.status().code() == 2009 || info.status().code() == 2019);
      tilingFaults += info.status().code() == 2019;
      Bytes host(size_t(product(size) * 4)), device(size_t(layout.bytes()));
      HostTensorRef ref{host.data(), HostType::Int32, size, request.hostStride};
      ASSERT_EQ(packToDevice(ref, request.matchStride, layout, device.data()).code(), 2009);
      continue;
    }
    ++accepted;
    SCOPED_TRACE(layout.toString() + fmt::format(" host {}", fmt::join(size, ",")));
    ASSERT_NO_FATAL_FAILURE(compareWithTransfer(request, product(size), random, nullptr));
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(tilingFaults, 10);
}

TEST(DataConversion, FloatsAreCastOnTheWay) {
  std::vector<float> host = {1.5f, -2.0f, 1e9f, 0.25f}, back(4, -1.0f);
  auto layout = DeviceLayout::makeDefault({4}, HostType::Float16);
  ASSERT_TRUE(layout.ok());
  DataConversionRequest request = denseRequest({4}, *layout, HostType::Float32);
  std::vector<uint16_t> device(64, 0xEEEE);
  ASSERT_TRUE(runDataConversion(made(request), host.data(), 16, device.data(), 128).ok());
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(device[i], i < 4 ? numerics::floatToDl16(host[i]) : 0);
  }
  request.hostToDevice = false;
  ASSERT_TRUE(runDataConversion(made(request), device.data(), 128, back.data(), 16).ok());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(back[i], numerics::dl16ToFloat(device[i]));
  }
  // The other way round: a float16 and a bool host tensor against float32 on the device.
  auto wide = DeviceLayout::makeDefault({2}, HostType::Float32);
  ASSERT_TRUE(wide.ok());
  std::vector<float> sticks(32, -1.0f);
  uint16_t halves[2] = {numerics::floatToHalf(3.0f), numerics::floatToHalf(-0.5f)};
  DataConversionInfo info = made(denseRequest({2}, *wide, HostType::Float16));
  ASSERT_TRUE(runDataConversion(info, halves, 4, sticks.data(), 128).ok());
  EXPECT_EQ(sticks[0], 3.0f);
  EXPECT_EQ(sticks[1], -0.5f);
  EXPECT_EQ(sticks[2], 0.0f);
  uint8_t flags[2] = {7, 0};
  info = made(denseRequest({2}, *wide, HostType::Bool));
  ASSERT_TRUE(runDataConversion(info, flags, 2, sticks.data(), 128).ok());
  EXPECT_EQ(sticks[0], 1.0f);
  EXPECT_EQ(sticks[1], 0.0f);
}

TEST(DataConversion, FaultsAreNumbered) {
  auto format = DataFormat::SenInt16;
  auto status = [](const DeviceLayout &layout, const Ints &size, HostType type = HostType::Int16) {
    return makeDataConversion(denseRequest(size, layout, type)).status();
  };
  EXPECT_NE(status({{2, 64}, {64, 1}, format}, {129})
                .text()
                .find("Invalid device sizes and stride map for host sizes and strides"),
            std::string::npos);
  EXPECT_NE(status({{3, 64}, {2, -1}, format}, {5}).text().find("Invalid tiling for dimension 0"),
            std::string::npos);
  EXPECT_EQ(status({{3, 64}, {2, -1}, format}, {5}).code(), 2019);
  EXPECT_EQ(status({{2, 64}, {64, 1}, format}, {120}, HostType::Float32).code(), 2016);
  EXPECT_EQ(status({{2, 64}, {64, 1}, DataFormat::Invalid}, {120}).code(), 2016);
  EXPECT_EQ(status({{}, {}, format}, {120}).code(), 2009);
  // Folded dimensions need dense host memory.
  DataConversionRequest request =
      denseRequest({40, 60}, {{38, 64}, {64, 1}, format}, HostType::Int16);
  request.hostStride = {1, 40};
  EXPECT_EQ(makeDataConversion(request).status().code(), 2013);
  request = denseRequest({60}, {{1, 64}, {64, 1}, format}, HostType::Int16);
  request.hostOffset = INT64_MAX;
  EXPECT_EQ(makeDataConversion(request).status().code(), 2013);
  request.hostOffset = 0;
  request.hostStride = {INT64_MAX / 2};
  EXPECT_EQ(makeDataConversion(request).status().code(), 2013);
  request.hostStride = {};
  EXPECT_EQ(makeDataConversion(request).status().code(), 2009);
  // Steps of 2^i + 1 leave a remainder at every level.
  DeviceLayout deep{{}, {}, format};
  for (int64_t bit = 26; bit >= 6; --bit) {
    deep.deviceSize.push_back(3);
    deep.strideMap.push_back((int64_t(1) << bit) + 1);
  }
  deep.deviceSize.insert(deep.deviceSize.end(), {2, 64});
  deep.strideMap.insert(deep.strideMap.end(), {64, 1});
  EXPECT_EQ(status(deep, {(1 << 27) - 1}).code(), 2013);
}

TEST(DataConversion, NestsFromAnywhereAreChecked) {
  DataConversionInfo good =
      made(denseRequest({120}, {{2, 64}, {64, 1}, DataFormat::SenInt16}, HostType::Int16));
  std::vector<int16_t> host(120, 3), device(128, 7);
  auto code = [&](auto change, int64_t hostBytes = 240, int64_t deviceBytes = 256) {
    DataConversionInfo info = good;
    change(info);
    return runDataConversion(info, host.data(), hostBytes, device.data(), deviceBytes).code();
  };
  auto nothing = [](DataConversionInfo &) {};
  EXPECT_EQ(code(nothing, 239), 2015);
  EXPECT_EQ(code(nothing, 240, 238), 2015);
  EXPECT_EQ(code([](DataConversionInfo &i) { i.strides[1].offsetSrc = -1; }), 2015);
  EXPECT_EQ(code([](DataConversionInfo &i) { i.strides[1].offsetDst = INT64_MAX; }), 2015);
  EXPECT_EQ(code([](DataConversionInfo &i) { i.strides[0].strideSrc[0] = INT64_MIN; }), 2015);
  EXPECT_EQ(code([](DataConversionInfo &i) { i.strides[0].size[0] = -1; }), 2015);
  EXPECT_EQ(code([](DataConversionInfo &i) { i.strides[0].size = {INT64_MAX, INT64_MAX}; }), 2015);
  EXPECT_EQ(code([](DataConversionInfo &i) { i.strides[0].strideDst.pop_back(); }), 2015);
  EXPECT_EQ(code([](DataConversionInfo &i) { i.formatSrc = DataFormat::Invalid; }), 2016);
  EXPECT_EQ(code([](DataConversionInfo &i) { i.formatDst = DataFormat::SenInt4; }), 2016);
  EXPECT_EQ(device, std::vector<int16_t>(128, 7)); // Nothing was written so far.
  EXPECT_EQ(code([](DataConversionInfo &i) { i.strides[0].size[0] = 0; }), 0);
  EXPECT_EQ(code(nothing), 0);
  EXPECT_EQ(device[119], 3);
  EXPECT_EQ(device[120], 0);
}

} // namespace
} // namespace spyre::layout
