//===- Units.h - what the documents compute of an operation before they divide it -----------===//
//
// Stick-adjusted sizes, output variables, the documented span, divisors. [spec: work-division 3, 4,
// 7.1, 7.2]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Problem.h"

namespace spyre::solver::division {

using Splits = std::vector<int64_t>;

struct Units {
  /// Elements of one tile.
  std::vector<int64_t> extent;
  /// The same with padding that cores read (Dim::walked).
  std::vector<int64_t> walked;
  /// Elements of a unit: the widest stick along the variable, else 1.
  std::vector<int64_t> elems;
  /// Units of one tile, the last one possibly partial.
  std::vector<int64_t> count;
  /// Slices must divide this: the units, or the granularity of a size known at run time.
  std::vector<int64_t> basis;
  /// The variable runs along the lanes of some tensor.
  std::vector<bool> stick;
  /// In a coordinate of the output other than the lanes.
  std::vector<bool> output;
};

Units unitsOf(const Op &op);

/// The variable of the lanes, or -1.
int laneDim(const Tensor &tensor);
bool occursIn(const Tensor &tensor, int dim);

/// Ascending.
std::vector<int64_t> divisorsUpTo(int64_t value, int64_t most);
/// The largest divisor of \p size that is at most \p cores.
int64_t coreSplit(int64_t size, int64_t cores);
int64_t productOf(const Splits &splits);
/// "c0 4, c1 2"; dims with a split of 1 are left out, "none" when all are.
std::string describe(const Op &op, const Splits &splits);

/// How bytes are counted: whole sticks, or elements of the host's size as one revision did.
enum class SpanBytes { Sticks, HostItems };

/// The documented estimate: the outermost device dimension that varies, times everything inside.
int64_t documentedSpan(const Op &op, const Units &units, const Tensor &tensor, const Splits &splits,
                       SpanBytes how = SpanBytes::Sticks);

} // namespace spyre::solver::division
