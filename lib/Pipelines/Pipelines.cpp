//===- Pipelines.cpp - the compiler as a sequence of phases ---------------------------------===//
#include "spyre/Pipelines/Pipelines.h"

#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Conversion/GraphToLoop/GraphToLoop.h"
#include "spyre/Conversion/LoopToSpec/LoopToSpec.h"
#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/Transforms/Passes.h"
#include "spyre/Dialect/Loop/IR/Describe.h"
#include "spyre/Dialect/Loop/IR/Loop.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Utils/Attributes.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/Model.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "OwnerCheck.h"
#include "Session.h"
#include "UserFunctions.h"

#include <algorithm>
#include <array>

namespace spyre::pipelines {

namespace {

constexpr const char *kPhaseNames[] = {"graph",  "loop",   "layout", "division",
                                       "opspec", "bundle", "code"};

} // namespace

Expected<int64_t> lxCapacity(const Options &options) {
  const arch::DeviceDesc &device = options.device;
  const double share = options.lx.backEndShare;
  if (!(share >= 0 && share <= 1)) {
    return error<3102>("the back end is to keep {} of LX; give a share from 0 to 1 "
                       "(DXP_LX_FRAC_AVAIL)",
                       share);
  }
  const int64_t bytes = arch::plannedLxBytes(device, share);
  if (options.lx.budgetBytes < 0 || options.lx.budgetBytes > bytes) {
    return error<3102>("{} bytes of LX to plan, device '{}' leaves planners {}; give less",
                       options.lx.budgetBytes, device.name, bytes);
  }
  return options.lx.budgetBytes > 0 ? options.lx.budgetBytes : bytes;
}

arch::DeviceDesc backEndDevice(const Options &options) {
  arch::DeviceDesc device = options.device;
  if (options.lx.backEndShare != arch::kBackEndLxShare) {
    device.lxPlannerBytes = arch::plannedLxBytes(device, options.lx.backEndShare);
  }
  return device;
}

const char *phaseName(Phase phase) { return kPhaseNames[int(phase)]; }

Expected<Phase> parsePhase(const std::string &name) {
  for (int i = 0; i < int(std::size(kPhaseNames)); ++i) {
    if (name == kPhaseNames[i]) {
      return Phase(i);
    }
  }
  return error<9301>("'{}' is not a phase; the phases are {}", name, fmt::join(kPhaseNames, ", "));
}

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, loop::LoopDialect, mlir::func::FuncDialect>();
}

/// Another name of a pass, with the same options.
static void registerAlias(const char *name, std::unique_ptr<mlir::Pass> (*create)()) {
  mlir::registerPassPipeline(
      name, create()->getDescription(),
      [create](mlir::OpPassManager &manager, mlir::StringRef options,
               llvm::function_ref<mlir::LogicalResult(const mlir::Twine &)> fail) {
        std::unique_ptr<mlir::Pass> pass = create();
        if (mlir::failed(pass->initializeOptions(options, fail))) {
          return mlir::failure();
        }
        manager.addPass(std::move(pass));
        return mlir::success();
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)>) {});
}

void registerPasses() {
  graph::registerGraphPasses();
  registerGraphToLoopPass();
  registerPlanLxPass();
  loop::registerLoopPasses();
  // As the documents call them.
  registerAlias("span-reduction", [] { return loop::createSpanReductionPass(); });
  registerAlias("work-distribution", [] { return loop::createWorkDistributionPass(); });
  mlir::PassPipelineRegistration<>(
      "spyre-graph-to-division-pipeline",
      "From graph IR to planned loop IR, as spyre-compile does without options.",
      [](mlir::OpPassManager &manager) {
        Options options;
        options.device = *arch::DeviceDesc::preset("openspyre");
        options.symbolicArguments = true;
        for (Phase phase : {Phase::Graph, Phase::Loop, Phase::Layout}) {
          const Status added = addPasses(manager, phase, options);
          SPYRE_CHECK(added.ok(), "the preset has the scratchpad that the default options plan");
        }
      });
}

static loop::DivisionSettings divisionSettings(const Options &options) {
  loop::DivisionSettings settings;
  settings.device = options.device;
  settings.cores = options.cores;
  settings.mode = options.planner;
  settings.kFastCores = options.kFastCores;
  settings.explain = options.explainDivision;
  settings.uneven = options.unevenDivision;
  settings.padding = options.padding;
  // What stays in LX must be owned alike by all operations that use it; spyre-loop-number-cores
  // asks when that is known.
  settings.fastReductions = !options.lx.enabled;
  // As documented it is an option; the best planner has no reason to refuse.
  settings.tileLarge = options.chunkLargeTensors || settings.mode == solver::division::Mode::Best;
  return settings;
}

static Expected<PlanLxOptions> lxOptions(const Options &options) {
  SPYRE_ASSIGN_OR_RETURN(const int64_t capacityBytes, lxCapacity(options));
  PlanLxOptions lx{options.lx, capacityBytes, options.cores};
  lx.kFastCores = options.kFastCores;
  if (options.planner == solver::division::Mode::Best) {
    lx.device = options.device;
  }
  lx.spanLimitBytes = options.device.spanLimitBytes;
  return lx;
}

/// Divides a copy of the program and adds up what its operations take.
static Expected<double> priceOfProgram(mlir::ModuleOp module, const Options &options) {
  mlir::PassManager manager(module.getContext(), mlir::ModuleOp::getOperationName());
  manager.addPass(loop::createWorkDistributionPass(divisionSettings(options)));
  manager.enableVerifier(false);
  // What cannot be divided so is no choice, and no error of the program.
  mlir::ScopedDiagnosticHandler quiet(module.getContext(),
                                      [](mlir::Diagnostic &) { return mlir::success(); });
  if (mlir::failed(manager.run(module))) {
    return error<3065>("a choice of rows cannot be divided; the rows stay as they are");
  }
  SPYRE_ASSIGN_OR_RETURN(PlanLxOptions lx, lxOptions(options));
  lx.capacityBytes = options.lx.enabled ? lx.capacityBytes : 0;
  return predictNanoseconds(module, lx);
}

static void addDivision(mlir::OpPassManager &manager, const Options &options) {
  const loop::DivisionSettings settings = divisionSettings(options);
  manager.addPass(loop::createAssignHintsPass(options.trace));
  manager.addPass(loop::createFormNestsPass(
      bundleTensors(options.device, options.symbolicArguments, /*hasPool=*/true), options.trace));
  manager.addPass(loop::createAssignSizesPass(options.trace));
  if (settings.mode == solver::division::Mode::Best && settings.padding && settings.cores > 1) {
    Options quiet = options;
    quiet.trace = nullptr;
    quiet.explainDivision = false;
    // Candidates of rows are compared with our own solver; the user's plans the program that runs.
    quiet.lx.ownSolver = nullptr;
    quiet.lx.ownPasses.clear();
    manager.addPass(loop::createEvenRowsPass(
        settings, [quiet](mlir::ModuleOp module) { return priceOfProgram(module, quiet); },
        options.trace));
  }
  if (settings.mode != solver::division::Mode::Best) {
    manager.addPass(loop::createSpanReductionPass(settings, options.trace));
  }
  manager.addPass(loop::createWorkDistributionPass(settings, options.trace));
}

Status addPasses(mlir::OpPassManager &manager, Phase from, const Options &options) {
  switch (from) {
  case Phase::Graph:
    addUserPasses(manager, PassPoint::Pre, options.userPasses);
    manager.addPass(graph::createSplitHostPass(options.trace, &options.device.extensions));
    manager.addPass(graph::createVerifyGraphPass());
    manager.addPass(graph::createDecomposePass());
    manager.addPass(graph::createMergeEqualPass());
    addUserPasses(manager, PassPoint::Post, options.userPasses);
    manager.addPass(createGraphToLoopPass());
    return Status::success();
  case Phase::Loop:
    addUserPasses(manager, PassPoint::PreScheduling, options.userPasses);
    addUserFunctions(manager, PassPoint::PreScheduling, options.userPasses,
                     divisionSettings(options));
    manager.addPass(loop::createElideCopiesPass(options.trace));
    manager.addPass(loop::createArrangeConversionsPass(options.trace));
    manager.addPass(loop::createPropagateLayoutsPass(options.trace, options.wholeGraphLayouts));
    manager.addPass(loop::createElideCopyBackPass(options.trace));
    manager.addPass(loop::createPadMatmulPass(options.trace));
    manager.addPass(loop::createLimitVarsPass(options.trace));
    return Status::success();
  case Phase::Layout:
    addDivision(manager, options);
    addUserPasses(manager, PassPoint::PreFusion, options.userPasses);
    addUserFunctions(manager, PassPoint::PreFusion, options.userPasses, divisionSettings(options));
    if (options.lx.enabled) {
      SPYRE_ASSIGN_OR_RETURN(PlanLxOptions lx, lxOptions(options));
      lx.trace = options.trace;
      lx.problem = options.lxProblem;
      manager.addPass(createPlanLxPass(lx));
      manager.addPass(loop::createNumberCoresPass(divisionSettings(options), options.trace));
    }
    manager.addPass(loop::createPlanPoolPass(options.trace, options.sharePool));
    addUserPasses(manager, PassPoint::PostFusion, options.userPasses);
    addUserFunctions(manager, PassPoint::PostFusion, options.userPasses, divisionSettings(options));
    if (options.trace) {
      manager.addPass(loop::createExplainPass(options.device.timing, options.trace));
    }
    return Status::success();
  default:
    SPYRE_CHECK(false, "only the first three phases are pass pipelines");
  }
}

/// The passes from one phase to the other. What each phase leaves is verified; that of the last one
/// only if \p verifyLast: who reads its text verifies it. Our own passes after a user's one must
/// not meet what it broke, so then every pass is followed by the verifier. Owners of divided
/// operations are judged after every pass in any case.
static Status runPasses(Session &session, mlir::ModuleOp module, Phase from, Phase to,
                        bool verifyLast, const Options &options) {
  DiagnosticCollector diagnostics(&session.context, options.userPasses.toString());
  for (Phase phase = from; phase < to; phase = Phase(int(phase) + 1)) {
    mlir::PassManager manager(&session.context, mlir::ModuleOp::getOperationName());
    SPYRE_RETURN_IF_ERROR(addPasses(manager, phase, options));
    manager.enableVerifier(!options.userPasses.empty());
    Status owners = Status::success();
    if (phase == Phase::Layout) {
      manager.addInstrumentation(std::make_unique<OwnerCheck>(divisionSettings(options), owners));
    }
    const bool verifies = verifyLast || int(phase) + 1 < int(to);
    const bool ran = mlir::succeeded(manager.run(module));
    SPYRE_RETURN_IF_ERROR(owners);
    if (!ran || (verifies && mlir::failed(mlir::verify(module)))) {
      if (options.culprit) {
        *options.culprit = diagnostics.culprit();
      }
      return diagnostics.status();
    }
  }
  return Status::success();
}

Expected<std::string> describeLoops(const std::string &text) {
  Session session;
  SPYRE_ASSIGN_OR_RETURN(auto module, parseIr(text, session));
  return loop::describeLoops(*module);
}

namespace {

/// Planned loop IR, and the OpSpecs that are made of it.
struct Planned {
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Artifacts artifacts;
  /// What stays in LX over the end of a bundle.
  std::vector<std::string> acrossBundles;
};

Expected<std::unique_ptr<Planned>> planOnce(Phase from, const std::string &text,
                                            const Options &options) {
  auto planned = std::make_unique<Planned>();
  SPYRE_ASSIGN_OR_RETURN(planned->module, parseIr(text, planned->session));
  SPYRE_RETURN_IF_ERROR(runPasses(planned->session, *planned->module, from, Phase::Division,
                                  /*verifyLast=*/true, options));
  SPYRE_ASSIGN_OR_RETURN(int64_t lxBytes, lxCapacity(options));
  EmitSpecsOptions emission{options.symbolicArguments,
                            lxBytes,
                            options.kFastCores,
                            &planned->acrossBundles,
                            options.trace,
                            options.explainDivision,
                            options.cores};
  SPYRE_ASSIGN_OR_RETURN(planned->artifacts, emitSpecs(*planned->module, options.device, emission));
  return planned;
}

/// Adds to \p barred what it does not hold yet; false where that is nothing.
bool barAlso(std::vector<std::string> &barred, const std::vector<std::string> &names) {
  const size_t before = barred.size();
  std::copy_if(names.begin(), names.end(), std::back_inserter(barred), [&](const auto &name) {
    return std::find(barred.begin(), barred.end(), name) == barred.end();
  });
  return barred.size() > before;
}

/// Where bundles end is known only when OpSpecs are made, and what stays in LX is no argument of a
/// bundle: another plan has other bundles. What would outlive one is barred and all is planned
/// again, until it holds: at the latest when every intermediate is barred.
Expected<std::unique_ptr<Planned>> planUntilItHolds(Phase from, const std::string &text,
                                                    const Options &options) {
  Options now = options;
  // Decisions about plans that do not hold are not kept.
  DecisionTrace kept = options.trace ? *options.trace : DecisionTrace();
  for (int plans = 1;; ++plans) {
    SPYRE_ASSIGN_OR_RETURN(std::unique_ptr<Planned> planned, planOnce(from, text, now));
    if (!now.lx.enabled || now.lx.acrossBundles || from >= Phase::Division ||
        planned->acrossBundles.empty()) {
      return planned;
    }
    // A buffer that is barred already can only be one that a pass of the user put back.
    now.lx.enabled = barAlso(now.lx.forbidden, planned->acrossBundles);
    for (const std::string &name : planned->acrossBundles) {
      kept.record("plan-lx", name,
                  Decision::no("bundle-border",
                               "plan {}: it would have to outlive a bundle; all "
                               "is planned again without. Symbolic arguments make fewer bundles, "
                               "--lx-across-bundles lets it stay",
                               plans));
    }
    if (options.trace) {
      *options.trace = kept;
    }
  }
}

} // namespace

Expected<std::string> runIrPhases(Phase from, Phase to, const std::string &text,
                                  const Options &options) {
  if (to == Phase::Division && from < to && options.lx.enabled && !options.lx.acrossBundles) {
    SPYRE_ASSIGN_OR_RETURN(std::unique_ptr<Planned> planned, planUntilItHolds(from, text, options));
    return printIr(*planned->module);
  }
  Session session;
  SPYRE_ASSIGN_OR_RETURN(auto module, parseIr(text, session));
  SPYRE_RETURN_IF_ERROR(runPasses(session, *module, from, to, /*verifyLast=*/false, options));
  return printIr(*module);
}

Expected<Artifacts> emitOpSpecs(Phase from, const std::string &text, const Options &options) {
  SPYRE_ASSIGN_OR_RETURN(std::unique_ptr<Planned> planned, planUntilItHolds(from, text, options));
  return std::move(planned->artifacts);
}

namespace {

/// Bundles of the model's steps, each directory once, in order. Error: E6111 (no segment of the
/// machine holds the pool).
Expected<std::vector<spec::BundleStep>> bundlesOf(const Artifacts &artifacts,
                                                  const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(artifacts, "model.json"));
  SPYRE_ASSIGN_OR_RETURN(spec::Model model, spec::readModel(text));
  if (model.poolBytes > device.segmentBytes) {
    return error<6111>("the temporaries of the program take {} bytes, larger than a segment of {} "
                       "bytes, and can never be allocated; use a smaller batch, or cut the "
                       "function in parts (torch.compiler.disable, torch._dynamo.graph_break)",
                       model.poolBytes, device.segmentBytes);
  }
  std::vector<spec::BundleStep> bundles;
  for (const spec::ModelStep &step : model.steps) {
    const auto *bundle = std::get_if<spec::BundleStep>(&step);
    const auto isIt = [&](const spec::BundleStep &other) {
      return other.directory == bundle->directory;
    };
    if (bundle && std::none_of(bundles.begin(), bundles.end(), isIt)) {
      bundles.push_back(*bundle);
    }
  }
  return bundles;
}

} // namespace

Expected<Artifacts> emitBundles(Artifacts artifacts, const Options &options) {
  spec::BundleOptions bundleOptions{
      options.symbolicArguments, options.unrollLoops, {options.kFastCores}, options.trace};
  SPYRE_ASSIGN_OR_RETURN(std::vector<spec::BundleStep> bundles,
                         bundlesOf(artifacts, options.device));
  for (const spec::BundleStep &step : bundles) {
    const std::string &directory = step.directory;
    bundleOptions.nonTerminal = step.nonTerminal;
    std::string path = directory + "/op_spec.txt";
    SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(artifacts, path));
    Expected<spec::Kernel> kernel = spec::parseKernel(text);
    if (!kernel.ok()) {
      return kernel.status().withContext(path + ": ");
    }
    Expected<Artifacts> bundle = spec::generateBundle(*kernel, bundleOptions);
    if (!bundle.ok()) {
      return bundle.status().withContext(path + ": ");
    }
    for (auto &[name, contents] : *bundle) {
      artifacts[directory + "/" + name] = std::move(contents);
    }
  }
  return artifacts;
}

Expected<Artifacts> emitCode(Artifacts artifacts, const Options &options) {
  SPYRE_ASSIGN_OR_RETURN(std::vector<spec::BundleStep> bundles,
                         bundlesOf(artifacts, options.device));
  const arch::DeviceDesc device = backEndDevice(options);
  for (const spec::BundleStep &step : bundles) {
    const std::string &directory = step.directory;
    Artifacts bundle = subArtifacts(artifacts, directory + "/");
    Expected<Artifacts> code = options.backEnd.command.empty()
                                   ? backend::compileBundle(bundle, device)
                                   : backend::compileBundle(bundle, options.backEnd);
    if (!code.ok()) {
      return code.status().withContext(directory + ": ");
    }
    for (auto &[name, contents] : *code) {
      artifacts[directory + "/" + name] = std::move(contents);
    }
  }
  return artifacts;
}

} // namespace spyre::pipelines
