//===- TransferPlan.cpp - assign device dimensions to host dimensions -----------------------===//
#include "TransferPlan.h"

#include "spyre/Base/Math.h"

#include "LayoutBuilder.h"
#include "fmt/ranges.h"

#include <algorithm>

namespace spyre::layout::detail {

//===--------------------------------------------------------------------------------------------===//
// Using a plan
//===--------------------------------------------------------------------------------------------===//

int64_t HostGroup::hostOffset(int64_t index) const {
  if (parts.size() == 1) {
    return index * parts[0].stride;
  }
  int64_t offset = 0;
  for (size_t i = parts.size(); i-- > 0;) {
    offset += index % parts[i].size * parts[i].stride;
    index /= parts[i].size;
  }
  return offset;
}

void TransferPlan::spreadExpandedLane() {
  if (hostElems == 0 || laneGroup != kNone || !expanded.back()) {
    return;
  }
  // A host dimension of stride 0 that no outer digit counts.
  laneGroup = groups.size();
  laneStep = 1;
  groups.push_back({elemsPerStick, {}, {{elemsPerStick, 0}}, {}});
}

bool TransferPlan::laneStride(int64_t &stride) const {
  stride = 0;
  if (laneGroup == kNone) {
    return true;
  }
  const HostGroup &group = groups[laneGroup];
  stride = laneStep * group.parts.back().stride;
  return group.parts.size() == 1;
}

Row TransferPlan::row(const DeviceLayout &layout) const {
  size_t slot = loopExtent.size();
  while (slot > 0 && layout.deviceSize[slot - 1] == 1) {
    --slot;
  }
  if (hostElems == 0 || slot-- == 0) {
    return {};
  }
  if (expanded[slot]) {
    return {slot, loopExtent[slot], 0};
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    const HostGroup &group = groups[g];
    if (group.parts.size() != 1 || group.digits.empty() || group.digits.back().slot != slot) {
      continue;
    }
    const Digit &top = group.digits.back();
    bool isTile = g == laneGroup && group.digits.size() == 2 && top.step == elemsPerStick;
    if (isTile || group.digits.size() == 1) {
      // A last tile that is not full is no part of the row.
      return {slot, group.size / top.step, top.step * group.parts[0].stride};
    }
  }
  return {};
}

bool TransferPlan::locate(const std::vector<int64_t> &coordinates, StickRun &run) const {
  run = {0, laneGroup == kNone ? 1 : elemsPerStick, 0};
  if (hostElems == 0) {
    return false;
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    const HostGroup &group = groups[g];
    int64_t index = 0;
    bool laneSeen = false;
    for (size_t k = 0; k < group.digits.size(); ++k) {
      const Digit &digit = group.digits[k];
      if (digit.slot == coordinates.size()) {
        laneSeen = true;
      } else {
        index += coordinates[digit.slot] * digit.step;
      }
      int64_t bound = k + 1 < group.digits.size() ? group.digits[k + 1].step : group.size;
      if (index >= bound) {
        return false;
      }
      if (laneSeen) {
        run.count = std::min(run.count, ceilDiv(bound - index, laneStep));
      }
    }
    run.hostOffset += group.hostOffset(index);
    if (g == laneGroup) {
      run.laneIndex = index;
    }
  }
  return true;
}

//===--------------------------------------------------------------------------------------------===//
// Making a plan
//===--------------------------------------------------------------------------------------------===//

/// Sorts the digits and checks that they reach every index of every group.
static bool completeGroups(const DeviceLayout &layout, std::vector<HostGroup> &groups) {
  size_t lane = layout.deviceSize.size() - 1;
  for (HostGroup &group : groups) {
    if (group.size <= 1) {
      group.digits.clear();
      continue;
    }
    // Among equal steps the lane is the lowest: one element per stick, as in a sparse layout.
    std::sort(group.digits.begin(), group.digits.end(), [&](const Digit &a, const Digit &b) {
      auto key = [&](const Digit &digit) {
        return std::pair(digit.step, digit.slot == lane ? 0 : digit.slot + 1);
      };
      return key(a) < key(b);
    });
    if (group.digits.empty() || group.digits[0].step != 1) {
      return false;
    }
    for (size_t k = 0; k < group.digits.size(); ++k) {
      const Digit &digit = group.digits[k];
      bool isTop = k + 1 == group.digits.size();
      int64_t bound = isTop ? group.size : std::min(group.size, group.digits[k + 1].step);
      if ((bound - 1) / digit.step >= layout.deviceSize[digit.slot]) {
        return false;
      }
    }
  }
  return true;
}

/// Groups of a layout that make() built: exact for any strides, also overlapping and zero ones.
static bool assignByDimOrder(const DeviceLayout &layout, const std::vector<int64_t> &size,
                             const std::vector<int64_t> &matchStride,
                             std::vector<HostGroup> &groups) {
  Expected<std::vector<int64_t>> order = layout.recoverDimOrder(size, matchStride);
  if (!order.ok()) {
    return false;
  }
  size_t lane = layout.deviceSize.size() - 1;
  for (size_t i = 0; i < order->size(); ++i) {
    int64_t dim = (*order)[i];
    if (dim == -1) {
      continue;
    }
    bool isStick = i + 1 == order->size();
    if (isStick) {
      groups[size_t(dim)].digits.push_back({lane, 1});
    }
    groups[size_t(dim)].digits.push_back(
        {slotOfEntry(i, order->size()), isStick ? layout.elemsPerStick() : 1});
  }
  return completeGroups(layout, groups);
}

/// A device dimension belongs to the group with the largest stride not above its own.
static bool assignByStride(const DeviceLayout &layout, const std::vector<int64_t> &groupStride,
                           std::vector<HostGroup> &groups) {
  for (size_t slot = 0; slot < layout.deviceSize.size(); ++slot) {
    int64_t stride = layout.strideMap[slot];
    if (layout.deviceSize[slot] <= 1 || stride <= 0) {
      continue;
    }
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].size > 1 && groupStride[g] > 0 && groupStride[g] <= stride &&
          (best == SIZE_MAX || groupStride[g] > groupStride[best])) {
        best = g;
      }
    }
    if (best == SIZE_MAX) {
      continue; // Coordinate 0 only; if an element needed this dimension, completeGroups sees it.
    }
    if (stride % groupStride[best] != 0) {
      return false;
    }
    groups[best].digits.push_back({slot, stride / groupStride[best]});
  }
  return completeGroups(layout, groups);
}

/// One group per run of dimensions that lie densely inside each other, by the matching strides.
static std::vector<HostGroup> foldGroups(const std::vector<int64_t> &size,
                                         const std::vector<int64_t> &matchStride,
                                         const std::vector<int64_t> &hostStride,
                                         std::vector<int64_t> &groupStride) {
  std::vector<size_t> dims;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] != 1) {
      dims.push_back(i);
    }
  }
  std::sort(dims.begin(), dims.end(), [&](size_t a, size_t b) {
    return matchStride[a] != matchStride[b] ? matchStride[a] > matchStride[b] : a < b;
  });
  std::vector<HostGroup> groups;
  groupStride.clear();
  for (size_t dim : dims) {
    int64_t inner = 0;
    bool dense = !groups.empty() && !__builtin_mul_overflow(matchStride[dim], size[dim], &inner) &&
                 groupStride.back() == inner;
    if (!dense) {
      groups.emplace_back();
      groupStride.push_back(0);
    }
    HostGroup &group = groups.back();
    groupStride.back() = matchStride[dim];
    group.size *= size[dim];
    group.dims.push_back(dim);
    if (!group.parts.empty() && group.parts.back().stride == hostStride[dim] * size[dim]) {
      group.parts.back() = {group.parts.back().size * size[dim], hostStride[dim]};
    } else {
      group.parts.push_back({size[dim], hostStride[dim]});
    }
  }
  return groups;
}

static std::vector<HostGroup> plainGroups(const std::vector<int64_t> &size,
                                          const std::vector<int64_t> &hostStride) {
  std::vector<HostGroup> groups(size.size());
  for (size_t i = 0; i < size.size(); ++i) {
    groups[i].size = size[i];
    groups[i].parts = {{size[i], hostStride[i]}};
    groups[i].dims = {i};
  }
  return groups;
}

static bool assignGroups(const DeviceLayout &layout, const std::vector<int64_t> &size,
                         const std::vector<int64_t> &matchStride,
                         const std::vector<int64_t> &hostStride, std::vector<HostGroup> &groups) {
  groups = plainGroups(size, hostStride);
  if (assignByDimOrder(layout, size, matchStride, groups)) {
    return true;
  }
  groups = plainGroups(size, hostStride);
  if (assignByStride(layout, matchStride, groups)) {
    return true;
  }
  std::vector<int64_t> groupStride;
  groups = foldGroups(size, matchStride, hostStride, groupStride);
  return assignByStride(layout, groupStride, groups);
}

/// What the walk over sticks needs, once the digits are known.
static void finishPlan(const DeviceLayout &layout, TransferPlan &plan) {
  size_t lane = layout.deviceSize.size() - 1;
  plan.elemsPerStick = layout.elemsPerStick();
  plan.loopExtent.assign(lane, 1);
  plan.expanded.assign(lane + 1, false);
  for (size_t slot = 0; slot <= lane; ++slot) {
    plan.expanded[slot] = layout.strideMap[slot] == 0;
    if (slot < lane && plan.expanded[slot]) {
      plan.loopExtent[slot] = layout.deviceSize[slot];
    }
  }
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const HostGroup &group = plan.groups[g];
    for (const Digit &digit : group.digits) {
      plan.expanded[digit.slot] = false; // A host dimension of stride 0 still has its own elements.
      if (digit.slot == lane) {
        plan.laneGroup = g;
        plan.laneStep = digit.step;
      } else {
        plan.loopExtent[digit.slot] =
            std::min(layout.deviceSize[digit.slot], ceilDiv(group.size, digit.step));
      }
    }
  }
}

static Status mismatch(const DeviceLayout &layout, const std::vector<int64_t> &size,
                       const std::vector<int64_t> &matchStride, const std::string &why) {
  return error<2009>("Invalid device sizes and stride map for host sizes and strides: {} does not "
                     "describe size [{}], stride [{}]: {}; build the layout from that size and "
                     "stride",
                     layout.toString(), fmt::join(size, ", "), fmt::join(matchStride, ", "), why);
}

static bool soundShape(const std::vector<int64_t> &size, const std::vector<int64_t> &matchStride,
                       const std::vector<int64_t> &hostStride) {
  bool sound = size.size() == matchStride.size() && size.size() == hostStride.size();
  for (size_t i = 0; sound && i < size.size(); ++i) {
    sound = size[i] >= 0 && size[i] < kMaxDeviceBytes && matchStride[i] >= 0;
  }
  // The strides of the memory itself must reach each element within 64 bits.
  int64_t elems = 1;
  int64_t reach = 0;
  for (size_t i = 0; sound && i < size.size(); ++i) {
    int64_t extent = 0;
    sound = (size[i] == 0 || !__builtin_mul_overflow(elems, size[i], &elems)) &&
            !__builtin_mul_overflow(hostStride[i], size[i], &extent) && extent != INT64_MIN &&
            !__builtin_add_overflow(reach, extent < 0 ? -extent : extent, &reach);
  }
  return sound;
}

bool reachesDistinctElements(const std::vector<int64_t> &size, const std::vector<int64_t> &stride) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] > 1) {
      dims.emplace_back(stride[i] < 0 ? -stride[i] : stride[i], size[i]);
    }
  }
  std::sort(dims.begin(), dims.end());
  // Each dimension must step over all that the smaller ones reach.
  int64_t reach = 0;
  for (auto [step, extent] : dims) {
    int64_t span = 0;
    if (step <= reach || __builtin_mul_overflow(step, extent - 1, &span) ||
        __builtin_add_overflow(reach, span, &reach)) {
      return false;
    }
  }
  return true;
}

Expected<TransferPlan> planTransfer(const DeviceLayout &layout, const std::vector<int64_t> &size,
                                    const std::vector<int64_t> &matchStride,
                                    const std::vector<int64_t> &hostStride) {
  if (Status status = layout.verify(); !status.ok()) {
    return mismatch(layout, size, matchStride, status.text());
  }
  if (layout.arrangement != ElementArrangement::Standard) {
    return mismatch(layout, size, matchStride,
                    "elements are interleaved inside sticks, convert the tensor on the device");
  }
  if (!soundShape(size, matchStride, hostStride)) {
    return mismatch(layout, size, matchStride, "sizes and strides differ in number or overflow");
  }
  TransferPlan plan;
  for (int64_t extent : size) {
    plan.hostElems *= extent;
  }
  if (plan.hostElems == 0) {
    plan.loopExtent.assign(layout.deviceSize.size() - 1, 0);
    return plan;
  }
  if (layout.sticks() == 0 || !assignGroups(layout, size, matchStride, hostStride, plan.groups)) {
    return mismatch(layout, size, matchStride, "some elements have no place");
  }
  finishPlan(layout, plan);
  return plan;
}

} // namespace spyre::layout::detail
