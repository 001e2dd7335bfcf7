//===- Plan.cpp - nests, order of matmul points, cost of instructions -----------------------===//
#include "Plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace spyre::sim {

using program::Function;
using program::Instruction;
using program::kMatmulBlock;
using program::kMaxLevels;
using program::kMaxOperands;
using program::Opcode;

/// Elements a shuffle moves per cycle.
static constexpr double kShuffleElemsPerCycle = 64;

Counters &Counters::operator+=(const Counters &other) {
  ddrReadBytes += other.ddrReadBytes;
  ddrWriteBytes += other.ddrWriteBytes;
  lxReadBytes += other.lxReadBytes;
  lxWriteBytes += other.lxWriteBytes;
  ptMacs += other.ptMacs;
  sfpLaneOps += other.sfpLaneOps;
  instructions += other.instructions;
  cycles += other.cycles;
  sanitizerChecks += other.sanitizerChecks;
  return *this;
}

uint64_t wholeCycles(double cycles) {
  // A description with absurd rates must not reach the undefined conversion of a huge double.
  constexpr double kMostCycles = 0x1p62;
  return uint64_t(std::ceil(std::clamp(cycles, 0.0, kMostCycles)));
}

//===- Nests --------------------------------------------------------------------------------===//

/// True when all operands walk level \p outer of \p nest around level \p inner of \p inside like
/// one long level.
static bool walksAsOne(const Nest &nest, size_t outer, const Nest &inside, size_t inner) {
  for (size_t op = 0; op < kMaxOperands; ++op) {
    if (nest.strides[op][outer] != inside.strides[op][inner] * inside.counts[inner]) {
      return false;
    }
  }
  return true;
}

static Nest simplifiedNest(const Instruction &instruction) {
  Nest nest;
  nest.counts = instruction.counts;
  for (size_t op = 0; op < kMaxOperands; ++op) {
    nest.strides[op] = instruction.operands[op].stride;
  }
  Nest result;
  size_t place = kMaxLevels;
  for (size_t level = kMaxLevels; level-- > 0;) {
    if (nest.counts[level] == 1) {
      continue;
    }
    if (place < kMaxLevels && walksAsOne(nest, level, result, place)) {
      result.counts[place] *= nest.counts[level];
      continue;
    }
    --place;
    result.counts[place] = nest.counts[level];
    for (size_t op = 0; op < kMaxOperands; ++op) {
      result.strides[op][place] = nest.strides[op][level];
    }
  }
  return result;
}

/// True when points with the same accumulator address agree in the index of every level that moves
/// the accumulator (mixed radix: each step is longer than everything the smaller ones can reach).
static bool accumulatorsAreDistinct(const Nest &nest) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t level = 0; level < kMaxLevels; ++level) {
    int64_t step = std::abs(nest.strides[2][level]);
    if (step != 0) {
      steps.push_back({step, nest.counts[level]});
    }
  }
  std::sort(steps.begin(), steps.end());
  // Accumulators must not even overlap: start with the bytes of one of them.
  int64_t reach = program::accBytes(numerics::DataFormat::Sen169Fp16) - 1;
  for (auto [step, count] : steps) {
    if (step <= reach) {
      return false;
    }
    reach += step * (count - 1);
  }
  return true;
}

/// Moves the longest level that keeps B and changes the accumulator to the inside. Every
/// accumulator still sees its own points in the same order, so no sum changes.
static Nest matmulOrder(const Nest &nest) {
  size_t chosen = kMaxLevels;
  for (size_t level = 0; level < kMaxLevels; ++level) {
    bool keepsB = nest.strides[1][level] == 0 && nest.strides[2][level] != 0;
    if (keepsB && nest.counts[level] > 1 &&
        (chosen == kMaxLevels || nest.counts[level] > nest.counts[chosen])) {
      chosen = level;
    }
  }
  if (chosen == kMaxLevels || !accumulatorsAreDistinct(nest)) {
    return nest;
  }
  Nest result = nest;
  std::rotate(result.counts.begin() + chosen, result.counts.begin() + chosen + 1,
              result.counts.end());
  for (auto &stride : result.strides) {
    std::rotate(stride.begin() + chosen, stride.begin() + chosen + 1, stride.end());
  }
  return result;
}

//===- Cost ---------------------------------------------------------------------------------===//

static void planTransfer(PlannedInstruction &planned, uint64_t points, int64_t activeCores,
                         const arch::Timing &timing) {
  uint64_t bytes = points * kStickBytes;
  bool isLoad = planned.source->opcode == Opcode::Load;
  planned.ddrOperand = isLoad ? 0 : 1;
  (isLoad ? planned.cost.ddrReadBytes : planned.cost.ddrWriteBytes) = bytes;
  (isLoad ? planned.cost.lxWriteBytes : planned.cost.lxReadBytes) = bytes;
  double bytesPerCycle = timing.ddrBytesPerCycle / double(activeCores);
  planned.cost.cycles = wholeCycles(timing.ddrLatencyCycles + double(bytes) / bytesPerCycle);
}

static void planLaneWork(PlannedInstruction &planned, uint64_t points, const arch::Timing &timing) {
  const Instruction &source = *planned.source;
  uint64_t lanes = points * uint64_t(planned.lanes);
  bool isExp = source.opcode == Opcode::Vector && source.function == Function::Exp;
  double factor = isExp ? timing.sfpTranscendentalFactor : 1;
  planned.cost.cycles = wholeCycles(double(lanes) * factor / timing.sfpLanesPerCycle);
  bool counts = source.opcode == Opcode::Accumulate ||
                (source.opcode == Opcode::Vector && source.function != Function::Copy);
  planned.cost.sfpLaneOps = counts ? lanes : 0;
  size_t last = source.operandCount - 1u;
  for (size_t op = 0; op < last; ++op) {
    planned.cost.lxReadBytes += points * uint64_t(planned.width[op]);
  }
  if (source.opcode == Opcode::Accumulate) {
    planned.cost.lxReadBytes += points * uint64_t(planned.width[last]);
  }
  planned.cost.lxWriteBytes = points * uint64_t(planned.width[last]);
}

static void planMatmul(PlannedInstruction &planned, uint64_t points, const arch::Timing &timing) {
  uint64_t accBytes = uint64_t(planned.width[2]);
  planned.matmulNest = matmulOrder(planned.nest);
  planned.cost.ptMacs = points * kMatmulBlock * kMatmulBlock;
  planned.cost.cycles = wholeCycles(double(planned.cost.ptMacs) / timing.ptMacsPerCycle);
  planned.cost.lxReadBytes =
      points * ((1 + uint64_t(planned.source->validLanes)) * kStickBytes + accBytes);
  planned.cost.lxWriteBytes = points * accBytes;
}

static void planShuffle(PlannedInstruction &planned, uint64_t points) {
  planned.cost.cycles = wholeCycles(double(points) / kShuffleElemsPerCycle);
  planned.cost.lxReadBytes = points * planned.source->elementBytes;
  planned.cost.lxWriteBytes = planned.cost.lxReadBytes;
}

static std::array<int64_t, kMaxOperands> widthsOf(const Instruction &instruction) {
  constexpr int64_t kStick = kStickBytes;
  switch (instruction.opcode) {
  case Opcode::Accumulate:
    return {kStick, program::accBytes(instruction.format)};
  case Opcode::Matmul:
    return {kStick, kStick, program::accBytes(instruction.format)};
  case Opcode::Finish:
    return {program::accBytes(instruction.format), kStick};
  case Opcode::Shuffle:
    return {instruction.elementBytes, instruction.elementBytes};
  default:
    return {kStick, kStick, kStick, kStick};
  }
}

static PlannedInstruction planInstruction(const Instruction &source, int64_t activeCores,
                                          const arch::Timing &timing) {
  PlannedInstruction planned;
  planned.source = &source;
  planned.nest = simplifiedNest(source);
  planned.width = widthsOf(source);
  planned.lanes = numerics::elemsPerStick(source.format);
  if (planned.lanes < 1 || planned.lanes > kMaxLanes) {
    planned.lanes = kMaxLanes; // Fill of a format the vector unit does not compute in.
  }
  uint64_t points = uint64_t(source.points());
  planned.cost.instructions = 1;
  switch (source.opcode) {
  case Opcode::Load:
  case Opcode::Store:
    planTransfer(planned, points, activeCores, timing);
    break;
  case Opcode::Fill:
  case Opcode::Vector:
  case Opcode::Accumulate:
  case Opcode::Finish:
    planLaneWork(planned, points, timing);
    break;
  case Opcode::Matmul:
    planMatmul(planned, points, timing);
    break;
  case Opcode::Shuffle:
    planShuffle(planned, points);
    break;
  case Opcode::Loop:
  case Opcode::EndLoop:
    planned.cost.instructions = 0;
    break;
  }
  return planned;
}

static std::string printable(const std::string &name) {
  std::string text = name.substr(0, 64);
  std::replace_if(text.begin(), text.end(), [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return text;
}

PlannedPhase planPhase(const program::Phase &phase, const arch::DeviceDesc &device) {
  PlannedPhase planned{&phase, printable(phase.name), {}};
  std::vector<size_t> openLoops;
  for (size_t i = 0; i < phase.instructions.size(); ++i) {
    planned.instructions.push_back(
        planInstruction(phase.instructions[i], phase.cores, device.timing));
    planned.instructions.back().index = i;
    if (phase.instructions[i].opcode == Opcode::Loop) {
      openLoops.push_back(i);
    } else if (phase.instructions[i].opcode == Opcode::EndLoop) {
      planned.instructions.back().partner = openLoops.back();
      planned.instructions[openLoops.back()].partner = i;
      openLoops.pop_back();
    }
  }
  return planned;
}

} // namespace spyre::sim
