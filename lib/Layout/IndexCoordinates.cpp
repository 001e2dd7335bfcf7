//===- IndexCoordinates.cpp - digits of loop variables in the strides of a tensor -----------===//
//
// A term t = step * v with 0 <= t < limit is cut from the largest stride down: a stride below limit
// takes t // stride and leaves t % stride to the next one. For strides that divide each other this
// is the documented rule (modulo the next larger stride first, where that is below limit); it also
// holds where they do not, and where the step is no multiple of the stride.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/IndexCoordinates.h"

#include "fmt/ranges.h"

#include <algorithm>
#include <numeric>

namespace spyre::layout {

using Ints = std::vector<int64_t>;

/// Far below 64 bits, so that terms can be added without checks.
static constexpr int64_t kMaxValue = int64_t(1) << 56;
static constexpr size_t kMaxTerms = 1024;

//===--------------------------------------------------------------------------------------------===//
// Expressions
//===--------------------------------------------------------------------------------------------===//

int64_t CoordinateExpr::evaluate(const Ints &values) const {
  int64_t sum = constant;
  for (const CoordinateTerm &term : terms) {
    int64_t value = values[term.variable];
    if (term.variableModulus > 0) {
      value %= term.variableModulus;
    }
    value *= term.scale;
    for (int64_t modulus : term.moduli) {
      value %= modulus;
    }
    sum += value / term.divisor;
  }
  return sum;
}

static std::string termText(const CoordinateTerm &term, const std::string &name) {
  std::string text = name;
  if (term.variableModulus > 0) {
    text += fmt::format("%{}", term.variableModulus);
    text = term.scale == 1 ? text : fmt::format("({})", text);
  }
  if (term.scale != 1) {
    text = fmt::format("{}{}", term.scale, text);
  }
  for (int64_t modulus : term.moduli) {
    text += fmt::format("%{}", modulus);
  }
  if (term.divisor != 1) {
    text += fmt::format("//{}", term.divisor);
  }
  return text;
}

std::string CoordinateExpr::toString(const std::vector<LoopVariable> &variables) const {
  std::vector<std::string> parts;
  for (const CoordinateTerm &term : terms) {
    parts.push_back(termText(term, variables[term.variable].name));
  }
  if (constant != 0 || parts.empty()) {
    parts.push_back(fmt::format("{}", constant));
  }
  return fmt::format("{}", fmt::join(parts, "+"));
}

//===--------------------------------------------------------------------------------------------===//
// Digits
//===--------------------------------------------------------------------------------------------===//

/// Dimensions that can be told apart by stride, largest stride first.
static std::vector<size_t> dimsByStride(const Ints &size, const Ints &stride) {
  std::vector<size_t> dims;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] > 1 && stride[i] > 0) {
      dims.push_back(i);
    }
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [&](size_t a, size_t b) { return stride[a] > stride[b]; });
  auto sameStride = [&](size_t a, size_t b) { return stride[a] == stride[b]; };
  dims.erase(std::unique(dims.begin(), dims.end(), sameStride), dims.end());
  return dims;
}

/// Divides out what scale, moduli and divisor have in common, and drops moduli that say nothing.
static CoordinateTerm simplified(CoordinateTerm term) {
  int64_t common = std::gcd(term.scale, term.divisor);
  Ints moduli;
  for (int64_t modulus : term.moduli) {
    while (!moduli.empty() && moduli.back() % modulus == 0) {
      moduli.pop_back();
    }
    moduli.push_back(modulus);
  }
  for (int64_t modulus : moduli) {
    common = std::gcd(common, modulus);
  }
  term.scale /= common;
  term.divisor /= common;
  term.moduli.clear();
  for (int64_t modulus : moduli) {
    term.moduli.push_back(modulus / common);
  }
  return term;
}

/// Adds the digits of \p term, whose values stay below \p limit. False when a rest remains.
static bool addDigits(CoordinateTerm term, int64_t limit, const Ints &stride,
                      const std::vector<size_t> &dims, std::vector<CoordinateExpr> &coordinates) {
  // What is left is a multiple of this.
  int64_t grain = term.scale;
  for (size_t dim : dims) {
    if (stride[dim] >= limit) {
      continue;
    }
    term.divisor = stride[dim];
    coordinates[dim].terms.push_back(simplified(term));
    if (grain % stride[dim] == 0) {
      return true;
    }
    term.moduli.push_back(stride[dim]);
    grain = std::gcd(grain, stride[dim]);
    limit = stride[dim];
  }
  return limit <= grain; // Only 0 is left.
}

static bool addOffset(int64_t offset, const Ints &stride, const std::vector<size_t> &dims,
                      std::vector<CoordinateExpr> &coordinates) {
  for (size_t dim : dims) {
    coordinates[dim].constant = offset / stride[dim];
    offset %= stride[dim];
  }
  return offset == 0;
}

//===--------------------------------------------------------------------------------------------===//
// Checks
//===--------------------------------------------------------------------------------------------===//

static Status checkNumbers(const Ints &size, const Ints &stride, const LinearIndex &index,
                           const std::vector<LoopVariable> &variables) {
  auto sound = [](int64_t value) { return value >= 0 && value < kMaxValue; };
  bool good =
      size.size() == stride.size() && index.terms.size() <= kMaxTerms && sound(index.offset);
  for (int64_t extent : size) {
    good = good && sound(extent);
  }
  for (int64_t step : stride) {
    good = good && step < kMaxValue;
  }
  for (const IndexTerm &term : index.terms) {
    good = good && term.variable < variables.size() && sound(term.coefficient) &&
           sound(term.modulus) && sound(variables[term.variable].range);
  }
  if (!good) {
    return error<2021>("an index of {} terms and offset {} does not fit size [{}], stride [{}]: "
                       "numbers are negative, above 2^56 or differ in number; give one stride per "
                       "size and one range per variable",
                       index.terms.size(), index.offset, fmt::join(size, ", "),
                       fmt::join(stride, ", "));
  }
  return Status::success();
}

/// How many values the variable part of \p term takes.
static Expected<int64_t> rangeOf(const IndexTerm &term, const LoopVariable &variable,
                                 const Ints &size, const Ints &stride) {
  int64_t range = variable.range;
  for (size_t dim = 0; range == 0 && dim < size.size(); ++dim) {
    range = stride[dim] == term.coefficient ? size[dim] : 0;
  }
  range = term.modulus > 0 && (range == 0 || term.modulus < range) ? term.modulus : range;
  if (range == 0) {
    return error<2022>("the range of {} is not known and no dimension has its stride {}; give the "
                       "range",
                       variable.name, term.coefficient);
  }
  return range;
}

Expected<std::vector<CoordinateExpr>>
computeCoordinates(const Ints &size, const Ints &stride, const LinearIndex &index,
                   const std::vector<LoopVariable> &variables) {
  SPYRE_RETURN_IF_ERROR(checkNumbers(size, stride, index, variables));
  std::vector<size_t> dims = dimsByStride(size, stride);
  std::vector<CoordinateExpr> coordinates(size.size());
  bool exact = addOffset(index.offset, stride, dims, coordinates);
  for (const IndexTerm &term : index.terms) {
    if (term.coefficient == 0) {
      continue;
    }
    const LoopVariable &variable = variables[term.variable];
    SPYRE_ASSIGN_OR_RETURN(int64_t range, rangeOf(term, variable, size, stride));
    int64_t limit = 0;
    if (__builtin_mul_overflow(term.coefficient, range, &limit) || limit >= kMaxValue) {
      return error<2021>("{} times {} below {} leaves 2^56; use a smaller tensor", term.coefficient,
                         variable.name, range);
    }
    // A modulus that never bites is none.
    bool isPart = term.modulus > 0 && (variable.range == 0 || term.modulus < variable.range);
    CoordinateTerm digits{term.variable, isPart ? term.modulus : 0, term.coefficient, {}, 1};
    exact = exact && (range == 1 || addDigits(digits, limit, stride, dims, coordinates));
  }
  if (!exact) {
    return error<2021>("the index reaches places between the elements of size [{}], stride [{}]; "
                       "check its coefficients and offset",
                       fmt::join(size, ", "), fmt::join(stride, ", "));
  }
  return coordinates;
}

} // namespace spyre::layout
