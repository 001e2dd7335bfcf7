//===- ModelSteps.cpp - the steps of a model, told to people
//------------------------------------===//
#include "spyre/Spec/Model.h"

#include "fmt/ranges.h"

#include <map>

namespace spyre::spec {

std::vector<CpuStep> cpuSteps(const Model &model) {
  std::vector<CpuStep> steps;
  for (const ModelStep &step : model.steps) {
    if (const auto *cpu = std::get_if<CpuStep>(&step)) {
      steps.push_back(*cpu);
    }
  }
  return steps;
}

Status refuseCpuSteps(const Model &model) {
  std::map<std::string, int64_t> counts;
  for (const CpuStep &step : cpuSteps(model)) {
    ++counts[step.callee.substr(0, 80)];
  }
  if (counts.empty()) {
    return Status::success();
  }
  std::vector<std::string> names;
  for (const auto &[name, count] : counts) {
    names.push_back(fmt::format("{} ({}x)", name, count));
  }
  return error<6206>("the model has steps that need the framework's CPU operations: {}; run it "
                     "through torch.compile, or compile a graph without them",
                     fmt::join(names, ", "));
}

namespace {

std::string lineOf(const BundleStep &step) {
  return fmt::format("launch {}({}){}{}", step.directory, fmt::join(step.arguments, ", "),
                     step.usesPool ? " with pool" : "",
                     step.nonTerminal ? ", the next one follows at once" : "");
}

std::string lineOf(const CpuStep &step) {
  return fmt::format("cpu {} = {}({}) node {}, gate {}: {}{}", fmt::join(step.outputs, ", "),
                     step.callee, fmt::join(step.inputs, ", "), step.node, step.gate, step.reason,
                     step.location.empty() ? "" : " [" + step.location + "]");
}

std::string lineOf(const AllocateStep &step) { return "allocate " + step.buffer; }
std::string lineOf(const FreeStep &step) { return "free " + step.buffer; }

} // namespace

std::string describeStep(const ModelStep &step) {
  return std::visit([](const auto &one) { return lineOf(one); }, step);
}

std::string describeSteps(const Model &model) {
  std::string text;
  for (size_t i = 0; i < model.steps.size(); ++i) {
    text += fmt::format("{:3} {}\n", i, describeStep(model.steps[i]));
  }
  return text;
}

} // namespace spyre::spec
