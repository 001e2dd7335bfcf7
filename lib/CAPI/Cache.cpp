//===- Cache.cpp - the compilation as a function of its inputs ------------------------------===//
#include "Cache.h"

#include "spyre/Pipelines/BuildId.h"

#include <sstream>

namespace spyre::capi {

namespace {

/// Stands beside the artifacts in an entry; a path of an artifact never begins with a slash.
constexpr const char *kDecisions = "/decisions.json";
constexpr const char *kLxProblem = "/lx-problem.json";

/// Files a command names enter the key with their contents.
bool addCommand(pipelines::CacheKey &key, const std::string &command) {
  key.add("back end", command);
  std::istringstream words(command);
  bool isFirst = true;
  for (std::string word; words >> word; isFirst = false) {
    if (word.find('/') == std::string::npos) {
      if (isFirst) {
        return false;
      }
      continue;
    }
    if (Expected<std::string> contents = readFile(word); contents.ok()) {
      key.add(word, *contents);
    }
  }
  return true;
}

/// False when code outside of the compiler takes part: its answers may differ from run to run.
bool addLx(pipelines::CacheKey &key, const solver::placement::LxOptions &lx) {
  // A new field makes this line fail to compile: does it change what is compiled?
  const auto &[enabled, compat, solver, budgetBytes, backEndShare, allowedOps, allOps, inPlace,
               inPlaceOps, inputClones, outputClones, pins, forbidden, coOptimize, divideTogether,
               passes, ownSolver, ownPasses, acrossBundles, keepProblem] = lx;
  key.add("lx", fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", coOptimize, divideTogether,
                            enabled, compat, budgetBytes, backEndShare, inPlace, inputClones,
                            outputClones, acrossBundles, keepProblem, allOps));
  key.add("lx solver", solver);
  for (const std::vector<std::string> *names : {&allowedOps, &inPlaceOps, &forbidden, &passes}) {
    key.add("lx names", fmt::format("{}", names->size()));
    for (const std::string &name : *names) {
      key.add("name", name);
    }
  }
  for (const auto &[name, address] : pins) {
    key.add("pin " + name, std::to_string(address));
  }
  return ownSolver == nullptr && ownPasses.empty();
}

/// False when something that decides the result cannot be known.
bool addOptions(pipelines::CacheKey &key, const CompileOptions &options) {
  // A new field makes this line fail to compile: does it change what is compiled?
  const auto &[device, cores, planner, explainDivision, wholeGraphLayouts, sharePool, compileTo,
               keepPhases, backEndCommand, scratchDirectory, symbolicArguments, unrollLoops,
               kFastCores, chunkLargeTensors, unevenDivision, padding, lx, passPlugins, userPasses,
               userFunctions, cacheDirectory, cacheLimitBytes] = options;
  key.add("device", device.toJson());
  key.add("cores", std::to_string(cores == 0 ? device.cores : cores));
  key.add("planner", planner);
  key.add("explain division", explainDivision ? "1" : "0");
  key.add("whole graph layouts", wholeGraphLayouts ? "1" : "0");
  key.add("share pool", sharePool ? "1" : "0");
  key.add("symbolic arguments", symbolicArguments ? "1" : "0");
  key.add("unroll loops", unrollLoops ? "1" : "0");
  key.add("k-fast cores", kFastCores ? "1" : "0");
  key.add("chunk large tensors", chunkLargeTensors ? "1" : "0");
  key.add("uneven division", unevenDivision ? "1" : "0");
  key.add("padding", padding ? "1" : "0");
  if (!addLx(key, lx) || !userFunctions.empty()) {
    return false;
  }
  key.add("compile to", compileTo);
  key.add("keep phases", keepPhases ? "1" : "0");
  for (const std::string &plugin : passPlugins) {
    Expected<std::string> contents = readFile(plugin);
    if (!contents.ok()) {
      return false;
    }
    key.add("plug-in", *contents);
  }
  for (const auto &[point, passes] : userPasses) {
    key.add("passes " + point, passes);
  }
  return addCommand(key, backEndCommand);
}

} // namespace

CompileCache::CompileCache(const std::string &phase, const std::string &text,
                           const CompileOptions &options) {
  if (options.cacheDirectory.empty()) {
    return;
  }
  pipelines::CacheKey parts;
  parts.add("build", pipelines::buildId());
  parts.add(phase, text);
  if (addOptions(parts, options)) {
    key = parts.text();
    cache.emplace(options.cacheDirectory, options.cacheLimitBytes);
  }
}

std::optional<CompileResult> CompileCache::find() const {
  std::optional<Artifacts> entry = cache ? cache->find(key) : std::nullopt;
  if (!entry) {
    return std::nullopt;
  }
  auto decisions = entry->extract(kDecisions);
  if (decisions.empty()) {
    return std::nullopt;
  }
  auto problem = entry->extract(kLxProblem);
  return CompileResult{*std::move(entry), std::move(decisions.mapped()),
                       problem.empty() ? "" : std::move(problem.mapped()), true};
}

void CompileCache::store(const CompileResult &result) const {
  if (cache) {
    Artifacts entry = result.artifacts;
    entry[kDecisions] = result.decisionsJson;
    if (!result.lxProblemJson.empty()) {
      entry[kLxProblem] = result.lxProblemJson;
    }
    cache->store(key, entry);
  }
}

} // namespace spyre::capi
