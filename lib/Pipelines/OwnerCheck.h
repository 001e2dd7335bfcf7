//===- OwnerCheck.h - owners and spans are judged after every pass --------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "llvm/ADT/Hashing.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <unordered_set>
#include <vector>

namespace spyre::pipelines {

/// From work distribution on, every operation says which core has which slice, and no core reaches
/// further than the machine lets it. What a later pass adds or changes is judged by the library's
/// verifier, from the owners that stand in the IR.
class OwnerCheck : public mlir::PassInstrumentation {
public:
  /// \p verdict gets the first fault, with the name of the pass: E3144 (no owners, or none that can
  /// be), E3061, E3064, E3070, E3072 (as for plans).
  OwnerCheck(loop::DivisionSettings settings, Status &verdict)
      : settings(std::move(settings)), verdict(verdict) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  const loop::DivisionSettings settings;
  Status &verdict;
  bool isDivided = false;
  /// All that the verdict on an operation depends on; attributes of one context are unique.
  using Key = std::vector<const void *>;
  struct KeyHash {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };
  static void fill(Key &key, mlir::Operation *op);
  /// Of what was found sound.
  std::unordered_set<Key, KeyHash> known;
};

} // namespace spyre::pipelines
