//===- ConvertTest.cpp - every pair of formats against one element at a time ----------------===//
#include "Sim/SimFixture.h"

#include <cmath>

namespace spyre::test {
namespace {

using numerics::DataFormat;

const std::vector<DataFormat> kFormats{
    DataFormat::Sen169Fp16, DataFormat::IeeeFp32,  DataFormat::Sen143Fp8, DataFormat::Sen152Fp8,
    DataFormat::SenInt2,    DataFormat::SenInt4,   DataFormat::SenInt8,   DataFormat::SenInt16,
    DataFormat::IeeeInt64,  DataFormat::IeeeInt32, DataFormat::SenUint32, DataFormat::SenUint2,
    DataFormat::IeeeFp16,   DataFormat::Bool,      DataFormat::Bfloat16};

bool isInteger(DataFormat format) {
  switch (format) {
  case DataFormat::SenInt2:
  case DataFormat::SenInt4:
  case DataFormat::SenInt8:
  case DataFormat::SenInt16:
  case DataFormat::IeeeInt64:
  case DataFormat::IeeeInt32:
  case DataFormat::SenUint32:
  case DataFormat::SenUint2:
    return true;
  default:
    return false;
  }
}

bool isWideInteger(DataFormat format) {
  return format == DataFormat::IeeeInt64 || format == DataFormat::IeeeInt32 ||
         format == DataFormat::SenUint32;
}

struct Conversion {
  DataFormat from = DataFormat::Sen169Fp16, to = DataFormat::IeeeFp32;
  uint16_t group = 1;
  Function function = Function::Nearest;
  int64_t fromLanes() const { return numerics::elemsPerStick(from); }
  int64_t toLanes() const { return numerics::elemsPerStick(to); }
  int64_t ratio() const {
    return std::max(fromLanes(), toLanes()) / std::min(fromLanes(), toLanes());
  }
};

/// Where value \p v of a point is: its stick and lane on a side with \p sticks sticks.
struct Spot {
  int64_t stick, lane;
};
Spot spotOf(int64_t v, int64_t sticks, int64_t group) {
  int64_t laneGroup = v / group;
  return {laneGroup % sticks, laneGroup / sticks * group + v % group};
}

/// Bits of one element, and writing them.
uint64_t element(const uint8_t *stick, int64_t lane, int64_t lanes) {
  int64_t bits = 1024 / lanes, first = lane * bits;
  uint64_t value = 0;
  for (int64_t i = 0; i < bits; ++i) {
    value |= uint64_t(stick[(first + i) / 8] >> ((first + i) % 8) & 1) << i;
  }
  return value;
}
void setElement(uint8_t *stick, int64_t lane, int64_t lanes, uint64_t value) {
  int64_t bits = 1024 / lanes, first = lane * bits;
  for (int64_t i = 0; i < bits; ++i) {
    auto mask = uint8_t(1 << ((first + i) % 8));
    uint8_t &byte = stick[(first + i) / 8];
    byte = uint8_t((value >> i & 1) != 0 ? byte | mask : byte & ~mask);
  }
}

uint64_t convertOne(const Conversion &c, uint64_t bits) {
  if (isWideInteger(c.from) && isWideInteger(c.to)) {
    return c.from == DataFormat::IeeeInt32 ? uint64_t(int64_t(int32_t(uint32_t(bits)))) : bits;
  }
  float value = 0;
  numerics::deviceToFloat(c.from, &bits, &value, 1);
  if (c.function == Function::Truncate) {
    value = std::trunc(value);
  }
  uint64_t result = 0;
  numerics::floatToDevice(c.to, &value, &result, 1);
  return result;
}

std::vector<uint8_t> randomInput(Random &random, const Conversion &c, int64_t sticks) {
  std::vector<uint8_t> bytes = randomBits<uint8_t>(random, size_t(sticks * 128));
  // Small numbers with fractions, so that not all of them saturate.
  for (int64_t i = 0; i < sticks * c.fromLanes(); ++i) {
    float value = random.uniform(-9, 9);
    uint64_t bits = 0;
    if (random.below(3) != 0) {
      numerics::floatToDevice(c.from, &value, &bits, 1);
      setElement(&bytes[size_t(i / c.fromLanes() * 128)], i % c.fromLanes(), c.fromLanes(), bits);
    }
  }
  return bytes;
}

constexpr int64_t kFrom = 0, kTo = 0x8000, kPlaceBytes = 256, kPointBytes = 0x1000;

void checkConvert(TestSim &sim, Random &random, const Conversion &c) {
  constexpr int64_t kPoints = 3;
  int64_t inSticks = c.fromLanes() < c.toLanes() ? c.ratio() : 1;
  int64_t outSticks = c.fromLanes() > c.toLanes() ? c.ratio() : 1;
  std::vector<uint8_t> input = randomInput(random, c, kPoints * inSticks);
  sim.write(dram(0), input);
  PhaseBuilder phase("0_convert");
  phase
      .load({kPoints, inSticks}, ddrAt(0, 0, {inSticks * 128, 128}),
            at(kFrom, {kPointBytes, kPlaceBytes}))
      .convert(c.from, c.to, {kPoints}, at(kFrom, {kPointBytes}), at(kTo, {kPointBytes}),
               kPlaceBytes, c.group, c.function);
  ASSERT_EQ(sim.launch({phase}), "");
  for (int64_t point = 0; point < kPoints; ++point) {
    std::vector<uint8_t> result =
        sim.readLx<uint8_t>(0, uint64_t(kTo + point * kPointBytes), 0x800);
    for (int64_t v = 0; v < std::max(c.fromLanes(), c.toLanes()); ++v) {
      Spot in = spotOf(v, inSticks, c.group), out = spotOf(v, outSticks, c.group);
      uint64_t bits =
          element(&input[size_t((point * inSticks + in.stick) * 128)], in.lane, c.fromLanes());
      uint64_t found = element(&result[size_t(out.stick * kPlaceBytes)], out.lane, c.toLanes());
      int64_t width = 1024 / c.toLanes();
      uint64_t expected =
          convertOne(c, bits) & (width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1);
      ASSERT_EQ(found, expected) << numerics::formatName(c.from) << " to "
                                 << numerics::formatName(c.to) << " group " << c.group << " value "
                                 << v << " bits " << bits;
    }
  }
}

TEST(Convert, EveryPairOfFormats) {
  TestSim sim;
  Random random(1);
  size_t pairs = 0;
  for (DataFormat from : kFormats) {
    for (DataFormat to : kFormats) {
      for (uint16_t group : {1, 8}) {
        for (Function function : {Function::Nearest, Function::Truncate}) {
          Conversion c{from, to, group, function};
          if (c.ratio() <= 8 && (function == Function::Nearest || isInteger(to))) {
            ASSERT_NO_FATAL_FAILURE(checkConvert(sim, random, c));
            ++pairs;
          }
        }
      }
    }
  }
  EXPECT_GT(pairs, 500u);
}

// From a format to a wider one and back: the same sticks, although lanes were spread over several.
TEST(Convert, ThereAndBackIsTheIdentity) {
  TestSim sim;
  Random random(2);
  for (uint16_t group : {1, 8}) {
    std::vector<uint16_t> input = randomDl16(random, 4 * 64);
    sim.write(dram(0), input);
    PhaseBuilder phase("0_convert");
    phase.load({4}, ddrAt(0, 0, {128}), at(0, {128}))
        .convert(DataFormat::Sen169Fp16, DataFormat::IeeeFp32, {4}, at(0, {128}), at(0x1000, {256}),
                 128, group)
        .convert(DataFormat::IeeeFp32, DataFormat::Sen169Fp16, {4}, at(0x1000, {256}),
                 at(0x2000, {128}), 128, group);
    ASSERT_EQ(sim.launch({phase}), "");
    EXPECT_EQ(sim.readLx<uint16_t>(0, 0x2000, input.size()), input);
  }
}

// A chain: each point reads what the one before wrote.
TEST(Convert, PointsRunInOrder) {
  TestSim sim;
  PhaseBuilder phase("0_chain");
  phase
      .fill({}, at(0), 0x40600000) // 3.5
      .convert(DataFormat::IeeeFp32, DataFormat::IeeeInt32, {}, at(0), at(128), 128, 1,
               Function::Truncate)
      .convert(DataFormat::IeeeInt32, DataFormat::IeeeInt32, {5}, at(128, {128}), at(256, {128}));
  ASSERT_EQ(sim.launch({phase}), "");
  EXPECT_EQ(sim.readLx<int32_t>(0, 6 * 128, 32), std::vector<int32_t>(32, 3));
}

} // namespace
} // namespace spyre::test
