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
#include <unordered_map>

namespace spyre::sim {

class ProgramCache {
public:
  /// The plan of the program in [\p data, \p data + \p bytes). Error: E7006, E7019.
  Expected<PlannedProgram *> find(const char *data, uint64_t bytes, const arch::DeviceDesc &device);
  /// Programs that were decoded since the cache was made.
  uint64_t decodedPrograms() const { return decoded; }

private:
  /// Limit for the bytes of all programs; their plans are several times larger. A program has some
  /// ten kilobytes per operation.
  static constexpr uint64_t kMaxBytes = uint64_t(64) << 20;

  struct Entry {
    uint64_t hash = 0;
    std::unique_ptr<PlannedProgram> plan;
  };
  using Entries = std::list<Entry>;

  Entries::iterator lookUp(uint64_t hash, const char *data, uint64_t bytes);
  Entries::iterator add(uint64_t hash, std::unique_ptr<PlannedProgram> plan);
  void forgetOldest();

  /// Most recently used first.
  Entries plans;
  std::unordered_multimap<uint64_t, Entries::iterator> byHash;
  /// The program that was last found in a place: most launches find it there again, and its bytes
  /// need not be hashed.
  std::unordered_map<const char *, Entries::iterator> byPlace;
  uint64_t cachedBytes = 0;
  uint64_t decoded = 0;
};

} // namespace spyre::sim
