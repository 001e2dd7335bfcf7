//===- Disassembler.cpp - a device program as text for people -------------------------------===//
//
//   phase 0 "0_add" cores 2
//     table T0: 0 8192
//      0  loop 4
//      1    load SEN169_FP16 lx[0x1000 + 128*p3] <- ddr[0:0x0 + T0 + 2048*i0 + 128*p3] x 16
//
// i<n> is the index of the n-th open loop, p<n> the index of level n of the instruction's own nest;
// "x 2,16" lists the counts of the levels above 1. Any program prints, verified or not.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Program/Program.h"

#include <algorithm>

namespace spyre::program {

static constexpr int kSegmentShift = 34;

static std::string hex(int64_t value) {
  return value < 0 ? fmt::format("-{:#x}", 0 - uint64_t(value)) : fmt::format("{:#x}", value);
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

static std::string address(const Instruction &instruction, const Operand &operand, bool inDdr) {
  std::string text;
  if (inDdr && operand.base >= 0) {
    text = fmt::format("ddr[{}:{}", operand.base >> kSegmentShift,
                       hex(operand.base & ((int64_t(1) << kSegmentShift) - 1)));
  } else {
    text = fmt::format("{}[{}", inDdr ? "ddr" : "lx", hex(operand.base));
  }
  if (operand.coreTable >= 0) {
    text += fmt::format(" + T{}", operand.coreTable);
  }
  for (size_t i = 0; i < kMaxLoops; ++i) {
    if (operand.loopStride[i] != 0) {
      text += fmt::format(" + {}*i{}", operand.loopStride[i], i);
    }
  }
  for (size_t i = 0; i < kMaxLevels; ++i) {
    if (operand.stride[i] != 0 && instruction.counts[i] != 1) {
      text += fmt::format(" + {}*p{}", operand.stride[i], i);
    }
  }
  return fmt::format("{}{}]", operand.splat ? "splat " : "", text);
}

static std::string mnemonic(const Instruction &instruction) {
  std::string text = opcodeName(instruction.opcode);
  if (text == "unknown") {
    text += fmt::format("({})", uint8_t(instruction.opcode));
  }
  if (instruction.function != Function::None) {
    text += fmt::format(".{}", functionName(instruction.function));
  }
  return text;
}

static std::string formatText(numerics::DataFormat format) {
  bool known = uint8_t(format) <= uint8_t(numerics::DataFormat::Sen18fFp24);
  return known ? numerics::formatName(format) : fmt::format("format({})", uint8_t(format));
}

/// Fields that only some instructions have.
static std::string details(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Fill:
    return fmt::format(" pattern={:#010x}", instruction.immediate);
  case Opcode::Accumulate:
    return fmt::format(" lanes={} masked={:#010x}", instruction.validLanes, instruction.immediate);
  case Opcode::Matmul:
    return fmt::format(" lanes={} rowstride={}", instruction.validLanes, instruction.parameter);
  case Opcode::Shuffle:
    return fmt::format(" element={}", instruction.elementBytes);
  default:
    return "";
  }
}

static std::string countsText(const Instruction &instruction) {
  std::string text;
  for (int64_t count : instruction.counts) {
    if (count != 1) {
      text += fmt::format("{}{}", text.empty() ? " x " : ",", count);
    }
  }
  return text;
}

static std::string instructionText(const Instruction &instruction) {
  if (instruction.opcode == Opcode::Loop) {
    return fmt::format("loop {}", instruction.parameter);
  }
  if (instruction.opcode == Opcode::EndLoop) {
    return "endloop";
  }
  std::string text = fmt::format("{} {}", mnemonic(instruction), formatText(instruction.format));
  size_t operands = std::min<size_t>(instruction.operandCount, kMaxOperands);
  if (operands > 0) {
    // The result is the last operand and is printed first, as in an assignment.
    bool isStore = instruction.opcode == Opcode::Store;
    text +=
        fmt::format(" {} <-", address(instruction, instruction.operands[operands - 1], isStore));
  }
  for (size_t i = 0; i + 1 < operands; ++i) {
    bool isLoad = instruction.opcode == Opcode::Load;
    text += fmt::format("{} {}", i == 0 ? "" : ",",
                        address(instruction, instruction.operands[i], isLoad));
  }
  return text + details(instruction) + countsText(instruction);
}

static void appendPhase(std::string &out, const Phase &phase, size_t index) {
  out += fmt::format("phase {} {} cores {}\n", index, quoted(phase.name), phase.cores);
  for (size_t i = 0; i < phase.coreTables.size(); ++i) {
    out += fmt::format("  table T{}:", i);
    for (int64_t offset : phase.coreTables[i]) {
      out += fmt::format(" {}", offset);
    }
    out += "\n";
  }
  size_t depth = 0;
  for (size_t i = 0; i < phase.instructions.size(); ++i) {
    const Instruction &instruction = phase.instructions[i];
    if (instruction.opcode == Opcode::EndLoop && depth > 0) {
      --depth;
    }
    // Indentation stops growing with the deepest legal nest: an unverified program may open many.
    std::string indent(2 * std::min(depth, kMaxLoops), ' ');
    out += fmt::format("  {:>4}  {}{}\n", i, indent, instructionText(instruction));
    if (instruction.opcode == Opcode::Loop) {
      ++depth;
    }
  }
}

std::string disassemble(const Program &program) {
  std::string out;
  for (size_t i = 0; i < program.phases.size(); ++i) {
    appendPhase(out, program.phases[i], i);
  }
  return out;
}

} // namespace spyre::program
