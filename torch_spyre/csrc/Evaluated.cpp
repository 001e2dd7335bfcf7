//===- Evaluated.cpp - launches that the evaluator repeats ----------------------------------===//
#include "Evaluated.h"

#include "spyre/Evaluator/ModelRun.h"

#include "Errors.h"
#include "Guard.h"
#include "RuntimeState.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

namespace spyre::plugin {

namespace {

using evaluator::DeviceBytes;

/// What is kept of a compiled model; the address of an executable may be used again.
struct Texts {
  std::weak_ptr<runtime::Executable> program;
  std::string name;
  Artifacts artifacts;
};

struct State {
  std::atomic<uint64_t> mostBytes = 0;
  std::mutex mutex;
  std::map<const runtime::Executable *, Texts> texts;
  EvaluatorReport report;
};

State &state() {
  static State *instance = new State();
  return *instance;
}

/// With the lock held.
const Texts *textsOf(const Program &program) {
  const auto found = state().texts.find(program.get());
  const bool isSame = found != state().texts.end() && found->second.program.lock() == program;
  return isSame ? &found->second : nullptr;
}

/// A tensor of the model and where it lies.
struct Place {
  const spec::TensorDesc &desc;
  runtime::BufferRef buffer;
};

std::vector<Place> placesOf(const spec::Model &model, const std::vector<runtime::BufferRef> &inputs,
                            const std::vector<runtime::BufferRef> &outputs) {
  std::vector<Place> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    places.push_back({model.inputs[i], inputs[i]});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    places.push_back({model.outputs[i], outputs[i]});
  }
  return places;
}

uint64_t bytesOf(const std::vector<Place> &places) {
  uint64_t bytes = 0;
  for (const Place &place : places) {
    bytes += uint64_t(place.desc.layout.bytes());
  }
  return bytes;
}

DeviceBytes readAll(const std::vector<Place> &places) {
  DeviceBytes tensors;
  for (const Place &place : places) {
    std::vector<uint8_t> &bytes = tensors[place.desc.name];
    bytes.resize(place.desc.layout.bytes());
    check(place.buffer->device().copyToHost(place.buffer, 0, bytes.data(), bytes.size()));
  }
  return tensors;
}

/// Empty when all bytes are the same.
std::string difference(const std::string &tensor, const std::vector<uint8_t> &device,
                       const std::vector<uint8_t> &evaluated) {
  size_t count = 0, first = device.size();
  for (size_t i = device.size(); i-- > 0;) {
    if (device[i] != evaluated[i]) {
      ++count;
      first = i;
    }
  }
  if (count == 0) {
    return "";
  }
  return fmt::format(
      "{}: byte {} is {:#04x} on the device and {:#04x} by the evaluator; {} of {} bytes differ",
      tensor, first, device[first], evaluated[first], count, device.size());
}

/// An input that an output has overwritten is judged as that output.
std::string differences(const std::vector<Place> &places, const DeviceBytes &device,
                        const DeviceBytes &evaluated) {
  std::set<const runtime::Buffer *> judged;
  std::string text;
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    if (judged.insert(place->buffer.get()).second) {
      const std::string &name = place->desc.name;
      const std::string found = difference(name, device.at(name), evaluated.at(name));
      text += (text.empty() || found.empty() ? "" : "; ") + found;
    }
  }
  return text;
}

bool isForEvaluator(const std::string &path) {
  constexpr std::string_view kSpec = "/op_spec.txt";
  return path == "model.json" || path.ends_with(kSpec);
}

} // namespace

void evaluateLaunches(uint64_t mostBytes) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().mostBytes = mostBytes;
  state().texts.clear();
  state().report = {};
}

EvaluatorReport takeEvaluatorReport() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return std::exchange(state().report, {});
}

void rememberForEvaluator(const Program &program, const Artifacts &artifacts,
                          const std::string &name) {
  if (state().mostBytes == 0) {
    return;
  }
  Texts texts{program, name, {}};
  for (const auto &[path, text] : artifacts) {
    if (isForEvaluator(path)) {
      texts.artifacts[path] = text;
    }
  }
  std::lock_guard<std::mutex> lock(state().mutex);
  std::erase_if(state().texts, [](const auto &entry) { return entry.second.program.expired(); });
  state().texts[program.get()] = std::move(texts);
}

void runEvaluated(const Program &program, const std::vector<runtime::BufferRef> &inputs,
                  const std::vector<runtime::BufferRef> &outputs,
                  const std::function<void()> &run) {
  const uint64_t mostBytes = state().mostBytes;
  if (mostBytes == 0) {
    return run();
  }
  const std::vector<Place> places = placesOf(program->model(), inputs, outputs);
  if (bytesOf(places) > mostBytes) {
    run();
    std::lock_guard<std::mutex> lock(state().mutex);
    ++state().report.tooLarge;
    return;
  }
  synchronizeDevice(deviceIndexOf(*program->device()));
  DeviceBytes evaluated = readAll(places);
  run();
  synchronizeDevice(deviceIndexOf(*program->device()));
  const DeviceBytes device = readAll(places);

  std::lock_guard<std::mutex> lock(state().mutex);
  const Texts *texts = textsOf(program);
  if (!texts) {
    state().report.notRun.emplace_back("the program was loaded before the evaluator was asked");
    return;
  }
  if (Status status = evaluator::evaluateModel(texts->artifacts, evaluated); !status.ok()) {
    state().report.notRun.push_back(fmt::format("{}: {}", texts->name, status.message()));
    return;
  }
  const std::string text = differences(places, device, evaluated);
  if (text.empty()) {
    ++state().report.agreed;
  } else {
    state().report.differing.push_back(fmt::format("{}: {}", texts->name, text));
  }
}

} // namespace spyre::plugin
