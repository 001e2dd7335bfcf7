//===- GeneratorWindows.h - convolutions, pooling and running sums --------------------------===//
//
// Draws windows of several sizes with strides and dilations, inputs with rows to spare, device
// dimensions in any order, slices of larger buffers, and splits over pixels, batch, channels and
// the summed channels.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Generator.h"

#include <array>

namespace spyre::backend::test {

/// "conv2d", "depthwiseconv2dnative", "maxpoolfwd", "avgpoolfwd", "x_cumsum".
const std::vector<std::string> &windowCases();
bool isWindowCase(const std::string &op);

/// What a window op is like; y before x.
struct WindowShape {
  std::string op;
  int64_t batch = 1, channels = 64;
  /// conv2d only.
  int64_t inChannels = 64;
  std::array<int64_t, 2> pixels{4, 4}, window{3, 3}, stride{1, 1}, dilation{1, 1};
  /// Rows and columns of the input that no window meets, before and behind.
  std::array<int64_t, 2> before{0, 0}, behind{0, 0};
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  /// Symbols are b, y, x, c, ki, kj, k: cores of each, 1 when it is not named.
  std::vector<std::pair<std::string, int64_t>> cores = {};
};
/// Tensors in the call's order, dimensions in the usual one; the device must count this work.
RandomCase windowCase(const WindowShape &shape);

/// The same of a random shape, with device dimensions shuffled; memory stays empty.
RandomCase randomWindow(const std::string &op, Random &random, const arch::DeviceDesc &device,
                        bool large);

} // namespace spyre::backend::test
