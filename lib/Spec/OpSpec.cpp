//===- OpSpec.cpp - the text form of OpSpecs ------------------------------------------------===//
//
// The form is the Python that the documented front end generates, so that a dump can be compared
// with one of theirs and pasted into a Python session.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/LoopSpec.h"

#include <algorithm>
#include <cmath>

namespace spyre::spec {

static std::string termText(int64_t factor, const std::string &symbol) {
  return factor == 1 ? symbol : fmt::format("{}*{}", factor, symbol);
}

static std::string quoted(const std::string &text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\'' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + "'";
}

std::string Coordinate::toString() const {
  std::string text;
  switch (kind) {
  case Kind::Constant:
    return fmt::format("{}", offset);
  case Kind::Symbol:
    text = symbol;
    break;
  case Kind::Floor:
    text = fmt::format("floor({}/{})", symbol, divisor);
    break;
  case Kind::Mod:
    text = inner == 1 ? fmt::format("Mod({}, {})", symbol, divisor)
                      : fmt::format("Mod(floor({}/{}), {})", symbol, inner, divisor);
    break;
  case Kind::Window:
    text = termText(factor, symbol) + " + " + termText(windowFactor, windowSymbol);
    break;
  case Kind::Indirect:
    text = fmt::format("IndirectAccess({})", quoted(symbol));
    break;
  }
  if (offset > 0) {
    text += fmt::format(" + {}", offset);
  } else if (offset < 0) {
    // The magnitude of the smallest int64 has no signed form.
    text += fmt::format(" - {}", 0 - uint64_t(offset));
  }
  return text;
}

bool isMatmul(const OpSpec &spec) {
  return spec.op == "matmul" || spec.op == "batchmatmul" || spec.op == "batchmatmulfp8" ||
         spec.op == "batchmatmulint8";
}

size_t stickRank(const TensorArg &arg) {
  const int64_t lanes = numerics::elemsPerStick(arg.deviceDtype);
  int64_t elements = 1;
  for (size_t rank = 1; rank <= arg.deviceSize.size(); ++rank) {
    const int64_t size = arg.deviceSize[arg.deviceSize.size() - rank];
    if (size < 1 || size > lanes / elements) {
      return 0;
    }
    elements *= size;
    if (elements == lanes) {
      return rank;
    }
  }
  return 0;
}

int64_t stickElements(const TensorArg &arg, const std::string &symbol) {
  int64_t elements = 1;
  for (size_t j = arg.deviceSize.size() - stickRank(arg); j < arg.deviceSize.size(); ++j) {
    const Coordinate &coordinate = arg.deviceCoordinates[j];
    if (coordinate.kind == Coordinate::Kind::Mod && coordinate.symbol == symbol) {
      elements *= coordinate.divisor;
    }
  }
  return elements;
}

int64_t pieceElements(const OpSpec &spec, const IterationDim &dim) {
  int64_t elements = 1;
  for (const TensorArg &arg : spec.args) {
    elements = arg.isIndex() ? elements : std::max(elements, stickElements(arg, dim.symbol));
  }
  return elements;
}

namespace {

std::string sympify(const std::string &text) { return fmt::format("sympify({})", quoted(text)); }

/// Shortest text that reads back to the same double, with the point Python prints.
std::string numberText(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string listText(const std::vector<int64_t> &values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

const char *residencyKey(Residency residency) {
  switch (residency) {
  case Residency::Hbm:
    return "hbm";
  case Residency::Pool:
    return "pool";
  case Residency::Lx:
    return "lx";
  }
  return "hbm";
}

std::string argText(const TensorArg &arg) {
  std::vector<std::string> coordinates;
  for (const Coordinate &coordinate : arg.deviceCoordinates) {
    // An opaque function of a name: no expression.
    coordinates.push_back(coordinate.kind == Coordinate::Kind::Indirect
                              ? coordinate.toString()
                              : sympify(coordinate.toString()));
  }
  std::string text =
      fmt::format("      TensorArg(is_input={}, arg_index={}, device_dtype=DataFormats.{},\n"
                  "        device_size={},\n"
                  "        device_coordinates=[{}],\n"
                  "        allocation={{'{}': {}}},",
                  arg.isInput ? "True" : "False", arg.argIndex,
                  numerics::formatName(arg.deviceDtype), listText(arg.deviceSize),
                  fmt::join(coordinates, ", "), residencyKey(arg.residency), arg.address);
  if (!arg.strideMap.empty()) {
    text += fmt::format(" stride_map={},", listText(arg.strideMap));
  }
  if (arg.perTileFixed) {
    text += " per_tile_fixed=True,";
  }
  if (!arg.name.empty()) {
    text += fmt::format(" name={},", quoted(arg.name));
  }
  if (!arg.lxDivision.empty()) {
    std::vector<std::string> slices;
    for (const auto &[symbol, count] : arg.lxDivision) {
      slices.push_back(fmt::format("{}: {}", sympify(symbol), count));
    }
    text += fmt::format(" lx_division={{{}}},", fmt::join(slices, ", "));
  }
  return text + "),\n";
}

std::string opInfoText(const OpSpec &spec) {
  if (spec.constants.empty()) {
    return "{}";
  }
  std::vector<std::string> entries;
  for (const auto &[name, value] : spec.constants) {
    entries.push_back(quoted(name) + ": " + numberText(value));
  }
  return fmt::format("{{'constants': {{{}}}}}", fmt::join(entries, ", "));
}

std::string symbolsText(const std::vector<std::string> &symbols) {
  std::vector<std::string> names;
  for (const std::string &symbol : symbols) {
    names.push_back(sympify(symbol));
  }
  return fmt::format("[{}]", fmt::join(names, ", "));
}

std::string specText(const OpSpec &spec) {
  std::vector<std::string> dims;
  for (const IterationDim &dim : spec.iterationSpace) {
    dims.push_back(fmt::format("{}: ({}, {}{})", sympify(dim.symbol),
                               sympify(fmt::format("{}", dim.range)), dim.cores,
                               dim.uneven    ? ", 'uneven'"
                               : dim.fastest ? ", 'fastest'"
                                             : ""));
  }
  std::string text = fmt::format("  OpSpec(\n"
                                 "    op={}, is_reduction={},\n"
                                 "    iteration_space={{{}}},\n"
                                 "    op_info={},\n",
                                 quoted(spec.op), spec.isReduction ? "True" : "False",
                                 fmt::join(dims, ", "), opInfoText(spec));
  if (!spec.tiledSymbols.empty()) {
    text += fmt::format("    tiled_symbols={},\n", symbolsText(spec.tiledSymbols));
  }
  text += "    args=[\n";
  for (const TensorArg &arg : spec.args) {
    text += argText(arg);
  }
  return text + "    ]\n  ),\n";
}

std::string nodeText(const SpecNode &node) {
  switch (node.kind) {
  case SpecNode::Kind::Op:
    return specText(node.op);
  case SpecNode::Kind::Unimplemented:
    return fmt::format("  UnimplementedOp(op={}),\n", quoted(node.op.op));
  case SpecNode::Kind::Loop:
    break;
  }
  std::string text =
      fmt::format("  LoopSpec(\n    count={}, tiled_symbols={},\n    body=[\n",
                  sympify(std::to_string(node.count)), symbolsText(node.tiledSymbols));
  for (const SpecNode &inner : node.body) {
    // No line break is inside a string: each begins a line of the text.
    const std::string lines = nodeText(inner);
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = lines.find('\n', begin) + 1;
      text += "    " + lines.substr(begin, end - begin);
      begin = end;
    }
  }
  return text + "    ]\n  ),\n";
}

} // namespace

std::string writeKernel(const Kernel &kernel) {
  std::string text = "[\n";
  for (const SpecNode &node : kernel) {
    text += nodeText(node);
  }
  return text + "]\n";
}

std::string writeOpSpecs(const std::vector<OpSpec> &specs) {
  std::string text = "[\n";
  for (const OpSpec &spec : specs) {
    text += specText(spec);
  }
  return text + "]\n";
}

} // namespace spyre::spec
