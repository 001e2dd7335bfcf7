//===- PlanMemo.cpp - keys of operations ----------------------------------------------------===//
#include "PlanMemo.h"

#include "spyre/Dialect/Loop/IR/Owners.h"

#include "GrowOutput.h"

namespace spyre::loop {

/// What an earlier run of the passes left is no part of the question.
static bool isResult(llvm::StringRef name) {
  return name == "splits" || name == kOwners || name == kUneven || name == kWhy;
}

PlanMemo::Key PlanMemo::keyOf(ComputeOp op) {
  Key key;
  // Inherent attributes and discardable ones, such as tiles.
  for (mlir::NamedAttribute attribute : op->getAttrDictionary()) {
    if (!isResult(attribute.getName())) {
      key.push_back(attribute.getName().getAsOpaquePointer());
      key.push_back(attribute.getValue().getAsOpaquePointer());
    }
  }
  for (unsigned i = 0; i < operandCount(op); ++i) {
    BufferOp buffer = operandBuffer(op, i);
    key.push_back(buffer.getLayoutAttr().getAsOpaquePointer());
    key.push_back(buffer.getResult().getType().getAsOpaquePointer());
    key.push_back(buffer.getStrideAttr().getAsOpaquePointer());
  }
  // Whether the result may be given room depends on its readers.
  const bool grows = op.getCallee() == kCopy && mayGrow(op);
  key.push_back(grows ? op.getCalleeAttr().getAsOpaquePointer() : nullptr);
  return key;
}

const PlannedDivision *PlanMemo::find(ComputeOp op) {
  asked = keyOf(op);
  auto found = known.find(asked);
  return found == known.end() ? nullptr : found->second;
}

const PlannedDivision &PlanMemo::keep(PlannedDivision planned) {
  plans.push_back(std::move(planned));
  known.emplace(asked, &plans.back());
  return plans.back();
}

} // namespace spyre::loop
