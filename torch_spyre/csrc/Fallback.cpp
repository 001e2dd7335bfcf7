//===- Fallback.cpp - an operation the device cannot do, done on the CPU --------------------===//
//
// Each storage is copied to the host once, whole, and every argument becomes the same view of that
// copy, so arguments that overlap on the device overlap on the host. Afterwards the arguments the
// schema marks as written are copied back.
//===--------------------------------------------------------------------------------------------===//
#include "ATen/ops/empty_strided.h"
#include "Arguments.h"
#include "Copy.h"
#include "Eager.h"
#include "Errors.h"
#include "Generator.h"
#include "Guard.h"
#include "Memory.h"
#include "Placement.h"
#include "RuntimeState.h"
#include "Types.h"
#include "c10/core/Storage.h"

#include <map>
#include <utility>

namespace spyre::plugin {

namespace {

FallbackHook &fallbackHook() {
  static auto *hook = new FallbackHook();
  return *hook;
}

uint64_t hostBytes(const at::Tensor &tensor) {
  return uint64_t(tensor.numel()) * tensor.element_size();
}

/// The arguments' side of one fallback.
class Transfer {
public:
  at::Tensor toCpu(const at::Tensor &tensor) {
    if (!tensor.defined() || !isSpyre(tensor)) {
      return tensor;
    }
    sawSpyre = true;
    auto key = std::make_pair(tensor.storage().unsafeGetStorageImpl(), tensor.scalar_type());
    auto found = images.find(key);
    if (found == images.end()) {
      found = images.emplace(key, hostImage(tensor)).first;
      bytes += hostBytes(found->second);
    }
    return viewOfImage(found->second, tensor);
  }

  /// An out= argument is only written: a fresh host tensor will do, unless it overlaps an input.
  c10::IValue outToCpu(const c10::IValue &value) {
    const at::Tensor tensor = value.isTensor() ? value.toTensor() : at::Tensor();
    if (!tensor.defined() || !isSpyre(tensor) ||
        images.count({tensor.storage().unsafeGetStorageImpl(), tensor.scalar_type()}) != 0) {
      return toCpu(value);
    }
    sawSpyre = true;
    return at::empty_strided(tensor.sizes(), tensor.strides(),
                             tensor.options().device(c10::DeviceType::CPU));
  }

  /// The host version of any argument; lists are copied, never changed in place.
  c10::IValue toCpu(const c10::IValue &value) {
    if (value.isTensor()) {
      return toCpu(value.toTensor());
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor &tensor : value.toTensorVector()) {
        list.push_back(toCpu(tensor));
      }
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor ? std::optional<at::Tensor>(toCpu(*tensor)) : std::nullopt);
      }
      return list;
    }
    if (value.isDevice()) {
      sawSpyre |= value.toDevice().type() == c10::DeviceType::PrivateUse1;
      return c10::Device(c10::DeviceType::CPU);
    }
    return value;
  }

  at::Tensor toSpyre(const at::Tensor &tensor) {
    if (!tensor.defined() || !tensor.is_cpu() || !sawSpyre) {
      return tensor;
    }
    bytes += hostBytes(tensor);
    at::Tensor result = makeDefaultTensor(tensor.sizes(), tensor.scalar_type(), currentSpyre());
    copyTensor(tensor, result);
    return result;
  }

  c10::IValue toSpyre(const c10::IValue &value) {
    if (value.isTensor()) {
      return toSpyre(value.toTensor());
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor &tensor : value.toTensorVector()) {
        list.push_back(toSpyre(tensor));
      }
      return list;
    }
    return value;
  }

  void copyBack(const at::Tensor &host, const at::Tensor &original) {
    if (!original.defined() || !isSpyre(original)) {
      return;
    }
    if (host.sizes() != original.sizes()) {
      original.resize_(host.sizes());
    }
    bytes += hostBytes(original);
    copyTensor(host, original);
  }

  void copyBack(const c10::IValue &host, const c10::IValue &original) {
    if (original.isTensor()) {
      copyBack(host.toTensor(), original.toTensor());
    } else if (original.isTensorList()) {
      std::vector<at::Tensor> from = host.toTensorVector(), to = original.toTensorVector();
      for (size_t i = 0; i < to.size(); ++i) {
        copyBack(from[i], to[i]);
      }
    }
  }

  uint64_t bytesMoved() const { return bytes; }

private:
  std::map<std::pair<c10::StorageImpl *, c10::ScalarType>, at::Tensor> images;
  uint64_t bytes = 0;
  bool sawSpyre = false;
};

bool isGenerator(const c10::Argument &argument) {
  c10::TypePtr type = argument.type();
  if (auto optional = type->cast<c10::OptionalType>()) {
    type = optional->getElementType();
  }
  return type->kind() == c10::TypeKind::GeneratorType;
}

c10::IValue generatorFor(const c10::IValue &value, c10::Device device) {
  return hostGenerator(value.isNone() ? std::nullopt
                                      : std::optional<at::Generator>(value.toGenerator()),
                       device.index());
}

/// A generator of the device brings a call on CPU tensors here; torch refuses such pairs.
void checkGenerators(const torch::jit::Stack &arguments) {
  bool hasSpyre = false, hasCpu = false, hasGenerator = false;
  for (const c10::IValue &value : arguments) {
    if (value.isTensor() && value.toTensor().defined()) {
      hasSpyre = hasSpyre || isSpyre(value.toTensor());
      hasCpu = hasCpu || value.toTensor().is_cpu();
    } else if (value.isGenerator()) {
      hasGenerator = value.toGenerator().device().type() == c10::DeviceType::PrivateUse1;
    }
  }
  TORCH_CHECK(!hasGenerator || hasSpyre || !hasCpu,
              "Expected a 'cpu' device type for generator but found 'spyre'");
}

/// The written argument a result aliases, or -1. A result that is a view of an unwritten argument
/// has no meaning on another device.
int aliasedArgument(const c10::FunctionSchema &schema, const c10::Argument &result) {
  if (result.alias_info() == nullptr) {
    return -1;
  }
  if (!result.alias_info()->isWrite()) {
    raise(error<6504>("{} is a view and has no Spyre kernel; make the view on the CPU",
                      operationName(schema.operator_name())));
  }
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo *info = schema.arguments()[i].alias_info();
    if (info != nullptr && *info == *result.alias_info()) {
      return int(i);
    }
  }
  return -1;
}

void checkNoView(const c10::FunctionSchema &schema) {
  for (const c10::Argument &result : schema.returns()) {
    aliasedArgument(schema, result);
  }
}

/// What the user called: "aten.sin.default" rather than the "aten.sin.out" it was turned into.
std::string reportedName(const c10::OperatorHandle &op) {
  const std::optional<FunctionalForm> &form = functionalForm(op);
  const bool isOne = op.schema().returns().size() == 1;
  return operationName(form && isOne ? form->op.operator_name() : op.operator_name());
}

bool isRefusalOfTypes(const std::string &why) {
  return why.find("[gate 2: schema]") != why.npos || why.find("[gate 3: dtype]") != why.npos;
}

} // namespace

void setFallbackHook(FallbackHook hook) { fallbackHook() = std::move(hook); }

void noteFallback(const std::string &name, const std::string &why, uint64_t bytes) {
  if (fallbackHook()) {
    fallbackHook()(name, why);
  }
  countFallback(name, bytes);
}

void runOnCpu(const c10::OperatorHandle &op, torch::jit::Stack *stack, bool isFallback,
              const std::string &why) {
  const c10::FunctionSchema &schema = op.schema();
  checkNoView(schema);
  const size_t count = schema.arguments().size();
  const torch::jit::Stack originals(stack->end() - int64_t(count), stack->end());
  checkGenerators(originals);

  const std::string name = reportedName(op);
  const bool isReported = isFallback && fallbackHook();

  Transfer transfer;
  torch::jit::Stack host;
  for (size_t i = 0; i < count; ++i) {
    const c10::Argument &argument = schema.arguments()[i];
    if (isGenerator(argument)) {
      host.push_back(generatorFor(originals[i], placementOf(originals)));
    } else if (argument.kwarg_only() && isWritten(argument)) {
      host.push_back(transfer.outToCpu(originals[i]));
    } else {
      host.push_back(transfer.toCpu(originals[i]));
    }
  }
  const torch::jit::Stack hostArguments = host;
  try {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &host);
  } catch (...) {
    // Arguments that torch refuses raise its error alone, unless the device names a type that the
    // CPU lacks, too.
    if (isReported && isRefusalOfTypes(why)) {
      fallbackHook()(name, why);
    }
    throw;
  }
  if (isReported) {
    fallbackHook()(name, why);
  }

  for (size_t i = 0; i < count; ++i) {
    if (isWritten(schema.arguments()[i])) {
      transfer.copyBack(hostArguments[i], originals[i]);
    }
  }
  torch::jit::drop(*stack, count);
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    int argument = aliasedArgument(schema, schema.returns()[i]);
    stack->push_back(argument >= 0 ? originals[size_t(argument)] : transfer.toSpyre(host[i]));
  }
  if (isFallback) {
    countFallback(name, transfer.bytesMoved());
  }
}

} // namespace spyre::plugin
