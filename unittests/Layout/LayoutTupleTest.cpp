//===- LayoutTupleTest.cpp - versions of the kept state, and small layout helpers -----------===//
#include "spyre/Base/Random.h"
#include "spyre/Layout/DeviceLayout.h"

#include "gtest/gtest.h"

namespace spyre::layout {
namespace {

using numerics::DataFormat;
using numerics::HostType;
using Ints = std::vector<int64_t>;

const DeviceLayout kLayout{{4, 512, 64}, {64, 256, 1}, DataFormat::Sen169Fp16};

TEST(LayoutTuple, TextIsVersion3) {
  EXPECT_EQ(kLayout.toTuple(), "(3, [4, 512, 64], [64, 256, 1], DataFormats.SEN169_FP16, "
                               "ElementArrangement.STANDARD)");
}

TEST(LayoutTuple, EveryLayoutReturns) {
  for (int format = 0; format <= 18; ++format) {
    for (int arrangement = 0; arrangement < 4; ++arrangement) {
      DeviceLayout layout{
          {7, 1, 64}, {-1, 0, INT64_MAX}, DataFormat(format), ElementArrangement(arrangement)};
      auto back = DeviceLayout::fromTuple(layout.toTuple());
      ASSERT_TRUE(back.ok()) << back.status().message();
      EXPECT_EQ(*back, layout);
    }
  }
  auto empty = DeviceLayout::fromTuple(DeviceLayout().toTuple());
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(*empty, DeviceLayout());
}

TEST(LayoutTuple, OlderVersionsAreRead) {
  for (const char *text : {
           "(1, [4, 512, 64], [1, 0, 1], [64, 256, 1], DataFormats.SEN169_FP16)",
           "(1, (4, 512, 64), (1, 0, 1,), (64, 256, 1), 0)",
           "(2, [4, 512, 64], [64, 256, 1], DataFormats.SEN169_FP16)",
           " ( 2,[4,512,64],[64,256,1],SEN169_FP16 , ) ",
           "(3, [4, 512, 64], [64, 256, 1], 0, 0)",
       }) {
    auto layout = DeviceLayout::fromTuple(text);
    ASSERT_TRUE(layout.ok()) << text << ": " << layout.status().message();
    EXPECT_EQ(*layout, kLayout) << text;
  }
  auto arranged = DeviceLayout::fromTuple("(3, [4, 512, 64], [64, 256, 1], 0, 2)");
  ASSERT_TRUE(arranged.ok());
  EXPECT_EQ(*arranged, kLayout.withElementArrangement(ElementArrangement::Qfp8Ch));
}

TEST(LayoutTuple, FaultsAreNumbered) {
  auto status = [](const std::string &text) { return DeviceLayout::fromTuple(text).status(); };
  EXPECT_EQ(status("(4, [4], [1], 0, 0)").code(), 2020);
  EXPECT_EQ(status("(0, [4], [1], 0)").code(), 2020);
  EXPECT_NE(
      status("(4, [4], [1], 0, 0)").text().find("Unsupported SpyreTensorLayout pickle version"),
      std::string::npos);
  EXPECT_NE(status("(2, [4], [1], 0, 0)").text().find("version 2"), std::string::npos);
  EXPECT_EQ(status("(3, [64], [1], NO_FORMAT, 0)").code(), 2001);
  for (const char *text : {"",
                           "(",
                           "()",
                           "(3",
                           "(3,",
                           "3",
                           "([3], 1)",
                           "(2, [4], [1], 0) x",
                           "(2, [4], [1], 0, 0)",
                           "(3, [4], [1], 0)",
                           "(1, [4], [1], 0)",
                           "(1, [4], 7, [1], 0)",
                           "(2, 4, [1], 0)",
                           "(2, [4], 1, 0)",
                           "(2, [4, [1], 0)",
                           "(2, [4 5], [1], 0)",
                           "(2, [,4], [1], 0)",
                           "(2, [4], [1], 19)",
                           "(2, [4], [1], -1)",
                           "(2, [4], [1], [0])",
                           "(3, [4], [1], 0, 4)",
                           "(3, [4], [1], 0, [0])",
                           "(3, [4], [1], 0, NAME)",
                           "(2, [99999999999999999999], [1], 0)",
                           "(2, [4], [1], $)",
                           "(2 [4], [1], 0)",
                           "(2, [4), [1], 0)",
                           "(2, [-], [1], 0)"}) {
    EXPECT_EQ(status(text).code(), 2018) << text;
  }
  EXPECT_EQ(status("(2, [" + std::string(100000, '1') + "], [1], 0)").code(), 2018);
  std::string longList = "(2, [1";
  for (int i = 0; i < 100000; ++i) {
    longList += ",1";
  }
  EXPECT_EQ(status(longList + "], [1], 0)").code(), 2018);
  EXPECT_EQ(status(std::string(100000, '(')).code(), 2018);
}

// Any change of a byte gives a layout that returns, or an error.
TEST(LayoutTuple, AnyBytesAreSafe) {
  Random random(51);
  for (int round = 0; round < 20000; ++round) {
    std::string text = kLayout.toTuple();
    for (uint64_t i = random.below(3) + 1; i > 0; --i) {
      size_t at = size_t(random.below(text.size()));
      switch (random.below(3)) {
      case 0:
        text[at] = char(random.next());
        break;
      case 1:
        text.erase(at, 1);
        break;
      default:
        text.insert(at, 1, "()[],-0123456789."[random.below(17)]);
      }
    }
    auto layout = DeviceLayout::fromTuple(text);
    if (layout.ok()) {
      ASSERT_EQ(*DeviceLayout::fromTuple(layout->toTuple()), *layout) << text;
    }
  }
}

TEST(LayoutTuple, ArrangementAndDimOrderHelpers) {
  DeviceLayout exx2 = kLayout.withElementArrangement(ElementArrangement::Exx2);
  EXPECT_EQ(exx2.arrangement, ElementArrangement::Exx2);
  EXPECT_EQ(exx2.deviceSize, kLayout.deviceSize);
  EXPECT_NE(exx2, kLayout);
  EXPECT_NE(exx2.toString().find(", element_arrangement=ElementArrangement.EXX2)"),
            std::string::npos);
  EXPECT_EQ(exx2.withElementArrangement(ElementArrangement::Standard), kLayout);
  EXPECT_EQ(DeviceLayout::genericStickDimOrder(4), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(DeviceLayout::genericStickDimOrder(0), Ints{});
  EXPECT_EQ(DeviceLayout::genericStickDimOrder(-1), Ints{});
}

TEST(LayoutTuple, OlderSoftwareHasRankLimits) {
  EXPECT_TRUE(DeviceLayout::checkCompatRank(6, false).ok());
  EXPECT_TRUE(DeviceLayout::checkCompatRank(5, true).ok());
  Status dense = DeviceLayout::checkCompatRank(7, false);
  EXPECT_EQ(dense.code(), 2003);
  EXPECT_NE(dense.text().find("Unsupported tensor rank: 7"), std::string::npos);
  EXPECT_EQ(DeviceLayout::checkCompatRank(6, true).code(), 2003);
  EXPECT_EQ(DeviceLayout::checkCompatRank(INT64_MAX, true).code(), 2003);
}

} // namespace
} // namespace spyre::layout
