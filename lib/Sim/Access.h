//===- Access.h - a run of equal accesses to memory -----------------------------------------===//
#pragma once

#include "Ddr.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace spyre::sim {

/// Addresses base, base + stride, ... (count of them), each the start of `width` bytes.
struct Access {
  int64_t base = 0;
  int64_t stride = 0;
  int64_t count = 1;
  int64_t width = kStickBytes;

  int64_t lowest() const { return stride < 0 ? base + stride * (count - 1) : base; }
  int64_t end() const { return (stride > 0 ? base + stride * (count - 1) : base) + width; }
  bool overlaps(const Access &other) const {
    return lowest() < other.end() && other.lowest() < end();
  }
  /// Steps of at most a stick leave no stick out between the lowest and the highest address.
  bool isDense() const { return count == 1 || std::abs(stride) <= std::max(width, kStickBytes); }
};

} // namespace spyre::sim
