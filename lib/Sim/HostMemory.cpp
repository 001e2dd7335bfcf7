//===- HostMemory.cpp - address space from mmap ---------------------------------------------===//
#include "HostMemory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace spyre::sim {

Expected<HostMemory> HostMemory::reserve(uint64_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return error<7008>("system-error: the host refuses {} bytes of address space ({}); raise the "
                       "limit of virtual memory or use a device with less DDR",
                       bytes, std::strerror(errno));
  }
  return HostMemory(static_cast<uint8_t *>(memory), bytes);
}

void HostMemory::preferLargePages() { madvise(memory, sizeBytes, MADV_HUGEPAGE); }

HostMemory::HostMemory(HostMemory &&other) noexcept
    : memory(std::exchange(other.memory, nullptr)), sizeBytes(std::exchange(other.sizeBytes, 0)) {}

HostMemory &HostMemory::operator=(HostMemory &&other) noexcept {
  std::swap(memory, other.memory);
  std::swap(sizeBytes, other.sizeBytes);
  return *this;
}

HostMemory::~HostMemory() {
  if (memory != nullptr) {
    munmap(memory, sizeBytes);
  }
}

/// Below this, writing zeros is cheaper than a system call that gives the pages back and the faults
/// that bring them again; memory of this size is most likely used again soon.
static constexpr uint64_t kClearedBytes = uint64_t(1) << 16;

void HostMemory::discard(uint64_t offset, uint64_t count) {
  if (count <= kClearedBytes) {
    std::memset(memory + offset, 0, count);
    return;
  }
  auto pageBytes = uint64_t(sysconf(_SC_PAGESIZE));
  uint64_t end = offset + count;
  uint64_t firstPage = (offset + pageBytes - 1) / pageBytes * pageBytes;
  uint64_t lastPage = end / pageBytes * pageBytes;
  if (firstPage >= lastPage) {
    std::memset(memory + offset, 0, count);
    return;
  }
  std::memset(memory + offset, 0, firstPage - offset);
  std::memset(memory + lastPage, 0, end - lastPage);
  if (madvise(memory + firstPage, lastPage - firstPage, MADV_DONTNEED) != 0) {
    std::memset(memory + firstPage, 0, lastPage - firstPage);
  }
}

} // namespace spyre::sim
