//===- TopK.h - calls that look for the largest elements along a dimension ------------------===//
#pragma once

#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"

namespace spyre::graph {

/// Lists that the device keeps per lane. The documented interface promises 4 (docs/adr/0050).
constexpr int64_t kMaxTopK = 64;
/// Elements along the searched dimension: one core reads them all, and the range of DDR it may
/// touch is 256 MiB, one stick for each.
constexpr int64_t kMaxSearched = int64_t(1) << 21;

/// Attributes k and dim against the operand's shape. Errors: E1004, E1005.
Status checkTopK(CallOp call, const OpRow &row);

} // namespace spyre::graph
