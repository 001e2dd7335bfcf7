//===- Binary.cpp - device programs as bytes ------------------------------------------------===//
//
// The layout is docs/program-format.md. The writer puts every number in little-endian order
// whatever the host; the reader checks each count against the bytes that are left before it
// allocates, so the memory it takes is bounded by the size of its input. A binary that is read and
// written again gives the same bytes: fields without meaning must be zero.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Program/Program.h"

#include <algorithm>
#include <string_view>

namespace spyre::program {

static constexpr std::string_view kMagic = "SPYP";
static constexpr uint64_t kHeaderBytes = 24;
static constexpr uint64_t kTotalBytesOffset = 8;
static constexpr uint64_t kPhaseHeaderBytes = 24;
static constexpr uint64_t kTableHeaderBytes = 8;
static constexpr uint64_t kInstructionBytes = 56;
static constexpr uint64_t kOperandBytes = 80;
static constexpr uint32_t kSplatFlag = 1;

namespace {

class ByteWriter {
public:
  template <typename T>
  void put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes.push_back(char(uint64_t(value) >> (8 * i)));
    }
  }
  void putText(const std::string &text) {
    bytes += text;
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

static void putOperand(ByteWriter &out, const Operand &operand) {
  out.put(operand.base);
  out.put(operand.coreTable);
  out.put(operand.splat ? kSplatFlag : 0u);
  for (int64_t stride : operand.loopStride) {
    out.put(stride);
  }
  for (int64_t stride : operand.stride) {
    out.put(stride);
  }
}

static void putInstruction(ByteWriter &out, const Instruction &instruction) {
  size_t operands = std::min<size_t>(instruction.operandCount, kMaxOperands);
  out.put(uint8_t(instruction.opcode));
  out.put(uint8_t(instruction.function));
  out.put(uint8_t(instruction.format));
  out.put(uint8_t(operands));
  out.put(instruction.validLanes);
  out.put(instruction.elementBytes);
  out.put(instruction.immediate);
  out.put(uint32_t(0));
  out.put(instruction.parameter);
  for (int64_t count : instruction.counts) {
    out.put(count);
  }
  for (size_t i = 0; i < operands; ++i) {
    putOperand(out, instruction.operands[i]);
  }
}

static void putPhase(ByteWriter &out, const Phase &phase) {
  out.put(uint32_t(phase.name.size()));
  out.put(uint32_t(phase.coreTables.size()));
  out.put(uint32_t(phase.instructions.size()));
  out.put(uint32_t(0));
  out.put(phase.cores);
  out.putText(phase.name);
  for (const std::vector<int64_t> &table : phase.coreTables) {
    out.put(uint64_t(table.size()));
    for (int64_t offset : table) {
      out.put(offset);
    }
  }
  for (const Instruction &instruction : phase.instructions) {
    putInstruction(out, instruction);
  }
}

std::string writeProgram(const Program &program) {
  ByteWriter out;
  out.bytes += kMagic;
  out.put(kFormatVersion);
  out.put(uint64_t(0));
  out.put(uint32_t(program.phases.size()));
  out.put(uint32_t(0));
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
  operand.base = in.take<int64_t>();
  operand.coreTable = in.take<int32_t>();
  uint32_t flags = in.take<uint32_t>();
  if ((flags & ~kSplatFlag) != 0) {
    return notZero(in, "unknown operand flags");
  }
  operand.splat = (flags & kSplatFlag) != 0;
  for (int64_t &stride : operand.loopStride) {
    stride = in.take<int64_t>();
  }
  for (int64_t &stride : operand.stride) {
    stride = in.take<int64_t>();
  }
  return operand;
}

static Expected<Instruction> takeInstruction(ByteReader &in) {
  if (!in.has(1, kInstructionBytes)) {
    return truncated(in, "an instruction");
  }
  Instruction instruction;
  instruction.opcode = Opcode(in.take<uint8_t>());
  instruction.function = Function(in.take<uint8_t>());
  instruction.format = numerics::DataFormat(in.take<uint8_t>());
  instruction.operandCount = in.take<uint8_t>();
  instruction.validLanes = in.take<uint16_t>();
  instruction.elementBytes = in.take<uint16_t>();
  instruction.immediate = in.take<uint32_t>();
  if (in.take<uint32_t>() != 0) {
    return notZero(in, "the reserved field of an instruction");
  }
  instruction.parameter = in.take<int64_t>();
  for (int64_t &count : instruction.counts) {
    count = in.take<int64_t>();
  }
  if (instruction.operandCount > kMaxOperands) {
    return error<5102>("the instruction before byte {} has {} operands, the most are {}",
                       in.offset(), instruction.operandCount, kMaxOperands);
  }
  if (!in.has(instruction.operandCount, kOperandBytes)) {
    return truncated(in, "the operands of an instruction");
  }
  for (size_t i = 0; i < instruction.operandCount; ++i) {
    SPYRE_ASSIGN_OR_RETURN(instruction.operands[i], takeOperand(in));
  }
  return instruction;
}

static Expected<std::vector<int64_t>> takeTable(ByteReader &in) {
  if (!in.has(1, kTableHeaderBytes)) {
    return truncated(in, "a core table");
  }
  uint64_t entries = in.take<uint64_t>();
  if (!in.has(entries, sizeof(int64_t))) {
    return truncated(in, "a core table");
  }
  std::vector<int64_t> table(entries);
  for (int64_t &offset : table) {
    offset = in.take<int64_t>();
  }
  return table;
}

static Expected<std::string> takeName(ByteReader &in, uint32_t nameBytes) {
  uint64_t paddedBytes = uint64_t(roundUp(nameBytes, 8));
  if (!in.has(paddedBytes, 1)) {
    return truncated(in, "the name of a phase");
  }
  std::string_view padded = in.takeText(paddedBytes);
  if (!allZero(padded.substr(nameBytes))) {
    return notZero(in, "the padding of a phase name");
  }
  return std::string(padded.substr(0, nameBytes));
}

static Expected<Phase> takePhase(ByteReader &in) {
  if (!in.has(1, kPhaseHeaderBytes)) {
    return truncated(in, "a phase");
  }
  Phase phase;
  uint32_t nameBytes = in.take<uint32_t>();
  uint32_t tables = in.take<uint32_t>();
  uint32_t instructions = in.take<uint32_t>();
  if (in.take<uint32_t>() != 0) {
    return notZero(in, "the reserved field of a phase");
  }
  phase.cores = in.take<int64_t>();
  SPYRE_ASSIGN_OR_RETURN(phase.name, takeName(in, nameBytes));
  if (!in.has(tables, kTableHeaderBytes)) {
    return truncated(in, "the core tables of a phase");
  }
  phase.coreTables.reserve(tables);
  for (uint32_t i = 0; i < tables; ++i) {
    SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> table, takeTable(in));
    phase.coreTables.push_back(std::move(table));
  }
  if (!in.has(instructions, kInstructionBytes)) {
    return truncated(in, "the instructions of a phase");
  }
  phase.instructions.reserve(instructions);
  for (uint32_t i = 0; i < instructions; ++i) {
    SPYRE_ASSIGN_OR_RETURN(Instruction instruction, takeInstruction(in));
    phase.instructions.push_back(instruction);
  }
  return phase;
}

Expected<Program> readProgram(const std::string &bytes) {
  std::string_view all = bytes;
  if (!all.starts_with(kMagic)) {
    return error<5101>("not a device program: {} bytes that do not start with \"{}\"", bytes.size(),
                       kMagic);
  }
  ByteReader header(all.substr(kMagic.size()));
  if (all.size() < kHeaderBytes) {
    return truncated(header, "the header");
  }
  if (uint32_t version = header.take<uint32_t>(); version != kFormatVersion) {
    return error<5101>(
        "program version {} cannot be read, this reader knows version {}; compile the "
        "model again",
        version, kFormatVersion);
  }
  uint64_t totalBytes = header.take<uint64_t>();
  uint32_t phases = header.take<uint32_t>();
  if (header.take<uint32_t>() != 0) {
    return notZero(header, "the reserved field of the header");
  }
  if (totalBytes < kHeaderBytes || totalBytes > all.size()) {
    return error<5102>("the program says it has {} bytes, but {} are there; was the file cut?",
                       totalBytes, all.size());
  }
  if (!allZero(all.substr(totalBytes))) {
    return error<5102>("the {} bytes behind the program are not zero", all.size() - totalBytes);
  }
  ByteReader in(all.substr(0, totalBytes));
  in.takeText(kHeaderBytes);
  if (!in.has(phases, kPhaseHeaderBytes)) {
    return truncated(in, "the list of phases");
  }
  Program program;
  program.phases.reserve(phases);
  for (uint32_t i = 0; i < phases; ++i) {
    SPYRE_ASSIGN_OR_RETURN(Phase phase, takePhase(in));
    program.phases.push_back(std::move(phase));
  }
  if (in.left() != 0) {
    return error<5102>("{} bytes of the program belong to no phase", in.left());
  }
  return program;
}

} // namespace spyre::program
