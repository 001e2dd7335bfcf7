//===- Eager.h - one torch operation on spyre tensors, without a captured graph -------------===//
#pragma once

#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/core/stack.h"

#include <functional>
#include <optional>
#include <string>

namespace spyre::plugin {

/// How an operation relates to the functional one that computes its results: itself, "foo.out"
/// (each result goes to an out argument), "foo_" (the only one goes to the first argument), or
/// updating: "foo_functional" has one result more for each argument that "foo" writes.
struct FunctionalForm {
  enum class Kind { Same, Out, InPlace, Updating };
  Kind kind;
  c10::OperatorHandle op;
};
/// Nullopt when there is no such operation, or what is written is not tensors. Remembered.
const std::optional<FunctionalForm> &functionalForm(const c10::OperatorHandle &op);

/// Runs the operation as a one-op program when the compiler knows it; false when it does not, and
/// then the stack is untouched.
bool runCompiled(const c10::OperatorHandle &op, torch::jit::Stack *stack);
/// Runs the operation on the CPU: arguments are copied there, results and changed arguments back.
/// Unless \p isFallback (a call on empty tensors is not) nothing is reported or counted. \p why may
/// end with the gate that refused.
void runOnCpu(const c10::OperatorHandle &op, torch::jit::Stack *stack, bool isFallback = true,
              const std::string &why = "");

using FallbackHook = std::function<void(const std::string &name, const std::string &why)>;
/// Called for each fallback when the CPU has its results, before anything is written to the device;
/// may throw (a warning turned error).
void setFallbackHook(FallbackHook hook);
/// Says and counts one that runs on the CPU by other means than runOnCpu.
void noteFallback(const std::string &name, const std::string &why, uint64_t bytes);
/// EAGER_MODE: when switched off every eager operation fails with E6530.
void setEagerEnabled(bool enabled);
/// Forgets all programs and refusals.
void clearEagerCache();
/// Registers kernels for the operations of the compiler's table; called once, at import.
void registerEagerKernels();

} // namespace spyre::plugin
