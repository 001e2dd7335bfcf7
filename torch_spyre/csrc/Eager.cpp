//===- Eager.cpp - one-op programs ----------------------------------------------------------===//
//
// The result's type and shape come from running the operation on meta tensors, so torch's own rules
// (promotion, broadcasting) hold. Programs are kept by operation, geometry, layouts and constants;
// so are refusals of the compiler, to not ask again.
//===--------------------------------------------------------------------------------------------===//
#include "Eager.h"

#include "spyre/Base/Math.h"

#include "ATen/ops/empty_strided.h"
#include "Arguments.h"
#include "Copy.h"
#include "Errors.h"
#include "Guard.h"
#include "Memory.h"
#include "Placement.h"
#include "Programs.h"
#include "RuntimeState.h"
#include "Types.h"
#include "c10/core/DeviceGuard.h"
#include "torch/library.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

namespace spyre::plugin {

namespace {

/// Arguments of \p schema that are inputs: without written keyword arguments (out=).
std::vector<const c10::Argument *> inputArguments(const c10::FunctionSchema &schema) {
  std::vector<const c10::Argument *> inputs;
  for (const c10::Argument &argument : schema.arguments()) {
    if (!(argument.kwarg_only() && isWritten(argument))) {
      inputs.push_back(&argument);
    }
  }
  return inputs;
}

bool sameInputs(const c10::FunctionSchema &a, const c10::FunctionSchema &b) {
  std::vector<const c10::Argument *> first = inputArguments(a), second = inputArguments(b);
  return first.size() == second.size() &&
         std::equal(first.begin(), first.end(), second.begin(),
                    [](const c10::Argument *x, const c10::Argument *y) {
                      return x->name() == y->name() && *x->type() == *y->type();
                    });
}

bool writesNothing(const c10::FunctionSchema &schema) {
  return std::none_of(schema.arguments().begin(), schema.arguments().end(), isWritten);
}

std::optional<FunctionalForm> findFunctionalForm(const c10::OperatorHandle &op) {
  using Kind = FunctionalForm::Kind;
  const c10::FunctionSchema &schema = op.schema();
  if (schema.returns().size() != 1 ||
      schema.returns()[0].type()->kind() != c10::TypeKind::TensorType) {
    return std::nullopt;
  }
  if (writesNothing(schema)) {
    return FunctionalForm{Kind::Same, op};
  }
  size_t outs = schema.arguments().size() - inputArguments(schema).size();
  Kind kind = outs == 1 ? Kind::Out : Kind::InPlace;
  std::string base = schema.name();
  if (kind == Kind::InPlace) {
    if (base.empty() || base.back() != '_' || outs != 0) {
      return std::nullopt;
    }
    base.pop_back();
  }
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName &name : dispatcher.getAllOpNames()) {
    if (name.name != base) {
      continue;
    }
    std::optional<c10::OperatorHandle> candidate = dispatcher.findSchema(name);
    if (candidate && writesNothing(candidate->schema()) &&
        sameInputs(schema, candidate->schema())) {
      return FunctionalForm{kind, *candidate};
    }
  }
  return std::nullopt;
}

bool inTable(const std::string &name) {
  const std::vector<std::string> &table = computedOperations();
  return std::binary_search(table.begin(), table.end(), name);
}

/// A number that torch's Python binding wrapped, or a scalar tensor the user left on the CPU.
bool isHostScalar(const at::Tensor &tensor) { return tensor.is_cpu() && tensor.dim() == 0; }

std::optional<capi::Attribute> numberOf(const at::Tensor &scalar) {
  at::Scalar value = scalar.item();
  if (value.isBoolean()) {
    return capi::Attribute(value.toBool());
  }
  if (value.isIntegral(/*includeBool=*/false)) {
    return capi::Attribute(value.toLong());
  }
  if (value.isFloatingPoint()) {
    return capi::Attribute(value.toDouble());
  }
  return std::nullopt;
}

/// One eager call in the graph's terms.
struct Call {
  std::vector<at::Tensor> inputs;
  CallArguments arguments;
};

/// Operand of the call; the same tensor twice is one input.
GraphValue addInput(Call &call, const at::Tensor &tensor) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].is_same(tensor)) {
      return {capi::ValueId(i)};
    }
  }
  call.inputs.push_back(tensor);
  return {capi::ValueId(call.inputs.size() - 1)};
}

/// Indices may be given on the CPU, as lists are: they are moved.
std::optional<at::Tensor> onDevice(const at::Tensor &tensor) {
  if (tensor.numel() == 0 || !hostTypeOf(tensor.scalar_type())) {
    return std::nullopt;
  }
  if (isSpyre(tensor)) {
    return tensor;
  }
  const bool isIndex = tensor.scalar_type() == c10::kLong || tensor.scalar_type() == c10::kInt;
  if (!tensor.is_cpu() || !isIndex) {
    return std::nullopt;
  }
  at::Tensor moved = makeDefaultTensor(tensor.sizes(), tensor.scalar_type(), currentSpyre());
  copyTensor(tensor, moved);
  return moved;
}

/// Tensors the device holds, and None.
std::optional<ArgumentValue> listOf(Call &call,
                                    const std::vector<std::optional<at::Tensor>> &tensors) {
  std::vector<GraphValue> values;
  for (const std::optional<at::Tensor> &tensor : tensors) {
    if (!tensor || !tensor->defined()) {
      values.emplace_back();
    } else if (std::optional<at::Tensor> held = onDevice(*tensor)) {
      values.push_back(addInput(call, *held));
    } else {
      return std::nullopt;
    }
  }
  return ArgumentValue(std::move(values));
}

std::optional<ArgumentValue> argumentOf(Call &call, const c10::Argument &argument,
                                        const c10::IValue &value) {
  if (value.isOptionalTensorList()) {
    return listOf(call, value.toOptionalTensorVector());
  }
  if (value.isTensorList()) {
    const std::vector<at::Tensor> tensors = value.toTensorVector();
    const bool isMixed = !std::all_of(tensors.begin(), tensors.end(), isSpyre);
    return isMixed ? std::nullopt : listOf(call, {tensors.begin(), tensors.end()});
  }
  if (!value.isTensor()) {
    return constantOf(argument, value);
  }
  const at::Tensor &tensor = value.toTensor();
  if (!tensor.defined()) {
    return ArgumentValue();
  }
  if (isHostScalar(tensor)) {
    std::optional<capi::Attribute> number = numberOf(tensor);
    return number ? std::optional<ArgumentValue>(*number) : std::nullopt;
  }
  if (!isSpyre(tensor) || tensor.numel() == 0 || !hostTypeOf(tensor.scalar_type())) {
    return std::nullopt;
  }
  return ArgumentValue(addInput(call, tensor));
}

/// Nullopt when some argument cannot be expressed; then the operation is not for the compiler.
std::optional<Call> makeCall(const c10::FunctionSchema &schema,
                             c10::ArrayRef<c10::IValue> arguments) {
  Call call;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument &argument = schema.arguments()[i];
    std::optional<ArgumentValue> value =
        isPlacement(argument) ? ArgumentValue() : argumentOf(call, argument, arguments[i]);
    if (!value) {
      return std::nullopt;
    }
    appendArgument(argument, i, *value, call.arguments);
  }
  return call.inputs.empty() ? std::nullopt : std::optional<Call>(std::move(call));
}

std::string attributeText(const capi::Attribute &attribute) {
  return std::visit(
      [](const auto &value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          return fmt::format("[{}]", fmt::join(value, ","));
        } else if constexpr (std::is_same_v<T, double>) {
          return fmt::format("{:a}", value);
        } else {
          return fmt::format("{}", value);
        }
      },
      attribute);
}

std::string keyOf(const std::string &target, const Call &call) {
  std::string key = target + fmt::format("({})", fmt::join(call.arguments.operands, ","));
  for (const auto &[name, attribute] : call.arguments.attributes) {
    key += fmt::format(";{}:{}={}", name, attribute.index(), attributeText(attribute));
  }
  for (const at::Tensor &input : call.inputs) {
    key.append(1, ';').append(signatureOf(input));
  }
  return key;
}

at::Tensor metaOf(const at::Tensor &tensor) {
  return tensor.defined() && isSpyre(tensor)
             ? at::empty_strided(tensor.sizes(), tensor.strides(),
                                 tensor.options().device(c10::DeviceType::Meta))
             : tensor;
}

/// The result torch would give, as a meta tensor; undefined when torch itself refuses (then the CPU
/// gives the user torch's own error).
at::Tensor inferResult(const c10::OperatorHandle &op, c10::ArrayRef<c10::IValue> arguments) {
  torch::jit::Stack stack;
  for (const c10::IValue &value : arguments) {
    if (value.isTensor()) {
      stack.emplace_back(metaOf(value.toTensor()));
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor &tensor : value.toTensorVector()) {
        list.push_back(metaOf(tensor));
      }
      stack.emplace_back(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor ? std::optional<at::Tensor>(metaOf(*tensor)) : std::nullopt);
      }
      stack.emplace_back(list);
    } else if (value.isDevice()) {
      stack.emplace_back(c10::Device(c10::DeviceType::Meta));
    } else {
      stack.push_back(value);
    }
  }
  try {
    op.callBoxed(&stack);
  } catch (const std::exception &) { // c10::Error, or Python's where the meta kernel is Python
    return {};
  }
  return stack.size() == 1 && stack[0].isTensor() ? stack[0].toTensor() : at::Tensor();
}

/// Programs of eager operations. A null program is a remembered refusal.
struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, Program> programs;
};

Cache &cache() {
  static Cache *instance = new Cache();
  return *instance;
}

Program compileCall(const std::string &target, const Call &call, const at::Tensor &result) {
  capi::GraphBuilder builder;
  std::vector<capi::ValueId> ids;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const at::Tensor &input = call.inputs[i];
    ids.push_back(
        builder.addInput(fmt::format("arg{}", i), tensorType(input), 0, geometryOf(input).layout));
  }
  std::vector<capi::ValueId> operands;
  for (capi::ValueId operand : call.arguments.operands) {
    operands.push_back(ids[size_t(operand)]);
  }
  // Inputs were made contiguous where they were views, and eager results have canonical layouts.
  capi::TensorType type = tensorType(result);
  type.stride = rowMajorStrides(type.size);
  builder.addOutput(builder.addCall(target, operands, call.arguments.attributes, type, ""), type);
  Expected<Program> program = compileProgram(builder, target, configuredSettings());
  if (!program.ok() && isUnsupported(program.status())) {
    return nullptr;
  }
  return check(std::move(program));
}

Program programFor(const std::string &target, const Call &call, const c10::OperatorHandle &op,
                   c10::ArrayRef<c10::IValue> arguments) {
  const std::string key = keyOf(target, call);
  {
    std::lock_guard<std::mutex> lock(cache().mutex);
    if (auto found = cache().programs.find(key); found != cache().programs.end()) {
      hostCounters().compileCacheHits += found->second ? 1 : 0;
      return found->second;
    }
  }
  at::Tensor result = inferResult(op, arguments);
  Program program;
  if (result.defined() && result.numel() > 0 && hostTypeOf(result.scalar_type())) {
    program = compileCall(target, call, result);
  } else if (!result.defined()) {
    return nullptr;
  }
  std::lock_guard<std::mutex> lock(cache().mutex);
  cache().programs.emplace(key, program);
  return program;
}

void storeResult(const at::Tensor &result, const at::Tensor &destination, bool mayResize) {
  TORCH_CHECK(c10::canCast(result.scalar_type(), destination.scalar_type()), "result type ",
              result.scalar_type(), " can't be cast to the desired output type ",
              destination.scalar_type());
  if (result.sizes() != destination.sizes()) {
    TORCH_CHECK(mayResize, "output with shape ", destination.sizes(),
                " doesn't match the broadcast shape ", result.sizes());
    destination.resize_(result.sizes());
  }
  copyTensor(result, destination);
}

/// Operations that are copies or metadata: torch's own kernels over ours are right for them.
bool isPlainMovement(const c10::FunctionSchema &schema) {
  const std::string &name = schema.name();
  return schema.returns().size() != 1 || schema.returns()[0].alias_info() != nullptr ||
         name == "aten::clone" || name == "aten::_unsafe_view" || name == "aten::detach";
}

void eagerKernel(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  // Results, and what has to be moved, go where the arguments are.
  const c10::DeviceGuard guard(
      placementOf(torch::jit::last(*stack, op.schema().arguments().size())));
  if (!runCompiled(op, stack)) {
    runOnCpu(op, stack);
  }
}

} // namespace

const std::optional<FunctionalForm> &functionalForm(const c10::OperatorHandle &op) {
  static std::mutex mutex;
  static auto *known = new std::map<std::string, std::optional<FunctionalForm>>();
  std::string name = operationName(op.operator_name());
  std::lock_guard<std::mutex> lock(mutex);
  auto found = known->find(name);
  if (found == known->end()) {
    found = known->emplace(name, findFunctionalForm(op)).first;
  }
  return found->second;
}

bool runCompiled(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  using Kind = FunctionalForm::Kind;
  const std::optional<FunctionalForm> &form = functionalForm(op);
  if (!form) {
    return false;
  }
  const std::string target = operationName(form->op.operator_name());
  if (!inTable(target) || isPlainMovement(form->op.schema())) {
    return false;
  }
  const size_t total = op.schema().arguments().size();
  c10::ArrayRef<c10::IValue> all(stack->data() + stack->size() - total, total);
  // The written keyword argument comes last; the functional operation has the others, in order.
  c10::ArrayRef<c10::IValue> inputs = all.slice(0, form->op.schema().arguments().size());
  const at::Tensor destination =
      form->kind == Kind::Same ? at::Tensor()
                               : (form->kind == Kind::Out ? all.back() : all.front()).toTensor();
  if (destination.defined() && !isSpyre(destination)) {
    return false;
  }
  std::optional<Call> call = makeCall(form->op.schema(), inputs);
  if (!call) {
    return false;
  }
  for (at::Tensor &input : call->inputs) {
    input = programInput(input);
  }
  Program program = programFor(target, *call, form->op, inputs);
  if (!program) {
    return false;
  }
  at::Tensor result = canonical(runProgram(program, call->inputs)[0]);
  if (destination.defined()) {
    storeResult(result, destination, form->kind == Kind::Out);
    result = destination;
  }
  torch::jit::drop(*stack, total);
  torch::jit::push(*stack, std::move(result));
  return true;
}

void registerEagerKernels() {
  static auto *library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  for (const std::string &name : computedOperations()) {
    // "aten.add.Tensor" -> "aten::add", "Tensor"
    size_t dot = name.rfind('.');
    if (name.rfind("aten.", 0) != 0 || dot <= 5) {
      continue;
    }
    std::string base = name.substr(5, dot - 5), overload = name.substr(dot + 1);
    overload = overload == "default" ? "" : overload;
    auto op = c10::Dispatcher::singleton().findSchema({"aten::" + base, overload});
    // What torch composes of other operations it differentiates as such; it reaches us in pieces.
    const bool composed =
        op && op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    if (op && !composed && !isPlainMovement(op->schema())) {
      library->impl((overload.empty() ? base : base + "." + overload).c_str(),
                    torch::CppFunction::makeFromBoxedFunction<&eagerKernel>());
    }
  }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&eagerKernel>());
}

} // namespace spyre::plugin
