//===- KernelPrices.cpp - what of a SuperDSC its price depends on ---------------------------===//
#include "spyre/BackEnd/KernelPrices.h"

#include "Geometry.h"
#include "Indirect.h"

#include <algorithm>
#include <bit>

namespace spyre::backend {

using costmodel::HeldDim;
using costmodel::KernelClass;
using costmodel::KernelTensor;

static KernelClass classOf(OpClass opClass) {
  switch (opClass) {
  case OpClass::Pointwise:
    return KernelClass::Pointwise;
  case OpClass::Copy:
    return KernelClass::Copy;
  case OpClass::Restickify:
    return KernelClass::Restickify;
  case OpClass::StickReduction:
    return KernelClass::StickReduction;
  case OpClass::NonStickReduction:
    return KernelClass::NonStickReduction;
  case OpClass::TopK:
    return KernelClass::TopK;
  case OpClass::Matmul:
    return KernelClass::Matmul;
  case OpClass::Convolution:
    return KernelClass::Convolution;
  case OpClass::Window:
    return KernelClass::Window;
  case OpClass::Scan:
    return KernelClass::Scan;
  case OpClass::Conversion:
    return KernelClass::Conversion;
  }
  return KernelClass::Pointwise;
}

std::optional<OperationTraits> operationTraits(const std::string &name) {
  const OpInfo *info = lookUpOp(name);
  if (info == nullptr) {
    return std::nullopt;
  }
  OperationTraits traits;
  traits.kernelClass = classOf(info->opClass);
  traits.transcendental = program::isTranscendental(info->function);
  traits.readsPairs = info->form == VectorForm::Pair;
  traits.makesPairs = info->function == program::Function::SumSquares;
  traits.scaled = info->constants[0] != nullptr && info->opClass == OpClass::Conversion;
  return traits;
}

static int dimIndex(const spec::SuperDsc &dsc, const std::string &name) {
  for (size_t d = 0; d < dsc.size.size(); ++d) {
    if (dsc.size[d].first == name) {
      return int(d);
    }
  }
  return -1;
}

static KernelTensor tensorOf(const Kernel &kernel, const TensorMap &map) {
  const spec::DscTensor &source = kernel.dsc->tensors[map.index];
  KernelTensor tensor;
  tensor.format = source.format;
  tensor.inLx = map.inLx;
  tensor.arrives = map.arrival != nullptr;
  tensor.indices = map.indices;
  tensor.sparse = map.sparse;
  const bool isRestickify = kernel.op.opClass == OpClass::Restickify;
  for (const TensorMap::Dim &dim : map.dims) {
    const int64_t *gap = spec::findDim(source.backGap, dim.name);
    HeldDim held;
    held.dim = dimIndex(*kernel.dsc, dim.name);
    held.perStick = map.stepElements(dim.name);
    held.gap = gap == nullptr ? 0 : isRestickify ? -*gap : *gap;
    tensor.dims.push_back(held);
  }
  return tensor;
}

/// Dims by the distance of cores whose slices of them are neighbours.
static std::vector<int> coreOrderOf(const spec::SuperDsc &dsc) {
  struct Step {
    int64_t cores;
    int dim;
  };
  std::vector<Step> steps;
  for (size_t d = 0; d < dsc.size.size(); ++d) {
    int64_t first = INT64_MAX;
    for (size_t core = 0; core < dsc.coreSlice.size(); ++core) {
      const int64_t *slice = spec::findDim(dsc.coreSlice[core], dsc.size[d].first);
      if (slice != nullptr && *slice == 1) {
        first = std::min(first, int64_t(core));
      }
    }
    steps.push_back({first, int(d)});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step &a, const Step &b) { return a.cores < b.cores; });
  std::vector<int> order;
  for (const Step &step : steps) {
    order.push_back(step.dim);
  }
  return order;
}

static float constantOf(const spec::SuperDsc &dsc, const std::string &name) {
  for (const spec::DscConstant &constant : dsc.constants) {
    if (constant.name == name) {
      return constant.format == numerics::DataFormat::IeeeFp32
                 ? std::bit_cast<float>(constant.bits)
                 : numerics::dl16ToFloat(uint16_t(constant.bits));
    }
  }
  return 0;
}

/// The one dim the output drops and the first input has.
static int reducedDimOf(const Kernel &kernel) {
  const TensorMap &input = kernel.inputs[0], &output = kernel.output;
  if (kernel.op.opClass == OpClass::StickReduction && !input.sparse) {
    return dimIndex(*kernel.dsc, output.stickDim);
  }
  for (const auto &[dim, size] : kernel.dsc->size) {
    bool isCarrier = dim == output.stickDim && input.sparse;
    if (input.holds(dim) && !output.holds(dim) && !isCarrier && size > 1) {
      return dimIndex(*kernel.dsc, dim);
    }
  }
  return -1;
}

static void describeReduction(const Kernel &kernel, costmodel::Kernel &priced) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  priced.reducedDim = reducedDimOf(kernel);
  if (kernel.op.function == program::Function::SumSquares) {
    priced.pairs = true;
    priced.values = dsc.op == "exx2" && constantOf(dsc, "useZeroMean") == 0 ? 2 : 1;
  }
}

static costmodel::KernelWindow windowOf(const Kernel &kernel) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  costmodel::KernelWindow window;
  window.batch = dimIndex(dsc, "mb");
  window.channels = dimIndex(dsc, "out");
  window.inChannels = dimIndex(dsc, "in");
  for (size_t w = 0; w < 2; ++w) {
    window.pixel[w] = dimIndex(dsc, spec::kWindowNames[w].pixel);
    window.element[w] = dimIndex(dsc, spec::kWindowNames[w].window);
    window.input[w] = dimIndex(dsc, spec::kWindowNames[w].input);
    window.stride[w] = kernel.windows[w].stride;
    window.dilation[w] = kernel.windows[w].dilation;
  }
  window.depthwise = kernel.op.function == program::Function::Fma;
  return window;
}

Expected<PricedDsc> pricedKernelOf(const spec::SuperDsc &dsc, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(Kernel kernel, analyse(dsc, device));
  PricedDsc result;
  costmodel::Kernel &priced = result.kernel;
  priced.kernelClass = classOf(kernel.op.opClass);
  priced.format = kernel.format;
  for (const auto &[dim, size] : dsc.size) {
    priced.dims.push_back(kernel.perCore(dim) * kernel.slices(dim));
    result.splits.push_back(int32_t(kernel.slices(dim)));
  }
  for (const TensorMap &input : kernel.inputs) {
    priced.inputs.push_back(tensorOf(kernel, input));
  }
  priced.output = tensorOf(kernel, kernel.output);
  for (const std::shared_ptr<const IndexMap> &index : kernel.indices) {
    KernelTensor &indices = priced.indices.emplace_back(tensorOf(kernel, index->map));
    // Their positions are counted in elements: cores may share a stick of them.
    for (HeldDim &held : indices.dims) {
      bool isStick = held.dim == dimIndex(dsc, index->map.stickDim) && !indices.sparse;
      held.perStick = isStick ? kIndexLanes : 1;
    }
  }
  priced.coreOrder = coreOrderOf(dsc);
  priced.stickDim = dimIndex(dsc, kernel.output.stickDim);
  priced.inputStickDim = dimIndex(dsc, kernel.inputs[0].stickDim);
  for (const auto &[dim, range] : dsc.masking) {
    priced.maskedElements += range.second;
  }
  switch (kernel.op.opClass) {
  case OpClass::Pointwise:
    priced.transcendental = program::isTranscendental(kernel.op.function);
    priced.vectorOperands =
        int64_t(kernel.inputs.size()) + 1 + (kernel.op.form == VectorForm::Pair ? 1 : 0);
    break;
  case OpClass::StickReduction:
  case OpClass::NonStickReduction:
    describeReduction(kernel, priced);
    break;
  case OpClass::TopK:
    priced.reducedDim = reducedDimOf(kernel);
    priced.wantsIndex = dsc.op == "topkindex";
    for (const auto &[dim, size] : dsc.size) {
      if (kernel.output.holds(dim) && !kernel.inputs[0].holds(dim)) {
        priced.topK = std::max(priced.topK, kernel.perCore(dim));
      }
    }
    break;
  case OpClass::Matmul:
    priced.reducedDim = priced.inputStickDim;
    break;
  case OpClass::Conversion:
    priced.scaled = kernel.op.constants[0] != nullptr;
    break;
  case OpClass::Convolution:
    priced.reducedDim = dimIndex(dsc, "in");
    priced.window = windowOf(kernel);
    break;
  case OpClass::Window:
    priced.window = windowOf(kernel);
    break;
  case OpClass::Scan:
    priced.reducedDim = dimIndex(dsc, "out");
    break;
  default:
    break;
  }
  SPYRE_RETURN_IF_ERROR(costmodel::checkKernel(priced));
  return result;
}

} // namespace spyre::backend
