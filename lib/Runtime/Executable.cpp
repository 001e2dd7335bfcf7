//===- Executable.cpp - load a compiled model once, run it many times -----------------------===//
#include "spyre/Runtime/Executable.h"

#include "spyre/Numerics/Ranges.h"
#include "spyre/Runtime/JobPlan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace spyre::runtime {

namespace {

/// A constant is a scalar in one stick; a model that asks for much more is damaged.
constexpr int64_t kMaxConstantBytes = int64_t(1) << 20;

/// Where the buffer of a kernel argument comes from.
struct ArgumentSource {
  enum class Kind { Input, Output, Constant, Buffer };
  Kind kind = Kind::Input;
  size_t index = 0;
};

struct LoadedStep {
  std::string directory;
  std::shared_ptr<const std::string> operationName;
  std::shared_ptr<JobPlan> plan;
  bool usesPool = false;
  std::vector<ArgumentSource> arguments;
  /// Numbers of the arguments that are outputs of the model: no run leaves anything of what their
  /// buffers held.
  std::shared_ptr<const std::vector<size_t>> outputs;
};

template <typename Int>
Int clampedInteger(double value) {
  if (std::isnan(value)) {
    return 0;
  }
  // The upper limit of 64 bits is not a double; >= catches the one above it.
  if (value >= double(std::numeric_limits<Int>::max())) {
    return std::numeric_limits<Int>::max();
  }
  if (value <= double(std::numeric_limits<Int>::min())) {
    return std::numeric_limits<Int>::min();
  }
  return Int(value);
}

template <typename T>
std::string bytesOf(T value) {
  return std::string(reinterpret_cast<const char *>(&value), sizeof value);
}

/// One device element with the value: rounded once, from the number the user wrote.
Expected<std::string> encodeScalar(double value, numerics::HostType type) {
  switch (type) {
  case numerics::HostType::Float16:
  case numerics::HostType::Bfloat16:
    return bytesOf(numerics::floatToElement(type, float(value)));
  case numerics::HostType::Float32:
    return bytesOf(float(value));
  case numerics::HostType::Bool:
    return bytesOf(uint16_t(
        numerics::encodeConstant(value != 0 ? 1.0 : 0.0, numerics::DataFormat::Sen169Fp16)));
  case numerics::HostType::Int8:
    return bytesOf(clampedInteger<int8_t>(value));
  case numerics::HostType::Int16:
    return bytesOf(clampedInteger<int16_t>(value));
  case numerics::HostType::Uint8:
    return bytesOf(int32_t(clampedInteger<uint8_t>(value)));
  case numerics::HostType::Int32:
  case numerics::HostType::Int64:
    return bytesOf(clampedInteger<int32_t>(value));
  case numerics::HostType::Float8E4m3fn:
  case numerics::HostType::Float8E5m2fnuz:
    break;
  }
  return error<6205>(
      "constants of type {} are not supported; use float16 and convert on the device",
      numerics::hostTypeName(type));
}

Expected<BufferRef> uploadConstant(Device &device, const spec::ConstantDesc &constant,
                                   const std::shared_ptr<const std::string> &program) {
  const spec::TensorDesc &tensor = constant.tensor;
  if (tensor.layout.bytes() > kMaxConstantBytes) {
    return error<6205>(
        "constant '{}' takes {} bytes on the device but at most {} are allowed; pass "
        "it as an input",
        tensor.name, tensor.layout.bytes(), kMaxConstantBytes);
  }
  Expected<std::string> element = encodeScalar(constant.value, tensor.dtype);
  if (!element.ok()) {
    return element.status().withContext(fmt::format("constant '{}': ", tensor.name));
  }
  SPYRE_ASSIGN_OR_RETURN(BufferRef buffer,
                         device.allocate(uint64_t(tensor.layout.bytes()), MemoryKind::Program,
                                         kDefaultStream, nullptr, 0, program));
  // Every lane holds the scalar: it reads the same however it is spread.
  std::string sticks;
  while (int64_t(sticks.size()) < tensor.layout.bytes()) {
    sticks += *element;
  }
  SPYRE_RETURN_IF_ERROR(device.copyToDevice(buffer, 0, sticks.data(), sticks.size()));
  return buffer;
}

std::map<std::string, ArgumentSource> nameSources(const spec::Model &model) {
  std::map<std::string, ArgumentSource> sources;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    sources[model.inputs[i].name] = {ArgumentSource::Kind::Input, i};
  }
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    sources[model.outputs[i].name] = {ArgumentSource::Kind::Output, i};
  }
  for (size_t i = 0; i < model.constants.size(); ++i) {
    sources[model.constants[i].tensor.name] = {ArgumentSource::Kind::Constant, i};
  }
  for (size_t i = 0; i < model.buffers.size(); ++i) {
    sources[model.buffers[i].name] = {ArgumentSource::Kind::Buffer, i};
  }
  return sources;
}

LoadedStep resolveStep(const spec::BundleStep &step,
                       const std::map<std::string, ArgumentSource> &sources) {
  LoadedStep loaded{step.directory, nullptr, nullptr, step.usesPool, {}, nullptr};
  std::vector<size_t> outputs;
  for (const std::string &name : step.arguments) {
    auto source = sources.find(name);
    SPYRE_CHECK(source != sources.end(), "verifyModel knows every name of a step");
    if (source->second.kind == ArgumentSource::Kind::Output) {
      outputs.push_back(loaded.arguments.size());
    }
    loaded.arguments.push_back(source->second);
  }
  loaded.outputs = std::make_shared<const std::vector<size_t>>(std::move(outputs));
  return loaded;
}

Status checkMachine(const spec::Model &model, const arch::DeviceDesc &desc) {
  if (model.deviceHash != desc.hash()) {
    return error<6201>(
        "the model was compiled for machine '{}' (hash {}) but this device is '{}' "
        "(hash {}); compile it again for this device or open the one it was made for",
        model.deviceName, model.deviceHash, desc.name, desc.hash());
  }
  return Status::success();
}

/// Most bytes that the buffers which the steps allocate take at the same time.
uint64_t mostBufferBytes(const spec::Model &model) {
  std::map<std::string, uint64_t> bytesOf;
  for (const spec::TensorDesc &buffer : model.buffers) {
    bytesOf[buffer.name] = uint64_t(buffer.layout.bytes());
  }
  uint64_t now = 0, most = 0;
  for (const spec::ModelStep &step : model.steps) {
    if (const auto *allocate = std::get_if<spec::AllocateStep>(&step)) {
      now += bytesOf[allocate->buffer];
      most = std::max(most, now);
    } else if (const auto *freed = std::get_if<spec::FreeStep>(&step)) {
      now -= std::min(now, bytesOf[freed->buffer]);
    }
  }
  return most;
}

/// Bytes of the largest argument. Others may be views of the same memory, so their sum says
/// nothing.
uint64_t largestBytes(const std::vector<spec::TensorDesc> &tensors) {
  uint64_t bytes = 0;
  for (const spec::TensorDesc &tensor : tensors) {
    bytes = std::max(bytes, uint64_t(tensor.layout.bytes()));
  }
  return bytes;
}

uint64_t bytesOfTensors(const std::vector<spec::TensorDesc> &tensors) {
  uint64_t bytes = 0;
  for (const spec::TensorDesc &tensor : tensors) {
    bytes += uint64_t(tensor.layout.bytes());
  }
  return bytes;
}

/// Refuses a model that an empty device could not run.
Status checkFits(Device &device, const spec::Model &model, const std::string &name) {
  const auto segment = uint64_t(device.desc().segmentBytes);
  const auto pool = uint64_t(model.poolBytes);
  if (pool > segment) {
    device.countRejection(MemoryKind::Temporary);
    return error<6111>("the temporaries of '{}' take {} bytes, larger than a segment of {} bytes, "
                       "and can never be allocated; use a smaller batch, or cut the function in "
                       "parts (torch.compiler.disable, torch._dynamo.graph_break)",
                       name, pool, segment);
  }
  for (const std::vector<spec::TensorDesc> *tensors :
       {&model.inputs, &model.outputs, &model.buffers}) {
    for (const spec::TensorDesc &tensor : *tensors) {
      if (uint64_t(tensor.layout.bytes()) > segment) {
        device.countRejection(MemoryKind::Tensor);
        return error<6111>("tensor '{}' of '{}' takes {} bytes, larger than a segment of {} bytes, "
                           "and can never be allocated; split the tensor",
                           tensor.name, name, tensor.layout.bytes(), segment);
      }
    }
  }
  const uint64_t inputs = largestBytes(model.inputs), results = bytesOfTensors(model.outputs);
  const uint64_t temporaries = pool + mostBufferBytes(model);
  const uint64_t total = device.memoryInfo().totalBytes;
  if (inputs + results + temporaries > total) {
    device.countRejection(MemoryKind::Temporary);
    return error<6102>(
        "out of device memory: '{}' needs {} bytes at the same time ({} of "
        "its largest argument, {} of results, {} of temporaries), the device has {}; use a "
        "smaller batch, or cut the function in parts",
        name, inputs + results + temporaries, inputs, results, temporaries, total);
  }
  return Status::success();
}

Status checkBuffers(const Device &device, const char *what, const std::vector<BufferRef> &buffers,
                    const std::vector<spec::TensorDesc> &descs) {
  if (buffers.size() != descs.size()) {
    return error<6203>("the model has {} {}s but {} buffers were given; pass one per {}",
                       descs.size(), what, buffers.size(), what);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const uint64_t needed = uint64_t(descs[i].layout.bytes());
    if (!buffers[i]) {
      return error<6203>("{} {} ('{}') has no buffer; allocate {} bytes for it", what, i,
                         descs[i].name, needed);
    }
    if (&buffers[i]->device() != &device) {
      return error<6203>("{} {} ('{}') lies on another device; copy it to the model's device", what,
                         i, descs[i].name);
    }
    if (buffers[i]->bytes() < needed) {
      return error<6203>("{} {} ('{}') needs {} bytes but its buffer has {}; allocate "
                         "layout.bytes()",
                         what, i, descs[i].name, needed, buffers[i]->bytes());
    }
  }
  return Status::success();
}

Expected<std::shared_ptr<JobPlan>> prepareStep(Device &device, const Artifacts &artifacts,
                                               const std::string &directory,
                                               const std::shared_ptr<const std::string> &program) {
  const std::string prefix = (directory.empty() ? "" : directory + "/") + "spyreCodeDir/";
  Expected<std::shared_ptr<JobPlan>> plan =
      JobPlan::prepare(device, subArtifacts(artifacts, prefix), directory, program);
  if (!plan.ok()) {
    return plan.status().withContext(prefix + ": ");
  }
  return plan;
}

/// What a model has in device memory. Never changed once made: runs share it, eviction drops it.
struct Loaded {
  /// Of the device when it was made: a reset takes everything.
  uint64_t generation = 0;
  /// One per bundle step, in order.
  std::vector<LoadedStep> bundles;
  std::vector<BufferRef> constants;
};

/// The buffers of one run.
struct Run {
  const std::vector<BufferRef> &inputs, &outputs;
  const HostStepRunner &host;
  /// Nothing: launches run at once, on this thread.
  std::optional<StreamId> stream;
  const RunOptions &options;
  std::shared_ptr<const Loaded> loaded;
  /// Those the steps allocate; null while they have no memory.
  std::vector<BufferRef> own;
  BufferRef pool;
  /// Launches that leave something in LX for the next one: they run together, so that nobody
  /// else's comes between.
  std::vector<BoundLaunch> held;
  /// The contained fault that a launch of the run ran into; null where there is one launch only.
  std::shared_ptr<FaultRef> fault;
};

/// The files that are needed to load the programs again.
Artifacts programFiles(const Artifacts &artifacts) {
  Artifacts files;
  for (const auto &[path, contents] : artifacts) {
    if (path.find("spyreCodeDir/") != std::string::npos) {
      files.emplace(path, contents);
    }
  }
  return files;
}

} // namespace

struct Executable::State {
  std::shared_ptr<Device> device;
  spec::Model model;
  std::map<std::string, ArgumentSource> sources;
  bool hasCpuSteps = false;
  /// Set by the first load.
  std::atomic<bool> readsIndices{false};
  std::string label;
  /// Name in memory snapshots and errors: the label, else "program".
  std::shared_ptr<const std::string> name;
  Artifacts files;

  /// Guards what is below it.
  std::mutex mutex;
  std::shared_ptr<const Loaded> loaded;
  /// Per stream, since streams do not wait for each other. Runs with CPU steps have their own.
  std::map<StreamId, BufferRef> pools;

  /// Runs without a stream share the pool of the default one, so one at a time. A run with CPU
  /// steps holds it per launch only: what runs on the host may come back here.
  std::mutex immediate;
  std::atomic<uint64_t> lastUse{0};

  Expected<std::shared_ptr<const Loaded>> load();
  Expected<std::shared_ptr<const Loaded>> ensureLoaded();
  Status runSteps(Run &run);
  BufferRef bufferOf(const ArgumentSource &source, const Run &run) const;
  Expected<BufferRef> allocatePool(StreamId stream) const;
  /// Null when the step has none.
  Expected<BufferRef> poolOf(const LoadedStep &step, Run &run);
  Status launchStep(const LoadedStep &step, Run &run);
  /// Gives what is held back to the device; \p step is the last of it.
  Status startHeld(const LoadedStep &step, Run &run);
  /// On the run's stream, or at once.
  Status start(const LoadedStep &step, std::vector<BoundLaunch> launches, Run &run);
  Status hostStep(const spec::CpuStep &step, Run &run) const;
  Status allocateStep(const spec::AllocateStep &step, Run &run) const;
  Status checkInputs(const std::vector<BufferRef> &inputs, std::optional<StreamId> stream,
                     const RunOptions &options) const;
  Status runAll(const std::vector<BufferRef> &inputs, const std::vector<BufferRef> &outputs,
                const HostStepRunner &host, std::optional<StreamId> stream,
                const RunOptions &options);
};

Expected<std::shared_ptr<const Loaded>> Executable::State::load() {
  auto fresh = std::make_shared<Loaded>();
  fresh->generation = device->generation();
  const bool isOnlyBundle =
      std::count_if(model.steps.begin(), model.steps.end(), [](const spec::ModelStep &step) {
        return std::holds_alternative<spec::BundleStep>(step);
      }) == 1;
  std::map<std::string, std::shared_ptr<JobPlan>> plans;
  for (const spec::ModelStep &entry : model.steps) {
    const auto *step = std::get_if<spec::BundleStep>(&entry);
    if (!step) {
      continue;
    }
    LoadedStep resolved = resolveStep(*step, sources);
    std::shared_ptr<JobPlan> &plan = plans[step->directory];
    if (!plan) {
      SPYRE_ASSIGN_OR_RETURN(plan, prepareStep(*device, files, step->directory, name));
    }
    resolved.plan = plan;
    readsIndices = readsIndices || plan->readsIndices();
    resolved.operationName =
        std::make_shared<const std::string>(label.empty()  ? step->directory
                                            : isOnlyBundle ? label
                                                           : label + "/" + step->directory);
    if (Status fits = plan->checkArguments(step->arguments.size(), step->usesPool); !fits.ok()) {
      return fits.withContext(fmt::format("step '{}': ", step->directory));
    }
    fresh->bundles.push_back(std::move(resolved));
  }
  for (const spec::ConstantDesc &constant : model.constants) {
    SPYRE_ASSIGN_OR_RETURN(BufferRef buffer, uploadConstant(*device, constant, name));
    fresh->constants.push_back(std::move(buffer));
  }
  return std::shared_ptr<const Loaded>(std::move(fresh));
}

Expected<std::shared_ptr<const Loaded>> Executable::State::ensureLoaded() {
  static std::atomic<uint64_t> clock{0};
  lastUse = ++clock;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (loaded && loaded->generation != device->generation()) {
      loaded = nullptr;
      pools.clear();
    }
    if (loaded) {
      return loaded;
    }
  }
  // Without the lock: when memory is short, loading asks programs to leave, this one among them.
  SPYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> fresh, load());
  std::lock_guard<std::mutex> lock(mutex);
  if (!loaded) {
    loaded = std::move(fresh);
  }
  return loaded;
}

BufferRef Executable::State::bufferOf(const ArgumentSource &source, const Run &run) const {
  switch (source.kind) {
  case ArgumentSource::Kind::Input:
    return run.inputs[source.index];
  case ArgumentSource::Kind::Output:
    return run.outputs[source.index];
  case ArgumentSource::Kind::Constant:
    return run.loaded->constants[source.index];
  case ArgumentSource::Kind::Buffer:
    return run.own[source.index];
  }
  return nullptr;
}

Expected<BufferRef> Executable::State::poolOf(const LoadedStep &step, Run &run) {
  if (!step.usesPool) {
    return BufferRef();
  }
  const StreamId stream = run.stream.value_or(kDefaultStream);
  if (!run.pool && !hasCpuSteps) {
    std::lock_guard<std::mutex> lock(mutex);
    run.pool = pools[stream];
    if (run.pool) {
      run.pool->adopt();
    }
  }
  if (!run.pool) {
    SPYRE_ASSIGN_OR_RETURN(run.pool, allocatePool(stream));
    std::lock_guard<std::mutex> lock(mutex);
    if (!hasCpuSteps && loaded) {
      pools[stream] = run.pool;
    }
  }
  return run.pool;
}

Expected<BufferRef> Executable::State::allocatePool(StreamId stream) const {
  Expected<BufferRef> pool =
      device->allocate(uint64_t(model.poolBytes), MemoryKind::Temporary, stream, nullptr, 0, name);
  return pool.ok() ? std::move(pool)
                   : pool.status().withContext(fmt::format("temporaries of '{}': ", *name));
}

Status Executable::State::launchStep(const LoadedStep &step, Run &run) {
  SPYRE_ASSIGN_OR_RETURN(BufferRef stepPool, poolOf(step, run));
  std::vector<BufferRef> arguments;
  arguments.reserve(step.arguments.size());
  for (const ArgumentSource &argument : step.arguments) {
    arguments.push_back(bufferOf(argument, run));
  }
  SPYRE_ASSIGN_OR_RETURN(BoundLaunch launch,
                         step.plan->bind(arguments, stepPool, run.stream.value_or(kDefaultStream)));
  const auto isReplaced = [&](const ArgumentSource &source) {
    return source.kind == ArgumentSource::Kind::Input &&
           int64_t(source.index) == run.options.replacedInput;
  };
  launch.setReplaced(step.outputs);
  if (run.options.replacedInput >= 0 &&
      std::any_of(step.arguments.begin(), step.arguments.end(), isReplaced)) {
    launch.setReplaced(run.inputs[size_t(run.options.replacedInput)]);
  }
  if (run.held.empty() && !step.plan->isNonTerminal()) {
    std::vector<BoundLaunch> single;
    single.push_back(std::move(launch));
    return start(step, std::move(single), run);
  }
  run.held.push_back(std::move(launch));
  return step.plan->isNonTerminal() ? Status::success() : startHeld(step, run);
}

Status Executable::State::startHeld(const LoadedStep &step, Run &run) {
  return start(step, std::exchange(run.held, {}), run);
}

Status Executable::State::start(const LoadedStep &step, std::vector<BoundLaunch> launches,
                                Run &run) {
  if (!run.stream) {
    std::unique_lock<std::mutex> lock(immediate, std::defer_lock);
    if (hasCpuSteps) {
      lock.lock();
    }
    return BoundLaunch::runTogether(launches, run.fault.get());
  }
  Operation operation;
  operation.name = step.operationName;
  operation.location = run.options.location;
  operation.isToldOfDrop = true;
  operation.body = [launches = std::move(launches), fault = run.fault](OperationContext &context) {
    if (context.dropReason) {
      for (const BoundLaunch &launch : launches) {
        launch.drop(*context.dropReason);
      }
      return Status::success();
    }
    return BoundLaunch::runTogether(launches, fault.get());
  };
  return device->streams().submit(*run.stream, std::move(operation));
}

Status Executable::State::hostStep(const spec::CpuStep &step, Run &run) const {
  if (run.stream) {
    SPYRE_RETURN_IF_ERROR(device->streams().finish(*run.stream));
  }
  if (run.fault && *run.fault) {
    return (*run.fault)->report();
  }
  Status done = run.host(step, [&](const std::string &name) {
    auto source = sources.find(name);
    return source == sources.end() ? nullptr : bufferOf(source->second, run);
  });
  return done.ok() ? done : done.withContext(fmt::format("CPU step '{}': ", step.callee));
}

Status Executable::State::allocateStep(const spec::AllocateStep &step, Run &run) const {
  const size_t index = sources.at(step.buffer).index;
  const auto bytes = uint64_t(model.buffers[index].layout.bytes());
  SPYRE_ASSIGN_OR_RETURN(run.own[index],
                         device->allocate(bytes, MemoryKind::Temporary,
                                          run.stream.value_or(kDefaultStream), nullptr, 0, name));
  return Status::success();
}

Status Executable::State::runSteps(Run &run) {
  size_t bundle = 0;
  for (const spec::ModelStep &entry : model.steps) {
    if (const auto *step = std::get_if<spec::CpuStep>(&entry)) {
      if (!run.held.empty()) {
        SPYRE_RETURN_IF_ERROR(startHeld(run.loaded->bundles[bundle - 1], run));
      }
      SPYRE_RETURN_IF_ERROR(hostStep(*step, run));
    } else if (const auto *allocate = std::get_if<spec::AllocateStep>(&entry)) {
      SPYRE_RETURN_IF_ERROR(allocateStep(*allocate, run));
    } else if (const auto *freed = std::get_if<spec::FreeStep>(&entry)) {
      run.own[sources.at(freed->buffer).index] = nullptr;
    } else {
      const LoadedStep &loadedStep = run.loaded->bundles[bundle++];
      Status launched = launchStep(loadedStep, run);
      // A program may call itself non-terminal though the model ends with it.
      if (launched.ok() && bundle == run.loaded->bundles.size() && !run.held.empty()) {
        launched = startHeld(loadedStep, run);
      }
      if (!launched.ok()) {
        return launched.withContext(fmt::format("step '{}': ", loadedStep.directory));
      }
    }
  }
  return Status::success();
}

/// Poison that is known already is an error of the call, unless queued work writes the input anew.
Status Executable::State::checkInputs(const std::vector<BufferRef> &inputs,
                                      std::optional<StreamId> stream,
                                      const RunOptions &options) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->isPoisoned() || int64_t(i) == options.replacedInput) {
      continue;
    }
    if (stream) {
      SPYRE_RETURN_IF_ERROR(device->streams().finish(*stream));
    }
    if (const FaultRef fault = inputs[i]->fault()) {
      return fault->report();
    }
  }
  return Status::success();
}

Status Executable::State::runAll(const std::vector<BufferRef> &inputs,
                                 const std::vector<BufferRef> &outputs, const HostStepRunner &host,
                                 std::optional<StreamId> stream, const RunOptions &options) {
  SPYRE_RETURN_IF_ERROR(checkBuffers(*device, "input", inputs, model.inputs));
  SPYRE_RETURN_IF_ERROR(checkBuffers(*device, "output", outputs, model.outputs));
  if (!host && hasCpuSteps) {
    return spec::refuseCpuSteps(model);
  }
  SPYRE_RETURN_IF_ERROR(checkInputs(inputs, stream, options));
  SPYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> programs, ensureLoaded());
  Run run{inputs,
          outputs,
          host,
          stream,
          options,
          std::move(programs),
          std::vector<BufferRef>(model.buffers.size()),
          nullptr,
          {},
          nullptr};
  if (model.steps.size() > 1) {
    run.fault = std::make_shared<FaultRef>();
  }
  Status done = runSteps(run);
  // The pool is kept for the next run, but only what is queued still needs it.
  if (run.pool) {
    run.pool->abandon();
  }
  return done;
}

Executable::Executable() : state(std::make_unique<State>()) {}
Executable::~Executable() = default;

Expected<std::shared_ptr<Executable>> Executable::load(std::shared_ptr<Device> device,
                                                       const Artifacts &artifacts,
                                                       const std::string &label) {
  SPYRE_CHECK(device != nullptr, "an executable is loaded on a device");
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(artifacts, "model.json"));
  SPYRE_ASSIGN_OR_RETURN(spec::Model model, spec::readModel(text));
  SPYRE_RETURN_IF_ERROR(spec::verifyModel(model));
  SPYRE_RETURN_IF_ERROR(checkMachine(model, device->desc()));
  SPYRE_RETURN_IF_ERROR(checkFits(*device, model, label.empty() ? "program" : label));

  std::shared_ptr<Executable> executable(new Executable());
  State &state = *executable->state;
  state.device = std::move(device);
  state.model = std::move(model);
  state.sources = nameSources(state.model);
  state.label = label;
  state.name = std::make_shared<const std::string>(label.empty() ? "program" : label);
  state.files = programFiles(artifacts);
  for (const spec::ModelStep &step : state.model.steps) {
    state.hasCpuSteps |= std::holds_alternative<spec::CpuStep>(step);
  }
  SPYRE_RETURN_IF_ERROR(state.ensureLoaded().status());
  return executable;
}

const spec::Model &Executable::model() const { return state->model; }

const std::shared_ptr<Device> &Executable::device() const { return state->device; }

Status Executable::run(const std::vector<BufferRef> &inputs, const std::vector<BufferRef> &outputs,
                       const HostStepRunner &host) {
  std::unique_lock<std::mutex> lock(state->immediate, std::defer_lock);
  if (!state->hasCpuSteps) {
    lock.lock();
  }
  return state->runAll(inputs, outputs, host, std::nullopt, {});
}

Status Executable::submit(StreamId stream, const std::vector<BufferRef> &inputs,
                          const std::vector<BufferRef> &outputs, const HostStepRunner &host,
                          const RunOptions &options) {
  return state->runAll(inputs, outputs, host, stream, options);
}

bool Executable::readsIndices() const { return state->readsIndices; }

void Executable::evict() {
  std::shared_ptr<const Loaded> programs;
  std::map<StreamId, BufferRef> pools;
  std::lock_guard<std::mutex> lock(state->mutex);
  programs.swap(state->loaded);
  pools.swap(state->pools);
}

void Executable::releaseTemporaries() {
  std::map<StreamId, BufferRef> pools;
  std::lock_guard<std::mutex> lock(state->mutex);
  pools.swap(state->pools);
}

uint64_t Executable::lastUse() const { return state->lastUse; }

} // namespace spyre::runtime
