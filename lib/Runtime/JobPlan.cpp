//===- JobPlan.cpp - prepare a kernel, bind its arguments, run it ---------------------------===//
#include "spyre/Runtime/JobPlan.h"

#include "spyre/Base/Log.h"
#include "spyre/Program/Facts.h"
#include "spyre/Spec/Bundle.h"

#include "Containment.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>

namespace spyre::runtime {

namespace {

/// Begin -> end of the bytes the transfers fill; intervals that touch are joined.
using FilledRanges = std::map<uint64_t, uint64_t>;

/// Offset in the one allocation of the plan; readSpyreCode has checked that it is inside.
uint64_t segmentOffset(int64_t pointer) { return uint64_t(pointer - spec::kProgramOffsetBase); }

void addRange(FilledRanges &ranges, uint64_t begin, uint64_t end) {
  auto next = ranges.upper_bound(begin);
  if (next != ranges.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != ranges.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges.erase(next);
  }
  ranges.emplace(begin, end);
}

Status transfer(const spec::InitTransfer &step, const Artifacts &code, const BufferRef &buffer,
                FilledRanges &filled) {
  auto file = code.find(step.file);
  if (file == code.end()) {
    return error<6202>(
        "the program binary '{}' is missing; build the bundle again or copy its whole "
        "directory",
        step.file);
  }
  const std::string &bytes = file->second;
  if (bytes.size() != uint64_t(step.sizeBytes)) {
    return error<6202>("the program binary '{}' has {} bytes but the plan transfers {}; build the "
                       "bundle again",
                       step.file, bytes.size(), step.sizeBytes);
  }
  const uint64_t offset = segmentOffset(step.devicePointer);
  SPYRE_RETURN_IF_ERROR(buffer->device().copyToDevice(buffer, offset, bytes.data(), bytes.size()));
  if (!bytes.empty()) {
    addRange(filled, offset, offset + bytes.size());
  }
  return Status::success();
}

/// A job ends where the next one begins or where the bytes the transfers filled end: the plan names
/// no sizes, and what follows a program must be padding.
Expected<std::vector<std::pair<uint64_t, uint64_t>>> jobRanges(const std::vector<int64_t> &pointers,
                                                               const FilledRanges &filled) {
  std::set<uint64_t> starts;
  for (int64_t pointer : pointers) {
    starts.insert(segmentOffset(pointer));
  }
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (int64_t pointer : pointers) {
    const uint64_t offset = segmentOffset(pointer);
    auto range = filled.upper_bound(offset);
    if (range == filled.begin() || std::prev(range)->second <= offset) {
      return error<6204>(
          "a job starts at offset {} of the program segment, where no transfer puts a "
          "program; build the bundle again",
          offset);
    }
    uint64_t end = std::prev(range)->second;
    if (auto next = starts.upper_bound(offset); next != starts.end()) {
      end = std::min(end, *next);
    }
    ranges.emplace_back(offset, end - offset);
  }
  if (ranges.empty()) {
    return error<6204>("the execution plan starts no job on the device; build the bundle again");
  }
  return ranges;
}

/// Segments of a launch and the virtual addresses its buffers have in them.
struct Placement {
  std::vector<SegmentBinding> segments;
  std::vector<int64_t> addresses;
};

/// One segment per buffer while there are enough, so that a program reaches nothing else. Beyond
/// that buffers share segments: each segment begins with a buffer and goes as far as it can.
Placement placeInSegments(const arch::DeviceDesc &desc, const std::vector<BufferRef> &buffers) {
  Placement placement;
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  const bool isShared = buffers.size() > size_t(desc.programSegment());
  if (isShared) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return buffers[a]->physicalAddress() < buffers[b]->physicalAddress();
    });
  }
  placement.addresses.resize(buffers.size());
  for (size_t i : order) {
    const uint64_t begin = buffers[i]->physicalAddress();
    const uint64_t end = begin + buffers[i]->bytes();
    const bool fits = isShared && !placement.segments.empty() &&
                      end - placement.segments.back().physicalBase <= uint64_t(desc.segmentBytes);
    if (!fits) {
      placement.segments.push_back({begin, 0});
    }
    SegmentBinding &segment = placement.segments.back();
    segment.bytes = std::max(segment.bytes, end - segment.physicalBase);
    placement.addresses[i] = desc.segmentBase(int64_t(placement.segments.size()) - 1) +
                             int64_t(begin - segment.physicalBase);
  }
  return placement;
}

} // namespace

const char *JobPlan::stepName(StepKind kind) {
  switch (kind) {
  case StepKind::HostToDevice:
    return "H2D";
  case StepKind::DeviceToHost:
    return "D2H";
  case StepKind::Compute:
    return "Compute";
  case StepKind::HostCompute:
    return "HostCompute";
  }
  return "Unknown";
}

Expected<JobPlan::StepKind> JobPlan::step(int64_t index) const {
  if (index < 0 || size_t(index) >= kinds.size()) {
    return error<6207>("Step index out of range: {}; the plan has {} steps, counted from 0", index,
                       kinds.size());
  }
  return kinds[size_t(index)];
}

Status JobPlan::inspect(const spec::SpyreCode &code, const Artifacts &files) {
  for (const spec::InitTransfer &step : code.transfers) {
    const auto file = files.find(step.file);
    if (file == files.end()) {
      continue; // refused when it is transferred
    }
    const Expected<program::Program> program = program::readProgram(file->second);
    if (!program.ok()) {
      // A part of a program, or data; a program that cannot be read is refused when it is launched.
      continue;
    }
    SPYRE_RETURN_IF_ERROR(program::checkWork(*program));
    hasIndices |= program::readsIndices(*program);
  }
  return Status::success();
}

Status JobPlan::load(Device &device, const spec::SpyreCode &code, const Artifacts &files,
                     const std::shared_ptr<const std::string> &owner) {
  SPYRE_RETURN_IF_ERROR(inspect(code, files));
  SPYRE_ASSIGN_OR_RETURN(program, device.allocate(uint64_t(code.allocateBytes), MemoryKind::Program,
                                                  kDefaultStream, nullptr, 0, owner));
  FilledRanges filled;
  for (const spec::InitTransfer &step : code.transfers) {
    SPYRE_RETURN_IF_ERROR(transfer(step, files, program, filled));
  }
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  SPYRE_ASSIGN_OR_RETURN(Ranges ranges, jobRanges(code.jobs, filled));
  for (const auto &[offset, bytes] : ranges) {
    jobs.push_back({offset, bytes});
  }
  nonTerminal = code.nonTerminal;
  correction = code.correction;
  if (correction) {
    kinds = {StepKind::HostCompute, StepKind::HostToDevice};
  }
  kinds.insert(kinds.end(), jobs.size(), StepKind::Compute);
  return Status::success();
}

Expected<std::shared_ptr<JobPlan>>
JobPlan::prepare(Device &device, const Artifacts &code, std::string name,
                 const std::shared_ptr<const std::string> &owner) {
  auto file = code.find("spyrecode.json");
  if (file == code.end()) {
    return error<6202>(
        "spyrecode.json not found in directory; run the back end on the bundle first");
  }
  SPYRE_ASSIGN_OR_RETURN(spec::SpyreCode spyreCode, spec::readSpyreCode(file->second));
  std::shared_ptr<JobPlan> plan(new JobPlan());
  plan->name = std::move(name);
  SPYRE_RETURN_IF_ERROR(plan->load(device, spyreCode, code, owner));
  return plan;
}

size_t JobPlan::hostBuffers() const {
  std::lock_guard<std::mutex> lock(ringMutex);
  size_t count = 0;
  for (const auto &[stream, ring] : rings) {
    count += ring.size();
  }
  return count;
}

/// A baked program has its arguments in the segments of their number; one that is corrected may
/// have more of them, but no other than it is given.
Status JobPlan::checkArguments(size_t count, bool hasPool) const {
  const int64_t segments = program->device().desc().programSegment();
  const auto bound = int64_t(count) + (hasPool ? 1 : 0);
  if (!correction) {
    return bound <= segments
               ? Status::success()
               : error<6105>("a launch has {} tensors but the machine has {} data segments; split "
                             "the bundle or compile it with symbolic arguments",
                             bound, segments);
  }
  if (correction->isForeign) {
    return error<6204>("the program is corrected by metadata of another back end, which only its "
                       "own host library can read; compile the bundle with spyre-backend");
  }
  for (const spec::ProgramCorrection::Slot &slot : correction->slots) {
    const bool known =
        slot.argument == spec::kPoolArgument ? hasPool : slot.argument < int64_t(count);
    if (!known) {
      return error<6204>("the program wants the address of {}, which the launch does not have ({} "
                         "tensors, {} pool); pass the tensors the bundle was built for",
                         spec::bundleArgumentName(slot.argument), count, hasPool ? "a" : "no");
    }
  }
  return Status::success();
}

std::shared_ptr<const std::string>
JobPlan::correctionValues(uint32_t stream, bool hasPool, const std::vector<int64_t> &addresses) {
  std::lock_guard<std::mutex> lock(ringMutex);
  Ring &ring = rings[stream];
  // If the oldest is still in flight, all are.
  if (ring.empty() || ring.front()->isInFlight.load(std::memory_order_acquire)) {
    ring.push_back(std::make_shared<RingBuffer>());
    ring.back()->values.resize(size_t(correction->sizeBytes));
  } else {
    ring.push_back(std::move(ring.front()));
    ring.pop_front();
  }
  std::shared_ptr<RingBuffer> buffer = ring.back();
  buffer->isInFlight.store(true, std::memory_order_relaxed);
  std::string &values = buffer->values;
  for (const spec::ProgramCorrection::Slot &slot : correction->slots) {
    const size_t first = hasPool ? 1 : 0;
    const size_t index = slot.argument == spec::kPoolArgument ? 0 : first + size_t(slot.argument);
    std::memcpy(values.data() + slot.offsetBytes, &addresses[index], sizeof(int64_t));
  }
  // Whoever lets go last, on whatever thread, gives it back.
  return {&buffer->values, [buffer](const std::string *) {
            buffer->isInFlight.store(false, std::memory_order_release);
          }};
}

Expected<BoundLaunch> JobPlan::bind(const std::vector<BufferRef> &arguments, const BufferRef &pool,
                                    uint32_t stream) {
  SPYRE_RETURN_IF_ERROR(checkArguments(arguments.size(), pool != nullptr));
  BoundLaunch launch;
  launch.plan = shared_from_this();
  launch.buffers.reserve(arguments.size() + 1);
  launch.hasPool = pool != nullptr;
  if (pool) {
    launch.buffers.push_back(pool);
  }
  launch.buffers.insert(launch.buffers.end(), arguments.begin(), arguments.end());
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const BufferRef &buffer = launch.buffers[i];
    if (!buffer || &buffer->device() != &program->device()) {
      return error<6105>("buffer {} of a launch {}; pass tensors of the kernel's device", i,
                         buffer ? "lies on another device" : "is missing");
    }
  }
  Placement placement = placeInSegments(program->device().desc(), launch.buffers);
  launch.segments = std::move(placement.segments);
  if (correction) {
    launch.correction = correctionValues(stream, pool != nullptr, placement.addresses);
  }
  return launch;
}

Status BoundLaunch::run(FaultRef *runFault) const {
  Device &device = plan->program->device();
  const Device::LaunchTurn turn(device);
  std::lock_guard<std::mutex> lock(plan->running);
  // Later runs read nothing of this run from the pool, so poison does not stay in the pool.
  const auto arguments = std::span(buffers).subspan(hasPool ? 1 : 0);
  ProgramBinding binding = {plan->program, plan->jobs, segments, arguments, correction.get(), 0};
  if (correction) {
    binding.correctionOffset = segmentOffset(plan->correction->devicePointer);
  }
  const auto flags = [&](const ProgramJob &job) {
    const bool isLast = &job == &plan->jobs.back();
    log(LogLevel::Debug, "runtime", "launch bundle={} offset={} bytes={}", plan->name, job.offset,
        job.bytes);
    return isLast && !plan->nonTerminal ? 0 : kNonTerminalLaunch;
  };
  SPYRE_RETURN_IF_ERROR(runContained(binding, runFault, flags));
  if (replaced) {
    replaced->heal();
  }
  if (replacedArguments) {
    for (size_t argument : *replacedArguments) {
      buffers[argument + (hasPool ? 1 : 0)]->heal();
    }
  }
  return Status::success();
}

Status BoundLaunch::runTogether(const std::vector<BoundLaunch> &launches, FaultRef *runFault) {
  if (launches.size() == 1) {
    return launches.front().run(runFault);
  }
  const Device::LaunchTurn turn(launches.front().plan->program->device());
  FaultRef own;
  Status result = Status::success();
  for (const BoundLaunch &launch : launches) {
    // After a contained fault the others still poison what they would have written.
    const Status status = launch.run(runFault ? runFault : &own);
    result = result.ok() ? status : result;
    if (!status.ok() && !(runFault ? *runFault : own)) {
      return status;
    }
  }
  return result;
}

void BoundLaunch::drop(const Status &reason) const { poisonUnwritten(buffers, reason); }

} // namespace spyre::runtime
