//===- Eager.cpp - eager operations: look up, make outputs, run -----------------------------===//
//
// The result's type and shape come from running the operation on meta tensors, so torch's own rules
// (promotion, broadcasting) hold. Programs are kept by a binary key of the call; so are refusals of
// the compiler, to not ask again. A call that was seen before only reads its arguments, allocates
// its results and runs.
//===--------------------------------------------------------------------------------------------===//
#include "Eager.h"

#include "ATen/MemoryOverlap.h"
#include "ATen/native/Resize.h"
#include "ATen/ops/cat.h"
#include "Arguments.h"
#include "Copy.h"
#include "EagerProgram.h"
#include "EagerVariable.h"
#include "Errors.h"
#include "Guard.h"
#include "Memory.h"
#include "Placement.h"
#include "Programs.h"
#include "ResultStrides.h"
#include "RuntimeState.h"
#include "Types.h"
#include "c10/core/DeviceGuard.h"
#include "torch/library.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <shared_mutex>

namespace spyre::plugin {

namespace {

using Entry = std::shared_ptr<const EagerProgram>;
/// Programs of eager operations.
struct Cache {
  std::shared_mutex mutex;
  KeyMap<Entry> entries;
};

Cache &cache() {
  static Cache *instance = new Cache();
  return *instance;
}

std::atomic<bool> &eagerEnabled() {
  static std::atomic<bool> enabled{true};
  return enabled;
}

/// Programs lie in device memory: a process that never sees the same call twice must not fill it.
constexpr size_t kMostPrograms = 16384;

Entry remember(const EagerCall &call, Entry entry) {
  std::unique_lock<std::shared_mutex> lock(cache().mutex);
  if (cache().entries.size() >= kMostPrograms) {
    cache().entries.clear();
  }
  // In the place of one whose constants a reset took.
  return cache()
      .entries
      .insert_or_assign(std::vector<uint64_t>(call.key.begin(), call.key.end()), std::move(entry))
      .first->second;
}

/// On the device of the call.
Entry compileCall(const EagerPlan &plan, const EagerCall &call,
                  c10::ArrayRef<c10::IValue> arguments) {
  const c10::DeviceGuard guard(call.inputs[0].device());
  Entry entry = remember(call, compileEager(plan, call, arguments));
  if (!entry->program) {
    noteRefusal(call, entry->refusal);
  }
  return entry;
}

/// Null when there is none and the call has one of ever new numbers.
Entry programFor(const EagerPlan &plan, const EagerCall &call,
                 c10::ArrayRef<c10::IValue> arguments) {
  const KeyRef key(call.key.data(), call.key.size());
  {
    std::shared_lock<std::shared_mutex> lock(cache().mutex);
    auto found = cache().entries.find(key);
    if (found != cache().entries.end() && !lostMemory(found->second->constants)) {
      hostCounters().compileCacheHits += found->second->program ? 1 : 0;
      return found->second;
    }
  }
  const NumberHistory history = noteNewCall(call);
  if (history.isHopeless()) {
    EagerProgram refused;
    refused.refusal = history.refusal;
    return std::make_shared<const EagerProgram>(std::move(refused));
  }
  return history.isChanging() ? nullptr : compileCall(plan, call, arguments);
}

/// Indices may be given on the CPU, as lists are: they are moved. Masks are not indices.
bool isHostIndex(const at::Tensor &tensor) {
  return tensor.defined() && tensor.is_cpu() && tensor.dim() > 0 &&
         (tensor.scalar_type() == c10::kLong || tensor.scalar_type() == c10::kInt);
}

at::Tensor moveIndex(const at::Tensor &tensor, c10::Device device) {
  at::Tensor moved = makeDefaultTensor(tensor.sizes(), tensor.scalar_type(), device);
  copyTensor(tensor, moved);
  return moved;
}

/// The arguments with their host indices on the device.
std::vector<c10::IValue> withIndicesMoved(c10::ArrayRef<c10::IValue> arguments,
                                          c10::Device device) {
  std::vector<c10::IValue> moved;
  for (const c10::IValue &value : arguments) {
    if (value.isTensor() && isHostIndex(value.toTensor())) {
      moved.emplace_back(moveIndex(value.toTensor(), device));
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor && isHostIndex(*tensor)
                           ? std::optional<at::Tensor>(moveIndex(*tensor, device))
                           : tensor);
      }
      moved.emplace_back(std::move(list));
    } else {
      moved.push_back(value);
    }
  }
  return moved;
}

bool sharesStorage(const EagerCall &call, const at::Tensor &tensor) {
  return std::any_of(call.inputs.begin(), call.inputs.end(), [&](const at::Tensor &input) {
    return input.storage().unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl();
  });
}

/// Torch's checks of what is written: no element twice, no input half covered.
void checkDestination(const EagerCall &call, const at::Tensor &destination) {
  if (isWholeStorage(destination)) {
    return;
  }
  at::assert_no_internal_overlap(destination);
  for (const at::Tensor &input : call.inputs) {
    at::assert_no_partial_overlap(destination, input);
  }
}

/// The program may write straight into the destination.
bool isPlaceFor(const EagerProgram &entry, const EagerCall &call, const at::Tensor &destination) {
  const PreparedTensor &output = entry.outputs[0];
  return destination.scalar_type() == output.type &&
         &geometryOf(destination) == output.geometry.get() &&
         destination.sizes() == c10::IntArrayRef(output.size) && isWholeStorage(destination) &&
         !sharesStorage(call, destination);
}

void storeResult(const at::Tensor &result, const at::Tensor &destination, bool mayResize) {
  TORCH_CHECK(c10::canCast(result.scalar_type(), destination.scalar_type()), "result type ",
              result.scalar_type(), " can't be cast to the desired output type ",
              destination.scalar_type());
  if (result.sizes() != destination.sizes()) {
    TORCH_CHECK(mayResize, "output with shape ", destination.sizes(),
                " doesn't match the broadcast shape ", result.sizes());
    at::native::resize_output(destination, result.sizes());
  }
  copyTensor(result, destination);
}

/// Runs the program; \p destination, if defined, is used as the memory of output 0.
std::vector<at::Tensor> runEntry(const EagerProgram &entry, const EagerCall &call,
                                 const at::Tensor &destination) {
  std::vector<at::Tensor> copies;
  std::vector<runtime::BufferRef> inputs, outputs;
  inputs.reserve(entry.sources.size());
  for (size_t i = 0; i < entry.sources.size(); ++i) {
    const int64_t source = entry.sources[i];
    const at::Tensor &tensor =
        source >= 0 ? call.inputs[size_t(source)] : entry.constants[size_t(-1 - source)];
    if (entry.isCopied[i]) {
      copies.push_back(canonical(tensor));
      inputs.push_back(bufferOf(copies.back()));
    } else {
      inputs.push_back(bufferOf(tensor));
    }
  }
  std::vector<at::Tensor> results;
  results.reserve(entry.outputs.size());
  outputs.reserve(entry.outputs.size());
  const c10::Device device = call.inputs[0].device();
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    results.push_back(i == 0 && destination.defined() ? destination
                                                      : makePrepared(entry.outputs[i], device));
    outputs.push_back(bufferOf(results.back()));
  }
  runOnBuffers(entry.program, inputs, outputs);
  return results;
}

/// Results without elements need no device; what torch makes of nothing else is the CPU's.
bool runOnNothing(const EagerPlan &plan, c10::ArrayRef<c10::IValue> arguments,
                  const at::Tensor &destination, c10::Device device, torch::jit::Stack *stack) {
  const std::vector<at::Tensor> metas = inferResults(plan.form->op, arguments);
  const bool isNothing = !metas.empty() && std::all_of(metas.begin(), metas.end(), [](auto &meta) {
    return meta.numel() == 0 && hostTypeOf(meta.scalar_type());
  });
  if (!isNothing || (destination.defined() && destination.sizes() != metas[0].sizes())) {
    return false;
  }
  const std::vector<std::vector<int64_t>> strides = resultStrides(plan.form->op, arguments, metas);
  torch::jit::drop(*stack, plan.arguments);
  // Behind the results are new contents of arguments, which stay empty.
  for (size_t i = 0; i < metas.size() - plan.updated.size(); ++i) {
    const c10::ScalarType type = metas[i].scalar_type();
    torch::jit::push(*stack, destination.defined()
                                 ? destination
                                 : makeTensor(metas[i].sizes(), strides[i], type, device,
                                              makeGeometry(metas[i].sizes(), strides[i], type)));
  }
  return true;
}

/// The tensors of the device among the arguments, those in lists too.
std::vector<at::Tensor> deviceTensors(c10::ArrayRef<c10::IValue> arguments) {
  std::vector<at::Tensor> found;
  for (const c10::IValue &value : arguments) {
    std::vector<at::Tensor> given;
    if (value.isTensor()) {
      given.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      given = value.toTensorVector();
    }
    std::copy_if(given.begin(), given.end(), std::back_inserter(found),
                 [](const at::Tensor &tensor) { return tensor.defined() && isSpyre(tensor); });
  }
  return found;
}

std::optional<c10::Device> deviceOf(c10::ArrayRef<c10::IValue> arguments) {
  const std::vector<at::Tensor> tensors = deviceTensors(arguments);
  return tensors.empty() ? std::nullopt : std::optional<c10::Device>(tensors[0].device());
}

/// Nothing that was computed before counts: the sum of no elements is a number like any other.
bool readsNothing(c10::ArrayRef<c10::IValue> inputs) {
  const std::vector<at::Tensor> tensors = deviceTensors(inputs);
  return !tensors.empty() &&
         std::all_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor &tensor) { return tensor.numel() == 0; });
}

/// A join of tensors of which some have no elements is that of the others.
bool joinOthers(const EagerPlan &plan, c10::ArrayRef<c10::IValue> inputs,
                const at::Tensor &destination, torch::jit::Stack *stack) {
  if (plan.target != "aten.cat.default" || destination.defined() || !inputs[0].isTensorList()) {
    return false;
  }
  const std::vector<at::Tensor> all = inputs[0].toTensorVector();
  std::vector<at::Tensor> others;
  std::copy_if(all.begin(), all.end(), std::back_inserter(others),
               [](const at::Tensor &tensor) { return tensor.numel() > 0; });
  const std::vector<at::Tensor> metas = inferResults(plan.form->op, inputs);
  const bool isAlike = std::all_of(others.begin(), others.end(), [&](const at::Tensor &tensor) {
    return !metas.empty() && tensor.scalar_type() == metas[0].scalar_type();
  });
  if (others.empty() || others.size() == all.size() || !isAlike) {
    return false;
  }
  at::Tensor result = at::cat(others, inputs[1].toInt());
  if (result.sizes() != metas[0].sizes()) {
    return false;
  }
  torch::jit::drop(*stack, plan.arguments);
  torch::jit::push(*stack, std::move(result));
  return true;
}

/// The first \p count results.
void pushResults(const EagerProgram &entry, size_t count, std::vector<at::Tensor> &outputs,
                 c10::Device device, torch::jit::Stack *stack) {
  for (size_t i = 0; i < count; ++i) {
    const EagerResult &result = entry.results[i];
    switch (result.kind) {
    case EagerResult::Kind::Output:
      stack->emplace_back(outputs[result.output]);
      break;
    case EagerResult::Kind::Undefined:
      stack->emplace_back(at::Tensor());
      break;
    case EagerResult::Kind::Empty:
      stack->emplace_back(makePrepared(result.empty, device));
      break;
    case EagerResult::Kind::Written:
      TORCH_INTERNAL_ASSERT(false, "only arguments are written, behind the results");
    }
  }
}

/// New contents of arguments that the program left as results.
void storeUpdates(const EagerPlan &plan, const EagerProgram &entry,
                  const std::vector<at::Tensor> &outputs, c10::ArrayRef<c10::IValue> arguments) {
  const size_t first = plan.results - plan.updated.size();
  for (size_t i = 0; i < plan.updated.size(); ++i) {
    if (entry.results[first + i].kind == EagerResult::Kind::Output) {
      storeResult(outputs[entry.results[first + i].output], arguments[plan.updated[i]].toTensor(),
                  /*mayResize=*/false);
    }
  }
}

/// A program finds all its tensors on one card.
void checkOneDevice(const EagerCall &call, const at::Tensor &destination) {
  const c10::Device device = call.inputs[0].device();
  const auto check = [&](const at::Tensor &tensor) {
    if (tensor.defined() && tensor.device() != device) [[unlikely]] {
      raise(error<6523>("Expected all tensors to be on the same device, but found at least two "
                        "devices, {} and {}! Move them with .to()",
                        device.str(), tensor.device().str()));
    }
  };
  std::for_each(call.inputs.begin(), call.inputs.end(), check);
  check(destination);
}

/// out= of an operation with several results. What does not fit is the CPU's to say, in torch's
/// words.
bool runIntoSeveral(const EagerPlan &plan, c10::ArrayRef<c10::IValue> inputs,
                    c10::ArrayRef<c10::IValue> outs, torch::jit::Stack *stack, std::string &why) {
  EagerCall call;
  if (!call.read(plan, inputs) || call.hasEmpty) {
    return false;
  }
  std::vector<at::Tensor> destinations;
  for (const c10::IValue &out : outs) {
    destinations.push_back(out.toTensor());
    if (!destinations.back().defined() || !isSpyre(destinations.back())) {
      return false;
    }
    checkOneDevice(call, destinations.back());
  }
  Entry entry = programFor(plan, call, inputs);
  entry = entry ? entry : compileCall(plan, call, inputs);
  if (!entry->program || entry->results.size() != destinations.size()) {
    why = entry->refusal;
    return false;
  }
  for (size_t i = 0; i < destinations.size(); ++i) {
    const EagerResult &result = entry->results[i];
    if (result.kind != EagerResult::Kind::Output ||
        entry->outputs[result.output].type != destinations[i].scalar_type()) {
      return false;
    }
    checkDestination(call, destinations[i]);
  }
  const std::vector<at::Tensor> outputs = runEntry(*entry, call, at::Tensor());
  for (size_t i = 0; i < destinations.size(); ++i) {
    storeResult(outputs[entry->results[i].output], destinations[i], /*mayResize=*/true);
  }
  torch::jit::drop(*stack, plan.arguments);
  stack->insert(stack->end(), destinations.begin(), destinations.end());
  return true;
}

/// False where it is the CPU's; \p why is then the reason, if there is one to tell.
bool runPlan(const EagerPlan &plan, torch::jit::Stack *stack, std::string &why) {
  using Kind = FunctionalForm::Kind;
  if (!plan.form || !(plan.isKnown || plan.mayTrace)) {
    return false;
  }
  c10::ArrayRef<c10::IValue> all(stack->data() + stack->size() - plan.arguments, plan.arguments);
  // Written keyword arguments come last; the functional operation has the others, in order.
  c10::ArrayRef<c10::IValue> inputs = all.slice(0, plan.inputs);
  const Kind kind = plan.form->kind;
  if (kind == Kind::Out && plan.results > 1) {
    return runIntoSeveral(plan, inputs, all.slice(plan.inputs), stack, why);
  }
  const at::Tensor destination = kind == Kind::Out       ? all.back().toTensor()
                                 : kind == Kind::InPlace ? all.front().toTensor()
                                                         : at::Tensor();
  if (destination.defined() && !isSpyre(destination)) {
    return false;
  }
  std::vector<c10::IValue> moved;
  if (plan.takesHostIndices) {
    if (std::optional<c10::Device> device = deviceOf(inputs)) {
      moved = withIndicesMoved(inputs, *device);
      inputs = moved;
    }
  }
  EagerCall call;
  if (!call.read(plan, inputs)) {
    return false;
  }
  if (call.hasEmpty) {
    const std::optional<c10::Device> device = deviceOf(inputs);
    return device && (runOnNothing(plan, inputs, destination, *device, stack) ||
                      joinOthers(plan, inputs, destination, stack));
  }
  checkOneDevice(call, destination);
  Entry entry = programFor(plan, call, inputs);
  if (!entry) {
    if (at::Tensor result = runOnNumberTensors(plan, inputs); result.defined()) {
      if (destination.defined()) {
        checkDestination(call, destination);
        storeResult(result, destination, kind == Kind::Out);
        result = destination;
      }
      torch::jit::drop(*stack, plan.arguments);
      torch::jit::push(*stack, std::move(result));
      return true;
    }
    entry = compileCall(plan, call, inputs);
  }
  if (!entry->program) {
    why = entry->refusal;
    return false;
  }
  bool isDirect = false;
  if (destination.defined()) {
    checkDestination(call, destination);
    isDirect = isPlaceFor(*entry, call, destination);
  }
  std::vector<at::Tensor> outputs = runEntry(*entry, call, isDirect ? destination : at::Tensor());
  const c10::Device device = call.inputs[0].device();
  if (destination.defined() && !isDirect) {
    storeResult(outputs[0], destination, kind == Kind::Out);
    outputs[0] = destination;
  }
  storeUpdates(plan, *entry, outputs, inputs);
  torch::jit::drop(*stack, plan.arguments);
  pushResults(*entry, plan.results - plan.updated.size(), outputs, device, stack);
  return true;
}

/// Numbers may lie on the CPU, tensors not.
void checkDevice(const EagerPlan &plan, const at::Tensor &tensor,
                 std::optional<c10::Device> &common) {
  if (!tensor.defined() || isHostScalar(tensor)) {
    return;
  }
  TORCH_CHECK(!common || *common == tensor.device(),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              *common, " and ", tensor.device(), "! (when calling ", plan.name, ")");
  common = tensor.device();
}

void checkDevices(const EagerPlan &plan, const torch::jit::Stack &stack) {
  if (plan.mixesDevices) {
    return;
  }
  std::optional<c10::Device> common;
  for (size_t i = stack.size() - plan.arguments; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      checkDevice(plan, stack[i].toTensor(), common);
    } else if (stack[i].isTensorList()) {
      for (const at::Tensor &tensor : stack[i].toTensorVector()) {
        checkDevice(plan, tensor, common);
      }
    }
  }
}

/// Why an operation runs on the CPU that no row and no formula refused.
std::string reasonOf(const EagerPlan &plan) {
  if (plan.isForCpu) {
    return "random numbers, and results whose sizes depend on values, are made on the CPU";
  }
  return plan.isKnown ? "the device's kernel does not take these arguments"
                      : "the device has no kernel and no formula for it";
}

void eagerKernel(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  if (!eagerEnabled()) [[unlikely]] {
    raise(
        error<6530>("{} was called in eager mode, which EAGER_MODE=0 switches off; call it inside "
                    "torch.compile, or leave EAGER_MODE unset",
                    operationName(op.operator_name())));
  }
  const EagerPlan &plan = planOf(op);
  std::string why;
  if (!runPlan(plan, stack, why)) {
    checkDevices(plan, *stack);
    // Results, and what has to be moved, go where the arguments are.
    const c10::DeviceGuard guard(
        placementOf(torch::jit::last(*stack, op.schema().arguments().size())));
    const c10::ArrayRef<c10::IValue> all(stack->data() + stack->size() - plan.arguments,
                                         plan.arguments);
    runOnCpu(op, stack, /*isFallback=*/!(plan.form && readsNothing(all.slice(0, plan.inputs))),
             why.empty() ? reasonOf(plan) : why);
  }
}

/// Torch's own kernel would make an output and call the out= form; ours gives a fresh result.
bool isStructured(const c10::OperatorHandle &op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) &&
         op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

bool isAliasing(const c10::FunctionSchema &schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const auto &result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  });
}

bool isKnownByName(const c10::OperatorName &name) {
  const std::vector<std::string> &table = computedOperations();
  return std::binary_search(table.begin(), table.end(), operationName(name));
}

/// True for operations that torch composes of others, each of which would round to 16 bits. Here
/// each is one program, and none of them needs the gradients of its pieces.
bool staysWhole(const c10::OperatorName &name) {
  static const std::set<std::string> names = {"aten::_fused_rms_norm",
                                              "aten::_native_batch_norm_legit_functional",
                                              "aten::_native_batch_norm_legit_no_training",
                                              "aten::addr",
                                              "aten::isfinite",
                                              "aten::isinf",
                                              "aten::logsumexp",
                                              "aten::native_group_norm"};
  return name.overload_name.empty() && names.count(name.name) != 0;
}

} // namespace

bool runCompiled(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  std::string why;
  return runPlan(planOf(op), stack, why);
}

void setEagerEnabled(bool enabled) { eagerEnabled() = enabled; }

void clearEagerCache() {
  forgetUnknownOperations();
  forgetNumbers();
  std::unique_lock<std::shared_mutex> lock(cache().mutex);
  cache().entries.clear();
}

void registerEagerKernels() {
  static auto *library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName &name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) {
      continue;
    }
    auto op = dispatcher.findSchema(name);
    const bool isWhole = staysWhole(name);
    // What torch composes of other operations it differentiates as such; it reaches us in pieces.
    if (!op ||
        (op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) && !isWhole) ||
        op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1) || isAliasing(op->schema())) {
      continue;
    }
    const bool isMovement = name.name == "aten::clone" || name.name == "aten::_unsafe_view";
    if (!isMovement && (isStructured(*op) || isKnownByName(name) || isWhole)) {
      const std::string base = name.name.substr(6);
      library->impl((name.overload_name.empty() ? base : base + "." + name.overload_name).c_str(),
                    torch::CppFunction::makeFromBoxedFunction<&eagerKernel>());
    }
  }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&eagerKernel>());
}

} // namespace spyre::plugin
