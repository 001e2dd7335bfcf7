//===- ModuleGraph.cpp - captured graphs and compile records in Python ----------------------===//
#include "spyre/CAPI/Explain.h"

#include "ATen/core/dispatch/Dispatcher.h"
#include "CompiledGraph.h"
#include "DeviceCopy.h"
#include "Eager.h"
#include "Errors.h"
#include "Evaluated.h"
#include "Module.h"
#include "Programs.h"
#include "PythonPlugins.h"
#include "RuntimeState.h"
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

/// A device operation by its own name; numbers may stand in place of operands.
GraphValue addDeviceOp(CapturedGraph &graph, const std::string &name, const py::sequence &operands,
                       const std::map<std::string, double> &constants, CapturedType type,
                       const std::string &location) {
  CallArguments call;
  for (size_t i = 0; i < operands.size(); ++i) {
    const py::object operand = operands[i];
    if (py::isinstance<GraphValue>(operand)) {
      call.operands.push_back(operand.cast<GraphValue>().id);
    } else {
      call.attributes.emplace_back(fmt::format("scalar{}", i),
                                   capi::Attribute(operand.cast<double>()));
    }
  }
  for (const auto &[constant, value] : constants) {
    call.attributes.emplace_back(constant, capi::Attribute(value));
  }
  return graph.addCall("spyre.device." + name, std::move(call), std::move(type), location, -1);
}

/// Loop IR of the phases of a graph, by name ("loop", "layout", "division").
std::map<std::string, std::string> loopPhases(const std::string &graphText,
                                              const CompileSettings &settings) {
  capi::CompileOptions options = compileOptions(settings);
  options.compileTo = "division";
  options.keepPhases = true;
  options.cacheDirectory.clear();
  const PythonFaults faults;
  Expected<capi::CompileResult> compiled = capi::compileGraph(graphText, options);
  if (!compiled.ok()) {
    faults.rethrow();
  }
  const capi::CompileResult result = check(std::move(compiled));
  std::map<std::string, std::string> phases;
  for (const auto &[path, text] : result.artifacts) {
    // "phases/2-layout.mlir"
    const size_t dash = path.find('-'), dot = path.rfind('.');
    if (path.rfind("phases/", 0) == 0 && dash != std::string::npos) {
      phases[path.substr(dash + 1, dot - dash - 1)] = text;
    }
  }
  return phases;
}

py::dict deviceOperationsDict() {
  py::dict operations;
  for (const capi::DeviceOp &operation : capi::deviceOperations()) {
    operations[py::str(operation.name)] = py::make_tuple(operation.operands, operation.constants);
  }
  return operations;
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

/// One dict per device operation of a model, for explain().
py::list stepTimesOf(const std::map<std::string, std::string> &artifacts) {
  py::list rows;
  for (const capi::StepTime &step : check(capi::stepTimes(artifacts, deviceDesc()))) {
    const runtime::OperationTime &time = step.time;
    py::dict waited;
    for (size_t i = 0; i < runtime::kStallReasons; ++i) {
      waited[runtime::kStallNames[i]] = time.stallCycles[i];
    }
    py::dict row;
    row["step"] = step.step;
    row["name"] = step.operation;
    row["bundle"] = step.bundle;
    row["cores"] = time.cores;
    row["cycles"] = time.cycles;
    row["ns"] = time.nanoseconds;
    row["waits_for"] = time.mainReason();
    row["wait_cycles"] = waited;
    row["ddr_bytes"] = time.ddrReadBytes + time.ddrWriteBytes;
    row["ring_bytes"] = time.ringBytes;
    row["pt_macs"] = time.ptMacs;
    row["sfp_lane_ops"] = time.sfpLaneOps;
    row["intensity"] = time.intensity;
    row["bound"] = time.bound;
    row["bound_cycles"] = time.boundCycles;
    row["part_of_bound"] = time.partOfBound();
    rows.append(row);
  }
  return rows;
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
      .def("add_device_op", &addDeviceOp, py::arg("name"), py::arg("operands"),
           py::arg("constants"), py::arg("type"), py::arg("location"))
      .def("add_output", &CapturedGraph::addOutput, py::arg("value"))
      .def("add_mutation", &CapturedGraph::addMutation, py::arg("input"), py::arg("value"));
  py::class_<CompiledGraph, std::shared_ptr<CompiledGraph>>(module, "CompiledGraph")
      .def(py::init([](const CapturedGraph &graph, const std::string &name,
                       const CompileSettings &settings, const py::function &runNode,
                       const py::function &report, c10::Device device) {
             return std::make_shared<CompiledGraph>(graph, name, settings,
                                                    hostCalls(runNode, report), device);
           }),
           py::arg("graph"), py::arg("name"), py::arg("settings"), py::arg("run_node"),
           py::arg("report"), py::arg("device"))
      .def("__call__", &CompiledGraph::run, py::call_guard<py::gil_scoped_release>())
      .def("held_inputs", &CompiledGraph::heldInputs)
      .def_property_readonly("record",
                             [](CompiledGraph &graph) {
                               // A compilation of the graph holds its lock and may need the GIL.
                               py::gil_scoped_release release;
                               return std::const_pointer_cast<CompileRecord>(graph.record());
                             })
      .def("compile", [](CompiledGraph &graph, const std::vector<at::Tensor> &arguments) {
        py::gil_scoped_release release;
        return std::const_pointer_cast<CompileRecord>(graph.compileFor(arguments));
      });

  py::class_<CompileSettings>(module, "CompileSettings")
      .def(py::init<>())
      .def_readwrite("cores", &CompileSettings::cores)
      .def_readwrite("whole_graph_layouts", &CompileSettings::wholeGraphLayouts)
      .def_readwrite("share_pool", &CompileSettings::sharePool)
      .def_readwrite("planner", &CompileSettings::planner)
      .def_readwrite("symbolic_arguments", &CompileSettings::symbolicArguments)
      .def_readwrite("unroll_loops", &CompileSettings::unrollLoops)
      .def_readwrite("k_fast_cores", &CompileSettings::kFastCores)
      .def_readwrite("chunk_large_tensors", &CompileSettings::chunkLargeTensors)
      .def_readwrite("uneven_division", &CompileSettings::unevenDivision)
      .def_readwrite("padding", &CompileSettings::padding)
      .def_readwrite("lx_planning", &CompileSettings::lxPlanning)
      .def_readwrite("lx_compat", &CompileSettings::lxCompat)
      .def_readwrite("lx_move_splits", &CompileSettings::lxMoveSplits)
      .def_readwrite("lx_solver", &CompileSettings::lxSolver)
      .def_readwrite("lx_back_end_share", &CompileSettings::lxBackEndShare)
      .def_readwrite("lx_all_ops", &CompileSettings::lxAllOps)
      .def_readwrite("lx_budget_bytes", &CompileSettings::lxBudgetBytes)
      .def_readwrite("lx_pins", &CompileSettings::lxPins)
      .def_readwrite("lx_forbidden", &CompileSettings::lxForbidden)
      .def_readwrite("cache_directory", &CompileSettings::cacheDirectory)
      .def_readwrite("cache_limit_bytes", &CompileSettings::cacheLimitBytes)
      .def_readwrite("pass_plugins", &CompileSettings::passPlugins)
      .def_readwrite("user_passes", &CompileSettings::userPasses)
      .def("set_solver",
           [](CompileSettings &settings, const py::object &solverClass) {
             settings.lxOwnSolver = pythonSolver(solverClass);
           })
      .def("add_scratchpad_pass",
           [](CompileSettings &settings, const py::object &pass) {
             settings.lxOwnPasses.push_back(pythonScratchpadPass(pass));
           })
      .def("add_function",
           [](CompileSettings &settings, const std::string &point, const py::object &function) {
             settings.userFunctions[point].push_back(pythonFunction(function, point));
           });
  py::class_<CompileRecord, std::shared_ptr<CompileRecord>>(module, "CompileRecord")
      .def_readonly("name", &CompileRecord::name)
      .def_readonly("is_eager", &CompileRecord::isEager)
      .def_readonly("graph", &CompileRecord::graphText)
      .def_property_readonly("from_cache",
                             [](const CompileRecord &record) { return record.result.fromCache; })
      .def_property_readonly("artifacts", &artifactsOf)
      .def_property_readonly("decisions",
                             [](const CompileRecord &record) {
                               return py::module_::import("json").attr("loads")(
                                   record.result.decisionsJson);
                             })
      .def_property_readonly("explanation",
                             [](const CompileRecord &record) {
                               return check(capi::explanationText(record.result.decisionsJson,
                                                                  record.result.artifacts,
                                                                  deviceDesc()));
                             })
      .def("save", [](const CompileRecord &record, const std::string &path) {
        check(writeToDirectory(record.result.artifacts, path));
      });
  module.def("step_times", &stepTimesOf, py::arg("artifacts"));
  module.def("last_compile", []() -> py::object {
    std::shared_ptr<const CompileRecord> record = lastCompile();
    return record ? py::cast(std::const_pointer_cast<CompileRecord>(record)) : py::none();
  });
  module.def(
      "_evaluate_launches",
      [](uint64_t mostBytes) {
        evaluateLaunches(mostBytes);
        clearEagerCache();
        forgetCopyPrograms();
      },
      py::arg("most_bytes"));
  module.def("_evaluated_launches", []() {
    const EvaluatorReport report = takeEvaluatorReport();
    return py::dict(py::arg("agreed") = report.agreed, py::arg("too_large") = report.tooLarge,
                    py::arg("differing") = report.differing, py::arg("not_run") = report.notRun);
  });
  module.def("supported_operations", &supportedOperations);
  module.def("operation_table", []() {
    py::list rows;
    for (const capi::OperationRow &row : capi::operationTable()) {
      rows.append(py::dict(py::arg("name") = row.name, py::arg("kind") = row.kind,
                           py::arg("device_op") = row.deviceOp, py::arg("types") = row.types,
                           py::arg("tensors") = row.tensors,
                           py::arg("attributes") = row.attributes));
    }
    return rows;
  });
  module.def("device_operations", &deviceOperationsDict);
  module.def("loop_phases", &loopPhases, py::arg("graph"), py::arg("settings"));
  module.def("describe_loops",
             [](const std::string &text) { return check(capi::describeLoops(text)); });
  module.def("holds_dtype", [](c10::ScalarType type) { return hostTypeOf(type).has_value(); });
  module.def("refuse_data_dependent", &refuseDataDependent);
}

} // namespace spyre::plugin
