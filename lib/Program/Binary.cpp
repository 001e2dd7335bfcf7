//===- Binary.cpp - device programs as bytes ------------------------------------------------===//
//
// The layout is docs/program-format.md. The writer puts every number in little-endian order
// whatever the host; the reader checks each count against the bytes that are left before it
// allocates, so the memory it takes is bounded by the size of its input. A binary that is read and
// written again gives the same bytes: fields without meaning must be zero.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Program/Facts.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace spyre::program {

static constexpr std::string_view kMagic = "SPYP";
static constexpr std::string_view kTextMagic = "spyre-program";
static constexpr uint64_t kHeaderBytes = 32;
static constexpr uint64_t kTotalBytesOffset = 8;
static constexpr uint64_t kSymbolValueBytes = 8;
static constexpr uint64_t kNameHeaderBytes = 8;
static constexpr uint64_t kBufferBytes = 48;
static constexpr uint64_t kPhaseHeaderBytes = 32;
static constexpr uint64_t kConstantBytes = 4;
static constexpr uint64_t kTableHeaderBytes = 8;
static constexpr uint64_t kInstructionBytes = 88;
static constexpr uint64_t kOperandBytes = 104;
static constexpr uint8_t kLiveInFlag = 1;
static constexpr uint8_t kLiveOutFlag = 2;
static constexpr uint32_t kOverlapFlag = 1;

namespace {

class ByteWriter {
public:
  template <typename T>
  void put(T value) {
    char number[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) {
      number[i] = char(uint64_t(value) >> (8 * i));
    }
    bytes.append(number, sizeof(T));
  }
  template <typename Numbers>
  void putAll(const Numbers &numbers) {
    for (int64_t number : numbers) {
      put(number);
    }
  }
  void putText(const std::string &text) {
    bytes += text;
    bytes.resize(size_t(roundUp(int64_t(bytes.size()), 8)), '\0');
  }
  void putConstants(const std::vector<uint32_t> &values) {
    for (uint32_t value : values) {
      put(value);
    }
    bytes.resize(size_t(roundUp(int64_t(bytes.size()), 8)), '\0');
  }
  /// Overwrites the 64-bit number at \p offset.
  void patch(size_t offset, uint64_t value) {
    for (size_t i = 0; i < sizeof(value); ++i) {
      bytes[offset + i] = char(value >> (8 * i));
    }
  }
  std::string bytes;
};

/// Walks the input. Callers ask has() for a whole record first, then take() its fields.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : bytes(bytes) {}
  uint64_t left() const { return bytes.size() - position; }
  uint64_t offset() const { return position; }
  bool has(uint64_t count, uint64_t recordBytes) const { return count <= left() / recordBytes; }
  template <typename T>
  T take() {
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value |= uint64_t(uint8_t(bytes[position + i])) << (8 * i);
    }
    position += sizeof(T);
    return T(value);
  }
  template <typename Numbers>
  void takeAll(Numbers &numbers) {
    for (int64_t &number : numbers) {
      number = take<int64_t>();
    }
  }
  std::string_view takeText(uint64_t count) {
    std::string_view text = bytes.substr(position, count);
    position += count;
    return text;
  }

private:
  std::string_view bytes;
  size_t position = 0;
};

} // namespace

static bool allZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

//===- Writer -------------------------------------------------------------------------------===//

namespace {

/// The constants of a phase in the order of their first use. Number 0 is the value 0.
class ConstantTable {
public:
  explicit ConstantTable(const Phase &phase) {
    for (const Instruction &instruction : phase.instructions) {
      add(instruction.constant);
      for (const Operand &operand : instruction.operands) {
        if (operand.kind == Operand::Kind::Constant) {
          add(uint32_t(operand.offset));
        }
      }
    }
  }
  uint32_t numberOf(uint32_t bits) const { return bits == 0 ? 0 : numbers.at(bits); }

  std::vector<uint32_t> values;

private:
  void add(uint32_t bits) {
    if (bits != 0 && numbers.try_emplace(bits, uint32_t(values.size() + 1)).second) {
      values.push_back(bits);
    }
  }

  std::unordered_map<uint32_t, uint32_t> numbers;
};

} // namespace

static void putOperand(ByteWriter &out, const Operand &operand, const ConstantTable &constants) {
  const bool isConstant = operand.kind == Operand::Kind::Constant;
  out.put(uint8_t(operand.kind));
  out.put(operand.splatLane);
  out.put(uint16_t(0));
  out.put(operand.buffer);
  out.put(operand.coreTable);
  out.put(operand.sliceTable);
  out.put(isConstant ? int64_t(constants.numberOf(uint32_t(operand.offset))) : operand.offset);
  out.putAll(operand.loopStride);
  out.putAll(operand.stride);
}

static void putInstruction(ByteWriter &out, const Instruction &instruction,
                           const ConstantTable &constants) {
  size_t operands = std::min(instruction.operands.size(), kMaxOperands);
  out.put(uint8_t(instruction.opcode));
  out.put(uint8_t(instruction.function));
  out.put(uint8_t(instruction.format));
  out.put(uint8_t(instruction.toFormat));
  out.put(uint8_t(instruction.unit));
  out.put(instruction.token);
  out.put(uint8_t(operands));
  out.put(uint8_t(0));
  out.put(instruction.validLanes);
  out.put(instruction.elementBytes);
  out.put(instruction.group);
  out.put(uint16_t(0));
  out.put(constants.numberOf(instruction.constant));
  out.put(instruction.peerTable);
  out.put(instruction.onlyTable);
  out.put(uint32_t(0));
  out.put(instruction.parameter);
  out.putAll(instruction.counts);
  for (size_t i = 0; i < operands; ++i) {
    putOperand(out, instruction.operands[i], constants);
  }
}

static void putPhase(ByteWriter &out, const Phase &phase) {
  out.put(uint32_t(phase.name.size()));
  out.put(uint32_t(phase.coreTables.size()));
  out.put(uint32_t(phase.instructions.size()));
  out.put(phase.overlap ? kOverlapFlag : 0u);
  out.put(phase.cores);
  const ConstantTable constants(phase);
  out.put(uint32_t(constants.values.size()));
  out.put(uint32_t(0));
  out.putText(phase.name);
  out.putConstants(constants.values);
  for (const std::vector<int64_t> &table : phase.coreTables) {
    out.put(uint64_t(table.size()));
    out.putAll(table);
  }
  for (const Instruction &instruction : phase.instructions) {
    putInstruction(out, instruction, constants);
  }
}

static void putBuffer(ByteWriter &out, const Buffer &buffer) {
  out.put(uint32_t(buffer.name.size()));
  out.put(uint32_t(buffer.coreOffset.size()));
  out.put(uint8_t(buffer.space));
  out.put(uint8_t((buffer.liveIn ? kLiveInFlag : 0) | (buffer.liveOut ? kLiveOutFlag : 0)));
  out.put(uint16_t(0));
  out.put(buffer.symbol);
  out.put(buffer.base);
  out.put(buffer.bytes);
  out.put(buffer.firstPhase);
  out.put(buffer.lastPhase);
  out.put(buffer.inPlaceOf);
  out.put(uint32_t(0));
  out.putText(buffer.name);
  out.putAll(buffer.coreOffset);
}

uint64_t symbolValueOffset(size_t index) { return kHeaderBytes + kSymbolValueBytes * index; }

/// At least the bytes of the program, so that they are not copied while they grow, and hardly more:
/// memory that is touched for the first time is what a large program pays for.
static size_t roomFor(const Program &program) {
  size_t bytes = kHeaderBytes + 4096;
  for (const Symbol &symbol : program.symbols) {
    bytes += kSymbolValueBytes + kNameHeaderBytes + symbol.name.size() + 8;
  }
  for (const Buffer &buffer : program.buffers) {
    bytes += kBufferBytes + buffer.name.size() + 8 + buffer.coreOffset.size() * sizeof(int64_t);
  }
  for (const Phase &phase : program.phases) {
    bytes += kPhaseHeaderBytes + phase.name.size() + 8;
    for (const std::vector<int64_t> &table : phase.coreTables) {
      bytes += kTableHeaderBytes + table.size() * sizeof(int64_t);
    }
    for (const Instruction &instruction : phase.instructions) {
      bytes += kInstructionBytes + instruction.operands.size() * kOperandBytes;
    }
  }
  return bytes;
}

std::string writeProgram(const Program &program) {
  ByteWriter out;
  out.bytes.reserve(roomFor(program));
  out.bytes += kMagic;
  out.put(kFormatVersion);
  out.put(uint64_t(0));
  out.put(uint32_t(program.phases.size()));
  out.put(uint32_t(program.symbols.size()));
  out.put(uint32_t(program.buffers.size()));
  out.put(uint32_t(0));
  // The values come first and together: whoever launches the program patches them without a parser.
  for (const Symbol &symbol : program.symbols) {
    out.put(symbol.value);
  }
  for (const Symbol &symbol : program.symbols) {
    out.put(uint64_t(symbol.name.size()));
    out.putText(symbol.name);
  }
  for (const Buffer &buffer : program.buffers) {
    putBuffer(out, buffer);
  }
  for (const Phase &phase : program.phases) {
    putPhase(out, phase);
  }
  out.patch(kTotalBytesOffset, out.bytes.size());
  return std::move(out.bytes);
}

//===- Reader -------------------------------------------------------------------------------===//

static Status truncated(const ByteReader &in, const char *what) {
  return error<5102>("the program ends inside {} at byte {} ({} bytes left); was the file cut?",
                     what, in.offset(), in.left());
}

static Status notZero(const ByteReader &in, const char *what) {
  return error<5102>(
      "{} before byte {} must be zero; the program is damaged or newer than this reader", what,
      in.offset());
}

static Expected<Operand> takeOperand(ByteReader &in) {
  Operand operand;
  operand.kind = Operand::Kind(in.take<uint8_t>());
  operand.splatLane = in.take<int8_t>();
  if (in.take<uint16_t>() != 0) {
    return notZero(in, "the reserved field of an operand");
  }
  operand.buffer = in.take<int32_t>();
  operand.coreTable = in.take<int32_t>();
  operand.sliceTable = in.take<int32_t>();
  operand.offset = in.take<int64_t>();
  in.takeAll(operand.loopStride);
  in.takeAll(operand.stride);
  return operand;
}

/// The part of an instruction before its operands. The caller has checked its size.
static Expected<Instruction> takeInstructionHead(ByteReader &in, size_t &operandCount) {
  Instruction instruction;
  instruction.opcode = Opcode(in.take<uint8_t>());
  instruction.function = Function(in.take<uint8_t>());
  instruction.format = numerics::DataFormat(in.take<uint8_t>());
  instruction.toFormat = numerics::DataFormat(in.take<uint8_t>());
  instruction.unit = Unit(in.take<uint8_t>());
  instruction.token = in.take<uint8_t>();
  operandCount = in.take<uint8_t>();
  uint64_t reserved = in.take<uint8_t>();
  instruction.validLanes = in.take<uint16_t>();
  instruction.elementBytes = in.take<uint16_t>();
  instruction.group = in.take<uint16_t>();
  reserved |= in.take<uint16_t>();
  instruction.constant = in.take<uint32_t>();
  instruction.peerTable = in.take<int32_t>();
  instruction.onlyTable = in.take<int32_t>();
  reserved |= in.take<uint32_t>();
  instruction.parameter = in.take<int64_t>();
  in.takeAll(instruction.counts);
  if (reserved != 0) {
    return notZero(in, "a reserved field of the instruction");
  }
  return instruction;
}

static Expected<Instruction> takeInstruction(ByteReader &in) {
  if (!in.has(1, kInstructionBytes)) {
    return truncated(in, "an instruction");
  }
  size_t operandCount = 0;
  SPYRE_ASSIGN_OR_RETURN(Instruction instruction, takeInstructionHead(in, operandCount));
  if (operandCount > kMaxOperands) {
    return error<5102>("the instruction before byte {} has {} operands, the most are {}",
                       in.offset(), operandCount, kMaxOperands);
  }
  if (!in.has(operandCount, kOperandBytes)) {
    return truncated(in, "the operands of an instruction");
  }
  instruction.operands.resize(operandCount);
  for (Operand &operand : instruction.operands) {
    SPYRE_ASSIGN_OR_RETURN(operand, takeOperand(in));
  }
  return instruction;
}

static Expected<std::vector<int64_t>> takeNumbers(ByteReader &in, uint64_t count,
                                                  const char *what) {
  if (!in.has(count, sizeof(int64_t))) {
    return truncated(in, what);
  }
  std::vector<int64_t> numbers(count);
  in.takeAll(numbers);
  return numbers;
}

static Expected<std::string> takeName(ByteReader &in, uint64_t nameBytes) {
  // Compared before rounding: a size near 2^64 must not wrap to a small one.
  if (!in.has(nameBytes, 1) || !in.has(uint64_t(roundUp(int64_t(nameBytes), 8)), 1)) {
    return truncated(in, "a name");
  }
  std::string_view padded = in.takeText(uint64_t(roundUp(int64_t(nameBytes), 8)));
  if (!allZero(padded.substr(nameBytes))) {
    return notZero(in, "the padding of a name");
  }
  return std::string(padded.substr(0, nameBytes));
}

static Expected<std::vector<uint32_t>> takeConstants(ByteReader &in, uint32_t count) {
  const uint64_t padding = count % 2;
  if (count > kMaxConstants) {
    return error<5102>("a phase before byte {} has {} constants, the most are {}", in.offset(),
                       count, kMaxConstants);
  }
  if (!in.has(count + padding, kConstantBytes)) {
    return truncated(in, "the constants of a phase");
  }
  std::vector<uint32_t> constants(count);
  for (uint32_t &constant : constants) {
    constant = in.take<uint32_t>();
  }
  if (padding != 0 && in.take<uint32_t>() != 0) {
    return notZero(in, "the padding of the constants");
  }
  return constants;
}

/// Puts values in the places of their numbers.
static Status resolveConstants(const ByteReader &in, Phase &phase,
                               const std::vector<uint32_t> &constants) {
  const auto value = [&](uint64_t number) -> Expected<uint32_t> {
    if (number > constants.size()) {
      return error<5102>("constant {} in the phase before byte {}, which has {}", number,
                         in.offset(), constants.size());
    }
    return number == 0 ? 0 : constants[number - 1];
  };
  for (Instruction &instruction : phase.instructions) {
    SPYRE_ASSIGN_OR_RETURN(instruction.constant, value(instruction.constant));
    for (Operand &operand : instruction.operands) {
      if (operand.kind == Operand::Kind::Constant) {
        SPYRE_ASSIGN_OR_RETURN(operand.offset, value(uint64_t(operand.offset)));
      }
    }
  }
  if (ConstantTable(phase).values != constants) {
    return error<5102>("the {} constants of the phase before byte {} are not each used, different "
                       "and in the order of their first use",
                       constants.size(), in.offset());
  }
  return Status::success();
}

static Expected<Phase> takePhase(ByteReader &in) {
  if (!in.has(1, kPhaseHeaderBytes)) {
    return truncated(in, "a phase");
  }
  Phase phase;
  uint32_t nameBytes = in.take<uint32_t>();
  uint32_t tables = in.take<uint32_t>();
  uint32_t instructions = in.take<uint32_t>();
  uint32_t flags = in.take<uint32_t>();
  if ((flags & ~kOverlapFlag) != 0) {
    return notZero(in, "unknown flags of a phase");
  }
  phase.overlap = (flags & kOverlapFlag) != 0;
  phase.cores = in.take<int64_t>();
  const uint32_t constantCount = in.take<uint32_t>();
  if (in.take<uint32_t>() != 0) {
    return notZero(in, "the reserved field of a phase");
  }
  SPYRE_ASSIGN_OR_RETURN(phase.name, takeName(in, nameBytes));
  SPYRE_ASSIGN_OR_RETURN(std::vector<uint32_t> constants, takeConstants(in, constantCount));
  if (!in.has(tables, kTableHeaderBytes)) {
    return truncated(in, "the core tables of a phase");
  }
  phase.coreTables.reserve(tables);
  for (uint32_t i = 0; i < tables; ++i) {
    if (!in.has(1, kTableHeaderBytes)) {
      return truncated(in, "a core table");
    }
    uint64_t entries = in.take<uint64_t>();
    SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> table, takeNumbers(in, entries, "a core table"));
    phase.coreTables.push_back(std::move(table));
  }
  if (!in.has(instructions, kInstructionBytes)) {
    return truncated(in, "the instructions of a phase");
  }
  if (instructions > kMaxInstructions) {
    return error<5102>("a phase before byte {} has {} instructions, the most are {}", in.offset(),
                       instructions, kMaxInstructions);
  }
  phase.instructions.reserve(instructions);
  for (uint32_t i = 0; i < instructions; ++i) {
    SPYRE_ASSIGN_OR_RETURN(Instruction instruction, takeInstruction(in));
    phase.instructions.push_back(std::move(instruction));
  }
  SPYRE_RETURN_IF_ERROR(resolveConstants(in, phase, constants));
  return phase;
}

static Expected<Buffer> takeBuffer(ByteReader &in) {
  if (!in.has(1, kBufferBytes)) {
    return truncated(in, "a buffer");
  }
  Buffer buffer;
  uint32_t nameBytes = in.take<uint32_t>();
  uint32_t coreOffsets = in.take<uint32_t>();
  buffer.space = Space(in.take<uint8_t>());
  uint8_t flags = in.take<uint8_t>();
  uint16_t reserved = in.take<uint16_t>();
  if ((flags & ~(kLiveInFlag | kLiveOutFlag)) != 0 || reserved != 0) {
    return notZero(in, "unknown flags of a buffer");
  }
  buffer.liveIn = (flags & kLiveInFlag) != 0;
  buffer.liveOut = (flags & kLiveOutFlag) != 0;
  buffer.symbol = in.take<int32_t>();
  buffer.base = in.take<int64_t>();
  buffer.bytes = in.take<int64_t>();
  buffer.firstPhase = in.take<int32_t>();
  buffer.lastPhase = in.take<int32_t>();
  buffer.inPlaceOf = in.take<int32_t>();
  if (in.take<uint32_t>() != 0) {
    return notZero(in, "the reserved field of a buffer");
  }
  SPYRE_ASSIGN_OR_RETURN(buffer.name, takeName(in, nameBytes));
  SPYRE_ASSIGN_OR_RETURN(buffer.coreOffset,
                         takeNumbers(in, coreOffsets, "the core offsets of a buffer"));
  return buffer;
}

static Expected<std::vector<Symbol>> takeSymbols(ByteReader &in, uint32_t count) {
  if (!in.has(count, kSymbolValueBytes + kNameHeaderBytes)) {
    return truncated(in, "the symbols");
  }
  std::vector<Symbol> symbols(count);
  for (Symbol &symbol : symbols) {
    symbol.value = in.take<int64_t>();
  }
  for (Symbol &symbol : symbols) {
    if (!in.has(1, kNameHeaderBytes)) {
      return truncated(in, "the name of a symbol");
    }
    uint64_t nameBytes = in.take<uint64_t>();
    SPYRE_ASSIGN_OR_RETURN(symbol.name, takeName(in, nameBytes));
  }
  return symbols;
}

namespace {

struct Header {
  uint64_t totalBytes = 0;
  uint32_t phases = 0, symbols = 0, buffers = 0;
};

} // namespace

static Expected<Header> takeHeader(std::string_view all) {
  if (!all.starts_with(kMagic)) {
    return error<5101>(
        "not a device program: {} bytes that do not start with \"{}\"{}", all.size(), kMagic,
        all.starts_with(kTextMagic) ? "; this is program text, assemble it first" : "");
  }
  ByteReader in(all);
  in.takeText(kMagic.size());
  if (!in.has(1, sizeof(uint32_t))) {
    return truncated(in, "the header");
  }
  if (uint32_t version = in.take<uint32_t>(); version != kFormatVersion) {
    return error<5101>(
        "program version {} cannot be read, this reader knows version {}; compile the "
        "model again",
        version, kFormatVersion);
  }
  if (all.size() < kHeaderBytes) {
    return truncated(in, "the header");
  }
  Header header;
  header.totalBytes = in.take<uint64_t>();
  header.phases = in.take<uint32_t>();
  header.symbols = in.take<uint32_t>();
  header.buffers = in.take<uint32_t>();
  if (in.take<uint32_t>() != 0) {
    return notZero(in, "the reserved field of the header");
  }
  if (header.totalBytes < kHeaderBytes || header.totalBytes > all.size()) {
    return error<5102>("the program says it has {} bytes, but {} are there; was the file cut?",
                       header.totalBytes, all.size());
  }
  if (!allZero(all.substr(header.totalBytes))) {
    return error<5102>("the {} bytes behind the program are not zero",
                       all.size() - header.totalBytes);
  }
  return header;
}

uint32_t symbolCount(std::string_view bytes) {
  const Expected<Header> header = takeHeader(bytes);
  return header.ok() ? header->symbols : 0;
}

Expected<Program> readProgram(const std::string &bytes) {
  SPYRE_ASSIGN_OR_RETURN(Header header, takeHeader(bytes));
  ByteReader in(std::string_view(bytes).substr(0, header.totalBytes));
  in.takeText(kHeaderBytes);
  Program program;
  SPYRE_ASSIGN_OR_RETURN(program.symbols, takeSymbols(in, header.symbols));
  if (!in.has(header.buffers, kBufferBytes)) {
    return truncated(in, "the list of buffers");
  }
  program.buffers.reserve(header.buffers);
  for (uint32_t i = 0; i < header.buffers; ++i) {
    SPYRE_ASSIGN_OR_RETURN(Buffer buffer, takeBuffer(in));
    program.buffers.push_back(std::move(buffer));
  }
  if (!in.has(header.phases, kPhaseHeaderBytes)) {
    return truncated(in, "the list of phases");
  }
  program.phases.reserve(header.phases);
  for (uint32_t i = 0; i < header.phases; ++i) {
    SPYRE_ASSIGN_OR_RETURN(Phase phase, takePhase(in));
    program.phases.push_back(std::move(phase));
  }
  if (in.left() != 0) {
    return error<5102>("{} bytes of the program belong to no phase", in.left());
  }
  return program;
}

} // namespace spyre::program
