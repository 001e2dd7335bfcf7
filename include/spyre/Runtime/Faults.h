//===- Faults.h - a driver around a driver that fails when told to --------------------------===//
//
// Real cards fail in ways a simulated one never does. The decorator lets a test (or a user of
// torch.spyre) see what the stack above makes of such a failure: it stops one operation before it
// reaches the card and returns the error a card would have given.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/Device.h"

#include <memory>
#include <mutex>
#include <optional>

namespace spyre::runtime {

enum class FaultKind {
  PageFaultFetch,
  PageFaultStore,
  Timeout,
  CoreUnavailable,
  DmaCrc,
  Ecc,
  BadIndex
};

/// Which operations are counted and hit.
enum class FaultTarget { Launch, Copy, Any };

struct FaultPlan {
  FaultKind kind = FaultKind::Timeout;
  FaultTarget target = FaultTarget::Launch;
  /// Operations of the target that still succeed.
  uint64_t after = 0;
  /// Given in the message of page faults and memory errors; else an address of the operation.
  std::optional<uint64_t> address;
};

/// "page_fault_fetch", "page_fault_store", "timeout", "core_unavailable", "dma_crc", "ecc",
/// "bad_index"; anything else is E6147 and lists them.
Expected<FaultKind> parseFaultKind(const std::string &name);
const char *faultKindName(FaultKind kind);
/// "launch", "copy", "any", or empty for what suits the kind: transfers break in transfers, memory
/// anywhere, the rest in launches. Anything else is E6147.
Expected<FaultTarget> parseFaultTarget(const std::string &name, FaultKind kind);

/// The trigger of a driver with faults; thread safe. One plan at a time, used up by its fault.
class FaultInjector {
public:
  void arm(const FaultPlan &plan);
  void disarm();
  bool armed() const;
  /// Counts the operation. Errors: E6150 (page fault), E6151 (timeout), E6152 (core unavailable),
  /// E6153 (CRC of a transfer), E6154 (ECC), E6155 (a bad index: contained).
  Status next(FaultTarget operation, uint64_t address);

private:
  mutable std::mutex mutex;
  std::optional<FaultPlan> plan;
  uint64_t launches = 0, copies = 0, counted = 0;
};

/// \p driver, but operations fail as \p injector says.
std::unique_ptr<Driver> createFaultDriver(std::unique_ptr<Driver> driver,
                                          std::shared_ptr<FaultInjector> injector);

} // namespace spyre::runtime
