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

/// Adds a buffer that lives for phase 0; its index.
inline int32_t addBuffer(program::Program &program, const std::string &name, program::Space space,
                         int64_t base, int64_t bytes) {
  program::Buffer buffer;
  buffer.name = name;
  buffer.space = space;
  buffer.base = base;
  buffer.bytes = bytes;
  program.buffers.push_back(buffer);
  return int32_t(program.buffers.size() - 1);
}

/// One run of \p sticks sticks, from the start of each buffer.
inline program::Instruction stickInstruction(program::Opcode opcode, int64_t sticks,
                                             const std::vector<int32_t> &buffers) {
  program::Instruction instruction;
  instruction.opcode = opcode;
  instruction.operands.resize(buffers.size());
  instruction.counts.back() = sticks;
  for (size_t i = 0; i < buffers.size(); ++i) {
    instruction.operands[i].buffer = buffers[i];
    instruction.operands[i].stride.back() = sticks > 1 ? 128 : 0;
  }
  return instruction;
}

inline program::Program addProgram(const arch::DeviceDesc &device, const AddSpec &spec) {
  using program::Opcode;
  using program::Space;
  const int64_t bytes = spec.sticks * device.stickBytes;
  const int64_t rightSticks = spec.scalarRight ? 1 : spec.sticks;
  const int64_t rightBytes = rightSticks * device.stickBytes;
  program::Program program;
  const int32_t left =
      addBuffer(program, "0_add.in0", Space::Ddr, device.segmentBase(spec.left), bytes);
  const int32_t right =
      addBuffer(program, "0_add.in1", Space::Ddr, device.segmentBase(spec.right), rightBytes);
  const int32_t out =
      addBuffer(program, "0_add.out", Space::Ddr, device.segmentBase(spec.out), bytes);
  const int32_t leftTile = addBuffer(program, "0_add.in0.tile", Space::Lx, 0, bytes);
  const int32_t rightTile = addBuffer(program, "0_add.in1.tile", Space::Lx, bytes, rightBytes);
  const int32_t outTile =
      addBuffer(program, "0_add.out.tile", Space::Lx, bytes + rightBytes, bytes);

  program::Instruction add =
      stickInstruction(Opcode::Vector, spec.sticks, {leftTile, rightTile, outTile});
  add.function = program::Function::Add;
  if (spec.scalarRight) {
    add.operands[1].splatLane = 0;
    add.operands[1].stride = {};
  }
  program::Phase phase;
  phase.name = "0_add";
  phase.instructions = {stickInstruction(Opcode::Load, spec.sticks, {left, leftTile}),
                        stickInstruction(Opcode::Load, rightSticks, {right, rightTile}), add,
                        stickInstruction(Opcode::Store, spec.sticks, {outTile, out})};
  program.phases = {phase};
  return program;
}

/// Loads \p sticks sticks of segment 0 into LX, or stores what such a program left there to
/// segment 1.
inline program::Program handOverProgram(const arch::DeviceDesc &device, int64_t sticks,
                                        bool stores) {
  const int64_t bytes = sticks * device.stickBytes;
  program::Program program;
  const int32_t tensor =
      addBuffer(program, "0_identity", program::Space::Ddr, device.segmentBase(stores), bytes);
  const int32_t kept = addBuffer(program, "lx.256", program::Space::Lx, 256, bytes);
  program.buffers[size_t(kept)].liveIn = stores;
  program.buffers[size_t(kept)].liveOut = !stores;
  program::Phase phase;
  phase.name = "0_identity";
  phase.instructions = {stores ? stickInstruction(program::Opcode::Store, sticks, {kept, tensor})
                               : stickInstruction(program::Opcode::Load, sticks, {tensor, kept})};
  program.phases = {phase};
  return program;
}

} // namespace spyre::test
