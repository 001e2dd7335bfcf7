//===- PlanMemo.cpp - see PlanMemo.h --------------------------------------------------------===//
#include "PlanMemo.h"

namespace spyre::loop {

const PlannedDivision *PlanMemo::find(const OperationKey &key) const {
  const auto found = known.find(key);
  return found == known.end() ? nullptr : found->second;
}

const PlannedDivision &PlanMemo::keep(OperationKey key, PlannedDivision planned) {
  plans.push_back(std::move(planned));
  known.insert_or_assign(std::move(key), &plans.back());
  return plans.back();
}

} // namespace spyre::loop
