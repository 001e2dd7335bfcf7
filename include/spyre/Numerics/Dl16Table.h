//===- Dl16Table.h - a function of one DLFloat16 value as a table of all its results --------===//
//
// The transcendental functions cost about a nanosecond per element; looking the result up costs a
// third of it. The table is filled by the function itself (decode, function, encode), so the bits
// are the same.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::numerics {

class Dl16Table {
public:
  /// The array form of a function of Functions.h.
  using Function = void (*)(const float *in, float *out, int64_t count);

  explicit Dl16Table(Function function);
  /// DLFloat16 elements at any alignment; in == out is allowed, partial overlap is not.
  void apply(const void *in, void *out, int64_t count) const;

private:
  std::vector<uint16_t> results;
};

/// dl16Table<expF32>(): one table (128 KiB) per process and function, filled at the first use,
/// which takes about 0.1 ms. May be called from any thread.
template <Dl16Table::Function kFunction>
const Dl16Table &dl16Table() {
  static const Dl16Table table(kFunction);
  return table;
}

} // namespace spyre::numerics
