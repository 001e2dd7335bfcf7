//===- StreamCopy.cpp - streaming stores of x86, memcpy elsewhere ---------------------------===//
#include "StreamCopy.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace spyre::sim {

#if defined(__SSE2__)

void streamCopy(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  constexpr uint64_t kLineBytes = 64;
  if (reinterpret_cast<uintptr_t>(to) % kLineBytes != 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint64_t whole = bytes / kLineBytes * kLineBytes;
  for (uint64_t line = 0; line < whole; line += kLineBytes) {
    const auto *source = reinterpret_cast<const __m128i *>(from + line);
    auto *target = reinterpret_cast<__m128i *>(to + line);
    __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1),
            c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to + whole, from + whole, bytes - whole);
}

void endStream() { _mm_sfence(); }

#else

void streamCopy(uint8_t *to, const uint8_t *from, uint64_t bytes) { std::memcpy(to, from, bytes); }

void endStream() {}

#endif

} // namespace spyre::sim
