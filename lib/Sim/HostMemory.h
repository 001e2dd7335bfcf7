//===- HostMemory.h - zeroed host memory, committed on touch --------------------------------===//
//
// The simulated DDR is far larger than the host's memory. It is one reservation of address space:
// the host gives a zero page at the first touch and takes it back on discard, so a simulated
// address is an offset and needs no lookup.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>

namespace spyre::sim {

class HostMemory {
public:
  /// Error: E7008 when the host refuses the address space.
  static Expected<HostMemory> reserve(uint64_t bytes);
  HostMemory(HostMemory &&other) noexcept;
  HostMemory &operator=(HostMemory &&other) noexcept;
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;
  ~HostMemory();

  /// For memory that is walked from end to end; a host may have none.
  void preferLargePages();
  uint64_t bytes() const { return sizeBytes; }
  uint8_t *at(uint64_t offset) { return memory + offset; }
  const uint8_t *at(uint64_t offset) const { return memory + offset; }
  /// True when [offset, offset + count) lies inside.
  bool contains(uint64_t offset, uint64_t count) const {
    return offset <= sizeBytes && count <= sizeBytes - offset;
  }
  /// The range reads as zeros again; whole host pages go back to the host.
  void discard(uint64_t offset, uint64_t count);

private:
  HostMemory(uint8_t *memory, uint64_t bytes) : memory(memory), sizeBytes(bytes) {}
  uint8_t *memory = nullptr;
  uint64_t sizeBytes = 0;
};

} // namespace spyre::sim
