//===- BundleParser.cpp - bundle.mlir to the tree of its executes ---------------------------===//
//
// Every value of the text is folded to an AddressExpr where it is defined, so names and the way a
// value is computed are gone after parsing. A loop from a to b by s is read as one from 0 by 1, and
// a loop that executes nothing is left out. [spec: codegen-and-backend 4.1-4.4]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/Bundle.h"

#include "BundleLexer.h"
#include "JsonText.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace spyre::spec {

namespace {

constexpr size_t kMaxTextBytes = size_t(16) << 20;
constexpr size_t kMaxValues = size_t(1) << 18;
constexpr size_t kMaxOperands = size_t(1) << 20;
constexpr size_t kMaxMapInputs = 16;
constexpr size_t kMaxSumArguments = 8;
constexpr size_t kMaxParentheses = 16;

/// constant + sum of factor * input, the inputs of an affine map in order (dims, then symbols).
struct LinearExpr {
  int64_t constant = 0;
  std::vector<int64_t> factors;
  bool isConstant() const {
    return std::all_of(factors.begin(), factors.end(), [](int64_t f) { return f == 0; });
  }
};

struct AffineMap {
  size_t dims = 0, symbols = 0;
  LinearExpr result;
};

/// A value is an address, or a parameter that must be extracted before it is one.
struct Value {
  AddressExpr address;
  bool isParameter = false;
};

/// Of any number in the text or folded from it; sums of a few stay inside 64 bits.
constexpr int64_t kLargest = int64_t(1) << 60;

bool isSmall(int64_t value) { return value >= -kLargest && value <= kLargest; }

/// total += factor * added; false on overflow, or when an argument would not have factor 1.
bool addScaled(AddressExpr &total, const AddressExpr &added, int64_t factor) {
  if (factor == 0) {
    return true;
  }
  if (!added.arguments.empty() && factor != 1) {
    return false;
  }
  int64_t product = 0;
  if (__builtin_mul_overflow(added.constant, factor, &product) ||
      __builtin_add_overflow(total.constant, product, &total.constant) ||
      !isSmall(total.constant)) {
    return false;
  }
  for (uint32_t argument : added.arguments) {
    auto place = std::lower_bound(total.arguments.begin(), total.arguments.end(), argument);
    if ((place != total.arguments.end() && *place == argument) ||
        total.arguments.size() >= kMaxSumArguments) {
      return false;
    }
    total.arguments.insert(place, argument);
  }
  for (const AddressExpr::Stride &stride : added.strides) {
    auto place =
        std::lower_bound(total.strides.begin(), total.strides.end(), stride.loop,
                         [](const AddressExpr::Stride &s, uint32_t loop) { return s.loop < loop; });
    if (place == total.strides.end() || place->loop != stride.loop) {
      place = total.strides.insert(place, {stride.loop, 0});
    }
    if (__builtin_mul_overflow(stride.bytes, factor, &product) ||
        __builtin_add_overflow(place->bytes, product, &place->bytes) || !isSmall(place->bytes)) {
      return false;
    }
    if (place->bytes == 0) {
      total.strides.erase(place);
    }
  }
  return true;
}

class Parser {
public:
  explicit Parser(const std::string &text) : lex(text) {}

  Expected<Bundle> run() {
    while (lex.token.starts_with('#')) {
      SPYRE_RETURN_IF_ERROR(parseMapDefinition());
    }
    SPYRE_RETURN_IF_ERROR(lex.expectAll({"module", "{", "func.func", "@sdsc_bundle", "("}));
    SPYRE_RETURN_IF_ERROR(parseParameters());
    SPYRE_RETURN_IF_ERROR(parseFunctionAttributes());
    SPYRE_RETURN_IF_ERROR(lex.expect("{"));
    SPYRE_ASSIGN_OR_RETURN([[maybe_unused]] int64_t executes, parseBlock(bundle.body));
    if (!lex.accept("func.return")) {
      SPYRE_RETURN_IF_ERROR(lex.expect("return"));
    }
    SPYRE_RETURN_IF_ERROR(lex.expectAll({"}", "}"}));
    return lex.atEnd() ? Expected<Bundle>(std::move(bundle))
                       : Expected<Bundle>(lex.unexpected("the end"));
  }

private:
  //===- Function ---------------------------------------------------------------------------===//

  Status parseParameters() {
    if (lex.accept(")")) {
      return Status::success();
    }
    do {
      SPYRE_ASSIGN_OR_RETURN(std::string name, lex.takeName('%', "a parameter"));
      SPYRE_RETURN_IF_ERROR(addParameter(name));
      SPYRE_RETURN_IF_ERROR(lex.expect(":"));
      SPYRE_RETURN_IF_ERROR(expectArgumentType());
    } while (lex.accept(","));
    return lex.expect(")");
  }

  Status expectArgumentType() {
    return lex.expectAll({"!sdscbundle.input_arg", "<", "index", ">"});
  }

  /// %pool_base_addr and %arg_2_base_addr say which argument they are; any other name is the
  /// argument of its place, the pool not counted.
  Status addParameter(const std::string &name) {
    constexpr std::string_view kSuffix = "_base_addr";
    const bool hasPool =
        std::count(bundle.arguments.begin(), bundle.arguments.end(), kPoolArgument);
    int64_t argument = int64_t(bundle.arguments.size()) - hasPool;
    if (name.ends_with(kSuffix)) {
      auto known = parseBundleArgument(name.substr(0, name.size() - kSuffix.size()));
      argument = known ? *known : argument;
    }
    if (std::count(bundle.arguments.begin(), bundle.arguments.end(), argument) ||
        argument > kMaxBundleArgument) {
      return lex.fault("%{} is {}, which is there already or beyond the last one (arg_{}); name "
                       "the parameters %pool_base_addr and %arg_<i>_base_addr",
                       name.substr(0, 40), bundleArgumentName(argument), kMaxBundleArgument);
    }
    Value value;
    value.isParameter = true;
    value.address.arguments = {uint32_t(bundle.arguments.size())};
    bundle.arguments.push_back(argument);
    return define(name, std::move(value));
  }

  Status parseFunctionAttributes() {
    if (!lex.accept("attributes")) {
      return Status::success();
    }
    SPYRE_RETURN_IF_ERROR(lex.expectAll({"{", "sdscbundle.non_terminal", "}"}));
    bundle.nonTerminal = true;
    return Status::success();
  }

  //===- Statements -------------------------------------------------------------------------===//

  /// Statements up to the end of a block; the number of executes they make when unrolled.
  Expected<int64_t> parseBlock(std::vector<BundleNode> &body) {
    int64_t executes = 0;
    while (true) {
      if (lex.token.starts_with('%')) {
        SPYRE_RETURN_IF_ERROR(parseDefinition());
      } else if (lex.accept("sdscbundle.sdsc_execute")) {
        SPYRE_RETURN_IF_ERROR(parseExecute(body.emplace_back().execute));
        ++executes;
      } else if (lex.accept("scf.for")) {
        SPYRE_ASSIGN_OR_RETURN(int64_t inside, parseLoop(body));
        executes += inside;
      } else if (lex.token == "}" || lex.token == "return" || lex.token == "func.return" ||
                 lex.token == "scf.yield") {
        return executes;
      } else {
        return lex.unexpected("a value ('%'), sdscbundle.sdsc_execute, scf.for or return");
      }
      if (executes > int64_t(kMaxBundleExecutes)) {
        return lex.fault("more than {} operations when loops are unrolled; split the bundle",
                         kMaxBundleExecutes);
      }
    }
  }

  Expected<int64_t> parseLoop(std::vector<BundleNode> &body) {
    if (loopDepth >= kMaxBundleLoops) {
      return lex.fault("loops more than {} deep; unroll some of them", kMaxBundleLoops);
    }
    SPYRE_ASSIGN_OR_RETURN(std::string name, lex.takeName('%', "a loop variable"));
    SPYRE_RETURN_IF_ERROR(lex.expect("="));
    SPYRE_ASSIGN_OR_RETURN(int64_t begin, takeConstant());
    SPYRE_RETURN_IF_ERROR(lex.expect("to"));
    SPYRE_ASSIGN_OR_RETURN(int64_t end, takeConstant());
    SPYRE_RETURN_IF_ERROR(lex.expect("step"));
    SPYRE_ASSIGN_OR_RETURN(int64_t step, takeConstant());
    if (step < 1) {
      return lex.fault("a loop steps by {}; it must be at least 1", step);
    }
    if (lex.accept(":")) {
      SPYRE_RETURN_IF_ERROR(lex.expect("index"));
    }
    SPYRE_RETURN_IF_ERROR(lex.expect("{"));
    // No number is beyond 2^60, so the difference is far from overflow.
    BundleNode loop;
    loop.isLoop = true;
    loop.count = begin < end ? (end - begin - 1) / step + 1 : 0;
    Value variable;
    variable.address.constant = begin;
    variable.address.strides = {{uint32_t(loopDepth), step}};
    ++loopDepth;
    scopes.emplace_back();
    SPYRE_RETURN_IF_ERROR(define(name, std::move(variable)));
    SPYRE_ASSIGN_OR_RETURN(int64_t inside, parseBlock(loop.body));
    lex.accept("scf.yield");
    SPYRE_RETURN_IF_ERROR(lex.expect("}"));
    for (const std::string &local : scopes.back()) {
      values.erase(local);
    }
    scopes.pop_back();
    --loopDepth;
    if (inside == 0 || loop.count == 0) {
      return 0;
    }
    body.push_back(std::move(loop));
    const int64_t tooMany = int64_t(kMaxBundleExecutes) + 1;
    return std::min(inside * std::min(body.back().count, tooMany), tooMany);
  }

  Status parseExecute(BundleExecute &execute) {
    SPYRE_RETURN_IF_ERROR(lex.expect("("));
    if (!lex.accept(")")) {
      do {
        SPYRE_ASSIGN_OR_RETURN(const AddressExpr *operand, takeAddress());
        execute.operands.push_back(*operand);
        if (++operands > kMaxOperands) {
          return lex.fault("more than {} operands; split the bundle", kMaxOperands);
        }
      } while (lex.accept(","));
      SPYRE_RETURN_IF_ERROR(lex.expect(")"));
    }
    SPYRE_RETURN_IF_ERROR(lex.expect("{"));
    bool hasIds = false;
    do {
      const bool isIds = lex.token == "\"symbol_ids\"" || lex.token == "symbol_ids";
      if (isIds && !hasIds) {
        hasIds = true;
        lex.advance();
        SPYRE_RETURN_IF_ERROR(lex.expect("="));
        SPYRE_RETURN_IF_ERROR(parseSymbolIds(execute));
        continue;
      }
      if (execute.file.empty() &&
          (lex.accept("sdsc_filename") || lex.accept("\"sdsc_filename\""))) {
        SPYRE_RETURN_IF_ERROR(lex.expect("="));
        SPYRE_RETURN_IF_ERROR(parseFileName(execute));
        continue;
      }
      return lex.unexpected("sdsc_filename and, with operands, symbol_ids, each once");
    } while (lex.accept(","));
    if (execute.file.empty()) {
      return lex.unexpected("sdsc_filename");
    }
    if (execute.symbolIds.size() != execute.operands.size()) {
      return lex.fault("{} operands for {} symbol ids; operand i gives symbol id i",
                       execute.operands.size(), execute.symbolIds.size());
    }
    return lex.expect("}");
  }

  Status parseFileName(BundleExecute &execute) {
    if (lex.token.size() < 2 || lex.token.front() != '"' || lex.token.back() != '"') {
      return lex.unexpected("a quoted file name");
    }
    std::string name(lex.token.substr(1, lex.token.size() - 2));
    if (!isPlainFileName(name)) {
      return lex.fault("'{}' is not a plain file name; the files of a bundle lie beside "
                       "bundle.mlir",
                       name.substr(0, 40));
    }
    execute.file = std::move(name);
    lex.advance();
    return Status::success();
  }

  Status parseSymbolIds(BundleExecute &execute) {
    SPYRE_RETURN_IF_ERROR(lex.expect("["));
    std::set<int64_t> seen;
    while (!lex.accept("]")) {
      if (!execute.symbolIds.empty()) {
        SPYRE_RETURN_IF_ERROR(lex.expect(","));
      }
      SPYRE_ASSIGN_OR_RETURN(int64_t id, lex.takeInteger());
      if (id >= 0 || !seen.insert(id).second || seen.size() > kMaxOperands) {
        return lex.fault("symbol id {}; ids are negative and each stands once in its execute", id);
      }
      execute.symbolIds.push_back(id);
    }
    return Status::success();
  }

  //===- Values -----------------------------------------------------------------------------===//

  Status define(const std::string &name, Value value) {
    if (values.size() >= kMaxValues) {
      return lex.fault("more than {} values; split the bundle", kMaxValues);
    }
    if (!values.emplace(name, std::move(value)).second) {
      return lex.fault("%{} is defined twice", name.substr(0, 40));
    }
    scopes.back().push_back(name);
    return Status::success();
  }

  Expected<const Value *> takeValue() {
    SPYRE_ASSIGN_OR_RETURN(std::string name, lex.takeName('%', "a value"));
    auto found = values.find(name);
    if (found == values.end()) {
      return lex.fault("%{} is not defined here; define a value before it is used",
                       name.substr(0, 40));
    }
    return &found->second;
  }

  Expected<const AddressExpr *> takeAddress() {
    SPYRE_ASSIGN_OR_RETURN(const Value *value, takeValue());
    if (value->isParameter) {
      return lex.fault("a parameter is no number; use sdscbundle.input_arg_extract first");
    }
    return &value->address;
  }

  Expected<int64_t> takeConstant() {
    SPYRE_ASSIGN_OR_RETURN(const AddressExpr *address, takeAddress());
    if (!address->arguments.empty() || !address->strides.empty()) {
      return lex.fault("bounds and steps of a loop must be constants");
    }
    return address->constant;
  }

  Status parseDefinition() {
    SPYRE_ASSIGN_OR_RETURN(std::string name, lex.takeName('%', "a value"));
    SPYRE_RETURN_IF_ERROR(lex.expect("="));
    Value value;
    if (lex.accept("arith.constant")) {
      SPYRE_ASSIGN_OR_RETURN(value.address.constant, lex.takeInteger());
      SPYRE_RETURN_IF_ERROR(lex.expectAll({":", "index"}));
    } else if (lex.accept("arith.addi")) {
      SPYRE_RETURN_IF_ERROR(parseSum(value.address));
    } else if (lex.accept("sdscbundle.input_arg_extract")) {
      SPYRE_RETURN_IF_ERROR(parseExtract(value.address));
    } else if (lex.accept("affine.apply")) {
      SPYRE_RETURN_IF_ERROR(parseApply(value.address));
    } else {
      return lex.unexpected("arith.constant, arith.addi, affine.apply or "
                            "sdscbundle.input_arg_extract");
    }
    return define(name, std::move(value));
  }

  Status addTo(AddressExpr &total, const AddressExpr &added, int64_t factor) {
    return addScaled(total, added, factor)
               ? Status::success()
               : lex.fault("an address is a constant, at most {} different arguments with factor "
                           "1, and strides times loop variables; no number is beyond 2^60",
                           kMaxSumArguments);
  }

  Status parseSum(AddressExpr &result) {
    SPYRE_ASSIGN_OR_RETURN(const AddressExpr *left, takeAddress());
    SPYRE_RETURN_IF_ERROR(lex.expect(","));
    SPYRE_ASSIGN_OR_RETURN(const AddressExpr *right, takeAddress());
    SPYRE_RETURN_IF_ERROR(lex.expectAll({":", "index"}));
    result = *left;
    return addTo(result, *right, 1);
  }

  Status parseExtract(AddressExpr &result) {
    SPYRE_RETURN_IF_ERROR(lex.expectAll({"value", "from"}));
    SPYRE_ASSIGN_OR_RETURN(const Value *parameter, takeValue());
    if (!parameter->isParameter) {
      return lex.fault("only parameters of the function are extracted");
    }
    result = parameter->address;
    SPYRE_RETURN_IF_ERROR(lex.expect(":"));
    SPYRE_RETURN_IF_ERROR(expectArgumentType());
    return lex.expectAll({"->", "index"});
  }

  //===- Affine maps ------------------------------------------------------------------------===//

  Status parseMapDefinition() {
    SPYRE_ASSIGN_OR_RETURN(std::string name, lex.takeName('#', "a map"));
    SPYRE_RETURN_IF_ERROR(lex.expect("="));
    SPYRE_ASSIGN_OR_RETURN(AffineMap map, parseMap());
    if (maps.size() >= kMaxValues || !maps.emplace(name, std::move(map)).second) {
      return lex.fault("#{} is defined twice, or there are more than {} maps", name.substr(0, 40),
                       kMaxValues);
    }
    return Status::success();
  }

  /// (d0, d1) or [s0]: adds the names.
  Expected<size_t> parseMapInputs(const char *close) {
    size_t count = 0;
    while (!lex.accept(close)) {
      if (count > 0) {
        SPYRE_RETURN_IF_ERROR(lex.expect(","));
      }
      const bool isName = !lex.atEnd() && std::isalpha(static_cast<unsigned char>(lex.token[0]));
      if (!isName || mapInputs.size() >= kMaxMapInputs ||
          !mapInputs.emplace(lex.token, mapInputs.size()).second) {
        return lex.unexpected(
            fmt::format("another name of the map's inputs (at most {})", kMaxMapInputs));
      }
      lex.advance();
      ++count;
    }
    return count;
  }

  Expected<AffineMap> parseMap() {
    AffineMap map;
    mapInputs.clear();
    SPYRE_RETURN_IF_ERROR(lex.expectAll({"affine_map", "<", "("}));
    SPYRE_ASSIGN_OR_RETURN(map.dims, parseMapInputs(")"));
    if (lex.accept("[")) {
      SPYRE_ASSIGN_OR_RETURN(map.symbols, parseMapInputs("]"));
    }
    SPYRE_RETURN_IF_ERROR(lex.expectAll({"->", "("}));
    SPYRE_ASSIGN_OR_RETURN(map.result, parseLinear(0));
    SPYRE_RETURN_IF_ERROR(lex.expectAll({")", ">"}));
    return map;
  }

  Status overflow() const { return lex.fault("the factors of the map do not fit 64 bits"); }

  /// term + term - term ...
  Expected<LinearExpr> parseLinear(size_t depth) {
    SPYRE_ASSIGN_OR_RETURN(LinearExpr total, parseTerm(depth));
    while (lex.token == "+" || lex.token == "-") {
      const int64_t sign = lex.token == "+" ? 1 : -1;
      lex.advance();
      SPYRE_ASSIGN_OR_RETURN(LinearExpr next, parseTerm(depth));
      SPYRE_ASSIGN_OR_RETURN(next, scaled(std::move(next), sign));
      bool wraps = __builtin_add_overflow(total.constant, next.constant, &total.constant);
      for (size_t i = 0; i < total.factors.size(); ++i) {
        wraps |= __builtin_add_overflow(total.factors[i], next.factors[i], &total.factors[i]);
      }
      if (wraps) {
        return overflow();
      }
    }
    return total;
  }

  Expected<LinearExpr> scaled(LinearExpr expr, int64_t factor) {
    bool wraps = __builtin_mul_overflow(expr.constant, factor, &expr.constant);
    for (int64_t &number : expr.factors) {
      wraps |= __builtin_mul_overflow(number, factor, &number);
    }
    return wraps ? Expected<LinearExpr>(overflow()) : Expected<LinearExpr>(std::move(expr));
  }

  /// factor * factor ..., at most one of which is no constant
  Expected<LinearExpr> parseTerm(size_t depth) {
    SPYRE_ASSIGN_OR_RETURN(LinearExpr product, parseFactor(depth));
    while (lex.accept("*")) {
      SPYRE_ASSIGN_OR_RETURN(LinearExpr next, parseFactor(depth));
      if (!product.isConstant()) {
        std::swap(product, next);
      }
      if (!product.isConstant()) {
        return lex.fault("a map multiplies two inputs; one side of '*' must be a number");
      }
      SPYRE_ASSIGN_OR_RETURN(product, scaled(std::move(next), product.constant));
    }
    return product;
  }

  Expected<LinearExpr> parseFactor(size_t depth) {
    if (lex.token == "(") {
      if (depth >= kMaxParentheses) {
        return lex.fault("parentheses more than {} deep", kMaxParentheses);
      }
      lex.advance();
      SPYRE_ASSIGN_OR_RETURN(LinearExpr inside, parseLinear(depth + 1));
      SPYRE_RETURN_IF_ERROR(lex.expect(")"));
      return inside;
    }
    LinearExpr expr;
    expr.factors.assign(mapInputs.size(), 0);
    auto input = mapInputs.find(std::string(lex.token));
    if (input != mapInputs.end()) {
      expr.factors[input->second] = 1;
      lex.advance();
      return expr;
    }
    const bool isNegative = lex.token == "-";
    const bool isNumber =
        isNegative || (!lex.atEnd() && lex.token[0] >= '0' && lex.token[0] <= '9');
    if (!isNumber) {
      return lex.unexpected("a number or an input of the map; maps have +, - and * only");
    }
    if (isNegative) {
      lex.advance();
      input = mapInputs.find(std::string(lex.token));
      if (input != mapInputs.end()) {
        expr.factors[input->second] = -1;
        lex.advance();
        return expr;
      }
    }
    SPYRE_ASSIGN_OR_RETURN(expr.constant, lex.takeInteger());
    expr.constant = isNegative ? -expr.constant : expr.constant;
    return expr;
  }

  Status parseApply(AddressExpr &result) {
    AffineMap inlineMap;
    const AffineMap *map = &inlineMap;
    if (lex.token.starts_with('#')) {
      SPYRE_ASSIGN_OR_RETURN(std::string name, lex.takeName('#', "a map"));
      auto found = maps.find(name);
      if (found == maps.end()) {
        return lex.fault("#{} is not defined; maps stand before 'module'", name.substr(0, 40));
      }
      map = &found->second;
    } else {
      SPYRE_ASSIGN_OR_RETURN(inlineMap, parseMap());
    }
    AddressExpr constant;
    constant.constant = map->result.constant;
    SPYRE_RETURN_IF_ERROR(addTo(result, constant, 1));
    size_t next = 0;
    SPYRE_RETURN_IF_ERROR(applyInputs("(", ")", map->dims, map->result, next, result));
    if (map->symbols > 0 || lex.token == "[") {
      SPYRE_RETURN_IF_ERROR(applyInputs("[", "]", map->symbols, map->result, next, result));
    }
    return Status::success();
  }

  Status applyInputs(const char *open, const char *close, size_t count, const LinearExpr &linear,
                     size_t &next, AddressExpr &result) {
    SPYRE_RETURN_IF_ERROR(lex.expect(open));
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) {
        SPYRE_RETURN_IF_ERROR(lex.expect(","));
      }
      SPYRE_ASSIGN_OR_RETURN(const AddressExpr *input, takeAddress());
      SPYRE_RETURN_IF_ERROR(addTo(result, *input, linear.factors[next++]));
    }
    return lex.expect(close);
  }

  BundleLexer lex;
  Bundle bundle;
  std::map<std::string, Value> values;
  std::map<std::string, AffineMap> maps;
  /// Names of the block's values, innermost block last.
  std::vector<std::vector<std::string>> scopes{{}};
  std::map<std::string, size_t> mapInputs;
  size_t loopDepth = 0, operands = 0;
};

} // namespace

Expected<Bundle> parseBundleMlir(const std::string &text) {
  if (text.size() > kMaxTextBytes) {
    return error<5004>("the text has {} bytes, the limit is {}; split the bundle", text.size(),
                       kMaxTextBytes);
  }
  return Parser(text).run();
}

} // namespace spyre::spec
