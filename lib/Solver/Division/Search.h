//===- Search.h - all divisions of one operation that keep the rules ------------------------===//
//
// Per tensor and variable it is worked out once how far each number of slices reaches; a candidate
// is then a few additions. The span is exact: the address is a sum over variables, so the largest
// span is the sum of the largest reaches.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Cost.h"
#include "spyre/Solver/Division/Rules.h"

namespace spyre::solver::division {

/// Beyond this many candidates an operation is not searched to the end; machines of 32 cores stay
/// far below for up to 6 variables.
constexpr size_t kMaxCandidates = 200000;

class Reaches {
public:
  Reaches(const Op &op, const Units &units, const arch::DeviceDesc &device);
  size_t tensors() const { return tensorOf.size(); }
  /// Number of the operation's tensor; rows of tables that are exempt are not counted.
  int tensor(size_t i) const { return tensorOf[i]; }
  /// Sticks between the first and the last one touched along \p dim, in any of \p split slices.
  int64_t sticks(size_t i, size_t dim, int64_t split) const;
  int64_t anyRow(size_t i) const { return fixed[i]; }

private:
  struct Part {
    const Term *term;
    int64_t strideSticks;
  };
  /// Largest difference of addresses within [low, high], where a term wraps.
  static int64_t wrappedReach(std::span<const Part> parts, int64_t low, int64_t high);

  const Units &units;
  size_t dims;
  std::vector<int> tensorOf;
  std::vector<int64_t> fixed;
  /// Terms of tensor i along dim d: parts[begins[i * dims + d]] up to the next begin.
  std::vector<Part> parts;
  std::vector<size_t> begins;
};

struct SearchResult {
  Candidates candidates;
  /// The search ended at kMaxCandidates.
  bool cut = false;
};

/// Every combination of \p domains with at most \p cores cores whose spans and loop counts the
/// machine allows, in ascending order, the last dim fastest.
SearchResult searchDivisions(const Op &op, const Units &units, const arch::DeviceDesc &device,
                             const Domains &domains, int64_t cores);

} // namespace spyre::solver::division
