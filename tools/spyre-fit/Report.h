//===- Report.h - residuals and targets of a fit, as text -----------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/CostModel/TimingRows.h"

#include <span>
#include <string>

namespace spyre::tools {

/// Every row with its residual, `fit` and `holdout` apart, the families, and the targets of
/// docs/timing.md with "met" or "missed". \p fastestDdr in GB/s.
std::string reportText(const std::vector<costmodel::TimingRow> &rows,
                       std::span<const double> predicted, const arch::DeviceDesc &device,
                       double fastestDdr);

} // namespace spyre::tools
