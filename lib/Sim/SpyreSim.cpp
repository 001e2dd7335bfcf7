//===- SpyreSim.cpp - the flat C interface --------------------------------------------------===//
//
// Every call locks the device, so threads of a runtime may share it; the text of the last error is
// kept per thread and device, so that one thread does not overwrite what another is about to read.
// No exception leaves this file.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Sim/SpyreSim.h"

#include "Machine.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

using spyre::Status;
using spyre::sim::Machine;
using spyre::sim::Segment;

struct spyre_sim_snapshot {
  spyre::sim::Snapshot state;
};

struct spyre_sim {
  uint64_t id = 0;
  /// Host reads and writes share it; everything else is alone.
  std::shared_mutex mutex;
  std::unique_ptr<Machine> machine;
};

/// Devices are numbered and never renumbered: a pointer may be used again after a destroy.
static std::atomic<uint64_t> nextId{1};

static std::atomic<uint64_t> unsanitizedLaunches{0};

struct LastError {
  std::string text;
  std::optional<uint32_t> containedPhase;
};

/// Errors of this thread's last call per device; devices whose last call succeeded have no entry.
static std::map<uint64_t, LastError> &lastErrors() {
  static thread_local std::map<uint64_t, LastError> errors;
  return errors;
}

static Status systemError(const char *what) {
  return spyre::error<7008>("system-error: {}; the host ran out of a resource", what);
}

/// Runs \p body with the device locked and turns its status into the result of a C call.
template <typename Lock = std::unique_lock<std::shared_mutex>, typename Body>
static int call(spyre_sim *sim, Body body) {
  if (sim == nullptr) {
    return 1;
  }
  Status status = Status::success();
  std::optional<uint32_t> containedPhase;
  try {
    Lock lock(sim->mutex);
    status = body(*sim->machine);
    containedPhase = status.ok() ? std::nullopt : sim->machine->containedPhase(status);
  } catch (const std::exception &exception) {
    status = systemError(exception.what());
  }
  if (status.ok()) {
    lastErrors().erase(sim->id);
    return 0;
  }
  lastErrors()[sim->id] = {status.message(), containedPhase};
  return 1;
}

/// The same for copies between host and DDR, which may run beside each other.
template <typename Body>
static int callShared(spyre_sim *sim, Body body) {
  return call<std::shared_lock<std::shared_mutex>>(sim, body);
}

static Status nullPointer(const char *name) {
  return spyre::error<7001>("configuration: {} is NULL", name);
}

extern "C" {

spyre_sim *spyre_sim_create(const spyre_sim_config *config, const char **error) {
  static thread_local std::string text;
  Status status = Status::success();
  try {
    if (config == nullptr) {
      status = nullPointer("config");
    } else if (auto machine = Machine::create(*config); machine.ok()) {
      auto sim = std::make_unique<spyre_sim>();
      sim->id = nextId.fetch_add(1);
      sim->machine = *std::move(machine);
      return sim.release();
    } else {
      status = machine.status();
    }
  } catch (const std::exception &exception) {
    status = systemError(exception.what());
  }
  text = status.message();
  if (error != nullptr) {
    *error = text.c_str();
  }
  return nullptr;
}

void spyre_sim_destroy(spyre_sim *sim) {
  if (sim != nullptr) {
    lastErrors().erase(sim->id);
    delete sim;
  }
}

int spyre_sim_write(spyre_sim *sim, uint64_t address, const void *data, uint64_t bytes) {
  return callShared(sim, [&](Machine &machine) {
    return data == nullptr && bytes > 0 ? nullPointer("data")
                                        : machine.write(address, data, bytes, nullptr);
  });
}

int spyre_sim_read(spyre_sim *sim, uint64_t address, void *data, uint64_t bytes) {
  return callShared(sim, [&](Machine &machine) {
    return data == nullptr && bytes > 0 ? nullPointer("data") : machine.read(address, data, bytes);
  });
}

int spyre_sim_write_sticks(spyre_sim *sim, uint64_t address, const void *data, uint64_t bytes,
                           const uint64_t *padding) {
  return callShared(sim, [&](Machine &machine) {
    return data == nullptr && bytes > 0 ? nullPointer("data")
                                        : machine.write(address, data, bytes, padding);
  });
}

int spyre_sim_read_sticks(spyre_sim *sim, uint64_t address, void *data, uint64_t bytes,
                          const uint64_t *padding) {
  return callShared(sim, [&](Machine &machine) {
    return data == nullptr && bytes > 0 ? nullPointer("data")
                                        : machine.readSticks(address, data, bytes, padding);
  });
}

int spyre_sim_copy(spyre_sim *sim, uint64_t from, uint64_t to, uint64_t bytes) {
  return call(sim, [&](Machine &machine) { return machine.copy(from, to, bytes); });
}

int spyre_sim_has_sanitizer(spyre_sim *sim) {
  return sim != nullptr && sim->machine->hasSanitizer() ? 1 : 0;
}

int spyre_sim_discard(spyre_sim *sim, uint64_t address, uint64_t bytes) {
  return call(sim, [&](Machine &machine) { return machine.discard(address, bytes); });
}

int spyre_sim_launch(spyre_sim *sim, uint64_t program_address, uint64_t program_bytes,
                     const spyre_sim_segment *segments, uint32_t segment_count, uint32_t flags) {
  return call(sim, [&](Machine &machine) {
    if (segments == nullptr && segment_count > 0) {
      return nullPointer("segments");
    }
    std::vector<Segment> mapped;
    for (uint32_t i = 0; i < segment_count; ++i) {
      mapped.push_back({segments[i].physical_base, segments[i].bytes});
    }
    if (!machine.hasSanitizer()) {
      unsanitizedLaunches.fetch_add(1);
    }
    return machine.launch(program_address, program_bytes, mapped, flags);
  });
}

const char *spyre_sim_last_error(spyre_sim *sim) {
  if (sim == nullptr) {
    return "";
  }
  auto found = lastErrors().find(sim->id);
  return found == lastErrors().end() ? "" : found->second.text.c_str();
}

int spyre_sim_is_contained(spyre_sim *sim, uint32_t *phase) {
  if (sim == nullptr) {
    return 0;
  }
  auto found = lastErrors().find(sim->id);
  if (found == lastErrors().end() || !found->second.containedPhase) {
    return 0;
  }
  if (phase != nullptr) {
    *phase = *found->second.containedPhase;
  }
  return 1;
}

void spyre_sim_get_counters(spyre_sim *sim, spyre_sim_counters *counters) {
  if (sim != nullptr && counters != nullptr) {
    std::lock_guard lock(sim->mutex);
    *counters = sim->machine->counters();
  }
}

void spyre_sim_reset_counters(spyre_sim *sim) {
  if (sim != nullptr) {
    std::lock_guard lock(sim->mutex);
    sim->machine->resetCounters();
  }
}

int spyre_sim_read_lx(spyre_sim *sim, uint32_t core, uint64_t address, void *data, uint64_t bytes) {
  return call(sim, [&](Machine &machine) {
    return data == nullptr && bytes > 0 ? nullPointer("data")
                                        : machine.readLx(core, address, data, bytes);
  });
}

int spyre_sim_write_lx(spyre_sim *sim, uint32_t core, uint64_t address, const void *data,
                       uint64_t bytes) {
  return call(sim, [&](Machine &machine) {
    return data == nullptr && bytes > 0 ? nullPointer("data")
                                        : machine.writeLx(core, address, data, bytes);
  });
}

uint64_t spyre_sim_unsanitized_launches(void) { return unsanitizedLaunches.load(); }

void spyre_sim_trace(spyre_sim *sim, uint64_t max_events) {
  call(sim, [&](Machine &machine) {
    machine.startTrace(max_events);
    return Status::success();
  });
}

uint64_t spyre_sim_get_trace(spyre_sim *sim, spyre_sim_event *events, uint64_t capacity) {
  uint64_t count = 0;
  call(sim, [&](Machine &machine) {
    std::vector<spyre_sim_event> all = machine.trace();
    count = all.size();
    if (events != nullptr) {
      std::copy_n(all.begin(), std::min(count, capacity), events);
    }
    return Status::success();
  });
  return count;
}

spyre_sim_snapshot *spyre_sim_save(spyre_sim *sim) {
  std::unique_ptr<spyre_sim_snapshot> snapshot;
  call(sim, [&](Machine &machine) {
    snapshot = std::make_unique<spyre_sim_snapshot>(spyre_sim_snapshot{machine.save()});
    return Status::success();
  });
  return snapshot.release();
}

int spyre_sim_restore(spyre_sim *sim, const spyre_sim_snapshot *snapshot) {
  return call(sim, [&](Machine &machine) {
    return snapshot == nullptr ? nullPointer("snapshot") : machine.restore(snapshot->state);
  });
}

void spyre_sim_snapshot_destroy(spyre_sim_snapshot *snapshot) { delete snapshot; }

} // extern "C"
