//===- SliceCopies.cpp - see SliceCopies.h --------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/SliceCopies.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace spyre::graph {

std::vector<int64_t> flipDigits(int64_t extent) {
  constexpr int64_t kWanted = 16;
  std::vector<int64_t> digits;
  for (int64_t prime = 2; extent > 1; ++prime) {
    prime = prime * prime > extent ? extent : prime;
    while (extent % prime == 0) {
      const bool joins = !digits.empty() && digits.back() * prime <= kWanted;
      joins ? void(digits.back() *= prime) : digits.push_back(prime);
      extent /= prime;
    }
  }
  return digits;
}

int64_t flipCopies(int64_t extent) {
  const std::vector<int64_t> digits = flipDigits(extent);
  return std::accumulate(digits.begin(), digits.end(), int64_t(0));
}

namespace {

/// Dimensions with more than one value, largest stride first; those of equal stride in order.
std::vector<size_t> byStride(const std::vector<int64_t> &shape,
                             const std::vector<int64_t> &stride) {
  std::vector<size_t> order;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) {
      order.push_back(d);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return stride[a] > stride[b]; });
  return order;
}

} // namespace

int64_t findOverlap(const std::vector<int64_t> &shape, const std::vector<int64_t> &stride) {
  const std::vector<size_t> order = byStride(shape, stride);
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const size_t outer = order[i], next = order[i + 1];
    const bool nests = stride[next] == 0 || (stride[outer] % stride[next] == 0 &&
                                             stride[next] * shape[next] <= stride[outer]);
    if (!nests) {
      return int64_t(shape[outer] < shape[next] ? outer : next);
    }
  }
  return -1;
}

int64_t stridedCopies(const std::vector<int64_t> &shape, const std::vector<int64_t> &stride) {
  const int64_t dim = findOverlap(shape, stride);
  if (dim < 0) {
    return 1;
  }
  std::vector<int64_t> one = shape;
  one[size_t(dim)] = 1;
  const int64_t inner = stridedCopies(one, stride);
  return inner > kMaxSliceCopies
             ? inner
             : std::min<int64_t>(shape[size_t(dim)], kMaxSliceCopies + 1) * inner;
}

} // namespace spyre::graph
