//===- Passes.h - planning passes on loop IR ------------------------------------------------===//
//
// Each create function takes an optional trace that collects the decisions; it must outlive the
// pass.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Decision.h"
#include "spyre/Base/Status.h"
#include "spyre/Solver/Division/Mode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <functional>
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

/// How work is divided.
struct DivisionSettings {
  arch::DeviceDesc device;
  int64_t cores = 32;
  solver::division::Mode mode = solver::division::Mode::Best;
  /// Off: the documented modes stop after span reduction.
  bool distribute = true;
  /// Operations no division brings below the span limit run in tiles, instead of an error.
  bool tileLarge = true;
  /// Partners of a split K have consecutive cores; `best` may do so with other reductions.
  bool kFastCores = true, fastReductions = true;
  /// `best` may pad a dim where a result has or can be given the room (docs/adr/0063).
  bool padding = true;
  /// `best` may give cores slices that differ by a piece (docs/adr/0055).
  bool uneven = false;
  /// Decisions list the candidates with their prices, and how the documented plan compares.
  bool explain = false;
};
std::unique_ptr<mlir::Pass> createAssignHintsPass(DecisionTrace *trace = nullptr);
/// \p mostTensors: of a bundle, beside the pool.
std::unique_ptr<mlir::Pass> createFormNestsPass(int64_t mostTensors, DecisionTrace *trace);
std::unique_ptr<mlir::Pass> createFormNestsPass();
std::unique_ptr<mlir::Pass> createAssignSizesPass(DecisionTrace *trace = nullptr);
/// Divides the operations of a module and says what all of them take, in nanoseconds.
using ProgramPrice = std::function<Expected<double>(mlir::ModuleOp)>;
/// Rows that cores cannot share are padded or run in two parts, where \p price says that the
/// program is cheaper so.
std::unique_ptr<mlir::Pass> createEvenRowsPass(const DivisionSettings &settings, ProgramPrice price,
                                               DecisionTrace *trace = nullptr);
/// With the settings of its options, without asking for a price.
std::unique_ptr<mlir::Pass> createEvenRowsPass();
/// Of the documented modes.
std::unique_ptr<mlir::Pass> createSpanReductionPass(const DivisionSettings &settings,
                                                    DecisionTrace *trace = nullptr);
std::unique_ptr<mlir::Pass> createWorkDistributionPass(const DivisionSettings &settings,
                                                       DecisionTrace *trace = nullptr);
/// Behind the plan of LX.
std::unique_ptr<mlir::Pass> createNumberCoresPass(const DivisionSettings &settings,
                                                  DecisionTrace *trace = nullptr);
/// With the settings of their options.
std::unique_ptr<mlir::Pass> createNumberCoresPass();
std::unique_ptr<mlir::Pass> createSpanReductionPass();
std::unique_ptr<mlir::Pass> createWorkDistributionPass();
/// \p sharePlaces: intermediates that do not live at the same time may have the same place.
std::unique_ptr<mlir::Pass> createPlanPoolPass(DecisionTrace *trace = nullptr,
                                               bool sharePlaces = true);
/// \p timing gives the predicted time of a copy.
std::unique_ptr<mlir::Pass> createExplainPass(const arch::Timing &timing,
                                              DecisionTrace *trace = nullptr);
/// For the preset openspyre.
std::unique_ptr<mlir::Pass> createExplainPass();

/// Registers the passes of this folder by flag, for spyre-opt.
void registerLoopPasses();

} // namespace spyre::loop
