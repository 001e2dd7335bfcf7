//===- Pipelines.h - the compiler as a sequence of phases -----------------------------------===//
//
//   graph --spyre-graph-verify, spyre-graph-to-loop--> loop
//   loop --spyre-loop-elide-copies, spyre-loop-arrange-conversions, spyre-loop-propagate-layouts,
//          spyre-loop-elide-copy-back, spyre-loop-pad-matmul, spyre-loop-limit-vars--> layout
//   layout --(spyre-loop-span-reduction,) spyre-loop-work-distribution, (spyre-loop-plan-lx,)
//          spyre-loop-plan-pool--> division
//   division --emitSpecs--> opspec --generateBundle--> bundle --back end--> code
//
// Each contract is bytes: graph IR, loop IR with its layouts, OpSpecs and bundles are printed and
// parsed again, so nothing can bypass them. Inside of a stretch between two of them (graph to
// layout, layout to OpSpecs) the IR stays in memory, unless somebody asks for the text of a phase:
// a dumped and edited one can take the place of a computed one.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/BackEnd/ExternalBackEnd.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Decision.h"
#include "spyre/Pipelines/HostRetry.h"
#include "spyre/Pipelines/UserPasses.h"
#include "spyre/Solver/Division/Mode.h"
#include "spyre/Solver/Placement/LxPlan.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace spyre::pipelines {

enum class Phase { Graph, Loop, Layout, Division, OpSpec, Bundle, Code };

struct Options;
/// Bytes of LX that planned buffers may take, and the machine as the back end is to see it: both
/// see the same border. Error: E3102 (a budget or share the machine does not have).
Expected<int64_t> lxCapacity(const Options &options);
arch::DeviceDesc backEndDevice(const Options &options);

const char *phaseName(Phase phase);
/// Error: E9301 lists the phases.
Expected<Phase> parsePhase(const std::string &name);

struct Options {
  arch::DeviceDesc device;
  int64_t cores = 32;
  /// Who divides work over them.
  solver::division::Mode planner = solver::division::Mode::Best;
  /// Decisions list the candidates with their prices.
  bool explainDivision = false;
  /// Layouts for all operations together; places of the pool for several intermediates.
  bool wholeGraphLayouts = true, sharePool = true;
  DecisionTrace *trace = nullptr;
  /// Run for the last phase instead of our own back end; none when its command is empty.
  backend::ExternalBackEnd backEnd;
  /// How bundles are written (docs/adr/0029).
  bool symbolicArguments = false;
  bool unrollLoops = true;
  bool kFastCores = true;
  /// In the documented modes too, operations that no split brings below the span limit become loops
  /// instead of an error.
  bool chunkLargeTensors = false;
  /// Planner best may give cores slices that differ by a piece (ADR 0055).
  bool unevenDivision = false;
  /// Planner best may pad dims, or run the last rows of operations apart (ADR 0073).
  bool padding = true;
  solver::placement::LxOptions lx;
  /// Where to put the placement problem as JSON; set if lx.keepProblem.
  std::string *lxProblem = nullptr;
  /// Checked by loadUserPasses().
  UserPasses userPasses;
  /// Receives the call that an error is about; errors that no pass reports leave it unknown.
  Culprit *culprit = nullptr;
};

/// The dialects of graph and loop IR, nothing else.
void registerDialects(mlir::DialectRegistry &registry);
/// All passes and the pipeline spyre-graph-to-division-pipeline, by flag.
void registerPasses();

/// Passes that lead from \p from to the next IR phase (Graph, Loop or Layout). Errors: those of
/// lxCapacity().
Status addPasses(mlir::OpPassManager &manager, Phase from, const Options &options);

/// IR text of phase \p from to IR text of phase \p to, at most Division. Errors: E1001 (malformed
/// or hostile text) and whatever the passes report.
Expected<std::string> runIrPhases(Phase from, Phase to, const std::string &text,
                                  const Options &options);
/// IR text of phase \p from, at most Division, to "model.json" + "bundle_<i>/op_spec.txt".
Expected<Artifacts> emitOpSpecs(Phase from, const std::string &text, const Options &options);
/// Adds "bundle_<i>/bundle.mlir" and "sdsc_<n>.json" to artifacts that hold op_spec.txt.
Expected<Artifacts> emitBundles(Artifacts artifacts, const Options &options);
/// Adds "bundle_<i>/spyreCodeDir" to artifacts that hold bundles.
Expected<Artifacts> emitCode(Artifacts artifacts, const Options &options);

/// Loop IR text as a list of operations and buffers for people. Error: E1001.
Expected<std::string> describeLoops(const std::string &text);

/// Parses IR text within the limits of the project (64 MiB, nesting 256, no bytecode). Error:
/// E1001.
Status checkIrText(const std::string &text);

} // namespace spyre::pipelines
