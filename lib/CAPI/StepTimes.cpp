//===- StepTimes.cpp - from phases of programs to steps of a model ---------------------------===//
#include "spyre/Base/Json.h"
#include "spyre/CAPI/Explain.h"
#include "spyre/Spec/LoopSpec.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace spyre::capi {

namespace {

using runtime::OperationTime;

/// Appends for every operation of the unrolled kernel the number it has in the text.
void unrolledNumbers(const spec::Kernel &nodes, std::vector<size_t> &numbers, size_t &next) {
  for (const spec::SpecNode &node : nodes) {
    if (node.kind != spec::SpecNode::Kind::Loop) {
      numbers.push_back(next++);
      continue;
    }
    const size_t begin = numbers.size();
    unrolledNumbers(node.body, numbers, next);
    const std::vector<size_t> body(numbers.begin() + int64_t(begin), numbers.end());
    for (int64_t i = 1; i < node.count; ++i) {
      numbers.insert(numbers.end(), body.begin(), body.end());
    }
  }
}

/// Number of the operation in a phase's name, "3_add".
std::optional<size_t> numberOf(const std::string &phase) {
  size_t number = 0;
  const auto [end, failure] = std::from_chars(phase.data(), phase.data() + phase.size(), number);
  const bool isNumber = failure == std::errc() && *end == '_';
  return isNumber ? std::optional(number) : std::nullopt;
}

/// Adds \p more to \p sum: the bound is that of the longer part.
void add(OperationTime &sum, const OperationTime &more) {
  if (more.cycles > sum.cycles) {
    sum.bound = more.bound;
  }
  sum.name = more.name;
  sum.cores = std::max(sum.cores, more.cores);
  sum.cycles += more.cycles;
  sum.nanoseconds += more.nanoseconds;
  for (size_t i = 0; i < runtime::kStallReasons; ++i) {
    sum.stallCycles[i] += more.stallCycles[i];
  }
  sum.ddrReadBytes += more.ddrReadBytes;
  sum.ddrWriteBytes += more.ddrWriteBytes;
  sum.ringBytes += more.ringBytes;
  sum.ptMacs += more.ptMacs;
  sum.sfpLaneOps += more.sfpLaneOps;
  sum.boundCycles += more.boundCycles;
  const double bytes = double(sum.ddrReadBytes + sum.ddrWriteBytes);
  sum.intensity = bytes > 0 ? double(sum.ptMacs + sum.sfpLaneOps) / bytes
                            : std::max(sum.intensity, more.intensity);
}

/// The steps of one bundle, numbered from \p first on.
class BundleSteps {
public:
  BundleSteps(const Artifacts &artifacts, const std::string &directory,
              const arch::DeviceDesc &device)
      : artifacts(artifacts), directory(directory), device(device) {}

  /// Returns the number of operations.
  Expected<size_t> run(int64_t first, std::vector<StepTime> &steps) {
    SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(artifacts, directory + "/op_spec.txt"));
    SPYRE_ASSIGN_OR_RETURN(spec::Kernel kernel, spec::parseKernel(text));
    for (const spec::OpSpec *op : spec::operationsOf(kernel)) {
      const auto step = first + int64_t(found.size());
      found.push_back({step, op->op, directory, {}});
    }
    auto program = artifacts.find(directory + "/spyreCodeDir/init.bin");
    // Another back end's binaries are its own.
    if (program != artifacts.end() && program->second.starts_with("SPYP")) {
      SPYRE_RETURN_IF_ERROR(addTimes(kernel, program->second));
      steps.insert(steps.end(), found.begin(), found.end());
    }
    return found.size();
  }

private:
  Status addTimes(const spec::Kernel &kernel, const std::string &program) {
    SPYRE_ASSIGN_OR_RETURN(std::vector<OperationTime> times,
                           runtime::operationTimes(program, device));
    std::vector<size_t> unrolled;
    size_t count = 0;
    unrolledNumbers(kernel, unrolled, count);
    // Loops that the bundle keeps have one number for all iterations.
    const bool isUnrolled = std::any_of(times.begin(), times.end(), [&](const OperationTime &time) {
      return numberOf(time.name).value_or(0) >= found.size();
    });
    for (const OperationTime &time : times) {
      const std::optional<size_t> number = numberOf(time.name);
      if (number && *number < (isUnrolled ? unrolled.size() : found.size())) {
        add(found[isUnrolled ? unrolled[*number] : *number].time, time);
      }
    }
    return Status::success();
  }

  const Artifacts &artifacts;
  const std::string &directory;
  const arch::DeviceDesc &device;
  std::vector<StepTime> found;
};

std::string stringField(const Json &step, const char *name) {
  auto found = step.find(name);
  return found != step.end() && found->is_string() ? found->get<std::string>() : "";
}

} // namespace

Expected<std::vector<StepTime>> stepTimes(const Artifacts &artifacts,
                                          const arch::DeviceDesc &device) {
  std::vector<StepTime> steps;
  auto text = artifacts.find("model.json");
  if (text == artifacts.end()) {
    return steps;
  }
  SPYRE_ASSIGN_OR_RETURN(Json model, parseJson(text->second));
  int64_t next = 0;
  for (const Json &step : model.is_object() ? model.value("steps", Json::array()) : Json::array()) {
    const std::string kind = step.is_object() ? stringField(step, "kind") : "";
    if (kind == "cpu") {
      ++next;
    } else if (kind == "bundle") {
      SPYRE_ASSIGN_OR_RETURN(
          const size_t count,
          BundleSteps(artifacts, stringField(step, "directory"), device).run(next, steps));
      next += int64_t(count);
    }
  }
  return steps;
}

} // namespace spyre::capi
