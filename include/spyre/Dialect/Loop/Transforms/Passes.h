//===- Passes.h - planning passes on loop IR ------------------------------------------------===//
//
// Each create function takes an optional trace that collects the decisions; it must outlive the
// pass.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace spyre::loop {

std::unique_ptr<mlir::Pass> createElideCopiesPass(DecisionTrace *trace = nullptr);
std::unique_ptr<mlir::Pass> createArrangeConversionsPass(DecisionTrace *trace = nullptr);
/// \p wholeGraph: choose for all operations together, not each for itself.
std::unique_ptr<mlir::Pass> createPropagateLayoutsPass(DecisionTrace *trace = nullptr,
                                                       bool wholeGraph = true);
std::unique_ptr<mlir::Pass> createElideCopyBackPass(DecisionTrace *trace = nullptr);
std::unique_ptr<mlir::Pass> createPadMatmulPass(DecisionTrace *trace = nullptr);
std::unique_ptr<mlir::Pass> createLimitVarsPass(DecisionTrace *trace = nullptr);
std::unique_ptr<mlir::Pass> createChunkLargePass(int64_t cores, int64_t spanLimitBytes,
                                                 DecisionTrace *trace = nullptr);
std::unique_ptr<mlir::Pass> createDivideWorkPass(int64_t cores, int64_t spanLimitBytes,
                                                 DecisionTrace *trace = nullptr);
/// \p sharePlaces: intermediates that do not live at the same time may have the same place.
std::unique_ptr<mlir::Pass> createPlanPoolPass(DecisionTrace *trace = nullptr,
                                               bool sharePlaces = true);
/// \p bytesPerNs and \p overheadNs give the predicted time of a copy.
std::unique_ptr<mlir::Pass> createExplainPass(double bytesPerNs, double overheadNs,
                                              DecisionTrace *trace = nullptr);

/// Registers the passes of this folder by flag, for spyre-opt.
void registerLoopPasses();

} // namespace spyre::loop
