//===- FaultDriver.cpp - operations that fail on request ------------------------------------===//
#include "spyre/Runtime/Faults.h"

#include <array>
#include <utility>

namespace spyre::runtime {

namespace {

struct KindName {
  FaultKind kind;
  const char *name;
};
constexpr std::array<KindName, 7> kKinds = {{{FaultKind::PageFaultFetch, "page_fault_fetch"},
                                             {FaultKind::PageFaultStore, "page_fault_store"},
                                             {FaultKind::Timeout, "timeout"},
                                             {FaultKind::CoreUnavailable, "core_unavailable"},
                                             {FaultKind::DmaCrc, "dma_crc"},
                                             {FaultKind::Ecc, "ecc"},
                                             {FaultKind::BadIndex, "bad_index"}}};

/// The fault that damages nothing but the results of its launch.
constexpr int kBadIndexCode = 6155;

Status faultStatus(const FaultPlan &plan, const std::string &where, uint64_t address) {
  address = plan.address.value_or(address);
  const char *kind = faultKindName(plan.kind);
  switch (plan.kind) {
  case FaultKind::PageFaultFetch:
  case FaultKind::PageFaultStore:
    return error<6150>("{} at address {:#x} in {}; the address is not mapped for the program: "
                       "reset the device with torch.spyre.reset_device()",
                       kind, address, where);
  case FaultKind::Timeout:
    return error<6151>("{} in {}; the card did not answer: reset the device with "
                       "torch.spyre.reset_device()",
                       kind, where);
  case FaultKind::CoreUnavailable:
    return error<6152>(
        "{} in {}; a core is off: reset the device, or use fewer cores with SENCORES", kind, where);
  case FaultKind::DmaCrc:
    return error<6153>("{} in {}; the bytes that arrived are not the bytes that were sent: repeat "
                       "the transfer",
                       kind, where);
  case FaultKind::BadIndex:
    return error<6155>("{} in {}; what the launch was writing is damaged, and nothing else", kind,
                       where);
  case FaultKind::Ecc:
    break;
  }
  return error<6154>("{} at address {:#x} in {}; a memory word is damaged: reset the device and "
                     "load the data again",
                     kind, address, where);
}

class FaultDriver final : public Driver {
public:
  FaultDriver(std::unique_ptr<Driver> inner, std::shared_ptr<FaultInjector> injector)
      : inner(std::move(inner)), injector(std::move(injector)) {}

  const char *name() const override { return inner->name(); }
  const arch::DeviceDesc &desc() const override { return inner->desc(); }
  Status write(uint64_t address, const void *data, uint64_t bytes) override {
    SPYRE_RETURN_IF_ERROR(injector->next(FaultTarget::Copy, address));
    return inner->write(address, data, bytes);
  }
  Status read(uint64_t address, void *data, uint64_t bytes) override {
    SPYRE_RETURN_IF_ERROR(injector->next(FaultTarget::Copy, address));
    return inner->read(address, data, bytes);
  }
  Status discard(uint64_t address, uint64_t bytes) override {
    return inner->discard(address, bytes);
  }
  Status copy(uint64_t from, uint64_t to, uint64_t bytes) override {
    SPYRE_RETURN_IF_ERROR(injector->next(FaultTarget::Copy, from));
    return inner->copy(from, to, bytes);
  }
  bool wantsPadding() const override { return inner->wantsPadding(); }
  Status writeSticks(uint64_t address, const void *data, uint64_t bytes,
                     const uint64_t *padding) override {
    SPYRE_RETURN_IF_ERROR(injector->next(FaultTarget::Copy, address));
    return inner->writeSticks(address, data, bytes, padding);
  }
  Status readSticks(uint64_t address, void *data, uint64_t bytes,
                    const uint64_t *padding) override {
    SPYRE_RETURN_IF_ERROR(injector->next(FaultTarget::Copy, address));
    return inner->readSticks(address, data, bytes, padding);
  }
  Status fillSticks(uint64_t address, uint64_t sticks, const StickFill &fill,
                    const uint64_t *padding) override {
    SPYRE_RETURN_IF_ERROR(injector->next(FaultTarget::Copy, address));
    return inner->fillSticks(address, sticks, fill, padding);
  }
  Status launch(uint64_t programAddress, uint64_t programBytes,
                const std::vector<SegmentBinding> &segments, uint32_t flags) override {
    const Status injected = injector->next(FaultTarget::Launch, programAddress);
    isInjected = !injected.ok();
    isContained = injected.code() == kBadIndexCode;
    return isInjected ? injected : inner->launch(programAddress, programBytes, segments, flags);
  }
  std::optional<uint32_t> containedPhase() const override {
    if (isInjected) {
      return isContained ? std::optional<uint32_t>(0) : std::nullopt;
    }
    return inner->containedPhase();
  }
  DeviceCounters counters() const override { return inner->counters(); }
  void resetCounters() override { inner->resetCounters(); }
  Status reset() override { return inner->reset(); }

private:
  std::unique_ptr<Driver> inner;
  std::shared_ptr<FaultInjector> injector;
  /// Outcome of the last launch; launches are one at a time.
  bool isInjected = false, isContained = false;
};

} // namespace

Expected<FaultKind> parseFaultKind(const std::string &name) {
  std::vector<std::string> names;
  for (const KindName &known : kKinds) {
    if (name == known.name) {
      return known.kind;
    }
    names.emplace_back(known.name);
  }
  return error<6147>("there is no fault '{}'; use one of: {}", name, fmt::join(names, ", "));
}

const char *faultKindName(FaultKind kind) {
  for (const KindName &known : kKinds) {
    if (kind == known.kind) {
      return known.name;
    }
  }
  return "unknown";
}

Expected<FaultTarget> parseFaultTarget(const std::string &name, FaultKind kind) {
  if (name == "launch") {
    return FaultTarget::Launch;
  }
  if (name == "copy" || (name.empty() && kind == FaultKind::DmaCrc)) {
    return FaultTarget::Copy;
  }
  if (name == "any" || (name.empty() && kind == FaultKind::Ecc)) {
    return FaultTarget::Any;
  }
  if (name.empty()) {
    return FaultTarget::Launch;
  }
  return error<6147>("a fault cannot hit '{}'; use one of: launch, copy, any", name);
}

void FaultInjector::arm(const FaultPlan &next) {
  std::lock_guard lock(mutex);
  plan = next;
  counted = 0;
}

void FaultInjector::disarm() {
  std::lock_guard lock(mutex);
  plan.reset();
}

bool FaultInjector::armed() const {
  std::lock_guard lock(mutex);
  return plan.has_value();
}

Status FaultInjector::next(FaultTarget operation, uint64_t address) {
  std::lock_guard lock(mutex);
  const bool isLaunch = operation == FaultTarget::Launch;
  const uint64_t number = ++(isLaunch ? launches : copies);
  if (!plan || (plan->target != FaultTarget::Any && plan->target != operation) ||
      counted++ < plan->after) {
    return Status::success();
  }
  const FaultPlan used = *std::exchange(plan, std::nullopt);
  return faultStatus(used, fmt::format("{} {}", isLaunch ? "launch" : "copy", number), address);
}

std::unique_ptr<Driver> createFaultDriver(std::unique_ptr<Driver> driver,
                                          std::shared_ptr<FaultInjector> injector) {
  SPYRE_CHECK(driver && injector, "a driver with faults has both");
  return std::make_unique<FaultDriver>(std::move(driver), std::move(injector));
}

} // namespace spyre::runtime
