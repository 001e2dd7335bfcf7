//===- ConversionRulesTest.cpp - positions, rounding and refusals of conversions by hand ----===//
#include "Machine.h"

#include <cmath>
#include <limits>

using namespace spyre;
using namespace spyre::evaluator::test;
using evaluator::evaluate;

namespace {

TensorArg vectorOf(int64_t elements, DataFormat format) {
  const int64_t lanes = numerics::elemsPerStick(format);
  return tensor({elements / lanes, lanes},
                {Coordinate::floorDiv("d", lanes), Coordinate::mod("d", lanes)}, format);
}

/// 256 values that a DLFloat16 has: their own positions.
Machine alongStick(const char *op, DataFormat from, DataFormat to, int64_t range = 256) {
  Machine m(op, {{"d", range, 1}}, {vectorOf(256, from), vectorOf(256, to)});
  for (int64_t i = 0; i < 256; ++i) {
    m.set(0, i, float(i));
  }
  return m;
}

/// Four sticks of 64 values, packed into one of 4 bits: two rows o of 128 values d, or four of 64.
Machine into4Bits(const std::string &op) {
  const bool isMb = op == "csqint4";
  const int64_t rows = isMb ? 2 : 4, width = 256 / rows;
  TensorArg out =
      isMb ? tensor({1, 1, 16, 2, 8},
                    {Coordinate::floorDiv("d", 128), Coordinate::floorDiv("o", 2),
                     Coordinate::mod("d", 16, 8), Coordinate::mod("o", 2), Coordinate::mod("d", 8)},
                    DataFormat::SenInt4)
           : tensor({1, 1, 1, 64, 4},
                    {fixed(), tile("d"), Coordinate::floorDiv("o", 4), lane("d"),
                     Coordinate::mod("o", 4)},
                    DataFormat::SenInt4);
  Machine m(
      op, {{"o", rows, 1}, {"d", width, 1}},
      {tensor({1, 1, width / 64, rows, 64}, {fixed(), fixed(), tile("d"), sym("o"), lane("d")}),
       out});
  m.spec.constants = {{"scaleact", 1}, {"shiftact", 0}};
  return m;
}

/// Element \p at of the result in 4 bits: the low half of a byte comes first.
int halfByte(const Machine &m, int64_t at) {
  const int bits = m.memory.arguments[1][size_t(at / 2)] >> (4 * (at % 2)) & 15;
  return bits < 8 ? bits : bits - 16;
}

/// Two rows o of 64 values d, packed into one stick of \p to: row 0 has d, row 1 has -d.
Machine withPartner(const std::string &op, DataFormat to) {
  const bool isMb = op.ends_with("mb");
  TensorArg out = isMb
                      ? tensor({1, 1, 8, 2, 8},
                               {tile("d"), Coordinate::floorDiv("o", 2), Coordinate::mod("d", 8, 8),
                                Coordinate::mod("o", 2), Coordinate::mod("d", 8)},
                               to)
                      : tensor({1, 1, 1, 64, 2},
                               {fixed(), tile("d"), Coordinate::floorDiv("o", 2), lane("d"),
                                Coordinate::mod("o", 2)},
                               to);
  Machine m(op, {{"o", 2, 1}, {"d", 64, 1}},
            {tensor({1, 1, 1, 2, 64}, {fixed(), fixed(), tile("d"), sym("o"), lane("d")}), out});
  if (op.starts_with("csq")) {
    m.spec.constants = {{"scaleact", 1}, {"shiftact", 0}};
  }
  for (int64_t d = 0; d < 64; ++d) {
    m.set(0, d, float(d));
    m.set(0, 64 + d, float(-d));
  }
  return m;
}

Machine quantise(float scale, float shift) {
  Machine m("csqint8ch", {{"d", 128, 1}},
            {vectorOf(128, DataFormat::Sen169Fp16), vectorOf(128, DataFormat::SenInt8)});
  m.spec.constants = {{"shiftact", shift}, {"scaleact", scale}};
  return m;
}

} // namespace

// The positions of the documents: groups of 8 alternate between two sticks.
TEST(ConversionRules, Dl16ToFp32DealsOutGroupsOfEight) {
  Machine m = alongStick("dl16tofp32", DataFormat::Sen169Fp16, DataFormat::IeeeFp32);
  m.run();
  for (int64_t q = 0; q < 4; ++q) {
    for (int64_t g = 0; g < 8; ++g) {
      for (int64_t i = 0; i < 8; ++i) {
        EXPECT_EQ(m.result(64 * q + 32 * (g % 2) + 8 * (g / 2) + i), float(64 * q + 8 * g + i));
      }
    }
  }
}

TEST(ConversionRules, Fp32ToDl16IsTheInverse) {
  Machine wide = alongStick("dl16tofp32", DataFormat::Sen169Fp16, DataFormat::IeeeFp32);
  wide.run();
  Machine back = alongStick("fp32todl16", DataFormat::IeeeFp32, DataFormat::Sen169Fp16);
  back.memory.arguments[0] = wide.memory.arguments[1];
  back.run();
  EXPECT_EQ(back.memory.arguments[1], wide.memory.arguments[0]);
}

TEST(ConversionRules, Qfp8chPacksTwoSticksAndFp8ToDl16UnpacksThem) {
  Machine m = alongStick("qfp8ch", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8);
  for (int64_t i = 0; i < 256; ++i) {
    m.set(0, i, float(i % 16 - 8) * float(1 << (i / 64))); // Exact in fp8.
  }
  m.run();
  for (int64_t q = 0; q < 2; ++q) {
    for (int64_t j = 0; j < 8; ++j) {
      for (int64_t s = 0; s < 2; ++s) {
        for (int64_t i = 0; i < 8; ++i) {
          EXPECT_EQ(m.result(128 * q + 16 * j + 8 * s + i), m.get(0, 128 * q + 64 * s + 8 * j + i));
        }
      }
    }
  }
  Machine back = alongStick("fp8todl16", DataFormat::Sen143Fp8, DataFormat::Sen169Fp16);
  back.memory.arguments[0] = m.memory.arguments[1];
  back.run();
  EXPECT_EQ(back.memory.arguments[1], m.memory.arguments[0]);
}

TEST(ConversionRules, PartnersAlternateByEightOrByOne) {
  for (const char *op : {"csqint8mb", "csqint8wt"}) {
    Machine m = withPartner(op, DataFormat::SenInt8);
    m.run();
    for (int64_t d = 0; d < 64; ++d) {
      const bool isMb = op[7] == 'm';
      EXPECT_EQ(m.result(isMb ? d / 8 * 16 + d % 8 : 2 * d), float(d)) << op << " " << d;
      EXPECT_EQ(m.result(isMb ? d / 8 * 16 + 8 + d % 8 : 2 * d + 1), float(-d)) << op << " " << d;
    }
  }
  for (const char *op : {"qfp8mb", "qfp8wt"}) {
    Machine m = withPartner(op, DataFormat::Sen143Fp8);
    m.run();
    EXPECT_EQ(m.result(op[4] == 'm' ? 3 : 6), 3) << op;
    EXPECT_EQ(m.result(op[4] == 'm' ? 11 : 7), -3) << op;
  }
}

// Where each value goes, value by value: nothing else changes.
TEST(ConversionRules, FourSticksShareOneOf4Bits) {
  for (const char *op : {"csqint4", "csqint4wt"}) {
    const bool isMb = op[7] == 0;
    for (int64_t o = 0; o < (isMb ? 2 : 4); ++o) {
      for (int64_t d = 0; d < (isMb ? 128 : 64); ++d) {
        Machine m = into4Bits(op);
        m.set(0, (d / 64 * (isMb ? 2 : 4) + o) * 64 + d % 64, -5);
        m.run();
        // Groups of 8: the two rows side by side, inside of them the two sticks along d.
        const int64_t lane = isMb ? d % 64 / 8 * 32 + d / 64 * 16 + o * 8 + d % 8 : 4 * d + o;
        for (int64_t i = 0; i < 256; ++i) {
          ASSERT_EQ(halfByte(m, i), i == lane ? -5 : 0) << op << " " << o << " " << d << " " << i;
        }
      }
    }
  }
}

TEST(ConversionRules, Csqint4RoundsToEvenAndSaturates) {
  struct Case {
    float x, scale, shift;
    int expected;
  };
  const Case cases[] = {
      {2.5f, 1, 0, 2},
      {3.5f, 1, 0, 4},
      {-2.5f, 1, 0, -2},
      {7.5f, 1, 0, 7},
      {9, 1, 0, 7},
      {3e9f, 1, 0, 7},
      {-8.5f, 1, 0, -8},
      {-9, 1, 0, -8},
      {-3e9f, 1, 0, -8},
      {1, 2.5f, 1, 4},
      {std::numeric_limits<float>::quiet_NaN(), 1, 0, 0},
      // 2.49853515625 rounds to the DLFloat16 2.5 first (steps of 2^-8), and then to the even 2.
      // 3.49853515625 rounds to 3.5 and 4, though 3 is nearer.
      {3, 1, 0.49853515625f, 4},
      {2, 1, 0.49853515625f, 2},
  };
  for (const Case &test : cases) {
    for (const char *op : {"csqint4", "csqint4wt"}) {
      Machine m = into4Bits(op);
      m.spec.constants = {{"shiftact", test.shift}, {"scaleact", test.scale}};
      m.set(0, 0, test.x);
      m.set(0, 1, -1);
      m.run();
      EXPECT_EQ(halfByte(m, 0), test.expected) << op << " " << test.x << " " << test.scale;
    }
  }
}

// The neighbour in the byte stays what it is, whichever is written last; what is outside, too.
TEST(ConversionRules, HalfBytesAreWrittenAlone) {
  Machine m = into4Bits("csqint4wt");
  m.set(0, 0, 7);
  m.set(0, 64, -8);
  m.set(0, 128, 1);
  m.run();
  EXPECT_EQ(m.memory.arguments[1][0], 0x87);
  EXPECT_EQ(m.memory.arguments[1][1], 0x01);
  EXPECT_EQ(m.memory.arguments[1].size(), 128u);
}

// The padding of the last sticks is converted like everything else.
TEST(ConversionRules, WholeSticksAreConverted) {
  Machine m = alongStick("qfp8ch", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8, 130);
  m.set(0, 255, 5);
  m.run();
  EXPECT_EQ(m.result(255), 5);
}

TEST(ConversionRules, Csqint8RoundsToEvenAndSaturates) {
  struct Case {
    float x, scale, shift;
    int expected;
  };
  const Case cases[] = {
      {2.5f, 1, 0, 2},
      {3.5f, 1, 0, 4},
      {-2.5f, 1, 0, -2},
      {1, 2.5f, 1, 4},
      {200, 1, 0, 127},
      {-200, 1, 0, -128},
      {3, 40, 7, 127},
      {3, -40, -7, -127},
      {-3.2f, 40, 0, -128},
      {std::numeric_limits<float>::quiet_NaN(), 1, 0, 0},
      // 100.4375 is between the DLFloat16 numbers 100.375 and 100.5: rounded first to 100.5, then
      // to the even 100.
      {100, 1, 0.4375f, 100},
      // 0.498047 is a DLFloat16; 101 more are 101.498, rounded to 101.5 first, and then to 102.
      {101, 1, 0.498046875f, 102},
  };
  for (const Case &test : cases) {
    Machine m = quantise(test.scale, test.shift);
    m.set(0, 0, test.x);
    m.run();
    EXPECT_EQ(m.result(0), float(test.expected)) << test.x << " " << test.scale;
  }
}

// Sums pass 2^24, where float32 would lose the 3.
TEST(ConversionRules, IntegerMatmulIsExactAndRoundsOnce) {
  const int64_t count = 2065, sticks = 17;
  Machine m("batchmatmulint8", {{"m", 1, 1}, {"n", 64, 1}, {"k", count, 1}},
            {tensor({1, sticks, 1, 128},
                    {fixed(), Coordinate::floorDiv("k", 128), sym("m"), Coordinate::mod("k", 128)},
                    DataFormat::SenInt8),
             tensor({1, sticks * 64, 64, 2},
                    {tile("n"), Coordinate::floorDiv("k", 2), lane("n"), Coordinate::mod("k", 2)},
                    DataFormat::SenInt8),
             tensor({1, 1, 1, 64}, {fixed(), tile("n"), sym("m"), lane("n")})},
            true);
  for (int64_t k = 0; k < sticks * 128; ++k) {
    m.set(0, k, k == 1024 ? 3 : -128);
    const float column0 = k < 1024 ? -128 : k == 1024 ? 1 : k < 2049 ? 127 : 64;
    m.set(1, k / 2 * 128 + k % 2, column0);
    m.set(1, k / 2 * 128 + 2 + k % 2, k < 1024 ? -128 : 0);
  }
  m.run();
  EXPECT_EQ(m.result(0), 3.0f);
  EXPECT_EQ(m.result(1), 16777216.0f);
  EXPECT_EQ(m.result(2), 0.0f);
}

TEST(ConversionRules, Fp8MatmulTakesPairsOfRows) {
  Machine m("batchmatmulfp8", {{"m", 1, 1}, {"n", 64, 1}, {"k", 3, 1}},
            {tensor({1, 1, 1, 128},
                    {fixed(), Coordinate::floorDiv("k", 128), sym("m"), Coordinate::mod("k", 128)},
                    DataFormat::Sen143Fp8),
             tensor({1, 64, 64, 2},
                    {tile("n"), Coordinate::floorDiv("k", 2), lane("n"), Coordinate::mod("k", 2)},
                    DataFormat::Sen143Fp8),
             tensor({1, 1, 1, 64}, {fixed(), tile("n"), sym("m"), lane("n")})},
            true);
  for (int64_t k = 0; k < 4; ++k) {
    m.set(0, k, float(k + 1));
    m.set(1, (k / 2 * 64 + 5) * 2 + k % 2, k == 0 ? 1 : k == 1 ? 8 : k == 2 ? 64 : 448);
  }
  m.run();
  EXPECT_EQ(m.result(5), 1 + 2 * 8 + 3 * 64);
  EXPECT_EQ(m.result(4), 0);
}

TEST(ConversionRules, RefusesOtherFormatsSticksAndConstants) {
  const auto code = [](Machine m) { return evaluate({m.spec}, m.memory).code(); };
  EXPECT_EQ(code(alongStick("qfp8ch", DataFormat::Sen169Fp16, DataFormat::SenInt8)), 1401);
  EXPECT_EQ(code(alongStick("dl16tofp32", DataFormat::IeeeFp32, DataFormat::IeeeFp32)), 1401);
  EXPECT_EQ(code(alongStick("qfp8mb", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8)), 1401);
  Machine wrong = withPartner("qfp8wt", DataFormat::Sen143Fp8);
  wrong.spec.op = "qfp8mb";
  EXPECT_EQ(code(wrong), 1401);
  wrong.spec.op = "qfp8ch";
  EXPECT_EQ(code(wrong), 1401);
  Machine bare = quantise(1, 0);
  bare.spec.constants.pop_back();
  EXPECT_EQ(code(bare), 1401);
  Machine scaled = alongStick("qfp8ch", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8);
  scaled.spec.constants = {{"scaleact", 1}};
  EXPECT_EQ(code(scaled), 1401);
  Machine reduction = alongStick("qfp8ch", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8);
  reduction.spec.isReduction = true;
  EXPECT_EQ(code(reduction), 1401);
  Machine otherWay = into4Bits("csqint4wt");
  otherWay.spec.op = "csqint4";
  EXPECT_EQ(code(otherWay), 1401);
  otherWay.spec.op = "csqint8wt";
  EXPECT_EQ(code(otherWay), 1401);
  Machine unscaled = into4Bits("csqint4");
  unscaled.spec.constants.clear();
  EXPECT_EQ(code(unscaled), 1401);
  Machine small = into4Bits("csqint4");
  small.memory.arguments[1].resize(127);
  EXPECT_EQ(code(small), 1402);
  Machine copy = into4Bits("csqint4wt"); // Half bytes are not copied.
  copy.spec.op = "identity";
  copy.spec.constants.clear();
  copy.spec.args[0] = copy.spec.args[1];
  copy.spec.args[0].isInput = true;
  copy.spec.args[0].argIndex = 0;
  EXPECT_EQ(code(copy), 1401);
  // One stick of input for half a stick of output.
  Machine narrow("qfp8ch", {{"d", 64, 1}},
                 {vectorOf(64, DataFormat::Sen169Fp16), vectorOf(128, DataFormat::Sen143Fp8)});
  EXPECT_EQ(code(narrow), 1402);
}
