//===- OwnerCheck.h - owners and spans are judged after every pass --------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "mlir/Pass/PassInstrumentation.h"

#include <set>

namespace spyre::pipelines {

/// From work distribution on, every operation says which core has which slice, and no core reaches
/// further than the machine lets it. Judged after each pass by the library's verifier, from the
/// owners that stand in the IR; operations that have not changed are judged once.
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
  /// What was found sound: the operation as a problem, and its owners.
  std::set<std::vector<const void *>> known;
};

} // namespace spyre::pipelines
