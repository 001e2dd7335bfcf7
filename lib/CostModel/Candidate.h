//===- Candidate.h - one division of a kernel, ready to be sketched -------------------------===//
//
// From the slices of each dim: what one core does of it, how its tensors lie in LX, and what moving
// bytes costs when so many cores ask for the same or for different ones.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CostModel/Kernel.h"

#include "Sketch.h"

#include <span>

namespace spyre::costmodel {

/// A tensor's strides, the output behind the inputs.
using Strides = std::array<int64_t, kMaxKernelDims>;

/// What is the same for all candidates.
struct PricedKernel {
  Kernel kernel;
  const arch::DeviceDesc *device = nullptr;
  /// Inputs and the output; index tensors have the numbers behind.
  size_t tensors = 0;
  /// In DDR: bytes per step, 0 where the tensor does not hold the dim.
  std::array<Strides, kMaxKernelTensors> ddrStride{};
  std::array<std::array<int64_t, kMaxKernelDims>, kMaxKernelTensors> perStick{};
  /// Dims by bits: those a tensor holds, and those with which the address of a core's part moves.
  std::array<unsigned, kMaxKernelTensors> held{}, moves{};
  std::array<uint8_t, kMaxKernelDims> coreOrder{};

  const KernelTensor &tensor(size_t t) const {
    return t + 1 < tensors ? kernel.inputs[t]
           : t < tensors   ? kernel.output
                           : kernel.indices[t - tensors];
  }
  size_t allTensors() const { return tensors + kernel.indices.size(); }
  size_t output() const { return tensors - 1; }
  int64_t lanes() const { return numerics::elemsPerStick(kernel.format); }
};

/// \p device is referred to.
PricedKernel prepare(Kernel kernel, const arch::DeviceDesc &device);

struct Candidate {
  const PricedKernel *priced = nullptr;
  int64_t cores = 1;
  std::array<int64_t, kMaxKernelDims> split, perCore, coreStride;
  std::array<Strides, kMaxKernelTensors> stride;
  std::array<TransferRates, kMaxKernelTensors> rates;
  /// Of the second input where cores without the masked last slice of a split load for themselves.
  TransferRates fewerRates;
  /// Cores that differ in everything but the reduced dim.
  int64_t roots = 1;

  /// False: not a division the back end takes.
  bool set(const PricedKernel &kernel, std::span<const int32_t> splits);
  bool holds(size_t tensor, size_t dim) const { return priced->held[tensor] >> dim & 1; }
  bool moves(size_t tensor, size_t dim) const { return priced->moves[tensor] >> dim & 1; }
  /// Distinct addresses among the cores.
  int64_t readersOf(size_t tensor) const;
  int64_t reducedSlices() const {
    int dim = priced->kernel.reducedDim;
    return dim < 0 ? 1 : split[size_t(dim)];
  }
};

/// Each returns false when the back end has no program for the candidate.
bool sketchPointwise(const Candidate &candidate, Sketch &sketch);
bool sketchReduction(const Candidate &candidate, Sketch &sketch);
bool sketchTopK(const Candidate &candidate, Sketch &sketch);
bool sketchMatmul(const Candidate &candidate, Sketch &sketch);
bool sketchRestickify(const Candidate &candidate, Sketch &sketch);
bool sketchConversion(const Candidate &candidate, Sketch &sketch);
/// Pooling, depthwise convolution.
bool sketchPool(const Candidate &candidate, Sketch &sketch);
bool sketchConvolution(const Candidate &candidate, Sketch &sketch);
bool sketchScan(const Candidate &candidate, Sketch &sketch);

//===- Parts that sketches share ------------------------------------------------------------===//

/// Steps a core takes along \p dim as the output counts it.
int64_t outputSteps(const Candidate &candidate, size_t dim);
/// Loads a tile of \p place, a tensor of the same number, into a new buffer.
SketchStep &addLoad(const Candidate &candidate, Sketch &sketch, size_t tensor, size_t place,
                    size_t depth, uint16_t buffer);
/// Vector-unit work on the levels of \p place.
SketchStep &addLanes(const Candidate &candidate, Sketch &sketch, size_t place, size_t depth,
                     double factor, int64_t lxBytes);
/// Accumulators of the other slices come to the root, one slice after the other.
void addCombine(const Candidate &candidate, Sketch &sketch, size_t place, size_t depth,
                int64_t accBytes, uint16_t buffer);
/// Tiled axes of \p place, outermost in its memory first.
void addLoops(Sketch &sketch, size_t place);

} // namespace spyre::costmodel
