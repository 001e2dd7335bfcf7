//===- DimOrder.cpp - find the dimension order behind a layout ------------------------------===//
//
// Apart from the stick, a host dimension fills one slot with its own size and stride, so entries
// are matched by that pair: dimensions with equal pairs are interchangeable, and no search is
// needed. Only the stick is tried, at most once per host dimension.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/DeviceLayout.h"

#include "LayoutBuilder.h"
#include "fmt/ranges.h"

namespace spyre::layout {

/// Completes \p order, whose entries for the other dimensions are unset: each takes the first
/// unused dimension that fits the entry's slot. False when an entry finds none.
static bool matchEntries(const DeviceLayout &layout, const std::vector<int64_t> &hostSize,
                         const std::vector<int64_t> &hostStride, size_t entriesToFill,
                         std::vector<bool> used, std::vector<int64_t> &order) {
  for (size_t i = 0; i < entriesToFill; ++i) {
    size_t slot = detail::slotOfEntry(i, order.size());
    size_t dim = 0;
    while (dim < hostSize.size() &&
           (used[dim] || hostSize[dim] != layout.deviceSize[slot] ||
            (hostSize[dim] == 1 ? -1 : hostStride[dim]) != layout.strideMap[slot])) {
      ++dim;
    }
    if (dim == hostSize.size()) {
      return false;
    }
    used[dim] = true;
    order[i] = int64_t(dim);
  }
  return true;
}

static bool reproduces(const DeviceLayout &layout, const std::vector<int64_t> &hostSize,
                       const std::vector<int64_t> &hostStride, const std::vector<int64_t> &order) {
  Expected<DeviceLayout> built = detail::buildLayout(hostSize, hostStride, layout.format, order);
  return built.ok() && built->deviceSize == layout.deviceSize &&
         built->strideMap == layout.strideMap;
}

Expected<std::vector<int64_t>>
DeviceLayout::recoverDimOrder(const std::vector<int64_t> &hostSize,
                              const std::vector<int64_t> &hostStride) const {
  size_t rank = hostSize.size();
  bool comparable = int64_t(rank) <= kMaxRank && hostStride.size() == rank && verify().ok();
  std::vector<int64_t> order;
  if (comparable && rank == 0 && reproduces(*this, hostSize, hostStride, order)) {
    return order;
  }
  std::vector<bool> used(rank, false);
  if (comparable && rank > 0 && deviceSize.size() == rank + 2) {
    order.assign(rank + 1, -1);
    if (matchEntries(*this, hostSize, hostStride, rank, used, order) &&
        reproduces(*this, hostSize, hostStride, order)) {
      return order;
    }
  }
  if (comparable && rank > 0 && deviceSize.size() == rank + 1) {
    // From the last dimension: the usual stick, also among dimensions that cannot be told apart.
    for (size_t stick = rank; stick-- > 0;) {
      order.assign(rank, int64_t(stick));
      used.assign(rank, false);
      used[stick] = true;
      if (matchEntries(*this, hostSize, hostStride, rank - 1, used, order) &&
          reproduces(*this, hostSize, hostStride, order)) {
        return order;
      }
    }
  }
  return error<2007>("{} is no dim_order layout of a tensor of size [{}] and stride [{}]; pass the "
                     "layout itself",
                     toString(), fmt::join(hostSize, ", "), fmt::join(hostStride, ", "));
}

} // namespace spyre::layout
