//===- Elementwise.h - the value of an element-wise operation at one point ------------------===//
//
// One rule per operation name: its inputs, its constants, and a scalar function of the numerics
// policy. Nothing here knows lanes, but for the pair of a layer norm: exx2 leaves the mean in lane
// 0 and the mean of squares in lane 1 of each stick (docs/adr/0015).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "TensorView.h"

#include <array>

namespace spyre::evaluator {

struct ElementwiseRule {
  const char *op;
  size_t inputs;
  /// Of the inputs, then the constants; the pair of layernormscale gives two values.
  float (*apply)(const float *values);
  /// The same on IEEE_INT32; null when there is no such rule.
  int32_t (*applyInteger)(const int32_t *values) = nullptr;
  std::array<const char *, 2> constants{};
  /// Input that holds a pair, or -1.
  int pairInput = -1;
  /// Of one input: IEEE_INT32 read as IEEE_FP32, or the other way. The others are null then.
  float (*fromInteger)(int32_t) = nullptr;
  int32_t (*toInteger)(float) = nullptr;
};

/// Null when \p op is no element-wise operation.
const ElementwiseRule *findElementwise(const std::string &op);

/// Formats, constants and the pair. Error: E1401.
Status checkElementwise(const spec::OpSpec &spec, const ElementwiseRule &rule);
/// \p operation must have passed the check.
void evaluateElementwise(const Operation &operation, const ElementwiseRule &rule);

} // namespace spyre::evaluator
