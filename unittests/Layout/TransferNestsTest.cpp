//===- TransferNestsTest.cpp - the documented loop nests, executed --------------------------===//
//
// [spec: device-and-layouts 4.3] lists the loop nests of worked transfers. Here they are executed
// literally and the device bytes compared with packToDevice; this covers expert layouts too.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Layout/Transfer.h"

#include "gtest/gtest.h"

#include <numeric>

namespace spyre::layout {
namespace {

using numerics::DataFormat;
using numerics::HostType;
using Ints = std::vector<int64_t>;

/// One loop nest, outermost first.
struct Nest {
  Ints size, hostStride, deviceStride;
  int64_t hostOffset, deviceOffset;
};

struct Case {
  const char *name;
  Ints host, deviceSize, strideMap;
  std::vector<Nest> nests;
};

void run(const Nest &nest, size_t dim, int64_t hostAt, int64_t deviceAt,
         const std::vector<int16_t> &host, std::vector<int16_t> &device) {
  if (dim == nest.size.size()) {
    device[size_t(deviceAt)] = host[size_t(hostAt)];
    return;
  }
  for (int64_t i = 0; i < nest.size[dim]; ++i) {
    run(nest, dim + 1, hostAt + i * nest.hostStride[dim], deviceAt + i * nest.deviceStride[dim],
        host, device);
  }
}

// int16 passes its bits through, so positions can be compared directly.
std::vector<int16_t> numbered(const Ints &size) {
  int64_t count = 1;
  for (int64_t extent : size) {
    count *= extent;
  }
  std::vector<int16_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = int16_t(i * 7 + 1);
  }
  return values;
}

void roundTrip(const char *name, const Ints &size, const DeviceLayout &layout,
               std::vector<int16_t> &device) {
  std::vector<int16_t> host = numbered(size), back(host.size(), -1);
  Ints stride = rowMajorStrides(size);
  device.assign(size_t(layout.bytes() / 2), -1);
  Status status =
      packToDevice({host.data(), HostType::Int16, size, stride}, stride, layout, device.data());
  ASSERT_TRUE(status.ok()) << name << ": " << status.message();
  status =
      unpackFromDevice(device.data(), layout, stride, {back.data(), HostType::Int16, size, stride});
  ASSERT_TRUE(status.ok()) << name << ": " << status.message();
  EXPECT_EQ(back, host) << name;
}

TEST(TransferNests, PackEqualsTheDocumentedNests) {
  const std::vector<Case> cases = {
      {"full tiles",
       {1024, 256},
       {4, 1024, 64},
       {64, 256, 1},
       {{{4, 1024, 64}, {64, 256, 1}, {65536, 64, 1}, 0, 0}}},
      {"part of a stick", {60}, {1, 64}, {64, 1}, {{{1, 60}, {64, 1}, {64, 1}, 0, 0}}},
      {"one remainder",
       {120},
       {2, 64},
       {64, 1},
       {{{1, 64}, {64, 1}, {64, 1}, 0, 0}, {{1, 56}, {64, 1}, {64, 1}, 64, 64}}},
      {"rows with a remainder",
       {40, 120},
       {2, 40, 64},
       {64, 120, 1},
       {{{1, 40, 64}, {64, 120, 1}, {2560, 64, 1}, 0, 0},
        {{1, 40, 56}, {64, 120, 1}, {2560, 64, 1}, 64, 2560}}},
      {"padded rows",
       {40, 240},
       {4, 512, 64},
       {64, 240, 1},
       {{{3, 40, 64}, {64, 240, 1}, {32768, 64, 1}, 0, 0},
        {{1, 40, 48}, {64, 240, 1}, {32768, 64, 1}, 192, 98304}}},
      {"rank 3",
       {5, 100, 150},
       {100, 3, 5, 64},
       {150, 64, 15000, 1},
       {{{100, 2, 5, 64}, {150, 64, 15000, 1}, {960, 320, 64, 1}, 0, 0},
        {{100, 1, 5, 22}, {150, 64, 15000, 1}, {960, 320, 64, 1}, 128, 640}}},
      {"stick on dimension 0",
       {40, 60},
       {1, 60, 64},
       {3840, 1, 60},
       {{{1, 60, 40}, {3840, 1, 60}, {3840, 64, 1}, 0, 0}}},
      {"swapped with a remainder",
       {70, 70},
       {2, 70, 64},
       {4480, 1, 70},
       {{{1, 70, 64}, {4480, 1, 70}, {4480, 64, 1}, 0, 0},
        {{1, 70, 6}, {4480, 1, 70}, {4480, 64, 1}, 4480, 4480}}},
      {"expanded",
       {60},
       {1, 512, 64},
       {64, 0, 1},
       {{{1, 512, 60}, {64, 0, 1}, {32768, 64, 1}, 0, 0}}},
      {"folded",
       {40, 60},
       {38, 64},
       {64, 1},
       {{{37, 64}, {64, 1}, {64, 1}, 0, 0}, {{1, 32}, {64, 1}, {64, 1}, 2368, 2368}}},
      {"one per stick",
       {60},
       {1, 60, 64},
       {64, 1, 1},
       {{{1, 60, 1}, {64, 1, 1}, {3840, 64, 1}, 0, 0}}},
      {"split by 30",
       {60},
       {1, 2, 64},
       {64, 30, 1},
       {{{1, 2, 30}, {64, 30, 1}, {128, 64, 1}, 0, 0}}},
      {"two levels",
       {4800},
       {3, 2, 14, 64},
       {120, 64, 360, 1},
       {{{3, 1, 13, 64}, {120, 64, 360, 1}, {1792, 896, 64, 1}, 0, 0},
        {{1, 1, 1, 64}, {120, 64, 360, 1}, {1792, 896, 64, 1}, 4680, 832},
        {{3, 1, 13, 56}, {120, 64, 360, 1}, {1792, 896, 64, 1}, 64, 896},
        {{1, 1, 1, 56}, {120, 64, 360, 1}, {1792, 896, 64, 1}, 4744, 1728}}},
      {"tiled rows",
       {40, 60},
       {24, 1, 2, 64},
       {60, 64, 1440, 1},
       {{{24, 1, 1, 60}, {60, 64, 1440, 1}, {128, 128, 64, 1}, 0, 0},
        {{16, 1, 1, 60}, {60, 64, 1440, 1}, {128, 128, 64, 1}, 1440, 64}}},
      {"sparse",
       {8, 256},
       {256, 1, 8, 64},
       {1, -1, 256, -1},
       {{{256, 1, 8, 1}, {1, 1, 256, 1}, {512, 512, 64, 1}, 0, 0}}},
      {"scalar", {}, {1, 64}, {-1, -1}, {{{1, 1}, {1, 1}, {64, 1}, 0, 0}}},
  };
  for (const Case &test : cases) {
    DeviceLayout layout{test.deviceSize, test.strideMap, DataFormat::SenInt16};
    std::vector<int16_t> host = numbered(test.host);
    std::vector<int16_t> expected(size_t(layout.bytes() / 2), 0);
    for (const Nest &nest : test.nests) {
      run(nest, 0, nest.hostOffset, nest.deviceOffset, host, expected);
    }
    std::vector<int16_t> device;
    roundTrip(test.name, test.host, layout, device);
    EXPECT_EQ(device, expected) << test.name;
  }
}

TEST(TransferNests, FurtherExpertLayoutsRoundTrip) {
  const std::vector<std::tuple<Ints, Ints, Ints>> rows = {
      {{60}, {1, 1, 1, 64}, {60, 64, 60, 1}},
      {{60}, {1, 1, 60, 64}, {1, 64, 1, 1}},
      {{60}, {2, 2, 1, 1, 64}, {30, 15, 64, 60, 1}},
      {{60}, {2, 1, 2, 64}, {15, 64, 30, 1}},
      {{40, 60}, {2, 12, 1, 2, 64}, {720, 60, 64, 1200, 1}},
      {{40, 60}, {2, 6, 2, 1, 2, 64}, {720, 120, 60, 64, 1200, 1}},
      {{40, 60}, {3, 4, 3, 1, 2, 64}, {600, 180, 60, 64, 1800, 1}},
      {{131072}, {4, 512, 64}, {64, 256, 1}},
      {{3, 40, 60}, {38, 3, 64}, {64, 2400, 1}},
  };
  for (const auto &[size, deviceSize, strideMap] : rows) {
    DeviceLayout layout{deviceSize, strideMap, DataFormat::SenInt16};
    std::vector<int16_t> device;
    roundTrip(layout.toString().c_str(), size, layout, device);
  }
}

} // namespace
} // namespace spyre::layout
