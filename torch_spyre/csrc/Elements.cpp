//===- Elements.cpp - where the elements of a small view lie --------------------------------===//
#include "Elements.h"

#include "spyre/Layout/Coordinates.h"

#include "Errors.h"

#include <algorithm>
#include <numeric>

namespace spyre::plugin {

namespace {

constexpr int64_t kStickBytes = 128;

/// Host indices of a storage, from offsets in host elements.
class IndexOf {
public:
  explicit IndexOf(const StorageGeometry &geometry)
      : geometry(geometry), order(geometry.size.size()) {
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return geometry.stride[a] > geometry.stride[b]; });
  }
  std::vector<int64_t> operator()(int64_t offset) const {
    std::vector<int64_t> index(order.size());
    for (size_t dim : order) {
      if (geometry.size[dim] > 1) {
        index[dim] = offset / geometry.stride[dim];
        offset %= geometry.stride[dim];
      }
    }
    return index;
  }

private:
  const StorageGeometry &geometry;
  std::vector<size_t> order;
};

template <typename Visit>
void forEachOffset(const at::Tensor &view, int64_t dim, int64_t offset, const Visit &visit) {
  if (dim == view.dim()) {
    visit(offset);
    return;
  }
  for (int64_t i = 0; i < view.size(dim); ++i) {
    forEachOffset(view, dim + 1, offset + i * view.stride(dim), visit);
  }
}

/// Bytes of the buffer to bytes of its chosen sticks, which are found here.
void gatherSticks(ElementPlaces &places) {
  std::vector<int64_t> &sticks = places.sticks;
  for (size_t byte : places.bytes) {
    sticks.push_back(int64_t(byte) / kStickBytes);
  }
  std::sort(sticks.begin(), sticks.end());
  sticks.erase(std::unique(sticks.begin(), sticks.end()), sticks.end());
  for (size_t &byte : places.bytes) {
    const auto found = std::lower_bound(sticks.begin(), sticks.end(), int64_t(byte) / kStickBytes);
    byte = size_t((found - sticks.begin()) * kStickBytes) + byte % size_t(kStickBytes);
  }
}

} // namespace

std::optional<ElementPlaces> placesOf(const at::Tensor &view) {
  const StorageGeometry &geometry = geometryOf(view);
  if (view.numel() > kMostElements ||
      geometry != makeGeometry(geometry.size, geometry.stride, view.scalar_type())) {
    return std::nullopt;
  }
  const auto map =
      check(layout::CoordinateMap::make(geometry.layout, geometry.size, geometry.stride));
  const IndexOf indexOf(geometry);
  ElementPlaces places;
  places.bytes.reserve(size_t(view.numel()));
  forEachOffset(view, 0, view.storage_offset(), [&](int64_t offset) {
    const std::vector<int64_t> place = check(map.deviceCoordinatesOf(indexOf(offset)));
    places.bytes.push_back(size_t(check(layout::deviceByteOffsetOf(geometry.layout, place))));
  });
  gatherSticks(places);
  return places;
}

std::optional<ElementPlaces> placesIfFewer(const at::Tensor &view) {
  // Finding a place takes as long as moving a few hundred bytes.
  constexpr int64_t kSmallBytes = 1 << 16, kBytesPerPlace = 256;
  const int64_t bytes = geometryOf(view).layout.bytes();
  if (bytes <= kSmallBytes || bytes / kBytesPerPlace < view.numel()) {
    return std::nullopt;
  }
  return placesOf(view);
}

} // namespace spyre::plugin
