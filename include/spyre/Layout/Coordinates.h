//===- Coordinates.h - from host indices to device positions and back -----------------------===//
//
// A layout alone says how far a step moves in host memory; which device positions hold an element,
// and which are padding, also depends on the host shape: lanes 48..63 of the last stick column of
// host [512, 240] hold nothing. A CoordinateMap joins both. It agrees with packToDevice element by
// element. [spec: device-and-layouts 3.1, 3.12]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"

#include <memory>
#include <optional>

namespace spyre::layout {

namespace detail {
struct TransferPlan;
}

class CoordinateMap {
public:
  /// \p hostStride are the strides the layout was built with. Error: E2009 (the layout does not
  /// describe such a tensor).
  static Expected<CoordinateMap> make(const DeviceLayout &layout,
                                      const std::vector<int64_t> &hostSize,
                                      const std::vector<int64_t> &hostStride);

  /// Offset in host elements of what lies at \p coordinates; nothing for padding and for positions
  /// outside the layout.
  std::optional<int64_t> hostOffsetOf(const std::vector<int64_t> &coordinates) const;
  bool isPadding(const std::vector<int64_t> &coordinates) const {
    return !hostOffsetOf(coordinates).has_value();
  }
  /// Where element \p hostIndex lies; the first place when the layout holds it several times.
  /// Error: E2017 (no such element).
  Expected<std::vector<int64_t>> deviceCoordinatesOf(const std::vector<int64_t> &hostIndex) const;

  const DeviceLayout &layout() const { return deviceLayout; }

private:
  DeviceLayout deviceLayout;
  std::vector<int64_t> hostSize;
  /// Shared: maps are copied, plans never change.
  std::shared_ptr<const detail::TransferPlan> plan;
};

/// By the identity of the layout alone: the sum of coordinate * stride. Nothing outside the layout,
/// or where a dimension without host counterpart is not at 0. Padding at the end of a host
/// dimension is not seen; use a CoordinateMap for that.
std::optional<int64_t> hostOffsetOf(const DeviceLayout &layout,
                                    const std::vector<int64_t> &coordinates);

/// One lookup; keep a CoordinateMap for many. Errors: E2009, E2017.
Expected<std::vector<int64_t>> deviceCoordinatesOf(const DeviceLayout &layout,
                                                   const std::vector<int64_t> &hostSize,
                                                   const std::vector<int64_t> &hostStride,
                                                   const std::vector<int64_t> &hostIndex);

/// Byte of the element at \p coordinates from the start of the tensor; elements smaller than a byte
/// share one. Error: E2017 (outside the layout).
Expected<int64_t> deviceByteOffsetOf(const DeviceLayout &layout,
                                     const std::vector<int64_t> &coordinates);
/// The coordinates of the element that starts at or covers \p byteOffset (its first, if several
/// share the byte). Error: E2017.
Expected<std::vector<int64_t>> coordinatesAtByte(const DeviceLayout &layout, int64_t byteOffset);

} // namespace spyre::layout
