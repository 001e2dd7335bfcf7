//===- OpSpecParser.cpp - reads the text form of OpSpecs ------------------------------------===//
//
// Recursive descent over the words of OpSpecLexer. Loops are nested at most kMaxLoopDepth deep, all
// else at most five levels, so the input cannot exhaust the stack. Expressions may be bare
// or inside sympify('...'); trailing commas and any blanks are accepted.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/LoopSpec.h"

#include "OpSpecLexer.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

namespace spyre::spec {

namespace {

class Parser {
public:
  explicit Parser(std::string_view text, int line = 1, int column = 1)
      : lexer(text, line, column), current(lexer.next()) {}

  Expected<Kernel> parseFile() {
    Kernel kernel;
    SPYRE_RETURN_IF_ERROR(parseNodes(kernel, 0));
    SPYRE_RETURN_IF_ERROR(expectEnd());
    return kernel;
  }

  /// floor(c1/64) + 2, Mod(c1, 64), Mod(floor(c1/8), 8), c0 + 5, 7: at most one symbol, any number
  /// of integers. Or a window, 2*y + ki: two symbols with factors.
  Expected<Coordinate> parseCoordinate() {
    Coordinate result;
    bool negative = acceptMark('-');
    do {
      if (peek().kind == Token::Kind::Number) {
        SPYRE_ASSIGN_OR_RETURN(int64_t value, parseUnsigned());
        if (!negative && acceptMark('*')) {
          SPYRE_RETURN_IF_ERROR(addWindowTerm(result, value));
          negative = peek().kind == Token::Kind::Punctuation && peek().text == "-";
          continue;
        }
        // A number is at most the largest int64, so its negative exists.
        if (__builtin_add_overflow(result.offset, negative ? -value : value, &result.offset)) {
          return fault("an expression within 64 bits");
        }
      } else {
        if (negative || (result.kind != Coordinate::Kind::Constant &&
                         result.kind != Coordinate::Kind::Symbol)) {
          return fault("an integer (a coordinate has one symbol, a window two)");
        }
        SPYRE_RETURN_IF_ERROR(result.kind == Coordinate::Kind::Symbol ? addWindowTerm(result, 1)
                                                                      : parseSymbolTerm(result));
      }
      negative = peek().kind == Token::Kind::Punctuation && peek().text == "-";
    } while (acceptMark('+') || acceptMark('-'));
    if (result.kind == Coordinate::Kind::Symbol && result.factor != 1) {
      return fault("the second symbol of a window (a symbol alone has factor 1)");
    }
    return result;
  }

  Expected<int64_t> parseInteger() {
    const bool negative = acceptMark('-');
    SPYRE_ASSIGN_OR_RETURN(int64_t value, parseUnsigned());
    return negative ? -value : value;
  }

  Expected<std::string> parseName() {
    if (peek().kind != Token::Kind::Name) {
      return fault("a name");
    }
    return std::string(next().text);
  }

  Status expectEnd() {
    const bool isEnd = peek().kind == Token::Kind::End && lexer.status().ok();
    return isEnd ? Status::success() : fault("end of text");
  }

private:
  const Token &peek() const { return current; }
  Token next() { return std::exchange(current, lexer.next()); }

  /// A byte that starts no word ends the text for the parser; then that is the fault.
  Status fault(const std::string &expected) const {
    SPYRE_RETURN_IF_ERROR(lexer.status());
    return error<1301>("{}: expected {}, found {}", positionText(peek()), expected,
                       shownToken(peek()));
  }

  Status unknownField(const char *owner, std::string_view key) const {
    return error<1301>("{}: {} has no field '{}'; remove it", positionText(peek()), owner,
                       key.substr(0, 40));
  }

  bool acceptMark(char mark) {
    if (peek().kind != Token::Kind::Punctuation || peek().text[0] != mark) {
      return false;
    }
    next();
    return true;
  }

  Status expectMark(char mark) {
    return acceptMark(mark) ? Status::success() : fault(fmt::format("'{}'", mark));
  }

  Status expectName(const char *name) {
    if (peek().kind != Token::Kind::Name || peek().text != name) {
      return fault(fmt::format("'{}'", name));
    }
    next();
    return Status::success();
  }

  template <typename Fn>
  Status parseSequence(char open, char close, Fn &&item) {
    SPYRE_RETURN_IF_ERROR(expectMark(open));
    while (!acceptMark(close)) {
      SPYRE_RETURN_IF_ERROR(item());
      if (!acceptMark(',')) {
        return expectMark(close);
      }
    }
    return Status::success();
  }

  /// name(key=value, ...); \p field reads the value of a key it knows. Duplicates are refused.
  template <typename Fn>
  Status parseCall(const char *name, std::initializer_list<std::string_view> required, Fn &&field) {
    const Token start = peek();
    SPYRE_RETURN_IF_ERROR(expectName(name));
    // At most the fields that exist: an unknown one ends it.
    std::vector<std::string_view> seen;
    auto isGiven = [&](std::string_view key) {
      return std::find(seen.begin(), seen.end(), key) != seen.end();
    };
    seen.reserve(kUsualFields);
    SPYRE_RETURN_IF_ERROR(parseSequence('(', ')', [&]() -> Status {
      const Token keyToken = peek();
      if (keyToken.kind != Token::Kind::Name) {
        return fault("a name");
      }
      next();
      if (isGiven(keyToken.text)) {
        return error<1301>("{}: {} is given twice; keep one", positionText(keyToken),
                           shownToken(keyToken));
      }
      seen.push_back(keyToken.text);
      SPYRE_RETURN_IF_ERROR(expectMark('='));
      return field(keyToken.text);
    }));
    for (std::string_view key : required) {
      if (!isGiven(key)) {
        return error<1301>("{}: {} without '{}'; add {}=...", positionText(start), name, key, key);
      }
    }
    return Status::success();
  }

  Expected<int64_t> parseUnsigned() {
    if (peek().kind != Token::Kind::Number) {
      return fault("an integer");
    }
    const std::string_view text = peek().text;
    int64_t value = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) {
      return fault("an integer of 64 bits");
    }
    next();
    return value;
  }

  Expected<double> parseDouble() {
    const bool negative = acceptMark('-');
    double value = 0;
    if (peek().kind == Token::Kind::Name && (peek().text == "inf" || peek().text == "nan")) {
      value = peek().text == "inf" ? std::numeric_limits<double>::infinity()
                                   : std::numeric_limits<double>::quiet_NaN();
    } else if (peek().kind == Token::Kind::Number) {
      const std::string_view text = peek().text;
      auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (failure != std::errc() || end != text.data() + text.size()) {
        return fault("a number");
      }
    } else {
      return fault("a number");
    }
    next();
    return negative ? -value : value;
  }

  Expected<bool> parseBool() {
    if (peek().kind != Token::Kind::Name || (peek().text != "True" && peek().text != "False")) {
      return fault("True or False");
    }
    return next().text == "True";
  }

  Expected<std::string> parseString() {
    if (peek().kind != Token::Kind::String) {
      return fault("a quoted string");
    }
    return std::string(next().text);
  }

  /// Calls \p read on a parser of what stands inside sympify('...'), or on this one.
  template <typename T>
  Expected<T> parseExpression(Expected<T> (Parser::*read)()) {
    if (peek().kind != Token::Kind::Name || peek().text != "sympify") {
      return (this->*read)();
    }
    next();
    SPYRE_RETURN_IF_ERROR(expectMark('('));
    const Token quoted = peek();
    if (quoted.kind != Token::Kind::String) {
      return fault("a quoted string");
    }
    next();
    Parser parser(quoted.text, quoted.line, quoted.column + 1);
    SPYRE_ASSIGN_OR_RETURN(T value, (parser.*read)());
    SPYRE_RETURN_IF_ERROR(parser.expectEnd());
    SPYRE_RETURN_IF_ERROR(expectMark(')'));
    return value;
  }

  Status parseSymbolTerm(Coordinate &result) {
    SPYRE_ASSIGN_OR_RETURN(std::string name, parseName());
    if (name == "IndirectAccess" && acceptMark('(')) {
      SPYRE_ASSIGN_OR_RETURN(result.symbol, parseString());
      result.kind = Coordinate::Kind::Indirect;
      return expectMark(')');
    }
    if ((name != "floor" && name != "Mod") || !acceptMark('(')) {
      result.kind = Coordinate::Kind::Symbol;
      result.symbol = std::move(name);
      return Status::success();
    }
    const bool isFloor = name == "floor";
    SPYRE_ASSIGN_OR_RETURN(result.symbol, parseName());
    if (!isFloor && result.symbol == "floor" && acceptMark('(')) {
      SPYRE_ASSIGN_OR_RETURN(result.symbol, parseName());
      SPYRE_RETURN_IF_ERROR(expectMark('/'));
      SPYRE_ASSIGN_OR_RETURN(result.inner, parseUnsigned());
      SPYRE_RETURN_IF_ERROR(expectMark(')'));
    }
    SPYRE_RETURN_IF_ERROR(expectMark(isFloor ? '/' : ','));
    SPYRE_ASSIGN_OR_RETURN(result.divisor, parseUnsigned());
    result.kind = isFloor ? Coordinate::Kind::Floor : Coordinate::Kind::Mod;
    return expectMark(')');
  }

  /// A symbol with a factor: the first or the second of a window.
  Status addWindowTerm(Coordinate &result, int64_t factor) {
    SPYRE_ASSIGN_OR_RETURN(std::string name, parseName());
    if (result.kind == Coordinate::Kind::Constant) {
      result.kind = Coordinate::Kind::Symbol;
      result.symbol = std::move(name);
      result.factor = factor;
      return Status::success();
    }
    if (result.kind != Coordinate::Kind::Symbol) {
      return fault("an integer (a window has two symbols)");
    }
    result.kind = Coordinate::Kind::Window;
    result.windowSymbol = std::move(name);
    result.windowFactor = factor;
    return Status::success();
  }

  Expected<std::vector<int64_t>> parseIntegerList() {
    std::vector<int64_t> values;
    SPYRE_RETURN_IF_ERROR(parseSequence('[', ']', [&] {
      SPYRE_ASSIGN_OR_RETURN(int64_t value, parseExpression(&Parser::parseInteger));
      values.push_back(value);
      return Status::success();
    }));
    return values;
  }

  Status parseIterationSpace(OpSpec &spec) {
    return parseSequence('{', '}', [&] {
      IterationDim dim;
      SPYRE_ASSIGN_OR_RETURN(dim.symbol, parseExpression(&Parser::parseName));
      SPYRE_RETURN_IF_ERROR(expectMark(':'));
      SPYRE_RETURN_IF_ERROR(expectMark('('));
      SPYRE_ASSIGN_OR_RETURN(dim.range, parseExpression(&Parser::parseInteger));
      SPYRE_RETURN_IF_ERROR(expectMark(','));
      SPYRE_ASSIGN_OR_RETURN(dim.cores, parseExpression(&Parser::parseInteger));
      if (acceptMark(',') && peek().kind == Token::Kind::String) {
        dim.uneven = peek().text == "uneven";
        dim.fastest = peek().text == "fastest";
        if (!dim.uneven && !dim.fastest) {
          return fault("'uneven' or 'fastest', the kinds of division that have a name");
        }
        next();
        acceptMark(',');
      }
      spec.iterationSpace.push_back(std::move(dim));
      return expectMark(')');
    });
  }

  Status parseConstants(OpSpec &spec) {
    return parseSequence('{', '}', [&] {
      SPYRE_ASSIGN_OR_RETURN(std::string name, parseString());
      SPYRE_RETURN_IF_ERROR(expectMark(':'));
      SPYRE_ASSIGN_OR_RETURN(double value, parseDouble());
      spec.constants.emplace_back(std::move(name), value);
      return Status::success();
    });
  }

  Status parseOpInfo(OpSpec &spec) {
    return parseSequence('{', '}', [&] {
      if (peek().kind != Token::Kind::String || peek().text != "constants" ||
          !spec.constants.empty()) {
        return fault("'constants', once (no other op_info is known)");
      }
      next();
      SPYRE_RETURN_IF_ERROR(expectMark(':'));
      return parseConstants(spec);
    });
  }

  Status parseAllocation(TensorArg &arg) {
    SPYRE_RETURN_IF_ERROR(expectMark('{'));
    if (peek().kind != Token::Kind::String) {
      return fault("'hbm', 'pool' or 'lx'");
    }
    const std::string_view key = peek().text;
    if (key == "hbm") {
      arg.residency = Residency::Hbm;
    } else if (key == "pool") {
      arg.residency = Residency::Pool;
    } else if (key == "lx") {
      arg.residency = Residency::Lx;
    } else {
      return fault("'hbm', 'pool' or 'lx'");
    }
    next();
    SPYRE_RETURN_IF_ERROR(expectMark(':'));
    SPYRE_ASSIGN_OR_RETURN(arg.address, parseInteger());
    acceptMark(',');
    return expectMark('}');
  }

  Status parseDivision(TensorArg &arg) {
    return parseSequence('{', '}', [&] {
      SPYRE_ASSIGN_OR_RETURN(std::string symbol, parseExpression(&Parser::parseName));
      SPYRE_RETURN_IF_ERROR(expectMark(':'));
      SPYRE_ASSIGN_OR_RETURN(int64_t slices, parseExpression(&Parser::parseInteger));
      arg.lxDivision.emplace_back(std::move(symbol), slices);
      return Status::success();
    });
  }

  Status parseFormatName(TensorArg &arg) {
    if (peek().kind == Token::Kind::Name && peek().text == "DataFormats") {
      next();
      SPYRE_RETURN_IF_ERROR(expectMark('.'));
    }
    Expected<numerics::DataFormat> format = numerics::parseFormat(std::string(peek().text));
    if (peek().kind != Token::Kind::Name || !format) {
      return fault("the name of a device format (SEN169_FP16, IEEE_FP32, ...)");
    }
    arg.deviceDtype = *format;
    next();
    return Status::success();
  }

  Status parseCoordinates(TensorArg &arg) {
    return parseSequence('[', ']', [&] {
      SPYRE_ASSIGN_OR_RETURN(Coordinate coordinate, parseExpression(&Parser::parseCoordinate));
      arg.deviceCoordinates.push_back(std::move(coordinate));
      return Status::success();
    });
  }

  Status parseArgField(TensorArg &arg, std::string_view key) {
    if (key == "is_input") {
      SPYRE_ASSIGN_OR_RETURN(arg.isInput, parseBool());
    } else if (key == "arg_index") {
      SPYRE_ASSIGN_OR_RETURN(arg.argIndex, parseInteger());
    } else if (key == "device_dtype") {
      return parseFormatName(arg);
    } else if (key == "device_size") {
      SPYRE_ASSIGN_OR_RETURN(arg.deviceSize, parseIntegerList());
    } else if (key == "device_coordinates") {
      return parseCoordinates(arg);
    } else if (key == "allocation") {
      return parseAllocation(arg);
    } else if (key == "stride_map") {
      if (peek().kind == Token::Kind::Name && peek().text == "None") {
        next();
        return Status::success();
      }
      SPYRE_ASSIGN_OR_RETURN(arg.strideMap, parseIntegerList());
    } else if (key == "per_tile_fixed") {
      SPYRE_ASSIGN_OR_RETURN(arg.perTileFixed, parseBool());
    } else if (key == "name") {
      if (peek().kind == Token::Kind::Name) {
        return expectName("None");
      }
      SPYRE_ASSIGN_OR_RETURN(arg.name, parseString());
    } else if (key == "lx_division") {
      return parseDivision(arg);
    } else {
      return unknownField("TensorArg", key);
    }
    return Status::success();
  }

  Status parseArgs(OpSpec &spec) {
    return parseSequence('[', ']', [&] {
      TensorArg arg;
      SPYRE_RETURN_IF_ERROR(
          parseCall("TensorArg",
                    {"is_input", "device_dtype", "device_size", "device_coordinates", "allocation"},
                    [&](std::string_view key) { return parseArgField(arg, key); }));
      spec.args.push_back(std::move(arg));
      return Status::success();
    });
  }

  /// A sum has no order: of a window the symbol that the output has is the pixel.
  static void orderWindows(OpSpec &spec) {
    const auto inOutput = [&](const std::string &symbol) {
      const std::vector<Coordinate> &output = spec.args.back().deviceCoordinates;
      return std::any_of(output.begin(), output.end(),
                         [&](const Coordinate &c) { return c.symbol == symbol; });
    };
    for (TensorArg &arg : spec.args) {
      for (Coordinate &coordinate : arg.deviceCoordinates) {
        if (coordinate.kind == Coordinate::Kind::Window && !inOutput(coordinate.symbol) &&
            inOutput(coordinate.windowSymbol)) {
          std::swap(coordinate.symbol, coordinate.windowSymbol);
          std::swap(coordinate.factor, coordinate.windowFactor);
        }
      }
    }
  }

  Status parseOpSpec(OpSpec &spec) {
    return parseCall("OpSpec", {"op", "iteration_space", "args"}, [&](std::string_view key) {
      if (key == "op") {
        SPYRE_ASSIGN_OR_RETURN(spec.op, parseString());
        return Status::success();
      }
      if (key == "is_reduction") {
        SPYRE_ASSIGN_OR_RETURN(spec.isReduction, parseBool());
        return Status::success();
      }
      if (key == "iteration_space") {
        return parseIterationSpace(spec);
      }
      if (key == "op_info") {
        return parseOpInfo(spec);
      }
      if (key == "args") {
        return parseArgs(spec);
      }
      if (key == "tiled_symbols") {
        return parseSymbols(spec.tiledSymbols);
      }
      return unknownField("OpSpec", key);
    });
  }

  Status parseSymbols(std::vector<std::string> &symbols) {
    return parseSequence('[', ']', [&] {
      SPYRE_ASSIGN_OR_RETURN(std::string symbol, parseExpression(&Parser::parseName));
      symbols.push_back(std::move(symbol));
      return Status::success();
    });
  }

  Status parseNodes(Kernel &nodes, size_t depth) {
    return parseSequence('[', ']', [&] {
      const std::string_view word = peek().kind == Token::Kind::Name ? peek().text : "";
      SpecNode node;
      if (word == "LoopSpec") {
        SPYRE_RETURN_IF_ERROR(parseLoop(node, depth));
      } else if (word == "UnimplementedOp") {
        node.kind = SpecNode::Kind::Unimplemented;
        SPYRE_RETURN_IF_ERROR(parseCall("UnimplementedOp", {"op"}, [&](std::string_view key) {
          if (key != "op") {
            return unknownField("UnimplementedOp", key);
          }
          SPYRE_ASSIGN_OR_RETURN(node.op.op, parseString());
          return Status::success();
        }));
      } else {
        SPYRE_RETURN_IF_ERROR(parseOpSpec(node.op));
        orderWindows(node.op);
      }
      nodes.push_back(std::move(node));
      return Status::success();
    });
  }

  Status parseLoop(SpecNode &node, size_t depth) {
    if (depth >= kMaxLoopDepth) {
      return fault(fmt::format("loops nested at most {} deep", kMaxLoopDepth));
    }
    node.kind = SpecNode::Kind::Loop;
    return parseCall("LoopSpec", {"count", "body"}, [&](std::string_view key) {
      if (key == "count") {
        SPYRE_ASSIGN_OR_RETURN(node.count, parseExpression(&Parser::parseInteger));
        return Status::success();
      }
      if (key == "tiled_symbols") {
        return parseSymbols(node.tiledSymbols);
      }
      return key == "body" ? parseNodes(node.body, depth + 1) : unknownField("LoopSpec", key);
    });
  }

  /// Of a TensorArg.
  static constexpr size_t kUsualFields = 10;

  OpSpecLexer lexer;
  Token current;
};

} // namespace

Expected<Kernel> parseKernel(const std::string &text) { return Parser(text).parseFile(); }

Expected<std::vector<OpSpec>> parseOpSpecs(const std::string &text) {
  SPYRE_ASSIGN_OR_RETURN(Kernel kernel, parseKernel(text));
  std::vector<OpSpec> specs;
  for (SpecNode &node : kernel) {
    if (node.kind != SpecNode::Kind::Op) {
      return error<1301>("the text holds a LoopSpec or UnimplementedOp where only operations can "
                         "be read; unroll its loops first");
    }
    specs.push_back(std::move(node.op));
  }
  return specs;
}

} // namespace spyre::spec
