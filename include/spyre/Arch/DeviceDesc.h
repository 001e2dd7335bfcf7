//===- DeviceDesc.h - the machine as data ---------------------------------------------------===//
//
// Nothing in a pass, the back end or the simulator knows a core count or a size: they read this
// struct. Presets: "spyre" (the documented interface), "openspyre" (the default: spyre + our own
// x_ operations), "tiny" (openspyre with 4 cores, 64 KiB LX of which 48 KiB are the planner's,
// 1 MiB span), to shrink the machine in tests. Versioned JSON with a strict reader; hash()
// identifies the machine.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DivisionRules.h"
#include "spyre/Base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::arch {

/// Rates and overheads of the clock (docs/timing.md says what each means and how it was fitted).
/// Cycles are core cycles. Here they are those of a machine that loses nothing; the presets have
/// the fitted ones.
struct Timing {
  double clockGhz = 1.5;
  /// What the memory's data sheet promises; no rate below may exceed it.
  double ddrPeakBytesPerCycle = 204.8 / 1.5;
  /// Sustained in one direction, whole chip, shared by the active cores.
  double ddrBytesPerCycle = 204.8 / 1.5;
  /// Of one port; `ddrCoresPerPort` neighbouring cores share one.
  double ddrPortBytesPerCycle = 204.8 / 1.5;
  /// Of one core: what its outstanding requests can fetch.
  double ddrCoreBytesPerCycle = 204.8 / 1.5;
  /// Part of the time above that each further stream of addresses costs: pages open and close.
  double ddrStreamLoss = 0;
  /// A request moves at most kDdrRequestBytes of one run and takes the memory at least this long.
  double ddrRequestCycles = 0;
  /// The bus turns from reading to writing and back once per kDdrWriteBatchBytes written.
  double ddrTurnaroundCycles = 0;
  double ddrLatencyCycles = 300;
  /// Operands of a core's units.
  double lxBytesPerCycle = 256;
  double ptMacsPerCycle = 1024;
  /// A block of weights goes into the array while rows stream past the one before it.
  double ptFillBytesPerCycle = 8192;
  double sfpLanesPerCycle = 128;
  /// A transcendental function costs this many simple operations.
  double sfpTranscendentalFactor = 4;
  /// A step of a reduction (accumulate, finish) costs this many simple operations.
  double sfpReductionFactor = 1;
  /// Single elements: shuffles and picks.
  double moveElementsPerCycle = 64;
  /// One link between neighbours, one direction.
  double ringBytesPerCycle = 128;
  double ringHopCycles = 0;
  /// Per contiguous run of an exchange, and per hop that it travels.
  double ringRunCycles = 0;
  /// An operation begins: its instructions are fetched.
  double phaseOverheadCycles = 0;
  double barrierCycles = 200;
  /// A bundle begins.
  double bundleOverheadCycles = 0;
  /// Host and card agree on a launch; not part of a kernel's time.
  double launchOverheadCycles = 7500;

  bool operator==(const Timing &) const = default;
};

/// Longest run of one request, and bytes the memory collects before it turns to writing.
constexpr double kDdrRequestBytes = 4096;
constexpr double kDdrWriteBatchBytes = 4096;

struct DeviceDesc {
  int version = 1;
  std::string name;
  int64_t cores = 32;
  int64_t coreletsPerCore = 2;
  int64_t stickBytes = 128;
  int64_t lxBytes = 2 << 20;
  /// The planner's part [0, lxPlannerBytes); the back end stages above it.
  int64_t lxPlannerBytes = 1677721;
  /// DDR range one core may touch per tensor.
  int64_t spanLimitBytes = 256ll << 20;
  int64_t ddrBytes = 112ll << 30;
  int64_t segments = 8;
  int64_t segmentBytes = 1ll << 34;
  /// Neighbouring cores that share a way to DDR.
  int64_t ddrCoresPerPort = 16;
  /// Names of x_ operations the machine accepts beyond the documented interface.
  std::vector<std::string> extensions;
  Timing timing;
  /// Written to files only where it is not the documented one.
  DivisionRules division;

  bool operator==(const DeviceDesc &) const = default;

  /// First stick-aligned byte of the back end's staging area, and its size.
  int64_t lxStagingBegin() const;
  int64_t lxStagingBytes() const { return lxBytes - lxStagingBegin(); }
  /// Segment that holds programs (the last one).
  int64_t programSegment() const { return segments - 1; }
  int64_t segmentBase(int64_t segment) const { return segment * segmentBytes; }

  std::string toJson() const;
  std::string hash() const;
  /// Errors: E9201 (a field is missing, unknown or out of range).
  static Expected<DeviceDesc> fromJson(const std::string &text);
  /// "spyre", "openspyre", "tiny"; anything else is E9202 and lists them.
  static Expected<DeviceDesc> preset(const std::string &name);
  /// A preset name or the path of a JSON file.
  static Expected<DeviceDesc> load(const std::string &presetOrPath);
};

} // namespace spyre::arch
