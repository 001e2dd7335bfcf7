//===- VectorTest.cpp - every function of the vector unit against one lane of scalar code ---===//
#include "spyre/Numerics/Functions.h"

#include "Sim/SimFixture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace spyre::test {
namespace {

using numerics::DataFormat;
using Inputs = std::array<float, 5>;

const std::vector<Function> kFunctions{Function::Copy,
                                       Function::Neg,
                                       Function::Abs,
                                       Function::Floor,
                                       Function::Sqrt,
                                       Function::Rsqrt,
                                       Function::Exp,
                                       Function::Log,
                                       Function::Reciprocal,
                                       Function::Sigmoid,
                                       Function::Tanh,
                                       Function::Erf,
                                       Function::Sin,
                                       Function::Cos,
                                       Function::Relu,
                                       Function::Relu6,
                                       Function::Gelu,
                                       Function::Silu,
                                       Function::Mish,
                                       Function::Add,
                                       Function::Sub,
                                       Function::Mul,
                                       Function::Div,
                                       Function::Maximum,
                                       Function::Minimum,
                                       Function::Equal,
                                       Function::NotEqual,
                                       Function::GreaterEqual,
                                       Function::Greater,
                                       Function::LessEqual,
                                       Function::Less,
                                       Function::LeakyRelu,
                                       Function::Where,
                                       Function::Fma,
                                       Function::Clip,
                                       Function::Softplus,
                                       Function::LayerNormScale,
                                       Function::LayerNormNorm};

float scalar(Function function, const Inputs &x) {
  using namespace numerics;
  switch (function) {
  case Function::Neg:
    return negF32(x[0]);
  case Function::Abs:
    return absF32(x[0]);
  case Function::Floor:
    return floorF32(x[0]);
  case Function::Sqrt:
    return sqrtF32(x[0]);
  case Function::Rsqrt:
    return rsqrtF32(x[0]);
  case Function::Exp:
    return expF32(x[0]);
  case Function::Log:
    return logF32(x[0]);
  case Function::Reciprocal:
    return reciprocalF32(x[0]);
  case Function::Sigmoid:
    return sigmoidF32(x[0]);
  case Function::Tanh:
    return tanhF32(x[0]);
  case Function::Erf:
    return erfF32(x[0]);
  case Function::Sin:
    return sinF32(x[0]);
  case Function::Cos:
    return cosF32(x[0]);
  case Function::Relu:
    return reluF32(x[0]);
  case Function::Relu6:
    return relu6F32(x[0]);
  case Function::Gelu:
    return geluF32(x[0]);
  case Function::Silu:
    return siluF32(x[0]);
  case Function::Mish:
    return mishF32(x[0]);
  case Function::Add:
    return addF32(x[0], x[1]);
  case Function::Sub:
    return subF32(x[0], x[1]);
  case Function::Mul:
    return mulF32(x[0], x[1]);
  case Function::Div:
    return divF32(x[0], x[1]);
  case Function::Maximum:
    return maxF32(x[0], x[1]);
  case Function::Minimum:
    return minF32(x[0], x[1]);
  case Function::Equal:
    return x[0] == x[1] ? 1.0f : 0.0f;
  case Function::NotEqual:
    return x[0] == x[1] ? 0.0f : 1.0f;
  case Function::GreaterEqual:
    return x[0] >= x[1] ? 1.0f : 0.0f;
  case Function::Greater:
    return x[0] > x[1] ? 1.0f : 0.0f;
  case Function::LessEqual:
    return x[0] <= x[1] ? 1.0f : 0.0f;
  case Function::Less:
    return x[0] < x[1] ? 1.0f : 0.0f;
  case Function::FromInteger:
    return float(std::bit_cast<int32_t>(x[0]));
  case Function::LeakyRelu:
    return leakyReluF32(x[0], x[1]);
  case Function::Where:
    return x[0] != 0 ? x[1] : x[2];
  case Function::Fma:
    return fmaF32(x[0], x[1], x[2]);
  case Function::Clip:
    return clipF32(x[0], x[1], x[2]);
  case Function::Softplus:
    return softplusF32(x[0], x[1], x[2]);
  case Function::LayerNormScale:
    return layerNormScaleF32(x[0], x[1], x[2]);
  case Function::LayerNormNorm:
    return layerNormNormF32(x[0], x[1], x[2], x[3], x[4]);
  default:
    return x[0];
  }
}

int32_t scalarInt(Function function, const std::array<int32_t, 3> &x) {
  auto wrap = [](uint64_t value) { return int32_t(uint32_t(value)); };
  auto a = uint64_t(x[0]), b = uint64_t(x[1]);
  switch (function) {
  case Function::Neg:
    return wrap(0 - a);
  case Function::Abs:
    return x[0] < 0 ? wrap(0 - a) : x[0];
  case Function::Add:
    return wrap(a + b);
  case Function::Sub:
    return wrap(a - b);
  case Function::Mul:
    return wrap(a * b);
  case Function::Maximum:
    return std::max(x[0], x[1]);
  case Function::Minimum:
    return std::min(x[0], x[1]);
  case Function::Equal:
    return x[0] == x[1];
  case Function::NotEqual:
    return x[0] != x[1];
  case Function::GreaterEqual:
    return x[0] >= x[1];
  case Function::Greater:
    return x[0] > x[1];
  case Function::LessEqual:
    return x[0] <= x[1];
  case Function::Less:
    return x[0] < x[1];
  case Function::Where:
    return x[0] != 0 ? x[1] : x[2];
  case Function::And:
    return x[0] & x[1];
  case Function::Or:
    return x[0] | x[1];
  case Function::Xor:
    return x[0] ^ x[1];
  case Function::ShiftLeft:
    return x[1] < 0 || x[1] > 31 ? 0 : wrap(a << x[1]);
  case Function::ShiftRight:
    return int32_t(std::floor(x[0] / std::exp2(x[1] < 0 ? 32 : std::min(x[1], 32))));
  case Function::FloorDiv:
    return x[1] == 0 ? 0 : wrap(uint64_t(int64_t(std::floor(double(x[0]) / x[1]))));
  case Function::TruncDiv:
    return x[1] == 0 ? 0 : wrap(uint64_t(int64_t(std::trunc(double(x[0]) / x[1]))));
  case Function::FloorMod:
    return x[1] == 0 ? x[0] : int32_t(x[0] - std::floor(double(x[0]) / x[1]) * x[1]);
  case Function::TruncMod:
    return x[1] == 0 ? x[0] : int32_t(std::fmod(double(x[0]), double(x[1])));
  case Function::ToInteger: {
    const auto value = std::bit_cast<float>(x[0]);
    return std::isnan(value) ? 0 : int32_t(std::clamp<double>(value, INT32_MIN, INT32_MAX));
  }
  default:
    return x[0];
  }
}

/// How one input of the instruction under test is given.
struct Input {
  enum class Form { Sticks, SameStick, Backwards, Splat, Constant } form = Form::Sticks;
  int lane = 0;
  uint32_t bits = 0;
};

constexpr int64_t kSticks = 21; // More than one batch.
constexpr int64_t kInputBytes = 0x1000, kOutput = 0x8000;

/// Lanes of one format as the units see them: 32 bits each.
uint32_t laneBits(DataFormat format, const std::vector<uint8_t> &bytes, int64_t stick,
                  int64_t lane) {
  if (format == DataFormat::Sen169Fp16) {
    uint16_t bits = 0;
    std::memcpy(&bits, &bytes[size_t(stick * 128 + lane * 2)], 2);
    return std::bit_cast<uint32_t>(numerics::dl16ToFloat(bits));
  }
  uint32_t bits = 0;
  std::memcpy(&bits, &bytes[size_t(stick * 128 + lane * 4)], 4);
  return bits;
}

std::vector<uint8_t> randomSticks(Random &random, DataFormat format) {
  std::vector<uint8_t> bytes(kSticks * 128);
  if (format == DataFormat::Sen169Fp16) {
    std::vector<uint16_t> lanes = randomDl16(random, bytes.size() / 2);
    std::memcpy(bytes.data(), lanes.data(), bytes.size());
    return bytes;
  }
  for (size_t i = 0; i < bytes.size(); i += 4) {
    auto bits = uint32_t(random.next());
    if (format == DataFormat::IeeeFp32 && random.below(8) != 0) {
      bits = std::bit_cast<uint32_t>(random.uniform(-20, 20));
    } else if (format == DataFormat::IeeeInt32 && random.below(2) != 0) {
      bits = uint32_t(random.between(-3, 3));
    }
    std::memcpy(&bytes[i], &bits, 4);
  }
  return bytes;
}

uint32_t expectedLane(Function function, DataFormat format, const std::array<uint32_t, 5> &in) {
  if (format == DataFormat::IeeeInt32) {
    return uint32_t(scalarInt(function, {int32_t(in[0]), int32_t(in[1]), int32_t(in[2])}));
  }
  Inputs x;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::bit_cast<float>(in[i]);
  }
  float result = scalar(function, x);
  return format == DataFormat::Sen169Fp16 ? numerics::floatToDl16(result)
                                          : std::bit_cast<uint32_t>(result);
}

At operandOf(const Input &input, size_t index) {
  int64_t base = int64_t(index) * kInputBytes;
  switch (input.form) {
  case Input::Form::Constant:
    return constant(input.bits);
  case Input::Form::Splat:
    return at(base, {128}).splat(int8_t(input.lane));
  case Input::Form::SameStick:
    return at(base);
  case Input::Form::Backwards:
    return at(base + (kSticks - 1) * 128, {-128});
  default:
    return at(base, {128});
  }
}

void checkVector(TestSim &sim, Random &random, Function function, DataFormat format) {
  size_t count = program::vectorInputs(function);
  std::vector<std::vector<uint8_t>> data;
  std::vector<Input> inputs;
  std::vector<At> operands;
  int64_t lanes = numerics::elemsPerStick(format);
  PhaseBuilder phase("0_vector");
  for (size_t i = 0; i < count; ++i) {
    data.push_back(randomSticks(random, format));
    sim.write(dram(i), data[i]);
    phase.load({kSticks}, ddrAt(int32_t(i), 0, {128}), at(int64_t(i) * kInputBytes, {128}));
    inputs.push_back({Input::Form(random.below(5)), int(random.below(uint64_t(lanes))),
                      laneBits(format, data[i], 0, 0)});
    operands.push_back(operandOf(inputs[i], i));
  }
  operands.push_back(at(kOutput, {128}));
  phase.vector(function, {kSticks}, operands).format(format);
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<uint8_t> result = sim.readLx<uint8_t>(0, kOutput, kSticks * 128);
  for (int64_t stick = 0; stick < kSticks; ++stick) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      std::array<uint32_t, 5> in{};
      for (size_t i = 0; i < count; ++i) {
        bool isConstant = inputs[i].form == Input::Form::Constant;
        int64_t from = inputs[i].form == Input::Form::SameStick   ? 0
                       : inputs[i].form == Input::Form::Backwards ? kSticks - 1 - stick
                                                                  : stick;
        int64_t at = inputs[i].form == Input::Form::Splat ? inputs[i].lane : lane;
        in[i] = isConstant ? inputs[i].bits : laneBits(format, data[i], from, at);
      }
      uint32_t found = 0;
      std::memcpy(&found, &result[size_t(stick * 128 + lane * 128 / lanes)], size_t(128 / lanes));
      ASSERT_EQ(found, expectedLane(function, format, in))
          << program::functionName(function) << " format " << int(format) << " lane " << lane;
    }
  }
}

TEST(Vector, EveryFunctionMatchesScalarCode) {
  TestSim sim;
  Random random(1);
  for (Function function : kFunctions) {
    for (DataFormat format : {DataFormat::Sen169Fp16, DataFormat::IeeeFp32}) {
      for (int round = 0; round < 4; ++round) {
        // A copy moves bits: it may keep a NaN's payload. That it keeps all is another test.
        if (function != Function::Copy || format == DataFormat::Sen169Fp16) {
          ASSERT_NO_FATAL_FAILURE(checkVector(sim, random, function, format));
        }
      }
    }
  }
}

TEST(Vector, IntegersWrapAndCompare) {
  TestSim sim;
  Random random(2);
  for (Function function :
       {Function::Copy,      Function::Neg,      Function::Abs,          Function::Add,
        Function::Sub,       Function::Mul,      Function::Maximum,      Function::Minimum,
        Function::Equal,     Function::NotEqual, Function::GreaterEqual, Function::Greater,
        Function::LessEqual, Function::Less,     Function::Where,        Function::And,
        Function::Or,        Function::Xor,      Function::ShiftLeft,    Function::ShiftRight,
        Function::FloorDiv,  Function::TruncDiv, Function::FloorMod,     Function::TruncMod,
        Function::ToInteger}) {
    for (int round = 0; round < 4; ++round) {
      ASSERT_NO_FATAL_FAILURE(checkVector(sim, random, function, DataFormat::IeeeInt32));
    }
  }
}

TEST(Vector, IntegersAreReadAsFloats) {
  TestSim sim;
  Random random(6);
  for (int round = 0; round < 4; ++round) {
    ASSERT_NO_FATAL_FAILURE(checkVector(sim, random, Function::FromInteger, DataFormat::IeeeFp32));
  }
}

/// fp32 sticks of a small LX, the points of an instruction executed one after the other.
struct LxModel {
  std::vector<float> lanes;
  explicit LxModel(Random &random) : lanes(48 * 32) {
    for (float &lane : lanes) {
      lane = random.uniform(-2, 2);
    }
  }
  void add(int64_t a, int64_t b, int64_t out) {
    std::array<float, 32> result;
    for (size_t i = 0; i < 32; ++i) {
      result[i] = numerics::addF32(lanes[size_t(a) * 32 + i], lanes[size_t(b) * 32 + i]);
    }
    std::copy(result.begin(), result.end(), lanes.begin() + out * 32);
  }
};

// Operands that overlap in every way: each point must see what the points before it wrote.
TEST(Vector, PointsRunInOrderHoweverOperandsOverlap) {
  TestSim sim;
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    LxModel model(random);
    sim.write(dram(0), model.lanes);
    std::array<int64_t, 3> base, outer, inner;
    for (size_t op = 0; op < 3; ++op) {
      base[op] = random.between(16, 24);
      outer[op] = random.between(-2, 2);
      inner[op] = random.between(-1, 1);
    }
    int64_t counts[2] = {random.between(1, 3), random.between(1, 6)};
    auto operand = [&](size_t op) {
      return at(base[op] * 128, {outer[op] * 128, inner[op] * 128});
    };
    PhaseBuilder phase("0_add");
    phase.load({48}, ddrAt(0, 0, {128}), at(0, {128}))
        .vector(Function::Add, {counts[0], counts[1]}, {operand(0), operand(1), operand(2)})
        .format(DataFormat::IeeeFp32);
    ASSERT_EQ(sim.launch({phase}), "");
    for (int64_t i = 0; i < counts[0]; ++i) {
      for (int64_t j = 0; j < counts[1]; ++j) {
        auto place = [&](size_t op) { return base[op] + i * outer[op] + j * inner[op]; };
        model.add(place(0), place(1), place(2));
      }
    }
    ASSERT_EQ(sim.readLx<float>(0, 0, model.lanes.size()), model.lanes) << "round " << round;
  }
}

} // namespace
} // namespace spyre::test
