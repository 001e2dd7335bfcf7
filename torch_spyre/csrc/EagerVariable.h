//===- EagerVariable.h - calls whose numbers change from call to call -----------------------===//
//
// A number is part of a program: cheap for the constants of a model, a compilation per step for a
// learning rate. An operation that comes with ever new numbers gets them as tensors instead.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "EagerCall.h"

namespace spyre::plugin {

/// What came of calls that differ in numbers only.
struct NumberHistory {
  int calls = 0, refused = 0;
  std::string refusal; ///< the last one

  /// Too many for constants.
  bool isChanging() const;
  /// The compiler never took one: it is not the numbers.
  bool isHopeless() const;
};

/// Counts a call that was not seen before.
NumberHistory noteNewCall(const EagerCall &call);
void noteRefusal(const EagerCall &call, const std::string &why);
void forgetNumbers();

/// The result of the call, computed by operations on tensors. Undefined when the operation has no
/// such form.
at::Tensor runOnNumberTensors(const EagerPlan &plan, c10::ArrayRef<c10::IValue> arguments);

} // namespace spyre::plugin
