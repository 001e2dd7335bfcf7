//===- EagerPlan.h - what is known about an operation before it is called -------------------===//
//
// Worked out at the first call of an operation and kept: which functional operation computes its
// result, how its arguments are read, whether the compiler may know it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Eager.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace spyre::plugin {

struct EagerPlan {
  explicit EagerPlan(const c10::OperatorHandle &op);

  c10::OperatorHandle op;
  c10::OperatorName name;
  std::optional<FunctionalForm> form;
  /// "aten.add.Tensor" of the functional form.
  std::string target;
  size_t arguments = 0, inputs = 0, results = 0;
  /// Arguments that an updating operation writes; their new contents are its last results.
  std::vector<size_t> updated;
  /// Arguments that only say where a result lives; one per input.
  std::vector<bool> isPlacement;
  /// A row of the compiler's table with one result.
  bool isKnown = false;
  /// Indices on the CPU are moved, as torch does for all devices.
  bool takesHostIndices = false;
  /// Tensors of several devices are part of the operation's meaning.
  bool mixesDevices = false;
  /// Makes random numbers, or results whose sizes depend on values.
  bool isForCpu = false;
  /// All results are tensors the compiler may compute.
  bool isComputed = false;
  /// Cleared when the compiler knows neither the operation nor a decomposition of it.
  mutable std::atomic<bool> mayTrace{false};
};

/// Remembered.
const EagerPlan &planOf(const c10::OperatorHandle &op);
/// What was found out about operations the compiler lacks holds no more.
void forgetUnknownOperations();

} // namespace spyre::plugin
