//===- Windows.h - convolutions and pooling: which symbol and dimension is what -------------===//
//
// A window op slides a window over an image (docs/adr/0021). At output pixel (y, x) and window
// element (ki, kj) it reads the input at
//
//     i = strideY * y + dilationY * ki        j = strideX * x + dilationX * kj
//
// In an OpSpec these are coordinates of the input: `2*y + ki`. In a SuperDSC the input has
// dimensions i and j of its own, and what is not 1 of strides and dilations is a constant.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/SuperDsc.h"

#include <array>
#include <string>

namespace spyre::spec {

/// conv2d, depthwiseconv2dnative, maxpoolfwd, avgpoolfwd.
bool isWindowOp(const std::string &op);

/// Symbols of a window op by their part; empty when it has none. Position 0 is the first window
/// dimension (y, ki), position 1 the second (x, kj).
struct WindowSymbols {
  std::array<std::string, 2> pixel, window;
  std::string batch, channels;
  /// conv2d: the reduced input channels.
  std::string inChannels;
};

/// Finds the parts and checks the rules of the op. \p spec has passed the rules of all ops. Error:
/// E1302.
Expected<WindowSymbols> findWindowSymbols(const OpSpec &spec);

/// One of the two dimensions of a window in a SuperDSC.
struct WindowNames {
  const char *pixel, *window, *input, *stride, *dilation;
};
inline constexpr std::array<WindowNames, 2> kWindowNames = {
    {{"y", "ki", "i", "windowStrideY", "windowDilationY"},
     {"x", "kj", "j", "windowStrideX", "windowDilationX"}}};

/// Larger ones are refused: products with a size stay inside 64 bits.
constexpr int64_t kMaxWindowStep = 65536;

struct WindowStep {
  int64_t stride = 1, dilation = 1;
};
using WindowSteps = std::array<WindowStep, 2>;

/// Input elements from the first to the last that \p pixels pixels and \p elements elements of the
/// window meet; a negative number when there are none or it leaves 64 bits.
int64_t windowReach(const WindowStep &step, int64_t pixels, int64_t elements);

/// The constants of a window op; all 1 for other ops. Error: E5003.
Expected<WindowSteps> windowSteps(const SuperDsc &dsc);

/// Elements of input dimension \p dim (i or j) that a core meets; nothing known: its size.
int64_t windowPerCore(const SuperDsc &dsc, const WindowSteps &steps, const std::string &dim);

/// Step 1 to 12 for a window op (emitSuperDsc calls it).
Expected<SuperDsc> emitWindowOp(const OpSpec &spec, int64_t index);

} // namespace spyre::spec
