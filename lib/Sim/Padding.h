//===- Padding.h - padding masks of sticks, lanes and accumulators --------------------------===//
//
// A stick's mask has one bit per two bytes. Units work on lanes: in 16-bit formats a lane is a bit,
// in 32-bit formats two. An accumulator has 32-bit lanes, 32 to a stick.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Shadow.h"

namespace spyre::sim {

/// Bits 0..count-1.
inline uint64_t lowBits(int64_t count) {
  return count >= 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
}

/// One bit per 32-bit lane from two per lane: a lane with any padding is padding.
inline uint64_t pairsToLanes(uint64_t mask) {
  if (mask == 0) {
    return 0;
  }
  uint64_t lanes = 0;
  for (int i = 0; i < 32; ++i) {
    lanes |= uint64_t((mask >> (2 * i) & 3) != 0) << i;
  }
  return lanes;
}

inline uint64_t lanesToPairs(uint64_t lanes) {
  uint64_t mask = 0;
  for (int i = 0; lanes != 0 && i < 32; ++i) {
    mask |= (lanes >> i & 1) * (uint64_t(3) << (2 * i));
  }
  return mask;
}

/// Lane mask of a stick of a format with \p lanes lanes (64 or 32).
inline uint64_t laneMask(uint64_t mask, int64_t lanes) {
  return lanes == 64 ? mask : pairsToLanes(mask);
}
inline uint64_t stickMask(uint64_t lanesMask, int64_t lanes) {
  return lanes == 64 ? lanesMask : lanesToPairs(lanesMask);
}

/// The accumulator of \p lanes lanes at \p address, one bit per lane.
inline uint64_t accumulatorMask(const Shadow &shadow, int64_t address, int64_t lanes) {
  uint64_t mask = pairsToLanes(shadow.paddingAt(address));
  return lanes == 64 ? mask | pairsToLanes(shadow.paddingAt(address + kStickBytes)) << 32 : mask;
}
inline void setAccumulatorMask(Shadow &shadow, int64_t address, int64_t lanes, uint64_t mask) {
  *shadow.padding(address) = lanesToPairs(mask & lowBits(32));
  if (lanes == 64) {
    *shadow.padding(address + kStickBytes) = lanesToPairs(mask >> 32);
  }
}

} // namespace spyre::sim
