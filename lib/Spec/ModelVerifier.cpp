//===- ModelVerifier.cpp - can the runtime execute this model -------------------------------===//
//
// Checked once at load time; after it the runtime indexes by name and sizes buffers by layout
// without further checks.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/Model.h"
#include "spyre/Spec/SpyreCode.h"

#include "JsonText.h"

#include <set>

namespace spyre::spec {

static constexpr int64_t kStickBytes = 128;
/// Largest host extent, in elements, in any dimension or stride.
static constexpr int64_t kMaxHostElems = int64_t(1) << 47;
static constexpr int64_t kMaxPoolBytes = int64_t(1) << 47;

static Status verifyGeometry(const TensorDesc &tensor) {
  const std::string name = tensor.name.substr(0, 80);
  if (tensor.size.size() != tensor.stride.size() || tensor.size.size() > size_t(layout::kMaxRank)) {
    return error<6002>("tensor '{}': {} sizes and {} strides; they must be equally many, at most "
                       "{}",
                       name, tensor.size.size(), tensor.stride.size(), layout::kMaxRank);
  }
  bool inRange = tensor.offset >= 0 && tensor.offset <= kMaxHostElems;
  for (size_t i = 0; i < tensor.size.size(); ++i) {
    inRange = inRange && tensor.size[i] >= 0 && tensor.size[i] <= kMaxHostElems &&
              tensor.stride[i] >= 0 && tensor.stride[i] <= kMaxHostElems;
  }
  int64_t elements = 0;
  if (!inRange || !checkedProduct(tensor.size, elements) || elements > kMaxHostElems) {
    return error<6002>("tensor '{}': sizes, strides and offset must be in 0..{}", name,
                       kMaxHostElems);
  }
  if (Status status = tensor.layout.verify(); !status.ok()) {
    return error<6002>("tensor '{}': {}", name, status.text());
  }
  if (tensor.layout.format != numerics::deviceFormat(tensor.dtype)) {
    return error<6002>("tensor '{}': format {} does not hold {}", name,
                       numerics::formatName(tensor.layout.format),
                       numerics::hostTypeName(tensor.dtype));
  }
  return Status::success();
}

static Status verifyTensor(const TensorDesc &tensor, std::set<std::string> &names) {
  if (tensor.name.empty() || !names.insert(tensor.name).second) {
    return error<6002>("the buffer name '{}' is empty or used twice; rename it",
                       tensor.name.substr(0, 80));
  }
  return verifyGeometry(tensor);
}

namespace {

/// Walks the steps and knows which buffers have memory and which host values exist.
class StepVerifier {
public:
  StepVerifier(const Model &model, std::set<std::string> present)
      : model(model), present(std::move(present)) {
    for (const TensorDesc &tensor : model.buffers) {
      buffers.insert(tensor.name);
    }
    for (const HostValue &value : model.hostValues) {
      hostValues.insert(value.name);
    }
  }

  Status run() {
    bool isOpen = false; // a bundle waits for the next one
    for (const ModelStep &step : model.steps) {
      SPYRE_RETURN_IF_ERROR(std::visit([&](const auto &one) { return verify(one); }, step));
      const auto *bundle = std::get_if<BundleStep>(&step);
      if (isOpen && std::holds_alternative<CpuStep>(step)) {
        return error<6002>("step {}: a CPU step behind a non-terminal bundle, which leaves data in "
                           "LX for the next bundle",
                           index);
      }
      isOpen = bundle ? bundle->nonTerminal : isOpen;
      ++index;
    }
    if (isOpen) {
      return error<6002>("the last bundle is non-terminal; no bundle follows that could read what "
                         "it leaves in LX");
    }
    for (const std::string &name : buffers) {
      if (present.count(name)) {
        return error<6002>("buffer '{}' is never freed; add a step \"free\" after its last use",
                           name.substr(0, 80));
      }
    }
    return Status::success();
  }

private:
  Status verify(const BundleStep &step) const {
    if (!isPlainFileName(step.directory)) {
      return error<6002>("step {}: '{}' is not a plain directory name", index,
                         step.directory.substr(0, 80));
    }
    if (step.usesPool && model.poolBytes == 0) {
      return error<6002>("step {} uses the pool, but pool_bytes is 0", index);
    }
    // A program with baked addresses has fewer; that is known when it is loaded.
    constexpr size_t kMaxArguments = size_t(kMaxBundleArgument) + 1;
    if (step.arguments.size() > kMaxArguments) {
      return error<6002>("step {} has {} arguments, a bundle has at most {}; split the bundle",
                         index, step.arguments.size(), kMaxArguments);
    }
    for (const std::string &name : step.arguments) {
      SPYRE_RETURN_IF_ERROR(isPresent(name));
      if (hostValues.count(name)) {
        return error<6002>("step {}: '{}' is a host value; only CPU steps can use it", index,
                           name.substr(0, 80));
      }
    }
    return Status::success();
  }

  Status verify(const CpuStep &step) {
    const bool numbered = !step.results.empty();
    const size_t expected = numbered ? step.results.size() : 1;
    if (step.callee.empty() || step.node < 0 || step.outputs.size() != expected) {
      return error<6002>("step {}: a CPU step needs a callee, a node number and one output per "
                         "result",
                         index);
    }
    if (step.gate < 1 || step.gate > kGates) {
      return error<6002>("step {}: gate {} is not one of 1..{}", index, step.gate, kGates);
    }
    for (const std::string &name : step.inputs) {
      SPYRE_RETURN_IF_ERROR(isPresent(name));
    }
    for (const std::string &name : step.outputs) {
      if (hostValues.count(name)) {
        present.insert(name);
      }
      SPYRE_RETURN_IF_ERROR(isPresent(name));
    }
    return Status::success();
  }

  Status verify(const AllocateStep &step) {
    if (!buffers.count(step.buffer) || !present.insert(step.buffer).second) {
      return error<6002>("step {}: '{}' is no buffer of the model, or has memory already", index,
                         step.buffer.substr(0, 80));
    }
    return Status::success();
  }

  Status verify(const FreeStep &step) {
    if (!buffers.count(step.buffer) || present.erase(step.buffer) == 0) {
      return error<6002>("step {}: '{}' is no buffer of the model, or has no memory", index,
                         step.buffer.substr(0, 80));
    }
    return Status::success();
  }

  Status isPresent(const std::string &name) const {
    if (present.count(name)) {
      return Status::success();
    }
    const bool known = buffers.count(name) || hostValues.count(name);
    return known ? error<6002>("step {}: '{}' is used before it is there, or after it was freed",
                               index, name.substr(0, 80))
                 : error<6002>("step {}: no buffer '{}' among inputs, outputs and constants", index,
                               name.substr(0, 80));
  }

  const Model &model;
  std::set<std::string> present, buffers, hostValues;
  size_t index = 0;
};

} // namespace

Status verifyModel(const Model &model) {
  if (model.version != 1 || model.deviceName.empty() || model.deviceHash.empty()) {
    return error<6002>("version {}, device '{}', hash '{}'; version must be 1 and the device named",
                       model.version, model.deviceName.substr(0, 80),
                       model.deviceHash.substr(0, 80));
  }
  // Whether it fits a segment is a question to the machine, asked when the model is loaded.
  if (model.poolBytes < 0 || model.poolBytes % kStickBytes != 0 ||
      model.poolBytes > kMaxPoolBytes) {
    return error<6002>("pool_bytes {} is not a multiple of {} in 0..{}", model.poolBytes,
                       kStickBytes, kMaxPoolBytes);
  }
  std::set<std::string> names;
  for (const TensorDesc &tensor : model.inputs) {
    SPYRE_RETURN_IF_ERROR(verifyTensor(tensor, names));
  }
  for (const TensorDesc &tensor : model.outputs) {
    SPYRE_RETURN_IF_ERROR(verifyTensor(tensor, names));
  }
  for (const ConstantDesc &constant : model.constants) {
    SPYRE_RETURN_IF_ERROR(verifyTensor(constant.tensor, names));
  }
  std::set<std::string> present = names;
  for (const TensorDesc &tensor : model.buffers) {
    SPYRE_RETURN_IF_ERROR(verifyTensor(tensor, names));
  }
  for (const HostValue &value : model.hostValues) {
    if (value.name.empty() || !names.insert(value.name).second) {
      return error<6002>("the buffer name '{}' is empty or used twice; rename it",
                         value.name.substr(0, 80));
    }
  }
  return StepVerifier(model, std::move(present)).run();
}

} // namespace spyre::spec
