//===- Launch.cpp - buffers, phases, barriers and wipes of a launch -------------------------===//
#include "Machine.h"
#include "PhaseTimer.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace spyre::sim {

using program::Buffer;
using program::Space;

/// Below this many stick operations over all cores, waking host threads costs more than it brings.
static constexpr double kSerialPoints = 2000;
static constexpr uint32_t kPersistentTag = uint32_t(1) << 31;

//===- Buffers ------------------------------------------------------------------------------===//

/// The same for every program with a buffer at this place (FNV-1a). Names do not count: a place
/// that comes in and is handed on again has two of them.
static uint32_t persistentTag(const Buffer &buffer) {
  uint32_t hash = 2166136261u;
  auto mix = [&](uint8_t byte) { hash = (hash ^ byte) * 16777619u; };
  for (int shift = 0; shift < 64; shift += 8) {
    mix(uint8_t(uint64_t(buffer.base) >> shift));
    mix(uint8_t(uint64_t(buffer.bytes) >> shift));
  }
  return hash | kPersistentTag;
}

Expected<int64_t> Machine::startOf(const program::Program &program, const Buffer &buffer) const {
  if (buffer.symbol < 0) {
    return buffer.base;
  }
  const program::Symbol &symbol = program.symbols[size_t(buffer.symbol)];
  if (symbol.value == program::kUnsetSymbol) {
    return error<7006>(
        "bad-program: symbol {} of buffer {} has no value; write it into the program "
        "before the launch",
        symbol.name, buffer.name);
  }
  int64_t addressSpace = device.segments * device.segmentBytes;
  int64_t start = 0;
  if (__builtin_add_overflow(symbol.value, buffer.base, &start) || start < 0 ||
      start % kStickBytes != 0 || start > addressSpace - buffer.bytes ||
      start / device.segmentBytes != (start + buffer.bytes - 1) / device.segmentBytes) {
    return error<7007>(
        "bad-mapping: symbol {} = {:#x} puts buffer {} of {} bytes at {:#x}; it must "
        "start at a stick and lie inside one segment",
        symbol.name, symbol.value, buffer.name, buffer.bytes, start);
  }
  return start;
}

Expected<std::vector<BufferPlace>> Machine::placeBuffers(const program::Program &program) {
  if (nextTag + program.buffers.size() >= kPersistentTag) {
    // Tags are used up: forget whose data it was. Happens once in billions of launches.
    for (Core &core : cores) {
      if (core.shadow() != nullptr) {
        core.shadow()->forgetAll(kNeverWritten);
      }
    }
    nextTag = kFirstTag;
  }
  std::vector<BufferPlace> places;
  places.reserve(program.buffers.size());
  for (const Buffer &buffer : program.buffers) {
    SPYRE_ASSIGN_OR_RETURN(int64_t start, startOf(program, buffer));
    bool persistent = buffer.space == Space::Lx && (buffer.liveIn || buffer.liveOut);
    uint32_t tag = persistent ? persistentTag(buffer) : nextTag++;
    places.push_back({&buffer, start, tag});
  }
  return places;
}

static bool mayShare(const Buffer &a, const Buffer &b, int32_t indexA, int32_t indexB) {
  // In place: the one begins in the phase where the other ends.
  return (b.inPlaceOf == indexA && b.firstPhase == a.lastPhase) ||
         (a.inPlaceOf == indexB && a.firstPhase == b.lastPhase);
}

static int64_t startOn(const Buffer &buffer, size_t core) {
  return buffer.base + (buffer.coreOffset.empty() ? 0 : buffer.coreOffset[core]);
}

/// Cores that have the buffer: those with an offset, if it has any.
static size_t coresOf(const Buffer &buffer, size_t cores) {
  return buffer.coreOffset.empty() ? cores : std::min(cores, buffer.coreOffset.size());
}

/// Error when the two share a byte on one of \p cores cores.
static Status checkApart(const Buffer &a, const Buffer &b, size_t cores) {
  bool sameOnAll = a.coreOffset.empty() && b.coreOffset.empty();
  size_t both = std::min(coresOf(a, cores), coresOf(b, cores));
  for (size_t core = 0; core < (sameOnAll ? 1 : both); ++core) {
    int64_t startA = startOn(a, core), startB = startOn(b, core);
    if (startA < startB + b.bytes && startB < startA + a.bytes) {
      return error<7018>(
          "overlapping-buffers: core {} LX {:#x}: buffers {} ({:#x}..{:#x}, phases {}..{}) and {} "
          "({:#x}..{:#x}, phases {}..{}) are live at the same time; move one of them",
          core, std::max(startA, startB), a.name, startA, startA + a.bytes, a.firstPhase,
          a.lastPhase, b.name, startB, startB + b.bytes, b.firstPhase, b.lastPhase);
    }
  }
  return Status::success();
}

/// LX buffers whose lives overlap must not share an address on any core. Walks the phases with the
/// list of buffers that are live.
static Status checkBuffersApart(const program::Program &program, size_t cores) {
  std::vector<int32_t> order, live;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].space == Space::Lx) {
      order.push_back(int32_t(i));
    }
  }
  auto bufferAt = [&](int32_t index) -> const Buffer & { return program.buffers[size_t(index)]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return bufferAt(a).firstPhase < bufferAt(b).firstPhase;
  });
  for (int32_t index : order) {
    const Buffer &buffer = bufferAt(index);
    std::erase_if(live,
                  [&](int32_t other) { return bufferAt(other).lastPhase < buffer.firstPhase; });
    for (int32_t other : live) {
      if (!mayShare(bufferAt(other), buffer, other, index)) {
        SPYRE_RETURN_IF_ERROR(checkApart(bufferAt(other), buffer, cores));
      }
    }
    live.push_back(index);
  }
  return Status::success();
}

/// A buffer that is live-out and not live-in has the key that an earlier launch of the program
/// wrote with; what that one left counts as never written now. Not where another buffer of this
/// place comes in: it is read before the place is handed on.
void Machine::forgetOldResults(std::span<const BufferPlace> buffers) {
  const auto comesIn = [&](uint32_t tag) {
    return std::any_of(buffers.begin(), buffers.end(), [&](const BufferPlace &other) {
      return other.source->liveIn && other.tag == tag;
    });
  };
  for (const BufferPlace &buffer : buffers) {
    if (!sanitizer || !buffer.source->liveOut || buffer.source->liveIn || comesIn(buffer.tag)) {
      continue;
    }
    for (size_t core = 0; core < coresOf(*buffer.source, cores.size()); ++core) {
      cores[core].shadow()->forgetTag(startOn(*buffer.source, core), buffer.source->bytes,
                                      buffer.tag);
    }
  }
}

/// What decides, beside the program, which bytes are touched.
static std::vector<uint64_t> placesOf(std::span<const BufferPlace> buffers,
                                      std::span<const Segment> segments) {
  std::vector<uint64_t> places;
  for (const BufferPlace &buffer : buffers) {
    places.push_back(uint64_t(buffer.start));
  }
  for (const Segment &segment : segments) {
    places.insert(places.end(), {segment.physicalBase, segment.sizeBytes});
  }
  return places;
}

//===- Launch -------------------------------------------------------------------------------===//

Status Machine::launch(uint64_t programAddress, uint64_t programBytes,
                       std::span<const Segment> segments, uint32_t flags) {
  SPYRE_RETURN_IF_ERROR(checkMapping(segments));
  SPYRE_ASSIGN_OR_RETURN(PlannedProgram * plan,
                         fetchProgram(programAddress, programBytes, segments));
  SPYRE_ASSIGN_OR_RETURN(std::vector<BufferPlace> buffers, placeBuffers(plan->program));
  if (!plan->buffersAreApart) {
    SPYRE_RETURN_IF_ERROR(checkBuffersApart(plan->program, cores.size()));
    plan->buffersAreApart = true;
  }
  LaunchContext context{.device = &device,
                        .ddr = &ddr,
                        .segments = segments,
                        .buffers = buffers,
                        .sanitizer = sanitizer,
                        .trace = tracing,
                        .launch = tracedLaunches};
  for (Core &core : cores) {
    core.beginLaunch();
  }
  forgetOldResults(buffers);
  plan->orderProofs.begin(placesOf(buffers, segments), plan->phases.size());
  launchCounters = {};
  launchStalls = {};
  uint64_t start = tracing ? tracedCycles : 0;
  uint64_t overhead = wholeCycles(device.timing.launchOverheadCycles) +
                      wholeCycles(device.timing.bundleOverheadCycles);
  uint64_t cycle = start + overhead;
  launchStalls[size_t(Reason::Overhead)] = overhead;
  Status status = Status::success();
  for (size_t i = 0; i < plan->phases.size() && status.ok(); ++i) {
    currentPhase = uint32_t(i);
    status = runPhase(*plan, i, context, cycle);
  }
  if (wipesBetweenLaunches && (flags & SPYRE_SIM_NON_TERMINAL) == 0) {
    wipe();
  }
  if (!status.ok()) {
    for (Core &core : cores) {
      core.trace().forgetLaunch(tracedLaunches);
    }
    return status;
  }
  if (tracing) {
    ++tracedLaunches;
    tracedCycles = cycle;
  }
  addToTotals(launchCounters, programBytes, cycle - start);
  return Status::success();
}

/// On a pool thread: nothing may be thrown from here.
static Core::Stop runCore(Core &core, const PlannedPhase &phase) {
  try {
    return core.run();
  } catch (const std::bad_alloc &) {
    core.fail(error<7008>("system-error: no host memory left while phase {} ran", phase.name));
    return Core::Stop::Fault;
  }
}

void Machine::runCores(std::span<Core> active, const PlannedPhase &phase,
                       std::vector<Core::Stop> &stops) {
  if (phase.hostPoints < kSerialPoints) {
    for (size_t i = 0; i < active.size(); ++i) {
      stops[i] = runCore(active[i], phase);
    }
    return;
  }
  pool.parallelFor(active.size(), [&](size_t i) { stops[i] = runCore(active[i], phase); });
}

/// Each core stops at its own first fault. The lowest core is the one reported, but a contained
/// fault only if there is no other.
static Status faultToReport(std::span<Core> active) {
  Status contained = Status::success();
  for (Core &core : active) {
    if (!isContained(core.fault())) {
      SPYRE_RETURN_IF_ERROR(core.fault());
    } else if (contained.ok()) {
      contained = core.fault();
    }
  }
  return contained;
}

std::optional<uint32_t> Machine::containedPhase(const Status &status) const {
  return isContained(status) ? std::optional<uint32_t>(currentPhase) : std::nullopt;
}

Status Machine::runPhase(PlannedProgram &plan, size_t index, const LaunchContext &context,
                         uint64_t &cycle) {
  const PlannedPhase &phase = plan.phases[index];
  std::span<Core> active(cores.data(), size_t(phase.source->cores));
  uint64_t traced = cycle + wholeCycles(device.timing.phaseOverheadCycles);
  bool checksOrder = sanitizer && !plan.orderProofs.has(index);
  for (Core &core : active) {
    core.beginPhase(phase, context, checksOrder, traced);
  }
  std::vector<Core::Stop> stops(active.size());
  while (true) {
    runCores(active, phase, stops);
    SPYRE_RETURN_IF_ERROR(faultToReport(active));
    // All cores run the same stream, so all stop at the same place.
    if (stops[0] == Core::Stop::Exchange) {
      SPYRE_RETURN_IF_ERROR(ring.exchange(active, context, phase, pool));
    } else {
      if (checksOrder) {
        SPYRE_RETURN_IF_ERROR(checkRaces(active, phase, context));
      }
      barrier(active, context, traced);
      if (stops[0] == Core::Stop::Done) {
        break;
      }
    }
    for (Core &core : active) {
      core.pass();
    }
  }
  for (Core &core : active) {
    launchCounters += core.counters();
  }
  if (checksOrder) {
    plan.orderProofs.add(phase);
  }
  plan.times.resize(plan.phases.size());
  std::optional<PhaseTime> &time = plan.times[index];
  if (!time) {
    SPYRE_ASSIGN_OR_RETURN(time, timeOf(phase, device.timing));
  }
  cycle += time->cycles;
  for (size_t i = 0; i < kReasons; ++i) {
    launchStalls[i] += time->stallCycles[i];
  }
  return Status::success();
}

/// All units of all cores have finished: what they stored is there for everybody.
void Machine::barrier(std::span<Core> active, const LaunchContext &context, uint64_t &cycle) {
  for (Core &core : active) {
    cycle = context.trace ? std::max(cycle, core.clock().done().cycle) : cycle;
  }
  cycle += wholeCycles(device.timing.barrierCycles);
  for (Core &core : active) {
    core.reachBarrier(cycle);
  }
}

Status Machine::checkRaces(std::span<Core> active, const PlannedPhase &phase,
                           const LaunchContext &context) {
  if (active.size() == 1) {
    return Status::success();
  }
  std::vector<CoreAccesses *> accesses;
  for (Core &core : active) {
    accesses.push_back(&core.accesses());
  }
  std::optional<Race> race = findRace(accesses);
  if (!race) {
    return Status::success();
  }
  auto nameOf = [&](size_t instruction) {
    const program::Instruction &source = *phase.instructions[instruction].source;
    size_t ddrOperand = program::operandRoles(source).role[0] == program::Role::DdrStick
                            ? 0
                            : source.operands.size() - 1;
    return context.buffers[size_t(source.operands[ddrOperand].buffer)].source->name;
  };
  if (race->bothWrite) {
    return error<7004>(
        "overlapping-write: core {} phase {} instruction {} (buffer {}) and core {} instruction {} "
        "(buffer {}) both write physical DDR {:#x} before a barrier; give each stick one owner",
        race->core, phase.name, race->instruction, nameOf(race->instruction), race->otherCore,
        race->otherInstruction, nameOf(race->otherInstruction), race->address);
  }
  return error<7005>(
      "missing-barrier: core {} phase {} instruction {} (buffer {}) reads physical DDR {:#x}, "
      "which core {} instruction {} (buffer {}) writes without a barrier between them; end the "
      "phase or put a barrier there",
      race->core, phase.name, race->instruction, nameOf(race->instruction), race->address,
      race->otherCore, race->otherInstruction, nameOf(race->otherInstruction));
}

/// Another user of the card had the cores in between.
void Machine::wipe() {
  uint64_t seed = wipeRandom.next();
  pool.parallelFor(cores.size(), [&](size_t i) {
    Core &core = cores[i];
    uint64_t pattern = seed + i;
    for (uint64_t address = 0; address + sizeof(pattern) <= core.lxBytes();
         address += sizeof(pattern)) {
      pattern = pattern * 6364136223846793005u + 1442695040888963407u;
      std::memcpy(core.lx(int64_t(address)), &pattern, sizeof(pattern));
    }
    if (core.shadow() != nullptr) {
      core.shadow()->forgetAll(kWiped);
    }
  });
}

void Machine::addToTotals(const Counters &launch, uint64_t programBytes, uint64_t cycles) {
  totals.launches += 1;
  totals.ddr_read_bytes += launch.ddrReadBytes;
  totals.ddr_write_bytes += launch.ddrWriteBytes;
  totals.lx_read_bytes += launch.lxReadBytes;
  totals.lx_write_bytes += launch.lxWriteBytes;
  totals.ring_bytes += launch.ringBytes;
  totals.program_bytes += programBytes;
  totals.pt_macs += launch.ptMacs;
  totals.sfp_lane_ops += launch.sfpLaneOps;
  totals.instructions += launch.instructions;
  totals.cycles += cycles;
  totals.nanoseconds += wholeCycles(double(cycles) / device.timing.clockGhz);
  totals.sanitizer_checks += launch.sanitizerChecks;
  for (size_t i = 0; i < kReasons; ++i) {
    totals.stall_cycles[i] += launchStalls[i];
  }
}

} // namespace spyre::sim
