//===- ModelRun.cpp - bundles of a model, one after the other -------------------------------===//
#include "spyre/Evaluator/ModelRun.h"

#include "spyre/Evaluator/Evaluator.h"
#include "spyre/Numerics/Formats.h"
#include "spyre/Numerics/Ranges.h"
#include "spyre/Spec/LoopSpec.h"
#include "spyre/Spec/Model.h"

#include <algorithm>
#include <cmath>

namespace spyre::evaluator {

namespace {

/// The nearest that so many bytes hold.
uint32_t integerBits(double value, size_t bytes) {
  const double limit = std::ldexp(1.0, int(8 * bytes) - 1);
  return std::isnan(value) ? 0 : uint32_t(int64_t(std::clamp(value, -limit, limit - 1)));
}

/// What an element of a constant has in device memory.
uint32_t bitsOf(const spec::ConstantDesc &constant) {
  using enum numerics::DataFormat;
  const numerics::DataFormat format = constant.tensor.layout.format;
  if (format == SenInt8 || format == SenInt16 || format == IeeeInt32) {
    return integerBits(constant.value, size_t(numerics::elementBytes(format)));
  }
  const numerics::HostType type = constant.tensor.dtype;
  if (type == numerics::HostType::Float16 || type == numerics::HostType::Bfloat16) {
    return numerics::floatToElement(type, float(constant.value));
  }
  const bool isTruth = type == numerics::HostType::Bool;
  return numerics::encodeConstant(isTruth ? double(constant.value != 0) : constant.value, format);
}

/// The number in every element of the stick.
std::vector<uint8_t> constantBytes(const spec::ConstantDesc &constant) {
  const layout::DeviceLayout &layout = constant.tensor.layout;
  const uint32_t bits = bitsOf(constant);
  const auto width = size_t(numerics::elementBytes(layout.format));
  std::vector<uint8_t> bytes(layout.bytes());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = uint8_t(bits >> (8 * (i % width)));
  }
  return bytes;
}

Status runBundle(const Artifacts &artifacts, const spec::BundleStep &step, DeviceBytes &tensors,
                 Memory &memory) {
  SPYRE_ASSIGN_OR_RETURN(std::string text,
                         findArtifact(artifacts, step.directory + "/op_spec.txt"));
  SPYRE_ASSIGN_OR_RETURN(spec::Kernel kernel, spec::parseKernel(text));
  SPYRE_ASSIGN_OR_RETURN(std::vector<spec::OpSpec> specs, spec::unrollKernel(kernel));
  memory.arguments.clear();
  for (const std::string &name : step.arguments) {
    memory.arguments.push_back(tensors[name]);
  }
  SPYRE_RETURN_IF_ERROR(evaluate(specs, memory));
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    tensors[step.arguments[i]] = std::move(memory.arguments[i]);
  }
  return Status::success();
}

} // namespace

Status evaluateModel(const Artifacts &artifacts, DeviceBytes &tensors) {
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(artifacts, "model.json"));
  SPYRE_ASSIGN_OR_RETURN(spec::Model model, spec::readModel(text));
  SPYRE_RETURN_IF_ERROR(spec::refuseCpuSteps(model));
  for (const spec::ConstantDesc &constant : model.constants) {
    tensors[constant.tensor.name] = constantBytes(constant);
  }
  for (const spec::TensorDesc &buffer : model.buffers) {
    tensors[buffer.name].resize(buffer.layout.bytes());
  }
  Memory memory;
  memory.pool.resize(model.poolBytes);
  for (const spec::ModelStep &step : model.steps) {
    if (const auto *bundle = std::get_if<spec::BundleStep>(&step)) {
      SPYRE_RETURN_IF_ERROR(runBundle(artifacts, *bundle, tensors, memory));
    }
  }
  return Status::success();
}

} // namespace spyre::evaluator
