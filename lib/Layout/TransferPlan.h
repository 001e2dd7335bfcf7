//===- TransferPlan.h - which host element each device position holds -----------------------===//
//
// Each host dimension of size S is written in a mixed radix: a device dimension that belongs to it
// is a digit with a step, and
//
//     index = sum of coordinate * step,   sum of the lower digits < step of the next higher digit.
//
// The second condition makes the digits unique, so each host element has one device position, also
// where steps do not divide each other. Example: host [4800] as device [3, 2, 14, 64] with strides
// [120, 64, 360, 1] has the digits 1 (64 lanes), 64, 120, 360; lanes 56..63 of the second tile are
// padding, because 64 + 56 = 120 belongs to the next digit. [spec: device-and-layouts 4.2, 4.3]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"

namespace spyre::layout::detail {

struct Digit {
  /// Device dimension; the lane is the last one.
  size_t slot;
  int64_t step;
};

/// One host dimension in memory.
struct HostPart {
  int64_t size;
  int64_t stride;
};

/// A host dimension, or neighbours that the layout treats as one.
struct HostGroup {
  int64_t size = 1;
  /// By increasing step.
  std::vector<Digit> digits;
  /// Outermost first; the index of the group counts them in row-major order.
  std::vector<HostPart> parts;
  /// Host dimensions it stands for, outermost first.
  std::vector<size_t> dims;

  /// Element offset in host memory.
  int64_t hostOffset(int64_t index) const;
};

/// The host elements of one stick: lane i < count holds the element at index firstIndex + i * step
/// of the lane's group, with the other groups fixed.
struct StickRun {
  int64_t hostOffset = 0;
  int64_t count = 0;
  /// Index of lane 0 in the lane's group; only used when the group has several parts.
  int64_t laneIndex = 0;
};

/// The dimension next to the stick, apart from those of size 1. Where it is a host dimension of its
/// own, or the tile index of the lanes, its sticks differ by a constant host offset and need not be
/// located one by one.
struct Row {
  size_t slot = 0;
  /// Coordinates below this belong to the row; 0 when there is none.
  int64_t extent = 0;
  int64_t hostStride = 0;
};

struct TransferPlan {
  static constexpr size_t kNone = SIZE_MAX;

  std::vector<HostGroup> groups;
  /// How far to count each outer device dimension; the rest is padding.
  std::vector<int64_t> loopExtent;
  /// Device dimensions with stride 0: every coordinate holds the same element.
  std::vector<bool> expanded;
  int64_t elemsPerStick = 0;
  /// Group whose digit is the lane, and the lane's step in it; kNone when only lane 0 is used.
  size_t laneGroup = kNone;
  int64_t laneStep = 0;
  /// Host elements, the product of all sizes.
  int64_t hostElems = 1;

  /// For packing: when the lane is an expansion, one element fills the whole stick.
  void spreadExpandedLane();
  /// Elements between neighbouring lanes in host memory; false when it is not one number.
  bool laneStride(int64_t &stride) const;
  Row row(const DeviceLayout &layout) const;
  /// Elements of the stick at \p coordinates (outer dimensions); false when it holds none.
  bool locate(const std::vector<int64_t> &coordinates, StickRun &run) const;
};

/// True when it is certain that no two indices reach the same element: then the elements may be
/// written by several threads.
bool reachesDistinctElements(const std::vector<int64_t> &size, const std::vector<int64_t> &stride);

/// Error: E2009 (the layout does not hold each element of such a tensor).
Expected<TransferPlan> planTransfer(const DeviceLayout &layout, const std::vector<int64_t> &size,
                                    const std::vector<int64_t> &matchStride,
                                    const std::vector<int64_t> &hostStride);

} // namespace spyre::layout::detail
