//===- OpSpec.cpp - the text form of OpSpecs ------------------------------------------------===//
//
// The form is the Python that the documented front end generates, so that a dump can be compared
// with one of theirs and pasted into a Python session.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/LoopSpec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>

namespace spyre::spec {

namespace {

/// Text as Python quotes it.
struct Quoted {
  std::string_view text;
};
/// An expression in quotes.
struct Sympify {
  std::string_view text;
};

void appendOne(std::string &to, std::string_view text) { to += text; }
void appendOne(std::string &to, const char *text) { to += text; }
template <std::integral Number>
void appendOne(std::string &to, Number number) {
  std::array<char, 24> digits;
  to.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}
void appendOne(std::string &to, Quoted quoted) {
  to += '\'';
  for (char c : quoted.text) {
    if (c == '\n') {
      to += "\\n";
      continue;
    }
    if (c == '\'' || c == '\\') {
      to += '\\';
    }
    to += c;
  }
  to += '\'';
}
void appendOne(std::string &to, Sympify expression) {
  to += "sympify(";
  appendOne(to, Quoted{expression.text});
  to += ')';
}

/// Writes one behind the other what a format string would name: a compilation has thousands.
template <typename... Pieces>
void append(std::string &to, const Pieces &...pieces) {
  (appendOne(to, pieces), ...);
}

void appendTerm(std::string &to, int64_t factor, const std::string &symbol) {
  if (factor != 1) {
    append(to, factor, "*");
  }
  to += symbol;
}

} // namespace

std::string Coordinate::toString() const {
  std::string text;
  switch (kind) {
  case Kind::Constant:
    append(text, offset);
    return text;
  case Kind::Symbol:
    text = symbol;
    break;
  case Kind::Floor:
    append(text, "floor(", symbol, "/", divisor, ")");
    break;
  case Kind::Mod:
    if (inner == 1) {
      append(text, "Mod(", symbol, ", ", divisor, ")");
    } else {
      append(text, "Mod(floor(", symbol, "/", inner, "), ", divisor, ")");
    }
    break;
  case Kind::Window:
    appendTerm(text, factor, symbol);
    text += " + ";
    appendTerm(text, windowFactor, windowSymbol);
    break;
  case Kind::Indirect:
    append(text, "IndirectAccess(", Quoted{symbol}, ")");
    break;
  }
  if (offset > 0) {
    append(text, " + ", offset);
  } else if (offset < 0) {
    // The magnitude of the smallest int64 has no signed form.
    append(text, " - ", 0 - uint64_t(offset));
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

/// Shortest text that reads back to the same double, with the point Python prints.
std::string numberText(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

/// \p items in brackets, each by \p appendItem, with commas between them.
template <typename Items, typename AppendItem>
void appendList(std::string &to, char open, const Items &items, char close,
                const AppendItem &appendItem) {
  to += open;
  bool isFirst = true;
  for (const auto &item : items) {
    to += isFirst ? "" : ", ";
    isFirst = false;
    appendItem(item);
  }
  to += close;
}

void appendNumbers(std::string &to, const std::vector<int64_t> &values) {
  appendList(to, '[', values, ']', [&](int64_t value) { append(to, value); });
}

void appendSymbols(std::string &to, const std::vector<std::string> &symbols) {
  appendList(to, '[', symbols, ']', [&](const std::string &name) { append(to, Sympify{name}); });
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

void appendArg(std::string &to, const TensorArg &arg) {
  append(to, "      TensorArg(is_input=", arg.isInput ? "True" : "False",
         ", arg_index=", arg.argIndex, ", device_dtype=DataFormats.",
         numerics::formatName(arg.deviceDtype), ",\n        device_size=");
  appendNumbers(to, arg.deviceSize);
  to += ",\n        device_coordinates=";
  appendList(to, '[', arg.deviceCoordinates, ']', [&](const Coordinate &coordinate) {
    // An opaque function of a name: no expression.
    if (coordinate.kind == Coordinate::Kind::Indirect) {
      to += coordinate.toString();
    } else {
      append(to, Sympify{coordinate.toString()});
    }
  });
  append(to, ",\n        allocation={'", residencyKey(arg.residency), "': ", arg.address, "},");
  if (!arg.strideMap.empty()) {
    to += " stride_map=";
    appendNumbers(to, arg.strideMap);
    to += ',';
  }
  if (arg.perTileFixed) {
    to += " per_tile_fixed=True,";
  }
  if (!arg.name.empty()) {
    append(to, " name=", Quoted{arg.name}, ",");
  }
  if (!arg.lxDivision.empty()) {
    to += " lx_division=";
    appendList(to, '{', arg.lxDivision, '}',
               [&](const auto &slices) { append(to, Sympify{slices.first}, ": ", slices.second); });
    to += ',';
  }
  to += "),\n";
}

void appendOpInfo(std::string &to, const OpSpec &spec) {
  if (spec.constants.empty()) {
    to += "{}";
    return;
  }
  to += "{'constants': ";
  appendList(to, '{', spec.constants, '}', [&](const auto &constant) {
    append(to, Quoted{constant.first}, ": ", numberText(constant.second));
  });
  to += '}';
}

void appendSpec(std::string &to, const OpSpec &spec) {
  append(to, "  OpSpec(\n    op=", Quoted{spec.op},
         ", is_reduction=", spec.isReduction ? "True" : "False", ",\n    iteration_space=");
  appendList(to, '{', spec.iterationSpace, '}', [&](const IterationDim &dim) {
    append(to, Sympify{dim.symbol}, ": (sympify('", dim.range, "'), ", dim.cores,
           dim.uneven    ? ", 'uneven'"
           : dim.fastest ? ", 'fastest'"
                         : "",
           ")");
  });
  to += ",\n    op_info=";
  appendOpInfo(to, spec);
  to += ",\n";
  if (!spec.tiledSymbols.empty()) {
    to += "    tiled_symbols=";
    appendSymbols(to, spec.tiledSymbols);
    to += ",\n";
  }
  to += "    args=[\n";
  for (const TensorArg &arg : spec.args) {
    appendArg(to, arg);
  }
  to += "    ]\n  ),\n";
}

void appendNode(std::string &to, const SpecNode &node) {
  switch (node.kind) {
  case SpecNode::Kind::Op:
    appendSpec(to, node.op);
    return;
  case SpecNode::Kind::Unimplemented:
    append(to, "  UnimplementedOp(op=", Quoted{node.op.op}, "),\n");
    return;
  case SpecNode::Kind::Loop:
    break;
  }
  append(to, "  LoopSpec(\n    count=sympify('", node.count, "'), tiled_symbols=");
  appendSymbols(to, node.tiledSymbols);
  to += ",\n    body=[\n";
  for (const SpecNode &inner : node.body) {
    // No line break is inside a string: each begins a line of the text.
    std::string lines;
    appendNode(lines, inner);
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = lines.find('\n', begin) + 1;
      to += "    ";
      to.append(lines, begin, end - begin);
      begin = end;
    }
  }
  to += "    ]\n  ),\n";
}

} // namespace

std::string writeKernel(const Kernel &kernel) {
  std::string text = "[\n";
  for (const SpecNode &node : kernel) {
    appendNode(text, node);
  }
  return text + "]\n";
}

std::string writeOpSpecs(const std::vector<OpSpec> &specs) {
  std::string text = "[\n";
  for (const OpSpec &spec : specs) {
    appendSpec(text, spec);
  }
  return text + "]\n";
}

} // namespace spyre::spec
