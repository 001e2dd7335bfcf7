//===- SimSession.h - a device, its memory map and one program ------------------------------===//
//
// The device is used through its C interface only, like any host program would. All segments are
// mapped: each gets an equal part of DDR, one behind the other, and the program is at the start of
// the program segment.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Sim/SpyreSim.h"

#include "MemorySpec.h"

#include <memory>
#include <vector>

namespace spyre::tools {

struct SessionOptions {
  uint32_t threads = 0;
  bool sanitizer = true;
  bool vfMode = false;
  uint64_t wipeSeed = 0;
};

class SimSession {
public:
  static Expected<SimSession> create(const arch::DeviceDesc &device, const SessionOptions &options);

  /// Puts the bytes of a program into its segment. Error: E7102 when they do not fit.
  Status setProgram(const std::string &bytes);
  /// Errors: E7102 (outside the mapped memory, or inside the program) and the device's own.
  Status write(const Place &place, const std::string &bytes);
  Status markPadding(const PaddingSpec &spec);
  /// DDR is read as a tensor: padding among the bytes is the device's E7012.
  Expected<std::string> read(const Place &place, uint64_t bytes);

  /// \p flags as in spyre_sim_launch.
  Status launch(uint32_t flags = 0);
  spyre_sim_counters counters() const;
  void startTrace(uint64_t maxEvents);
  std::vector<spyre_sim_event> trace() const;

private:
  struct Destroy {
    void operator()(spyre_sim *sim) const { spyre_sim_destroy(sim); }
  };
  using Handle = std::unique_ptr<spyre_sim, Destroy>;

  SimSession(arch::DeviceDesc device, Handle sim);
  /// Physical address of the range, which must lie in one segment.
  Expected<uint64_t> translate(uint64_t address, uint64_t bytes) const;
  Status checkOutsideProgram(uint64_t address, uint64_t bytes) const;
  Expected<std::string> readDdr(uint64_t address, uint64_t bytes);
  /// The device's last error when \p result is not 0.
  Status check(int result) const;

  arch::DeviceDesc device;
  Handle sim;
  std::vector<spyre_sim_segment> segments;
  uint64_t programBytes = 0;
};

} // namespace spyre::tools
