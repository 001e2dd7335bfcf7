//===- Assembler.cpp - reads the text that the disassembler prints --------------------------===//
//
// One line is one thing: a symbol, a buffer, a phase, a table or an instruction. Each is read once
// from left to right, so time and memory are bounded by the text. Only the language is checked
// here; whether the machine can run the program is verifyProgram's question.
//===--------------------------------------------------------------------------------------------===//
#include "AssemblerLexer.h"
#include "Tables.h"

#include <algorithm>
#include <map>
#include <set>

namespace spyre::program {

namespace {

class Assembler {
public:
  explicit Assembler(const std::string &text) : lexer(text) {}
  Expected<Program> run();

private:
  using NameMap = std::map<std::string, int32_t, std::less<>>;

  Status header();
  Status line();
  Status symbolLine();
  Status bufferLine();
  Status bufferProperty(Buffer &buffer);
  Expected<int64_t> bufferBase(Space space);
  Status phaseLine();
  Status tableLine();
  Status instructionLine();

  Expected<const OpcodeRow *> mnemonic(Instruction &instruction);
  Status control(Instruction &instruction);
  Status body(Instruction &instruction, const OpcodeRow &row);
  Expected<numerics::DataFormat> format();
  Status operands(Instruction &instruction);
  Expected<Operand> operand();
  Status sum(Operand &operand);
  Status term(Operand &operand, bool &hasOffset);
  Expected<int32_t> tableReference();
  Status fields(Instruction &instruction, const OpcodeRow &row);
  Status field(Instruction &instruction, const FieldNames &names, std::string_view word);
  Status counts(Instruction &instruction);

  Expected<int32_t> lookUp(const NameMap &map, const char *what, std::string_view name);
  Expected<std::string> newName(NameMap &map, const char *what);

  AssemblerLexer lexer;
  Program program;
  NameMap symbolIndices, bufferIndices;
};

} // namespace

/// For advice: the names of the rows that \p isWanted.
template <typename Rows, typename Predicate>
static std::string nameList(const Rows &rows, Predicate isWanted) {
  std::vector<std::string> names;
  for (const auto &row : rows) {
    if (isWanted(row)) {
      names.push_back(row.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

//===- Lines --------------------------------------------------------------------------------===//

Expected<Program> Assembler::run() {
  SPYRE_RETURN_IF_ERROR(header());
  while (lexer.nextLine()) {
    SPYRE_RETURN_IF_ERROR(line());
    SPYRE_RETURN_IF_ERROR(lexer.expectEnd());
  }
  return std::move(program);
}

Status Assembler::header() {
  if (!lexer.nextLine() || !lexer.takeWord("spyre-program")) {
    return lexer.expected(
        fmt::format("'spyre-program {}' as the first line of a program", kTextVersion));
  }
  SPYRE_ASSIGN_OR_RETURN(int64_t version, lexer.number("the version"));
  if (version != kTextVersion) {
    return lexer.fault("version {} cannot be read, this assembler knows version {}", version,
                       kTextVersion);
  }
  return lexer.expectEnd();
}

Status Assembler::line() {
  if (lexer.takeWord("symbol")) {
    return symbolLine();
  }
  if (lexer.takeWord("buffer")) {
    return bufferLine();
  }
  if (lexer.takeWord("phase")) {
    return phaseLine();
  }
  if (program.phases.empty()) {
    return lexer.expected("symbol, buffer or phase");
  }
  return lexer.takeWord("table") ? tableLine() : instructionLine();
}

Expected<std::string> Assembler::newName(NameMap &map, const char *what) {
  SPYRE_ASSIGN_OR_RETURN(std::string_view name, lexer.name(what));
  if (!map.try_emplace(std::string(name), int32_t(map.size())).second) {
    return lexer.fault("{} '{}' is declared twice; give it another name", what, name);
  }
  return std::string(name);
}

Expected<int32_t> Assembler::lookUp(const NameMap &map, const char *what, std::string_view name) {
  auto found = map.find(name);
  if (found == map.end()) {
    return lexer.fault("no {} '{}'; declare it before its first use", what, name);
  }
  return found->second;
}

Status Assembler::symbolLine() {
  Symbol symbol;
  SPYRE_ASSIGN_OR_RETURN(symbol.name, newName(symbolIndices, "symbol"));
  if (lexer.take("=")) {
    SPYRE_ASSIGN_OR_RETURN(symbol.value, lexer.number("the value"));
  }
  program.symbols.push_back(std::move(symbol));
  return Status::success();
}

Status Assembler::bufferLine() {
  Buffer buffer;
  SPYRE_ASSIGN_OR_RETURN(buffer.name, newName(bufferIndices, "buffer"));
  if (lexer.takeWord("ddr")) {
    buffer.space = Space::Ddr;
  } else if (!lexer.takeWord("lx")) {
    return lexer.expected("ddr or lx");
  }
  SPYRE_ASSIGN_OR_RETURN(buffer.base, bufferBase(buffer.space));
  SPYRE_RETURN_IF_ERROR(lexer.expectWord("bytes"));
  SPYRE_ASSIGN_OR_RETURN(buffer.bytes, lexer.number("the size"));
  while (!lexer.atEnd()) {
    SPYRE_RETURN_IF_ERROR(bufferProperty(buffer));
  }
  program.buffers.push_back(std::move(buffer));
  return Status::success();
}

Expected<int64_t> Assembler::bufferBase(Space space) {
  SPYRE_ASSIGN_OR_RETURN(int64_t base, lexer.number("the base"));
  size_t begin = lexer.mark();
  if (space != Space::Ddr || !lexer.at(":")) {
    return base;
  }
  constexpr int64_t kLastSegment = INT64_MAX >> kSegmentShift;
  if (base < 0 || base > kLastSegment) {
    lexer.pointAt(begin);
    return lexer.fault("segment {} must be in 0..{}", base, kLastSegment);
  }
  SPYRE_RETURN_IF_ERROR(lexer.expect(":"));
  SPYRE_ASSIGN_OR_RETURN(int64_t offset, lexer.number("the offset in the segment", 0,
                                                      (int64_t(1) << kSegmentShift) - 1));
  return (base << kSegmentShift) | offset;
}

Status Assembler::bufferProperty(Buffer &buffer) {
  auto narrow = [&](const char *what) { return lexer.number(what, INT32_MIN, INT32_MAX); };
  SPYRE_ASSIGN_OR_RETURN(std::string_view word, lexer.name("a property of the buffer"));
  if (word == "live-in") {
    buffer.liveIn = true;
  } else if (word == "live-out") {
    buffer.liveOut = true;
  } else if (word == "symbol") {
    SPYRE_ASSIGN_OR_RETURN(std::string_view name, lexer.name("a symbol"));
    SPYRE_ASSIGN_OR_RETURN(buffer.symbol, lookUp(symbolIndices, "symbol", name));
  } else if (word == "in-place-of") {
    SPYRE_ASSIGN_OR_RETURN(std::string_view name, lexer.name("a buffer"));
    SPYRE_ASSIGN_OR_RETURN(buffer.inPlaceOf, lookUp(bufferIndices, "buffer", name));
  } else if (word == "phases") {
    SPYRE_ASSIGN_OR_RETURN(int64_t first, narrow("the first phase"));
    SPYRE_RETURN_IF_ERROR(lexer.expect(".."));
    SPYRE_ASSIGN_OR_RETURN(int64_t last, narrow("the last phase"));
    buffer.firstPhase = int32_t(first);
    buffer.lastPhase = int32_t(last);
  } else if (word == "offsets") {
    while (lexer.atNumber()) {
      SPYRE_ASSIGN_OR_RETURN(int64_t offset, lexer.number("the offset"));
      buffer.coreOffset.push_back(offset);
    }
  } else {
    return lexer.expected("symbol, phases, live-in, live-out, in-place-of or offsets");
  }
  return Status::success();
}

Status Assembler::phaseLine() {
  Phase phase;
  SPYRE_ASSIGN_OR_RETURN(int64_t index, lexer.number("the phase"));
  if (index != int64_t(program.phases.size())) {
    return lexer.fault("phase {} is the phase number {} of the program; phases count from 0", index,
                       program.phases.size());
  }
  SPYRE_ASSIGN_OR_RETURN(phase.name, lexer.quoted());
  SPYRE_RETURN_IF_ERROR(lexer.expectWord("cores"));
  SPYRE_ASSIGN_OR_RETURN(phase.cores, lexer.number("the number of cores"));
  phase.overlap = lexer.takeWord("overlap");
  program.phases.push_back(std::move(phase));
  return Status::success();
}

Status Assembler::tableLine() {
  std::vector<std::vector<int64_t>> &tables = program.phases.back().coreTables;
  SPYRE_ASSIGN_OR_RETURN(int32_t index, tableReference());
  if (index != int64_t(tables.size())) {
    return lexer.fault("table T{} is the table number {} of the phase; tables count from 0", index,
                       tables.size());
  }
  SPYRE_RETURN_IF_ERROR(lexer.expect(":"));
  std::vector<int64_t> table;
  while (lexer.atNumber()) {
    SPYRE_ASSIGN_OR_RETURN(int64_t entry, lexer.number("the entry"));
    table.push_back(entry);
  }
  tables.push_back(std::move(table));
  return Status::success();
}

//===- Instructions -------------------------------------------------------------------------===//

Status Assembler::instructionLine() {
  if (lexer.atNumber()) {
    // Numbers are for the reader: they need not be right after an edit.
    SPYRE_ASSIGN_OR_RETURN([[maybe_unused]] int64_t ignored, lexer.number("the instruction"));
  }
  Instruction instruction;
  SPYRE_ASSIGN_OR_RETURN(const OpcodeRow *row, mnemonic(instruction));
  SPYRE_RETURN_IF_ERROR(row->isControl ? control(instruction) : body(instruction, *row));
  std::vector<Instruction> &instructions = program.phases.back().instructions;
  if (instructions.size() == kMaxInstructions) {
    return lexer.fault("a phase has at most {} instructions; use loops", kMaxInstructions);
  }
  instructions.push_back(instruction);
  return Status::success();
}

Expected<const OpcodeRow *> Assembler::mnemonic(Instruction &instruction) {
  SPYRE_ASSIGN_OR_RETURN(std::string_view word, lexer.name("an instruction"));
  size_t dot = std::min(word.find('.'), word.size());
  auto opcodes = opcodeRows();
  auto row = std::find_if(opcodes.begin(), opcodes.end(),
                          [&](const OpcodeRow &r) { return word.substr(0, dot) == r.name; });
  if (row == opcodes.end()) {
    return lexer.expected(
        fmt::format("an instruction ({})", nameList(opcodes, [](const auto &) { return true; })));
  }
  instruction.opcode = row->opcode;
  if (dot == word.size()) {
    return &*row;
  }
  auto functions = functionRows();
  auto fits = [&](const FunctionRow &r) {
    return r.function != Function::None && (r.opcodes & opcodeBit(row->opcode)) != 0;
  };
  auto found = std::find_if(functions.begin(), functions.end(), [&](const FunctionRow &r) {
    return fits(r) && word.substr(dot + 1) == r.name;
  });
  if (found == functions.end()) {
    std::string known = nameList(functions, fits);
    return lexer.fault("{} has no function '{}'; it has {}", row->name, word.substr(dot + 1),
                       known.empty() ? "none" : known);
  }
  instruction.function = found->function;
  return &*row;
}

Status Assembler::control(Instruction &instruction) {
  if (instruction.opcode == Opcode::Loop) {
    SPYRE_ASSIGN_OR_RETURN(instruction.parameter, lexer.number("the loop count"));
    return Status::success();
  }
  if (instruction.opcode != Opcode::Signal && instruction.opcode != Opcode::Wait) {
    return Status::success();
  }
  size_t unit = 0;
  while (unit < kUnits && !lexer.takeWord(unitName(Unit(unit)))) {
    ++unit;
  }
  if (unit == kUnits) {
    return lexer.expected("a unit (load, store, matrix, vector, ring)");
  }
  instruction.unit = Unit(unit);
  SPYRE_ASSIGN_OR_RETURN(int64_t token, lexer.number("the token", 0, UINT8_MAX));
  instruction.token = uint8_t(token);
  return Status::success();
}

Status Assembler::body(Instruction &instruction, const OpcodeRow &row) {
  if (row.opcode == Opcode::Finish) {
    instruction.constant = kScaleOne;
  }
  SPYRE_ASSIGN_OR_RETURN(instruction.format, format());
  if (row.opcode == Opcode::Convert) {
    SPYRE_RETURN_IF_ERROR(lexer.expectWord("to"));
    SPYRE_ASSIGN_OR_RETURN(instruction.toFormat, format());
  }
  SPYRE_RETURN_IF_ERROR(operands(instruction));
  return fields(instruction, row);
}

Expected<numerics::DataFormat> Assembler::format() {
  SPYRE_ASSIGN_OR_RETURN(std::string_view name, lexer.name("a format"));
  Expected<numerics::DataFormat> format = numerics::parseFormat(std::string(name));
  return format ? format : lexer.fault("{}", format.status().text());
}

Status Assembler::operands(Instruction &instruction) {
  SPYRE_ASSIGN_OR_RETURN(Operand result, operand());
  std::vector<Operand> all;
  if (lexer.take("<-")) {
    do {
      if (all.size() + 1 == kMaxOperands) {
        return lexer.fault("an instruction has at most {} operands", kMaxOperands);
      }
      SPYRE_ASSIGN_OR_RETURN(Operand input, operand());
      all.push_back(input);
    } while (lexer.take(","));
  }
  instruction.operands.resize(all.size() + 1);
  all.insert(all.begin() + std::ptrdiff_t(resultOperand(instruction)), result);
  instruction.operands = std::move(all);
  return Status::success();
}

Expected<Operand> Assembler::operand() {
  Operand operand;
  if (lexer.take("#")) {
    operand.kind = Operand::Kind::Constant;
    SPYRE_ASSIGN_OR_RETURN(operand.offset, lexer.number("the constant", INT32_MIN, UINT32_MAX));
    // A negative integer is its 32 bits.
    operand.offset = uint32_t(operand.offset);
    return operand;
  }
  SPYRE_ASSIGN_OR_RETURN(std::string_view name, lexer.name("an operand"));
  // Behind the words of the language is a parenthesis, behind a buffer of that name a bracket.
  if (name == "number" && lexer.take("(")) {
    operand.kind = Operand::Kind::Number;
    SPYRE_RETURN_IF_ERROR(sum(operand));
    SPYRE_RETURN_IF_ERROR(lexer.expect(")"));
    return operand;
  }
  if (name == "splat" && lexer.take("(")) {
    SPYRE_ASSIGN_OR_RETURN(int64_t lane, lexer.number("the lane", INT8_MIN, INT8_MAX));
    operand.splatLane = int8_t(lane);
    SPYRE_RETURN_IF_ERROR(lexer.expect(")"));
    SPYRE_ASSIGN_OR_RETURN(name, lexer.name("a buffer"));
  }
  SPYRE_ASSIGN_OR_RETURN(operand.buffer, lookUp(bufferIndices, "buffer", name));
  SPYRE_RETURN_IF_ERROR(lexer.expect("["));
  SPYRE_RETURN_IF_ERROR(sum(operand));
  if (lexer.take("@")) {
    SPYRE_ASSIGN_OR_RETURN(operand.sliceTable, tableReference());
  }
  SPYRE_RETURN_IF_ERROR(lexer.expect("]"));
  return operand;
}

Status Assembler::sum(Operand &operand) {
  bool hasOffset = false;
  do {
    SPYRE_RETURN_IF_ERROR(term(operand, hasOffset));
  } while (lexer.take("+") || lexer.at("-"));
  return Status::success();
}

Status Assembler::term(Operand &operand, bool &hasOffset) {
  if (lexer.at("T")) {
    if (operand.coreTable != -1) {
      return lexer.fault("an address has at most one core table");
    }
    SPYRE_ASSIGN_OR_RETURN(operand.coreTable, tableReference());
    return Status::success();
  }
  SPYRE_ASSIGN_OR_RETURN(int64_t value, lexer.number("a term of the address"));
  size_t begin = lexer.mark();
  int64_t *target = &operand.offset;
  bool isTwice = hasOffset;
  if (lexer.take("*")) {
    if (lexer.take("i")) {
      SPYRE_ASSIGN_OR_RETURN(int64_t loop, lexer.digits("a loop i<n>", kMaxLoops - 1));
      target = &operand.loopStride[size_t(loop)];
    } else if (lexer.take("p")) {
      SPYRE_ASSIGN_OR_RETURN(int64_t level, lexer.digits("a level p<n>", kMaxLevels - 1));
      target = &operand.stride[size_t(level)];
    } else {
      return lexer.expected("a loop i<n> or a level p<n>");
    }
    isTwice = *target != 0;
  } else {
    hasOffset = true;
  }
  if (isTwice) {
    lexer.pointAt(begin);
    return lexer.fault("the address has two terms of this kind; add them");
  }
  *target = value;
  return Status::success();
}

Expected<int32_t> Assembler::tableReference() {
  if (!lexer.take("T")) {
    return lexer.expected("a table T<n>");
  }
  SPYRE_ASSIGN_OR_RETURN(int64_t index, lexer.digits("a table T<n>", INT32_MAX));
  return int32_t(index);
}

//===- Fields -------------------------------------------------------------------------------===//

Status Assembler::fields(Instruction &instruction, const OpcodeRow &row) {
  std::set<std::string_view> seen;
  while (!lexer.atEnd()) {
    SPYRE_ASSIGN_OR_RETURN(std::string_view word, lexer.name("a field or 'x'"));
    if (!seen.insert(word).second) {
      return lexer.fault("'{}' is given twice", word);
    }
    SPYRE_RETURN_IF_ERROR(word == "x" ? counts(instruction) : field(instruction, row.fields, word));
  }
  return Status::success();
}

Status Assembler::field(Instruction &instruction, const FieldNames &names, std::string_view word) {
  auto is = [&](const char *name) { return name != nullptr && word == name; };
  auto takeShort = [&](uint16_t &target) {
    SPYRE_RETURN_IF_ERROR(lexer.expect("="));
    SPYRE_ASSIGN_OR_RETURN(int64_t value, lexer.number("the value", 0, UINT16_MAX));
    target = uint16_t(value);
    return Status::success();
  };
  auto takeTable = [&](int32_t &target) -> Status {
    SPYRE_RETURN_IF_ERROR(lexer.expect("="));
    SPYRE_ASSIGN_OR_RETURN(target, tableReference());
    return Status::success();
  };
  if (is(names.lanes)) {
    return takeShort(instruction.validLanes);
  }
  if (is(names.element)) {
    return takeShort(instruction.elementBytes);
  }
  if (is(names.group)) {
    return takeShort(instruction.group);
  }
  if (names.peers && word == "peers") {
    return takeTable(instruction.peerTable);
  }
  if (names.only && word == "only") {
    return takeTable(instruction.onlyTable);
  }
  if (is(names.constant)) {
    SPYRE_RETURN_IF_ERROR(lexer.expect("="));
    SPYRE_ASSIGN_OR_RETURN(int64_t value, lexer.number("the value", 0, UINT32_MAX));
    instruction.constant = uint32_t(value);
    return Status::success();
  }
  if (is(names.parameter)) {
    SPYRE_RETURN_IF_ERROR(lexer.expect("="));
    SPYRE_ASSIGN_OR_RETURN(instruction.parameter, lexer.number("the value"));
    return Status::success();
  }
  return lexer.fault("{} has no field '{}'", opcodeName(instruction.opcode), word);
}

Status Assembler::counts(Instruction &instruction) {
  std::vector<int64_t> given;
  do {
    if (given.size() == kMaxLevels) {
      return lexer.fault("an instruction has at most {} levels", kMaxLevels);
    }
    SPYRE_ASSIGN_OR_RETURN(int64_t count, lexer.number("the count"));
    given.push_back(count);
  } while (lexer.take(","));
  std::copy_backward(given.begin(), given.end(), instruction.counts.end());
  return Status::success();
}

Expected<Program> assemble(const std::string &text) {
  constexpr size_t kMaxTextBytes = size_t(64) << 20;
  if (text.size() > kMaxTextBytes) {
    return error<5104>("the text has {} bytes, the most are {}; use loops or several programs",
                       text.size(), kMaxTextBytes);
  }
  return Assembler(text).run();
}

} // namespace spyre::program
