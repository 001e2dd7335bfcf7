//===- IntegerReductions.cpp - sums and extremes of 32-bit integers --------------------------===//
//
// Sums wrap, extremes are exact: neither order nor slices can change a result, so there is one loop
// for reductions along the stick and along any other dimension.
//===--------------------------------------------------------------------------------------------===//
#include "TensorView.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace spyre::evaluator {

bool isIntegerReductionRule(const std::string &op) {
  return op == "sum" || op == "max" || op == "min";
}

static int32_t startOf(const std::string &op) {
  return op == "max"   ? std::numeric_limits<int32_t>::min()
         : op == "min" ? std::numeric_limits<int32_t>::max()
                       : 0;
}

static int32_t combine(const std::string &op, int32_t total, int32_t element) {
  if (op == "sum") {
    return int32_t(uint32_t(total) + uint32_t(element));
  }
  return op == "max" ? std::max(total, element) : std::min(total, element);
}

void evaluateIntegerReduction(const Operation &operation) {
  const std::string &op = operation.spec->op;
  const TensorView &in = operation.views[0], &out = operation.output();
  const std::vector<size_t> reduced = reducedSymbols(operation);
  Point point(operation.ranges.size(), 0);
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    int32_t total = startOf(op);
    forEachPoint(point, reduced, operation.ranges, [&] {
      int32_t element = 0;
      std::memcpy(&element, in.bits(in.offset(point)), sizeof(element));
      total = combine(op, total, element);
    });
    uint8_t bits[sizeof(total)];
    std::memcpy(bits, &total, sizeof(total));
    out.storeBits(out.offset(point), bits);
  });
}

} // namespace spyre::evaluator
