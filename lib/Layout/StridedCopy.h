//===- StridedCopy.h - gather and scatter of elements of any width --------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <cstring>

namespace spyre::layout::detail {

/// memcpy of a constant size: one move, for any type and alignment of host memory.
template <int64_t kBytes>
void copyStrided(const char *from, int64_t fromStride, char *to, int64_t toStride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * toStride * kBytes, from + i * fromStride * kBytes, kBytes);
  }
}

/// Strides in elements of \p bytes bytes.
inline void copyStrided(int64_t bytes, const char *from, int64_t fromStride, char *to,
                        int64_t toStride, int64_t count) {
  switch (bytes) {
  case 1:
    return copyStrided<1>(from, fromStride, to, toStride, count);
  case 2:
    return copyStrided<2>(from, fromStride, to, toStride, count);
  case 4:
    return copyStrided<4>(from, fromStride, to, toStride, count);
  case 8:
    return copyStrided<8>(from, fromStride, to, toStride, count);
  default:
    SPYRE_CHECK(false, "elements have 1, 2, 4 or 8 bytes");
  }
}

/// to[column * toPitch + row] = from[row * fromPitch + column]. Both sides should be in the cache.
template <int64_t kBytes>
void transpose(const char *from, int64_t fromPitch, char *to, int64_t toPitch, int64_t rows,
               int64_t columns) {
  for (int64_t column = 0; column < columns; ++column) {
    const char *in = from + column * kBytes;
    char *out = to + column * toPitch * kBytes;
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(out + row * kBytes, in + row * fromPitch * kBytes, kBytes);
    }
  }
}

inline void transpose(int64_t bytes, const char *from, int64_t fromPitch, char *to, int64_t toPitch,
                      int64_t rows, int64_t columns) {
  switch (bytes) {
  case 1:
    return transpose<1>(from, fromPitch, to, toPitch, rows, columns);
  case 2:
    return transpose<2>(from, fromPitch, to, toPitch, rows, columns);
  case 4:
    return transpose<4>(from, fromPitch, to, toPitch, rows, columns);
  case 8:
    return transpose<8>(from, fromPitch, to, toPitch, rows, columns);
  default:
    SPYRE_CHECK(false, "elements have 1, 2, 4 or 8 bytes");
  }
}

} // namespace spyre::layout::detail
