//===- Compiler.cpp - the compiler for callers that must not see MLIR -----------------------===//
#include "spyre/CAPI/Compiler.h"

#include "spyre/Base/Log.h"
#include "spyre/Dialect/Graph/IR/DeviceOps.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Graph/Transforms/Gates.h"
#include "spyre/Pipelines/Pipelines.h"
#include "spyre/Solver/Division/Divide.h"

#include "Cache.h"

namespace spyre::capi {

using pipelines::Phase;

namespace {

/// Walks the phases from where the caller stands to where it wants to go.
class Driver {
public:
  Driver(const CompileOptions &options) : options(options) {}

  Status prepare() {
    pipeline.device = options.device;
    pipeline.backEnd = {options.backEndCommand, options.scratchDirectory};
    pipeline.trace = &trace;
    pipeline.culprit = &found;
    pipeline.wholeGraphLayouts = options.wholeGraphLayouts;
    pipeline.sharePool = options.sharePool;
    pipeline.symbolicArguments = options.symbolicArguments;
    pipeline.unrollLoops = options.unrollLoops;
    pipeline.kFastCores = options.kFastCores;
    pipeline.chunkLargeTensors = options.chunkLargeTensors;
    pipeline.unevenDivision = options.unevenDivision;
    pipeline.padding = options.padding;
    pipeline.explainDivision = options.explainDivision;
    pipeline.lx = options.lx;
    pipeline.lxProblem = options.lx.keepProblem ? &lxProblem : nullptr;
    SPYRE_RETURN_IF_ERROR(pipelines::lxCapacity(pipeline).status());
    pipeline.cores = options.cores == 0 ? options.device.cores : options.cores;
    SPYRE_RETURN_IF_ERROR(solver::division::checkCores(pipeline.cores, options.device));
    SPYRE_ASSIGN_OR_RETURN(pipeline.planner, solver::division::parseMode(options.planner));
    SPYRE_ASSIGN_OR_RETURN(target, pipelines::parsePhase(options.compileTo));
    return prepareUserPasses();
  }

  Status checkOrder(Phase from) const {
    return target >= from ? Status::success()
                          : error<9302>("cannot compile from phase '{}' back to '{}'",
                                        pipelines::phaseName(from), pipelines::phaseName(target));
  }

  Expected<CompileResult> fromText(Phase phase, std::string text) {
    SPYRE_RETURN_IF_ERROR(checkOrder(phase));
    keep(phase, text);
    for (Phase next = borderAfter(phase); next <= target && next <= lastText();
         next = borderAfter(phase)) {
      SPYRE_ASSIGN_OR_RETURN(text, pipelines::runIrPhases(phase, next, text, pipeline));
      phase = next;
      keep(phase, text);
    }
    if (phase == target) {
      SPYRE_RETURN_IF_ERROR(pipelines::checkIrText(text));
      Artifacts artifacts = phases;
      artifacts[std::string(pipelines::phaseName(phase)) + ".mlir"] = text;
      return finish(std::move(artifacts));
    }
    SPYRE_ASSIGN_OR_RETURN(Artifacts artifacts, pipelines::emitOpSpecs(phase, text, pipeline));
    return fromArtifacts(Phase::OpSpec, std::move(artifacts));
  }

  Expected<CompileResult> fromArtifacts(Phase phase, Artifacts artifacts) {
    SPYRE_RETURN_IF_ERROR(checkOrder(phase));
    if (phase == Phase::OpSpec && target > Phase::OpSpec) {
      SPYRE_ASSIGN_OR_RETURN(artifacts, pipelines::emitBundles(std::move(artifacts), pipeline));
      phase = Phase::Bundle;
    }
    if (phase == Phase::Bundle && target > Phase::Bundle) {
      SPYRE_ASSIGN_OR_RETURN(artifacts, pipelines::emitCode(std::move(artifacts), pipeline));
    }
    artifacts.insert(phases.begin(), phases.end());
    return finish(std::move(artifacts));
  }

  /// The documented planners refuse what they cannot divide, as documented.
  bool plansFreely() const { return pipeline.planner == solver::division::Mode::Best; }
  /// The call that the last error is about.
  const pipelines::Culprit &culprit() const { return found; }

private:
  /// The next phase whose text is wanted: the contract between front end and planners, the one to
  /// stop at, or each one.
  Phase borderAfter(Phase phase) const {
    const Phase next = Phase(int(phase) + 1);
    const Phase contract = phase < Phase::Layout ? Phase::Layout : Phase::Division;
    return options.keepPhases ? next : std::max(next, std::min(contract, target));
  }
  /// Planned loop IR is an artifact only for those who look at it.
  Phase lastText() const {
    return options.keepPhases || target == Phase::Division ? Phase::Division : Phase::Layout;
  }
  Status prepareUserPasses() {
    pipeline.userPasses.plugins = options.passPlugins;
    for (const auto &[name, text] : options.userPasses) {
      SPYRE_ASSIGN_OR_RETURN(pipelines::PassPoint point, pipelines::parsePassPoint(name));
      pipeline.userPasses.pipelines.emplace(point, text);
    }
    for (const auto &[name, functions] : options.userFunctions) {
      SPYRE_ASSIGN_OR_RETURN(pipelines::PassPoint point, pipelines::parsePassPoint(name));
      pipeline.userPasses.functions.emplace(point, functions);
    }
    return pipelines::loadUserPasses(pipeline.userPasses);
  }
  void keep(Phase phase, const std::string &text) {
    log(LogLevel::Debug, "compiler", "phase={} bytes={}", pipelines::phaseName(phase), text.size());
    if (options.keepPhases) {
      phases[fmt::format("phases/{}-{}.mlir", int(phase), pipelines::phaseName(phase))] = text;
    }
  }
  CompileResult finish(Artifacts artifacts) {
    log(LogLevel::Debug, "compiler", "done phase={} files={} decisions={}",
        pipelines::phaseName(target), artifacts.size(), trace.size());
    return {std::move(artifacts), trace.toJson(), std::move(lxProblem), false};
  }

  const CompileOptions &options;
  pipelines::Options pipeline;
  DecisionTrace trace;
  pipelines::Culprit found;
  std::string lxProblem;
  Phase target = Phase::Code;
  Artifacts phases;
};

/// Compiles a graph that was refused once more, with calls on the CPU, until it is planned or no
/// call is left to take off the device.
Expected<CompileResult> compileWithHostCalls(const std::string &graphText,
                                             const CompileOptions &options) {
  SPYRE_ASSIGN_OR_RETURN(std::string text, pipelines::withNodeLocations(graphText));
  // The error of the program as it was given; later ones are about a program with fewer calls.
  std::optional<Expected<CompileResult>> first;
  while (true) {
    Driver driver(options);
    SPYRE_RETURN_IF_ERROR(driver.prepare());
    Expected<CompileResult> result = driver.fromText(Phase::Graph, text);
    if (result.ok() || !pipelines::isPlannerRefusal(result.status()) || driver.culprit().isHinted) {
      return result;
    }
    log(LogLevel::Debug, "compiler", "refused node={} why={}", driver.culprit().node,
        result.status().message());
    SPYRE_ASSIGN_OR_RETURN(std::string fewer,
                           pipelines::refusingCalls(text, driver.culprit(), result.status()));
    if (!first) {
      first = std::move(result);
    }
    if (fewer == text) {
      return *std::move(first);
    }
    text = std::move(fewer);
  }
}

} // namespace

Expected<CompileResult> compileFromPhase(const std::string &phase, const std::string &text,
                                         const CompileOptions &options) {
  Driver driver(options);
  SPYRE_RETURN_IF_ERROR(driver.prepare());
  SPYRE_ASSIGN_OR_RETURN(Phase from, pipelines::parsePhase(phase));
  if (from > Phase::Division) {
    return error<9302>("phase '{}' is a directory; give it to compileFromArtifacts", phase);
  }
  const CompileCache cache(phase, text, options);
  if (std::optional<CompileResult> kept = cache.find()) {
    return *std::move(kept);
  }
  Expected<CompileResult> result = driver.fromText(from, text);
  const bool mayUseHost = from == Phase::Graph && driver.plansFreely();
  if (mayUseHost && !result.ok() && pipelines::isPlannerRefusal(result.status())) {
    result = compileWithHostCalls(text, options);
  }
  if (result.ok()) {
    cache.store(*result);
  }
  return result;
}

Expected<CompileResult> compileGraph(const std::string &graphText, const CompileOptions &options) {
  return compileFromPhase("graph", graphText, options);
}

bool isRefusal(const Status &status) {
  constexpr int kFirst = 1000, kLast = 3999;
  return (status.code() >= kFirst && status.code() <= kLast) || pipelines::isBackEndRefusal(status);
}

Expected<CompileResult> compileFromArtifacts(const std::string &phase, const Artifacts &artifacts,
                                             const CompileOptions &options) {
  Driver driver(options);
  SPYRE_RETURN_IF_ERROR(driver.prepare());
  SPYRE_ASSIGN_OR_RETURN(Phase from, pipelines::parsePhase(phase));
  if (from < Phase::OpSpec) {
    return error<9302>("phase '{}' is text; give it to compileFromPhase", phase);
  }
  return driver.fromArtifacts(from, artifacts);
}

Expected<std::string> describeLoops(const std::string &text) {
  return pipelines::describeLoops(text);
}

std::vector<DeviceOp> deviceOperations() {
  std::vector<DeviceOp> operations;
  for (const graph::OpRow &row : graph::deviceOpTable()) {
    DeviceOp operation{row.deviceOp, row.tensorPositions, {}};
    for (const graph::OpConstant &constant : row.constants) {
      operation.constants.emplace_back(constant.name);
    }
    operations.push_back(std::move(operation));
  }
  return operations;
}

std::string gateName(int64_t gate) {
  const bool known = gate >= 1 && gate <= int64_t(graph::kGateCount);
  return known ? graph::gateName(graph::Gate(gate)) : "unknown";
}

std::vector<OperationRow> operationTable() {
  std::vector<OperationRow> rows;
  for (const graph::OpRow &row : graph::opTable()) {
    rows.push_back({row.name,
                    graph::kindText(row.kind),
                    row.deviceOp,
                    graph::ruleText(row.types),
                    row.tensorPositions,
                    {row.attributes.begin(), row.attributes.end()}});
  }
  return rows;
}

std::vector<std::string> supportedOperations() {
  std::vector<std::string> names;
  for (const graph::OpRow &row : graph::opTable()) {
    names.push_back(row.name);
  }
  return names;
}

std::vector<std::string> computedOperations() {
  std::vector<std::string> names;
  for (const graph::OpRow &row : graph::opTable()) {
    using graph::OpKind;
    if (row.kind != OpKind::View && row.kind != OpKind::Copy && row.kind != OpKind::Fill) {
      names.push_back(row.name);
    }
  }
  return names;
}

} // namespace spyre::capi
