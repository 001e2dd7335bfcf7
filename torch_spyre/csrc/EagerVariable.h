//===- EagerVariable.h - calls whose numbers change from call to call -----------------------===//
//
// A number is part of a program: cheap for the constants of a model, a compilation per step for a
// learning rate. An operation that comes with ever new numbers gets them as tensors instead.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "EagerCall.h"

namespace spyre::plugin {

/// Counts calls that were not seen before; true when too many of them differed in numbers only.
bool hasChangingNumbers(const EagerCall &call);

/// The result of the call, computed by operations on tensors. Undefined when the operation has no
/// such form.
at::Tensor runOnNumberTensors(const EagerPlan &plan, c10::ArrayRef<c10::IValue> arguments);

} // namespace spyre::plugin
