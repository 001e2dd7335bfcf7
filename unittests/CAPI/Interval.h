//===- Interval.h - where a number of the device can honestly be ----------------------------===//
//
// The device's arithmetic is documented: one fp32 operation, one rounding (docs/numerics.md). Both
// are monotone, so an interval of arguments gives an interval of results, and an exact argument an
// exact result. Only what the documentation leaves open widens: the order of sums, and functions
// that have no exact value; by test/tolerances.json.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Numerics/Formats.h"

#include <string>
#include <vector>

namespace spyre::testing {

struct Interval {
  double lo = 0, hi = 0;

  static Interval exactly(double value) { return {value, value}; }
  /// Any number, and no number: nothing is known.
  static Interval open();

  bool isExact() const { return lo == hi; }
  bool isOpen() const;
  bool contains(double value) const { return isOpen() || (lo <= value && value <= hi); }
  double magnitude() const;
};

/// To the device format of \p dtype, by way of fp32.
Interval rounded(Interval value, numerics::HostType dtype);
/// By \p relative of \p magnitude on both sides.
Interval widened(Interval value, double relative, double magnitude);
/// Multiples of 2^-\p bits whose sums below 4096 are exact in fp32.
bool isOnGrid(const Interval &value, int bits);

/// The numbers an operation takes besides its operands.
using Parameters = std::vector<double>;

/// One element-wise operation. \p name is the operation without its package and overload: "add",
/// "where". Results are rounded to \p dtype. Throws std::runtime_error, which fails the test, for a
/// name without a rule.
class Pointwise {
public:
  Pointwise(const std::string &name, Parameters parameters, numerics::HostType dtype);
  Interval operator()(const std::vector<Interval> &in) const;

private:
  const struct PointwiseRule &rule;
  Parameters parameters;
  numerics::HostType dtype;
  double relative = 0;
};

/// Of a sum of \p terms terms, relative to the sum of their magnitudes; \p operation is a row of
/// the table of tolerances.
double sumTolerance(const std::string &operation, numerics::HostType dtype, int64_t terms);

} // namespace spyre::testing
