//===- EagerPlan.cpp - functional forms and properties of operations ------------------------===//
#include "EagerPlan.h"

#include "Arguments.h"
#include "Programs.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <shared_mutex>
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

std::vector<size_t> updatedArguments(const c10::FunctionSchema &schema) {
  std::vector<size_t> updated;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (isWritten(schema.arguments()[i])) {
      updated.push_back(i);
    }
  }
  return updated;
}

bool writesNothing(const c10::FunctionSchema &schema) {
  return std::none_of(schema.arguments().begin(), schema.arguments().end(), isWritten);
}

bool isTensorType(const c10::Argument &argument) {
  return argument.type()->kind() == c10::TypeKind::TensorType;
}

/// Every result is a tensor: of these the compiler can say what they are.
bool returnsTensors(const c10::FunctionSchema &schema) {
  return !schema.returns().empty() &&
         std::all_of(schema.returns().begin(), schema.returns().end(), isTensorType);
}

std::optional<FunctionalForm> findFunctionalForm(const c10::OperatorHandle &op) {
  using Kind = FunctionalForm::Kind;
  const c10::FunctionSchema &schema = op.schema();
  if (writesNothing(schema)) {
    return FunctionalForm{Kind::Same, op};
  }
  if (!returnsTensors(schema)) {
    return std::nullopt;
  }
  const size_t outs = schema.arguments().size() - inputArguments(schema).size();
  Kind kind = outs == schema.returns().size() ? Kind::Out : Kind::InPlace;
  std::string base = schema.name();
  size_t results = schema.returns().size();
  if (kind == Kind::InPlace && outs == 0 && results == 1 && base.back() == '_') {
    base.pop_back();
  } else if (kind == Kind::InPlace) {
    kind = Kind::Updating;
    base += "_functional";
    results += updatedArguments(schema).size();
  }
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName &name : dispatcher.getAllOpNames()) {
    if (name.name != base) {
      continue;
    }
    std::optional<c10::OperatorHandle> candidate = dispatcher.findSchema(name);
    if (candidate && writesNothing(candidate->schema()) &&
        candidate->schema().returns().size() == results &&
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

/// Operations that are copies or metadata: torch's own kernels over ours are right for them.
bool isPlainMovement(const c10::FunctionSchema &schema) {
  const std::string &name = schema.name();
  return name == "aten::clone" || name == "aten::_unsafe_view" || name == "aten::detach" ||
         std::any_of(schema.returns().begin(), schema.returns().end(),
                     [](const c10::Argument &result) { return result.alias_info() != nullptr; });
}

bool startsWith(const std::string &text, const char *prefix) { return text.rfind(prefix, 0) == 0; }

bool hasTag(const c10::OperatorHandle &op, at::Tag tag) { return op.hasTag(tag); }

/// Sizes that depend on values, and random numbers, are the CPU's.
bool isForCpu(const c10::OperatorHandle &op) {
  static constexpr std::array kTags = {at::Tag::dynamic_output_shape,
                                       at::Tag::data_dependent_output,
                                       at::Tag::nondeterministic_seeded};
  return std::any_of(kTags.begin(), kTags.end(), [&](at::Tag tag) { return hasTag(op, tag); });
}

} // namespace

EagerPlan::EagerPlan(const c10::OperatorHandle &op)
    : op(op), name(op.operator_name()), form(findFunctionalForm(op)) {
  arguments = op.schema().arguments().size();
  // x[i] takes indices of the CPU; index_select, index_add and their like do not.
  static const std::set<std::string> subscripts = {"aten::index",
                                                   "aten::index_put",
                                                   "aten::index_put_",
                                                   "aten::_index_put_impl",
                                                   "aten::_unsafe_index",
                                                   "aten::_index_put_impl_",
                                                   "aten::_unsafe_index_put"};
  takesHostIndices = subscripts.count(name.name) > 0;
  mixesDevices = takesHostIndices || startsWith(name.name, "aten::_pack_padded") ||
                 startsWith(name.name, "aten::_foreach") || startsWith(name.name, "aten::_fused");
  isForCpu = plugin::isForCpu(form ? form->op : op);
  if (!form) {
    return;
  }
  const c10::FunctionSchema &schema = form->op.schema();
  target = operationName(form->op.operator_name());
  results = schema.returns().size();
  inputs = schema.arguments().size();
  if (form->kind == FunctionalForm::Kind::Updating) {
    updated = updatedArguments(op.schema());
  }
  for (const c10::Argument &argument : schema.arguments()) {
    isPlacement.push_back(plugin::isPlacement(argument));
  }
  const bool isTensorOnly = !isPlainMovement(schema) && returnsTensors(schema);
  // What a row of the table cannot do of an operation (masks as indices) the compiler refuses.
  isKnown = isTensorOnly && results == 1 && inTable(target);
  isComputed = isTensorOnly && !isForCpu;
  mayTrace = isComputed;
}

namespace {

struct Plans {
  std::shared_mutex mutex;
  std::unordered_map<const void *, std::unique_ptr<EagerPlan>> known;
};

Plans &plans() {
  static auto *instance = new Plans();
  return *instance;
}

} // namespace

const EagerPlan &planOf(const c10::OperatorHandle &op) {
  const void *key = &op.schema();
  {
    std::shared_lock<std::shared_mutex> lock(plans().mutex);
    // A library that was unloaded may have left its place to another operation.
    if (auto found = plans().known.find(key);
        found != plans().known.end() && found->second->name == op.operator_name()) {
      return *found->second;
    }
  }
  auto made = std::make_unique<EagerPlan>(op);
  std::unique_lock<std::shared_mutex> lock(plans().mutex);
  std::unique_ptr<EagerPlan> &place = plans().known[key];
  if (place && place->name != op.operator_name()) {
    (void)place.release(); // somebody may still read it
  }
  if (!place) {
    place = std::move(made);
  }
  return *place;
}

void forgetUnknownOperations() {
  std::shared_lock<std::shared_mutex> lock(plans().mutex);
  for (const auto &[key, plan] : plans().known) {
    plan->mayTrace = plan->isComputed;
  }
}

const std::optional<FunctionalForm> &functionalForm(const c10::OperatorHandle &op) {
  return planOf(op).form;
}

} // namespace spyre::plugin
