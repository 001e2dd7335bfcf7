//===- Transfer.cpp - walk the sticks of a plan and convert ---------------------------------===//
//
// Per stick: the host elements of its lanes are one run with one stride. Stride 1 converts straight
// from host memory; any other stride goes through a buffer of one stick.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/Transfer.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/ThreadPool.h"

#include "StridedCopy.h"
#include "TransferPlan.h"

#include <algorithm>
#include <cstring>

namespace spyre::layout {

using detail::copyStrided;
using detail::StickRun;
using detail::TransferPlan;
using numerics::HostType;

static constexpr int64_t kStickBytes = 128;
/// 128 elements of 8 bytes: no stick has more lanes, no host type is wider.
static constexpr size_t kBufferBytes = 128 * 8;
/// How many rows ahead host memory is asked for.
static constexpr int64_t kPrefetchRows = 8;
/// Sticks of one task: enough work to pay for handing it to a thread.
static constexpr int64_t kTaskSticks = 1024;

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

namespace {

/// The walk over all sticks that hold host elements. It is a flat count of units, so that threads
/// can share it: a unit is one position of the outer dimensions and one block of the row.
class StickWalk {
public:
  StickWalk(const TransferPlan &plan, const DeviceLayout &layout, const HostLanes &lanes,
            ThreadPool *pool)
      : plan(plan), lanes(lanes), pool(pool), stickStride(plan.loopExtent.size(), 1) {
    isEmpty = std::find(plan.loopExtent.begin(), plan.loopExtent.end(), 0) != plan.loopExtent.end();
    if (isEmpty) {
      return;
    }
    row = findRow(plan);
    size_t rank = plan.loopExtent.size();
    for (size_t i = rank; i-- > 1;) {
      stickStride[i - 1] = stickStride[i] * layout.deviceSize[i];
    }
    // A row is walked without its dimension in the odometer.
    counted = row.extent > 1 ? rank - 1 : rank;
    blockRows = pool != nullptr ? std::min(row.extent, kTaskSticks) : row.extent;
  }

  /// Calls body(stick index, run) for each stick, in device order within a task.
  template <typename Body>
  void run(const Body &body) const {
    if (isEmpty) {
      return;
    }
    // Below the number of sticks, which fits.
    int64_t units = ceilDiv(row.extent, blockRows);
    for (size_t i = 0; i < counted; ++i) {
      units *= plan.loopExtent[i];
    }
    int64_t unitsPerTask = std::max<int64_t>(1, kTaskSticks / blockRows);
    if (pool == nullptr || units <= unitsPerTask) {
      runUnits(0, units, body);
      return;
    }
    pool->parallelFor(size_t(ceilDiv(units, unitsPerTask)), [&](size_t task) {
      int64_t first = int64_t(task) * unitsPerTask;
      runUnits(first, std::min(units, first + unitsPerTask), body);
    });
  }

private:
  template <typename Body>
  void runUnits(int64_t first, int64_t last, const Body &body) const {
    int64_t blocks = ceilDiv(row.extent, blockRows);
    std::vector<int64_t> coordinates(plan.loopExtent.size(), 0);
    int64_t rest = first / blocks;
    for (size_t i = counted; i-- > 0 && rest > 0;) {
      coordinates[i] = rest % plan.loopExtent[i];
      rest /= plan.loopExtent[i];
    }
    int64_t block = first % blocks;
    for (int64_t unit = first; unit < last; ++unit) {
      runBlock(coordinates, block * blockRows, body);
      if (++block < blocks) {
        continue;
      }
      block = 0;
      for (size_t i = counted; i > 0 && ++coordinates[i - 1] == plan.loopExtent[i - 1];) {
        coordinates[--i] = 0;
      }
    }
  }

  template <typename Body>
  void runBlock(const std::vector<int64_t> &coordinates, int64_t firstRow, const Body &body) const {
    StickRun run;
    if (!plan.locate(coordinates, run)) {
      return;
    }
    int64_t stick = 0;
    for (size_t i = 0; i < coordinates.size(); ++i) {
      stick += coordinates[i] * stickStride[i];
    }
    run.hostOffset += firstRow * row.hostStride;
    int64_t endRow = std::min(row.extent, firstRow + blockRows);
    for (int64_t i = firstRow; i < endRow; ++i) {
      if (i + kPrefetchRows < row.extent) {
        lanes.prefetch(run.hostOffset + kPrefetchRows * row.hostStride);
      }
      body(stick + i, run);
      run.hostOffset += row.hostStride;
    }
  }

  const TransferPlan &plan;
  const HostLanes &lanes;
  ThreadPool *pool;
  Row row;
  std::vector<int64_t> stickStride;
  size_t counted = 0;
  int64_t blockRows = 1;
  bool isEmpty = false;
};

} // namespace

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
                    const DeviceLayout &layout, void *device, ThreadPool *pool) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planFor(host, matchStride, layout));
  auto *sticks = static_cast<char *>(device);
  bool noPadding = plan.hostElems == layout.sticks() * layout.elemsPerStick();
  if (!noPadding) {
    detail::zeroBytes(sticks, layout.bytes(), pool);
  }
  plan.spreadExpandedLane();
  HostLanes lanes(plan, host);
  StickWalk(plan, layout, lanes, pool).run([&](int64_t stick, const StickRun &run) {
    lanes.toStick(run, sticks + stick * kStickBytes);
  });
  return Status::success();
}

Status unpackFromDevice(const void *device, const DeviceLayout &layout,
                        const std::vector<int64_t> &matchStride, const HostTensorRef &host,
                        ThreadPool *pool) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planFor(host, matchStride, layout));
  for (size_t slot = 0; slot < plan.loopExtent.size(); ++slot) {
    if (plan.hostElems > 0 && plan.expanded[slot]) {
      plan.loopExtent[slot] = std::min<int64_t>(plan.loopExtent[slot], 1); // One copy is enough.
    }
  }
  const auto *sticks = static_cast<const char *>(device);
  HostLanes lanes(plan, host);
  // Host elements that share memory are written in order, by one thread.
  bool distinct = detail::reachesDistinctElements(host.size, host.stride);
  StickWalk(plan, layout, lanes, distinct ? pool : nullptr)
      .run([&](int64_t stick, const StickRun &run) {
        lanes.fromStick(sticks + stick * kStickBytes, run);
      });
  return Status::success();
}

} // namespace spyre::layout
