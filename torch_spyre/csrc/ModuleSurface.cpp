//===- ModuleSurface.cpp - random numbers, storages, memory and logs in Python --------------===//
#include "ATen/core/CachingHostAllocator.h"
#include "Allocator.h"
#include "Errors.h"
#include "Generator.h"
#include "Logging.h"
#include "Memory.h"
#include "Module.h"
#include "Pinned.h"
#include "RuntimeState.h"
#include "Serialization.h"
#include "c10/core/impl/VirtualGuardImpl.h"
#include "torch/csrc/profiler/combined_traceback.h"
#include "torch/csrc/utils/pybind.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

namespace torch {
// torch's own header for it needs a library that is not shipped.
TORCH_API std::vector<pybind11::object> py_symbolize(std::vector<CapturedTraceback *> &entries);
} // namespace torch

namespace spyre::plugin {

namespace {

at::Tensor rngState(int index) {
  at::Generator generator = defaultGenerator(c10::DeviceIndex(index));
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void setRngState(const at::Tensor &state, int index) {
  at::Generator generator = defaultGenerator(c10::DeviceIndex(index));
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

void seed(uint64_t value, int index) {
  at::Generator generator = defaultGenerator(c10::DeviceIndex(index));
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(value);
}

/// The state in the CPU's own form: compiled CPU steps draw from the CPU's default generator.
at::Tensor hostRngState(int index) {
  at::Generator generator = hostGenerator(defaultGenerator(c10::DeviceIndex(index)));
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void setHostRngState(const at::Tensor &state, int index) {
  at::Generator generator = hostGenerator(defaultGenerator(c10::DeviceIndex(index)));
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

void seedAll(uint64_t value) {
  const int count = c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).deviceCount();
  for (int index = 0; index < count; ++index) {
    seed(value, index);
  }
}

void bindRandom(py::module_ &module) {
  const int current = -1;
  module.def("manual_seed", &seed, py::arg("seed"), py::arg("device") = current);
  module.def("manual_seed_all", &seedAll, py::arg("seed"));
  module.def("get_rng_state", &rngState, py::arg("device") = current);
  module.def("set_rng_state", &setRngState, py::arg("new_state"), py::arg("device") = current);
  module.def("_get_host_rng_state", &hostRngState, py::arg("device") = current);
  module.def("_set_host_rng_state", &setHostRngState, py::arg("new_state"),
             py::arg("device") = current);
  module.def(
      "initial_seed",
      [](int index) { return defaultGenerator(c10::DeviceIndex(index)).current_seed(); },
      py::arg("device") = current);
  module.def(
      "_get_default_generator", [](int index) { return defaultGenerator(c10::DeviceIndex(index)); },
      py::arg("device") = current);
}

void bindStorages(py::module_ &module) {
  module.def("_storage_to_host", [](const at::Storage &storage) {
    py::gil_scoped_release release;
    return hostStorageOf(storage);
  });
  module.def("_storage_copy_to_host", [](const at::Storage &storage, const at::Storage &host) {
    py::gil_scoped_release release;
    copyToHostStorage(storage, host);
  });
  module.def("_storage_clone", [](const at::Storage &storage) {
    py::gil_scoped_release release;
    return cloneStorage(storage);
  });
  module.def("_storage_from_host", [](const at::Storage &host, int index) {
    return makeWaitingStorage(host, {c10::DeviceType::PrivateUse1, c10::DeviceIndex(index)});
  });
}

void addStat(py::dict &to, const std::string &name, const c10::CachingAllocator::Stat &stat) {
  to[py::str(name + ".current")] = stat.current;
  to[py::str(name + ".peak")] = stat.peak;
  to[py::str(name + ".allocated")] = stat.allocated;
  to[py::str(name + ".freed")] = stat.freed;
}

void addStats(py::dict &to, const std::string &name,
              const c10::CachingAllocator::StatArray &array) {
  const char *pools[] = {"all", "small_pool", "large_pool"};
  for (size_t i = 0; i < array.size(); ++i) {
    addStat(to, name + "." + pools[i], array[i]);
  }
}

void addKind(py::dict &to, const std::string &name, c10::DeviceIndex index,
             runtime::MemoryKind kind) {
  const runtime::MemoryStatArray bytes = deviceStarted(index)
                                             ? device(index)->memoryStats(kind).allocatedBytes
                                             : runtime::MemoryStatArray();
  const char *pools[] = {"all", "small_pool", "large_pool"};
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::string prefix = fmt::format("{}.{}.", name, pools[i]);
    to[py::str(prefix + "current")] = bytes[i].current;
    to[py::str(prefix + "peak")] = bytes[i].peak;
    to[py::str(prefix + "allocated")] = bytes[i].allocated;
    to[py::str(prefix + "freed")] = bytes[i].freed;
  }
}

/// Flat, with the names of torch.cuda.memory_stats. "temporary_bytes" are the part of
/// "allocated_bytes" that programs use while they run; "program_bytes", code and constants, are not
/// in the others.
py::dict memoryStats(int index) {
  const auto stats = deviceAllocator().getDeviceStats(c10::DeviceIndex(index));
  py::dict result;
  addStats(result, "allocation", stats.allocation);
  addStats(result, "segment", stats.segment);
  addStats(result, "active", stats.active);
  addStats(result, "inactive_split", stats.inactive_split);
  addStats(result, "allocated_bytes", stats.allocated_bytes);
  addStats(result, "reserved_bytes", stats.reserved_bytes);
  addStats(result, "active_bytes", stats.active_bytes);
  addStats(result, "inactive_split_bytes", stats.inactive_split_bytes);
  addStats(result, "requested_bytes", stats.requested_bytes);
  result["num_alloc_retries"] = stats.num_alloc_retries;
  result["num_ooms"] = stats.num_ooms;
  result["num_sync_all_streams"] = stats.num_sync_all_streams;
  result["num_device_alloc"] = stats.num_device_alloc;
  result["num_device_free"] = stats.num_device_free;
  addStat(result, "oversize_allocations", stats.oversize_allocations);
  addStat(result, "oversize_segments", stats.oversize_segments);
  result["max_split_size"] = stats.max_split_size;
  addKind(result, "temporary_bytes", c10::DeviceIndex(index), runtime::MemoryKind::Temporary);
  addKind(result, "program_bytes", c10::DeviceIndex(index), runtime::MemoryKind::Program);
  return result;
}

/// Python's list of frames for each tag; one symbolization for all.
std::vector<py::object> symbolize(const std::vector<std::shared_ptr<const void>> &tags) {
  std::vector<torch::CapturedTraceback *> known;
  for (const std::shared_ptr<const void> &tag : tags) {
    if (tag) {
      known.push_back(static_cast<torch::CapturedTraceback *>(
          const_cast<void *>(tag.get()))); // ours: Allocator
    }
  }
  std::vector<py::object> texts = torch::py_symbolize(known);
  std::vector<py::object> result;
  size_t next = 0;
  for (const std::shared_ptr<const void> &tag : tags) {
    result.push_back(tag ? texts[next++] : py::object(py::list()));
  }
  return result;
}

/// Places in a snapshot are numbers of a range of their own: no device address reaches Python.
constexpr uint64_t kSnapshotBase = uint64_t(1) << 57;

/// One frame that names the program, where the viewer shows stacks.
py::list programFrames(runtime::MemoryKind kind, const std::string &program) {
  py::dict frame;
  frame["filename"] = program;
  frame["line"] = 0;
  frame["name"] = kind == runtime::MemoryKind::Program ? "code and constants" : "temporaries";
  py::list frames;
  frames.append(frame);
  return frames;
}

py::list blockList(const runtime::ChunkInfo &chunk) {
  std::vector<std::shared_ptr<const void>> tags;
  for (const runtime::BlockInfo &block : chunk.blocks) {
    tags.push_back(block.tag);
  }
  const std::vector<py::object> frames = symbolize(tags);
  py::list result;
  for (size_t i = 0; i < chunk.blocks.size(); ++i) {
    py::dict one;
    one["address"] = kSnapshotBase + chunk.blocks[i].address;
    one["size"] = chunk.blocks[i].bytes;
    one["requested_size"] = chunk.blocks[i].requestedBytes;
    one["state"] = runtime::blockStateName(chunk.blocks[i].state);
    const runtime::BlockInfo &block = chunk.blocks[i];
    one["frames"] = block.program ? programFrames(chunk.kind, *block.program) : frames[i];
    result.append(one);
  }
  return result;
}

void addSegments(py::list &segments, int device, const runtime::MemorySnapshot &snapshot) {
  for (const runtime::ChunkInfo &chunk : snapshot.chunks) {
    py::dict segment;
    segment["device"] = device;
    segment["address"] = kSnapshotBase + chunk.address;
    segment["total_size"] = chunk.bytes;
    segment["allocated_size"] = chunk.allocatedBytes;
    segment["active_size"] = chunk.activeBytes;
    segment["requested_size"] = chunk.requestedBytes;
    segment["stream"] = chunk.blocks.empty() ? 0 : chunk.blocks.front().stream;
    segment["segment_type"] = chunk.isLarge ? "large" : "small";
    // Programs are a pool of their own in the viewer; users' pools have numbers from 2 on.
    const bool isProgram = chunk.kind == runtime::MemoryKind::Program;
    segment["segment_pool_id"] =
        py::make_tuple(0, isProgram ? uint64_t(1) : uint64_t(chunk.privatePool));
    segment["is_expandable"] = false;
    segment["frames"] = py::list();
    segment["blocks"] = blockList(chunk);
    segments.append(segment);
  }
}

py::list eventList(const runtime::MemorySnapshot &snapshot) {
  std::vector<std::shared_ptr<const void>> tags;
  for (const runtime::MemoryEvent &event : snapshot.events) {
    tags.push_back(event.tag);
  }
  const std::vector<py::object> frames = symbolize(tags);
  py::list result;
  for (size_t i = 0; i < snapshot.events.size(); ++i) {
    const runtime::MemoryEvent &event = snapshot.events[i];
    const bool isOom = event.action == runtime::MemoryAction::Oom;
    py::dict entry;
    entry["action"] = runtime::memoryActionName(event.action);
    if (isOom) {
      entry["device_free"] = event.address;
    } else {
      entry["addr"] = kSnapshotBase + event.address;
    }
    entry["size"] = event.bytes;
    entry["stream"] = event.stream;
    entry["time_us"] = event.timeMicroseconds;
    entry["frames"] = frames[i];
    result.append(entry);
  }
  return result;
}

/// The shape of torch.cuda.memory._snapshot().
py::dict memorySnapshot() {
  py::list segments, traces;
  for (int i = 0; i < deviceCount(); ++i) {
    const bool isOpen = deviceStarted(c10::DeviceIndex(i));
    const runtime::MemorySnapshot snapshot =
        isOpen ? device(c10::DeviceIndex(i))->memorySnapshot() : runtime::MemorySnapshot();
    addSegments(segments, i, snapshot);
    traces.append(eventList(snapshot));
  }
  py::dict result;
  result["segments"] = segments;
  result["device_traces"] = traces;
  result["allocator_settings"] = py::dict();
  return result;
}

at::HostAllocator &hostAllocator() { return static_cast<at::HostAllocator &>(pinnedAllocator()); }

py::dict hostMemoryStats() {
  const at::HostStats stats = hostAllocator().get_stats();
  py::dict result;
  addStat(result, "active_requests", stats.active_requests);
  addStat(result, "active_bytes", stats.active_bytes);
  addStat(result, "allocations", stats.allocations);
  addStat(result, "allocated_bytes", stats.allocated_bytes);
  result["num_host_alloc"] = stats.num_host_alloc;
  result["num_host_free"] = stats.num_host_free;
  return result;
}

void bindMemory(py::module_ &module) {
  module.def("_memory_stats", &memoryStats, py::arg("device"));
  module.def(
      "_memory_info",
      [](int index) { return deviceAllocator().getMemoryInfo(c10::DeviceIndex(index)); },
      py::arg("device"));
  module.def("_memory_snapshot", &memorySnapshot);
  module.def("_record_memory_history", &recordMemoryHistory, py::arg("max_entries"));
  module.def("_host_memory_stats", &hostMemoryStats);
  module.def("_reset_peak_host_memory_stats", [] { hostAllocator().reset_peak_stats(); });
  module.def("_reset_accumulated_host_memory_stats",
             [] { hostAllocator().reset_accumulated_stats(); });
  module.def("_set_memory_fraction", &setMemoryFraction, py::arg("device"), py::arg("fraction"));
  module.def("_memory_fraction", &memoryFraction, py::arg("device"));
  module.def("_exchange_private_pool", &exchangePrivatePool, py::arg("device"), py::arg("pool"));
  module.def(
      "_dissolve_private_pool",
      [](uint64_t pool) {
        for (int i = 0; i < deviceCount(); ++i) {
          if (const auto index = c10::DeviceIndex(i); deviceStarted(index)) {
            device(index)->dissolvePool(pool);
          }
        }
      },
      py::arg("pool"), py::call_guard<py::gil_scoped_release>());
  module.def("_allocate_raw", &allocateRaw, py::arg("device"), py::arg("bytes"), py::arg("stream"),
             py::call_guard<py::gil_scoped_release>());
  module.def("_free_raw", &freeRaw, py::arg("token"), py::call_guard<py::gil_scoped_release>());
  module.def("_empty_host_cache", [] { hostAllocator().empty_cache(); });
}

void bindLog(py::module_ &module) {
  module.def(
      "_route_log",
      [](const std::map<std::string, int> &levels, int fallback, const std::string &path) {
        std::map<std::string, LogLevel> known;
        for (const auto &[component, level] : levels) {
          known[component] = LogLevel(std::clamp(level, 0, int(LogLevel::Debug)));
        }
        routeLog(std::move(known), LogLevel(std::clamp(fallback, 0, int(LogLevel::Debug))), path);
      },
      py::arg("levels"), py::arg("fallback"), py::arg("path"));
}

} // namespace

void bindSurface(py::module_ &module) {
  bindRandom(module);
  bindStorages(module);
  bindMemory(module);
  bindLog(module);
}

} // namespace spyre::plugin
