//===- ReduceTest.cpp - Accumulate, Finish and TopK against scalar code ---------------------===//
#include "spyre/Numerics/Functions.h"

#include "Sim/SimFixture.h"

#include <bit>
#include <cmath>

namespace spyre::test {
namespace {

using numerics::DataFormat;
using numerics::dl16ToFloat;

constexpr int64_t kAcc = 0x4000, kOut = 0xC000;

uint32_t step(Function function, DataFormat format, uint32_t acc, uint32_t x) {
  if (format == DataFormat::IeeeInt32) {
    auto a = int32_t(acc), b = int32_t(x);
    return function == Function::Sum   ? acc + x
           : function == Function::Max ? uint32_t(std::max(a, b))
                                       : uint32_t(std::min(a, b));
  }
  auto a = std::bit_cast<float>(acc), b = std::bit_cast<float>(x);
  using namespace numerics;
  float result = function == Function::Sum          ? addF32(a, b)
                 : function == Function::Max        ? maxF32(a, b)
                 : function == Function::Min        ? minF32(a, b)
                 : function == Function::SumSquares ? addF32(a, mulF32(b, b))
                                                    : maxF32(a, absF32(b));
  return std::bit_cast<uint32_t>(result);
}

/// Lanes of random sticks in 32 bits; writes the sticks to segment 0.
std::vector<uint32_t> writeSticks(TestSim &sim, Random &random, DataFormat format, size_t sticks) {
  std::vector<uint32_t> lanes;
  if (format == DataFormat::Sen169Fp16) {
    std::vector<uint16_t> bits = randomDl16(random, sticks * 64, random.below(2) == 0);
    sim.write(dram(0), bits);
    for (uint16_t lane : bits) {
      lanes.push_back(std::bit_cast<uint32_t>(dl16ToFloat(lane)));
    }
    return lanes;
  }
  for (size_t i = 0; i < sticks * 32; ++i) {
    lanes.push_back(format == DataFormat::IeeeInt32
                        ? uint32_t(random.next())
                        : std::bit_cast<uint32_t>(random.uniform(-9, 9)));
  }
  sim.write(dram(0), lanes);
  return lanes;
}

struct Reduction {
  Function function = Function::Sum;
  DataFormat format = DataFormat::Sen169Fp16;
  /// In sticks of the accumulator; 1 in 16-bit formats: neighbours share half their lanes.
  int64_t accStep = 0;
  uint16_t validLanes = 64;
};

void checkAccumulate(TestSim &sim, Random &random, const Reduction &r) {
  constexpr size_t kSticks = 37;
  auto lanes = size_t(numerics::elemsPerStick(r.format));
  std::vector<uint32_t> x = writeSticks(sim, random, r.format, kSticks);
  auto masked = uint32_t(r.format == DataFormat::IeeeInt32 ? 7 : std::bit_cast<uint32_t>(0.25f));
  uint32_t start = r.format == DataFormat::IeeeInt32 ? 3 : std::bit_cast<uint32_t>(-1.5f);
  int64_t accSticks = int64_t(kSticks - 1) * r.accStep + 2;
  PhaseBuilder phase("0_reduce");
  phase.load({kSticks}, ddrAt(0, 0, {128}), at(0, {128}))
      .fill({accSticks}, at(kAcc, {128}), start)
      .accumulate(r.function, {kSticks}, at(0, {128}), at(kAcc, {r.accStep * 128}), r.validLanes,
                  masked)
      .format(r.format);
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<uint32_t> expected(size_t(accSticks) * 32, start);
  for (size_t s = 0; s < kSticks; ++s) {
    for (size_t i = 0; i < lanes; ++i) {
      uint32_t &acc = expected[s * size_t(r.accStep) * 32 + i];
      acc = step(r.function, r.format, acc, i < r.validLanes ? x[s * lanes + i] : masked);
    }
  }
  ASSERT_EQ(sim.readLx<uint32_t>(0, kAcc, expected.size()), expected)
      << program::functionName(r.function) << " lanes " << r.validLanes << " step " << r.accStep;
}

TEST(Reduce, AccumulateMatchesScalarCode) {
  TestSim sim;
  Random random(1);
  for (Function function :
       {Function::Sum, Function::Max, Function::Min, Function::SumSquares, Function::AbsMax}) {
    for (int64_t accStep : {0, 1, 2}) {
      for (uint16_t lanes : {1, 31, 60, 64}) {
        checkAccumulate(sim, random, {function, DataFormat::Sen169Fp16, accStep, lanes});
      }
      checkAccumulate(sim, random, {function, DataFormat::IeeeFp32, accStep, 32});
      checkAccumulate(sim, random, {function, DataFormat::IeeeFp32, accStep, 5});
    }
  }
  for (Function function : {Function::Sum, Function::Max, Function::Min}) {
    checkAccumulate(sim, random, {function, DataFormat::IeeeInt32, 0, 32});
    checkAccumulate(sim, random, {function, DataFormat::IeeeInt32, 1, 9});
  }
}

uint32_t treeOf(Function function, DataFormat format, std::vector<uint32_t> lanes) {
  Function combine = function == Function::TreeSum   ? Function::Sum
                     : function == Function::TreeMax ? Function::Max
                                                     : Function::Min;
  for (size_t half = lanes.size() / 2; half >= 1; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lanes[i] = step(combine, format, lanes[i], lanes[i + half]);
    }
  }
  return lanes[0];
}

void checkFinish(TestSim &sim, Random &random, Function function, DataFormat format, float scale) {
  constexpr size_t kPoints = 5;
  auto lanes = size_t(numerics::elemsPerStick(format));
  std::vector<uint32_t> acc(kPoints * lanes);
  for (uint32_t &lane : acc) {
    // Magnitudes far apart make the order of additions visible.
    float value = random.uniform(-1, 1) * std::ldexp(1.0f, int(random.below(20)));
    lane =
        format == DataFormat::IeeeInt32 ? uint32_t(random.next()) : std::bit_cast<uint32_t>(value);
  }
  sim.write(dram(0), acc);
  auto accBytes = int64_t(lanes) * 4;
  PhaseBuilder phase("0_finish");
  phase.load({int64_t(kPoints) * accBytes / 128}, ddrAt(0, 0, {128}), at(kAcc, {128}))
      .finish(function, {kPoints}, at(kAcc, {accBytes}), at(kOut, {128}),
              std::bit_cast<uint32_t>(scale))
      .format(format)
      // In place: the result takes the first part of its accumulator.
      .finish(function, {kPoints}, at(kAcc, {accBytes}), at(kAcc, {accBytes}),
              std::bit_cast<uint32_t>(scale))
      .format(format);
  ASSERT_EQ(sim.launch({phase}), "");
  for (size_t point = 0; point < kPoints; ++point) {
    std::vector<uint32_t> in(acc.begin() + std::ptrdiff_t(point * lanes),
                             acc.begin() + std::ptrdiff_t((point + 1) * lanes));
    uint32_t tree = function == Function::Lanes ? 0 : treeOf(function, format, in);
    std::vector<uint8_t> expected(128);
    for (size_t i = 0; i < lanes; ++i) {
      uint32_t value = function == Function::Lanes ? in[i] : tree;
      if (format != DataFormat::IeeeInt32) {
        value = std::bit_cast<uint32_t>(numerics::mulF32(std::bit_cast<float>(value), scale));
      }
      if (format == DataFormat::Sen169Fp16) {
        value = numerics::floatToDl16(std::bit_cast<float>(value));
      }
      std::memcpy(&expected[i * 128 / lanes], &value, 128 / lanes);
    }
    ASSERT_EQ(sim.readLx<uint8_t>(0, uint64_t(kOut) + point * 128, 128), expected);
    ASSERT_EQ(sim.readLx<uint8_t>(0, uint64_t(kAcc + int64_t(point) * accBytes), 128), expected);
  }
}

TEST(Reduce, FinishCombinesHalvesThenScalesThenRoundsOnce) {
  TestSim sim;
  Random random(2);
  for (Function function :
       {Function::Lanes, Function::TreeSum, Function::TreeMax, Function::TreeMin}) {
    for (DataFormat format : {DataFormat::Sen169Fp16, DataFormat::IeeeFp32}) {
      for (float scale : {1.0f, 1.0f / 3, -2.5f}) {
        checkFinish(sim, random, function, format, scale);
      }
    }
    checkFinish(sim, random, function, DataFormat::IeeeInt32, 1.0f);
  }
}

struct Candidate {
  float value;
  int32_t number;
};

/// Larger first; NaN before all; of equals the earlier.
bool isBefore(const Candidate &a, const Candidate &b) {
  bool nanA = std::isnan(a.value), nanB = std::isnan(b.value);
  return nanA != nanB ? nanA : !nanA && a.value > b.value;
}

void checkTopK(TestSim &sim, Random &random, DataFormat format, int64_t k, size_t points) {
  auto lanes = size_t(numerics::elemsPerStick(format));
  std::vector<uint32_t> x = writeSticks(sim, random, format, points);
  if (format == DataFormat::Sen169Fp16) { // Few values: many ties, some NaN.
    std::vector<uint16_t> bits(points * lanes);
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = random.below(9) == 0 ? 0x7FFF : numerics::floatToDl16(float(random.between(-2, 2)));
      x[i] = std::bit_cast<uint32_t>(dl16ToFloat(bits[i]));
    }
    sim.write(dram(0), bits);
  }
  int64_t listBytes = int64_t(lanes) * 4;
  PhaseBuilder phase("0_topk");
  phase.load({int64_t(points)}, ddrAt(0, 0, {128}), at(0, {128}))
      .fill({k * listBytes / 128}, at(kAcc, {128}), std::bit_cast<uint32_t>(-INFINITY))
      .fill({k * listBytes / 128}, at(kAcc + k * listBytes, {128}), 0xFFFFFFFF)
      .topk(k, {int64_t(points)}, at(0, {128}), at(kAcc), number(100, {-3}))
      .format(format);
  ASSERT_EQ(sim.launch({phase}), "");
  auto values = sim.readLx<float>(0, kAcc, size_t(k) * lanes);
  auto numbers = sim.readLx<int32_t>(0, uint64_t(kAcc + k * listBytes), size_t(k) * lanes);
  for (size_t lane = 0; lane < lanes; ++lane) {
    std::vector<Candidate> all;
    for (size_t p = 0; p < points; ++p) {
      all.push_back({std::bit_cast<float>(x[p * lanes + lane]), 100 - 3 * int32_t(p)});
    }
    std::stable_sort(all.begin(), all.end(), isBefore);
    all.resize(size_t(k), {-INFINITY, -1});
    for (size_t i = 0; i < size_t(k); ++i) {
      ASSERT_EQ(numbers[i * lanes + lane], all[i].number) << "lane " << lane << " place " << i;
      ASSERT_EQ(std::isnan(values[i * lanes + lane]), std::isnan(all[i].value));
      if (!std::isnan(all[i].value)) {
        ASSERT_EQ(values[i * lanes + lane], all[i].value);
      }
    }
  }
}

TEST(Reduce, TopKSortsStablyWithNanFirst) {
  TestSim sim;
  Random random(3);
  for (int64_t k : {1, 2, 5, 9}) {
    for (size_t points : {1, 4, 30}) {
      checkTopK(sim, random, DataFormat::Sen169Fp16, k, points);
      checkTopK(sim, random, DataFormat::IeeeFp32, k, points);
    }
  }
}

} // namespace
} // namespace spyre::test
