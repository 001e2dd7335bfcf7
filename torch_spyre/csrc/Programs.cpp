//===- Programs.cpp - compile, load, run ----------------------------------------------------===//
#include "Programs.h"

#include "ATen/record_function.h"
#include "CompileLog.h"
#include "Copy.h"
#include "Errors.h"
#include "Evaluated.h"
#include "Guard.h"
#include "Memory.h"
#include "PythonPlugins.h"
#include "RuntimeState.h"
#include "Types.h"
#include "Waits.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

namespace spyre::plugin {

namespace {

struct Shared {
  std::mutex mutex;
  std::shared_ptr<const CompileRecord> last;
  std::function<CompileSettings()> settingsHook;
  std::function<void()> collect;
  LineHook lineHook;
  /// Everything that was loaded; those that are gone are dropped now and then.
  std::vector<std::weak_ptr<runtime::Executable>> loaded;
};

Shared &shared() {
  static Shared *instance = new Shared();
  return *instance;
}

/// With the lock held.
void remember(const Program &program) {
  std::vector<std::weak_ptr<runtime::Executable>> &loaded = shared().loaded;
  constexpr size_t kSweepEvery = 64;
  if (loaded.size() % kSweepEvery == 0) {
    std::erase_if(loaded, [](const auto &entry) { return entry.expired(); });
  }
  loaded.push_back(program);
}

std::vector<Program> loadedPrograms() {
  std::lock_guard<std::mutex> lock(shared().mutex);
  std::vector<Program> found;
  for (const std::weak_ptr<runtime::Executable> &entry : shared().loaded) {
    if (Program program = entry.lock()) {
      found.push_back(std::move(program));
    }
  }
  return found;
}

} // namespace

void evictPrograms(c10::DeviceIndex index) {
  const runtime::Device *where = device(index).get();
  // Without the lock: the memory of a program is given back on this thread.
  for (const Program &program : loadedPrograms()) {
    if (program->device().get() == where) {
      program->evict();
    }
  }
}

void releaseTemporaries() {
  for (const Program &program : loadedPrograms()) {
    program->releaseTemporaries();
  }
}

void setGarbageCollector(std::function<void()> collect) { shared().collect = std::move(collect); }

void collectGarbage() {
  if (shared().collect) {
    shared().collect();
  }
}

void setLineHook(LineHook hook) { shared().lineHook = std::move(hook); }

void setSettingsHook(std::function<CompileSettings()> hook) {
  shared().settingsHook = std::move(hook);
}

CompileSettings configuredSettings() {
  return shared().settingsHook ? shared().settingsHook() : CompileSettings();
}

CompileSettings eagerSettings(int64_t bytes) {
  constexpr int64_t kBytesPerCore = 16 << 10;
  CompileSettings settings = configuredSettings();
  const int64_t most = settings.cores > 0 ? settings.cores : deviceDesc().cores;
  const int64_t enough = std::max<int64_t>(1, bytes / kBytesPerCore);
  settings.cores = std::min({most, enough, deviceDesc().cores});
  return settings;
}

const std::vector<std::string> &supportedOperations() {
  static const auto *table = new std::vector<std::string>(capi::supportedOperations());
  return *table;
}

const std::vector<std::string> &computedOperations() {
  static const auto *table = new std::vector<std::string>(capi::computedOperations());
  return *table;
}

capi::CompileOptions compileOptions(const CompileSettings &settings) {
  capi::CompileOptions options;
  options.device = deviceDesc();
  // The default of SENCORES means all cores; fewer are asked for, and must exist.
  constexpr int64_t kDefaultCores = 32;
  const bool wantsAll = settings.cores >= kDefaultCores && options.device.cores <= kDefaultCores;
  options.cores = wantsAll ? 0 : settings.cores;
  options.backEndCommand = backEndCommand();
  options.scratchDirectory = std::filesystem::temp_directory_path().string();
  options.wholeGraphLayouts = settings.wholeGraphLayouts;
  options.sharePool = settings.sharePool;
  options.planner = settings.planner;
  options.symbolicArguments = settings.symbolicArguments;
  options.unrollLoops = settings.unrollLoops;
  options.kFastCores = settings.kFastCores;
  options.chunkLargeTensors = settings.chunkLargeTensors;
  options.unevenDivision = settings.unevenDivision;
  options.padding = settings.padding;
  options.lx.enabled = settings.lxPlanning;
  options.lx.compat = settings.lxCompat;
  options.lx.coOptimize = settings.lxMoveSplits;
  options.lx.solver = settings.lxSolver;
  options.lx.backEndShare = settings.lxBackEndShare;
  options.lx.allOps = settings.lxAllOps;
  options.lx.budgetBytes = settings.lxBudgetBytes;
  options.lx.pins = settings.lxPins;
  options.lx.forbidden = settings.lxForbidden;
  options.passPlugins = settings.passPlugins;
  options.userPasses = settings.userPasses;
  options.userFunctions = settings.userFunctions;
  options.lx.ownSolver = settings.lxOwnSolver;
  options.lx.ownPasses = settings.lxOwnPasses;
  options.cacheDirectory = settings.cacheDirectory;
  options.cacheLimitBytes = settings.cacheLimitBytes;
  return options;
}

Expected<Program> loadProgram(const Artifacts &artifacts, const std::string &name) {
  SPYRE_ASSIGN_OR_RETURN(Program program, runtime::Executable::load(device(), artifacts, name));
  rememberForEvaluator(program, artifacts, name);
  std::lock_guard<std::mutex> lock(shared().mutex);
  remember(program);
  return program;
}

/// "graph_3|aten.embedding.default" is graph_3 in reports, "graph_3 (aten.embedding.default)" in
/// errors of the device.
static std::string nameInErrors(const std::string &name) {
  const size_t bar = name.find('|');
  return bar == std::string::npos
             ? name
             : fmt::format("{} ({})", name.substr(0, bar), name.substr(bar + 1));
}

Expected<CompiledProgram> compileProgram(const capi::GraphBuilder &graph, const std::string &name,
                                         const CompileSettings &settings, CompiledFor purpose) {
  const std::shared_ptr<CompileLog> log = currentCompileLog();
  auto record = std::make_shared<CompileRecord>();
  record->name = name.substr(0, name.find('|'));
  record->isEager = purpose == CompiledFor::EagerOperation;
  SPYRE_ASSIGN_OR_RETURN(record->graphText, graph.text());
  capi::CompileOptions options = compileOptions(settings);
  options.explainDivision = log != nullptr;
  const PythonFaults faults;
  Expected<capi::CompileResult> result = capi::compileGraph(record->graphText, options);
  if (!result.ok()) {
    faults.rethrow();
  }
  const bool kept = result.ok() && result->fromCache;
  (kept ? hostCounters().compileCacheHits : hostCounters().compileCacheMisses) += 1;
  SPYRE_ASSIGN_OR_RETURN(record->result, std::move(result));
  SPYRE_ASSIGN_OR_RETURN(Program program,
                         loadProgram(record->result.artifacts, nameInErrors(name)));
  hostCounters().programsCompiled += kept ? 0 : 1;
  if (log) {
    log->add(record);
  }
  std::lock_guard<std::mutex> lock(shared().mutex);
  shared().last = record;
  return CompiledProgram{std::move(program), std::move(record)};
}

std::shared_ptr<const CompileRecord> lastCompile() {
  std::lock_guard<std::mutex> lock(shared().mutex);
  return shared().last;
}

at::Tensor programInput(const at::Tensor &tensor) {
  return isWholeStorage(tensor) ? tensor : canonical(tensor);
}

capi::TensorType tensorType(const at::Tensor &tensor) {
  return {requireHostType(tensor.scalar_type()), toVector(tensor.sizes()),
          toVector(tensor.strides())};
}

std::string signatureOf(const at::Tensor &input) {
  return fmt::format("{}@{}[{}]({}){}", c10::toString(input.scalar_type()), input.device().index(),
                     fmt::join(input.sizes(), ","), fmt::join(input.strides(), ","),
                     geometryOf(input).layout.toString());
}

std::vector<at::Tensor> runProgram(const Program &program, const std::vector<at::Tensor> &inputs,
                                   const runtime::HostStepRunner &host) {
  std::vector<runtime::BufferRef> inputBuffers, outputBuffers;
  for (const at::Tensor &input : inputs) {
    inputBuffers.push_back(bufferOf(input));
  }
  const c10::Device where = inputs.empty() ? currentSpyre() : inputs[0].device();
  std::vector<at::Tensor> outputs;
  for (const spec::TensorDesc &desc : program->model().outputs) {
    outputs.push_back(makeTensor(desc.size, desc.stride, scalarTypeOf(desc.dtype), where,
                                 {desc.size, desc.stride, desc.layout}));
    outputBuffers.push_back(bufferOf(outputs.back()));
  }
  runOnBuffers(program, inputBuffers, outputBuffers, host);
  return outputs;
}

void runOnBuffers(const Program &program, const std::vector<runtime::BufferRef> &inputs,
                  const std::vector<runtime::BufferRef> &outputs,
                  const runtime::HostStepRunner &host, int64_t replacedInput) {
  RECORD_FUNCTION("launch::Compute", c10::ArrayRef<const c10::IValue>{});
  const auto isOnHost = [](const spec::ModelStep &step) {
    return std::holds_alternative<spec::CpuStep>(step);
  };
  const auto &steps = program->model().steps;
  if (host && std::any_of(steps.begin(), steps.end(), isOnHost)) {
    noteWait("CPU step of a compiled graph");
  }
  runtime::RunOptions options;
  options.replacedInput = replacedInput;
  if (program->readsIndices() && shared().lineHook) {
    options.location = shared().lineHook();
  }
  runEvaluated(program, inputs, outputs, [&] {
    check(program->submit(currentStream(deviceIndexOf(*program->device())), inputs, outputs, host,
                          options));
  });
  publishUse();
}

} // namespace spyre::plugin
