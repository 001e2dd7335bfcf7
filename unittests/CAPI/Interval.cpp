//===- Interval.cpp - where a number of the device can honestly be --------------------------===//
#include "Interval.h"

#include "Support/Tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

namespace spyre::testing {

using numerics::HostType;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Beyond it fp32 results may overflow, after which nothing is claimed.
constexpr double kLargestFp32 = 1e37;
/// Largest slope of silu, gelu and mish.
constexpr double kLargestSlope = 1.2;

using In = const std::vector<Interval> &;
using Numbers = const Parameters &;

Interval hull(double a, double b, double c, double d) {
  return {std::min({a, b, c, d}), std::max({a, b, c, d})};
}

Interval negated(const Interval &x) { return {-x.hi, -x.lo}; }

Interval product(const Interval &a, const Interval &b) {
  return hull(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
}

Interval quotient(const Interval &a, const Interval &b) {
  if (b.lo <= 0 && b.hi >= 0) {
    return Interval::open();
  }
  return hull(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi);
}

Interval absolute(const Interval &x) {
  return x.lo >= 0 ? x : x.hi <= 0 ? negated(x) : Interval{0, std::max(-x.lo, x.hi)};
}

Interval clipped(const Interval &x, double low, double high) {
  return {std::min(std::max(x.lo, low), high), std::min(std::max(x.hi, low), high)};
}

/// Certainly, certainly not, or unknown.
Interval truth(bool yes, bool no) {
  return yes ? Interval{1, 1} : no ? Interval{0, 0} : Interval{0, 1};
}

Interval equal(const Interval &a, const Interval &b) {
  return truth(a.isExact() && b.isExact() && a.lo == b.lo, a.hi < b.lo || b.hi < a.lo);
}
Interval greater(const Interval &a, const Interval &b) { return truth(a.lo > b.hi, a.hi <= b.lo); }
Interval inverted(const Interval &x) { return {1 - x.hi, 1 - x.lo}; }

Interval chosen(In in) {
  if (in[0].isExact()) {
    return in[0].lo != 0 ? in[1] : in[2];
  }
  if (in[1].isOpen() || in[2].isOpen()) {
    return Interval::open();
  }
  return {std::min(in[1].lo, in[2].lo), std::max(in[1].hi, in[2].hi)};
}

template <typename Function>
Interval rising(const Interval &x, Function function) {
  return {function(x.lo), function(x.hi)};
}
template <typename Function>
Interval smooth(const Interval &x, Function function) {
  const double middle = function((x.lo + x.hi) / 2), spread = kLargestSlope * (x.hi - x.lo) / 2;
  return {middle - spread, middle + spread};
}
template <typename Function>
Interval positive(const Interval &x, Function function) {
  return x.lo > 0 ? hull(function(x.lo), function(x.hi), function(x.lo), function(x.hi))
                  : Interval::open();
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu(double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }
double softplus(double x) { return std::log1p(std::exp(x)); }
double mish(double x) { return x * std::tanh(softplus(x)); }

} // namespace

/// A rule, and the row of the table that says how far its function may be off; null: not at all.
struct PointwiseRule {
  Interval (*function)(In, Numbers);
  const char *tolerance = nullptr;
  /// What the tolerance is relative to: the result, or the argument where terms cancel.
  bool ofArgument = false;
};

namespace {

const std::map<std::string, PointwiseRule> &rules() {
  static const std::map<std::string, PointwiseRule> table = {
      {"add", {[](In in, Numbers) { return Interval{in[0].lo + in[1].lo, in[0].hi + in[1].hi}; }}},
      {"sub", {[](In in, Numbers) { return Interval{in[0].lo - in[1].hi, in[0].hi - in[1].lo}; }}},
      {"mul", {[](In in, Numbers) { return product(in[0], in[1]); }}},
      {"logical_and", {[](In in, Numbers) { return product(in[0], in[1]); }}},
      {"logical_or", {[](In in, Numbers) {
         return Interval{std::max(in[0].lo, in[1].lo), std::max(in[0].hi, in[1].hi)};
       }}},
      {"div", {[](In in, Numbers) { return quotient(in[0], in[1]); }}},
      {"reciprocal", {[](In in, Numbers) { return quotient({1, 1}, in[0]); }}},
      {"neg", {[](In in, Numbers) { return negated(in[0]); }}},
      {"abs", {[](In in, Numbers) { return absolute(in[0]); }}},
      {"maximum", {[](In in, Numbers) {
         return Interval{std::max(in[0].lo, in[1].lo), std::max(in[0].hi, in[1].hi)};
       }}},
      {"minimum", {[](In in, Numbers) {
         return Interval{std::min(in[0].lo, in[1].lo), std::min(in[0].hi, in[1].hi)};
       }}},
      {"floor",
       {[](In in, Numbers) { return Interval{std::floor(in[0].lo), std::floor(in[0].hi)}; }}},
      {"relu", {[](In in, Numbers) { return clipped(in[0], 0, kInfinity); }}},
      {"relu6", {[](In in, Numbers) { return clipped(in[0], 0, 6); }}},
      {"clip", {[](In in, Numbers p) { return clipped(in[0], p[0], p[1]); }}},
      {"leaky_relu", {[](In in, Numbers p) {
         return rising(in[0], [&](double x) { return x > 0 ? x : x * p[0]; });
       }}},
      {"eq", {[](In in, Numbers) { return equal(in[0], in[1]); }}},
      {"ne", {[](In in, Numbers) { return inverted(equal(in[0], in[1])); }}},
      {"gt", {[](In in, Numbers) { return greater(in[0], in[1]); }}},
      {"ge", {[](In in, Numbers) { return inverted(greater(in[1], in[0])); }}},
      {"lt", {[](In in, Numbers) { return greater(in[1], in[0]); }}},
      {"le", {[](In in, Numbers) { return inverted(greater(in[0], in[1])); }}},
      {"where", {[](In in, Numbers) { return chosen(in); }}},
      {"sqrt",
       {[](In in, Numbers) { return positive(in[0], [](double x) { return std::sqrt(x); }); }}},
      {"rsqrt",
       {[](In in, Numbers) { return positive(in[0], [](double x) { return 1 / std::sqrt(x); }); },
        "pointwise"}},
      {"log",
       {[](In in, Numbers) { return positive(in[0], [](double x) { return std::log(x); }); },
        "pointwise"}},
      {"exp",
       {[](In in, Numbers) { return rising(in[0], [](double x) { return std::exp(x); }); }, "exp"}},
      {"tanh",
       {[](In in, Numbers) { return rising(in[0], [](double x) { return std::tanh(x); }); },
        "pointwise"}},
      {"sigmoid", {[](In in, Numbers) { return rising(in[0], sigmoid); }, "pointwise"}},
      {"silu", {[](In in, Numbers) { return smooth(in[0], silu); }, "pointwise"}},
      {"gelu", {[](In in, Numbers) { return smooth(in[0], gelu); }, "pointwise", true}},
      {"mish", {[](In in, Numbers) { return smooth(in[0], mish); }, "pointwise"}},
      {"softplus",
       {[](In in, Numbers p) {
          // It falls by a little where it becomes a line.
          const Interval curve = rising(in[0], [&](double x) { return softplus(p[0] * x) / p[0]; });
          const Interval isLine =
              greater(product(in[0], Interval::exactly(p[0])), Interval::exactly(p[1]));
          return chosen({isLine, in[0], curve});
        },
        "pointwise"}},
  };
  return table;
}

const char *toleranceName(HostType dtype) {
  return dtype == HostType::Bool ? "float16" : numerics::hostTypeName(dtype);
}

double roundedTo(double value, HostType dtype) {
  if (dtype >= HostType::Int8 && dtype <= HostType::Int64) {
    return std::trunc(value);
  }
  const auto single = float(value);
  if (dtype == HostType::Float8E4m3fn) {
    return numerics::e4m3fnToFloat(numerics::floatToE4m3fn(single));
  }
  return dtype == HostType::Float32 ? double(single)
                                    : double(numerics::dl16ToFloat(numerics::floatToDl16(single)));
}

} // namespace

Interval Interval::open() { return {-kInfinity, kInfinity}; }
bool Interval::isOpen() const { return lo == -kInfinity && hi == kInfinity; }
double Interval::magnitude() const { return std::max(std::fabs(lo), std::fabs(hi)); }

Interval rounded(Interval value, HostType dtype) {
  if (std::isnan(value.lo) || std::isnan(value.hi) || value.isOpen() ||
      (dtype == HostType::Float32 && value.magnitude() > kLargestFp32)) {
    return Interval::open();
  }
  return {roundedTo(value.lo, dtype), roundedTo(value.hi, dtype)};
}

Interval widened(Interval value, double relative, double magnitude) {
  return {value.lo - relative * magnitude, value.hi + relative * magnitude};
}

bool isOnGrid(const Interval &value, int bits) {
  const double scaled = std::ldexp(value.lo, bits);
  return value.isExact() && std::floor(scaled) == scaled;
}

static const PointwiseRule &ruleOf(const std::string &name) {
  auto found = rules().find(name);
  if (found == rules().end()) {
    throw std::runtime_error("Interval.cpp has no rule for '" + name + "'");
  }
  return found->second;
}

double sumTolerance(const std::string &operation, HostType dtype, int64_t terms) {
  return tolerance(operation, toleranceName(dtype), terms);
}

Pointwise::Pointwise(const std::string &name, Parameters parameters, HostType dtype)
    : rule(ruleOf(name)), parameters(std::move(parameters)), dtype(dtype) {
  if (rule.tolerance) {
    relative = tolerance(rule.tolerance, toleranceName(dtype));
  }
}

Interval Pointwise::operator()(const std::vector<Interval> &in) const {
  // An operand that is not chosen does not matter.
  const bool chooses = in.size() == 3;
  if (!chooses && std::any_of(in.begin(), in.end(), [](const Interval &x) { return x.isOpen(); })) {
    return dtype == HostType::Bool ? Interval{0, 1} : Interval::open();
  }
  Interval result = rule.function(in, parameters);
  if (rule.tolerance && !result.isOpen()) {
    result = widened(result, relative, (rule.ofArgument ? in[0] : result).magnitude());
  }
  return chooses ? result : rounded(result, dtype);
}

} // namespace spyre::testing
