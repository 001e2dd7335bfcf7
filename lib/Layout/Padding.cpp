//===- Padding.cpp - padding masks from the digits of a plan --------------------------------===//
//
// The lanes in use are the first ones of a stick, and their number only depends on the coordinates
// that share a host dimension with others. Along every other device dimension the masks repeat, and
// along the tile index they repeat up to the last tile; so they are made once and copied.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/Padding.h"

#include "spyre/Base/Math.h"

#include "TransferPlan.h"

#include <algorithm>

namespace spyre::layout {

using detail::Digit;
using detail::HostGroup;
using detail::StickRun;
using detail::TransferPlan;
using Masks = std::vector<uint64_t>;

static constexpr uint64_t kAllPadding = ~uint64_t(0);
static constexpr int64_t kHalfWords = 64;

namespace {

class MaskBuilder {
public:
  MaskBuilder(const TransferPlan &plan, const DeviceLayout &layout)
      : plan(plan), coordinates(plan.loopExtent.size(), 0), sticks(coordinates.size(), 1),
        alike(coordinates.size(), 1) {
    for (size_t i = sticks.size(); i-- > 1;) {
      sticks[i - 1] = sticks[i] * layout.deviceSize[i];
    }
    for (size_t slot = 0; slot < alike.size(); ++slot) {
      alike[slot] = plan.expanded[slot] ? plan.loopExtent[slot] : 1;
    }
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      const HostGroup &group = plan.groups[g];
      if (group.digits.empty() || group.digits.back().slot == alike.size()) {
        continue;
      }
      const Digit &top = group.digits.back();
      bool isTile =
          g == plan.laneGroup && group.digits.size() == 2 && top.step == plan.elemsPerStick;
      if (isTile || group.digits.size() == 1) {
        alike[top.slot] = std::max<int64_t>(group.size / top.step, 1);
      }
    }
  }

  /// Fills the masks of dimension \p slot and those inside it; \p masks are all padding before.
  void fill(size_t slot, uint64_t *masks) {
    if (slot == coordinates.size()) {
      *masks = maskHere();
      return;
    }
    const int64_t step = sticks[slot];
    for (int64_t i = 0; i < plan.loopExtent[slot]; i = i == 0 ? alike[slot] : i + 1) {
      coordinates[slot] = i;
      fill(slot + 1, masks + i * step);
    }
    if (step == 1) {
      std::fill(masks + 1, masks + alike[slot], *masks);
      return;
    }
    for (int64_t i = 1; i < alike[slot]; ++i) {
      std::copy_n(masks, step, masks + i * step);
    }
  }

private:
  uint64_t maskHere() const {
    StickRun run;
    int64_t count = plan.locate(coordinates, run) ? run.count : 0;
    int64_t used = ceilDiv(count * kHalfWords, plan.elemsPerStick);
    return used < kHalfWords ? kAllPadding << used : 0;
  }

  const TransferPlan &plan;
  std::vector<int64_t> coordinates;
  /// Sticks of one step along each outer dimension.
  std::vector<int64_t> sticks;
  /// How many first coordinates of each outer dimension have the same masks.
  std::vector<int64_t> alike;
};

} // namespace

/// Every device position holds a host element.
static bool isFull(const TransferPlan &plan, const DeviceLayout &layout) {
  int64_t filled = plan.hostElems;
  for (size_t slot = 0; slot < plan.loopExtent.size(); ++slot) {
    if (plan.expanded[slot]) {
      filled *= layout.deviceSize[slot]; // At most the positions of the layout.
    }
  }
  if (plan.expanded.back()) {
    filled *= plan.elemsPerStick;
  }
  return filled == layout.sticks() * plan.elemsPerStick;
}

Expected<Masks> stickPadding(const DeviceLayout &layout, const std::vector<int64_t> &hostSize,
                             const std::vector<int64_t> &matchStride) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan,
                         detail::planTransfer(layout, hostSize, matchStride, matchStride));
  if (plan.hostElems == 0) {
    return Masks(size_t(layout.sticks()), kAllPadding);
  }
  if (isFull(plan, layout)) {
    return Masks();
  }
  plan.spreadExpandedLane();
  Masks masks(size_t(layout.sticks()), kAllPadding);
  MaskBuilder(plan, layout).fill(0, masks.data());
  // Less than a half-word is no padding that can be told apart.
  if (std::all_of(masks.begin(), masks.end(), [](uint64_t mask) { return mask == 0; })) {
    masks.clear();
  }
  return masks;
}

} // namespace spyre::layout
