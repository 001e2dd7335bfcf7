//===- Core.cpp - loops, addresses, bounds and faults of a core -----------------------------===//
#include "Core.h"

#include <algorithm>
#include <utility>

namespace spyre::sim {

using program::kMaxLevels;
using program::kMaxLoops;
using program::Opcode;
using program::Operand;

Core::Core(size_t index, Lx lx) : coreIndex(index), memory(std::move(lx)) {}

void Core::beginLaunch() {
  memory.beginLaunch();
  faultStatus = Status::success();
}

void Core::runPhase(const PlannedPhase &plannedPhase, const LaunchContext &launchContext) {
  phase = &plannedPhase;
  context = &launchContext;
  phaseCounters = {};
  phaseAccesses.reads.clear();
  phaseAccesses.writes.clear();
  LoopIndices loops{};
  size_t depth = 0;
  for (size_t pc = 0; pc < phase->instructions.size(); ++pc) {
    const PlannedInstruction &planned = phase->instructions[pc];
    if (planned.source->opcode == Opcode::Loop) {
      loops[depth++] = 0;
    } else if (planned.source->opcode == Opcode::EndLoop) {
      const PlannedInstruction &loop = phase->instructions[planned.partner];
      if (++loops[depth - 1] < loop.source->parameter) {
        pc = planned.partner;
      } else {
        --depth;
      }
    } else if (!execute(planned, loops)) {
      return;
    }
  }
}

bool Core::execute(const PlannedInstruction &planned, const LoopIndices &loops) {
  current = &planned;
  Addresses addresses{};
  if (!resolve(planned, loops, addresses) || !runUnit(addresses)) {
    return false;
  }
  phaseCounters += planned.cost;
  return true;
}

/// Addresses of the first point; DDR operands become physical. Checks the reach of the whole nest.
bool Core::resolve(const PlannedInstruction &planned, const LoopIndices &loops,
                   Addresses &addresses) {
  const program::Instruction &source = *planned.source;
  for (size_t op = 0; op < source.operandCount; ++op) {
    const Operand &operand = source.operands[op];
    int64_t address = operand.base;
    if (operand.coreTable >= 0) {
      address += phase->source->coreTables[size_t(operand.coreTable)][coreIndex];
    }
    for (size_t i = 0; i < kMaxLoops; ++i) {
      address += loops[i] * operand.loopStride[i];
    }
    int64_t lowest = address, highest = address;
    for (size_t i = 0; i < kMaxLevels; ++i) {
      int64_t reach = planned.nest.strides[op][i] * (planned.nest.counts[i] - 1);
      lowest += std::min<int64_t>(reach, 0);
      highest += std::max<int64_t>(reach, 0);
    }
    if (source.opcode == Opcode::Matmul && op == 1) {
      int64_t reach = source.parameter * (source.validLanes - 1);
      lowest += std::min<int64_t>(reach, 0);
      highest += std::max<int64_t>(reach, 0);
    }
    int64_t end = highest + planned.width[op];
    bool inDdr = int(op) == planned.ddrOperand;
    if (!(inDdr ? resolveDdr(op, lowest, end, address) : checkLxRange(op, lowest, end))) {
      return false;
    }
    addresses[op] = address;
  }
  return true;
}

bool Core::checkLxRange(size_t operand, int64_t lowest, int64_t end) {
  if (lowest < 0 || uint64_t(end) > memory.bytes()) {
    return fail(
        error<7002>("out-of-bounds: {} operand {} reaches LX {:#x}..{:#x}, but LX has {:#x} "
                    "bytes",
                    where(), operand, lowest, end, memory.bytes()));
  }
  return true;
}

bool Core::resolveDdr(size_t operand, int64_t lowest, int64_t end, int64_t &address) {
  int64_t segmentBytes = context->device->segmentBytes;
  auto index = size_t(lowest / segmentBytes);
  int64_t base = int64_t(index) * segmentBytes;
  Segment segment = index < context->segments.size() ? context->segments[index] : Segment();
  if (uint64_t(end - base) > segment.sizeBytes) {
    return fail(error<7002>("out-of-bounds: {} operand {} reaches DDR {:#x}..{:#x}, but segment {} "
                            "has {:#x} mapped bytes",
                            where(), operand, lowest, end, index, segment.sizeBytes));
  }
  address += int64_t(segment.physicalBase) - base;
  return true;
}

bool Core::checkWritten(size_t operand, const Access &access, int64_t sticks) {
  if (!context->sanitizer) {
    return true;
  }
  phaseCounters.sanitizerChecks += uint64_t(sticks);
  std::optional<int64_t> stick = memory.unwrittenStick(access);
  if (!stick) {
    return true;
  }
  return fail(
      error<7003>("uninitialized-read: {} operand {} reads LX {:#x}, which this launch never "
                  "wrote; load or fill it first",
                  where(), operand, *stick));
}

bool Core::fail(Status status) {
  faultStatus = std::move(status);
  return false;
}

std::string Core::where() const {
  const program::Instruction &source = *current->source;
  std::string name = program::opcodeName(source.opcode);
  if (source.function != program::Function::None) {
    name += fmt::format(".{}", program::functionName(source.function));
  }
  return fmt::format("core {} phase {} instruction {} ({})", coreIndex, phase->name, current->index,
                     name);
}

} // namespace spyre::sim
