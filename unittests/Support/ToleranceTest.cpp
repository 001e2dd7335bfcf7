//===- ToleranceTest.cpp - the formula of the table of tolerances ---------------------------===//
#include "Support/Tolerance.h"

#include "gtest/gtest.h"

#include <stdexcept>

using namespace spyre::testing;

namespace {

constexpr const char *kTable = R"({
  "formats": {"float16": {"fractionBits": [9], "hostFractionBits": 10},
              "bfloat16": {"fractionBits": [9, 8], "hostFractionBits": 10},
              "float32": {"fractionBits": [23]}},
  "host": {"smallestExponent": -24},
  "operations": {
    "copy": {"roundings": 1},
    "sum": {"roundings": 2, "ulpsFp32PerTerm": 1},
    "everything": {"fixed": 8, "roundings": 2, "roundingsPerTerm": 3, "ulpsFp32": 5}
  }})";

constexpr double kHost = 0x1p-11;

} // namespace

TEST(Tolerance, FollowsTheFormula) {
  EXPECT_EQ(toleranceFrom(kTable, "copy", "float16", 1), 0x1p-10 + kHost);
  EXPECT_EQ(toleranceFrom(kTable, "copy", "bfloat16", 7), 0x1p-10 + 0x1p-9 + kHost);
  EXPECT_EQ(toleranceFrom(kTable, "sum", "float16", 100), 2 * 0x1p-10 + 100 * 0x1p-23 + kHost);
  EXPECT_EQ(toleranceFrom(kTable, "everything", "float16", 4),
            8 + 14 * 0x1p-10 + 5 * 0x1p-23 + kHost);
  EXPECT_EQ(toleranceFrom(kTable, "sum", "float32", 3), 2 * 0x1p-24 + 3 * 0x1p-23);
}

TEST(Tolerance, RefusesUnknownNames) {
  EXPECT_THROW(toleranceFrom(kTable, "other", "float16", 1), std::runtime_error);
  EXPECT_THROW(toleranceFrom(kTable, "copy", "float64", 1), std::runtime_error);
  EXPECT_THROW(tolerance("no such operation", "float16"), std::runtime_error);
}

// A few entries of the real table by hand: it was found, and is the one meant.
TEST(Tolerance, ReadsTheTableOfTheProject) {
  EXPECT_EQ(tolerance("matmul", "float16", 64), 3 * 0x1p-10 + 64 * 0x1p-23 + kHost);
  EXPECT_EQ(tolerance("copy", "float32"), 0x1p-24);
  EXPECT_EQ(hostAbsoluteTolerance(), 0x1p-25);
}
