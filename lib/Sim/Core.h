//===- Core.h - one core: its LX, its interpreter and its units -----------------------------===//
//
// A core runs the instructions of a phase one after the other. Before an instruction executes, the
// lowest and highest address of each operand are checked against LX or the mapped segment, for the
// whole nest at once; the units then work on runs (the innermost level) and ask the shadow state
// before they read. The first fault stops the core; the machine reports it at the barrier.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Lx.h"
#include "Plan.h"
#include "Races.h"

#include <array>
#include <span>

namespace spyre::sim {

/// Memory behind one segment; sizeBytes == 0 when nothing is mapped.
struct Segment {
  uint64_t physicalBase = 0;
  uint64_t sizeBytes = 0;
};

/// What all cores share during a launch.
struct LaunchContext {
  const arch::DeviceDesc *device = nullptr;
  HostMemory *ddr = nullptr;
  std::span<const Segment> segments;
  bool sanitizer = true;
};

/// The innermost level of a nest: one access per operand. DDR operands hold physical addresses.
struct Run {
  std::array<Access, program::kMaxOperands> operands;
  int64_t count = 1;
};

/// Sticks a unit converts to fp32 at once: long enough to amortise calls, small enough for the
/// host's first-level cache.
constexpr int64_t kBatchSticks = 16;

struct Scratch {
  alignas(64) float inputs[program::kMaxOperands - 1][kBatchSticks * kMaxLanes];
  alignas(64) float result[kBatchSticks * kMaxLanes];
  alignas(64) float accumulator[kMaxLanes];
  alignas(64) float matrix[program::kMatmulBlock * kMaxLanes];
};

class Core {
public:
  Core(size_t index, Lx lx);

  Lx &lx() { return memory; }
  void beginLaunch();
  /// Runs all instructions of \p phase, or up to the first fault.
  void runPhase(const PlannedPhase &phase, const LaunchContext &context);

  /// Records a fault; returns false for the caller to pass on.
  bool fail(Status status);
  const Status &fault() const { return faultStatus; }
  /// Of the last phase.
  const Counters &counters() const { return phaseCounters; }
  CoreAccesses &accesses() { return phaseAccesses; }

private:
  using Addresses = std::array<int64_t, program::kMaxOperands>;
  using LoopIndices = std::array<int64_t, program::kMaxLoops>;

  // Core.cpp: control and checks.
  bool execute(const PlannedInstruction &planned, const LoopIndices &loops);
  bool resolve(const PlannedInstruction &planned, const LoopIndices &loops, Addresses &addresses);
  bool checkLxRange(size_t operand, int64_t lowest, int64_t end);
  bool resolveDdr(size_t operand, int64_t lowest, int64_t end, int64_t &address);
  /// False and a fault when a stick was never written.
  bool checkWritten(size_t operand, const Access &access, int64_t sticks);
  std::string where() const;
  template <typename Body>
  bool forEachRun(const Nest &nest, const Addresses &addresses, Body body);

  // Units.cpp: one run of each instruction.
  bool runUnit(const Addresses &addresses);
  bool load(const Run &run);
  bool store(const Run &run);
  bool fill(const Run &run);
  bool vector(const Run &run);
  void vectorBatch(const Run &run, int64_t first, int64_t sticks);
  void readInput(size_t input, const Run &run, int64_t first, int64_t sticks);
  bool accumulate(const Run &run);
  void readMasked(const Access &access, int64_t first, int64_t sticks);
  bool finish(const Run &run);
  bool shuffle(const Run &run);
  void recordDdr(RangeSet &ranges, const Access &access);

  // Matmul.cpp
  bool matmul(const Addresses &addresses);
  bool loadMatrix(int64_t address);
  bool matmulPoint(int64_t a, int64_t acc);

  size_t coreIndex;
  Lx memory;
  CoreAccesses phaseAccesses;
  Counters phaseCounters;
  Status faultStatus = Status::success();
  // Of the phase and the instruction under way.
  const PlannedPhase *phase = nullptr;
  const LaunchContext *context = nullptr;
  const PlannedInstruction *current = nullptr;
  Scratch scratch;
};

/// Calls \p body for each run in order until it returns false.
template <typename Body>
bool Core::forEachRun(const Nest &nest, const Addresses &addresses, Body body) {
  constexpr size_t kInner = program::kMaxLevels - 1;
  size_t operands = current->source->operandCount;
  Run run;
  run.count = nest.counts[kInner];
  for (size_t op = 0; op < operands; ++op) {
    run.operands[op] = {0, nest.strides[op][kInner], run.count, current->width[op]};
  }
  for (int64_t i = 0; i < nest.counts[0]; ++i) {
    for (int64_t j = 0; j < nest.counts[1]; ++j) {
      for (int64_t k = 0; k < nest.counts[2]; ++k) {
        for (size_t op = 0; op < operands; ++op) {
          const auto &stride = nest.strides[op];
          run.operands[op].base = addresses[op] + i * stride[0] + j * stride[1] + k * stride[2];
        }
        if (!body(run)) {
          return false;
        }
      }
    }
  }
  return true;
}

} // namespace spyre::sim
