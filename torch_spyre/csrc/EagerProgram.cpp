//===- EagerProgram.cpp - calls become graphs, graphs programs ------------------------------===//
#include "EagerProgram.h"

#include "spyre/Base/Log.h"
#include "spyre/Base/Math.h"

#include "ATen/ops/empty_strided.h"
#include "Copy.h"
#include "DynamoPause.h"
#include "Errors.h"
#include "ResultStrides.h"
#include "RuntimeState.h"
#include "Types.h"
#include "Views.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <set>

namespace spyre::plugin {

namespace {

TraceHook &traceHook() {
  static auto *hook = new TraceHook();
  return *hook;
}

struct Preferences {
  std::mutex mutex;
  std::set<std::string> decomposed;
};

Preferences &preferences() {
  static auto *instance = new Preferences();
  return *instance;
}

bool prefersDecomposition(const std::string &target) {
  std::lock_guard<std::mutex> lock(preferences().mutex);
  return preferences().decomposed.count(target) != 0;
}

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

/// Tensors the device holds, and None.
std::optional<ArgumentValue> listOf(const EagerCall &call,
                                    const std::vector<std::optional<at::Tensor>> &tensors) {
  std::vector<GraphValue> values;
  for (const std::optional<at::Tensor> &tensor : tensors) {
    if (!tensor || !tensor->defined()) {
      values.emplace_back();
    } else if (isSpyre(*tensor)) {
      values.push_back({call.inputOf(*tensor)});
    } else {
      return std::nullopt;
    }
  }
  return ArgumentValue(std::move(values));
}

std::optional<ArgumentValue> argumentOf(const EagerCall &call, const c10::Argument &argument,
                                        const c10::IValue &value) {
  if (value.isTensorList()) {
    const std::vector<at::Tensor> tensors = value.toTensorVector();
    return listOf(call, {tensors.begin(), tensors.end()});
  }
  if (value.isOptionalTensorList()) {
    return listOf(call, value.toOptionalTensorVector());
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
  return ArgumentValue(GraphValue{call.inputOf(tensor)});
}

CapturedType typeOf(const at::Tensor &tensor) {
  return {tensor.scalar_type(), toVector(tensor.sizes()), toVector(tensor.strides())};
}

std::string typeRefusal(c10::ScalarType type) {
  return fmt::format("{} is not a device type; convert with .to(torch.float32) first "
                     "[gate 3: dtype]",
                     dtypeName(type));
}

/// The operation as one call; nullopt when an argument or the result has no place in a graph, for
/// a type of the result with \p why.
std::optional<TracedCall> singleCall(const EagerPlan &plan, const EagerCall &call,
                                     c10::ArrayRef<c10::IValue> arguments, std::string &why) {
  const c10::FunctionSchema &schema = plan.form->op.schema();
  CallArguments given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument &argument = schema.arguments()[i];
    std::optional<ArgumentValue> value =
        plan.isPlacement[i] ? ArgumentValue() : argumentOf(call, argument, arguments[i]);
    if (!value) {
      return std::nullopt;
    }
    appendArgument(argument, i, *value, given);
  }
  const std::vector<at::Tensor> metas = inferResults(plan.form->op, arguments);
  if (metas.size() == 1 && !hostTypeOf(metas[0].scalar_type())) {
    why = typeRefusal(metas[0].scalar_type());
    return std::nullopt;
  }
  if (metas.size() != 1 || metas[0].numel() == 0) {
    return std::nullopt;
  }
  TracedCall single;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    single.graph.addInput(fmt::format("arg{}", i), typeOf(call.inputs[i]));
    single.tensors.push_back(call.inputs[i]);
    single.sources.push_back(int64_t(i));
  }
  CapturedType type = typeOf(metas[0]);
  type.stride = resultStrides(plan.form->op, arguments, metas)[0];
  single.graph.addOutput(
      single.graph.addCall(plan.target, std::move(given), std::move(type), "", -1));
  single.results.resize(1);
  return single;
}

capi::TensorType graphType(const CapturedType &type) {
  return {requireHostType(type.dtype), type.size, type.stride};
}

std::string holdRefusal(const CapturedType &type) {
  if (!hostTypeOf(type.dtype)) {
    return typeRefusal(type.dtype);
  }
  if (int64_t(type.size.size()) > layout::kMaxRank) {
    return fmt::format("a tensor has rank {}, the limit is {}; flatten leading dimensions "
                       "[gate 4: shape]",
                       type.size.size(), layout::kMaxRank);
  }
  return "a tensor on the way has a dimension of size 0; leave it out [gate 4: shape]";
}

/// Why the device does not hold some value; empty when it holds all.
std::string holdRefusal(const CapturedGraph &graph) {
  for (const CapturedGraph::Input &input : graph.inputs) {
    if (!deviceHolds(input.type)) {
      return holdRefusal(input.type);
    }
  }
  for (const CapturedGraph::Call &call : graph.calls) {
    if (!deviceHolds(call.type)) {
      return holdRefusal(call.type);
    }
  }
  return "";
}

/// One value of the program per input: a storage is read through its view, unless \p copiesViews,
/// for which views come as canonical copies.
std::vector<capi::ValueId> addInputs(capi::GraphBuilder &builder, const TracedCall &traced,
                                     bool copiesViews) {
  std::vector<capi::ValueId> ids;
  for (size_t i = 0; i < traced.tensors.size(); ++i) {
    const at::Tensor &tensor = traced.tensors[i];
    const numerics::HostType dtype = requireHostType(tensor.scalar_type());
    const bool isView = !isWholeStorage(tensor);
    const StorageGeometry &geometry =
        isView && copiesViews ? *preparedDefault(tensor.sizes(), tensor.scalar_type()).geometry
                              : geometryOf(tensor);
    ids.push_back(builder.addInput(fmt::format("arg{}", i), {dtype, geometry.size, geometry.stride},
                                   0, geometry.layout));
  }
  // Inputs are numbered before calls.
  for (size_t i = 0; i < traced.tensors.size(); ++i) {
    const at::Tensor &tensor = traced.tensors[i];
    if (!copiesViews && !isWholeStorage(tensor)) {
      const StorageGeometry &geometry = geometryOf(tensor);
      ids[i] = readView(builder, ids[i], geometry, requireHostType(tensor.scalar_type()),
                        planView(geometry, tensor));
    }
  }
  return ids;
}

/// Of all values: inputs are read, the others written.
int64_t bytesMoved(const TracedCall &traced) {
  constexpr int64_t kElementBytes = 2;
  int64_t elements = 0;
  for (const CapturedGraph::Input &input : traced.graph.inputs) {
    elements += c10::multiply_integers(input.type.size);
  }
  for (const CapturedGraph::Call &call : traced.graph.calls) {
    elements += c10::multiply_integers(call.type.size);
  }
  return elements * kElementBytes;
}

/// Dimensions from the largest stride to the smallest.
std::vector<int64_t> orderOf(const std::vector<int64_t> &stride) {
  std::vector<int64_t> order(stride.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return stride[size_t(a)] > stride[size_t(b)]; });
  return order;
}

/// True if \p type leaves no element of its memory out.
bool isDense(const capi::TensorType &type) {
  const std::vector<int64_t> order = orderOf(type.stride);
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = size_t(order[i]);
    if (type.size[dim] != 1 && type.stride[dim] != expected) {
      return false;
    }
    expected *= type.size[dim];
  }
  return true;
}

/// The layout a row-major tensor has that was permuted to these strides.
layout::DeviceLayout canonicalLayout(const capi::TensorType &type) {
  return check(
      layout::DeviceLayout::make(type.size, type.stride, type.dtype, orderOf(type.stride)));
}

Expected<Program> compileTraced(const TracedCall &traced, const std::string &name,
                                bool copiesViews) {
  capi::GraphBuilder builder;
  std::vector<capi::ValueId> ids = addInputs(builder, traced, copiesViews);
  for (const CapturedGraph::Call &call : traced.graph.calls) {
    std::vector<capi::ValueId> operands;
    for (capi::ValueId operand : call.arguments.operands) {
      operands.push_back(ids[size_t(operand)]);
    }
    ids.push_back(builder.addCall(call.target, operands, call.arguments.attributes,
                                  graphType(call.type), ""));
  }
  for (size_t i = 0; i < traced.graph.outputs.size(); ++i) {
    const GraphValue output = traced.graph.outputs[i];
    capi::TensorType type = graphType(traced.graph.typeOf(output));
    if (i < traced.strides.size() && !traced.strides[i].empty()) {
      type.stride = traced.strides[i];
    }
    // The compiler makes all results dense.
    type.stride = isDense(type) ? type.stride : rowMajorStrides(type.size);
    builder.addOutput(ids[size_t(output.id)], type, canonicalLayout(type));
  }
  for (const auto &[input, contents] : traced.updates) {
    builder.addMutation(capi::ValueId(input), ids[size_t(contents.id)]);
  }
  SPYRE_ASSIGN_OR_RETURN(CompiledProgram compiled,
                         compileProgram(builder, name, eagerSettings(bytesMoved(traced)),
                                        CompiledFor::EagerOperation));
  return std::move(compiled.program);
}

void describeOutputs(EagerProgram &entry) {
  for (const spec::TensorDesc &desc : entry.program->model().outputs) {
    entry.outputs.push_back(prepareTensor(desc.size, desc.stride, scalarTypeOf(desc.dtype),
                                          {desc.size, desc.stride, desc.layout}));
  }
}

/// Null when the compiler refuses, whether views are read in place or copied first; \p why is then
/// its text.
std::shared_ptr<EagerProgram> tryCompile(const TracedCall &traced, const std::string &name,
                                         std::string &why) {
  if (std::string refusal = holdRefusal(traced.graph); !refusal.empty()) {
    why = std::move(refusal);
    return nullptr;
  }
  const bool hasViews = !std::all_of(traced.tensors.begin(), traced.tensors.end(), isWholeStorage);
  for (bool copiesViews : hasViews ? std::vector<bool>{false, true} : std::vector<bool>{false}) {
    Expected<Program> program = compileTraced(traced, name, copiesViews);
    if (!program.ok()) {
      if (!capi::isRefusal(program.status())) {
        raise(program.status());
      }
      log(LogLevel::Debug, "eager", "refused op={} why={}", name, program.status().message());
      why = program.status().text();
      continue;
    }
    auto entry = std::make_shared<EagerProgram>();
    entry->program = *std::move(program);
    for (const at::Tensor &tensor : traced.tensors) {
      entry->isCopied.push_back(copiesViews && !isWholeStorage(tensor));
    }
    entry->sources = traced.sources;
    entry->constants = traced.constants;
    entry->results = traced.results;
    describeOutputs(*entry);
    return entry;
  }
  return nullptr;
}

at::Tensor metaOf(const at::Tensor &tensor) {
  return tensor.defined() && isSpyre(tensor)
             ? at::empty_strided(tensor.sizes(), tensor.strides(),
                                 tensor.options().device(c10::DeviceType::Meta))
             : tensor;
}

c10::IValue metaValue(const c10::IValue &value) {
  if (value.isTensor()) {
    return metaOf(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor &tensor : value.toTensorVector()) {
      list.push_back(metaOf(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional<at::Tensor>(metaOf(*tensor)) : std::nullopt);
    }
    return list;
  }
  return value.isDevice() ? c10::IValue(c10::Device(c10::DeviceType::Meta)) : value;
}

} // namespace

void setTraceHook(TraceHook hook) { traceHook() = std::move(hook); }

void preferDecomposition(const std::string &target) {
  {
    std::lock_guard<std::mutex> lock(preferences().mutex);
    preferences().decomposed.insert(target);
  }
  clearEagerCache();
}

std::vector<at::Tensor> inferResults(const c10::OperatorHandle &op,
                                     c10::ArrayRef<c10::IValue> arguments) {
  const DynamoPause pause; // kernels of the meta device may be Python
  torch::jit::Stack stack;
  for (const c10::IValue &value : arguments) {
    stack.push_back(metaValue(value));
  }
  try {
    op.callBoxed(&stack);
  } catch (const std::exception &error) { // c10::Error, or Python's where the meta kernel is Python
    log(LogLevel::Debug, "eager", "no results of op={} why={}", op.schema().name(), error.what());
    return {};
  }
  std::vector<at::Tensor> results;
  for (const c10::IValue &value : stack) {
    if (!value.isTensor() || !value.toTensor().defined()) {
      return {};
    }
    results.push_back(value.toTensor());
  }
  return results;
}

/// Torch subtracts no truth values; the CPU says so in torch's words.
static bool subtractsTruth(const EagerPlan &plan, c10::ArrayRef<c10::IValue> arguments) {
  const bool isSubtraction = plan.target == "aten.sub.Tensor" || plan.target == "aten.rsub.Tensor";
  return isSubtraction &&
         std::any_of(arguments.begin(), arguments.end(), [](const c10::IValue &value) {
           return value.isTensor() && value.toTensor().defined() &&
                  value.toTensor().scalar_type() == c10::ScalarType::Bool;
         });
}

/// Lets the program store new contents of arguments that it can store: whole tensors of the type
/// that the contents have, each of them one input. The others stay results.
static void updateInPlace(const EagerPlan &plan, const EagerCall &call,
                          c10::ArrayRef<c10::IValue> arguments, TracedCall &traced) {
  const size_t first = plan.results - plan.updated.size();
  std::set<int64_t> seen;
  for (size_t i = 0; i < plan.updated.size(); ++i) {
    EagerResult &result = traced.results[first + i];
    const at::Tensor &target = arguments[plan.updated[i]].toTensor();
    const int64_t source = call.inputOf(target);
    const auto input = std::find(traced.sources.begin(), traced.sources.end(), source);
    const bool isInput = source >= 0 && input != traced.sources.end();
    if (!isInput || !seen.insert(source).second || result.kind != EagerResult::Kind::Output ||
        !isWholeStorage(target)) {
      continue;
    }
    const GraphValue contents = traced.graph.outputs[result.output];
    const CapturedType &type = traced.graph.typeOf(contents);
    if (type.dtype == target.scalar_type() && target.sizes() == c10::IntArrayRef(type.size)) {
      traced.updates.emplace_back(size_t(input - traced.sources.begin()), contents);
      result.kind = EagerResult::Kind::Written;
    }
  }
  std::vector<GraphValue> left;
  for (EagerResult &result : traced.results) {
    if (result.kind == EagerResult::Kind::Output) {
      left.push_back(traced.graph.outputs[result.output]);
      result.output = left.size() - 1;
    }
  }
  traced.graph.outputs = std::move(left);
}

/// Formulas lay out their results as their last step does; the user gets what torch gives.
static void layOutAsTorch(TracedCall &traced, const EagerPlan &plan,
                          c10::ArrayRef<c10::IValue> arguments) {
  const std::vector<at::Tensor> metas = inferResults(plan.form->op, arguments);
  const std::vector<std::vector<int64_t>> strides = resultStrides(plan.form->op, arguments, metas);
  traced.strides.resize(traced.graph.outputs.size());
  for (size_t i = 0; i < metas.size() && i < traced.results.size(); ++i) {
    const EagerResult &result = traced.results[i];
    if (result.kind != EagerResult::Kind::Output || !metas[i].is_non_overlapping_and_dense()) {
      continue;
    }
    const CapturedType &type = traced.graph.typeOf(traced.graph.outputs[result.output]);
    if (metas[i].sizes() == c10::IntArrayRef(type.size)) {
      traced.strides[result.output] = strides[i];
    }
  }
}

std::shared_ptr<const EagerProgram> compileEager(const EagerPlan &plan, const EagerCall &call,
                                                 c10::ArrayRef<c10::IValue> arguments) {
  if (subtractsTruth(plan, arguments)) {
    return std::make_shared<EagerProgram>();
  }
  const bool isTaken = prefersDecomposition(plan.target);
  std::string ofRow, ofFormula, ofParts;
  auto compileWhole = [&]() -> std::shared_ptr<EagerProgram> {
    std::optional<TracedCall> single =
        plan.isKnown ? singleCall(plan, call, arguments, ofRow) : std::nullopt;
    return single ? tryCompile(*single, plan.target, ofRow) : nullptr;
  };
  if (!isTaken) {
    if (std::shared_ptr<EagerProgram> entry = compileWhole()) {
      return entry;
    }
  }
  if ((plan.mayTrace || isTaken) && traceHook()) {
    TracedCall traced;
    const TraceAnswer answer = traceHook()(plan.form->op, call, arguments, traced, ofFormula);
    if (answer == TraceAnswer::Unknown && !plan.isKnown) {
      plan.mayTrace = false;
    }
    if (answer == TraceAnswer::Traced) {
      if (!plan.updated.empty()) {
        updateInPlace(plan, call, arguments, traced);
      }
      layOutAsTorch(traced, plan, arguments);
      if (std::shared_ptr<EagerProgram> entry = tryCompile(traced, plan.target, ofParts)) {
        return entry;
      }
    }
  }
  // The decomposition is gone again, or leaves this form to the compiler.
  std::shared_ptr<EagerProgram> entry = isTaken ? compileWhole() : nullptr;
  if (!entry) {
    entry = std::make_shared<EagerProgram>();
    entry->refusal = !ofFormula.empty() ? ofFormula : !ofRow.empty() ? ofRow : ofParts;
  }
  return entry;
}

} // namespace spyre::plugin
