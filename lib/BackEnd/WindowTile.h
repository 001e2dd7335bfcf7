//===- WindowTile.h - the input of convolutions and pooling, tile by tile -------------------===//
//
// At pixel (y, x) and window element (ki, kj) a window op reads its input at
// (strideY * y + dilationY * ki, strideX * x + dilationX * kj): both axes of a pair step through
// the same dimension of the tensor. A tile holds what its pixels and window elements meet, each
// stick once where windows overlap ("band"), or element by element where strides leave more out
// than that ("apart"):
//
//     3 pixels, stride 1, 3 elements:   band  i = 0 1 2 3 4
//     3 pixels, stride 3, 2 elements:   apart i = 0 1  3 4  6 7
//
// The choice is made for y and x on their own.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "PhaseBuilder.h"

namespace spyre::backend {

/// Numbers of the axes that all window ops have. The channels of the input are `channels`.
struct WindowAxes {
  size_t batch = 0, channels = 0;
  /// y and x; ki and kj.
  size_t pixel[2] = {0, 0}, window[2] = {0, 0};
};

/// Dimensions where they belong, windows inside the input and not split, a local input in LX.
/// \p reduced is "in" for a convolution, else empty. Error: E5302.
Status checkWindowRules(const Kernel &kernel, const std::string &reduced);

/// Adds the axes batch, y, x, ki and kj.
WindowAxes addWindowAxes(const Kernel &kernel, PhaseBuilder &builder);

class WindowTile {
public:
  WindowTile() = default;
  /// All axes must exist; their tiles may still change. The channel axis of the input steps through
  /// its stick dimension.
  WindowTile(const Kernel &kernel, const WindowAxes &axes, PhaseBuilder &builder);

  /// Sticks of one tile, saturating.
  int64_t sticks(const PhaseBuilder &builder) const;
  /// Strides of a compact tile with \p stickBytes per stick; the tiles are final.
  std::vector<int64_t> compactStrides(const PhaseBuilder &builder, int64_t stickBytes) const;
  /// Levels over the sticks of the current tile: first strides those of the tensor, second those of
  /// a compact tile.
  std::vector<Level> levels(const PhaseBuilder &builder, int64_t stickBytes) const;

  /// The tensor.
  Place place;

private:
  int64_t bandOf(size_t window, int64_t pixels, int64_t elements) const;
  bool isApart(const PhaseBuilder &builder, size_t window) const;
  int64_t extentOf(const PhaseBuilder &builder, size_t window) const;

  WindowAxes axes;
  spec::WindowSteps steps;
  /// Bytes between neighbours along i and j.
  int64_t inputBytes[2] = {0, 0};
};

} // namespace spyre::backend
