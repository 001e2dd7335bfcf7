//===- DataConversion.cpp - cut a transfer into loop nests ----------------------------------===//
//
// Every host dimension is an interval of indices, written in the digits of its TransferPlan group.
// From the largest step to the smallest an interval falls into up to three pieces: whole blocks,
// the begun block at its end, and (only in views) the begun block at its start. A nest takes one
// piece of each dimension. Nests are ordered as the documented duplication gives them: the main
// nest, then for each remainder all nests so far again. [spec: device-and-layouts 4.2]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/DataConversion.h"

#include "spyre/Base/Math.h"

#include "ElementConverter.h"
#include "TransferPlan.h"
#include "fmt/ranges.h"

#include <algorithm>

namespace spyre::layout {

using detail::Digit;
using detail::HostGroup;
using detail::TransferPlan;
using Ints = std::vector<int64_t>;

/// A layout with more splits than this describes nothing an engine would be given.
static constexpr size_t kMaxNests = 4096;
static constexpr int64_t kMaxReach = int64_t(1) << 56;
static constexpr size_t kMaxHostRank = 32;

namespace {

/// The indices first, first + step, ... of one storage dimension that a view covers.
struct Window {
  int64_t first = 0;
  int64_t count = 1;
  int64_t step = 1;
};

/// The device tensor as a box of its storage.
struct Box {
  Ints storageSize;
  Ints storageStride;
  /// Host memory stride of each storage dimension.
  Ints hostStride;
  std::vector<Window> windows;
};

/// A range of coordinates for each device dimension.
struct Nest {
  Ints first;
  Ints count;
  /// Position in the documented order.
  uint64_t key = 0;
};

} // namespace

//===--------------------------------------------------------------------------------------------===//
// Views
//===--------------------------------------------------------------------------------------------===//

static Status viewError(const DataConversionRequest &request, const char *why) {
  return error<2014>("the view of size [{}], stride [{}] and offset {} cannot be copied directly: "
                     "{}; copy the whole storage and apply the view on the host",
                     fmt::join(request.size, ", "), fmt::join(request.matchStride, ", "),
                     request.deviceOffset, why);
}

/// Storage dimensions that can be told apart by stride, largest first.
static std::vector<size_t> dimsByStride(const DeviceStorage &storage) {
  std::vector<size_t> dims;
  for (size_t i = 0; i < storage.size.size(); ++i) {
    if (storage.size[i] > 1 && storage.stride[i] > 0) {
      dims.push_back(i);
    }
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [&](size_t a, size_t b) { return storage.stride[a] > storage.stride[b]; });
  return dims;
}

/// Writes the storage offset as an index: the start of each window.
static bool placeOffset(const DeviceStorage &storage, int64_t offset, Box &box) {
  for (size_t dim : dimsByStride(storage)) {
    int64_t index = std::min(offset / storage.stride[dim], storage.size[dim] - 1);
    box.windows[dim].first = index;
    offset -= index * storage.stride[dim];
  }
  return offset == 0;
}

/// Gives dimension \p dim of the view to the storage dimension it runs along.
static bool placeDimension(const DataConversionRequest &request, size_t dim,
                           std::vector<bool> &used, Box &box) {
  const DeviceStorage &storage = *request.storage;
  int64_t stride = request.matchStride[dim];
  for (size_t target : dimsByStride(storage)) {
    if (used[target] || storage.stride[target] > stride) {
      continue;
    }
    Window &window = box.windows[target];
    window.count = request.size[dim];
    window.step = stride / storage.stride[target];
    used[target] = true;
    box.hostStride[target] = request.hostStride[dim];
    int64_t last = 0;
    return stride % storage.stride[target] == 0 &&
           !__builtin_mul_overflow(window.count - 1, window.step, &last) &&
           last < storage.size[target] - window.first;
  }
  return false;
}

static Expected<Box> boxOfView(const DataConversionRequest &request) {
  const DeviceStorage &storage = *request.storage;
  size_t rank = request.size.size();
  if (request.matchStride.size() != rank || request.hostStride.size() != rank ||
      storage.size.size() != storage.stride.size()) {
    return viewError(request, "sizes and strides differ in number");
  }
  Box box{storage.size, storage.stride, Ints(storage.size.size(), 0),
          std::vector<Window>(storage.size.size())};
  if (request.deviceOffset < 0 || !placeOffset(storage, request.deviceOffset, box)) {
    return viewError(request, "the offset is no element of the storage");
  }
  for (size_t dim = 0; dim < storage.size.size(); ++dim) {
    if (storage.size[dim] > 1 && storage.stride[dim] == 0) {
      return viewError(request, "the storage holds its elements several times");
    }
  }
  std::vector<bool> used(storage.size.size(), false);
  for (size_t dim = 0; dim < rank; ++dim) {
    if (request.size[dim] < 0) {
      return viewError(request, "a size is negative");
    }
    if (request.size[dim] > 1 && !placeDimension(request, dim, used, box)) {
      return viewError(request, "a dimension does not run along one dimension of the storage");
    }
  }
  return box;
}

/// Far below 64 bits, so that offsets and strides can be added without checks.
static Status checkReach(const DataConversionRequest &request, const Box &box) {
  bool sound = request.hostOffset >= 0 && request.hostOffset < kMaxReach;
  for (size_t i = 0; sound && i < box.storageSize.size() && i < box.hostStride.size(); ++i) {
    int64_t extent = 0;
    sound = !__builtin_mul_overflow(box.storageSize[i], box.hostStride[i], &extent) &&
            extent > -kMaxReach && extent < kMaxReach;
  }
  if (!sound || box.storageSize.size() > kMaxHostRank) {
    return error<2013>("host offset {} and strides [{}] for size [{}] reach too far, or there are "
                       "more than {} dimensions; use a smaller tensor",
                       request.hostOffset, fmt::join(request.hostStride, ", "),
                       fmt::join(request.size, ", "), kMaxHostRank);
  }
  return Status::success();
}

static Expected<Box> boxOf(const DataConversionRequest &request) {
  if (request.storage) {
    return boxOfView(request);
  }
  if (request.deviceOffset != 0) {
    return viewError(request, "an offset needs the shape of the storage");
  }
  Box box{request.size, request.matchStride, request.hostStride, {}};
  for (int64_t extent : request.size) {
    box.windows.push_back({0, extent, 1});
  }
  return box;
}

//===--------------------------------------------------------------------------------------------===//
// Nests
//===--------------------------------------------------------------------------------------------===//

/// The pieces of the indices [begin, end) in the lowest \p digits digits of \p group; \p weight is
/// the place of the current digit in the order of nests. False when there are too many.
static bool cutInterval(const HostGroup &group, size_t digits, int64_t begin, int64_t end,
                        uint64_t weight, const Nest &prefix, std::vector<Nest> &pieces) {
  if (digits == 0) {
    pieces.push_back(prefix);
    return pieces.size() <= kMaxNests;
  }
  const Digit &digit = group.digits[digits - 1];
  int64_t step = digit.step;
  auto cut = [&](int64_t first, int64_t count, int64_t innerBegin, int64_t innerEnd,
                 uint64_t choice) {
    Nest nest = prefix;
    nest.first[digit.slot] = first;
    nest.count[digit.slot] = count;
    nest.key += choice * weight;
    return cutInterval(group, digits - 1, innerBegin, innerEnd, weight * 3, nest, pieces);
  };
  int64_t beginBlock = begin / step;
  int64_t endBlock = end / step;
  if (beginBlock == (end - 1) / step) {
    return cut(beginBlock, 1, begin - beginBlock * step, end - beginBlock * step, 0);
  }
  int64_t firstWhole = ceilDiv(begin, step);
  return (firstWhole >= endBlock || cut(firstWhole, endBlock - firstWhole, 0, step, 0)) &&
         (end % step == 0 || cut(endBlock, 1, 0, end % step, 1)) &&
         (begin % step == 0 || cut(beginBlock, 1, begin % step, step, 2));
}

/// Multiplies \p nests with the pieces of one dimension.
static bool combine(const HostGroup &group, const std::vector<Nest> &pieces,
                    std::vector<Nest> &nests) {
  if (nests.size() * pieces.size() > kMaxNests) {
    return false;
  }
  std::vector<Nest> product;
  for (const Nest &nest : nests) {
    for (const Nest &piece : pieces) {
      Nest both = nest;
      both.key += piece.key;
      for (const Digit &digit : group.digits) {
        both.first[digit.slot] = piece.first[digit.slot];
        both.count[digit.slot] = piece.count[digit.slot];
      }
      product.push_back(std::move(both));
    }
  }
  nests = std::move(product);
  return true;
}

/// The pieces of a window, as coordinates. A view that skips elements is a nest only where one
/// device dimension counts them.
static bool cutWindow(const HostGroup &group, const Window &window, uint64_t weight,
                      const Nest &start, std::vector<Nest> &pieces) {
  if (window.step == 1 || window.count == 1) {
    return cutInterval(group, group.digits.size(), window.first, window.first + window.count,
                       weight, start, pieces);
  }
  if (group.digits.size() != 1) {
    return false;
  }
  pieces.push_back(start);
  pieces.back().first[group.digits[0].slot] = window.first;
  pieces.back().count[group.digits[0].slot] = window.count;
  return true;
}

static Window windowOf(const HostGroup &group, const Box &box) {
  return group.dims.size() == 1 ? box.windows[group.dims[0]] : Window{0, group.size, 1};
}

/// All nests in the documented order; false when they cannot be written as at most kMaxNests.
static bool cutNests(const TransferPlan &plan, const Box &box, const Nest &start,
                     std::vector<Nest> &nests) {
  nests = {start};
  uint64_t weight = 1;
  for (size_t g = plan.groups.size(); g-- > 0;) {
    const HostGroup &group = plan.groups[g];
    std::vector<Nest> pieces;
    if (!group.digits.empty() && (!cutWindow(group, windowOf(group, box), weight, start, pieces) ||
                                  !combine(group, pieces, nests))) {
      return false;
    }
    // Three choices per digit; there are at most 32 digits, so the key fits.
    for (size_t i = 0; i < group.digits.size(); ++i) {
      weight *= 3;
    }
  }
  std::stable_sort(nests.begin(), nests.end(),
                   [](const Nest &a, const Nest &b) { return a.key < b.key; });
  return true;
}

//===--------------------------------------------------------------------------------------------===//
// Strides
//===--------------------------------------------------------------------------------------------===//

namespace {

/// Strides of both sides by device dimension, outermost first.
struct Strides {
  Ints host;
  Ints device;
  /// Offset of the coordinate 0 in host memory.
  int64_t hostOrigin = 0;
};

} // namespace

static Strides stridesOf(const DeviceLayout &layout, const TransferPlan &plan, const Box &box) {
  Strides strides{layout.strideMap, rowMajorStrides(layout.deviceSize), 0};
  for (int64_t &stride : strides.host) {
    auto same = std::find(box.storageStride.begin(), box.storageStride.end(), stride);
    if (stride > 0 && same != box.storageStride.end()) {
      stride = box.hostStride[size_t(same - box.storageStride.begin())];
    }
    stride = stride == -1 ? 1 : stride;
  }
  for (const HostGroup &group : plan.groups) {
    Window window = windowOf(group, box);
    int64_t hostStride = group.parts.back().stride;
    if (!group.digits.empty() && window.step == 1) {
      strides.hostOrigin -= window.first * hostStride;
    }
    for (const Digit &digit : group.digits) {
      // A step that leaves 64 bits is never taken: its dimension only counts to 0.
      int64_t stride = 0;
      if (!__builtin_mul_overflow(digit.step, hostStride, &stride)) {
        strides.host[digit.slot] = stride;
      }
      if (window.step > 1) {
        strides.device[digit.slot] *= window.step;
      }
    }
  }
  return strides;
}

static DataConversionStrideInfo strideInfo(const Nest &nest, const Strides &strides,
                                           const DeviceLayout &layout, const Box &box,
                                           const DataConversionRequest &request,
                                           const TransferPlan &plan) {
  Ints deviceUnit = rowMajorStrides(layout.deviceSize);
  int64_t host = request.hostOffset + strides.hostOrigin;
  int64_t device = 0;
  for (size_t slot = 0; slot < nest.first.size(); ++slot) {
    device += nest.first[slot] * deviceUnit[slot];
  }
  for (const HostGroup &group : plan.groups) {
    bool isStepped = windowOf(group, box).step > 1; // Starts at its own first element.
    for (const Digit &digit : group.digits) {
      host += isStepped ? 0 : nest.first[digit.slot] * strides.host[digit.slot];
    }
  }
  Ints size(nest.count.rbegin(), nest.count.rend());
  Ints hostStride(strides.host.rbegin(), strides.host.rend());
  Ints deviceStride(strides.device.rbegin(), strides.device.rend());
  if (request.hostToDevice) {
    return {size, hostStride, deviceStride, host, device};
  }
  return {size, deviceStride, hostStride, device, host};
}

//===--------------------------------------------------------------------------------------------===//
// Making it
//===--------------------------------------------------------------------------------------------===//

/// The documented reason when a smallest tile size leaves a rest; otherwise \p general.
static Status tilingFault(const DeviceLayout &layout, const Box &box, const Status &general) {
  if (!layout.verify().ok() || box.storageSize.size() != box.storageStride.size()) {
    return general;
  }
  for (size_t dim = 0; dim < box.storageSize.size(); ++dim) {
    int64_t stride = box.storageStride[dim];
    int64_t tile = 0;
    for (size_t slot = 0; slot < layout.deviceSize.size(); ++slot) {
      int64_t step = stride > 0 ? layout.strideMap[slot] / stride : 0;
      bool nearest = layout.deviceSize[slot] > 1 && step > 0;
      for (int64_t other : box.storageStride) {
        nearest = nearest && (other <= stride || other > layout.strideMap[slot]);
      }
      tile = nearest && (tile == 0 || step < tile) ? step : tile;
    }
    if (tile > 1 && box.storageSize[dim] % tile != 0) {
      return error<2019>("Invalid tiling for dimension {}: tiles of {} leave {} of its {} elements "
                         "without a place; add a device dimension of stride {}",
                         dim, tile, box.storageSize[dim] % tile, box.storageSize[dim], stride);
    }
  }
  return general;
}

/// The device coordinates that do not depend on a host index.
static Nest startNest(const TransferPlan &plan, const DeviceLayout &layout, bool toDevice) {
  Nest nest{Ints(layout.deviceSize.size(), 0), Ints(layout.deviceSize.size(), 1), 0};
  for (size_t slot = 0; slot < layout.deviceSize.size(); ++slot) {
    if (toDevice && plan.expanded[slot]) {
      nest.count[slot] = layout.deviceSize[slot]; // On the way back one copy is enough.
    }
  }
  return nest;
}

static Ints reversedShape(const Ints &shape) {
  // A scalar is one iteration; the engine takes an empty shape for none.
  return shape.empty() ? Ints{1} : Ints(shape.rbegin(), shape.rend());
}

static DataConversionInfo describe(const DataConversionRequest &request) {
  DataConversionInfo info;
  info.isHostToSen = request.hostToDevice;
  info.zeroFill = request.hostToDevice && !request.storage;
  info.formatSrc = hostFormat(request.hostType);
  info.formatDst = request.layout.format;
  info.inputShape = reversedShape(request.size);
  info.outputShape = reversedShape(request.layout.deviceSize);
  if (!request.hostToDevice) {
    std::swap(info.formatSrc, info.formatDst);
    std::swap(info.inputShape, info.outputShape);
  }
  return info;
}

/// Dimensions that the layout folds into one must be one in host memory too.
static Status checkGroups(const DataConversionRequest &request, const TransferPlan &plan) {
  for (const HostGroup &group : plan.groups) {
    if (request.storage && group.dims.size() > 1) {
      return viewError(request, "the layout treats several dimensions of the storage as one");
    }
    if (group.parts.size() > 1) {
      return error<2013>("the layout treats several dimensions of size [{}] as one, but host "
                         "strides [{}] are not dense; make the host tensor contiguous",
                         fmt::join(request.size, ", "), fmt::join(request.hostStride, ", "));
    }
  }
  return Status::success();
}

Expected<DataConversionInfo> makeDataConversion(const DataConversionRequest &request) {
  SPYRE_RETURN_IF_ERROR(
      detail::ElementConverter::make(request.hostType, request.layout.format, request.hostToDevice)
          .status());
  SPYRE_ASSIGN_OR_RETURN(Box box, boxOf(request));
  SPYRE_RETURN_IF_ERROR(checkReach(request, box));
  const DeviceLayout &layout = request.layout;
  Expected<TransferPlan> plan =
      detail::planTransfer(layout, box.storageSize, box.storageStride, box.hostStride);
  if (!plan.ok()) {
    return tilingFault(layout, box, plan.status());
  }
  DataConversionInfo info = describe(request);
  if (plan->hostElems == 0 ||
      std::find(request.size.begin(), request.size.end(), 0) != request.size.end()) {
    return info;
  }
  SPYRE_RETURN_IF_ERROR(checkGroups(request, *plan));
  std::vector<Nest> nests;
  if (!cutNests(*plan, box, startNest(*plan, layout, request.hostToDevice), nests)) {
    return request.storage
               ? viewError(request, "it skips elements of a tiled dimension, or needs too many "
                                    "loop nests")
               : error<2013>("{} cuts size [{}] into more than {} loop nests; use fewer tile sizes "
                             "that do not divide each other",
                             layout.toString(), fmt::join(request.size, ", "), kMaxNests);
  }
  Strides strides = stridesOf(layout, *plan, box);
  for (const Nest &nest : nests) {
    info.strides.push_back(strideInfo(nest, strides, layout, box, request, *plan));
  }
  return info;
}

} // namespace spyre::layout
