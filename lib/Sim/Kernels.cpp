//===- Kernels.cpp - arithmetic loops, vectorised by the compiler ---------------------------===//
//
// The loops must stay plain loops over scalar functions: the compiler makes vectors of them for
// each class of host, which it cannot do with vector types written in the source.
//===--------------------------------------------------------------------------------------------===//
#include "Kernels.h"

#include "spyre/Base/TargetClones.h"
#include "spyre/Numerics/Functions.h"

namespace spyre::sim {

using namespace numerics;

/// out[i] <- lane(i).
template <typename Lane>
static inline __attribute__((always_inline)) void forLanes(float *out, int64_t count, Lane lane) {
  SPYRE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < count; ++i) {
    out[i] = lane(i);
  }
}

//===- Element-wise -------------------------------------------------------------------------===//

#define SPYRE_UNARY_LANES(name)                                                                    \
  SPYRE_TARGET_CLONES                                                                              \
  void name##Lanes(const float *x, float *out, int64_t count) {                                    \
    forLanes(out, count, [=](int64_t i) { return name##F32(x[i]); });                              \
  }

#define SPYRE_BINARY_LANES(name)                                                                   \
  SPYRE_TARGET_CLONES                                                                              \
  void name##Lanes(const float *a, const float *b, float *out, int64_t count) {                    \
    forLanes(out, count, [=](int64_t i) { return name##F32(a[i], b[i]); });                        \
  }

SPYRE_UNARY_LANES(neg)
SPYRE_UNARY_LANES(abs)
SPYRE_UNARY_LANES(floor)
SPYRE_UNARY_LANES(relu)
SPYRE_UNARY_LANES(relu6)

SPYRE_BINARY_LANES(add)
SPYRE_BINARY_LANES(sub)
SPYRE_BINARY_LANES(mul)
SPYRE_BINARY_LANES(div)
SPYRE_BINARY_LANES(max)
SPYRE_BINARY_LANES(min)
SPYRE_BINARY_LANES(equal)
SPYRE_BINARY_LANES(notEqual)
SPYRE_BINARY_LANES(greaterEqual)
SPYRE_BINARY_LANES(greater)
SPYRE_BINARY_LANES(lessEqual)
SPYRE_BINARY_LANES(less)

#undef SPYRE_UNARY_LANES
#undef SPYRE_BINARY_LANES

SPYRE_TARGET_CLONES
void leakyReluLanes(const float *x, const float *slope, float *out, int64_t count) {
  forLanes(out, count, [=](int64_t i) { return leakyReluF32(x[i], slope[i]); });
}

SPYRE_TARGET_CLONES
void whereLanes(const float *condition, const float *a, const float *b, float *out, int64_t count) {
  forLanes(out, count, [=](int64_t i) {
    // Both are read before the choice, which so needs no branch.
    float yes = a[i], no = b[i];
    return condition[i] != 0 ? yes : no;
  });
}

SPYRE_TARGET_CLONES
void fmaLanes(const float *a, const float *b, const float *c, float *out, int64_t count) {
  forLanes(out, count, [=](int64_t i) { return fmaF32(a[i], b[i], c[i]); });
}

SPYRE_TARGET_CLONES
void clipLanes(const float *x, const float *low, const float *high, float *out, int64_t count) {
  forLanes(out, count, [=](int64_t i) { return clipF32(x[i], low[i], high[i]); });
}

SPYRE_TARGET_CLONES
static void varianceLanes(const float *mean, const float *meanOfSquares, const float *eps,
                          float *out, int64_t count) {
  forLanes(out, count,
           [=](int64_t i) { return layerNormVarianceF32(mean[i], meanOfSquares[i], eps[i]); });
}

void layerNormScaleLanes(const float *mean, const float *meanOfSquares, const float *eps,
                         float *out, int64_t count) {
  varianceLanes(mean, meanOfSquares, eps, out, count);
  rsqrtF32(out, out, count);
}

SPYRE_TARGET_CLONES
void layerNormNormLanes(const float *x, const float *mean, const float *scale, const float *weight,
                        const float *bias, float *out, int64_t count) {
  forLanes(out, count, [=](int64_t i) {
    return layerNormNormF32(x[i], mean[i], scale[i], weight[i], bias[i]);
  });
}

//===- Accumulation over sticks -------------------------------------------------------------===//

namespace {

// One step of one lane; NaNs are the tile's matter.

struct SumLane {
  static float step(float state, float x) { return state + x; }
};

struct SumSquaresLane {
  static float step(float state, float x) { return state + x * x; }
};

struct MaxLane {
  static float step(float state, float x) { return state > x ? state : x; }
};

struct MinLane {
  static float step(float state, float x) { return state < x ? state : x; }
};

struct AbsMaxLane {
  static float step(float state, float x) { return MaxLane::step(state, __builtin_fabsf(x)); }
};

// A tile takes its lanes from \p x, with \p stride floats between sticks.

template <typename Lane>
struct SumTile {
  template <int64_t kLanes>
  static __attribute__((always_inline)) void run(float *__restrict acc, const float *__restrict x,
                                                 int64_t sticks, int64_t stride) {
    float state[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      state[i] = acc[i];
    }
    for (int64_t s = 0; s < sticks; ++s) {
      const float *__restrict stick = x + s * stride;
      for (int64_t i = 0; i < kLanes; ++i) {
        state[i] = Lane::step(state[i], stick[i]);
      }
    }
    // Making a NaN the one NaN at the end is enough: it stays one until then.
    for (int64_t i = 0; i < kLanes; ++i) {
      acc[i] = canonicalNan(state[i]);
    }
  }
};

/// The larger of two loses a NaN, so that a second state keeps the first one.
template <typename Lane>
struct ChoiceTile {
  template <int64_t kLanes>
  static __attribute__((always_inline)) void run(float *__restrict acc, const float *__restrict x,
                                                 int64_t sticks, int64_t stride) {
    float state[kLanes], nan[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      state[i] = acc[i];
      nan[i] = acc[i];
    }
    for (int64_t s = 0; s < sticks; ++s) {
      const float *__restrict stick = x + s * stride;
      for (int64_t i = 0; i < kLanes; ++i) {
        state[i] = Lane::step(state[i], stick[i]);
        nan[i] = nan[i] != nan[i] ? nan[i] : stick[i];
      }
    }
    for (int64_t i = 0; i < kLanes; ++i) {
      acc[i] = nan[i] != nan[i] ? std::numeric_limits<float>::quiet_NaN() : state[i];
    }
  }
};

} // namespace

/// Lanes that stay in registers while the loop over the sticks runs: a stick of DLFloat16, else one
/// of float.
static constexpr int64_t kTileLanes = 64, kHalfTileLanes = 32;

template <typename Tile>
static inline __attribute__((always_inline)) void forTiles(float *acc, const float *x,
                                                           int64_t sticks, int64_t lanes) {
  int64_t first = 0;
  for (; first + kTileLanes <= lanes; first += kTileLanes) {
    Tile::template run<kTileLanes>(acc + first, x + first, sticks, lanes);
  }
  for (; first + kHalfTileLanes <= lanes; first += kHalfTileLanes) {
    Tile::template run<kHalfTileLanes>(acc + first, x + first, sticks, lanes);
  }
  for (; first < lanes; ++first) {
    Tile::template run<1>(acc + first, x + first, sticks, lanes);
  }
}

SPYRE_TARGET_CLONES
void sumSticks(float *acc, const float *x, int64_t sticks, int64_t lanes) {
  forTiles<SumTile<SumLane>>(acc, x, sticks, lanes);
}
SPYRE_TARGET_CLONES
void sumSquaresSticks(float *acc, const float *x, int64_t sticks, int64_t lanes) {
  forTiles<SumTile<SumSquaresLane>>(acc, x, sticks, lanes);
}
SPYRE_TARGET_CLONES
void maxSticks(float *acc, const float *x, int64_t sticks, int64_t lanes) {
  forTiles<ChoiceTile<MaxLane>>(acc, x, sticks, lanes);
}
SPYRE_TARGET_CLONES
void minSticks(float *acc, const float *x, int64_t sticks, int64_t lanes) {
  forTiles<ChoiceTile<MinLane>>(acc, x, sticks, lanes);
}
SPYRE_TARGET_CLONES
void absMaxSticks(float *acc, const float *x, int64_t sticks, int64_t lanes) {
  forTiles<ChoiceTile<AbsMaxLane>>(acc, x, sticks, lanes);
}

//===- Trees --------------------------------------------------------------------------------===//

template <typename Combine>
static float treeOver(float *values, int64_t lanes, Combine combine) {
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    for (int64_t i = 0; i < half; ++i) {
      values[i] = combine(values[i], values[i + half]);
    }
  }
  return values[0];
}

float treeSum(float *values, int64_t lanes) { return treeOver(values, lanes, addF32); }
float treeMax(float *values, int64_t lanes) { return treeOver(values, lanes, maxF32); }
float treeMin(float *values, int64_t lanes) { return treeOver(values, lanes, minF32); }

} // namespace spyre::sim
