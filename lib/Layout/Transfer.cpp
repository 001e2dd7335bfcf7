//===- Transfer.cpp - walk the sticks of a plan and convert ---------------------------------===//
//
// Per stick: the host elements of its lanes are one run with one stride. Stride 1 converts straight
// from host memory; any other stride goes through a buffer of one stick.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/Transfer.h"

#include "TransferPlan.h"

#include <algorithm>
#include <cstring>

namespace spyre::layout {

using detail::StickRun;
using detail::TransferPlan;
using numerics::HostType;

static constexpr int64_t kStickBytes = 128;
/// 128 elements of 8 bytes: no stick has more lanes, no host type is wider.
static constexpr size_t kBufferBytes = 128 * 8;
/// How many rows ahead host memory is asked for.
static constexpr int64_t kPrefetchRows = 8;

/// memcpy of a constant size: one move, for any type and alignment of host memory.
template <int64_t kBytes>
static void copyStrided(const char *from, int64_t fromStride, char *to, int64_t toStride,
                        int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * toStride * kBytes, from + i * fromStride * kBytes, kBytes);
  }
}

/// Strides in elements of \p bytes bytes.
static void copyStrided(int64_t bytes, const char *from, int64_t fromStride, char *to,
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
    SPYRE_CHECK(false, "host types have 1, 2, 4 or 8 bytes");
  }
}

namespace {

/// The host side of a transfer: gathers the elements of a stick, or scatters them.
class HostLanes {
public:
  HostLanes(const TransferPlan &plan, const HostTensorRef &host)
      : plan(plan), base(static_cast<char *>(host.data)), type(host.type),
        elementBytes(numerics::hostTypeBytes(host.type)) {
    uniform = plan.laneStride(laneStride);
  }

  void toStick(const StickRun &run, char *stick) const {
    if (uniform && (laneStride == 1 || run.count == 1)) {
      numerics::convertHostToDevice(type, at(run.hostOffset), stick, run.count);
      return;
    }
    alignas(64) char buffer[kBufferBytes];
    if (uniform) {
      copyStrided(elementBytes, at(run.hostOffset), laneStride, buffer, 1, run.count);
    } else {
      for (int64_t i = 0; i < run.count; ++i) {
        std::memcpy(buffer + i * elementBytes, at(laneOffset(run, i)), size_t(elementBytes));
      }
    }
    numerics::convertHostToDevice(type, buffer, stick, run.count);
  }

  /// Rows lie far apart in host memory, where the hardware does not foresee them.
  void prefetch(int64_t hostOffset) const {
    const char *line = at(hostOffset);
    __builtin_prefetch(line);
    __builtin_prefetch(line + 64);
  }

  void fromStick(const char *stick, const StickRun &run) const {
    if (uniform && (laneStride == 1 || run.count == 1)) {
      numerics::convertDeviceToHost(type, stick, at(run.hostOffset), run.count);
      return;
    }
    alignas(64) char buffer[kBufferBytes];
    numerics::convertDeviceToHost(type, stick, buffer, run.count);
    if (uniform) {
      copyStrided(elementBytes, buffer, 1, at(run.hostOffset), laneStride, run.count);
      return;
    }
    for (int64_t i = 0; i < run.count; ++i) {
      std::memcpy(at(laneOffset(run, i)), buffer + i * elementBytes, size_t(elementBytes));
    }
  }

private:
  char *at(int64_t offset) const { return base + offset * elementBytes; }

  /// Folded dimensions: each lane finds its own place.
  int64_t laneOffset(const StickRun &run, int64_t lane) const {
    const detail::HostGroup &group = plan.groups[plan.laneGroup];
    return run.hostOffset - group.hostOffset(run.laneIndex) +
           group.hostOffset(run.laneIndex + lane * plan.laneStep);
  }

  const TransferPlan &plan;
  char *base;
  HostType type;
  int64_t elementBytes;
  int64_t laneStride = 0;
  bool uniform = false;
};

/// The dimension next to the stick, when it is a host dimension of its own: its sticks then differ
/// by a constant host offset and need not be located one by one.
struct Row {
  int64_t extent = 1;
  int64_t hostStride = 0;
};

} // namespace

static Row findRow(const TransferPlan &plan) {
  if (plan.loopExtent.empty()) {
    return {};
  }
  size_t slot = plan.loopExtent.size() - 1;
  if (plan.expanded[slot]) {
    return {plan.loopExtent[slot], 0};
  }
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const detail::HostGroup &group = plan.groups[g];
    if (group.digits.size() == 1 && group.digits[0].slot == slot && group.parts.size() == 1) {
      return {plan.loopExtent[slot], group.parts[0].stride};
    }
  }
  return {};
}

/// Calls body(stick index, run) for each stick that holds host elements, in device order.
template <typename Body>
static void forEachStick(const TransferPlan &plan, const DeviceLayout &layout,
                         const HostLanes &lanes, const Body &body) {
  size_t rank = plan.loopExtent.size();
  if (std::find(plan.loopExtent.begin(), plan.loopExtent.end(), 0) != plan.loopExtent.end()) {
    return;
  }
  std::vector<int64_t> stickStride(rank, 1);
  for (size_t i = rank; i-- > 1;) {
    stickStride[i - 1] = stickStride[i] * layout.deviceSize[i];
  }
  Row row = findRow(plan);
  // A row is walked here, without its dimension in the odometer.
  size_t counted = row.extent > 1 ? rank - 1 : rank;
  std::vector<int64_t> coordinates(rank, 0);
  while (true) {
    StickRun run;
    if (plan.locate(coordinates, run)) {
      int64_t stick = 0;
      for (size_t i = 0; i < rank; ++i) {
        stick += coordinates[i] * stickStride[i];
      }
      for (int64_t i = 0; i < row.extent; ++i) {
        if (i + kPrefetchRows < row.extent) {
          lanes.prefetch(run.hostOffset + kPrefetchRows * row.hostStride);
        }
        body(stick + i, run);
        run.hostOffset += row.hostStride;
      }
    }
    size_t i = counted;
    while (i > 0 && ++coordinates[i - 1] == plan.loopExtent[i - 1]) {
      coordinates[--i] = 0;
    }
    if (i == 0) {
      return;
    }
  }
}

static Expected<TransferPlan> planFor(const HostTensorRef &host,
                                      const std::vector<int64_t> &matchStride,
                                      const DeviceLayout &layout) {
  if (numerics::deviceFormat(host.type) != layout.format) {
    return error<2009>("a {} tensor is {} on the device, the layout says {}; build the layout for "
                       "that type",
                       numerics::hostTypeName(host.type),
                       numerics::formatName(numerics::deviceFormat(host.type)),
                       numerics::formatName(layout.format));
  }
  return detail::planTransfer(layout, host.size, matchStride, host.stride);
}

Status packToDevice(const HostTensorRef &host, const std::vector<int64_t> &matchStride,
                    const DeviceLayout &layout, void *device) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planFor(host, matchStride, layout));
  auto *sticks = static_cast<char *>(device);
  bool noPadding = plan.hostElems == layout.sticks() * layout.elemsPerStick();
  if (!noPadding && layout.bytes() > 0) {
    std::memset(sticks, 0, size_t(layout.bytes()));
  }
  plan.spreadExpandedLane();
  HostLanes lanes(plan, host);
  forEachStick(plan, layout, lanes, [&](int64_t stick, const StickRun &run) {
    lanes.toStick(run, sticks + stick * kStickBytes);
  });
  return Status::success();
}

Status unpackFromDevice(const void *device, const DeviceLayout &layout,
                        const std::vector<int64_t> &matchStride, const HostTensorRef &host) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planFor(host, matchStride, layout));
  for (size_t slot = 0; slot < plan.loopExtent.size(); ++slot) {
    if (plan.hostElems > 0 && plan.expanded[slot]) {
      plan.loopExtent[slot] = std::min<int64_t>(plan.loopExtent[slot], 1); // One copy is enough.
    }
  }
  const auto *sticks = static_cast<const char *>(device);
  HostLanes lanes(plan, host);
  forEachStick(plan, layout, lanes, [&](int64_t stick, const StickRun &run) {
    lanes.fromStick(sticks + stick * kStickBytes, run);
  });
  return Status::success();
}

} // namespace spyre::layout
