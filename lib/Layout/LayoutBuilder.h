//===- LayoutBuilder.h - the slots of a dimension order, shared inside the library ----------===//
//
// A dimension order O of N entries gives N + 1 device dimensions ("slots"): O rotated left by one,
// then the stick again. Entry 0 thus lies next to the stick, and the entry of the stick dimension
// is its tile index. [spec: device-and-layouts 3.3]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"

namespace spyre::layout::detail {

/// Sizes of a host tensor stay below this, so that padded products are easy to check.
constexpr int64_t kMaxDeviceBytes = int64_t(1) << 47;

/// Slot of entry \p position of a dimension order with \p entries entries.
constexpr size_t slotOfEntry(size_t position, size_t entries) {
  return position == 0 ? entries - 1 : position - 1;
}

/// DeviceLayout::make for a device format; \p dimOrder is checked.
Expected<DeviceLayout> buildLayout(const std::vector<int64_t> &hostSize,
                                   const std::vector<int64_t> &hostStride,
                                   numerics::DataFormat format,
                                   const std::vector<int64_t> &dimOrder);

} // namespace spyre::layout::detail
