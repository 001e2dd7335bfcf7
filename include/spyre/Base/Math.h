//===- Math.h - integer helpers with names --------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spyre {

constexpr int64_t ceilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}
constexpr int64_t roundUp(int64_t value, int64_t multiple) {
  return ceilDiv(value, multiple) * multiple;
}
/// False when the product leaves int64 or a factor is negative.
inline bool checkedProduct(const std::vector<int64_t> &factors, int64_t &product) {
  product = 1;
  for (int64_t factor : factors) {
    if (factor < 0 || __builtin_mul_overflow(product, factor, &product)) {
      return false;
    }
  }
  return true;
}
/// Row-major strides in elements.
inline std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * (sizes[i] > 0 ? sizes[i] : 1);
  }
  return strides;
}

} // namespace spyre
