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
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/Model.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "OwnerCheck.h"
#include "UserFunctions.h"

#include <algorithm>
#include <array>

namespace spyre::pipelines {

namespace {

constexpr const char *kPhaseNames[] = {"graph",  "loop",   "layout", "division",
                                       "opspec", "bundle", "code"};

/// Turns what MLIR reports into a Status; our own diagnostics carry their code, MLIR's get E1001.
class DiagnosticCollector {
public:
  /// \p userPasses: passes of the user's that may be at fault, or empty.
  explicit DiagnosticCollector(mlir::MLIRContext *context, std::string userPasses = "")
      : userPasses(std::move(userPasses)), handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && first.empty()) {
            llvm::raw_string_ostream(first) << diagnostic;
            llvm::raw_string_ostream(location) << diagnostic.getLocation();
          }
          return mlir::success();
        }) {}

  Status status() const {
    size_t mark = first.find("SPYRE-E");
    if (mark != std::string::npos && first.size() >= mark + 13) {
      int code = std::atoi(first.c_str() + mark + 7);
      std::string before = first.substr(0, mark);
      return Status(code, before + first.substr(mark + 13));
    }
    if (!userPasses.empty()) {
      return error<1502>("{}: {}; the passes of the user at this point are {}", location,
                         first.empty() ? "a pass failed and did not say why" : first, userPasses);
    }
    return error<1001>("{}: {}; compare with the phase dumps of spyre-compile --dump-phases",
                       location, first.empty() ? "the text cannot be read" : first);
  }

private:
  std::string first, location;
  const std::string userPasses;
  mlir::ScopedDiagnosticHandler handler;
};

/// A context per compilation: no state survives, and text cannot name foreign dialects.
struct Session {
  Session() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
    context.loadAllAvailableDialects();
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

Expected<mlir::OwningOpRef<mlir::ModuleOp>> parseIr(const std::string &text, Session &session) {
  SPYRE_RETURN_IF_ERROR(checkIrText(text));
  DiagnosticCollector diagnostics(&session.context);
  mlir::ParserConfig config(&session.context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, config, "input");
  if (!module) {
    return diagnostics.status();
  }
  return module;
}

std::string printIr(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // The printer writes word by word.
  stream.SetBuffered();
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(true, false);
  module->print(stream, flags);
  stream << "\n";
  stream.flush();
  return text;
}

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
  mlir::PassPipelineRegistration<>("spyre-graph-to-division-pipeline",
                                   "From graph IR to planned loop IR for 32 cores.",
                                   [](mlir::OpPassManager &manager) {
                                     Options options;
                                     addPasses(manager, Phase::Graph, options);
                                     addPasses(manager, Phase::Loop, options);
                                     addPasses(manager, Phase::Layout, options);
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

static PlanLxOptions lxOptions(const Options &options) {
  // Callers that can report an error have asked before.
  const Expected<int64_t> capacity = lxCapacity(options);
  PlanLxOptions lx{options.lx, capacity.ok() ? *capacity : 0, options.cores};
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
  PlanLxOptions lx = lxOptions(options);
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

void addPasses(mlir::OpPassManager &manager, Phase from, const Options &options) {
  switch (from) {
  case Phase::Graph:
    addUserPasses(manager, PassPoint::Pre, options.userPasses);
    manager.addPass(graph::createSplitHostPass(options.trace, &options.device.extensions));
    manager.addPass(graph::createVerifyGraphPass());
    manager.addPass(graph::createDecomposePass());
    manager.addPass(graph::createMergeEqualPass());
    addUserPasses(manager, PassPoint::Post, options.userPasses);
    manager.addPass(createGraphToLoopPass());
    return;
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
    return;
  case Phase::Layout:
    addDivision(manager, options);
    addUserPasses(manager, PassPoint::PreFusion, options.userPasses);
    addUserFunctions(manager, PassPoint::PreFusion, options.userPasses, divisionSettings(options));
    if (options.lx.enabled) {
      PlanLxOptions lx = lxOptions(options);
      lx.trace = options.trace;
      lx.problem = options.lxProblem;
      manager.addPass(createPlanLxPass(lx));
      manager.addPass(loop::createNumberCoresPass(divisionSettings(options), options.trace));
    }
    manager.addPass(loop::createPlanPoolPass(options.trace, options.sharePool));
    addUserPasses(manager, PassPoint::PostFusion, options.userPasses);
    addUserFunctions(manager, PassPoint::PostFusion, options.userPasses, divisionSettings(options));
    if (options.trace) {
      const arch::Timing &timing = options.device.timing;
      manager.addPass(loop::createExplainPass(timing.ddrBytesPerCycle * timing.clockGhz,
                                              timing.barrierCycles / timing.clockGhz,
                                              options.trace));
    }
    return;
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
    addPasses(manager, phase, options);
    manager.enableVerifier(!options.userPasses.empty());
    Status owners = Status::success();
    if (phase == Phase::Layout) {
      manager.addInstrumentation(std::make_unique<OwnerCheck>(divisionSettings(options), owners));
    }
    const bool verifies = verifyLast || int(phase) + 1 < int(to);
    const bool ran = mlir::succeeded(manager.run(module));
    SPYRE_RETURN_IF_ERROR(owners);
    if (!ran || (verifies && mlir::failed(mlir::verify(module)))) {
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

/// Plans made until nothing outlives a bundle; then nothing stays in LX.
constexpr int kMostPlans = 8;

/// Where bundles end is known only when OpSpecs are made, and what stays in LX is no argument of a
/// bundle: another plan has other bundles. What would outlive one is barred and all is planned
/// again, until it holds.
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
    now.lx.enabled = plans + 1 < kMostPlans;
    for (const std::string &name : planned->acrossBundles) {
      now.lx.forbidden.push_back(name);
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

/// Bundles of the model's steps, each directory once, in order.
Expected<std::vector<spec::BundleStep>> bundlesOf(const Artifacts &artifacts) {
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(artifacts, "model.json"));
  SPYRE_ASSIGN_OR_RETURN(spec::Model model, spec::readModel(text));
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
  SPYRE_ASSIGN_OR_RETURN(std::vector<spec::BundleStep> bundles, bundlesOf(artifacts));
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
  SPYRE_ASSIGN_OR_RETURN(std::vector<spec::BundleStep> bundles, bundlesOf(artifacts));
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
