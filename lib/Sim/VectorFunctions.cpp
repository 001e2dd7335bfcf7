//===- VectorFunctions.cpp - one line per function of the vector unit -----------------------===//
#include "VectorFunctions.h"

#include "spyre/Numerics/Functions.h"

#include "Kernels.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace spyre::sim {

using program::Function;

/// The lanes of the input are int32; rounds to nearest even.
static void integersToFloats(const float *in, float *out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = float(std::bit_cast<int32_t>(in[i]));
  }
}

void applyVector(Function function, const float *const *in, float *out, int64_t count) {
  using Unary = void (*)(const float *, float *, int64_t);
  using Binary = void (*)(const float *, const float *, float *, int64_t);
  using Ternary = void (*)(const float *, const float *, const float *, float *, int64_t);
  auto unary = [&](Unary lanes) { lanes(in[0], out, count); };
  auto binary = [&](Binary lanes) { lanes(in[0], in[1], out, count); };
  auto ternary = [&](Ternary lanes) { lanes(in[0], in[1], in[2], out, count); };
  switch (function) {
  case Function::Neg:
    return unary(negLanes);
  case Function::Abs:
    return unary(absLanes);
  case Function::Floor:
    return unary(floorLanes);
  case Function::Sqrt:
    return unary(numerics::sqrtF32);
  case Function::Rsqrt:
    return unary(numerics::rsqrtF32);
  case Function::Exp:
    return unary(numerics::expF32);
  case Function::Log:
    return unary(numerics::logF32);
  case Function::Reciprocal:
    return unary(numerics::reciprocalF32);
  case Function::Sigmoid:
    return unary(numerics::sigmoidF32);
  case Function::Tanh:
    return unary(numerics::tanhF32);
  case Function::Erf:
    return unary(numerics::erfF32);
  case Function::Sin:
    return unary(numerics::sinF32);
  case Function::Cos:
    return unary(numerics::cosF32);
  case Function::Relu:
    return unary(reluLanes);
  case Function::Relu6:
    return unary(relu6Lanes);
  case Function::Gelu:
    return unary(numerics::geluF32);
  case Function::Silu:
    return unary(numerics::siluF32);
  case Function::Mish:
    return unary(numerics::mishF32);
  case Function::FromInteger:
    return unary(integersToFloats);
  case Function::Add:
    return binary(addLanes);
  case Function::Sub:
    return binary(subLanes);
  case Function::Mul:
    return binary(mulLanes);
  case Function::Div:
    return binary(divLanes);
  case Function::Maximum:
    return binary(maxLanes);
  case Function::Minimum:
    return binary(minLanes);
  case Function::Equal:
    return binary(equalLanes);
  case Function::NotEqual:
    return binary(notEqualLanes);
  case Function::GreaterEqual:
    return binary(greaterEqualLanes);
  case Function::Greater:
    return binary(greaterLanes);
  case Function::LessEqual:
    return binary(lessEqualLanes);
  case Function::Less:
    return binary(lessLanes);
  case Function::LeakyRelu:
    return binary(leakyReluLanes);
  case Function::Where:
    return ternary(whereLanes);
  case Function::Fma:
    return ternary(fmaLanes);
  case Function::Clip:
    return ternary(clipLanes);
  case Function::Softplus:
    return numerics::softplusF32(in[0], in[1], in[2], out, count);
  case Function::LayerNormScale:
    return ternary(layerNormScaleLanes);
  case Function::LayerNormNorm:
    return layerNormNormLanes(in[0], in[1], in[2], in[3], in[4], out, count);
  default: // Copy of a splat or a constant: the verifier admits nothing else.
    std::copy_n(in[0], count, out);
  }
}

const numerics::Dl16Table *tableOf(Function function) {
  switch (function) {
  case Function::Rsqrt:
    return &numerics::dl16Table<numerics::rsqrtF32>();
  case Function::Exp:
    return &numerics::dl16Table<numerics::expF32>();
  case Function::Log:
    return &numerics::dl16Table<numerics::logF32>();
  case Function::Sigmoid:
    return &numerics::dl16Table<numerics::sigmoidF32>();
  case Function::Tanh:
    return &numerics::dl16Table<numerics::tanhF32>();
  case Function::Erf:
    return &numerics::dl16Table<numerics::erfF32>();
  case Function::Sin:
    return &numerics::dl16Table<numerics::sinF32>();
  case Function::Cos:
    return &numerics::dl16Table<numerics::cosF32>();
  case Function::Gelu:
    return &numerics::dl16Table<numerics::geluF32>();
  case Function::Silu:
    return &numerics::dl16Table<numerics::siluF32>();
  case Function::Mish:
    return &numerics::dl16Table<numerics::mishF32>();
  default:
    return nullptr;
  }
}

/// Arithmetic modulo 2^32.
static int32_t wrap(uint32_t value) { return int32_t(value); }

/// The one quotient beyond 32 bits, INT32_MIN / -1, wraps; nothing divided by 0 is 0.
static int32_t quotient(int32_t a, int32_t b) {
  return b == 0 ? 0 : b == -1 ? wrap(0u - uint32_t(a)) : a / b;
}
static int32_t rest(int32_t a, int32_t b) {
  return wrap(uint32_t(a) - uint32_t(quotient(a, b)) * uint32_t(b));
}
/// The rest has not the sign of the divisor: rounding down is one less.
static bool isCutUp(int32_t a, int32_t b) {
  return rest(a, b) != 0 && b != 0 && (a < 0) != (b < 0);
}

static int32_t shiftedLeft(int32_t a, int32_t b) {
  return b < 0 || b > 31 ? 0 : wrap(uint32_t(a) << b);
}
static int32_t shiftedRight(int32_t a, int32_t b) { return a >> (b < 0 || b > 31 ? 31 : b); }

/// Cut to a whole number; saturates, no number gives 0.
static int32_t truncated(int32_t bits) {
  auto value = std::bit_cast<float>(bits);
  constexpr float kBeyond = 2147483648.0f;
  if (!(value > -kBeyond)) {
    return value <= -kBeyond ? INT32_MIN : 0;
  }
  return value >= kBeyond ? INT32_MAX : int32_t(value);
}

/// Calls \p body with the function as one of three integers: the choice is made once per run, not
/// per lane.
template <typename Body>
static void withIntegerFunction(Function function, Body body) {
  switch (function) {
  case Function::Neg:
    return body([](int32_t a, int32_t, int32_t) { return wrap(0u - uint32_t(a)); });
  case Function::Abs:
    return body([](int32_t a, int32_t, int32_t) { return a < 0 ? wrap(0u - uint32_t(a)) : a; });
  case Function::ToInteger:
    return body([](int32_t a, int32_t, int32_t) { return truncated(a); });
  case Function::Add:
  case Function::Sum:
    return body([](int32_t a, int32_t b, int32_t) { return wrap(uint32_t(a) + uint32_t(b)); });
  case Function::Sub:
    return body([](int32_t a, int32_t b, int32_t) { return wrap(uint32_t(a) - uint32_t(b)); });
  case Function::Mul:
    return body([](int32_t a, int32_t b, int32_t) { return wrap(uint32_t(a) * uint32_t(b)); });
  case Function::Maximum:
  case Function::Max:
    return body([](int32_t a, int32_t b, int32_t) { return std::max(a, b); });
  case Function::Minimum:
  case Function::Min:
    return body([](int32_t a, int32_t b, int32_t) { return std::min(a, b); });
  case Function::Equal:
    return body([](int32_t a, int32_t b, int32_t) { return int32_t(a == b); });
  case Function::NotEqual:
    return body([](int32_t a, int32_t b, int32_t) { return int32_t(a != b); });
  case Function::GreaterEqual:
    return body([](int32_t a, int32_t b, int32_t) { return int32_t(a >= b); });
  case Function::Greater:
    return body([](int32_t a, int32_t b, int32_t) { return int32_t(a > b); });
  case Function::LessEqual:
    return body([](int32_t a, int32_t b, int32_t) { return int32_t(a <= b); });
  case Function::Less:
    return body([](int32_t a, int32_t b, int32_t) { return int32_t(a < b); });
  case Function::And:
    return body([](int32_t a, int32_t b, int32_t) { return a & b; });
  case Function::Or:
    return body([](int32_t a, int32_t b, int32_t) { return a | b; });
  case Function::Xor:
    return body([](int32_t a, int32_t b, int32_t) { return a ^ b; });
  case Function::ShiftLeft:
    return body([](int32_t a, int32_t b, int32_t) { return shiftedLeft(a, b); });
  case Function::ShiftRight:
    return body([](int32_t a, int32_t b, int32_t) { return shiftedRight(a, b); });
  case Function::FloorDiv:
    return body([](int32_t a, int32_t b, int32_t) { return quotient(a, b) - isCutUp(a, b); });
  case Function::TruncDiv:
    return body([](int32_t a, int32_t b, int32_t) { return quotient(a, b); });
  case Function::FloorMod:
    return body([](int32_t a, int32_t b, int32_t) { return rest(a, b) + (isCutUp(a, b) ? b : 0); });
  case Function::TruncMod:
    return body([](int32_t a, int32_t b, int32_t) { return rest(a, b); });
  case Function::Where:
    return body([](int32_t a, int32_t b, int32_t c) { return a != 0 ? b : c; });
  default: // Copy: the verifier admits nothing else.
    return body([](int32_t a, int32_t, int32_t) { return a; });
  }
}

void applyVector(Function function, const int32_t *const *in, int32_t *out, int64_t count) {
  size_t inputs = program::vectorInputs(function);
  const int32_t *a = in[0], *b = in[inputs > 1 ? 1 : 0], *c = in[inputs > 2 ? 2 : 0];
  withIntegerFunction(function, [&](auto apply) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = apply(a[i], b[i], c[i]);
    }
  });
}

void accumulateSticks(Function function, float *acc, const float *x, int64_t sticks,
                      int64_t lanes) {
  switch (function) {
  case Function::Sum:
    return sumSticks(acc, x, sticks, lanes);
  case Function::Max:
    return maxSticks(acc, x, sticks, lanes);
  case Function::Min:
    return minSticks(acc, x, sticks, lanes);
  case Function::SumSquares:
    return sumSquaresSticks(acc, x, sticks, lanes);
  default:
    return absMaxSticks(acc, x, sticks, lanes);
  }
}

void accumulateSticks(Function function, int32_t *acc, const int32_t *x, int64_t sticks,
                      int64_t lanes) {
  withIntegerFunction(function, [&](auto apply) {
    for (int64_t stick = 0; stick < sticks; ++stick) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        acc[lane] = apply(acc[lane], x[stick * lanes + lane], 0);
      }
    }
  });
}

float treeOf(Function function, float *values, int64_t lanes) {
  switch (function) {
  case Function::TreeSum:
    return treeSum(values, lanes);
  case Function::TreeMax:
    return treeMax(values, lanes);
  default:
    return treeMin(values, lanes);
  }
}

int32_t treeOf(Function function, int32_t *values, int64_t lanes) {
  Function step = function == Function::TreeSum   ? Function::Sum
                  : function == Function::TreeMax ? Function::Max
                                                  : Function::Min;
  withIntegerFunction(step, [&](auto apply) {
    for (int64_t half = lanes / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) {
        values[i] = apply(values[i], values[i + half], 0);
      }
    }
  });
  return values[0];
}

} // namespace spyre::sim
