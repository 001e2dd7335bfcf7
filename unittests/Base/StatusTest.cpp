//===- StatusTest.cpp - errors as values, integer helpers, random numbers -------------------===//
#include "spyre/Base/Status.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

#include <set>

namespace spyre {
namespace {

Expected<int> half(int value) {
  if (value % 2 != 0) {
    return error<9103>("{} is odd; give an even number", value);
  }
  return value / 2;
}

Expected<int> quarter(int value) {
  SPYRE_ASSIGN_OR_RETURN(int first, half(value));
  SPYRE_ASSIGN_OR_RETURN(int second, half(first));
  return second;
}

Status checkQuarter(int value) {
  SPYRE_RETURN_IF_ERROR(quarter(value).status());
  return Status::success();
}

TEST(Status, CarriesCodeTextAndContext) {
  Status status = error<2003>("rank {} is above the limit {}", 7, 6);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), 2003);
  EXPECT_EQ(status.message(), "SPYRE-E2003: rank 7 is above the limit 6");
  EXPECT_EQ(status.withContext("a.json: ").message(),
            "SPYRE-E2003: a.json: rank 7 is above the limit 6");
  EXPECT_EQ(Status::success().message(), "");
  EXPECT_TRUE(Status::success().withContext("x").ok());
}

TEST(Status, PropagatesThroughTheMacros) {
  ASSERT_TRUE(quarter(12).ok());
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().text(), "3 is odd; give an even number");
  EXPECT_TRUE(checkQuarter(8).ok());
  EXPECT_EQ(checkQuarter(5).code(), 9103);
}

TEST(StatusDeathTest, FailedCheckNamesTheInvariant) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(SPYRE_CHECK(1 + 1 == 3, "sums are right"), "internal error: sums are right");
}

TEST(Math, ProductsAreChecked) {
  int64_t product = 0;
  EXPECT_TRUE(checkedProduct({3, 5}, product));
  EXPECT_EQ(product, 15);
  EXPECT_FALSE(checkedProduct({int64_t(1) << 40, int64_t(1) << 40}, product));
  EXPECT_FALSE(checkedProduct({2, -1}, product));
  EXPECT_EQ(ceilDiv(129, 128), 2);
  EXPECT_EQ(roundUp(1677721, 128), 1677824);
  EXPECT_EQ(rowMajorStrides({5, 100, 150}), (std::vector<int64_t>{15000, 150, 1}));
}

TEST(Random, IsTheSameOnEveryHost) {
  Random random(1);
  EXPECT_EQ(random.next(), 0x910A2DEC89025CC1ull);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    int64_t value = random.between(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    seen.insert(value);
    float unit = random.uniform(0, 1);
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
  }
  EXPECT_EQ(seen.size(), 5u);
}

} // namespace
} // namespace spyre
