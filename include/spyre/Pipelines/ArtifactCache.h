//===- ArtifactCache.h - compiled artifacts that outlive the process ------------------------===//
//
// A folder of entries, each named by the hash of everything its contents depend on. Nothing in it
// is trusted: an entry that is cut, changed or not ours is a miss and is removed. Entries appear by
// rename, so any number of processes may share a folder. No fault of the folder (read only, full,
// missing) is an error of the compilation: it then does without.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace spyre::pipelines {

/// Hash over named parts; their order matters, and no two lists of parts give the same bytes.
class CacheKey {
public:
  CacheKey();
  ~CacheKey();
  CacheKey(const CacheKey &) = delete;
  CacheKey &operator=(const CacheKey &) = delete;

  void add(std::string_view name, std::string_view bytes);
  /// 64 hexadecimal digits.
  std::string text() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

class ArtifactCache {
public:
  /// Entries are removed, longest unused first, when all of them exceed \p limitBytes.
  ArtifactCache(std::filesystem::path directory, uint64_t limitBytes);

  /// What was stored under \p key (a CacheKey::text()), if it is whole; marks it as used.
  std::optional<Artifacts> find(const std::string &key) const;
  /// Keeps \p artifacts unless they alone exceed the limit or the folder cannot be written.
  void store(const std::string &key, const Artifacts &artifacts) const;
  /// Removes entries until the rest fits. store() calls it often enough that a process exceeds the
  /// limit by at most 1/64 of it.
  void evict() const;

private:
  std::filesystem::path pathOf(const std::string &key) const;

  std::filesystem::path root;
  uint64_t limitBytes;
};

} // namespace spyre::pipelines
