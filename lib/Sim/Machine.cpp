//===- Machine.cpp - creation, host access, mapping, snapshots ------------------------------===//
#include "Machine.h"

#include "StreamCopy.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace spyre::sim {

/// Larger programs are refused before they are copied; real ones have a few megabytes. A plan takes
/// up to thirty times the bytes of its program.
static constexpr uint64_t kMaxProgramBytes = uint64_t(1) << 26;

Machine::Machine(arch::DeviceDesc device, Ddr ddr, std::vector<Core> cores,
                 const spyre_sim_config &config)
    : device(std::move(device)), ddr(std::move(ddr)), cores(std::move(cores)), pool(config.threads),
      sanitizer(config.sanitizer != 0), wipesBetweenLaunches(config.vf_mode != 0),
      wipeRandom(config.wipe_seed) {}

Expected<std::unique_ptr<Machine>> Machine::create(const spyre_sim_config &config) {
  if (config.device_json == nullptr) {
    return error<7001>("configuration: device_json is NULL; pass the device description as JSON");
  }
  Expected<arch::DeviceDesc> device = arch::DeviceDesc::fromJson(config.device_json);
  if (!device) {
    return error<7001>("configuration: {}", device.status().message());
  }
  bool sanitizer = config.sanitizer != 0;
  SPYRE_ASSIGN_OR_RETURN(Ddr ddr, Ddr::create(uint64_t(device->ddrBytes), sanitizer));
  std::vector<Core> cores;
  cores.reserve(size_t(device->cores));
  for (int64_t i = 0; i < device->cores; ++i) {
    SPYRE_ASSIGN_OR_RETURN(Core core,
                           Core::create(size_t(i), uint64_t(device->lxBytes), sanitizer));
    cores.push_back(std::move(core));
  }
  return std::unique_ptr<Machine>(
      new Machine(*std::move(device), std::move(ddr), std::move(cores), config));
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

Status Machine::checkSticks(uint64_t address, uint64_t bytes) const {
  if (address % kStickBytes != 0 || bytes % kStickBytes != 0) {
    return error<7002>("out-of-bounds: {} bytes at {:#x} are not whole sticks of {} bytes", bytes,
                       address, kStickBytes);
  }
  return checkDdrRange(address, bytes);
}

/// Large copies go past the caches and use several threads: one does not saturate the host's
/// memory.
static void copyBytes(ThreadPool &pool, uint8_t *to, const uint8_t *from, uint64_t bytes) {
  constexpr uint64_t kStreamedBytes = uint64_t(1) << 13, kPieceBytes = uint64_t(1) << 20;
  if (bytes < kStreamedBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (bytes < 4 * kPieceBytes) {
    streamCopy(to, from, bytes);
    endStream();
    return;
  }
  pool.parallelFor(size_t((bytes + kPieceBytes - 1) / kPieceBytes), [&](size_t piece) {
    uint64_t begin = piece * kPieceBytes;
    streamCopy(to + begin, from + begin, std::min(kPieceBytes, bytes - begin));
    endStream();
  });
}

Status Machine::write(uint64_t address, const void *data, uint64_t bytes, const uint64_t *padding) {
  SPYRE_RETURN_IF_ERROR(padding == nullptr ? checkDdrRange(address, bytes)
                                           : checkSticks(address, bytes));
  if (bytes == 0) {
    return Status::success();
  }
  ddr.touch(address, bytes);
  copyBytes(pool, ddr.at(address), static_cast<const uint8_t *>(data), bytes);
  if (padding == nullptr) {
    ddr.clearPadding(address, bytes);
  } else if (sanitizer) {
    std::memcpy(ddr.padding(address), padding, bytes / kStickBytes * sizeof(uint64_t));
  }
  return Status::success();
}

Status Machine::read(uint64_t address, void *data, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkDdrRange(address, bytes));
  if (bytes > 0) {
    copyBytes(pool, static_cast<uint8_t *>(data), ddr.at(address), bytes);
  }
  return Status::success();
}

Status Machine::readSticks(uint64_t address, void *data, uint64_t bytes, const uint64_t *padding) {
  SPYRE_RETURN_IF_ERROR(checkSticks(address, bytes));
  const uint64_t *found = sanitizer ? ddr.padding(address) : nullptr;
  for (uint64_t stick = 0; found != nullptr && stick < bytes / kStickBytes; ++stick) {
    uint64_t expected = padding == nullptr ? 0 : padding[stick];
    if ((found[stick] & ~expected) != 0) {
      return error<7012>("padding-read: the host reads physical DDR {:#x} as data, but the device "
                         "has padding there (mask {:#x}, expected {:#x}); the tensor's layout and "
                         "what the program stored do not agree",
                         address + stick * kStickBytes, found[stick], expected);
    }
  }
  return read(address, data, bytes);
}

Status Machine::copy(uint64_t from, uint64_t to, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkDdrRange(from, bytes));
  SPYRE_RETURN_IF_ERROR(checkDdrRange(to, bytes));
  bool overlap = from < to + bytes && to < from + bytes;
  if (overlap && from != to) {
    return error<7002>("out-of-bounds: the {} bytes at {:#x} and at {:#x} overlap; copy to another "
                       "place",
                       bytes, from, to);
  }
  if (bytes == 0 || from == to) {
    return Status::success();
  }
  ddr.touch(to, bytes);
  copyBytes(pool, ddr.at(to), ddr.at(from), bytes);
  if (sanitizer) {
    ddr.copyPadding(from, to, bytes);
  }
  return Status::success();
}

Status Machine::discard(uint64_t address, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkDdrRange(address, bytes));
  ddr.discard(address, bytes);
  return Status::success();
}

Status Machine::checkLxRange(uint32_t core, uint64_t address, uint64_t bytes) const {
  if (core >= cores.size()) {
    return error<7002>("out-of-bounds: core {} of {}", core, cores.size());
  }
  uint64_t size = cores[core].lxBytes();
  if (address > size || bytes > size - address) {
    return error<7002>("out-of-bounds: {} bytes at LX {:#x} of core {}, but LX has {:#x} bytes",
                       bytes, address, core, size);
  }
  return Status::success();
}

Status Machine::readLx(uint32_t core, uint64_t address, void *data, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkLxRange(core, address, bytes));
  if (bytes > 0) {
    std::memcpy(data, cores[core].lx(int64_t(address)), bytes);
  }
  return Status::success();
}

Status Machine::writeLx(uint32_t core, uint64_t address, const void *data, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkLxRange(core, address, bytes));
  if (bytes > 0) {
    std::memcpy(cores[core].lx(int64_t(address)), data, bytes);
    if (sanitizer) {
      cores[core].shadow()->setWriterOfRange(int64_t(address), int64_t(bytes), kHostWritten);
    }
  }
  return Status::success();
}

//===- Mapping ------------------------------------------------------------------------------===//

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

Expected<PlannedProgram *> Machine::fetchProgram(uint64_t address, uint64_t bytes,
                                                 std::span<const Segment> segments) {
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
  return programs.find(data, bytes, device);
}

//===- Trace and snapshots ------------------------------------------------------------------===//

void Machine::startTrace(uint64_t maxEvents) {
  tracing = maxEvents > 0;
  tracedLaunches = 0;
  tracedCycles = 0;
  traceLimit = maxEvents;
  for (Core &core : cores) {
    core.trace().start(maxEvents);
  }
}

std::vector<spyre_sim_event> Machine::trace() const {
  std::vector<spyre_sim_event> events;
  for (const Core &core : cores) {
    events.insert(events.end(), core.trace().all().begin(), core.trace().all().end());
  }
  std::stable_sort(events.begin(), events.end(), [](const auto &a, const auto &b) {
    return std::tie(a.launch, a.core, a.start_cycle) < std::tie(b.launch, b.core, b.start_cycle);
  });
  events.resize(std::min<uint64_t>(events.size(), traceLimit));
  return events;
}

Snapshot Machine::save() const {
  Snapshot snapshot{.deviceJson = device.toJson(),
                    .sanitizer = sanitizer,
                    .ddr = ddr.save(),
                    .cores = {},
                    .nextTag = nextTag,
                    .wipeRandom = wipeRandom};
  for (const Core &core : cores) {
    snapshot.cores.push_back(core.save());
  }
  return snapshot;
}

Status Machine::restore(const Snapshot &snapshot) {
  if (snapshot.deviceJson != device.toJson() || snapshot.sanitizer != sanitizer) {
    return error<7001>("configuration: the snapshot is of another device; restore it on one with "
                       "the same description and sanitizer setting");
  }
  ddr.restore(snapshot.ddr);
  for (size_t i = 0; i < cores.size(); ++i) {
    cores[i].restore(snapshot.cores[i]);
  }
  nextTag = std::max(nextTag, snapshot.nextTag);
  wipeRandom = snapshot.wipeRandom;
  return Status::success();
}

} // namespace spyre::sim
