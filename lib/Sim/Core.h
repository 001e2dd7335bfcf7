//===- Core.h - one core: its LX, its interpreter and its units -----------------------------===//
//
// A core runs the instructions of a phase one after the other, up to the next one that concerns all
// cores (Exchange, Barrier). Before an instruction executes, the reach of each operand is checked
// against its buffer and the mapped memory, for the whole nest at once; the units then work on runs
// (the innermost level), ask the shadow before they read and tell it what they wrote. The first
// fault stops the core; the machine reports it when all cores have stopped.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Clock.h"
#include "Ddr.h"
#include "Plan.h"
#include "Prefetcher.h"
#include "Races.h"
#include "Shadow.h"
#include "Trace.h"

#include <array>
#include <memory>
#include <span>

namespace spyre::sim {

/// Memory behind one segment; sizeBytes == 0 when nothing is mapped.
struct Segment {
  uint64_t physicalBase = 0;
  uint64_t sizeBytes = 0;
};

/// True for faults that are found before anything outside of the program's results was touched.
bool isContained(const Status &fault);

/// A buffer of the program as this launch places it.
struct BufferPlace {
  const program::Buffer *source = nullptr;
  /// Before core offsets; symbol included.
  int64_t start = 0;
  /// First half of the writer key.
  uint32_t tag = 0;
};

/// What all cores share during a launch.
struct LaunchContext {
  const arch::DeviceDesc *device = nullptr;
  Ddr *ddr = nullptr;
  std::span<const Segment> segments;
  std::span<const BufferPlace> buffers;
  bool sanitizer = true;
  bool trace = false;
  uint32_t launch = 0;
};

/// The innermost level of a nest: one access per operand. DDR operands hold physical addresses.
struct Run {
  std::array<Access, program::kMaxOperands> operands;
  int64_t count = 1;
};

/// Where an operand of the instruction under way is.
struct Place {
  /// Of the first point; physical for DDR; the number itself for Role::Number.
  int64_t address = 0;
  /// The buffer, in the same terms.
  int64_t begin = 0, end = 0;
  WriterKey key = kNeverWritten;
};

/// Sticks a unit converts to fp32 at once: long enough to amortise calls, small enough for the
/// host's first-level cache.
constexpr int64_t kBatchSticks = 16;
/// Rows of A brought to fp32 at once.
constexpr int64_t kBatchRows = 24;
/// k-values of the widest Matmul stick.
constexpr int64_t kMaxDepth = 128;

struct Scratch {
  alignas(64) float inputs[program::kMaxOperands - 1][kBatchSticks * kMaxLanes];
  alignas(64) float result[kBatchSticks * kMaxLanes];
  alignas(64) float rows[kBatchRows * kMaxDepth];
  alignas(64) float matrix[kMaxDepth * kMaxLanes];
};

class Core {
public:
  enum class Stop : uint8_t { Done, Exchange, Barrier, Fault };
  using Places = std::array<Place, program::kMaxOperands>;

  static Expected<Core> create(size_t index, uint64_t lxBytes, bool sanitizer);

  uint64_t lxBytes() const { return memory.bytes(); }
  uint8_t *lx(int64_t address) { return memory.at(uint64_t(address)); }
  /// Null without sanitizer.
  Shadow *shadow() { return shadowState.get(); }

  void beginLaunch();
  /// \p checksOrder: it is not known yet that accesses of the phase are ordered.
  void beginPhase(const PlannedPhase &phase, const LaunchContext &context, bool checksOrder,
                  uint64_t cycle);
  /// Runs up to the next collective, the end of the phase or the first fault.
  Stop run();
  /// Of the instruction run() stopped at.
  const PlannedInstruction &stoppedAt() const { return phase->instructions[pc]; }
  /// The collective is over, run() goes on behind it.
  void pass() { ++pc; }
  /// All cores have arrived; the next instructions start at \p cycle.
  void reachBarrier(uint64_t cycle);

  struct Image {
    std::vector<uint8_t> data;
    Shadow::Image shadow;
  };
  Image save() const;
  void restore(const Image &image);

  /// Records a fault; returns false for the caller to pass on.
  bool fail(Status status);
  const Status &fault() const { return faultStatus; }
  Counters &counters() { return phaseCounters; }
  CoreAccesses &accesses() { return phaseAccesses; }
  Clock &clock() { return unitClock; }
  TraceLog &trace() { return traceLog; }
  const TraceLog &trace() const { return traceLog; }

  // For the ring, which executes collectives for all cores.

  /// Where the operands of \p planned are; LX operands of core \p owner[op] (buffers may start
  /// elsewhere there). False and a fault when a reach leaves its buffer.
  bool resolve(const PlannedInstruction &planned, std::span<const size_t> owners, Places &places);
  template <typename Body>
  static bool forEachRun(const PlannedInstruction &planned, const Nest &nest, const Places &places,
                         Body body);
  bool checkRead(Core &owner, size_t operand, const Place &place, const Access &access);
  bool wrote(size_t operand, const Place &place, const Access &access);
  void record(const PlannedInstruction &planned);
  /// False and a fault when the unit has executed too much to be ordered.
  bool beginOrder(program::Unit unit);

private:
  using LoopIndices = std::array<int64_t, program::kMaxLoops>;

  Core(size_t index, HostMemory lx, std::unique_ptr<Shadow> shadow);

  // Core.cpp: control, addresses.
  Stop runToCollective();
  bool step(const PlannedInstruction &planned);
  bool execute(const PlannedInstruction &planned);
  bool skips(const program::Instruction &source) const;
  bool synchronize(const program::Instruction &source);
  void account(const PlannedInstruction &planned);
  bool resolveOperand(const PlannedInstruction &planned, size_t operand, size_t owner,
                      Place &place);
  bool resolveDdr(size_t operand, Place &place, int64_t low, int64_t high);
  int64_t addressTerms(const program::Operand &operand) const;

  // Faults.cpp: words for what went wrong.
  bool report(Core &owner, size_t operand, const Place &place, const Finding &finding);
  std::string where() const;
  std::string what(size_t operand) const;
  const char *ownerName(WriterKey key) const;
  bool failPadding(size_t operand, int64_t address, const char *reached);
  bool failIndex(size_t operand, int64_t address, int64_t index);
  bool isLiveIn(size_t operand) const;
  bool checkLife(size_t operand, int64_t address);

  // Units.cpp: one run of each instruction.
  bool runUnit();
  bool checkInput(size_t operand, const Access &access) {
    return checkRead(*this, operand, places[operand], access);
  }
  bool load(const Run &run);
  void expectNextRound(const Access &from);
  bool store(const Run &run);
  bool fill(const Run &run);
  bool isTranspose() const;
  bool transpose();
  bool shuffle(const Run &run);
  bool pick(const Run &run);
  template <typename Body>
  bool forEachDdrRange(size_t operand, Body body);
  bool noteDdrRead(size_t operand);
  bool noteDdrWrite(size_t operand);
  bool noteReadRange(size_t operand, uint64_t begin, uint64_t end);
  bool noteWriteRange(size_t operand, uint64_t begin, uint64_t end);
  bool failRanges();

  // IndirectUnits.cpp
  bool gather(const Run &run);
  bool scatter(const Run &run);
  bool readIndex(size_t operand, const Access &access, int64_t point, int64_t &index);
  bool indirectDdr(size_t operand, int64_t address, int64_t index, int64_t &target);
  bool indirectLx(size_t operand, int64_t index, Access &source);

  // VectorUnit.cpp
  bool vector(const Run &run);
  bool vectorDirect(const Run &run);
  void vectorBatch(const Run &run, int64_t first, int64_t sticks);
  void readInput(size_t input, const Run &run, int64_t first, int64_t sticks);
  void fillConstants();
  void vectorPadding(const Run &run);
  bool accumulate(const Run &run);
  void readMasked(const Access &access, int64_t first, int64_t sticks);
  void accumulatePadding(const Run &run);
  bool finish(const Run &run);
  bool finishPadding(const Run &run);
  bool topK(const Run &run);

  // ConvertUnit.cpp
  bool convert(const Run &run);
  void convertPoint(const uint8_t *const *from, uint8_t *const *to);
  void convertPadding(const Run &run, int64_t point);

  // Matmul.cpp
  bool matmul();
  bool loadMatrix(int64_t address);
  bool matmulRun(const Access &a, const Access &acc);
  bool matmulPadding(const Access &a, const Access &acc);
  void multiplyFloat(const Access &a, const Access &acc);
  void multiplyInt8(const Access &a, const Access &acc);

  size_t coreIndex;
  HostMemory memory;
  std::unique_ptr<Shadow> shadowState;
  UnitOrder order;
  Prefetcher prefetcher;
  Clock unitClock;
  TraceLog traceLog;
  CoreAccesses phaseAccesses;
  Counters phaseCounters;
  Status faultStatus = Status::success();
  // Of the phase and the instruction under way.
  const PlannedPhase *phase = nullptr;
  const LaunchContext *context = nullptr;
  const PlannedInstruction *current = nullptr;
  bool checksOrder = false;
  size_t pc = 0, depth = 0;
  LoopIndices loops{};
  Places places;
  /// Matmul: padding of the B block under way, one bit per lane.
  uint64_t matrixPadding = 0;
  std::unique_ptr<Scratch> scratch;
};

/// Calls \p body for each run in order until it returns false.
template <typename Body>
bool Core::forEachRun(const PlannedInstruction &planned, const Nest &nest, const Places &places,
                      Body body) {
  constexpr size_t kInner = program::kMaxLevels - 1;
  size_t operands = planned.source->operands.size();
  Run run;
  run.count = nest.counts[kInner];
  for (size_t op = 0; op < operands; ++op) {
    run.operands[op] = {places[op].address, nest.strides[op][kInner], run.count,
                        planned.operands[op].width};
  }
  std::array<int64_t, program::kMaxLevels> index{};
  while (true) {
    if (!body(run)) {
      return false;
    }
    size_t level = kInner;
    while (true) {
      if (level-- <= nest.firstLevel) {
        return true;
      }
      if (++index[level] < nest.counts[level]) {
        break;
      }
      for (size_t op = 0; op < operands; ++op) {
        run.operands[op].base -= nest.strides[op][level] * (nest.counts[level] - 1);
      }
      index[level] = 0;
    }
    for (size_t op = 0; op < operands; ++op) {
      run.operands[op].base += nest.strides[op][level];
    }
  }
}

} // namespace spyre::sim
