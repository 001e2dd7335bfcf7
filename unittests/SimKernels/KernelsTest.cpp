//===- KernelsTest.cpp - the loops over lanes and sticks equal the scalar functions ---------===//
#include "Sim/Kernels.h"

#include "spyre/Numerics/Functions.h"

#include "KernelSamples.h"
#include "gtest/gtest.h"

#include <functional>
#include <string>

namespace spyre::sim {
namespace {

using namespace numerics;

constexpr size_t kMaxInputs = 5;
using Inputs = std::vector<std::vector<float>>;

struct LaneKernel {
  std::string name;
  size_t inputs;
  std::function<float(const float *)> scalar;
  std::function<void(const float *const *, float *, int64_t)> array;
};

using Unary = void (*)(const float *, float *, int64_t);
using Binary = void (*)(const float *, const float *, float *, int64_t);
using Ternary = void (*)(const float *, const float *, const float *, float *, int64_t);

LaneKernel unary(const char *name, float (*scalar)(float), Unary array) {
  return {name, 1, [=](const float *x) { return scalar(x[0]); },
          [=](const float *const *in, float *out, int64_t count) { array(in[0], out, count); }};
}

LaneKernel binary(const char *name, float (*scalar)(float, float), Binary array) {
  return {
      name, 2, [=](const float *x) { return scalar(x[0], x[1]); },
      [=](const float *const *in, float *out, int64_t count) { array(in[0], in[1], out, count); }};
}

LaneKernel ternary(const char *name, float (*scalar)(float, float, float), Ternary array) {
  return {name, 3, [=](const float *x) { return scalar(x[0], x[1], x[2]); },
          [=](const float *const *in, float *out, int64_t count) {
            array(in[0], in[1], in[2], out, count);
          }};
}

float where(float condition, float a, float b) { return condition != 0 ? a : b; }

std::vector<LaneKernel> laneKernels() {
  LaneKernel norm{"layerNormNorm", 5,
                  [](const float *x) { return layerNormNormF32(x[0], x[1], x[2], x[3], x[4]); },
                  [](const float *const *in, float *out, int64_t count) {
                    layerNormNormLanes(in[0], in[1], in[2], in[3], in[4], out, count);
                  }};
  return {unary("neg", negF32, negLanes),
          unary("abs", absF32, absLanes),
          unary("floor", floorF32, floorLanes),
          unary("relu", reluF32, reluLanes),
          unary("relu6", relu6F32, relu6Lanes),
          binary("add", addF32, addLanes),
          binary("sub", subF32, subLanes),
          binary("mul", mulF32, mulLanes),
          binary("div", divF32, divLanes),
          binary("max", maxF32, maxLanes),
          binary("min", minF32, minLanes),
          binary("equal", equalF32, equalLanes),
          binary("notEqual", notEqualF32, notEqualLanes),
          binary("greaterEqual", greaterEqualF32, greaterEqualLanes),
          binary("greater", greaterF32, greaterLanes),
          binary("lessEqual", lessEqualF32, lessEqualLanes),
          binary("less", lessF32, lessLanes),
          binary("leakyRelu", leakyReluF32, leakyReluLanes),
          ternary("where", where, whereLanes),
          ternary("fma", fmaF32, fmaLanes),
          ternary("clip", clipF32, clipLanes),
          ternary("layerNormScale", layerNormScaleF32, layerNormScaleLanes),
          norm};
}

void expectLanes(const LaneKernel &kernel, const Inputs &original, const std::vector<float> &out,
                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float in[kMaxInputs];
    for (size_t k = 0; k < kernel.inputs; ++k) {
      in[k] = original[k][size_t(i)];
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(out[size_t(i)]), std::bit_cast<uint32_t>(kernel.scalar(in)))
        << kernel.name << " of " << in[0] << ", " << (kernel.inputs > 1 ? in[1] : 0);
  }
}

/// Runs over the first \p count lanes into a new array, and into each input in turn.
void checkLanes(const LaneKernel &kernel, const Inputs &original, int64_t count) {
  for (size_t target = 0; target <= kernel.inputs; ++target) {
    Inputs arrays = original;
    arrays.emplace_back(original[0].size(), 7.0f);
    std::vector<float> &out = arrays[target == kernel.inputs ? arrays.size() - 1 : target];
    float after = out[size_t(count)];
    const float *in[kMaxInputs];
    for (size_t k = 0; k < kernel.inputs; ++k) {
      in[k] = arrays[k].data();
    }
    kernel.array(in, out.data(), count);
    expectLanes(kernel, original, out, count);
    ASSERT_EQ(std::bit_cast<uint32_t>(out[size_t(count)]), std::bit_cast<uint32_t>(after))
        << kernel.name;
  }
}

TEST(LaneKernels, EqualTheScalarFunctions) {
  constexpr int64_t kPairs = std::size(kSpecialBits) * std::size(kSpecialBits);
  for (const LaneKernel &kernel : laneKernels()) {
    Random random(21);
    // Every pair of special values (triples at random), then a mixture.
    Inputs in(kernel.inputs);
    for (size_t k = 0; k < kernel.inputs; ++k) {
      in[k] = anyFloats(random, kPairs + 40001, k < 2 ? 12 : 3);
    }
    for (size_t i = 0; i < size_t(kPairs); ++i) {
      in[0][i] = specialFloat(i);
      in.back()[i] = kernel.inputs == 2 ? specialFloat(i / std::size(kSpecialBits)) : in.back()[i];
    }
    checkLanes(kernel, in, kPairs + 40000);
  }
}

TEST(LaneKernels, EveryCountAndInPlace) {
  for (const LaneKernel &kernel : laneKernels()) {
    Random random(22);
    Inputs in(kernel.inputs);
    for (std::vector<float> &values : in) {
      values = anyFloats(random, 90, 10);
    }
    for (int64_t count = 0; count < 70; ++count) {
      checkLanes(kernel, in, count);
    }
  }
}

struct StickKernel {
  const char *name;
  float (*step)(float, float);
  void (*run)(float *, const float *, int64_t, int64_t);
};

const StickKernel kStickKernels[] = {{"sum", addF32, sumSticks},
                                     {"max", maxF32, maxSticks},
                                     {"min", minF32, minSticks},
                                     {"sumSquares", addSquareF32, sumSquaresSticks},
                                     {"absMax", maxAbsF32, absMaxSticks}};

void checkSticks(const StickKernel &kernel, Random &random, int64_t sticks, int64_t lanes,
                 uint64_t specialEvery) {
  std::vector<float> x = anyFloats(random, sticks * lanes, specialEvery);
  std::vector<float> acc = anyFloats(random, lanes + 1, specialEvery), wanted = acc;
  for (int64_t s = 0; s < sticks; ++s) {
    for (int64_t i = 0; i < lanes; ++i) {
      wanted[size_t(i)] = kernel.step(wanted[size_t(i)], x[size_t(s * lanes + i)]);
    }
  }
  kernel.run(acc.data(), x.data(), sticks, lanes);
  for (size_t i = 0; i < acc.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(acc[i]), std::bit_cast<uint32_t>(wanted[i]))
        << kernel.name << ", sticks " << sticks << ", lanes " << lanes << ", lane " << i;
  }
}

TEST(StickKernels, EqualTheScalarStepsInAscendingOrder) {
  for (const StickKernel &kernel : kStickKernels) {
    Random random(23);
    for (int64_t lanes : {1, 2, 8, 16, 31, 32, 33, 64, 95, 96, 128, 161}) {
      for (int64_t sticks : {1, 2, 3, 7, 64}) {
        for (uint64_t specialEvery : {4, 100, 1 << 20}) {
          checkSticks(kernel, random, sticks, lanes, specialEvery);
        }
      }
    }
  }
}

TEST(StickKernels, TheSquareIsRoundedBeforeTheSum) {
  // Fused, (1 + 2^-23)^2 - 1 - 2^-22 would be 2^-46.
  std::vector<float> acc(64, -1 - 0x1p-22f), x(64, 1 + 0x1p-23f);
  sumSquaresSticks(acc.data(), x.data(), 1, 64);
  for (float value : acc) {
    ASSERT_EQ(value, 0.0f);
  }
}

TEST(TreeKernels, CombineHalves) {
  for (int64_t lanes : {1, 2, 32, 64}) {
    Random random(24);
    std::vector<float> values = anyFloats(random, lanes, 1 << 20);
    auto tree = [&](auto step) {
      std::vector<float> rest = values;
      for (int64_t half = lanes / 2; half >= 1; half /= 2) {
        for (int64_t i = 0; i < half; ++i) {
          rest[size_t(i)] = step(rest[size_t(i)], rest[size_t(i + half)]);
        }
      }
      return rest[0];
    };
    std::vector<float> a = values, b = values, c = values;
    EXPECT_EQ(treeSum(a.data(), lanes), tree(addF32));
    EXPECT_EQ(treeMax(b.data(), lanes), tree(maxF32));
    EXPECT_EQ(treeMin(c.data(), lanes), tree(minF32));
  }
  std::vector<float> values(64, 1.0f);
  values[37] = -std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(std::bit_cast<uint32_t>(treeMin(values.data(), 64)), 0x7FC00000u);
}

} // namespace
} // namespace spyre::sim
