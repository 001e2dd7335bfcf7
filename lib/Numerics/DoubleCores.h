//===- DoubleCores.h - exp, log and erfc in double, shared by the float functions -----------===//
//
// Straight-line code without calls, branches and integer conversions, so that the loops around it
// vectorise. Each core is good to about 2^-39, so that one rounding to float at the end is the only
// error that counts.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

namespace spyre::numerics::detail {

/// Adding and subtracting this rounds to an integer, which meanwhile stands in the low bits.
constexpr double kRounder = 0x1.8p52;
/// exp arguments of this size are far outside the range of float, yet 2^k is a normal double.
constexpr double kExpLimit = 700;

/// Polynomial with the coefficients from the highest power down. A fold, not a loop: it must
/// vanish before the loop over the elements is vectorised.
template <typename... Lower>
inline double horner(double x, double highest, Lower... lower) {
  double sum = highest;
  ((sum = sum * x + lower), ...);
  return sum;
}

inline double clampTo(double value, double low, double high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

/// e^value for |value| <= kExpLimit: 2^k * e^r with k = round(value / ln 2), |r| <= ln 2 / 2.
inline double expCore(double value) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  // ln 2 in two parts; the high one has 21 trailing zero bits, so k * kLn2High is exact.
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  double shifted = value * kLog2E + kRounder;
  double k = shifted - kRounder;
  double r = (value - k * kLn2High) - k * kLn2Low;
  double p = horner(r, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                    1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
  uint64_t scaleBits = (std::bit_cast<uint64_t>(shifted) + 1023) << 52;
  return p * std::bit_cast<double>(scaleBits);
}

/// ln value for a normal positive value: e ln 2 + 2 atanh(f), f = (m - 1) / (m + 1), with the
/// mantissa m between sqrt(1/2) and sqrt(2). Near 1 there is no cancellation, because then e is 0.
inline double logCore(double value) {
  constexpr uint64_t kSqrtHalfBits = 0x3FE6A09E667F3BCDull;
  constexpr uint64_t kExponentBias = 1024;
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t biased = (bits - kSqrtHalfBits + (kExponentBias << 52)) >> 52;
  double m = std::bit_cast<double>(bits - ((biased - kExponentBias) << 52));
  // The integer in the low bits of 2^52 reads as 2^52 plus the integer.
  double e = std::bit_cast<double>(biased | 0x4330000000000000ull) - (0x1p52 + kExponentBias);
  double f = (m - 1) / (m + 1);
  double p = horner(f * f, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5,
                    2.0 / 3, 2.0);
  return e * kLn2 + f * p;
}

/// ln(1 + value) for 0 <= value <= 1, with small relative error also near 0.
inline double log1pCore(double value) {
  double f = value / (2 + value);
  double p = horner(f * f, 2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                    2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0);
  return f * p;
}

/// erfc(a) for a >= 0 with a * a <= kExpLimit, given the square too since the caller knows it
/// exactly. (1 + 2a) e^(a^2) erfc(a) is smooth in t = (a - 3.75) / (a + 3.75), which maps all of
/// [0, infinity) to [-1, 1); the polynomial interpolates it at the Chebyshev points.
inline double erfcCore(double a, double square) {
  double t = (a - 3.75) / (a + 3.75);
  double p = horner(t, 0x1.6cddc85c8e874p-27, 0x1.f81844f5d1235p-21, -0x1.21fa9d84fe3c7p-20,
                    -0x1.532cb8439db08p-17, 0x1.7932397614c74p-16, 0x1.a6a540fd033ddp-15,
                    -0x1.304e61fb7f4ebp-12, 0x1.34bc13fdfbe40p-12, 0x1.cc3b49f35f39bp-10,
                    -0x1.3f62464827512p-7, 0x1.d0afffbd40a4bp-6, -0x1.e0d0e16ba0c52p-5,
                    0x1.7a1418a1aa340p-4, -0x1.bda931cf29fe5p-4, 0x1.510169cfbab3fp-4,
                    0x1.d5f295f26a720p-9, -0x1.1f367683f7ed0p-3, 0x1.3ccda0b5d4b8dp+0);
  return p * expCore(-square) / (1 + 2 * a);
}

} // namespace spyre::numerics::detail
