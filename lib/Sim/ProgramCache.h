//===- ProgramCache.h - programs that were decoded before -----------------------------------===//
//
// A launch finds its program in device memory, as bytes. Decoding, verifying and planning take
// longer than running a small program, so plans are kept as long as the bytes are the same; symbol
// values, which a runtime writes before each launch, are compared and taken over separately.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Plan.h"

#include <list>
#include <memory>

namespace spyre::sim {

class ProgramCache {
public:
  /// The plan of the program in [\p data, \p data + \p bytes). Error: E7006.
  Expected<PlannedProgram *> find(const char *data, uint64_t bytes, const arch::DeviceDesc &device);

private:
  static constexpr size_t kMaxPrograms = 256;
  /// Of programs; plans are several times larger.
  static constexpr uint64_t kMaxBytes = uint64_t(64) << 20;

  /// Most recently used first.
  std::list<std::unique_ptr<PlannedProgram>> plans;
  uint64_t cachedBytes = 0;
};

} // namespace spyre::sim
