//===- spyre-compile.cpp - graph IR to a compiled model directory ---------------------------===//
//
//   spyre-compile graph.mlir -o dir                      everything
//   spyre-compile graph.mlir --compile-to=division -o -  stop early, print the IR
//   spyre-compile graph.mlir --dump-phases=phases -o dir also write every phase
//   spyre-compile phases/2-layout.mlir --from=layout -o dir
//   spyre-compile dir --from=opspec -o dir2              from an edited directory
//   spyre-compile graph.mlir --load-pass-plugin=lib.so --passes=post=my-pass -o dir
//===--------------------------------------------------------------------------------------------===//
#include "spyre/CAPI/Compiler.h"
#include "spyre/CAPI/Explain.h"
#include "spyre/Solver/Division/Divide.h"
#include "spyre/Spec/Model.h"

#include "CLI/CLI.hpp"

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace {

using spyre::Artifacts;
using spyre::Expected;
using spyre::Status;

struct Arguments {
  std::string input, output, device = "openspyre", from = "graph", compileTo = "code";
  std::string planner = "best";
  std::string dumpPhases, traceDecisions, explain, dumpOpSpec, dumpSteps, backEndCommand;
  std::vector<std::string> passPlugins, passes;
  std::string cacheDirectory;
  std::optional<std::string> cores;
  int64_t cacheLimitMb = int64_t(spyre::capi::kDefaultCacheLimitBytes >> 20);
  bool useCache = true;
  spyre::solver::placement::LxOptions lx;
  std::vector<std::string> lxPins;
  std::string dumpLxProblem;
  bool symbolicArguments = true, unrollLoops = true, kFastCores = true, chunkLargeTensors = false;
  bool unevenDivision = false, padding = true;
};

/// Below the user's folder of caches; empty when there is none.
std::string defaultCacheDirectory() {
  auto folder = [](const char *variable, const char *below) -> std::string {
    const char *value = std::getenv(variable);
    return value != nullptr && *value == '/' ? std::string(value) + below : "";
  };
  std::string directory = folder("XDG_CACHE_HOME", "/openspyre");
  return directory.empty() ? folder("HOME", "/.cache/openspyre") : directory;
}

/// "post=my-pass{limit=3}" -> point and passes; a point may be named again.
Status addPasses(const std::vector<std::string> &texts, spyre::capi::CompileOptions &options) {
  for (const std::string &text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return spyre::error<1502>("'{}' does not say where its passes run; give POINT=PASSES", text);
    }
    std::string &passes = options.userPasses[text.substr(0, equals)];
    passes += (passes.empty() ? "" : ",") + text.substr(equals + 1);
  }
  return Status::success();
}

/// "name=address" -> pins.
Status addPins(const std::vector<std::string> &texts, spyre::solver::placement::LxOptions &lx) {
  for (const std::string &text : texts) {
    const size_t equals = text.rfind('=');
    char *end = nullptr;
    const char *digits = equals == std::string::npos ? "" : text.c_str() + equals + 1;
    const long long address = std::strtoll(digits, &end, 0);
    if (*digits == '\0' || *end != '\0' || address < 0) {
      return spyre::error<3100>("'{}' is no pin; give BUFFER=ADDRESS", text);
    }
    lx.pins[text.substr(0, equals)] = address;
  }
  return Status::success();
}

bool isTextPhase(const std::string &phase) {
  return phase == "graph" || phase == "loop" || phase == "layout" || phase == "division";
}

/// Files below "phases/" go to their own directory, never into the model.
Status writePhases(Artifacts &artifacts, const std::string &directory) {
  Artifacts phases = spyre::subArtifacts(artifacts, "phases/");
  std::erase_if(artifacts, [](const auto &entry) { return entry.first.rfind("phases/", 0) == 0; });
  if (directory.empty()) {
    return Status::success();
  }
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  for (const auto &[name, contents] : phases) {
    SPYRE_RETURN_IF_ERROR(spyre::writeFile(std::filesystem::path(directory) / name, contents));
  }
  return Status::success();
}

Status writeOpSpecs(const Artifacts &artifacts, const std::string &path) {
  std::string text;
  for (const auto &[name, contents] : artifacts) {
    if (name.ends_with("/op_spec.txt")) {
      text += "# " + name + "\n" + contents;
    }
  }
  return spyre::writeFile(path, text);
}

Status writeSteps(const Artifacts &artifacts, const std::string &path) {
  SPYRE_ASSIGN_OR_RETURN(std::string text, spyre::findArtifact(artifacts, "model.json"));
  SPYRE_ASSIGN_OR_RETURN(spyre::spec::Model model, spyre::spec::readModel(text));
  return spyre::writeFile(path, spyre::spec::describeSteps(model));
}

Expected<spyre::capi::CompileResult> compile(const Arguments &arguments,
                                             const spyre::capi::CompileOptions &options) {
  if (isTextPhase(arguments.from)) {
    SPYRE_ASSIGN_OR_RETURN(std::string text, spyre::readFile(arguments.input));
    return spyre::capi::compileFromPhase(arguments.from, text, options);
  }
  SPYRE_ASSIGN_OR_RETURN(Artifacts artifacts, spyre::readDirectory(arguments.input));
  return spyre::capi::compileFromArtifacts(arguments.from, artifacts, options);
}

/// Nothing asked for is 0: all cores. Errors: E3061.
Expected<int64_t> coresOf(const Arguments &arguments, const spyre::arch::DeviceDesc &device) {
  const char *variable = std::getenv("SENCORES");
  if (!arguments.cores && !variable) {
    return int64_t(0);
  }
  return spyre::solver::division::parseCores(arguments.cores.value_or(variable ? variable : ""),
                                             device);
}

Status run(const Arguments &arguments) {
  spyre::capi::CompileOptions options;
  SPYRE_ASSIGN_OR_RETURN(options.device, spyre::arch::DeviceDesc::load(arguments.device));
  SPYRE_ASSIGN_OR_RETURN(options.cores, coresOf(arguments, options.device));
  options.planner = arguments.planner;
  options.explainDivision = !arguments.explain.empty() || !arguments.traceDecisions.empty();
  options.compileTo = arguments.compileTo;
  options.symbolicArguments = arguments.symbolicArguments;
  options.unrollLoops = arguments.unrollLoops;
  options.kFastCores = arguments.kFastCores;
  options.chunkLargeTensors = arguments.chunkLargeTensors;
  options.unevenDivision = arguments.unevenDivision;
  options.padding = arguments.padding;
  options.lx = arguments.lx;
  options.lx.keepProblem = !arguments.dumpLxProblem.empty();
  SPYRE_RETURN_IF_ERROR(addPins(arguments.lxPins, options.lx));
  options.keepPhases = !arguments.dumpPhases.empty();
  options.backEndCommand = arguments.backEndCommand;
  options.scratchDirectory = std::filesystem::temp_directory_path().string();
  options.passPlugins = arguments.passPlugins;
  SPYRE_RETURN_IF_ERROR(addPasses(arguments.passes, options));
  if (arguments.useCache) {
    options.cacheDirectory =
        arguments.cacheDirectory.empty() ? defaultCacheDirectory() : arguments.cacheDirectory;
    options.cacheLimitBytes = uint64_t(arguments.cacheLimitMb) << 20;
  }
  SPYRE_ASSIGN_OR_RETURN(spyre::capi::CompileResult result, compile(arguments, options));
  SPYRE_RETURN_IF_ERROR(writePhases(result.artifacts, arguments.dumpPhases));
  if (!arguments.traceDecisions.empty()) {
    SPYRE_RETURN_IF_ERROR(spyre::writeFile(arguments.traceDecisions, result.decisionsJson));
  }
  if (!arguments.explain.empty()) {
    SPYRE_ASSIGN_OR_RETURN(
        std::string text,
        spyre::capi::explanationText(result.decisionsJson, result.artifacts, options.device));
    SPYRE_RETURN_IF_ERROR(spyre::writeFile(arguments.explain, text));
  }
  if (!arguments.dumpLxProblem.empty()) {
    SPYRE_RETURN_IF_ERROR(spyre::writeFile(arguments.dumpLxProblem, result.lxProblemJson));
  }
  if (!arguments.dumpOpSpec.empty()) {
    SPYRE_RETURN_IF_ERROR(writeOpSpecs(result.artifacts, arguments.dumpOpSpec));
  }
  if (!arguments.dumpSteps.empty()) {
    SPYRE_RETURN_IF_ERROR(writeSteps(result.artifacts, arguments.dumpSteps));
  }
  if (isTextPhase(arguments.compileTo)) {
    return spyre::writeFile(arguments.output, result.artifacts.begin()->second);
  }
  return spyre::writeToDirectory(result.artifacts, arguments.output);
}

void addLxOptions(CLI::App &app, Arguments &arguments) {
  spyre::solver::placement::LxOptions &lx = arguments.lx;
  const char *group = "Scratchpad planning";
  app.add_flag("--lx-across-bundles", lx.acrossBundles,
               "What stays may outlive a bundle, which is then marked non_terminal")
      ->group(group);
  app.add_flag("--lx-planning,!--no-lx-planning", lx.enabled,
               "Keep intermediates in the cores' scratchpads (on)")
      ->envname("LX_PLANNING")
      ->group(group);
  app.add_flag("--lx-compat", lx.compat,
               "Plan as the documents do: copies of inputs in front, then a one-pass solver")
      ->group(group);
  app.add_option("--lx-solver", lx.solver,
                 "greedy, firstfit, bestfit, simulated_annealing, exact or a registered one")
      ->group(group);
  app.add_option("--lx-frac-avail", lx.backEndShare, "Share of LX the back end keeps")
      ->envname("DXP_LX_FRAC_AVAIL")
      ->group(group);
  app.add_option("--lx-budget-bytes", lx.budgetBytes, "What if a core had only this much to plan")
      ->group(group);
  app.add_option("--lx-pin", arguments.lxPins, "BUFFER=ADDRESS: it is there or not in LX")
      ->group(group);
  app.add_option("--lx-forbid", lx.forbidden, "Buffer that is not to stay in LX")->group(group);
  app.add_option("--lx-ops", lx.allowedOps, "Operations whose results may stay (all)")
      ->delimiter(',')
      ->group(group);
  app.add_flag("--lx-all-ops", lx.allOps,
               "With --lx-compat: results of all operations may stay, not only of the documented")
      ->group(group);
  app.add_option("--lx-passes", lx.passes, "Registered passes that run before and after planning")
      ->delimiter(',')
      ->group(group);
  app.add_option("--lx-in-place-ops", lx.inPlaceOps,
                 "Operations that may write over an operand (all element-wise ones)")
      ->delimiter(',')
      ->group(group);
  app.add_flag("!--no-lx-in-place", lx.inPlace, "No result takes an operand's place")->group(group);
  app.add_flag("!--no-lx-input-clones", lx.inputClones, "No copies of inputs")->group(group);
  app.add_flag("!--no-lx-output-clones", lx.outputClones, "No copies of outputs")->group(group);
  app.add_flag("!--no-lx-divide-together", lx.divideTogether,
               "Operations keep the divisions that are cheapest for each alone")
      ->group(group);
  app.add_flag("--lx-move-splits", lx.coOptimize,
               "Also try other divisions: splits moved to other output dimensions")
      ->envname("CO_OPTIMIZING_LX_PLANNING")
      ->group(group);
  app.add_option("--dump-lx-problem", arguments.dumpLxProblem,
                 "File for the placement problem, for spyre-plan ('-' prints it)")
      ->group(group);
}

constexpr const char *kFooter =
    R"(Exit codes: 0 done, 1 the input is at fault, 2 wrong usage or an internal fault.

Examples:
  spyre-compile graph.mlir -o model
  spyre-compile graph.mlir -o model --cores 16 --explain -
  spyre-compile graph.mlir --compile-to=division -o -
  spyre-compile graph.mlir --dump-phases=phases -o model
  spyre-compile phases/2-layout.mlir --from=layout -o model
  spyre-compile graph.mlir -o model --dump-lx-problem p.json)";

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  CLI::App app("Compiles graph IR to a model directory that spyre-run executes.");
  app.add_option("input", arguments.input, "IR text ('-' is standard input) or a directory")
      ->required();
  app.add_option("-o,--output", arguments.output,
                 "Model directory, or a file for an early IR phase")
      ->required();
  app.add_option("--device", arguments.device,
                 "Device preset (spyre, openspyre, tiny) or JSON file");
  app.add_option("--cores", arguments.cores,
                 "Cores to divide work over (default: $SENCORES, or all)");
  app.add_option("--planner", arguments.planner,
                 "Who divides work over the cores: best (default), compat (as documented) or "
                 "compat-s1 (with the later pass for matrix products)")
      ->envname("SPYRE_PLANNER");
  app.add_option("--backend-cmd", arguments.backEndCommand,
                 "Another back end, run as CMD --bundle -d DIR; empty means the built-in one")
      ->envname("SPYRE_BACKEND_CMD");
  app.add_option("--load-pass-plugin", arguments.passPlugins,
                 "Shared library with passes; may be given again");
  app.add_option("--passes", arguments.passes,
                 "POINT=PASSES: passes of the plug-ins to run at pre, post, pre-scheduling, "
                 "pre-fusion or post-fusion; may be given again");
  app.add_flag("--cache,!--no-cache", arguments.useCache,
               "Keep compiled models and take them from the cache (on)")
      ->envname("SPYRE_CACHE");
  app.add_option("--cache-dir", arguments.cacheDirectory,
                 "Folder of the cache; empty means openspyre below the user's cache folder")
      ->envname("SPYRE_CACHE_DIR");
  app.add_option("--cache-limit-mb", arguments.cacheLimitMb, "Size at which old entries go")
      ->envname("SPYRE_CACHE_LIMIT_MB")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  app.add_flag("--symbolic-args,!--baked-args", arguments.symbolicArguments,
               "Addresses of tensors are symbols of each call and bundles end at CPU steps only "
               "(default), or each tensor has a segment of its own")
      ->envname("BUNDLE_SYMBOLIC_ARGS");
  app.add_flag("--unroll-loops,!--keep-loops", arguments.unrollLoops,
               "One operation per iteration (default), or scf.for where addresses allow it")
      ->envname("UNROLL_LOOPS");
  app.add_flag("--chunk-large-tensors", arguments.chunkLargeTensors,
               "Operations beyond the span limit of the cores run in loops instead of an error")
      ->envname("CHUNK_LARGE_TENSORS");
  app.add_flag("--uneven", arguments.unevenDivision,
               "Planner best may give cores slices that differ by a piece, where that is cheaper")
      ->envname("SPYRE_UNEVEN_DIVISION");
  app.add_flag("--padding,!--no-padding", arguments.padding,
               "Planner best may pad dims, or run the last rows apart, where that is cheaper "
               "(default)")
      ->envname("SPYRE_PADDING");
  app.add_flag("--k-fast-cores,!--plain-core-order", arguments.kFastCores,
               "Number the cores of a matmul by K (default), or by its first dimension")
      ->envname("SPYRE_CORE_ID_K_FAST_EMISSION");
  addLxOptions(app, arguments);
  app.add_option("--from", arguments.from,
                 "Phase of the input: graph, loop, layout, division, opspec, bundle");
  app.add_option("--compile-to", arguments.compileTo,
                 "Last phase: graph, loop, layout, division, opspec, bundle, code");
  app.add_option("--dump-phases", arguments.dumpPhases, "Directory for the IR of every phase");
  app.add_option("--dump-opspec", arguments.dumpOpSpec, "File for the OpSpecs ('-' prints them)");
  app.add_option("--dump-steps", arguments.dumpSteps,
                 "File for the model's steps, one per line ('-' prints them)");
  app.add_option("--trace-decisions", arguments.traceDecisions,
                 "File for the decision trace (JSON)");
  app.add_option("--explain", arguments.explain,
                 "File for what is moved and why, with bytes and predicted time ('-' prints it)");
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &failure) {
    return app.exit(failure) == 0 ? 0 : 2;
  }
  Status status = run(arguments);
  if (!status.ok()) {
    std::cerr << "spyre-compile: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
