//===- PhaseTree.cpp - loops as a tree, operands as byte ranges -----------------------------===//
#include "PhaseTree.h"

#include <algorithm>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;
using program::Operand;
using program::Role;

static std::vector<Node> bodyFrom(const std::vector<Instruction> &instructions, size_t &next) {
  std::vector<Node> body;
  while (next < instructions.size() && instructions[next].opcode != Opcode::EndLoop) {
    Node node{instructions[next++], {}};
    if (node.isLoop()) {
      node.body = bodyFrom(instructions, next);
      ++next;
    }
    body.push_back(std::move(node));
  }
  return body;
}

std::vector<Node> treeOf(const std::vector<Instruction> &instructions) {
  size_t next = 0;
  return bodyFrom(instructions, next);
}

void flatten(const std::vector<Node> &tree, std::vector<Instruction> &instructions) {
  for (const Node &node : tree) {
    instructions.push_back(node.instruction);
    if (node.isLoop()) {
      flatten(node.body, instructions);
      instructions.emplace_back().opcode = Opcode::EndLoop;
    }
  }
}

size_t instructionsIn(const std::vector<Node> &tree) {
  size_t count = tree.size();
  for (const Node &node : tree) {
    count += node.isLoop() ? instructionsIn(node.body) + 1 : 0;
  }
  return count;
}

static bool readsItsResult(const Instruction &instruction) {
  bool combines =
      instruction.opcode == Opcode::Exchange && instruction.function != program::Function::Copy;
  return instruction.opcode == Opcode::Accumulate || instruction.opcode == Opcode::Matmul ||
         instruction.opcode == Opcode::TopK || combines;
}

static LxUse useOf(const Instruction &instruction, size_t index, int64_t bufferBytes) {
  const Operand &operand = instruction.operands[index];
  LxUse use;
  use.buffer = operand.buffer;
  use.writes = index == program::resultOperand(instruction);
  use.reads = !use.writes || readsItsResult(instruction);
  use.fixed = operand.coreTable < 0;
  for (int64_t stride : operand.loopStride) {
    use.fixed &= stride == 0;
  }
  int64_t places = program::pointPlaces(instruction, index);
  use.low = use.high = operand.offset;
  auto widen = [&](int64_t stride, int64_t count) {
    (stride < 0 ? use.low : use.high) += stride * (count - 1);
  };
  for (size_t level = 0; level < program::kMaxLevels; ++level) {
    widen(operand.stride[level], instruction.counts[level]);
  }
  widen(instruction.parameter, places);
  use.high += program::pointBytes(instruction, index);
  use.volumeBytes = instruction.points() * places * program::pointBytes(instruction, index);
  if (instruction.opcode == Opcode::Pick && index == 0) {
    // An index may lead anywhere.
    use.low = 0;
    use.high = bufferBytes;
  }
  return use;
}

std::vector<LxUse> lxUses(const Instruction &instruction,
                          const std::vector<program::Buffer> &buffers) {
  std::vector<LxUse> uses;
  program::OperandRoles roles = program::operandRoles(instruction);
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    bool inLx = roles.role[i] != Role::DdrStick && roles.role[i] != Role::Number &&
                instruction.operands[i].kind == Operand::Kind::Memory;
    if (inLx) {
      uses.push_back(useOf(instruction, i, buffers[size_t(instruction.operands[i].buffer)].bytes));
    }
  }
  return uses;
}

} // namespace spyre::backend
