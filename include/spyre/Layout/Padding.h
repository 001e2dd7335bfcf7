//===- Padding.h - which bytes of a device tensor hold no host element ----------------------===//
//
// The device's sanitizer follows padding: it may be stored and moved, but must not reach a result.
// It learns from each transfer which half-words of the sticks are padding. [spec:
// device-and-layouts 3.12, 4.4]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"

namespace spyre::layout {

/// One mask per stick, in address order: bit i is set when neither byte 2i nor byte 2i + 1 of the
/// stick belongs to a host element. Empty when no bit would be set. \p matchStride are the host
/// strides the layout was built with. Error: E2009 (the layout does not describe such a tensor).
///
/// Example: host [512, 240] fp16 as device [4, 512, 64]: 1536 masks 0, then 512 masks
/// 0xFFFF000000000000 (lanes 48..63).
Expected<std::vector<uint64_t>> stickPadding(const DeviceLayout &layout,
                                             const std::vector<int64_t> &hostSize,
                                             const std::vector<int64_t> &matchStride);

} // namespace spyre::layout
