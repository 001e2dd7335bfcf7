//===- Trigonometry.cpp - sine and cosine, right for every float argument -------------------===//
//
// x = k pi/2 + r with |r| <= pi/4; k mod 4 chooses polynomial and sign. Below 2^20 the reduction
// subtracts k times pi/2 in three parts (Cody and Waite) and vectorises. Above, x is an integer
// times a power of two and its product with the bits of 2/pi is taken modulo 4 in integers (Payne
// and Hanek): no argument is too large. The array form mends those elements after the fast loop.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/TargetClones.h"
#include "spyre/Numerics/Functions.h"

#include "DoubleCores.h"

#include <algorithm>

namespace spyre::numerics {

using detail::horner;
using detail::kRounder;

__extension__ using Uint128 = unsigned __int128;
__extension__ using Int128 = __int128;

namespace {

struct Reduced {
  double r;
  /// Only the two low bits count.
  uint64_t quadrant;
};

} // namespace

/// Below this k has 20 bits, so that its products with 33-bit constants are exact.
static constexpr float kFastLimit = 0x1p20f;
/// The second word has weights 2^-1 to 2^-64; the zeros before serve arguments with few bits.
static constexpr uint64_t kTwoOverPi[] = {0, 0xA2F9836E4E441529ull, 0xFC2757D1F534DDC0ull,
                                          0xDB6295993C439041ull, 0xFE5163ABDEBBC561ull};

static inline Reduced reduceFast(float x) {
  constexpr double kInverse = 0x1.45f306dc9c883p-1;
  constexpr double kHigh = 0x1.921fb544p+0, kMiddle = 0x1.0b4611a6p-34;
  constexpr double kLow = 0x1.3198a2e037073p-69;
  double value = x;
  double shifted = value * kInverse + kRounder;
  double k = shifted - kRounder;
  double r = ((value - k * kHigh) - k * kMiddle) - k * kLow;
  return {r, std::bit_cast<uint64_t>(shifted)};
}

/// 64 bits of 2/pi from bit \p first on; bit 0 is the first of the table.
static uint64_t twoOverPiBits(uint32_t first) {
  uint32_t word = first / 64, shift = first % 64;
  uint64_t bits = kTwoOverPi[word] << shift;
  return shift == 0 ? bits : bits | kTwoOverPi[word + 1] >> (64 - shift);
}

/// For finite |x| >= kFastLimit. x = mantissa * 2^scale, scale from -3 to 104. Bits of 2/pi with
/// weight above 2^(1 - scale) contribute multiples of 4; the 128 bits from there on leave an error
/// below 2^-102, while no float comes nearer than 2^-30 to a multiple of pi/2.
static Reduced reduceHuge(float x) {
  constexpr double kHalfPi = 0x1.921fb54442d18p+0;
  uint32_t bits = std::bit_cast<uint32_t>(x);
  int32_t scale = int32_t((bits >> 23) & 0xFF) - 150;
  uint32_t mantissa = (bits & 0x7FFFFFu) | 0x800000u;
  // Table bit 64 has weight 2^-1, so weight 2^(1 - scale) is at 62 + scale.
  auto first = uint32_t(62 + scale);
  Uint128 window = Uint128(twoOverPiBits(first)) << 64 | twoOverPiBits(first + 64);
  // Units of 2^-126; overflow takes off multiples of 4.
  Uint128 product = window * mantissa;
  auto quadrant = uint64_t((product + (Uint128(1) << 125)) >> 126);
  auto fraction = Int128(product - (Uint128(quadrant) << 126));
  double r = double(fraction) * 0x1p-126 * kHalfPi;
  bool negative = bits >> 31 != 0;
  return {negative ? -r : r, negative ? 0 - quadrant : quadrant};
}

/// sin(r + quadrant * pi/2).
static inline float sineOf(Reduced reduced) {
  double r = reduced.r, square = r * r;
  double sine = r * horner(square, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040,
                           1.0 / 120, -1.0 / 6, 1.0);
  double cosine = horner(square, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320,
                         -1.0 / 720, 1.0 / 24, -0.5, 1.0);
  // Integer selection: a comparison of 64-bit integers would stop the plain vector loop.
  uint64_t odd = 0 - (reduced.quadrant & 1);
  uint64_t sign = (reduced.quadrant & 2) << 62;
  uint64_t bits = (std::bit_cast<uint64_t>(cosine) & odd) | (std::bit_cast<uint64_t>(sine) & ~odd);
  return static_cast<float>(std::bit_cast<double>(bits ^ sign));
}

static inline float fastSine(float x, uint64_t quadrants) {
  Reduced reduced = reduceFast(x);
  reduced.quadrant += quadrants;
  return sineOf(reduced);
}

static float hugeSine(float x, uint64_t quadrants) {
  if (!(std::fabs(x) < std::numeric_limits<float>::infinity())) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  Reduced reduced = reduceHuge(x);
  reduced.quadrant += quadrants;
  return sineOf(reduced);
}

static inline bool isFast(float x) { return std::fabs(x) < kFastLimit; }

static float shiftedSine(float x, uint64_t quadrants) {
  return isFast(x) ? fastSine(x, quadrants) : hugeSine(x, quadrants);
}

SPYRE_TARGET_CLONES
static void fastSines(const float *__restrict in, float *__restrict out, int64_t count,
                      uint64_t quadrants) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = fastSine(in[i], quadrants);
  }
}

static void shiftedSines(const float *in, float *out, int64_t count, uint64_t quadrants) {
  constexpr int64_t kBlockElems = 256;
  // A copy, because with in == out the fast loop overwrites what the second loop must read.
  float block[kBlockElems];
  for (int64_t first = 0; first < count; first += kBlockElems) {
    int64_t elems = std::min(kBlockElems, count - first);
    std::copy_n(in + first, elems, block);
    fastSines(block, out + first, elems, quadrants);
    for (int64_t i = 0; i < elems; ++i) {
      if (!isFast(block[i])) {
        out[first + i] = hugeSine(block[i], quadrants);
      }
    }
  }
}

float sinF32(float x) { return shiftedSine(x, 0); }
float cosF32(float x) { return shiftedSine(x, 1); }
void sinF32(const float *in, float *out, int64_t count) { shiftedSines(in, out, count, 0); }
void cosF32(const float *in, float *out, int64_t count) { shiftedSines(in, out, count, 1); }

} // namespace spyre::numerics
