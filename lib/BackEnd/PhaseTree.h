//===- PhaseTree.h - the instructions of a phase as a tree of loops -------------------------===//
//
// Passes over a finished phase (Overlap.h) ask two things: which instructions are inside which
// loop, and which bytes of LX an instruction touches. Both are answered here.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include <vector>

namespace spyre::backend {

/// An instruction, or a Loop with its body; EndLoop is implied.
struct Node {
  program::Instruction instruction;
  std::vector<Node> body;

  bool isLoop() const { return instruction.opcode == program::Opcode::Loop; }
  int64_t trips() const { return instruction.parameter; }
};

std::vector<Node> treeOf(const std::vector<program::Instruction> &instructions);
void flatten(const std::vector<Node> &tree, std::vector<program::Instruction> &instructions);
size_t instructionsIn(const std::vector<Node> &tree);

/// What an instruction does with one buffer in LX.
struct LxUse {
  int32_t buffer = -1;
  bool reads = false, writes = false;
  /// Touched bytes of the buffer, [low, high), and how many of them are touched at least when no
  /// two points touch the same.
  int64_t low = 0, high = 0, volumeBytes = 0;
  /// The range is the same on all cores and in all iterations.
  bool fixed = true;
};
/// One entry per operand in LX.
std::vector<LxUse> lxUses(const program::Instruction &instruction,
                          const std::vector<program::Buffer> &buffers);

} // namespace spyre::backend
