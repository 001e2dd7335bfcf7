//===- UserPasses.cpp - passes of users' shared libraries in our pipeline -------------------===//
#include "spyre/Pipelines/UserPasses.h"

#include "spyre/Base/Artifacts.h"
#include "spyre/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

namespace spyre::pipelines {

namespace {

constexpr const char *kPointNames[] = {"pre", "post", "pre-scheduling", "pre-fusion",
                                       "post-fusion"};

/// Libraries of the process, by path, with the hash of the file when it was loaded. They are never
/// unloaded: the registry points into them.
struct Loaded {
  std::mutex mutex;
  std::map<std::string, std::string> hashes;
};

Loaded &loaded() {
  static Loaded *instance = new Loaded();
  return *instance;
}

Status loadPlugin(const std::string &path) {
  SPYRE_ASSIGN_OR_RETURN(std::string contents, readFile(path));
  const std::string hash = contentHash(contents);
  std::lock_guard<std::mutex> lock(loaded().mutex);
  if (auto found = loaded().hashes.find(path); found != loaded().hashes.end()) {
    return found->second == hash
               ? Status::success()
               : error<1501>("{} was changed after this process had loaded it; start again", path);
  }
  llvm::Expected<mlir::PassPlugin> plugin = mlir::PassPlugin::load(path);
  if (!plugin) {
    return error<1501>("{} cannot be loaded as a library of passes: {}; it must export "
                       "mlirGetPassPluginInfo and be built with the MLIR of this compiler",
                       path, llvm::toString(plugin.takeError()));
  }
  plugin->registerPassRegistryCallbacks();
  loaded().hashes.emplace(path, hash);
  return Status::success();
}

/// What users may name beside their own: MLIR's general passes. Ours are not among them: each needs
/// the IR of its own place in the pipeline.
void registerGeneralPasses() {
  static std::once_flag once;
  std::call_once(once, [] { mlir::registerTransformsPasses(); });
}

Status parse(const std::string &text, mlir::OpPassManager &manager) {
  SPYRE_RETURN_IF_ERROR(checkIrText(text));
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (mlir::succeeded(mlir::parsePassPipeline(text, manager, stream))) {
    return Status::success();
  }
  return error<1502>("the passes '{}' cannot be read: {}; name passes that a loaded library "
                     "registers, as spyre-opt takes them",
                     text, llvm::StringRef(message).trim().str());
}

} // namespace

std::string UserPasses::toString() const {
  std::vector<std::string> parts;
  for (const auto &[point, text] : pipelines) {
    parts.push_back(fmt::format("{}: {}", kPointNames[int(point)], text));
  }
  for (const auto &[point, list] : functions) {
    parts.push_back(fmt::format("{}: {} functions", kPointNames[int(point)], list.size()));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

Expected<PassPoint> parsePassPoint(const std::string &name) {
  for (int i = 0; i < int(std::size(kPointNames)); ++i) {
    if (name == kPointNames[i]) {
      return PassPoint(i);
    }
  }
  return error<1502>("'{}' is not a point where passes run; the points are {}", name,
                     fmt::join(kPointNames, ", "));
}

Status loadUserPasses(const UserPasses &passes) {
  for (const std::string &path : passes.plugins) {
    SPYRE_RETURN_IF_ERROR(loadPlugin(path));
  }
  if (!passes.empty()) {
    registerGeneralPasses();
  }
  for (const auto &[point, functions] : passes.functions) {
    if (point < PassPoint::PreScheduling) {
      return error<1502>("functions on operations cannot run at {}, where there is graph IR; give "
                         "them to pre-scheduling, pre-fusion or post-fusion",
                         kPointNames[int(point)]);
    }
  }
  for (const auto &[point, text] : passes.pipelines) {
    mlir::OpPassManager manager(mlir::ModuleOp::getOperationName());
    SPYRE_RETURN_IF_ERROR(parse(text, manager));
  }
  return Status::success();
}

void addUserPasses(mlir::OpPassManager &manager, PassPoint point, const UserPasses &passes) {
  if (auto found = passes.pipelines.find(point); found != passes.pipelines.end()) {
    Status parsed = parse(found->second, manager);
    SPYRE_CHECK(parsed.ok(), "loadUserPasses() accepted this text");
  }
}

} // namespace spyre::pipelines
