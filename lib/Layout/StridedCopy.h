//===- StridedCopy.h - gather and scatter of elements of any width --------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <cstring>

namespace spyre {
class ThreadPool;
}

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

/// Large areas are shared among the threads of \p pool, which may be null.
void zeroBytes(void *data, int64_t bytes, ThreadPool *pool);

} // namespace spyre::layout::detail
