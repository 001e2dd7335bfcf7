//===- JobPlan.h - one kernel on the device, ready to be launched ---------------------------===//
//
// Carries out the preparation plan of a spyrecode.json: one allocation in the program segment, then
// the binaries copied to where the plan says. What is left per launch is bind(), on the thread that
// asks (placement of the arguments in segments, values of a program correction), and
// BoundLaunch::run(), where and when the stream says.
//
// A correction is written into the program itself, so the writing and the jobs that read it are one
// operation of the device: launches of one plan from several streams do not see each other's
// values. The values wait in host buffers of a ring per stream, used again when their launch has
// retired.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Runtime/Device.h"
#include "spyre/Spec/SpyreCode.h"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace spyre::runtime {

class JobPlan;

/// A program inside an allocation, relative to its start.
struct ProgramJob {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// A launch whose arguments are fixed. Keeps its plan and its buffers alive.
class BoundLaunch {
public:
  /// Corrects the program and runs its jobs. Errors: whatever the device reports. \p runFault is
  /// shared by launches that use each other's results: after a contained fault of one the others do
  /// not run.
  Status run(FaultRef *runFault = nullptr) const;
  /// One behind the other, with no launch of another thread in between. All are of one device.
  static Status runTogether(const std::vector<BoundLaunch> &launches, FaultRef *runFault = nullptr);
  /// It will never run, because of \p reason: buffers that hold no data yet cannot be read.
  void drop(const Status &reason) const;
  /// Says that a run leaves nothing of what \p buffer held.
  void setReplaced(BufferRef buffer) { replaced = std::move(buffer); }
  /// Says so of the buffers of these arguments.
  void setReplaced(std::shared_ptr<const std::vector<size_t>> arguments) {
    replacedArguments = std::move(arguments);
  }

private:
  friend class JobPlan;
  std::shared_ptr<JobPlan> plan;
  std::vector<BufferRef> buffers;
  std::vector<SegmentBinding> segments;
  /// A buffer of the plan's ring; null without correction.
  std::shared_ptr<const std::string> correction;
  BufferRef replaced;
  std::shared_ptr<const std::vector<size_t>> replacedArguments;
  /// The pool stands before the arguments in buffers.
  bool hasPool = false;
};

class JobPlan : public std::enable_shared_from_this<JobPlan> {
public:
  enum class StepKind { HostToDevice, DeviceToHost, Compute, HostCompute };
  /// "H2D", "D2H", "Compute", "HostCompute"
  static const char *stepName(StepKind kind);

  /// \p code holds spyrecode.json and its binaries; \p name is for the log, \p owner for memory
  /// snapshots. Errors: E5201, E6202 (a binary is missing or has another size), E6204 (a job
  /// without a program), E7019 (a program that takes too long), and the allocator's.
  static Expected<std::shared_ptr<JobPlan>>
  prepare(Device &device, const Artifacts &code, std::string name = "kernel",
          const std::shared_ptr<const std::string> &owner = nullptr);

  const std::vector<StepKind> &steps() const { return kinds; }
  /// Errors: E6207.
  Expected<StepKind> step(int64_t index) const;
  uint64_t allocationBytes() const { return program->bytes(); }
  /// It leaves something in LX for the next launch, which must follow at once.
  bool isNonTerminal() const { return nonTerminal; }
  /// Some instruction takes an address from data.
  bool readsIndices() const { return hasIndices; }
  /// Host buffers in the rings of all streams.
  size_t hostBuffers() const;

  /// Fails (E6105, E6204) when a launch with so many tensors, with or without a pool, cannot work.
  Status checkArguments(size_t count, bool hasPool) const;
  /// \p pool may be null. Errors: as checkArguments, E6105 (a buffer is missing or lies on another
  /// device).
  Expected<BoundLaunch> bind(const std::vector<BufferRef> &arguments, const BufferRef &pool,
                             uint32_t stream);

private:
  friend class BoundLaunch;
  JobPlan() = default;
  /// Values of one launch; in flight from its binding until the launch is gone.
  struct RingBuffer {
    std::string values;
    std::atomic<bool> isInFlight{false};
  };
  /// Buffers of one stream in the order of their use, the oldest first.
  using Ring = std::deque<std::shared_ptr<RingBuffer>>;
  std::shared_ptr<const std::string> correctionValues(uint32_t stream, bool hasPool,
                                                      const std::vector<int64_t> &addresses);
  Status load(Device &device, const spec::SpyreCode &code, const Artifacts &files,
              const std::shared_ptr<const std::string> &owner);
  /// Looks into the programs, as far as they can be read. Error: E7019.
  Status inspect(const spec::SpyreCode &code, const Artifacts &files);

  std::string name;
  BufferRef program;
  std::vector<ProgramJob> jobs;
  std::vector<StepKind> kinds;
  /// The last job leaves something in LX for the next launch.
  bool nonTerminal = false;
  bool hasIndices = false;
  std::optional<spec::ProgramCorrection> correction;
  /// Held while a launch runs: what it wrote into the program must stay until its jobs are done.
  std::mutex running;
  mutable std::mutex ringMutex;
  std::map<uint32_t, Ring> rings;
};

} // namespace spyre::runtime
