//===- DivisionReason.h - why an operation is divided as it is -------------------------------===//
//
// While somebody asks for explanations, each pass that divides an operation leaves its reason on
// it, so that what is told at the end is about the division that runs. Passes that search compare
// operations without it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Dialect/Loop/IR/Loop.h"

#include <optional>
#include <string>

namespace spyre::loop {

/// Attribute with the reason.
constexpr const char *kDivisionReason = "division_reason";

struct DivisionReason {
  /// The key and the detail of the decision.
  std::string reason, detail;
  /// The cheapest divisions of the operation alone, with their prices; empty when none are listed.
  std::string candidates;
};

/// Leaves the reason for the splits that \p op has now.
void setDivisionReason(ComputeOp op, const DivisionReason &reason);
/// Replaces the reason that an earlier pass has left, if there is one; its candidates are kept.
void changeDivisionReason(ComputeOp op, const Decision &decision);
/// The reason for the splits that \p op has. Splits that a pass changed without a reason say so.
std::optional<DivisionReason> divisionReasonOf(ComputeOp op);

} // namespace spyre::loop
