//===- Coordinates.cpp - digits of a plan, read in both directions --------------------------===//
#include "spyre/Layout/Coordinates.h"

#include "TransferPlan.h"
#include "fmt/ranges.h"

namespace spyre::layout {

using detail::Digit;
using detail::HostGroup;
using detail::TransferPlan;
using Ints = std::vector<int64_t>;

static constexpr int64_t kStickBytes = 128;

static bool isInside(const DeviceLayout &layout, const Ints &coordinates) {
  bool inside = coordinates.size() == layout.deviceSize.size();
  for (size_t i = 0; inside && i < coordinates.size(); ++i) {
    inside = coordinates[i] >= 0 && coordinates[i] < layout.deviceSize[i];
  }
  return inside;
}

Expected<CoordinateMap> CoordinateMap::make(const DeviceLayout &layout, const Ints &hostSize,
                                            const Ints &hostStride) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan,
                         detail::planTransfer(layout, hostSize, hostStride, hostStride));
  CoordinateMap map;
  map.deviceLayout = layout;
  map.hostSize = hostSize;
  plan.spreadExpandedLane();
  map.plan = std::make_shared<const TransferPlan>(std::move(plan));
  return map;
}

std::optional<int64_t> CoordinateMap::hostOffsetOf(const Ints &coordinates) const {
  if (!isInside(deviceLayout, coordinates)) {
    return std::nullopt;
  }
  Ints outer(coordinates.begin(), coordinates.end() - 1);
  for (size_t slot = 0; slot < outer.size(); ++slot) {
    if (outer[slot] >= plan->loopExtent[slot]) {
      return std::nullopt;
    }
  }
  int64_t lane = coordinates.back();
  detail::StickRun run;
  if (plan->hostElems == 0 || !plan->locate(outer, run) || lane >= run.count) {
    return std::nullopt;
  }
  if (plan->laneGroup == TransferPlan::kNone) {
    return run.hostOffset;
  }
  const HostGroup &group = plan->groups[plan->laneGroup];
  return run.hostOffset - group.hostOffset(run.laneIndex) +
         group.hostOffset(run.laneIndex + lane * plan->laneStep);
}

Expected<Ints> CoordinateMap::deviceCoordinatesOf(const Ints &hostIndex) const {
  bool exists = hostIndex.size() == hostSize.size();
  for (size_t i = 0; exists && i < hostIndex.size(); ++i) {
    exists = hostIndex[i] >= 0 && hostIndex[i] < hostSize[i];
  }
  if (!exists || plan->hostElems == 0) {
    return error<2017>("[{}] is no element of a tensor of size [{}]; give one index below the size "
                       "per dimension",
                       fmt::join(hostIndex, ", "), fmt::join(hostSize, ", "));
  }
  Ints coordinates(deviceLayout.deviceSize.size(), 0);
  for (const HostGroup &group : plan->groups) {
    int64_t index = 0;
    for (size_t dim : group.dims) {
      index = index * hostSize[dim] + hostIndex[dim];
    }
    for (size_t k = group.digits.size(); k-- > 0;) {
      const Digit &digit = group.digits[k];
      coordinates[digit.slot] = index / digit.step;
      index %= digit.step;
    }
  }
  return coordinates;
}

std::optional<int64_t> hostOffsetOf(const DeviceLayout &layout, const Ints &coordinates) {
  if (layout.strideMap.size() != layout.deviceSize.size() || !isInside(layout, coordinates)) {
    return std::nullopt;
  }
  int64_t offset = 0;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    int64_t stride = layout.strideMap[i];
    int64_t part = 0;
    if ((stride < 0 && coordinates[i] != 0) ||
        __builtin_mul_overflow(coordinates[i], stride, &part) ||
        __builtin_add_overflow(offset, part, &offset)) {
      return std::nullopt;
    }
  }
  return offset;
}

Expected<Ints> deviceCoordinatesOf(const DeviceLayout &layout, const Ints &hostSize,
                                   const Ints &hostStride, const Ints &hostIndex) {
  SPYRE_ASSIGN_OR_RETURN(CoordinateMap map, CoordinateMap::make(layout, hostSize, hostStride));
  return map.deviceCoordinatesOf(hostIndex);
}

Expected<int64_t> deviceByteOffsetOf(const DeviceLayout &layout, const Ints &coordinates) {
  SPYRE_RETURN_IF_ERROR(layout.verify());
  if (!isInside(layout, coordinates)) {
    return error<2017>("[{}] lies outside the device size [{}]; give one coordinate below the size "
                       "per dimension",
                       fmt::join(coordinates, ", "), fmt::join(layout.deviceSize, ", "));
  }
  int64_t stick = 0;
  for (size_t i = 0; i + 1 < coordinates.size(); ++i) {
    stick = stick * layout.deviceSize[i] + coordinates[i];
  }
  return stick * kStickBytes + coordinates.back() * kStickBytes / layout.elemsPerStick();
}

Expected<Ints> coordinatesAtByte(const DeviceLayout &layout, int64_t byteOffset) {
  SPYRE_RETURN_IF_ERROR(layout.verify());
  if (byteOffset < 0 || byteOffset >= layout.bytes()) {
    return error<2017>("byte {} lies outside the {} bytes of the tensor; give an offset from its "
                       "start",
                       byteOffset, layout.bytes());
  }
  Ints coordinates(layout.deviceSize.size(), 0);
  coordinates.back() = byteOffset % kStickBytes * layout.elemsPerStick() / kStickBytes;
  int64_t stick = byteOffset / kStickBytes;
  for (size_t i = coordinates.size() - 1; i-- > 0;) {
    coordinates[i] = stick % layout.deviceSize[i];
    stick /= layout.deviceSize[i];
  }
  return coordinates;
}

} // namespace spyre::layout
