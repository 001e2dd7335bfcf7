//===- Kernel.cpp - names and checks of kernels ---------------------------------------------===//
#include "spyre/CostModel/Kernel.h"

#include <algorithm>

namespace spyre::costmodel {

const char *kernelClassName(KernelClass kernelClass) {
  static constexpr const char *kNames[kKernelClasses] = {
      "pointwise", "copy",   "restickify",  "stick reduction", "non-stick reduction",
      "topk",      "matmul", "convolution", "window",          "scan",
      "conversion"};
  auto index = size_t(kernelClass);
  return index < kKernelClasses ? kNames[index] : "unknown";
}

/// Products of a few of these stay inside 64 bits.
static constexpr int64_t kMostElements = int64_t(1) << 40;
static constexpr double kMostPoints = 0x1p52;
static constexpr size_t kMostInputs = 5;

static Status checkDim(const Kernel &kernel, int dim, const char *what) {
  if (dim < -1 || dim >= int(kernel.dims.size())) {
    return error<3090>("{} is {}, but the kernel has {} dims; give one of them, or -1", what, dim,
                       kernel.dims.size());
  }
  return Status::success();
}

static Status checkTensor(const Kernel &kernel, const KernelTensor &tensor, size_t index) {
  if (numerics::elemsPerStick(tensor.format) <= 0) {
    return error<3090>("tensor {} has no format with a known number of lanes", index);
  }
  unsigned seen = 0;
  double bytes = double(kStickBytes);
  for (const HeldDim &held : tensor.dims) {
    if (held.dim < 0 || held.dim >= int(kernel.dims.size()) || (seen >> held.dim & 1) != 0) {
      return error<3090>("tensor {} holds dim {}, which is unknown or listed before", index,
                         held.dim);
    }
    seen |= 1u << held.dim;
    if (held.perStick < 1 || held.perStick > 1024 || held.gap > kMostElements ||
        held.gap <= -kernel.dims[size_t(held.dim)]) {
      return error<3090>("tensor {}: dim {} has {} elements per stick and a gap of {}", index,
                         held.dim, held.perStick, held.gap);
    }
    bytes *= double(kernel.dims[size_t(held.dim)] + std::max<int64_t>(held.gap, 0));
  }
  if (bytes > 0x1p60) {
    return error<3090>("tensor {} is larger than any memory", index);
  }
  return Status::success();
}

static Status checkShape(const Kernel &kernel) {
  bool isMatmul = kernel.kernelClass == KernelClass::Matmul;
  bool twoSticks = isMatmul || kernel.kernelClass == KernelClass::Restickify;
  if (isMatmul && kernel.inputs.size() != 2) {
    return error<3090>("a matmul has two inputs, not {}", kernel.inputs.size());
  }
  if (kernel.inputs.empty()) {
    return error<3090>("a kernel has at least one input");
  }
  if (twoSticks && (kernel.stickDim < 0 || kernel.inputStickDim < 0 ||
                    kernel.stickDim == kernel.inputStickDim)) {
    return error<3090>("the stick dims are {} and {}; a {} needs two different ones",
                       kernel.inputStickDim, kernel.stickDim, kernelClassName(kernel.kernelClass));
  }
  if (kernel.values < 1 || kernel.values > 2 || kernel.topK < 1 || kernel.topK > 1024 ||
      kernel.maskedElements < 0) {
    return error<3090>("{} values, {} results, {} masked elements; give 1 or 2, 1..1024, and no "
                       "negative number",
                       kernel.values, kernel.topK, kernel.maskedElements);
  }
  return Status::success();
}

Status checkKernel(const Kernel &kernel) {
  if (kernel.dims.empty() || kernel.dims.size() > kMaxKernelDims) {
    return error<3090>("{} dims; give 1..{}", kernel.dims.size(), kMaxKernelDims);
  }
  if (kernel.inputs.size() > kMostInputs || kernel.indices.size() > kernel.inputs.size()) {
    return error<3090>("{} inputs and {} index tensors; give at most {}, and no more indices",
                       kernel.inputs.size(), kernel.indices.size(), kMostInputs);
  }
  for (const KernelTensor &input : kernel.inputs) {
    if (input.indices < -1 || input.indices >= int(kernel.indices.size())) {
      return error<3090>("an input's rows are chosen by index tensor {} of {}", input.indices,
                         kernel.indices.size());
    }
  }
  double points = 1;
  for (int64_t size : kernel.dims) {
    points *= double(size);
    if (size < 1 || size > kMostElements || points > kMostPoints) {
      return error<3090>("a dim has {} elements; give 1..2^40, and 2^52 for all dims together",
                         size);
    }
  }
  if (numerics::elemsPerStick(kernel.format) <= 0) {
    return error<3090>("the kernel's format has no known number of lanes");
  }
  for (const KernelTensor &index : kernel.indices) {
    SPYRE_RETURN_IF_ERROR(checkTensor(kernel, index, kernel.inputs.size() + 1));
  }
  for (size_t t = 0; t <= kernel.inputs.size(); ++t) {
    const KernelTensor &tensor = t < kernel.inputs.size() ? kernel.inputs[t] : kernel.output;
    SPYRE_RETURN_IF_ERROR(checkTensor(kernel, tensor, t));
  }
  SPYRE_RETURN_IF_ERROR(checkDim(kernel, kernel.reducedDim, "the reduced dim"));
  SPYRE_RETURN_IF_ERROR(checkDim(kernel, kernel.stickDim, "the stick dim"));
  SPYRE_RETURN_IF_ERROR(checkDim(kernel, kernel.inputStickDim, "the input's stick dim"));
  std::vector<int> order = kernel.coreOrder;
  std::sort(order.begin(), order.end());
  for (size_t d = 0; d < order.size(); ++d) {
    if (order.size() != kernel.dims.size() || order[d] != int(d)) {
      return error<3090>("the core order must list every dim once, or be empty");
    }
  }
  return checkShape(kernel);
}

} // namespace spyre::costmodel
