//===- Disassembler.cpp - a device program as text ------------------------------------------===//
//
//   spyre-program 2
//   buffer x ddr 0:0x0 bytes 65536 phases 0..0
//   buffer x.tile lx 0x199a00 bytes 8192 phases 0..0
//   phase 0 "0_add" cores 2
//     table T0: 0 8192
//        0  loop 4
//        1    load SEN169_FP16 x.tile[128*p5] <- x[T0 + 2048*i0 + 128*p5] x 16
//
// i<n> is the index of the n-th open loop, p<n> the index of level n of the instruction's own nest;
// "x 2,16" are the counts of the last levels. Any program prints, verified or not; what the
// verifier accepts, assemble() reads back. The whole language: docs/program-format.md.
//===--------------------------------------------------------------------------------------------===//
#include "Tables.h"

#include <algorithm>

namespace spyre::program {

static uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - uint64_t(value) : uint64_t(value);
}

static std::string hex(int64_t value) {
  return fmt::format("{}{:#x}", value < 0 ? "-" : "", magnitude(value));
}

/// Names come from files: control characters must not reach a terminal.
static std::string quoted(const std::string &name) {
  std::string text = "\"";
  for (char c : name) {
    bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    text += plain ? std::string(1, c) : fmt::format("\\x{:02x}", uint8_t(c));
  }
  return text + "\"";
}

static std::string nameText(const std::string &name) { return isName(name) ? name : quoted(name); }

/// The name of entry \p index, or "buffer(7)" when there is none.
template <typename Entries>
static std::string reference(const Entries &entries, int32_t index, const char *what) {
  return index >= 0 && size_t(index) < entries.size() ? nameText(entries[size_t(index)].name)
                                                      : fmt::format("{}({})", what, index);
}

static std::string formatText(numerics::DataFormat format) {
  return uint8_t(format) <= kLastFormat ? numerics::formatName(format)
                                        : fmt::format("format({})", uint8_t(format));
}

//===- Operands -----------------------------------------------------------------------------===//

namespace {

/// A sum of terms; a negative term after the first is a subtraction.
class Sum {
public:
  void add(int64_t factor, const std::string &variable) {
    if (factor != 0) {
      bool isFirst = text.empty();
      text += factor < 0 ? (isFirst ? "-" : " - ") : (isFirst ? "" : " + ");
      text += fmt::format("{}{}", magnitude(factor), variable);
    }
  }
  void addTable(int32_t table) {
    if (table != -1) {
      text += fmt::format("{}T{}", text.empty() ? "" : " + ", table);
    }
  }
  std::string result() const { return text.empty() ? "0" : text; }

private:
  std::string text;
};

} // namespace

static std::string addressSum(const Operand &operand) {
  Sum sum;
  sum.add(operand.offset, "");
  sum.addTable(operand.coreTable);
  for (size_t i = 0; i < kMaxLoops; ++i) {
    sum.add(operand.loopStride[i], fmt::format("*i{}", i));
  }
  for (size_t i = 0; i < kMaxLevels; ++i) {
    sum.add(operand.stride[i], fmt::format("*p{}", i));
  }
  return sum.result();
}

static std::string operandText(const Program &program, const Operand &operand) {
  switch (operand.kind) {
  case Operand::Kind::Memory: {
    std::string splat = operand.splatLane == -1 ? "" : fmt::format("splat({}) ", operand.splatLane);
    std::string slice = operand.sliceTable == -1 ? "" : fmt::format(" @T{}", operand.sliceTable);
    return fmt::format("{}{}[{}{}]", splat, reference(program.buffers, operand.buffer, "buffer"),
                       addressSum(operand), slice);
  }
  case Operand::Kind::Constant:
    return fmt::format("#{:#x}", operand.offset);
  case Operand::Kind::Number:
    return fmt::format("number({})", addressSum(operand));
  }
  return fmt::format("kind({})", uint8_t(operand.kind));
}

/// The result comes first, as in an assignment.
static std::string operandsText(const Program &program, const Instruction &instruction) {
  size_t count = instruction.operands.size();
  if (count == 0) {
    return "";
  }
  size_t result = std::min(resultOperand(instruction), count - 1);
  std::string text = " " + operandText(program, instruction.operands[result]);
  const char *before = " <- ";
  for (size_t i = 0; i < count; ++i) {
    if (i != result) {
      text += before + operandText(program, instruction.operands[i]);
      before = ", ";
    }
  }
  return text;
}

//===- Instructions -------------------------------------------------------------------------===//

static std::string mnemonic(const Instruction &instruction) {
  std::string text = opcodeName(instruction.opcode);
  if (findOpcode(instruction.opcode) == nullptr) {
    text += fmt::format("({})", uint8_t(instruction.opcode));
  }
  if (instruction.function != Function::None) {
    text += fmt::format(".{}", functionName(instruction.function));
  }
  return text;
}

/// Fields that only some instructions have.
static std::string fieldsText(const Instruction &instruction, const FieldNames &names) {
  std::string text;
  auto add = [&](const char *name, int64_t value) {
    text += name == nullptr ? "" : fmt::format(" {}={}", name, value);
  };
  add(names.lanes, instruction.validLanes);
  add(names.element, instruction.elementBytes);
  add(names.group, instruction.group);
  if (names.constant != nullptr) {
    bool isBound = std::string_view(names.constant) == "bound";
    text += isBound ? fmt::format(" {}={}", names.constant, instruction.constant)
                    : fmt::format(" {}={:#010x}", names.constant, instruction.constant);
  }
  add(names.parameter, instruction.parameter);
  if (instruction.peerTable != -1) {
    text += fmt::format(" peers=T{}", instruction.peerTable);
  }
  if (instruction.onlyTable != -1) {
    text += fmt::format(" only=T{}", instruction.onlyTable);
  }
  return text;
}

static std::string countsText(const Instruction &instruction) {
  auto first = std::find_if(instruction.counts.begin(), instruction.counts.end(),
                            [](int64_t count) { return count != 1; });
  return first == instruction.counts.end()
             ? ""
             : fmt::format(" x {}", fmt::join(first, instruction.counts.end(), ","));
}

static std::string instructionText(const Program &program, const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Loop:
    return fmt::format("loop {}", instruction.parameter);
  case Opcode::EndLoop:
  case Opcode::Barrier:
    return opcodeName(instruction.opcode);
  case Opcode::Signal:
  case Opcode::Wait:
    return fmt::format("{} {} {}", opcodeName(instruction.opcode), unitName(instruction.unit),
                       instruction.token);
  default:
    break;
  }
  const OpcodeRow *row = findOpcode(instruction.opcode);
  std::string text = fmt::format("{} {}", mnemonic(instruction), formatText(instruction.format));
  if (instruction.opcode == Opcode::Convert) {
    text += " to " + formatText(instruction.toFormat);
  }
  return text + operandsText(program, instruction) +
         (row == nullptr ? "" : fieldsText(instruction, row->fields)) + countsText(instruction);
}

//===- Program ------------------------------------------------------------------------------===//

static std::string numbersText(const std::vector<int64_t> &numbers) {
  return numbers.empty() ? "" : fmt::format(" {}", fmt::join(numbers, " "));
}

static std::string bufferText(const Program &program, const Buffer &buffer) {
  std::string space = fmt::format("space({})", uint8_t(buffer.space));
  std::string base = hex(buffer.base);
  if (buffer.space == Space::Lx) {
    space = "lx";
  } else if (buffer.space == Space::Ddr) {
    space = "ddr";
    if (buffer.base >= 0) {
      base = fmt::format("{}:{}", buffer.base >> kSegmentShift,
                         hex(buffer.base & ((int64_t(1) << kSegmentShift) - 1)));
    }
  }
  std::string text =
      fmt::format("buffer {} {} {} bytes {}", nameText(buffer.name), space, base, buffer.bytes);
  if (buffer.symbol != -1) {
    text += " symbol " + reference(program.symbols, buffer.symbol, "symbol");
  }
  text += fmt::format(" phases {}..{}", buffer.firstPhase, buffer.lastPhase);
  text += buffer.liveIn ? " live-in" : "";
  text += buffer.liveOut ? " live-out" : "";
  if (buffer.inPlaceOf != -1) {
    text += " in-place-of " + reference(program.buffers, buffer.inPlaceOf, "buffer");
  }
  if (!buffer.coreOffset.empty()) {
    text += " offsets" + numbersText(buffer.coreOffset);
  }
  return text + "\n";
}

static void appendPhase(std::string &out, const Program &program, size_t index) {
  const Phase &phase = program.phases[index];
  out += fmt::format("phase {} {} cores {}{}\n", index, quoted(phase.name), phase.cores,
                     phase.overlap ? " overlap" : "");
  for (size_t i = 0; i < phase.coreTables.size(); ++i) {
    out += fmt::format("  table T{}:{}\n", i, numbersText(phase.coreTables[i]));
  }
  size_t depth = 0;
  for (size_t i = 0; i < phase.instructions.size(); ++i) {
    const Instruction &instruction = phase.instructions[i];
    if (instruction.opcode == Opcode::EndLoop && depth > 0) {
      --depth;
    }
    // Indentation stops growing with the deepest legal nest: an unverified program may open many.
    std::string indent(2 * std::min(depth, kMaxLoops), ' ');
    out += fmt::format("  {:>4}  {}{}\n", i, indent, instructionText(program, instruction));
    if (instruction.opcode == Opcode::Loop) {
      ++depth;
    }
  }
}

std::string disassemble(const Program &program) {
  std::string out = fmt::format("spyre-program {}\n", kTextVersion);
  for (const Symbol &symbol : program.symbols) {
    out += fmt::format("symbol {}", nameText(symbol.name));
    out += symbol.value == kUnsetSymbol ? "\n" : fmt::format(" = {}\n", hex(symbol.value));
  }
  for (const Buffer &buffer : program.buffers) {
    out += bufferText(program, buffer);
  }
  for (size_t i = 0; i < program.phases.size(); ++i) {
    appendPhase(out, program, i);
  }
  return out;
}

} // namespace spyre::program
