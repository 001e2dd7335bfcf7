//===- EagerTrace.cpp - asks Python what an operation is made of ----------------------------===//
//
// Only when a call is seen for the first time. The question runs under a clean dispatcher state:
// we are below autograd and, perhaps, inside somebody's mode.
//===--------------------------------------------------------------------------------------------===//
#include "EagerProgram.h"
#include "Memory.h"
#include "Module.h"
#include "RuntimeState.h"
#include "c10/core/impl/LocalDispatchKeySet.h"
#include "torch/csrc/Exceptions.h"
#include "torch/csrc/utils/pybind.h"

#include <algorithm>

namespace spyre::plugin {

namespace {

/// Truth values, integers, fractions: torch's promotion looks at these first.
int kindOf(c10::ScalarType type) {
  return c10::isFloatingType(type) ? 2 : type == c10::ScalarType::Bool ? 0 : 1;
}

/// A tensor of the CPU without dimensions is no more than a number where a tensor with dimensions,
/// of this kind or a higher one, says what is computed in.
bool isMereNumber(const at::Tensor &scalar, const EagerCall &call) {
  if (scalar.unsafeGetTensorImpl()->is_wrapped_number()) {
    return true;
  }
  const int kind = kindOf(scalar.scalar_type());
  return std::any_of(call.inputs.begin(), call.inputs.end(), [&](const at::Tensor &input) {
    return input.dim() > 0 && kindOf(input.scalar_type()) >= kind;
  });
}

/// Nothing for what has no Python form here.
std::optional<py::object> toPython(const c10::Argument &argument, const c10::IValue &value,
                                   const EagerCall &call) {
  if (value.isNone()) {
    return py::none();
  }
  if (value.isTensor()) {
    const at::Tensor &tensor = value.toTensor();
    if (!tensor.defined()) {
      return py::none();
    }
    if (isHostScalar(tensor)) {
      if (!isMereNumber(tensor, call)) {
        return std::nullopt;
      }
      const at::Scalar number = tensor.item();
      return py::cast(number);
    }
    return py::cast(tensor);
  }
  if (value.isBool()) {
    return py::bool_(value.toBool());
  }
  if (value.isInt()) {
    c10::TypePtr type = argument.real_type();
    if (auto optional = type->cast<c10::OptionalType>()) {
      type = optional->getElementType();
    }
    return type->kind() == c10::TypeKind::ScalarTypeType
               ? py::cast(static_cast<c10::ScalarType>(value.toInt()))
               : py::object(py::int_(value.toInt()));
  }
  if (value.isDouble()) {
    return py::float_(value.toDouble());
  }
  if (value.isString()) {
    return py::str(value.toStringRef());
  }
  if (value.isList()) {
    py::list list;
    for (const c10::IValue &item : value.toListRef()) {
      std::optional<py::object> element = toPython(argument, item, call);
      if (!element) {
        return std::nullopt;
      }
      list.append(*element);
    }
    return list;
  }
  return std::nullopt;
}

EagerResult resultFrom(const py::tuple &given) {
  const auto kind = given[0].cast<std::string>();
  EagerResult result;
  if (kind == "output") {
    result.output = given[1].cast<size_t>();
  } else if (kind == "empty") {
    const auto size = given[1].cast<std::vector<int64_t>>();
    result.kind = EagerResult::Kind::Empty;
    result.empty = preparedDefault(size, given[2].cast<c10::ScalarType>());
  } else {
    result.kind = EagerResult::Kind::Undefined;
  }
  return result;
}

TraceAnswer ask(const py::function &callable, const c10::OperatorHandle &op, const EagerCall &call,
                c10::ArrayRef<c10::IValue> arguments, TracedCall &traced, std::string &why) {
  const c10::FunctionSchema &schema = op.schema();
  py::list positional;
  py::dict keywords;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument &argument = schema.arguments()[i];
    if (isPlacement(argument)) {
      if (!argument.kwarg_only()) {
        positional.append(py::none());
      }
      continue;
    }
    std::optional<py::object> value = toPython(argument, arguments[i], call);
    if (!value) {
      return TraceAnswer::Refused;
    }
    if (argument.kwarg_only()) {
      keywords[argument.name().c_str()] = *value;
    } else {
      positional.append(*value);
    }
  }
  py::list inputs;
  for (const at::Tensor &input : call.inputs) {
    inputs.append(py::cast(input));
  }
  py::list reasons;
  py::object answer =
      callable(schema.name(), schema.overload_name(), positional, keywords, inputs, reasons);
  if (!reasons.empty()) {
    why = reasons[0].cast<std::string>();
  }
  if (answer.is_none()) {
    return TraceAnswer::Refused;
  }
  if (py::isinstance<py::str>(answer)) {
    return TraceAnswer::Unknown;
  }
  const auto parts = answer.cast<py::tuple>();
  traced.graph = parts[0].cast<CapturedGraph>();
  traced.sources = parts[1].cast<std::vector<int64_t>>();
  traced.constants = parts[2].cast<std::vector<at::Tensor>>();
  for (int64_t source : traced.sources) {
    traced.tensors.push_back(source >= 0 ? call.inputs[size_t(source)]
                                         : traced.constants[size_t(-1 - source)]);
  }
  for (const py::handle &result : parts[3]) {
    traced.results.push_back(resultFrom(py::reinterpret_borrow<py::tuple>(result)));
  }
  return TraceAnswer::Traced;
}

/// The callable is never released: it may be needed while the interpreter shuts down.
void installTraceHook(const py::function &callable) {
  auto *kept = new py::function(callable);
  setTraceHook([kept](const c10::OperatorHandle &op, const EagerCall &call,
                      c10::ArrayRef<c10::IValue> arguments, TracedCall &traced, std::string &why) {
    c10::impl::ForceDispatchKeyGuard clean(c10::default_included_set, c10::default_excluded_set);
    py::gil_scoped_acquire gil;
    try {
      return ask(*kept, op, call, arguments, traced, why);
    } catch (py::error_already_set &raised) {
      raised.restore();
      python_error carried;
      carried.persist();
      throw carried;
    }
  });
}

} // namespace

void bindEager(py::module_ &module) {
  module.def("_set_trace_hook", &installTraceHook);
  module.def("_set_eager_enabled", &setEagerEnabled);
  module.def("clear_eager_cache", &clearEagerCache);
  module.def("prefer_decomposition", &preferDecomposition);
  module.def("count_fallback", &countFallback);
}

} // namespace spyre::plugin
