//===- Errors.cpp - which exception an error code becomes -----------------------------------===//
#include "Errors.h"

#include "c10/util/Exception.h"

#include <atomic>

namespace spyre::plugin {

namespace {
constexpr int kOutOfDeviceMemory = 6102, kLargerThanASegment = 6111;

/// Never released: errors may be raised while the process ends.
std::atomic<const FailureHook *> failureHook{nullptr};

/// The compiler's, the back end's and the device's errors. 6130 to 6149 are about what users give.
bool isFailure(int code) {
  return (code >= 1000 && code < 6000) || (code >= 6100 && code < 6130) ||
         (code >= 6150 && code < 6300) || (code >= 7000 && code < 8000);
}

/// True for errors of the card: something went wrong there, or contents are lost. 7001, 7030 and
/// later are about input of the simulator; 7006 and 7019 refuse a program before it runs.
bool isDeviceFault(int code) {
  if (code == 7006 || code == 7019) {
    return false;
  }
  return code == 6106 || code == 6115 || code == 6117 || code == 6119 ||
         (code >= 6150 && code < 6160) || (code >= 7002 && code < 7030);
}
} // namespace

void setFailureHook(FailureHook hook) {
  failureHook = hook ? new FailureHook(std::move(hook)) : nullptr;
}

void raise(const Status &status) {
  if (const FailureHook *hook = failureHook; hook != nullptr && isFailure(status.code())) {
    (*hook)(status.message());
  }
  if (status.code() == kOutOfDeviceMemory || status.code() == kLargerThanASegment) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, status.message());
  }
  if (isDeviceFault(status.code())) {
    throw c10::AcceleratorError({__func__, __FILE__, uint32_t(__LINE__)}, status.code(),
                                status.message());
  }
  TORCH_CHECK(false, status.message());
}

} // namespace spyre::plugin
