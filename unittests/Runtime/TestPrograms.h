//===- TestPrograms.h - small device programs made by hand ----------------------------------===//
//
// The runtime never looks inside a program, so its tests need one that is real and small: the sum
// of two tensors of fp16 sticks on one core. Shared with the conformance suite.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

namespace spyre::test {

/// out = left + right over `sticks` sticks at the start of three segments.
struct AddSpec {
  int64_t left = 0, right = 1, out = 2;
  int64_t sticks = 1;
  /// The right operand is one stick whose lane 0 is used everywhere.
  bool scalarRight = false;
};

inline program::Operand stickOperand(int64_t base, int64_t strideBytes) {
  program::Operand operand;
  operand.base = base;
  operand.stride[program::kMaxLevels - 1] = strideBytes;
  return operand;
}

inline program::Instruction stickInstruction(program::Opcode opcode, int64_t sticks,
                                             const std::vector<program::Operand> &operands) {
  program::Instruction instruction;
  instruction.opcode = opcode;
  instruction.operandCount = uint8_t(operands.size());
  instruction.counts[program::kMaxLevels - 1] = sticks;
  for (size_t i = 0; i < operands.size(); ++i) {
    instruction.operands[i] = operands[i];
  }
  return instruction;
}

inline program::Program addProgram(const arch::DeviceDesc &device, const AddSpec &spec) {
  const int64_t stick = device.stickBytes;
  const int64_t rightSticks = spec.scalarRight ? 1 : spec.sticks;
  const int64_t lxLeft = 0, lxRight = spec.sticks * stick, lxOut = lxRight + rightSticks * stick;
  program::Operand right = stickOperand(lxRight, spec.scalarRight ? 0 : stick);
  right.splat = spec.scalarRight;
  program::Instruction add =
      stickInstruction(program::Opcode::Vector, spec.sticks,
                       {stickOperand(lxLeft, stick), right, stickOperand(lxOut, stick)});
  add.function = program::Function::Add;

  program::Phase phase;
  phase.name = "0_add";
  phase.instructions = {
      stickInstruction(
          program::Opcode::Load, spec.sticks,
          {stickOperand(device.segmentBase(spec.left), stick), stickOperand(lxLeft, stick)}),
      stickInstruction(
          program::Opcode::Load, rightSticks,
          {stickOperand(device.segmentBase(spec.right), stick), stickOperand(lxRight, stick)}),
      add,
      stickInstruction(
          program::Opcode::Store, spec.sticks,
          {stickOperand(lxOut, stick), stickOperand(device.segmentBase(spec.out), stick)}),
  };
  return program::Program{{phase}};
}

} // namespace spyre::test
