//===- Core.cpp - control and addresses of a core -------------------------------------------===//
#include "Core.h"

#include "StreamCopy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spyre::sim {

using program::kMaxLoops;
using program::Opcode;
using program::Operand;
using program::Role;
using program::Unit;

Core::Core(size_t index, HostMemory lx, std::unique_ptr<Shadow> shadow)
    : coreIndex(index), memory(std::move(lx)), shadowState(std::move(shadow)),
      scratch(std::make_unique<Scratch>()) {}

Expected<Core> Core::create(size_t index, uint64_t lxBytes, bool sanitizer) {
  SPYRE_ASSIGN_OR_RETURN(HostMemory memory, HostMemory::reserve(lxBytes));
  return Core(index, std::move(memory), sanitizer ? std::make_unique<Shadow>(lxBytes) : nullptr);
}

Core::Image Core::save() const {
  const uint8_t *begin = memory.at(0);
  return {{begin, begin + memory.bytes()}, shadowState ? shadowState->save() : Shadow::Image()};
}

void Core::restore(const Image &image) {
  std::memcpy(memory.at(0), image.data.data(), image.data.size());
  if (shadowState) {
    shadowState->restore(image.shadow);
  }
}

//===- Control ------------------------------------------------------------------------------===//

void Core::beginLaunch() { faultStatus = Status::success(); }

void Core::beginPhase(const PlannedPhase &plannedPhase, const LaunchContext &launchContext,
                      bool orderIsOpen, uint64_t cycle) {
  phase = &plannedPhase;
  context = &launchContext;
  checksOrder = orderIsOpen;
  phaseCounters = {};
  pc = 0;
  depth = 0;
  loops = {};
  if (checksOrder && phase->source->overlap) {
    shadowState->ensureTimes();
  }
  if (context->trace) {
    unitClock.begin(phase->source->overlap, {cycle});
  }
  order.forgetTokens();
  reachBarrier(cycle);
}

void Core::reachBarrier(uint64_t cycle) {
  prefetcher.clear();
  phaseAccesses.clear();
  if (context->trace) {
    unitClock.synchronize({cycle});
  }
  if (order.isHalfFull()) {
    order.reset();
    shadowState->forgetTimes();
  } else {
    order.synchronize();
  }
}

Core::Stop Core::run() {
  Stop stop = runToCollective();
  if (phase->storesPastCaches) {
    endStream();
  }
  return stop;
}

Core::Stop Core::runToCollective() {
  while (pc < phase->instructions.size()) {
    const PlannedInstruction &planned = phase->instructions[pc];
    switch (planned.source->opcode) {
    case Opcode::Loop:
      loops[depth++] = 0;
      break;
    case Opcode::EndLoop:
      if (++loops[depth - 1] < phase->instructions[planned.partner].source->parameter) {
        pc = planned.partner;
      } else {
        loops[--depth] = 0;
      }
      break;
    case Opcode::Exchange:
      current = &planned;
      return Stop::Exchange;
    case Opcode::Barrier:
      return Stop::Barrier;
    default:
      if (!step(planned)) {
        return Stop::Fault;
      }
    }
    ++pc;
  }
  return Stop::Done;
}

bool Core::skips(const program::Instruction &source) const {
  return source.onlyTable >= 0 &&
         phase->source->coreTables[size_t(source.onlyTable)][coreIndex] == 0;
}

bool Core::step(const PlannedInstruction &planned) {
  const program::Instruction &source = *planned.source;
  if (skips(source)) {
    return true;
  }
  current = &planned;
  if (source.opcode == Opcode::Signal || source.opcode == Opcode::Wait) {
    return synchronize(source);
  }
  return execute(planned);
}

bool Core::synchronize(const program::Instruction &source) {
  if (source.opcode == Opcode::Signal) {
    if (!order.signal(source.unit, source.token)) {
      return fail(error<7006>("bad-program: {} signals token {} more than {} times before anybody "
                              "waits; wait once for each signal",
                              where(), source.token, kMostSignals));
    }
    return !context->trace || unitClock.signal(source.unit, source.token);
  }
  if (!order.wait(source.unit, source.token)) {
    return fail(error<7016>("deadlock: {} waits for token {}, which no instruction before it has "
                            "signalled; put the signal first",
                            where(), source.token));
  }
  return !context->trace || unitClock.wait(source.unit, source.token);
}

bool Core::beginOrder(Unit unit) {
  if (!checksOrder || !phase->source->overlap) {
    return true;
  }
  if (order.isFull()) {
    // Times must not wrap in the middle of what they order.
    return fail(error<7006>("bad-program: {} is one of {} instructions of a unit in phases that "
                            "overlap without a barrier; put a barrier between them",
                            where(), UINT32_MAX / 2));
  }
  order.begin(unit);
  return true;
}

bool Core::execute(const PlannedInstruction &planned) {
  std::array<size_t, program::kMaxOperands> owners;
  owners.fill(coreIndex);
  if (!beginOrder(planned.unit) || !resolve(planned, owners, places) || !runUnit()) {
    return false;
  }
  account(planned);
  record(planned);
  return true;
}

void Core::account(const PlannedInstruction &planned) {
  phaseCounters += planned.cost;
  const program::Instruction &source = *planned.source;
  if (source.opcode == Opcode::Load && source.peerTable >= 0) {
    // The leader reads DDR, the others get it from the ring.
    bool leads =
        phase->source->coreTables[size_t(source.peerTable)][coreIndex] == int64_t(coreIndex);
    (leads ? phaseCounters.ringBytes : phaseCounters.ddrReadBytes) -=
        leads ? planned.cost.ringBytes : planned.cost.ddrReadBytes;
  }
}

void Core::record(const PlannedInstruction &planned) {
  if (context->trace) {
    Interval interval = unitClock.run(planned.unit, planned.duration);
    traceLog.add({context->launch, uint32_t(phase->index), uint32_t(planned.index),
                  uint32_t(coreIndex), uint32_t(planned.unit), interval.start, interval.end});
  }
}

//===- Addresses ----------------------------------------------------------------------------===//

/// The verifier checked the sum; parts of it may be larger, so they are added modulo 2^64.
int64_t Core::addressTerms(const Operand &operand) const {
  auto address = uint64_t(operand.offset);
  if (operand.coreTable >= 0) {
    address += uint64_t(phase->source->coreTables[size_t(operand.coreTable)][coreIndex]);
  }
  for (size_t i = 0; i < kMaxLoops; ++i) {
    address += uint64_t(loops[i]) * uint64_t(operand.loopStride[i]);
  }
  return int64_t(address);
}

bool Core::resolve(const PlannedInstruction &planned, std::span<const size_t> owners,
                   Places &found) {
  for (size_t op = 0; op < planned.source->operands.size(); ++op) {
    if (!resolveOperand(planned, op, owners[op], found[op])) {
      return false;
    }
  }
  return true;
}

/// Checks the reach of the whole nest; an index may still lead further (IndirectUnits.cpp).
bool Core::resolveOperand(const PlannedInstruction &planned, size_t index, size_t owner,
                          Place &place) {
  const Operand &operand = planned.source->operands[index];
  const PlannedOperand &reach = planned.operands[index];
  place.address = addressTerms(operand);
  if (!reach.inMemory || reach.role == Role::Number) {
    return true;
  }
  const BufferPlace &buffer = context->buffers[size_t(operand.buffer)];
  place.begin = buffer.start;
  if (!buffer.source->coreOffset.empty()) {
    place.begin += buffer.source->coreOffset[owner];
  }
  place.end = place.begin + buffer.source->bytes;
  place.address += place.begin;
  int64_t low = place.address + reach.low, high = place.address + reach.high;
  if (low < place.begin || high > place.end) {
    return fail(error<7009>("outside-allocation: {} {} reaches {:#x}..{:#x}, but the buffer is "
                            "{:#x}..{:#x}; correct the offset or declare the buffer larger",
                            where(), what(index), low, high, place.begin, place.end));
  }
  if (context->sanitizer && !checkLife(index, place.address)) {
    return false;
  }
  if (reach.inDdr) {
    return resolveDdr(index, place, low, high);
  }
  if (place.begin < 0 || uint64_t(place.end) > memory.bytes()) {
    return fail(error<7002>("out-of-bounds: {} {} lies at LX {:#x}..{:#x}, but LX has {:#x} bytes",
                            where(), what(index), place.begin, place.end, memory.bytes()));
  }
  int64_t slice =
      operand.sliceTable < 0 ? 0 : phase->source->coreTables[size_t(operand.sliceTable)][coreIndex];
  place.key = uint64_t(buffer.tag) << 32 | uint32_t(slice);
  return true;
}

bool Core::resolveDdr(size_t operand, Place &place, int64_t low, int64_t high) {
  int64_t segmentBytes = context->device->segmentBytes;
  auto index = size_t(low / segmentBytes);
  int64_t base = int64_t(index) * segmentBytes;
  Segment segment = index < context->segments.size() ? context->segments[index] : Segment();
  if (uint64_t(high - base) > segment.sizeBytes) {
    return fail(error<7002>("out-of-bounds: {} {} reaches DDR {:#x}..{:#x}, but segment {} has "
                            "{:#x} mapped bytes",
                            where(), what(operand), low, high, index, segment.sizeBytes));
  }
  int64_t shift = int64_t(segment.physicalBase) - base;
  place.address += shift;
  place.begin += shift;
  // An index may lead to any mapped byte of the buffer.
  place.end = std::min(place.end, base + int64_t(segment.sizeBytes)) + shift;
  return true;
}

} // namespace spyre::sim
