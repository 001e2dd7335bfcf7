//===- Report.h - a division for people and for programs ------------------------------------===//
#pragma once

#include "spyre/Base/Json.h"
#include "spyre/Solver/Division/Divide.h"

namespace spyre::solver::division {

/// What was asked, beside the operation.
struct ReportContext {
  const arch::DeviceDesc &device;
  const Options &options;
  const char *prices = "";
  /// Candidates to show; the rest is counted.
  size_t candidates = 10;
};

std::string reportText(const Outcome &outcome, const ReportContext &context);
Json reportJson(const Outcome &outcome, const ReportContext &context);

} // namespace spyre::solver::division
