//===- ProgramBuilder.h - short spellings for device programs in tests ----------------------===//
//
//   PhaseBuilder phase("0_add", 2);
//   int32_t perCore = phase.table({0, 4096});
//   phase.loop(4)
//       .load({16}, at(0, {128}).table(perCore).loops({2048}), at(0x1000, {128}))
//       .end();
//
// Counts and strides are written innermost last and may be shorter than kMaxLevels.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Random.h"
#include "spyre/Program/Program.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace spyre::test {

using program::Function;
using program::Instruction;
using program::Opcode;
using Counts = std::vector<int64_t>;

/// An operand under construction.
struct At : program::Operand {
  At &table(int32_t index) {
    coreTable = index;
    return *this;
  }
  At &loops(const Counts &strides) {
    std::copy(strides.begin(), strides.end(), loopStride.begin());
    return *this;
  }
  At &asSplat() {
    splat = true;
    return *this;
  }
};

inline At at(int64_t base, const Counts &strides = {}) {
  At operand;
  operand.base = base;
  std::copy(strides.begin(), strides.end(), operand.stride.end() - strides.size());
  return operand;
}

inline Instruction instruction(Opcode opcode, Function function, const Counts &counts,
                               const std::vector<program::Operand> &operands) {
  Instruction result;
  result.opcode = opcode;
  result.function = function;
  result.operandCount = uint8_t(operands.size());
  std::copy(counts.begin(), counts.end(), result.counts.end() - counts.size());
  std::copy(operands.begin(), operands.end(), result.operands.begin());
  return result;
}

class PhaseBuilder {
public:
  explicit PhaseBuilder(std::string name, int64_t cores = 1) {
    phase.name = std::move(name);
    phase.cores = cores;
  }
  int32_t table(std::vector<int64_t> offsets) {
    phase.coreTables.push_back(std::move(offsets));
    return int32_t(phase.coreTables.size()) - 1;
  }
  PhaseBuilder &add(Instruction added) {
    phase.instructions.push_back(added);
    return *this;
  }
  PhaseBuilder &format(numerics::DataFormat format) {
    phase.instructions.back().format = format;
    return *this;
  }
  PhaseBuilder &load(const Counts &counts, At ddr, At lx) {
    return add(instruction(Opcode::Load, Function::None, counts, {ddr, lx}));
  }
  PhaseBuilder &store(const Counts &counts, At lx, At ddr) {
    return add(instruction(Opcode::Store, Function::None, counts, {lx, ddr}));
  }
  PhaseBuilder &fill(const Counts &counts, At lx, uint32_t pattern) {
    Instruction fill = instruction(Opcode::Fill, Function::None, counts, {lx});
    fill.immediate = pattern;
    return add(fill);
  }
  PhaseBuilder &vector(Function function, const Counts &counts, const std::vector<At> &operands) {
    return add(instruction(Opcode::Vector, function, counts, {operands.begin(), operands.end()}));
  }
  PhaseBuilder &accumulate(Function function, const Counts &counts, At in, At acc, uint16_t lanes,
                           uint32_t masked = 0) {
    Instruction added = instruction(Opcode::Accumulate, function, counts, {in, acc});
    added.validLanes = lanes;
    added.immediate = masked;
    return add(added);
  }
  PhaseBuilder &matmul(const Counts &counts, At a, At b, At acc, uint16_t lanes = 64,
                       int64_t rowStride = 128) {
    Instruction added = instruction(Opcode::Matmul, Function::None, counts, {a, b, acc});
    added.validLanes = lanes;
    added.parameter = rowStride;
    return add(added);
  }
  PhaseBuilder &finish(Function function, const Counts &counts, At acc, At out) {
    return add(instruction(Opcode::Finish, function, counts, {acc, out}));
  }
  PhaseBuilder &shuffle(uint16_t elementBytes, const Counts &counts, At from, At to) {
    Instruction added = instruction(Opcode::Shuffle, Function::None, counts, {from, to});
    added.elementBytes = elementBytes;
    return add(added);
  }
  PhaseBuilder &loop(int64_t trips) {
    Instruction added = instruction(Opcode::Loop, Function::None, {}, {});
    added.parameter = trips;
    return add(added);
  }
  PhaseBuilder &end() { return add(instruction(Opcode::EndLoop, Function::None, {}, {})); }

  program::Phase phase;
};

inline program::Program programOf(const std::vector<PhaseBuilder> &phases) {
  program::Program program;
  for (const PhaseBuilder &builder : phases) {
    program.phases.push_back(builder.phase);
  }
  return program;
}

/// A structurally sound program with arbitrary contents: for round trips, not for execution.
inline program::Program randomProgram(Random &random) {
  program::Program program;
  program.phases.resize(random.below(4));
  for (program::Phase &phase : program.phases) {
    for (uint64_t i = random.below(20); i > 0; --i) {
      phase.name.push_back(char(random.below(256)));
    }
    phase.cores = int64_t(random.next());
    phase.coreTables.resize(random.below(4));
    for (std::vector<int64_t> &table : phase.coreTables) {
      table.resize(random.below(5));
      std::generate(table.begin(), table.end(), [&] { return int64_t(random.next()); });
    }
    phase.instructions.resize(random.below(6));
    for (Instruction &added : phase.instructions) {
      added.opcode = Opcode(random.below(256));
      added.function = Function(random.below(256));
      added.format = numerics::DataFormat(random.below(256));
      added.operandCount = uint8_t(random.below(program::kMaxOperands + 1));
      added.validLanes = uint16_t(random.next());
      added.elementBytes = uint16_t(random.next());
      added.immediate = uint32_t(random.next());
      added.parameter = int64_t(random.next());
      for (int64_t &count : added.counts) {
        count = int64_t(random.next());
      }
      for (size_t op = 0; op < added.operandCount; ++op) {
        program::Operand &operand = added.operands[op];
        operand.base = int64_t(random.next());
        operand.coreTable = int32_t(random.next());
        operand.splat = random.below(2) == 1;
        std::generate(operand.loopStride.begin(), operand.loopStride.end(),
                      [&] { return int64_t(random.next()); });
        std::generate(operand.stride.begin(), operand.stride.end(),
                      [&] { return int64_t(random.next()); });
      }
    }
  }
  return program;
}

} // namespace spyre::test
