//===- Lx.h - the scratchpad of one core and its shadow state -------------------------------===//
//
// The shadow has one byte per 128-byte stick: the number of the launch that wrote it. A stick is
// "written" when that is the current launch, so a new launch forgets everything without touching
// memory. Addresses given here have been bounds-checked for the whole instruction (Core.cpp).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "HostMemory.h"

#include <optional>
#include <vector>

namespace spyre::sim {

constexpr int64_t kStickBytes = 128;
constexpr int64_t kMaxLanes = 64;

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
};

class Lx {
public:
  static Expected<Lx> create(uint64_t bytes);

  uint64_t bytes() const { return memory.bytes(); }
  uint8_t *at(int64_t address) { return memory.at(uint64_t(address)); }

  /// Every stick becomes "never written".
  void beginLaunch();
  /// Start of the lowest stick of \p access that was never written, if there is one.
  std::optional<int64_t> unwrittenStick(const Access &access) const;
  /// For writes of whole sticks.
  void markWritten(const Access &access);
  /// For writes of parts of sticks: what such a write leaves untouched in a fresh stick becomes a
  /// NaN pattern, so that it neither depends on earlier launches nor passes for data.
  void markElementsWritten(const Access &access);

private:
  explicit Lx(HostMemory memory);
  bool isWritten(int64_t stick) const { return shadow[size_t(stick)] == epoch; }
  void markElement(int64_t stick);

  HostMemory memory;
  std::vector<uint8_t> shadow;
  uint8_t epoch = 1;
};

} // namespace spyre::sim
