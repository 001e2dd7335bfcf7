//===- NullDriver.cpp - a card that accepts everything and computes nothing -----------------===//
//
// The skeleton to copy for a new driver and the zero of measurements: what remains when the device
// costs nothing. It keeps no data (reads give zeros) and counts launches only, but it checks the
// arguments every driver must check, so that a program that passes here fails elsewhere only for
// what it computes.
//===--------------------------------------------------------------------------------------------===//
#include "Drivers.h"

#include <cstring>

namespace spyre::runtime {

namespace {

class NullDriver final : public Driver {
public:
  explicit NullDriver(const arch::DeviceDesc &desc) : deviceDesc(desc) {}

  const char *name() const override { return "null"; }
  const arch::DeviceDesc &desc() const override { return deviceDesc; }

  Status write(uint64_t address, const void *, uint64_t bytes) override {
    return checkMemory("write", address, bytes);
  }
  Status read(uint64_t address, void *data, uint64_t bytes) override {
    SPYRE_RETURN_IF_ERROR(checkMemory("read", address, bytes));
    if (bytes > 0) {
      std::memset(data, 0, bytes);
    }
    return Status::success();
  }
  Status discard(uint64_t address, uint64_t bytes) override {
    return checkMemory("discard", address, bytes);
  }
  Status launch(uint64_t programAddress, uint64_t programBytes,
                const std::vector<SegmentBinding> &segments, uint32_t) override {
    SPYRE_RETURN_IF_ERROR(checkBindings(segments));
    SPYRE_RETURN_IF_ERROR(checkProgram(programAddress, programBytes, segments));
    ++launches;
    return Status::success();
  }
  DeviceCounters counters() const override {
    DeviceCounters counters;
    counters.launches = launches;
    return counters;
  }
  void resetCounters() override { launches = 0; }

private:
  Status checkMemory(const char *what, uint64_t address, uint64_t bytes) const {
    const uint64_t ddrBytes = uint64_t(deviceDesc.ddrBytes);
    if (address > ddrBytes || bytes > ddrBytes - address) {
      return error<6103>("{} of {} bytes at {:#x} leaves the {} bytes of device memory; allocate "
                         "the range first",
                         what, bytes, address, ddrBytes);
    }
    return Status::success();
  }
  Status checkBindings(const std::vector<SegmentBinding> &segments) const {
    if (segments.size() > size_t(deviceDesc.segments)) {
      return error<6105>("a launch binds {} segments but the machine has {}; pass fewer tensors",
                         segments.size(), deviceDesc.segments);
    }
    for (const SegmentBinding &binding : segments) {
      if (binding.bytes > uint64_t(deviceDesc.segmentBytes)) {
        return error<6105>("a segment is bound to {} bytes but holds {}; split the tensor",
                           binding.bytes, deviceDesc.segmentBytes);
      }
      SPYRE_RETURN_IF_ERROR(checkMemory("binding", binding.physicalBase, binding.bytes));
    }
    return Status::success();
  }
  Status checkProgram(uint64_t address, uint64_t bytes,
                      const std::vector<SegmentBinding> &segments) const {
    const size_t segment = size_t(deviceDesc.programSegment());
    const uint64_t bound = segment < segments.size() ? segments[segment].bytes : 0;
    if (bound == 0) {
      return error<6104>("the program segment {} is not bound; bind the buffer that holds the "
                         "program",
                         segment);
    }
    const uint64_t base = uint64_t(deviceDesc.segmentBase(int64_t(segment)));
    if (bytes == 0 || address < base || address - base > bound ||
        bytes > bound - (address - base)) {
      return error<6104>("the program of {} bytes at {:#x} is not inside the {} bytes bound at "
                         "{:#x}; pass the range the program was copied to",
                         bytes, address, bound, base);
    }
    return Status::success();
  }

  const arch::DeviceDesc deviceDesc;
  uint64_t launches = 0;
};

} // namespace

Expected<std::unique_ptr<Driver>> createNullDriver(const arch::DeviceDesc &desc,
                                                   const DriverOptions &) {
  return std::unique_ptr<Driver>(std::make_unique<NullDriver>(desc));
}

} // namespace spyre::runtime
