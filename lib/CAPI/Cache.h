//===- Cache.h - the compilation as a function of its inputs --------------------------------===//
#pragma once

#include "spyre/CAPI/Compiler.h"
#include "spyre/Pipelines/ArtifactCache.h"

#include <optional>

namespace spyre::capi {

/// One compilation's entry in the cache of its options; without a folder it never finds anything.
/// So it is for a back end that is found on the search path: what that is may change unseen.
class CompileCache {
public:
  CompileCache(const std::string &phase, const std::string &text, const CompileOptions &options);

  std::optional<CompileResult> find() const;
  void store(const CompileResult &result) const;

private:
  std::optional<pipelines::ArtifactCache> cache;
  std::string key;
};

} // namespace spyre::capi
