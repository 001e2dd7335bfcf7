//===- KernelPrices.h - a SuperDSC as the cost model sees it --------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/CostModel/Kernel.h"
#include "spyre/Spec/SuperDsc.h"

#include <optional>

namespace spyre::backend {

/// What the price of an operation depends on beside its tensors.
struct OperationTraits {
  /// Of a reduction: that along the sticks.
  costmodel::KernelClass kernelClass = costmodel::KernelClass::Pointwise;
  bool transcendental = false;
  /// The one input holds two values per stick, and the result of a reduction does.
  bool readsPairs = false, makesPairs = false;
  /// Of a conversion: values are multiplied and shifted first.
  bool scaled = false;
};
/// Nothing for a name that is not lowered.
std::optional<OperationTraits> operationTraits(const std::string &name);

struct PricedDsc {
  costmodel::Kernel kernel;
  /// The division the SuperDSC has: slices of each dim.
  std::vector<int32_t> splits;
};

/// Errors: those of lowering (E5301, E5302, E5304, E5307), E3090 (more dims or tensors than the
/// cost model takes).
Expected<PricedDsc> pricedKernelOf(const spec::SuperDsc &dsc, const arch::DeviceDesc &device);

} // namespace spyre::backend
