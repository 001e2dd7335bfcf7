//===- Prefetcher.h - host memory of the next loads, fetched while units compute ------------===//
//
// A load inside a loop will read a known place in the next round. Its cache lines are asked for a
// few at a time between batches of arithmetic, so that the host's memory works while its core
// computes. Results do not depend on it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spyre::sim {

class Prefetcher {
public:
  void clear() { count = next = 0; }
  /// [begin, begin + bytes) will be read soon. Forgotten when too much is waiting.
  void expect(const uint8_t *begin, int64_t bytes) {
    if (next == count) {
      clear();
    }
    if (count < ranges.size()) {
      ranges[count++] = {begin, begin + bytes};
    }
  }
  /// Asks for the next \p lines lines.
  void advance(int64_t lines) {
    for (; next < count && lines > 0; --lines) {
      Range &range = ranges[next];
      __builtin_prefetch(range.begin, 0, 2);
      range.begin += kLineBytes;
      next += range.begin >= range.end;
    }
  }

private:
  static constexpr int64_t kLineBytes = 64;
  struct Range {
    const uint8_t *begin, *end;
  };
  std::array<Range, 64> ranges;
  size_t count = 0, next = 0;
};

} // namespace spyre::sim
