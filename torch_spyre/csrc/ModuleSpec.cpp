//===- ModuleSpec.cpp - OpSpecs, loops and code generation in Python ------------------------===//
//
// Views of the C++ structs. They are made through the text form, so that Python accepts exactly
// what the parser accepts: an expression is anything whose str() is one (sympy, a string, a
// number).
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/Bundle.h"

#include "Errors.h"
#include "Module.h"
#include "torch/csrc/utils/pybind.h"

namespace spyre::plugin {

namespace {

using spec::SpecNode;

std::string quoted(const std::string &text) { return py::repr(py::str(text)).cast<std::string>(); }

/// An expression as text; names of index tensors keep their quotes.
std::string expression(const py::handle &value) {
  return "sympify(" + py::repr(py::str(value)).cast<std::string>() + ")";
}

template <typename Function>
std::string listText(const py::iterable &values, Function text) {
  std::string result = "[";
  for (const py::handle &value : values) {
    result += text(value) + ", ";
  }
  return result + "]";
}

py::object sympy(const char *name) { return py::module_::import("sympy").attr(name); }

py::object symbolOf(const std::string &name) {
  return sympy("Symbol")(name, py::arg("integer") = true);
}

/// The sympy form of a coordinate; an indirect access has none and stays text.
py::object coordinateOf(const spec::Coordinate &coordinate) {
  if (coordinate.kind == spec::Coordinate::Kind::Indirect) {
    return py::str(coordinate.toString());
  }
  py::dict names;
  for (const std::string &name : {coordinate.symbol, coordinate.windowSymbol}) {
    if (!name.empty()) {
      names[py::str(name)] = symbolOf(name);
    }
  }
  return sympy("sympify")(coordinate.toString(), py::arg("locals") = names);
}

/// The one entry of a text with one entry.
SpecNode parseOne(const std::string &entry) {
  spec::Kernel kernel = check(spec::parseKernel("[" + entry + "]"));
  SPYRE_CHECK(kernel.size() == 1, "one entry was written");
  return std::move(kernel.front());
}

/// \p text without the brackets of the list.
std::string withoutList(const std::string &text) {
  const size_t begin = text.find_first_not_of(" \n", 1);
  const size_t end = text.find_last_not_of(" \n,", text.rfind(']') - 1);
  return text.substr(begin, end + 1 - begin);
}

std::string entryText(const SpecNode &node) { return withoutList(spec::writeKernel({node})); }

std::string argText(const spec::TensorArg &arg) {
  spec::OpSpec carrier;
  carrier.op = "carrier";
  carrier.args = {arg};
  const std::string text = spec::writeOpSpecs({carrier});
  const size_t begin = text.find("TensorArg("), end = text.rfind("),\n    ]");
  return text.substr(begin, end + 1 - begin);
}

spec::TensorArg makeArg(bool isInput, int64_t argIndex, numerics::DataFormat format,
                        const std::vector<int64_t> &size, const py::iterable &coordinates,
                        const py::dict &allocation, const py::object &strideMap, bool perTileFixed,
                        const py::object &name, const py::dict &lxDivision) {
  std::string text = fmt::format("TensorArg(is_input={}, arg_index={}, device_dtype={}, "
                                 "device_size=[{}], device_coordinates={}, allocation={{",
                                 isInput ? "True" : "False", argIndex, numerics::formatName(format),
                                 fmt::join(size, ", "), listText(coordinates, expression));
  for (const auto &[key, value] : allocation) {
    text += fmt::format("{}: {}, ", quoted(py::str(key)), py::str(value).cast<std::string>());
  }
  text += "}";
  if (!strideMap.is_none()) {
    text += ", stride_map=" + listText(strideMap, [](const py::handle &value) {
              return py::str(value).cast<std::string>();
            });
  }
  text += perTileFixed ? ", per_tile_fixed=True" : "";
  text += name.is_none() ? "" : ", name=" + quoted(py::str(name));
  if (!lxDivision.empty()) {
    text += ", lx_division={";
    for (const auto &[symbol, slices] : lxDivision) {
      text += fmt::format("{}: {}, ", expression(symbol), py::str(slices).cast<std::string>());
    }
    text += "}";
  }
  SpecNode node = parseOne("OpSpec(op='carrier', iteration_space={}, args=[" + text + ")])");
  return std::move(node.op.args.front());
}

spec::OpSpec makeOp(const std::string &op, bool isReduction, const py::dict &space,
                    const std::vector<spec::TensorArg> &args, const py::dict &opInfo,
                    const py::iterable &tiledSymbols) {
  std::string text = fmt::format("OpSpec(op={}, is_reduction={}, iteration_space={{", quoted(op),
                                 isReduction ? "True" : "False");
  for (const auto &[symbol, entry] : space) {
    auto pair = py::reinterpret_borrow<py::object>(entry).cast<py::tuple>();
    if (pair.size() != 2) {
      throw py::value_error("iteration_space gives (range, cores) per symbol");
    }
    text +=
        fmt::format("{}: ({}, {}), ", expression(symbol), expression(pair[0]), expression(pair[1]));
  }
  text += fmt::format("}}, op_info={}, tiled_symbols={}, args=[])",
                      py::repr(opInfo).cast<std::string>(), listText(tiledSymbols, expression));
  SpecNode node = parseOne(text);
  node.op.args = args;
  return std::move(node.op);
}

py::dict spaceOf(const spec::OpSpec &op) {
  py::dict space;
  for (const spec::IterationDim &dim : op.iterationSpace) {
    space[symbolOf(dim.symbol)] = py::make_tuple(sympy("Integer")(dim.range), dim.cores);
  }
  return space;
}

py::list symbolsOf(const std::vector<std::string> &names) {
  py::list symbols;
  for (const std::string &name : names) {
    symbols.append(symbolOf(name));
  }
  return symbols;
}

py::dict opInfoOf(const spec::OpSpec &op) {
  py::dict info, constants;
  for (const auto &[name, value] : op.constants) {
    constants[py::str(name)] = value;
  }
  if (!op.constants.empty()) {
    info["constants"] = constants;
  }
  return info;
}

py::dict allocationOf(const spec::TensorArg &arg) {
  static constexpr const char *kKeys[] = {"hbm", "pool", "lx"};
  py::dict allocation;
  allocation[kKeys[size_t(arg.residency)]] = arg.address;
  return allocation;
}

/// Loops and unimplemented operations: entries that are not an OpSpec.
struct LoopView {
  SpecNode node;
};
struct UnimplementedView {
  SpecNode node;
};

SpecNode nodeOf(const py::handle &entry) {
  if (py::isinstance<spec::OpSpec>(entry)) {
    return SpecNode::of(entry.cast<spec::OpSpec>());
  }
  if (py::isinstance<LoopView>(entry)) {
    return entry.cast<LoopView>().node;
  }
  if (py::isinstance<UnimplementedView>(entry)) {
    return entry.cast<UnimplementedView>().node;
  }
  throw py::type_error("a kernel is a list of OpSpec, LoopSpec and UnimplementedOp");
}

spec::Kernel kernelOf(const py::iterable &entries) {
  spec::Kernel kernel;
  for (const py::handle &entry : entries) {
    kernel.push_back(nodeOf(entry));
  }
  return kernel;
}

py::object viewOf(const SpecNode &node) {
  switch (node.kind) {
  case SpecNode::Kind::Op:
    return py::cast(node.op);
  case SpecNode::Kind::Loop:
    return py::cast(LoopView{node});
  case SpecNode::Kind::Unimplemented:
    return py::cast(UnimplementedView{node});
  }
  return py::none();
}

py::list viewsOf(const spec::Kernel &kernel) {
  py::list views;
  for (const SpecNode &node : kernel) {
    views.append(viewOf(node));
  }
  return views;
}

LoopView makeLoop(const py::object &count, const py::iterable &body,
                  const py::iterable &tiledSymbols) {
  SpecNode node = parseOne(fmt::format("LoopSpec(count={}, tiled_symbols={}, body=[])",
                                       expression(count), listText(tiledSymbols, expression)));
  node.body = kernelOf(body);
  return {std::move(node)};
}

void bindTensorArg(py::module_ &module) {
  using spec::TensorArg;
  py::class_<TensorArg>(module, "TensorArg", "A tensor of an operation, in device coordinates")
      .def(py::init(&makeArg), py::arg("is_input"), py::arg("arg_index"), py::arg("device_dtype"),
           py::arg("device_size"), py::arg("device_coordinates"), py::arg("allocation"),
           py::arg("stride_map") = py::none(), py::arg("per_tile_fixed") = false,
           py::arg("name") = py::none(), py::arg("lx_division") = py::dict())
      .def_readonly("is_input", &TensorArg::isInput)
      .def_readonly("arg_index", &TensorArg::argIndex)
      .def_readonly("device_dtype", &TensorArg::deviceDtype)
      .def_readonly("device_size", &TensorArg::deviceSize)
      .def_property_readonly("device_coordinates",
                             [](const TensorArg &arg) {
                               py::list list;
                               for (const spec::Coordinate &coordinate : arg.deviceCoordinates) {
                                 list.append(coordinateOf(coordinate));
                               }
                               return list;
                             })
      .def_property_readonly("allocation", &allocationOf)
      .def_property_readonly("stride_map",
                             [](const TensorArg &arg) -> py::object {
                               return arg.strideMap.empty() ? py::none() : py::cast(arg.strideMap);
                             })
      .def_readonly("per_tile_fixed", &TensorArg::perTileFixed)
      .def_property_readonly("name",
                             [](const TensorArg &arg) -> py::object {
                               return arg.name.empty() ? py::none() : py::cast(arg.name);
                             })
      .def("__eq__", [](const TensorArg &a, const TensorArg &b) { return a == b; })
      .def("__repr__", &argText);
}

void bindNodes(py::module_ &module) {
  using spec::OpSpec;
  py::class_<OpSpec>(module, "OpSpec", "One device operation")
      .def(py::init(&makeOp), py::arg("op"), py::arg("is_reduction"), py::arg("iteration_space"),
           py::arg("args"), py::arg("op_info") = py::dict(), py::arg("tiled_symbols") = py::tuple())
      .def_readonly("op", &OpSpec::op)
      .def_readonly("is_reduction", &OpSpec::isReduction)
      .def_property_readonly("iteration_space", &spaceOf)
      .def_readonly("args", &OpSpec::args)
      .def_property_readonly("op_info", &opInfoOf)
      .def_property_readonly("tiled_symbols",
                             [](const OpSpec &op) { return symbolsOf(op.tiledSymbols); })
      .def("__eq__", [](const OpSpec &a, const OpSpec &b) { return a == b; })
      .def("__repr__", [](const OpSpec &op) { return entryText(SpecNode::of(op)); });
  py::class_<LoopView>(module, "LoopSpec", "A counted loop around operations")
      .def(py::init(&makeLoop), py::arg("count"), py::arg("body"),
           py::arg("tiled_symbols") = py::tuple())
      .def_property_readonly("count", [](const LoopView &loop) { return loop.node.count; })
      .def_property_readonly("body", [](const LoopView &loop) { return viewsOf(loop.node.body); })
      .def_property_readonly("tiled_symbols",
                             [](const LoopView &loop) { return symbolsOf(loop.node.tiledSymbols); })
      .def("__eq__", [](const LoopView &a, const LoopView &b) { return a.node == b.node; })
      .def("__repr__", [](const LoopView &loop) { return entryText(loop.node); });
  py::class_<UnimplementedView>(module, "UnimplementedOp", "An operation without a device form")
      .def(py::init([](const std::string &op) {
             return UnimplementedView{SpecNode::unimplemented(op)};
           }),
           py::arg("op"))
      .def_property_readonly("op", [](const UnimplementedView &view) { return view.node.op.op; })
      .def("__eq__",
           [](const UnimplementedView &a, const UnimplementedView &b) { return a.node == b.node; })
      .def("__repr__", [](const UnimplementedView &view) { return entryText(view.node); });
}

} // namespace

void bindSpec(py::module_ &module) {
  bindTensorArg(module);
  bindNodes(module);
  py::class_<spec::SuperDsc>(module, "SDSCSpec", "An operation as the twelve steps left it")
      .def_readonly("opfunc", &spec::SuperDsc::op)
      .def_readonly("execution_unit", &spec::SuperDsc::exUnit)
      .def_readonly("data_format", &spec::SuperDsc::format)
      .def_readonly("num_cores", &spec::SuperDsc::cores)
      .def_property_readonly("iteration_space",
                             [](const spec::SuperDsc &dsc) {
                               py::dict sizes;
                               for (const auto &[dim, size] : dsc.size) {
                                 sizes[py::str(dim)] = size;
                               }
                               return sizes;
                             })
      .def("json", [](spec::SuperDsc dsc, int64_t index) {
        dsc.index = index;
        return spec::writeSuperDsc(dsc);
      });
  module.def("parse_op_specs",
             [](const std::string &text) { return viewsOf(check(spec::parseKernel(text))); });
  module.def("write_op_specs",
             [](const py::iterable &entries) { return spec::writeKernel(kernelOf(entries)); });
  module.def("unroll_loops", [](const py::iterable &entries) {
    py::list views;
    for (const spec::OpSpec &op : check(spec::unrollKernel(kernelOf(entries)))) {
      views.append(op);
    }
    return views;
  });
  module.def(
      "emit_sdsc",
      [](const spec::OpSpec &op, bool kFastCores) {
        return check(spec::emitSuperDsc(op, 0, {kFastCores}));
      },
      py::arg("op_spec"), py::arg("k_fast_cores") = true);
  module.def(
      "generate_bundle",
      [](const py::iterable &entries, bool symbolicArguments, bool unrollLoops, bool kFastCores) {
        return check(spec::generateBundle(kernelOf(entries),
                                          {symbolicArguments, unrollLoops, {kFastCores}, nullptr}));
      },
      py::arg("entries"), py::arg("symbolic_args"), py::arg("unroll_loops"),
      py::arg("k_fast_cores"));
}

} // namespace spyre::plugin
