//===- DeviceLayoutTest.cpp - the documented layouts as golden tables -----------------------===//
#include "spyre/Layout/DeviceLayout.h"

#include "spyre/Base/Math.h"

#include "gtest/gtest.h"

namespace spyre::layout {
namespace {

using numerics::DataFormat;
using numerics::HostType;
using Ints = std::vector<int64_t>;

DeviceLayout made(const Expected<DeviceLayout> &layout) {
  EXPECT_TRUE(layout.ok()) << layout.status().message();
  return layout.ok() ? *layout : DeviceLayout();
}

// [spec: device-and-layouts 3.4]
TEST(DeviceLayout, DefaultLayoutsOfFp16) {
  const struct {
    Ints host, deviceSize, strideMap;
    int64_t bytes;
  } rows[] = {
      {{}, {1, 64}, {-1, -1}, 128},
      {{1}, {1, 64}, {-1, -1}, 128},
      {{60}, {1, 64}, {64, 1}, 128},
      {{120}, {2, 64}, {64, 1}, 256},
      {{128}, {2, 64}, {64, 1}, 256},
      {{512, 240}, {4, 512, 64}, {64, 240, 1}, 262144},
      {{512, 256}, {4, 512, 64}, {64, 256, 1}, 262144},
      {{1000, 200}, {4, 1000, 64}, {64, 200, 1}, 512000},
      {{1024, 256}, {4, 1024, 64}, {64, 256, 1}, 524288},
      {{512, 1}, {1, 512, 64}, {-1, 1, -1}, 65536},
      {{1, 256}, {4, 1, 64}, {64, -1, 1}, 512},
      {{512, 8, 240}, {8, 4, 512, 64}, {240, 64, 1920, 1}, 2097152},
      {{512, 8, 256}, {8, 4, 512, 64}, {256, 64, 2048, 1}, 2097152},
      {{5, 100, 150}, {100, 3, 5, 64}, {150, 64, 15000, 1}, 192000},
      {{50, 10, 200}, {10, 4, 50, 64}, {200, 64, 2000, 1}, 256000},
      {{128, 256, 512}, {256, 8, 128, 64}, {512, 64, 131072, 1}, 33554432},
      {{512, 256, 1}, {256, 1, 512, 64}, {1, -1, 256, -1}, 16777216},
      {{8, 1, 64}, {1, 1, 8, 64}, {-1, 64, 64, 1}, 1024},
      {{2, 3, 4, 150}, {3, 4, 3, 2, 64}, {600, 150, 64, 1800, 1}, 9216},
      {{2, 3, 4, 5, 100}, {3, 4, 5, 2, 2, 64}, {2000, 500, 100, 64, 6000, 1}, 30720},
      {{2, 3, 4, 5, 6, 70}, {3, 4, 5, 6, 2, 2, 64}, {8400, 2100, 420, 70, 64, 25200, 1}, 184320},
  };
  for (const auto &row : rows) {
    DeviceLayout layout = made(DeviceLayout::makeDefault(row.host, HostType::Float16));
    EXPECT_EQ(layout.deviceSize, row.deviceSize);
    EXPECT_EQ(layout.strideMap, row.strideMap);
    EXPECT_EQ(layout.bytes(), row.bytes);
    EXPECT_EQ(layout.sticks() * 128, row.bytes);
    EXPECT_EQ(layout.format, DataFormat::Sen169Fp16);
    EXPECT_TRUE(layout.verify().ok());
  }
}

TEST(DeviceLayout, DefaultLayoutsOfOtherTypes) {
  const struct {
    HostType type;
    Ints host, deviceSize, strideMap;
  } rows[] = {
      {HostType::Float32, {512, 240}, {8, 512, 32}, {32, 240, 1}},
      {HostType::Float32, {100}, {4, 32}, {32, 1}},
      {HostType::Float8E4m3fn, {512, 240}, {2, 512, 128}, {128, 240, 1}},
      {HostType::Float8E4m3fn, {512, 1024}, {8, 512, 128}, {128, 1024, 1}},
      {HostType::Int32, {7, 33}, {2, 7, 32}, {32, 33, 1}},
      {HostType::Int64, {7, 33}, {2, 7, 32}, {32, 33, 1}},
      {HostType::Bool, {7, 65}, {2, 7, 64}, {64, 65, 1}},
  };
  for (const auto &row : rows) {
    DeviceLayout layout = made(DeviceLayout::makeDefault(row.host, row.type));
    EXPECT_EQ(layout.deviceSize, row.deviceSize);
    EXPECT_EQ(layout.strideMap, row.strideMap);
  }
}

// [spec: device-and-layouts 3.5, 3.6]
TEST(DeviceLayout, DimOrdersOfFp16) {
  const struct {
    Ints size, stride, order, deviceSize, strideMap;
  } rows[] = {
      {{512, 256}, {256, 1}, {0, 1}, {4, 512, 64}, {64, 256, 1}},
      {{512, 256}, {256, 1}, {1, 0}, {8, 256, 64}, {16384, 1, 256}},
      {{512, 8, 256}, {2048, 256, 1}, {0, 2, 1}, {256, 1, 512, 64}, {1, 16384, 2048, 256}},
      {{512, 8, 256}, {2048, 256, 1}, {1, 0, 2}, {512, 4, 8, 64}, {2048, 64, 256, 1}},
      {{512, 8, 256}, {2048, 256, 1}, {1, 2, 0}, {256, 8, 8, 64}, {1, 131072, 256, 2048}},
      {{512, 8, 256}, {2048, 256, 1}, {2, 0, 1}, {512, 1, 256, 64}, {2048, 16384, 1, 256}},
      {{512, 8, 256}, {2048, 256, 1}, {2, 1, 0}, {8, 8, 256, 64}, {256, 131072, 1, 2048}},
      {{5, 100, 150}, {15000, 150, 1}, {1, 0, 2}, {5, 3, 100, 64}, {15000, 64, 150, 1}},
      {{4096, 11008}, {11008, 1}, {1, 0}, {64, 11008, 64}, {704512, 1, 11008}},
      {{40, 60}, {1, 40}, {0, 1}, {1, 40, 64}, {2560, 1, 40}},
      {{40, 60}, {1, 40}, {1, 0}, {1, 60, 64}, {64, 40, 1}},
      // Sparse: one element per stick.
      {{512}, {1}, {0, -1}, {1, 512, 64}, {-1, 1, -1}},
      {{512, 256}, {256, 1}, {0, 1, -1}, {256, 1, 512, 64}, {1, -1, 256, -1}},
      {{512, 256}, {256, 1}, {1, 0, -1}, {512, 1, 256, 64}, {256, -1, 1, -1}},
      {{4, 16}, {16, 1}, {0, 1, -1}, {16, 1, 4, 64}, {1, -1, 16, -1}},
  };
  for (const auto &row : rows) {
    DeviceLayout layout =
        made(DeviceLayout::make(row.size, row.stride, HostType::Float16, row.order));
    EXPECT_EQ(layout.deviceSize, row.deviceSize);
    EXPECT_EQ(layout.strideMap, row.strideMap);
  }
}

TEST(DeviceLayout, TextFormIsTheDocumentedOne) {
  DeviceLayout layout = made(DeviceLayout::makeDefault({512, 256}, HostType::Float16));
  EXPECT_EQ(layout.toString(), "SpyreTensorLayout(device_size=[4, 512, 64], stride_map =[64, 256, "
                               "1], device_dtype=DataFormats.SEN169_FP16)");
  layout.arrangement = ElementArrangement::Qfp8Ch;
  EXPECT_EQ(layout.toString(),
            "SpyreTensorLayout(device_size=[4, 512, 64], stride_map =[64, 256, 1], "
            "device_dtype=DataFormats.SEN169_FP16, "
            "element_arrangement=ElementArrangement.QFP8CH)");
}

TEST(DeviceLayout, EqualityAndHashUseAllFourFields) {
  DeviceLayout base = made(DeviceLayout::makeDefault({512, 256}, HostType::Float16));
  std::vector<DeviceLayout> others(4, base);
  others[0].deviceSize[0] = 5;
  others[1].strideMap[0] = 65;
  others[2].format = DataFormat::SenInt16;
  others[3].arrangement = ElementArrangement::Exx2;
  for (const DeviceLayout &other : others) {
    EXPECT_NE(other, base);
    EXPECT_NE(other.hash(), base.hash());
  }
  DeviceLayout copy = base;
  EXPECT_EQ(copy, base);
  EXPECT_EQ(copy.hash(), base.hash());
}

TEST(DeviceLayout, EmptyTensorsHaveNoBytes) {
  for (const Ints &size : {Ints{0}, Ints{0, 5}, Ints{5, 0}, Ints{3, 0, 70}}) {
    DeviceLayout layout = made(DeviceLayout::makeDefault(size, HostType::Float16));
    EXPECT_EQ(layout.bytes(), 0);
    EXPECT_TRUE(layout.verify().ok());
  }
}

TEST(DeviceLayout, RanksUpToEightAreGeneric) {
  Ints size(8, 2);
  DeviceLayout layout = made(DeviceLayout::makeDefault(size, HostType::Float16));
  EXPECT_EQ(layout.deviceSize, (Ints{2, 2, 2, 2, 2, 2, 1, 2, 64}));
  EXPECT_EQ(layout.strideMap, (Ints{64, 32, 16, 8, 4, 2, 64, 128, 1}));
}

TEST(DeviceLayout, FaultsAreNumbered) {
  auto code = [](const Ints &size, const Ints &stride, const Ints &order) {
    return DeviceLayout::make(size, stride, HostType::Float16, order).status().code();
  };
  EXPECT_EQ(DeviceLayout::makeDefault(Ints(9, 1), HostType::Float16).status().code(), 2003);
  EXPECT_EQ(code({2, 3}, {3, 1}, {0}), 2004);
  EXPECT_EQ(code({2, 3}, {3, 1}, {0, 0}), 2004);
  EXPECT_EQ(code({2, 3}, {3, 1}, {0, 2}), 2004);
  EXPECT_EQ(code({2, 3}, {3, 1}, {0, -1}), 2004);
  EXPECT_EQ(code({2, 3}, {3, 1}, {0, 1, 1}), 2004);
  EXPECT_EQ(code({2, 3}, {3, 1}, {0, 1, -1, -1}), 2004);
  EXPECT_EQ(code({2, 3}, {3, 1}, {}), 2004);
  EXPECT_EQ(code({}, {}, {0}), 2004);
  EXPECT_EQ(code({2, -3}, {3, 1}, {0, 1}), 2006);
  EXPECT_EQ(code({2, 3}, {-3, 1}, {0, 1}), 2006);
  EXPECT_EQ(code({2, 3}, {1}, {0, 1}), 2006);
  EXPECT_EQ(code({INT64_MAX, 3}, {3, 1}, {0, 1}), 2006);
  EXPECT_EQ(code({1 << 30, 1 << 30}, {1 << 30, 1}, {0, 1}), 2006);
  EXPECT_EQ(code({1 << 20, 3}, {int64_t(1) << 46, 1}, {1, 0}), 2006);
  EXPECT_EQ(DeviceLayout::makeDefault(Ints(8, int64_t(1) << 40), HostType::Int8).status().code(),
            2006);
}

TEST(DeviceLayout, VerifyRefusesUnsoundLayouts) {
  DeviceLayout good = made(DeviceLayout::makeDefault({5, 100}, HostType::Float16));
  auto refused = [&](auto change) {
    DeviceLayout layout = good;
    change(layout);
    return layout.verify().code() == 2008;
  };
  EXPECT_TRUE(good.verify().ok());
  EXPECT_TRUE(refused([](DeviceLayout &l) { l.strideMap.pop_back(); }));
  EXPECT_TRUE(refused([](DeviceLayout &l) { l = DeviceLayout(); }));
  EXPECT_TRUE(refused([](DeviceLayout &l) { l.deviceSize.back() = 32; }));
  EXPECT_TRUE(refused([](DeviceLayout &l) { l.deviceSize[0] = -1; }));
  EXPECT_TRUE(refused([](DeviceLayout &l) { l.strideMap[0] = -2; }));
  EXPECT_TRUE(refused([](DeviceLayout &l) { l.format = DataFormat::SenInt24; }));
  EXPECT_TRUE(refused([](DeviceLayout &l) { l.deviceSize[0] = int64_t(1) << 40; }));
  EXPECT_TRUE(refused([](DeviceLayout &l) {
    l.deviceSize = {INT64_MAX, INT64_MAX, 64};
    EXPECT_EQ(l.bytes(), 0);
  }));
}

} // namespace
} // namespace spyre::layout
