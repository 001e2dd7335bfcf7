//===- TopK.cpp - the k largest elements and where they are ---------------------------------===//
//
// Sorts all elements of a column and takes the first k: nothing like the list a device keeps. NaN
// is the largest, of equal values the lower index is first.
//===--------------------------------------------------------------------------------------------===//
#include "TensorView.h"

#include <algorithm>

namespace spyre::evaluator {

namespace {

struct Candidate {
  float value = 0;
  int32_t index = 0;
};

/// Symbols with more than one value that \p with has and \p without lacks.
std::vector<size_t> symbolsOnlyIn(const Operation &operation, const TensorView &with,
                                  const TensorView &without) {
  std::vector<size_t> symbols;
  for (size_t i = 0; i < operation.ranges.size(); ++i) {
    if (with.uses[i] && !without.uses[i] && operation.ranges[i] > 1) {
      symbols.push_back(i);
    }
  }
  return symbols;
}

bool isBefore(const Candidate &a, const Candidate &b) {
  const bool aIsNan = a.value != a.value, bIsNan = b.value != b.value;
  return aIsNan || bIsNan ? aIsNan && !bIsNan : a.value > b.value;
}

} // namespace

bool isTopKRule(const std::string &op) { return op == "topkvalue" || op == "topkindex"; }

Status evaluateTopK(const Operation &operation) {
  const TensorView &in = operation.views[0], &out = operation.output();
  const bool wantsIndex = operation.spec->op == "topkindex";
  const std::vector<size_t> reduced = symbolsOnlyIn(operation, in, out);
  const std::vector<size_t> ranks = symbolsOnlyIn(operation, out, in);
  const numerics::DataFormat wanted = wantsIndex ? numerics::DataFormat::IeeeInt32 : in.format;
  if (reduced.size() > 1 || ranks.size() > 1 || in.stick < 0 || in.stick != out.stick ||
      out.format != wanted) {
    return error<1401>("op '{}' has a rule for one reduced symbol, one of size k, the same stick "
                       "in input and output, and indices in IEEE_INT32",
                       operation.spec->op);
  }
  const int64_t elements = reduced.empty() ? 1 : operation.ranges[reduced[0]];
  const int64_t k = ranks.empty() ? 1 : operation.ranges[ranks[0]];
  if (k > elements) {
    return error<1401>("op '{}' takes the {} largest of {} elements; k is too large",
                       operation.spec->op, k, elements);
  }
  std::vector<size_t> kept = outputSymbols(operation);
  if (!ranks.empty()) {
    std::erase(kept, ranks[0]);
  }
  Point point(operation.ranges.size(), 0);
  std::vector<Candidate> column;
  forEachPoint(point, kept, operation.extents, [&] {
    column.clear();
    forEachPoint(point, reduced, operation.ranges, [&] {
      Candidate candidate{in.load(in.offset(point)),
                          int32_t(reduced.empty() ? 0 : point[reduced[0]])};
      column.push_back(candidate);
    });
    std::stable_sort(column.begin(), column.end(), isBefore);
    for (int64_t rank = 0; rank < k; ++rank) {
      if (!ranks.empty()) {
        point[ranks[0]] = rank;
      }
      const Candidate &found = column[size_t(rank)];
      if (wantsIndex) {
        out.storeBits(out.offset(point), reinterpret_cast<const uint8_t *>(&found.index));
      } else {
        out.store(out.offset(point), found.value);
      }
    }
    if (!ranks.empty()) {
      point[ranks[0]] = 0;
    }
  });
  return Status::success();
}

} // namespace spyre::evaluator
