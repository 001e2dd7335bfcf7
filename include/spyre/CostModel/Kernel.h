//===- Kernel.h - an operation as its price depends on it -----------------------------------===//
//
// What a planner knows of one device operation before it is divided: the loop's dims, how each
// tensor lies in memory, where it is, and what the units compute per stick. Nothing refers to
// addresses, names or other operations, and nothing depends on the division: a batch of candidate
// divisions of one kernel is priced at once (KernelPricer.h).
//
//     c = a + b, [128, 256] in 16 bits      dims     128, 256
//     device [4, 128, 64]                   held     dim 0 (128 elements), dim 1 (256, 64 a stick)
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Numerics/Formats.h"

#include <array>
#include <cstdint>
#include <vector>

namespace spyre::costmodel {

/// As the back end tells operations apart: each has its own kind of program.
enum class KernelClass : uint8_t {
  Pointwise,
  Copy,
  Restickify,
  StickReduction,
  NonStickReduction,
  TopK,
  Matmul,
  Convolution,
  Window,
  Scan,
  Conversion,
};
constexpr size_t kKernelClasses = 11;
const char *kernelClassName(KernelClass kernelClass);

constexpr size_t kMaxKernelDims = 12;
constexpr size_t kMaxKernelTensors = 12;
constexpr int64_t kStickBytes = 128;

/// One dimension of a tensor.
struct HeldDim {
  int dim = 0;
  /// Elements of it in one stick; 1 when it does not run along the lanes.
  int64_t perStick = 1;
  /// Elements in memory beyond those the kernel visits: of a DDR tensor beyond the whole dim, of
  /// one in LX beyond a core's part. Negative: the last ones do not exist (restickify).
  int64_t gap = 0;
};

struct KernelTensor {
  /// Inner to outer; dims along which it is broadcast are left out.
  std::vector<HeldDim> dims = {};
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  /// In the LX of the core that uses it.
  bool inLx = false;
  /// In the LX of other cores, from where it comes over the ring.
  bool arrives = false;
  /// Rows are chosen by this one of Kernel::indices; -1: they are not.
  int indices = -1;
  /// One value per stick.
  bool sparse = false;
};

/// Dims of a convolution or pooling by their part; -1: it has none. At pixel p and window element e
/// the input is read at stride * p + dilation * e.
struct KernelWindow {
  int batch = -1, channels = -1, inChannels = -1;
  std::array<int, 2> pixel = {-1, -1}, element = {-1, -1}, input = {-1, -1};
  std::array<int64_t, 2> stride = {1, 1}, dilation = {1, 1};
  /// Products of channels that stay apart.
  bool depthwise = false;
};

struct Kernel {
  KernelClass kernelClass = KernelClass::Pointwise;
  /// Of the values computed.
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  /// Elements of each dim, padded as the kernel visits them.
  std::vector<int64_t> dims = {};
  std::vector<KernelTensor> inputs = {};
  KernelTensor output;
  /// Of inputs whose rows they choose: 32-bit numbers.
  std::vector<KernelTensor> indices = {};
  /// Dims in the order in which their slices change from core to core, fastest first; empty: as
  /// they are.
  std::vector<int> coreOrder = {};

  //===- What is computed -------------------------------------------------------------------===//
  /// Of a pointwise operation, and how many LX operands it has per stick (0: tensors).
  bool transcendental = false;
  int64_t vectorOperands = 0;
  /// Of a conversion: values are multiplied and shifted first.
  bool scaled = false;
  /// The reduced dim, k of a matmul, the one sums run along; -1: none.
  int reducedDim = -1;
  /// Elements at the end of the reduced dim that are masked.
  int64_t maskedElements = 0;
  /// Values per reduced element: mean and mean of squares are two.
  int64_t values = 1;
  /// The values are lanes of one stick.
  bool pairs = false;
  /// Stick dim of the output, and of the first input.
  int stickDim = -1, inputStickDim = -1;
  /// Results of a topk; the second: numbers, not values.
  int64_t topK = 1;
  bool wantsIndex = false;
  KernelWindow window = {};
  /// Stores may run ahead of loads: false when the result takes the place of an operand in another
  /// order.
  bool overlaps = true;
};

/// Everything pricing relies on. Errors: E3090 (names the field).
Status checkKernel(const Kernel &kernel);

} // namespace spyre::costmodel
