//===- PlanMemo.cpp - see PlanMemo.h --------------------------------------------------------===//
#include "PlanMemo.h"

namespace spyre::loop {

const PlannedDivision *PlanMemo::find(ComputeOp op) {
  asked = operationKey(op);
  auto found = known.find(asked);
  return found == known.end() ? nullptr : found->second;
}

const PlannedDivision &PlanMemo::keep(PlannedDivision planned) {
  plans.push_back(std::move(planned));
  known.emplace(asked, &plans.back());
  return plans.back();
}

} // namespace spyre::loop
