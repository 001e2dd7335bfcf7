//===- Errors.h - Status of the libraries becomes an exception at the torch border ----------===//
//
// The libraries return Status; torch wants exceptions. The text, code included, stays the same. Out
// of memory and faults of the device have their own torch types, and what the compiler cannot
// handle its own Python type.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <functional>
#include <stdexcept>
#include <string>

namespace spyre::plugin {

/// Becomes torch_spyre._inductor.errors.Unsupported in Python.
class UnsupportedError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Told of failures of compilations, launches and the device, not of refused arguments, before they
/// are raised; called without Python's lock held or not. Null: nobody.
using FailureHook = std::function<void(const std::string &message)>;
void setFailureHook(FailureHook hook);

[[noreturn]] void raise(const Status &status);

inline void check(const Status &status) {
  if (!status.ok()) [[unlikely]] {
    raise(status);
  }
}

template <typename T>
T check(Expected<T> value) {
  if (!value.ok()) [[unlikely]] {
    raise(value.status());
  }
  return *std::move(value);
}

/// True for the errors of the five gates, with which the compiler says "I do not know this":
/// operation, arguments, dtype, shape, device operation.
inline bool isUnsupported(const Status &status) {
  return status.code() >= 1002 && status.code() <= 1007 && status.code() != 1006;
}

} // namespace spyre::plugin
