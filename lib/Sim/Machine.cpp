//===- Machine.cpp - host access, launches, barriers ----------------------------------------===//
#include "Machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace spyre::sim {

/// Larger programs are refused before they are copied; real ones have a few megabytes.
static constexpr uint64_t kMaxProgramBytes = uint64_t(1) << 30;

Machine::Machine(arch::DeviceDesc device, HostMemory ddr, std::vector<Core> cores, uint32_t threads,
                 bool sanitizer)
    : device(std::move(device)), ddr(std::move(ddr)), cores(std::move(cores)), pool(threads),
      sanitizer(sanitizer) {}

Expected<std::unique_ptr<Machine>> Machine::create(const spyre_sim_config &config) {
  if (config.device_json == nullptr) {
    return error<7001>("configuration: device_json is NULL; pass the device description as JSON");
  }
  Expected<arch::DeviceDesc> device = arch::DeviceDesc::fromJson(config.device_json);
  if (!device) {
    return error<7001>("configuration: {}", device.status().message());
  }
  SPYRE_ASSIGN_OR_RETURN(HostMemory ddr, HostMemory::reserve(uint64_t(device->ddrBytes)));
  std::vector<Core> cores;
  for (int64_t i = 0; i < device->cores; ++i) {
    SPYRE_ASSIGN_OR_RETURN(Lx lx, Lx::create(uint64_t(device->lxBytes)));
    cores.emplace_back(size_t(i), std::move(lx));
  }
  return std::unique_ptr<Machine>(new Machine(*std::move(device), std::move(ddr), std::move(cores),
                                              config.threads, config.sanitizer != 0));
}

//===- Host access --------------------------------------------------------------------------===//

Status Machine::checkDdrRange(uint64_t address, uint64_t bytes) const {
  if (!ddr.contains(address, bytes)) {
    return error<7002>(
        "out-of-bounds: {} bytes at physical DDR address {:#x}, but DDR has {:#x} bytes", bytes,
        address, ddr.bytes());
  }
  return Status::success();
}

Status Machine::write(uint64_t address, const void *data, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkDdrRange(address, bytes));
  if (bytes > 0) {
    std::memcpy(ddr.at(address), data, bytes);
  }
  return Status::success();
}

Status Machine::read(uint64_t address, void *data, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkDdrRange(address, bytes));
  if (bytes > 0) {
    std::memcpy(data, ddr.at(address), bytes);
  }
  return Status::success();
}

Status Machine::discard(uint64_t address, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkDdrRange(address, bytes));
  ddr.discard(address, bytes);
  return Status::success();
}

Status Machine::readLx(uint32_t core, uint64_t address, void *data, uint64_t bytes) {
  if (core >= cores.size()) {
    return error<7002>("out-of-bounds: core {} of {}", core, cores.size());
  }
  Lx &lx = cores[core].lx();
  if (address > lx.bytes() || bytes > lx.bytes() - address) {
    return error<7002>("out-of-bounds: {} bytes at LX {:#x} of core {}, but LX has {:#x} bytes",
                       bytes, address, core, lx.bytes());
  }
  if (bytes > 0) {
    std::memcpy(data, lx.at(int64_t(address)), bytes);
  }
  return Status::success();
}

//===- Launch -------------------------------------------------------------------------------===//

Status Machine::checkMapping(std::span<const Segment> segments) const {
  if (segments.size() > uint64_t(device.segments)) {
    return error<7007>("bad-mapping: {} segments, but the device has {}", segments.size(),
                       device.segments);
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment &segment = segments[i];
    if (segment.sizeBytes > uint64_t(device.segmentBytes) ||
        !ddr.contains(segment.physicalBase, segment.sizeBytes) ||
        segment.physicalBase % kStickBytes != 0) {
      return error<7007>(
          "bad-mapping: segment {} maps {:#x} bytes at physical {:#x}; it must start at "
          "a stick, lie inside DDR ({:#x} bytes) and have at most {:#x} bytes",
          i, segment.sizeBytes, segment.physicalBase, ddr.bytes(), device.segmentBytes);
    }
  }
  return Status::success();
}

Expected<program::Program> Machine::fetchProgram(uint64_t address, uint64_t bytes,
                                                 std::span<const Segment> segments) const {
  auto index = uint64_t(device.programSegment());
  auto base = uint64_t(device.segmentBase(device.programSegment()));
  Segment segment = index < segments.size() ? segments[index] : Segment();
  uint64_t offset = address - base;
  if (address < base || offset > segment.sizeBytes || bytes > segment.sizeBytes - offset) {
    return error<7007>(
        "bad-mapping: the program of {} bytes at {:#x} is not in the program segment "
        "{} ({:#x} mapped bytes at {:#x})",
        bytes, address, index, segment.sizeBytes, base);
  }
  if (bytes > kMaxProgramBytes) {
    return error<7006>("bad-program: {} bytes, the most are {}", bytes, kMaxProgramBytes);
  }
  const auto *data = reinterpret_cast<const char *>(ddr.at(segment.physicalBase + offset));
  Expected<program::Program> program = program::readProgram(std::string(data, bytes));
  if (!program) {
    return error<7006>("bad-program: {}", program.status().message());
  }
  if (Status status = program::verifyProgram(*program, device); !status.ok()) {
    return error<7006>("bad-program: {}", status.message());
  }
  return program;
}

Status Machine::launch(uint64_t programAddress, uint64_t programBytes,
                       std::span<const Segment> segments) {
  SPYRE_RETURN_IF_ERROR(checkMapping(segments));
  SPYRE_ASSIGN_OR_RETURN(program::Program program,
                         fetchProgram(programAddress, programBytes, segments));
  LaunchContext context{&device, &ddr, segments, sanitizer};
  for (Core &core : cores) {
    core.beginLaunch();
  }
  launchCounters = {};
  launchCounters.cycles = wholeCycles(device.timing.launchOverheadCycles);
  for (const program::Phase &phase : program.phases) {
    SPYRE_RETURN_IF_ERROR(runPhase(planPhase(phase, device), context));
  }
  addToTotals(launchCounters, programBytes);
  return Status::success();
}

/// On a pool thread: nothing may be thrown from here.
static void runCore(Core &core, const PlannedPhase &phase, const LaunchContext &context) {
  try {
    core.runPhase(phase, context);
  } catch (const std::bad_alloc &) {
    core.fail(error<7008>("system-error: no host memory left while phase {} ran", phase.name));
  }
}

Status Machine::runPhase(const PlannedPhase &phase, const LaunchContext &context) {
  auto activeCores = size_t(phase.source->cores);
  pool.parallelFor(activeCores, [&](size_t i) { runCore(cores[i], phase, context); });
  uint64_t slowest = 0;
  for (size_t i = 0; i < activeCores; ++i) {
    // Each core stops at its own first fault; the lowest core is the one reported.
    SPYRE_RETURN_IF_ERROR(cores[i].fault());
    Counters counters = cores[i].counters();
    slowest = std::max(slowest, counters.cycles);
    counters.cycles = 0;
    launchCounters += counters;
  }
  launchCounters.cycles += slowest + wholeCycles(device.timing.barrierCycles);
  return checkRaces(phase, context);
}

Status Machine::checkRaces(const PlannedPhase &phase, const LaunchContext &context) {
  if (!context.sanitizer || phase.source->cores == 1) {
    return Status::success();
  }
  std::vector<CoreAccesses *> accesses;
  for (int64_t i = 0; i < phase.source->cores; ++i) {
    accesses.push_back(&cores[size_t(i)].accesses());
  }
  std::optional<Race> race = findRace(accesses);
  if (!race) {
    return Status::success();
  }
  if (race->bothWrite) {
    return error<7004>(
        "overlapping-write: core {} phase {} instruction {} and core {} instruction {} "
        "both write physical DDR {:#x} before a barrier; give each stick one owner",
        race->core, phase.name, race->instruction, race->otherCore, race->otherInstruction,
        race->address);
  }
  return error<7005>(
      "undefined-behavior: core {} phase {} instruction {} reads physical DDR {:#x}, "
      "which core {} instruction {} writes in the same phase; end the phase between "
      "them",
      race->core, phase.name, race->instruction, race->address, race->otherCore,
      race->otherInstruction);
}

void Machine::addToTotals(const Counters &launch, uint64_t programBytes) {
  totals.launches += 1;
  totals.ddr_read_bytes += launch.ddrReadBytes;
  totals.ddr_write_bytes += launch.ddrWriteBytes;
  totals.lx_read_bytes += launch.lxReadBytes;
  totals.lx_write_bytes += launch.lxWriteBytes;
  totals.program_bytes += programBytes;
  totals.pt_macs += launch.ptMacs;
  totals.sfp_lane_ops += launch.sfpLaneOps;
  totals.instructions += launch.instructions;
  totals.cycles += launch.cycles;
  totals.nanoseconds += wholeCycles(double(launch.cycles) / device.timing.clockGhz);
  totals.sanitizer_checks += launch.sanitizerChecks;
}

} // namespace spyre::sim
