//===- RecordingDriver.cpp - a driver that keeps the control blocks it passes on ------------===//
#include "spyre/Runtime/ControlBlocks.h"

namespace spyre::runtime {

namespace {

using Kind = ControlBlock::Kind;

const char *kindName(Kind kind) {
  switch (kind) {
  case Kind::Write:
    return "write";
  case Kind::Read:
    return "read";
  case Kind::Copy:
    return "copy";
  case Kind::Fill:
    return "fill";
  case Kind::Discard:
    return "discard";
  case Kind::Launch:
    return "launch";
  }
  return "unknown";
}

class RecordingDriver final : public Driver {
public:
  RecordingDriver(std::unique_ptr<Driver> driver, std::shared_ptr<ControlBlockLog> log)
      : driver(std::move(driver)), log(std::move(log)) {}

  const char *name() const override { return driver->name(); }
  const arch::DeviceDesc &desc() const override { return driver->desc(); }
  bool wantsPadding() const override { return driver->wantsPadding(); }
  DeviceCounters counters() const override { return driver->counters(); }
  void resetCounters() override { driver->resetCounters(); }
  Status reset() override { return driver->reset(); }

  Status write(uint64_t address, const void *data, uint64_t bytes) override {
    return note(Kind::Write, address, bytes, driver->write(address, data, bytes));
  }
  Status read(uint64_t address, void *data, uint64_t bytes) override {
    return note(Kind::Read, address, bytes, driver->read(address, data, bytes));
  }
  Status discard(uint64_t address, uint64_t bytes) override {
    return note(Kind::Discard, address, bytes, driver->discard(address, bytes));
  }
  Status writeSticks(uint64_t address, const void *data, uint64_t bytes,
                     const uint64_t *padding) override {
    return note(Kind::Write, address, bytes, driver->writeSticks(address, data, bytes, padding));
  }
  Status readSticks(uint64_t address, void *data, uint64_t bytes,
                    const uint64_t *padding) override {
    return note(Kind::Read, address, bytes, driver->readSticks(address, data, bytes, padding));
  }
  Status fillSticks(uint64_t address, uint64_t sticks, const StickFill &fill,
                    const uint64_t *padding) override {
    return note(Kind::Fill, address, sticks * sizeof(fill.value),
                driver->fillSticks(address, sticks, fill, padding));
  }
  Status copy(uint64_t from, uint64_t to, uint64_t bytes) override {
    Status status = driver->copy(from, to, bytes);
    if (log->isOn()) {
      log->add({0, Kind::Copy, to, from, bytes, {}, 0, status.ok() ? 0 : status.code()});
    }
    return status;
  }
  Status launch(uint64_t programAddress, uint64_t programBytes,
                const std::vector<SegmentBinding> &segments, uint32_t flags) override {
    Status status = driver->launch(programAddress, programBytes, segments, flags);
    if (log->isOn()) {
      log->add({0, Kind::Launch, programAddress, 0, programBytes, segments, flags,
                status.ok() ? 0 : status.code()});
    }
    return status;
  }
  std::optional<uint32_t> containedPhase() const override { return driver->containedPhase(); }

private:
  Status note(Kind kind, uint64_t address, uint64_t bytes, Status status) {
    if (log->isOn()) {
      log->add({0, kind, address, 0, bytes, {}, 0, status.ok() ? 0 : status.code()});
    }
    return status;
  }

  std::unique_ptr<Driver> driver;
  std::shared_ptr<ControlBlockLog> log;
};

} // namespace

std::string toString(const ControlBlock &block) {
  std::string text = fmt::format("{} {} {:#x} {} bytes", block.sequence, kindName(block.kind),
                                 block.address, block.bytes);
  if (block.kind == Kind::Copy) {
    text += fmt::format(", from {:#x}", block.from);
  }
  if (block.kind == Kind::Launch) {
    text += ", segments";
    for (size_t i = 0; i < block.segments.size(); ++i) {
      if (block.segments[i].bytes > 0) {
        text +=
            fmt::format(" {}={:#x}+{}", i, block.segments[i].physicalBase, block.segments[i].bytes);
      }
    }
    text += (block.flags & kNonTerminalLaunch) != 0 ? ", non_terminal" : "";
  }
  return block.failure == 0 ? text : text + fmt::format(", failed with SPYRE-E{}", block.failure);
}

void ControlBlockLog::keep(size_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  limit = count;
  next = 1;
  kept.clear();
}

void ControlBlockLog::add(ControlBlock block) {
  std::lock_guard<std::mutex> lock(mutex);
  if (limit == 0) {
    return;
  }
  block.sequence = next++;
  kept.push_back(std::move(block));
  while (kept.size() > limit) {
    kept.pop_front();
  }
}

std::vector<ControlBlock> ControlBlockLog::blocks() const {
  std::lock_guard<std::mutex> lock(mutex);
  return {kept.begin(), kept.end()};
}

std::unique_ptr<Driver> recordControlBlocks(std::unique_ptr<Driver> driver,
                                            std::shared_ptr<ControlBlockLog> log) {
  return std::make_unique<RecordingDriver>(std::move(driver), std::move(log));
}

} // namespace spyre::runtime
