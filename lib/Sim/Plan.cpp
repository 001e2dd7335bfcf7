//===- Plan.cpp - nests, order of matmul points, cost of instructions -----------------------===//
#include "Plan.h"

#include "PhaseTables.h"

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
using program::Role;
using program::Unit;

/// Stored data beyond this would push itself out of the host's caches before it is read again.
static constexpr double kCachedBytes = 16 << 20;

Counters &Counters::operator+=(const Counters &other) {
  ddrReadBytes += other.ddrReadBytes;
  ddrWriteBytes += other.ddrWriteBytes;
  lxReadBytes += other.lxReadBytes;
  lxWriteBytes += other.lxWriteBytes;
  ringBytes += other.ringBytes;
  ptMacs += other.ptMacs;
  ptRows += other.ptRows;
  sfpLaneOps += other.sfpLaneOps;
  instructions += other.instructions;
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
    auto reach = uint64_t(inside.strides[op][inner]) * uint64_t(inside.counts[inner]);
    if (uint64_t(nest.strides[op][outer]) != reach) {
      return false;
    }
  }
  return true;
}

static Nest simplifiedNest(const Instruction &instruction) {
  Nest nest;
  nest.counts = instruction.counts;
  for (size_t op = 0; op < instruction.operands.size(); ++op) {
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
  result.firstLevel = std::min(place, kMaxLevels - 1);
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
  int64_t reach = program::kMatmulAccBytes - 1;
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

//===- Operands -----------------------------------------------------------------------------===//

static bool readsResult(const Instruction &source) {
  bool combines = source.opcode == Opcode::Exchange && source.function != Function::Copy;
  return source.opcode == Opcode::Accumulate || source.opcode == Opcode::Matmul ||
         source.opcode == Opcode::TopK || combines;
}

static void planOperands(PlannedInstruction &planned) {
  const Instruction &source = *planned.source;
  program::OperandRoles roles = program::operandRoles(source);
  for (size_t op = 0; op < source.operands.size(); ++op) {
    PlannedOperand &operand = planned.operands[op];
    operand.role = roles.role[op];
    operand.inMemory = source.operands[op].kind == program::Operand::Kind::Memory;
    operand.inDdr = operand.role == Role::DdrStick;
    operand.written = op == program::resultOperand(source);
    operand.read = operand.inMemory && (!operand.written || readsResult(source));
    operand.width = program::pointBytes(source, op);
    operand.places = program::pointPlaces(source, op);
    operand.high = operand.width;
    auto widen = [&](int64_t stride, int64_t count) {
      // Where no core executes the instruction the verifier checks no reach: any product may come.
      auto reach = int64_t(uint64_t(stride) * uint64_t(count - 1));
      auto &bound = reach < 0 ? operand.low : operand.high;
      bound = int64_t(uint64_t(bound) + uint64_t(reach));
    };
    for (size_t level = 0; level < kMaxLevels; ++level) {
      widen(planned.nest.strides[op][level], planned.nest.counts[level]);
    }
    widen(source.parameter, operand.places);
  }
}

//===- Cost ---------------------------------------------------------------------------------===//

/// Contiguous bytes of one operand over the whole nest, in whichever order it is walked. Counts of
/// instructions that no core executes may be anything: longer runs than any memory are cut.
static int64_t runBytes(const Nest &nest, size_t op) {
  constexpr int64_t kLongest = int64_t(1) << 40;
  int64_t run = kStickBytes;
  std::array<bool, kMaxLevels> used{};
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t level = nest.firstLevel; level < kMaxLevels; ++level) {
      int64_t count = nest.counts[level], stride = nest.strides[op][level];
      bool continues = stride == run || stride == -run;
      if (!used[level] && count > 1 && continues && count <= kLongest / run) {
        run *= count;
        used[level] = grows = true;
      }
    }
  }
  return run;
}

/// Cores of a group issue the requests of their common read in turn, so the group is as fast as its
/// members together; every core sees the same time, that of the slowest.
static void planTransfer(PlannedInstruction &planned, const PhaseTables &tables, uint64_t points,
                         const arch::Timing &timing) {
  const Instruction &source = *planned.source;
  uint64_t bytes = points * kStickBytes;
  bool isLoad = planned.unit == Unit::Load;
  (isLoad ? planned.cost.ddrReadBytes : planned.cost.ddrWriteBytes) = bytes;
  (isLoad ? planned.cost.lxWriteBytes : planned.cost.lxReadBytes) = bytes;
  const DdrUse &use = tables.ddrUse(source);
  planned.cost.ringBytes = use.reads < use.cores ? bytes : 0;
  int64_t run = runBytes(planned.nest, isLoad ? 0 : source.operands.size() - 1);
  if (source.opcode == Opcode::Gather || source.opcode == Opcode::Scatter) {
    planned.cost.lxReadBytes += points * source.elementBytes;
    run = kStickBytes;
  }
  double requests = double(bytes) / std::min(double(run), arch::kDdrRequestBytes);
  double streams = 1 + std::max<double>(double(use.reads) - 1, 0) * timing.ddrStreamLoss;
  double chip = double(use.reads) * std::max(double(bytes) * streams / timing.ddrBytesPerCycle,
                                             requests * timing.ddrRequestCycles);
  double port = double(bytes) * use.readsOfPort / timing.ddrPortBytesPerCycle;
  double core = double(bytes) * use.readsOfCore / timing.ddrCoreBytesPerCycle;
  double ring = planned.cost.ringBytes > 0 ? double(bytes) / timing.ringBytesPerCycle : 0;
  double busy = std::max({chip, port, core, ring});
  double hops = planned.cost.ringBytes > 0 ? double(use.hops) * timing.ringHopCycles : 0;
  Duration &duration = planned.duration;
  duration.busyCycles = wholeCycles(busy);
  duration.latencyCycles = wholeCycles(timing.ddrLatencyCycles + hops);
  // Of the chip's bytes those of one core, so that loads for a group and stores can be compared.
  double chipBytes = double(bytes) * double(use.reads);
  duration.ddrBytes = use.cores > 0 ? chipBytes / double(use.cores) : 0;
  duration.turnCycles = chipBytes / arch::kDdrWriteBatchBytes * timing.ddrTurnaroundCycles;
  duration.slackCycles = busy - chip;
  duration.reason = ring > std::max({chip, port, core}) ? Reason::Ring : Reason::Ddr;
}

static void addLxTraffic(PlannedInstruction &planned, uint64_t points) {
  const Instruction &source = *planned.source;
  for (size_t op = 0; op < source.operands.size(); ++op) {
    const PlannedOperand &operand = planned.operands[op];
    if (!operand.inMemory || operand.role == Role::Number || operand.inDdr) {
      continue;
    }
    uint64_t bytes = points * uint64_t(operand.width * operand.places);
    planned.cost.lxReadBytes += operand.read ? bytes : 0;
    planned.cost.lxWriteBytes += operand.written ? bytes : 0;
  }
}

/// The unit's own work, or its operands' way from and to LX when that takes longer.
static Duration unitDuration(const PlannedInstruction &planned, double workCycles,
                             const arch::Timing &timing) {
  double bytes = double(planned.cost.lxReadBytes + planned.cost.lxWriteBytes);
  Duration duration;
  duration.busyCycles = wholeCycles(std::max(workCycles, bytes / timing.lxBytesPerCycle));
  duration.reason = Reason::Sfp;
  duration.otherReason = Reason::Lx;
  duration.otherCycles = duration.busyCycles - wholeCycles(workCycles);
  return duration;
}

static void planLaneWork(PlannedInstruction &planned, uint64_t points, const arch::Timing &timing) {
  const Instruction &source = *planned.source;
  // A Convert has as many values as the side with one stick has lanes.
  int64_t pointLanes = source.opcode == Opcode::Convert
                           ? std::max(planned.lanes, numerics::elemsPerStick(source.toFormat))
                           : planned.lanes;
  uint64_t lanes = points * uint64_t(pointLanes);
  double factor = 1;
  if (source.opcode == Opcode::Accumulate || source.opcode == Opcode::Finish) {
    factor = timing.sfpReductionFactor;
  } else if (source.opcode == Opcode::Vector && program::isTranscendental(source.function)) {
    factor = timing.sfpTranscendentalFactor;
  } else if (source.opcode == Opcode::TopK) {
    factor = double(source.parameter);
  }
  bool counts = source.opcode == Opcode::Accumulate || source.opcode == Opcode::TopK ||
                (source.opcode == Opcode::Vector && source.function != Function::Copy);
  planned.cost.sfpLaneOps = counts ? lanes : 0;
  addLxTraffic(planned, points);
  planned.duration =
      unitDuration(planned, double(lanes) * factor / timing.sfpLanesPerCycle, timing);
}

/// How often another block of B comes into the array.
static double matmulBlocks(const Nest &nest) {
  double blocks = 1;
  size_t inner = kMaxLevels;
  while (inner > nest.firstLevel && nest.strides[1][inner - 1] == 0) {
    --inner;
  }
  for (size_t level = nest.firstLevel; level < inner; ++level) {
    blocks *= double(nest.counts[level]);
  }
  return blocks;
}

/// The array multiplies whole sticks: 64 x 64 in 16 bits, 128 x 64 in 8 bits at twice the rate. The
/// next block of B goes in while rows stream past the one before it; the first one of an
/// instruction is waited for.
static void planMatmul(PlannedInstruction &planned, uint64_t points, const arch::Timing &timing) {
  planned.matmulNest = matmulOrder(planned.nest);
  auto depth = uint64_t(planned.lanes);
  planned.cost.ptMacs = points * depth * kMatmulBlock;
  planned.cost.ptRows = points;
  double rate = timing.ptMacsPerCycle * double(depth) / double(kMatmulBlock);
  double blocks = matmulBlocks(planned.matmulNest);
  double stream = double(planned.cost.ptMacs) / rate / blocks;
  double fill = double(kMatmulBlock * kStickBytes) / timing.ptFillBytesPerCycle;
  double cycles = fill + (blocks - 1) * std::max(stream, fill) + stream;
  planned.duration.busyCycles = wholeCycles(cycles);
  planned.duration.reason = Reason::Pt;
  planned.duration.otherReason = Reason::PtFill;
  // Blocks that are waited for: the first one, and what the others take longer than the rows.
  planned.duration.otherCycles = std::min(
      planned.duration.busyCycles, wholeCycles(fill + (blocks - 1) * std::max(fill - stream, 0.0)));
  addLxTraffic(planned, points);
}

static void planMove(PlannedInstruction &planned, uint64_t points, const arch::Timing &timing) {
  addLxTraffic(planned, points);
  planned.duration = unitDuration(planned, double(points) / timing.moveElementsPerCycle, timing);
}

/// Transfers of one exchange share the links between their cores; the fullest link decides.
static void planExchange(PlannedInstruction &planned, const PhaseTables &tables, uint64_t points,
                         const arch::Timing &timing) {
  uint64_t bytes = points * kStickBytes;
  planned.cost.ringBytes = bytes;
  const RingUse &use = tables.ringUse(*planned.source);
  int64_t run = std::min(runBytes(planned.nest, 0), runBytes(planned.nest, 1));
  double runs = double(bytes) / double(run);
  double transfer = double(bytes) * double(use.linkTransfers) / timing.ringBytesPerCycle;
  planned.duration.busyCycles =
      wholeCycles(transfer + runs * double(use.hops) * timing.ringRunCycles);
  planned.duration.latencyCycles = wholeCycles(double(use.hops) * timing.ringHopCycles);
  planned.duration.reason = planned.duration.latencyReason = Reason::Ring;
  addLxTraffic(planned, points);
}

static void planCost(PlannedInstruction &planned, const PhaseTables &tables,
                     const arch::Timing &timing) {
  auto points = uint64_t(planned.source->points());
  planned.cost.instructions = 1;
  switch (planned.source->opcode) {
  case Opcode::Load:
  case Opcode::Store:
  case Opcode::Gather:
  case Opcode::Scatter:
    planTransfer(planned, tables, points, timing);
    break;
  case Opcode::Fill:
  case Opcode::Vector:
  case Opcode::Accumulate:
  case Opcode::Finish:
  case Opcode::Convert:
  case Opcode::TopK:
    planLaneWork(planned, points, timing);
    break;
  case Opcode::Matmul:
    planMatmul(planned, points, timing);
    break;
  case Opcode::Shuffle:
  case Opcode::Pick:
    planMove(planned, points, timing);
    break;
  case Opcode::Exchange:
    planExchange(planned, tables, points, timing);
    break;
  case Opcode::Loop:
  case Opcode::EndLoop:
  case Opcode::Barrier:
  case Opcode::Signal:
  case Opcode::Wait:
    planned.cost.instructions = 0;
    break;
  }
}

static PlannedInstruction planInstruction(const Instruction &source, const PhaseTables &tables,
                                          const arch::Timing &timing) {
  PlannedInstruction planned;
  planned.source = &source;
  planned.nest = simplifiedNest(source);
  planned.unit = program::unitOf(source.opcode);
  planned.lanes = std::max<int64_t>(numerics::elemsPerStick(source.format), 1);
  planOperands(planned);
  planCost(planned, tables, timing);
  return planned;
}

static std::string printable(const std::string &name) {
  std::string text = name.substr(0, 64);
  std::replace_if(text.begin(), text.end(), [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return text;
}

static bool readsIndices(Opcode opcode) {
  return opcode == Opcode::Gather || opcode == Opcode::Scatter || opcode == Opcode::Pick;
}

PlannedPhase planPhase(const program::Phase &phase, size_t index, const arch::DeviceDesc &device) {
  PlannedPhase planned{&phase, index, printable(phase.name), {}, 0, false};
  planned.instructions.reserve(phase.instructions.size());
  PhaseTables tables(phase, device);
  std::vector<size_t> openLoops;
  double trips = 1, storedSticks = 0;
  for (size_t i = 0; i < phase.instructions.size(); ++i) {
    const Instruction &source = phase.instructions[i];
    planned.instructions.push_back(planInstruction(source, tables, device.timing));
    PlannedInstruction &added = planned.instructions.back();
    added.index = i;
    if (source.opcode == Opcode::Loop) {
      openLoops.push_back(i);
      trips *= double(source.parameter);
    } else if (source.opcode == Opcode::EndLoop) {
      added.partner = openLoops.back();
      planned.instructions[added.partner].partner = i;
      trips /= double(phase.instructions[added.partner].parameter);
      openLoops.pop_back();
    }
    double points = double(source.points()) * trips * double(phase.cores);
    planned.hostPoints += points * (source.opcode == Opcode::Matmul ? 16 : 1);
    storedSticks += source.opcode == Opcode::Store ? points : 0;
    planned.hasFixedAddresses = planned.hasFixedAddresses && !readsIndices(source.opcode);
  }
  planned.storesPastCaches = storedSticks * kStickBytes > kCachedBytes;
  return planned;
}

} // namespace spyre::sim
