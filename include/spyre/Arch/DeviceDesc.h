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

/// Rates and overheads of the first-order clock. Cycles are core cycles.
struct Timing {
  double clockGhz = 1.5;
  /// Whole chip, shared by the active cores.
  double ddrBytesPerCycle = 204.8 / 1.5;
  double ddrLatencyCycles = 300;
  double lxBytesPerCycle = 256;
  double ptMacsPerCycle = 1024;
  double sfpLanesPerCycle = 128;
  /// A transcendental function costs this many simple operations.
  double sfpTranscendentalFactor = 4;
  double ringBytesPerCycle = 128;
  double barrierCycles = 200;
  double launchOverheadCycles = 7500;

  bool operator==(const Timing &) const = default;
};

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
