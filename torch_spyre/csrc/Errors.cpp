//===- Errors.cpp - which exception an error code becomes -----------------------------------===//
#include "Errors.h"

#include "c10/util/Exception.h"

namespace spyre::plugin {

namespace {
constexpr int kOutOfDeviceMemory = 6102, kLargerThanASegment = 6111;
} // namespace

void raise(const Status &status) {
  if (status.code() == kOutOfDeviceMemory || status.code() == kLargerThanASegment) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, status.message());
  }
  TORCH_CHECK(false, status.message());
}

} // namespace spyre::plugin
