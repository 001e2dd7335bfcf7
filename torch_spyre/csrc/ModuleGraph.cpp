//===- ModuleGraph.cpp - captured graphs and compile records in Python ----------------------===//
#include "ATen/core/dispatch/Dispatcher.h"
#include "CompiledGraph.h"
#include "Errors.h"
#include "Module.h"
#include "Programs.h"
#include "Types.h"
#include "torch/csrc/utils/pybind.h"

namespace spyre::plugin {

namespace {

ArgumentValue fromPython(const py::handle &object);

/// A list of values, or of integers; anything else is kept as text for the compiler's message.
ArgumentValue fromSequence(const py::sequence &sequence) {
  std::vector<GraphValue> values;
  std::vector<int64_t> integers;
  bool isTensors = false;
  for (const py::handle &item : sequence) {
    ArgumentValue value = fromPython(item);
    if (auto *graphValue = std::get_if<GraphValue>(&value)) {
      values.push_back(*graphValue);
      isTensors = true;
    } else if (item.is_none()) {
      values.emplace_back();
    } else if (auto *attribute = std::get_if<capi::Attribute>(&value);
               attribute != nullptr && std::holds_alternative<int64_t>(*attribute)) {
      integers.push_back(std::get<int64_t>(*attribute));
    } else {
      return capi::Attribute(py::str(sequence).cast<std::string>());
    }
  }
  if (isTensors) {
    return values;
  }
  return capi::Attribute(std::move(integers));
}

ArgumentValue fromPython(const py::handle &object) {
  if (object.is_none()) {
    return {};
  }
  if (py::isinstance<GraphValue>(object)) {
    return object.cast<GraphValue>();
  }
  if (PyBool_Check(object.ptr()) != 0) {
    return capi::Attribute(object.cast<bool>());
  }
  if (PyLong_Check(object.ptr()) != 0) {
    return capi::Attribute(object.cast<int64_t>());
  }
  if (PyFloat_Check(object.ptr()) != 0) {
    return capi::Attribute(object.cast<double>());
  }
  if (THPDtype_Check(object.ptr())) {
    return capi::Attribute(dtypeName(object.cast<c10::ScalarType>()));
  }
  if (PyList_Check(object.ptr()) != 0 || PyTuple_Check(object.ptr()) != 0) {
    return fromSequence(py::reinterpret_borrow<py::sequence>(object));
  }
  return capi::Attribute(py::str(object).cast<std::string>());
}

/// Positional and keyword arguments in the order of the schema.
CallArguments matchArguments(const c10::FunctionSchema &schema, const py::tuple &args,
                             const py::dict &kwargs) {
  CallArguments call;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument &argument = schema.arguments()[i];
    py::object value = py::none();
    if (i < args.size()) {
      value = args[i];
    } else if (kwargs.contains(argument.name().c_str())) {
      value = kwargs[argument.name().c_str()];
    }
    if (!isPlacement(argument)) {
      appendArgument(argument, i, fromPython(value), call);
    }
  }
  return call;
}

/// An operation torch's dispatcher does not have: only its tensors matter.
CallArguments tensorsOnly(const py::tuple &args, const py::dict &kwargs) {
  CallArguments call;
  auto add = [&](const py::handle &item) {
    ArgumentValue value = fromPython(item);
    if (const auto *tensor = std::get_if<GraphValue>(&value)) {
      call.operands.push_back(tensor->id);
    } else if (const auto *tensors = std::get_if<std::vector<GraphValue>>(&value)) {
      for (const GraphValue &tensor : *tensors) {
        if (!(tensor == GraphValue())) {
          call.operands.push_back(tensor.id);
        }
      }
    }
  };
  for (const py::handle &item : args) {
    add(item);
  }
  for (const auto &[name, item] : kwargs) {
    add(item);
  }
  return call;
}

GraphValue addCall(CapturedGraph &graph, const std::string &name, const std::string &overload,
                   const py::tuple &args, const py::dict &kwargs, CapturedType type,
                   const std::string &location, int64_t result, int64_t node) {
  c10::OperatorName operatorName(name, overload == "default" ? "" : overload);
  auto op = c10::Dispatcher::singleton().findSchema(operatorName);
  CallArguments call = op ? matchArguments(op->schema(), args, kwargs) : tensorsOnly(args, kwargs);
  if (result >= 0) {
    call.attributes.emplace_back("result", capi::Attribute(result));
  }
  return graph.addCall(operationName(operatorName), std::move(call), std::move(type), location,
                       node);
}

/// The callables live as long as the graph, which Python owns and drops with the interpreter's
/// lock held.
HostCalls hostCalls(const py::function &runNode, const py::function &report) {
  HostCalls calls;
  calls.run = [runNode](int64_t node, const std::vector<int64_t> &results,
                        const std::vector<capi::ValueId> &values,
                        const std::vector<at::Tensor> &tensors) {
    py::gil_scoped_acquire gil;
    py::dict operands;
    for (size_t i = 0; i < values.size(); ++i) {
      operands[py::int_(values[i])] = tensors[i];
    }
    return runNode(node, results, operands).cast<std::vector<at::Tensor>>();
  };
  calls.report = [report](const std::string &text) {
    py::gil_scoped_acquire gil;
    report(text);
  };
  return calls;
}

py::dict artifactsOf(const CompileRecord &record) {
  py::dict files;
  for (const auto &[path, contents] : record.result.artifacts) {
    files[py::str(path)] = py::bytes(contents);
  }
  return files;
}

/// Sizes that depend on the values of tensors have no program.
void refuseDataDependent(const std::vector<std::string> &operations) {
  throw UnsupportedError(
      error<6514>("the sizes of some results depend on the values of tensors: {}; leave "
                  "torch._dynamo.config.capture_dynamic_output_shape_ops and "
                  "capture_scalar_outputs off, so that the graph is cut there",
                  fmt::join(operations, ", "))
          .message());
}

} // namespace

void bindGraph(py::module_ &module) {
  py::class_<GraphValue>(module, "GraphValue").def_readonly("id", &GraphValue::id);
  py::class_<CapturedType>(module, "CapturedType")
      .def(py::init(
               [](c10::ScalarType dtype, std::vector<int64_t> size, std::vector<int64_t> stride) {
                 return CapturedType{dtype, std::move(size), std::move(stride)};
               }),
           py::arg("dtype"), py::arg("size"), py::arg("stride"));
  py::class_<CapturedGraph>(module, "CapturedGraph")
      .def(py::init<>())
      .def("add_input", &CapturedGraph::addInput, py::arg("name"), py::arg("type"))
      .def("add_call", &addCall, py::arg("name"), py::arg("overload"), py::arg("args"),
           py::arg("kwargs"), py::arg("type"), py::arg("location"), py::arg("result") = -1,
           py::arg("node") = -1)
      .def("add_output", &CapturedGraph::addOutput, py::arg("value"));
  py::class_<CompiledGraph, std::shared_ptr<CompiledGraph>>(module, "CompiledGraph")
      .def(py::init([](const CapturedGraph &graph, const std::string &name, int64_t cores,
                       const py::function &runNode, const py::function &report) {
             return std::make_shared<CompiledGraph>(graph, name, cores, hostCalls(runNode, report));
           }),
           py::arg("graph"), py::arg("name"), py::arg("cores"), py::arg("run_node"),
           py::arg("report"))
      .def("__call__", &CompiledGraph::run, py::call_guard<py::gil_scoped_release>());

  py::class_<CompileRecord, std::shared_ptr<CompileRecord>>(module, "CompileRecord")
      .def_readonly("name", &CompileRecord::name)
      .def_readonly("graph", &CompileRecord::graphText)
      .def_property_readonly("artifacts", &artifactsOf)
      .def_property_readonly("decisions",
                             [](const CompileRecord &record) {
                               return py::module_::import("json").attr("loads")(
                                   record.result.decisionsJson);
                             })
      .def_property_readonly("explanation",
                             [](const CompileRecord &record) {
                               return check(capi::explanationText(record.result.decisionsJson));
                             })
      .def("save", [](const CompileRecord &record, const std::string &path) {
        check(writeToDirectory(record.result.artifacts, path));
      });
  module.def("keep_compiles", &keepCompiles);
  module.def("take_compiles", []() {
    std::vector<std::shared_ptr<CompileRecord>> records;
    for (const auto &record : takeCompiles()) {
      records.push_back(std::const_pointer_cast<CompileRecord>(record));
    }
    return records;
  });
  module.def("last_compile", []() -> py::object {
    std::shared_ptr<const CompileRecord> record = lastCompile();
    return record ? py::cast(std::const_pointer_cast<CompileRecord>(record)) : py::none();
  });
  module.def("supported_operations", &supportedOperations);
  module.def("holds_dtype", [](c10::ScalarType type) { return hostTypeOf(type).has_value(); });
  module.def("refuse_data_dependent", &refuseDataDependent);
}

} // namespace spyre::plugin
