//===- DeviceLayout.cpp - construction, text form and soundness of layouts ------------------===//
#include "spyre/Layout/DeviceLayout.h"

#include "spyre/Base/Math.h"

#include "LayoutBuilder.h"
#include "fmt/ranges.h"

#include <algorithm>
#include <numeric>

namespace spyre::layout {

using detail::kMaxDeviceBytes;
using numerics::DataFormat;
using numerics::HostType;

static constexpr int64_t kStickBytes = 128;
/// Expert layouts split host dimensions; more device dimensions than this nobody writes.
static constexpr size_t kMaxDeviceRank = 32;
/// Entries of a dimension order that software before the generic construction takes.
static constexpr int64_t kMaxCompatEntries = 6;

/// False when the product is negative or above the device's address space.
static bool countSticks(const std::vector<int64_t> &deviceSize, int64_t &sticks) {
  sticks = 0;
  if (deviceSize.empty()) {
    return false;
  }
  std::vector<int64_t> outer(deviceSize.begin(), deviceSize.end() - 1);
  // A zero anywhere makes the product zero, even where the partial product would overflow.
  bool empty = false;
  for (int64_t size : outer) {
    if (size < 0) {
      return false;
    }
    empty = empty || size == 0;
  }
  return empty || (checkedProduct(outer, sticks) && sticks < kMaxDeviceBytes / kStickBytes);
}

int64_t DeviceLayout::sticks() const {
  int64_t count = 0;
  return countSticks(deviceSize, count) ? count : 0;
}

int64_t DeviceLayout::bytes() const { return sticks() * kStickBytes; }

std::string DeviceLayout::toString() const {
  std::string text = fmt::format(
      "SpyreTensorLayout(device_size=[{}], stride_map =[{}], device_dtype=DataFormats.{}",
      fmt::join(deviceSize, ", "), fmt::join(strideMap, ", "), numerics::formatName(format));
  if (arrangement != ElementArrangement::Standard) {
    text +=
        fmt::format(", element_arrangement=ElementArrangement.{}", arrangementName(arrangement));
  }
  return text + ")";
}

size_t DeviceLayout::hash() const {
  uint64_t hash = 0xCBF29CE484222325ull;
  auto mix = [&](uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((value >> shift) & 0xFF)) * 0x100000001B3ull;
    }
  };
  mix(deviceSize.size());
  for (int64_t size : deviceSize) {
    mix(uint64_t(size));
  }
  for (int64_t stride : strideMap) {
    mix(uint64_t(stride));
  }
  mix(uint64_t(format));
  mix(uint64_t(arrangement));
  return size_t(hash);
}

Status DeviceLayout::verify() const {
  if (deviceSize.empty() || deviceSize.size() != strideMap.size() ||
      deviceSize.size() > kMaxDeviceRank) {
    return error<2008>(
        "the layout has {} sizes and {} strides; give as many strides as sizes, 1 to "
        "{}",
        deviceSize.size(), strideMap.size(), kMaxDeviceRank);
  }
  if (elemsPerStick() == 0) {
    return error<2008>("No device stick geometry for {}; choose a format that is stored in sticks",
                       numerics::formatName(format));
  }
  if (deviceSize.back() != elemsPerStick()) {
    return error<2008>("the last device size is {}, a stick of {} has {} elements; pad the stick "
                       "dimension",
                       deviceSize.back(), numerics::formatName(format), elemsPerStick());
  }
  for (int64_t stride : strideMap) {
    if (stride < -1) {
      return error<2008>("the stride {} is below -1; use -1 for \"no host dimension\"", stride);
    }
  }
  int64_t count = 0;
  if (!countSticks(deviceSize, count)) {
    return error<2008>("the device size [{}] is negative or reaches 2^47 bytes; use a smaller "
                       "tensor",
                       fmt::join(deviceSize, ", "));
  }
  return Status::success();
}

static Status checkHostShape(const std::vector<int64_t> &hostSize,
                             const std::vector<int64_t> &hostStride) {
  if (int64_t(hostSize.size()) > kMaxRank) {
    return error<2003>("Unsupported tensor rank: {}, the limit is {}; flatten some dimensions",
                       hostSize.size(), kMaxRank);
  }
  if (hostStride.size() != hostSize.size()) {
    return error<2006>("{} host sizes but {} host strides; give one stride per dimension",
                       hostSize.size(), hostStride.size());
  }
  for (size_t i = 0; i < hostSize.size(); ++i) {
    if (hostSize[i] < 0 || hostSize[i] >= kMaxDeviceBytes || hostStride[i] < 0 ||
        hostStride[i] >= kMaxDeviceBytes) {
      return error<2006>("host dimension {} has size {} and stride {}; both must be in [0, 2^47)",
                         i, hostSize[i], hostStride[i]);
    }
  }
  return Status::success();
}

static Status checkDimOrder(size_t rank, const std::vector<int64_t> &dimOrder) {
  bool sparse = dimOrder.size() == rank + 1 && dimOrder.back() == -1;
  std::vector<bool> seen(rank, false);
  bool sound = sparse || dimOrder.size() == rank;
  for (size_t i = 0; sound && i < rank; ++i) {
    int64_t dim = dimOrder[i];
    sound = dim >= 0 && dim < int64_t(rank) && !seen[size_t(dim)];
    if (sound) {
      seen[size_t(dim)] = true;
    }
  }
  if (!sound) {
    return error<2004>("Incompatible host_size and dim_order: [{}] does not order {} dimensions; "
                       "give a permutation of 0..rank-1, or one followed by -1",
                       fmt::join(dimOrder, ", "), rank);
  }
  return Status::success();
}

/// Host dimension of each slot; -1 for the synthetic stick of a sparse layout.
static std::vector<int64_t> slotDims(const std::vector<int64_t> &dimOrder) {
  std::vector<int64_t> slots(dimOrder.size() + 1, dimOrder.back());
  for (size_t i = 0; i < dimOrder.size(); ++i) {
    slots[detail::slotOfEntry(i, dimOrder.size())] = dimOrder[i];
  }
  return slots;
}

Expected<DeviceLayout> detail::buildLayout(const std::vector<int64_t> &hostSize,
                                           const std::vector<int64_t> &hostStride,
                                           DataFormat format,
                                           const std::vector<int64_t> &dimOrder) {
  int64_t elems = numerics::elemsPerStick(format);
  if (elems == 0) {
    return error<2005>("No device stick geometry for {}; choose another element type",
                       numerics::formatName(format));
  }
  SPYRE_RETURN_IF_ERROR(checkHostShape(hostSize, hostStride));
  SPYRE_RETURN_IF_ERROR(checkDimOrder(hostSize.size(), dimOrder));
  if (hostSize.empty()) {
    return DeviceLayout{{1, elems}, {-1, -1}, format, ElementArrangement::Standard};
  }
  std::vector<int64_t> slots = slotDims(dimOrder);
  DeviceLayout layout;
  layout.format = format;
  layout.deviceSize.resize(slots.size());
  layout.strideMap.resize(slots.size());
  int64_t stick = dimOrder.back();
  // Stride of the next slot, further out, of the same host dimension.
  std::vector<int64_t> nextStride = hostStride;
  for (size_t j = slots.size(); j-- > 0;) {
    int64_t dim = slots[j];
    bool isStickSlot = j + 1 == slots.size();
    int64_t size = 1;
    if (isStickSlot) {
      size = elems;
    } else if (dim != -1) {
      size = dim == stick ? ceilDiv(hostSize[size_t(dim)], elems) : hostSize[size_t(dim)];
    }
    layout.deviceSize[j] = size;
    layout.strideMap[j] = -1;
    if (dim != -1 && hostSize[size_t(dim)] != 1) {
      layout.strideMap[j] = nextStride[size_t(dim)];
      if (__builtin_mul_overflow(layout.strideMap[j], size, &nextStride[size_t(dim)])) {
        return error<2006>("the stride {} of host dimension {} is too large; make the tensor "
                           "contiguous",
                           hostStride[size_t(dim)], dim);
      }
    }
  }
  int64_t count = 0;
  if (!countSticks(layout.deviceSize, count)) {
    return error<2006>("a tensor of size [{}] reaches 2^47 bytes on the device; use a smaller one",
                       fmt::join(hostSize, ", "));
  }
  return layout;
}

Expected<DeviceLayout> DeviceLayout::make(const std::vector<int64_t> &hostSize,
                                          const std::vector<int64_t> &hostStride, HostType type,
                                          const std::vector<int64_t> &dimOrder) {
  return detail::buildLayout(hostSize, hostStride, numerics::deviceFormat(type), dimOrder);
}

DeviceLayout DeviceLayout::withElementArrangement(ElementArrangement other) const {
  DeviceLayout layout = *this;
  layout.arrangement = other;
  return layout;
}

std::vector<int64_t> DeviceLayout::genericStickDimOrder(int64_t rank) {
  std::vector<int64_t> order(size_t(std::max<int64_t>(rank, 0)));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Status DeviceLayout::checkCompatRank(int64_t rank, bool sparse) {
  // A sparse order has one entry more, for the synthetic stick.
  int64_t limit = kMaxCompatEntries - (sparse ? 1 : 0);
  if (rank > limit) {
    return error<2003>("Unsupported tensor rank: {}, older software takes {}; flatten some "
                       "dimensions",
                       rank, limit);
  }
  return Status::success();
}

Expected<DeviceLayout> DeviceLayout::makeDefault(const std::vector<int64_t> &hostSize,
                                                 HostType type) {
  // Checked first: the row-major strides below must not overflow.
  SPYRE_RETURN_IF_ERROR(checkHostShape(hostSize, std::vector<int64_t>(hostSize.size(), 0)));
  int64_t elems = 1;
  for (int64_t size : hostSize) {
    if (size > 0 && __builtin_mul_overflow(elems, size, &elems)) {
      return error<2006>(
          "a tensor of size [{}] has more elements than 64 bits count; use a smaller "
          "one",
          fmt::join(hostSize, ", "));
    }
  }
  return make(hostSize, rowMajorStrides(hostSize), type,
              genericStickDimOrder(int64_t(hostSize.size())));
}

} // namespace spyre::layout
