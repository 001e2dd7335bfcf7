//===- KernelPrices.h - a SuperDSC as the cost model sees it --------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/CostModel/Kernel.h"
#include "spyre/Spec/SuperDsc.h"

namespace spyre::backend {

struct PricedDsc {
  costmodel::Kernel kernel;
  /// The division the SuperDSC has: slices of each dim.
  std::vector<int32_t> splits;
};

/// Errors: those of lowering (E5301, E5302, E5304, E5307), E3090 (more dims or tensors than the
/// cost model takes).
Expected<PricedDsc> pricedKernelOf(const spec::SuperDsc &dsc, const arch::DeviceDesc &device);

} // namespace spyre::backend
