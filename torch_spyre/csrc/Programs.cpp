//===- Programs.cpp - compile, load, run ----------------------------------------------------===//
#include "Programs.h"

#include "Copy.h"
#include "Errors.h"
#include "Memory.h"
#include "RuntimeState.h"
#include "Types.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

namespace spyre::plugin {

namespace {

struct Shared {
  std::mutex mutex;
  std::shared_ptr<const CompileRecord> last;
  /// Compilations since somebody asked to keep them.
  bool keeps = false;
  std::vector<std::shared_ptr<const CompileRecord>> kept;
  std::function<CompileSettings()> settingsHook;
};

Shared &shared() {
  static Shared *instance = new Shared();
  return *instance;
}

} // namespace

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
  // A request for more cores than the machine has means all of them: SENCORES defaults to 32.
  options.cores = settings.cores >= options.device.cores ? 0 : settings.cores;
  options.backEndCommand = backEndCommand();
  options.scratchDirectory = std::filesystem::temp_directory_path().string();
  options.wholeGraphLayouts = settings.wholeGraphLayouts;
  options.sharePool = settings.sharePool;
  options.symbolicArguments = settings.symbolicArguments;
  options.unrollLoops = settings.unrollLoops;
  options.kFastCores = settings.kFastCores;
  options.chunkLargeTensors = settings.chunkLargeTensors;
  options.passPlugins = settings.passPlugins;
  options.userPasses = settings.userPasses;
  options.cacheDirectory = settings.cacheDirectory;
  options.cacheLimitBytes = settings.cacheLimitBytes;
  return options;
}

Expected<Program> compileProgram(const capi::GraphBuilder &graph, const std::string &name,
                                 const CompileSettings &settings) {
  auto record = std::make_shared<CompileRecord>();
  record->name = name;
  record->graphText = graph.text();
  Expected<capi::CompileResult> result =
      capi::compileGraph(record->graphText, compileOptions(settings));
  const bool kept = result.ok() && result->fromCache;
  (kept ? hostCounters().compileCacheHits : hostCounters().compileCacheMisses) += 1;
  SPYRE_ASSIGN_OR_RETURN(record->result, std::move(result));
  SPYRE_ASSIGN_OR_RETURN(Program program,
                         runtime::Executable::load(device(), record->result.artifacts));
  hostCounters().programsCompiled += kept ? 0 : 1;
  std::lock_guard<std::mutex> lock(shared().mutex);
  shared().last = std::move(record);
  if (shared().keeps) {
    shared().kept.push_back(shared().last);
  }
  return program;
}

void keepCompiles() {
  std::lock_guard<std::mutex> lock(shared().mutex);
  shared().keeps = true;
  shared().kept.clear();
}

std::vector<std::shared_ptr<const CompileRecord>> takeCompiles() {
  std::lock_guard<std::mutex> lock(shared().mutex);
  shared().keeps = false;
  return std::exchange(shared().kept, {});
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
  return fmt::format("{}[{}]({}){}", c10::toString(input.scalar_type()),
                     fmt::join(input.sizes(), ","), fmt::join(input.strides(), ","),
                     geometryOf(input).layout.toString());
}

std::vector<at::Tensor> runProgram(const Program &program, const std::vector<at::Tensor> &inputs,
                                   const runtime::HostStepRunner &host) {
  std::vector<runtime::BufferRef> inputBuffers, outputBuffers;
  for (const at::Tensor &input : inputs) {
    inputBuffers.push_back(bufferOf(input));
  }
  std::vector<at::Tensor> outputs;
  for (const spec::TensorDesc &desc : program->model().outputs) {
    outputs.push_back(makeTensor(desc.size, desc.stride, scalarTypeOf(desc.dtype),
                                 c10::Device(c10::DeviceType::PrivateUse1, 0),
                                 {desc.size, desc.stride, desc.layout}));
    outputBuffers.push_back(bufferOf(outputs.back()));
  }
  runOnBuffers(program, inputBuffers, outputBuffers, host);
  return outputs;
}

void runOnBuffers(const Program &program, const std::vector<runtime::BufferRef> &inputs,
                  const std::vector<runtime::BufferRef> &outputs,
                  const runtime::HostStepRunner &host) {
  check(program->run(inputs, outputs, host));
}

} // namespace spyre::plugin
