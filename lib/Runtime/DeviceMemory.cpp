//===- DeviceMemory.cpp - allocation, pressure, reset ---------------------------------------===//
//
// Fresh memory reads as zero and counts as never written, so freed memory is discarded. Freeing
// does so at once when the card is at rest; otherwise the range waits until a launch begins, the
// worker idles or the range is used again. Nobody waits for a launch in order to free or allocate.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Log.h"

#include "DeviceState.h"

#include <algorithm>

namespace spyre::runtime {

namespace {

uint64_t roundUp(uint64_t bytes) {
  const uint64_t mask = kAllocationAlignmentBytes - 1;
  return (std::max<uint64_t>(bytes, 1) + mask) & ~mask;
}

uint64_t memoryEnd(const arch::DeviceDesc &desc) {
  return desc.ddrBytes > 0 ? uint64_t(desc.ddrBytes) : 0;
}

/// The first range that ends after \p address.
template <typename Map>
auto firstAfter(Map &ranges, uint64_t address) {
  auto next = ranges.upper_bound(address);
  if (next != ranges.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second > address) {
      return previous;
    }
  }
  return next;
}

/// Adds a range and joins it with those it overlaps or touches.
void addRange(std::map<uint64_t, uint64_t> &ranges, uint64_t address, uint64_t bytes) {
  uint64_t end = address + bytes;
  auto range = firstAfter(ranges, address == 0 ? 0 : address - 1);
  while (range != ranges.end() && range->first <= end) {
    address = std::min(address, range->first);
    end = std::max(end, range->first + range->second);
    range = ranges.erase(range);
  }
  ranges.emplace(address, end - address);
}

} // namespace

Device::State::State(std::unique_ptr<Driver> newDriver, uint32_t newThreads)
    : driver(std::move(newDriver)),
      allocator(memoryEnd(driver->desc()),
                uint64_t(std::max<int64_t>(driver->desc().segmentBytes, 1))),
      threads(newThreads) {}

Buffer::Buffer(std::shared_ptr<Device> owner, MemoryBlock *block, uint64_t address,
               uint64_t sizeBytes, uint64_t generation)
    : owner(std::move(owner)), block(block), address(address), sizeBytes(sizeBytes),
      generation(generation) {}

Buffer::~Buffer() { owner->release(*this); }

void Buffer::abandon() { owner->abandon(*this); }

void Buffer::adopt() { owner->adopt(*this); }

bool Buffer::isLost() const { return generation != owner->generation(); }

FaultRef Buffer::fault() {
  if (!isPoisoned()) {
    return nullptr;
  }
  std::lock_guard lock(owner->state->memoryMutex);
  if (poisonedBy && keepsContents && poisonedBy->isReported()) {
    poisonedBy = nullptr;
    poisoned.store(false, std::memory_order_release);
  }
  return poisonedBy;
}

void Buffer::poison(const FaultRef &fault, bool isDamaged) {
  std::lock_guard lock(owner->state->memoryMutex);
  const bool keeps = !isDamaged && holdsData.load(std::memory_order_relaxed);
  // Lost contents do not come back because of a later fault.
  if (!poisonedBy || keepsContents) {
    poisonedBy = fault;
    keepsContents = keeps;
    poisoned.store(true, std::memory_order_release);
  }
}

void Buffer::heal() {
  noteData();
  if (isPoisoned()) {
    std::lock_guard lock(owner->state->memoryMutex);
    poisonedBy = nullptr;
    poisoned.store(false, std::memory_order_release);
  }
}

//===- Discarding -----------------------------------------------------------------------------===//

void Device::State::discardPending() {
  std::map<uint64_t, uint64_t> taken;
  {
    std::lock_guard lock(memoryMutex);
    taken.swap(pendingDiscards);
  }
  std::map<uint64_t, uint64_t> failed;
  for (const auto &[address, bytes] : taken) {
    if (Status discarded = driver->discard(address, bytes); !discarded.ok()) {
      log(LogLevel::Error, "runtime", "discard address={:#x} bytes={} failed: {}", address, bytes,
          discarded.message());
      failed.emplace(address, bytes);
    }
  }
  std::lock_guard lock(memoryMutex);
  for (const auto &[address, bytes] : failed) {
    addRange(pendingDiscards, address, bytes);
  }
  failedDiscards = std::move(failed);
  pendingCount = pendingDiscards.size();
}

bool Device::State::isPending(uint64_t address, uint64_t bytes) {
  if (pendingCount.load(std::memory_order_acquire) == 0) {
    return false;
  }
  std::lock_guard lock(memoryMutex);
  const auto found = firstAfter(pendingDiscards, address);
  return found != pendingDiscards.end() && found->first < address + bytes;
}

/// A segment may reach over many buffers. One that is freed meanwhile is pending, which is no
/// fault.
Status Device::State::checkDiscarded(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(memoryMutex);
  const auto found = firstAfter(failedDiscards, address);
  if (found != failedDiscards.end() && found->first < address + bytes) {
    return error<6119>("what a freed buffer left at {:#x} cannot be removed from the device; reset "
                       "it: torch.spyre.reset_device()",
                       address);
  }
  return Status::success();
}

Status Device::State::prepare(const Buffer &buffer) {
  if (!isPending(buffer.physicalAddress(), buffer.bytes())) {
    return Status::success();
  }
  std::lock_guard lock(driverMutex);
  discardPending();
  return checkDiscarded(buffer.physicalAddress(), buffer.bytes());
}

void Device::discardFreed() {
  if (state->pendingCount.load(std::memory_order_acquire) > 0) {
    std::lock_guard lock(state->driverMutex);
    state->discardPending();
  }
}

//===- Allocating -----------------------------------------------------------------------------===//

bool Device::State::tryAllocate(const MemoryRequest &request, bool reclaims, Allocated &result) {
  std::lock_guard lock(memoryMutex);
  if (reclaims) {
    allocator.reclaim();
  }
  const auto activeBytes = uint64_t(allocator.stats().activeBytes[kAllPools].current);
  const bool isWithinLimit =
      activeBytes <= limitBytes && request.roundedBytes <= limitBytes - activeBytes;
  MemoryBlock *block = isWithinLimit ? allocator.allocate(request) : nullptr;
  result = {block, block ? block->address : 0, generation};
  return block != nullptr;
}

Status Device::State::outOfMemory(const MemoryRequest &request) {
  std::vector<OutOfMemoryObserver> observers;
  OutOfMemory report{request.requestedBytes, {0, memoryEnd(driver->desc())}};
  Status status = Status::success();
  {
    std::lock_guard lock(memoryMutex);
    report.info.freeBytes = allocator.freeBytes();
    const MemoryStats &stats = allocator.stats();
    const char *hint = report.info.freeBytes >= request.roundedBytes
                           ? "; the free memory is in pieces: allocate large tensors first, or "
                             "free tensors that lie between"
                           : "";
    const std::string limit =
        limitBytes >= report.info.totalBytes
            ? hint
            : fmt::format("; this process may use {} of {} bytes, which "
                          "torch.spyre.set_per_process_memory_fraction() can raise",
                          limitBytes, report.info.totalBytes);
    status = error<6102>(
        "out of device memory: {} bytes requested, {} free, largest free block {}, {} in use by {} "
        "buffers, {} reserved; free tensors or use a smaller batch{}{}",
        request.requestedBytes, report.info.freeBytes, allocator.largestFreeBytes(request.kind),
        stats.activeBytes[kAllPools].current, stats.active[kAllPools].current,
        stats.reservedBytes[kAllPools].current, limit,
        allocator.regionTable() + allocator.temporariesTable());
    allocator.count(request.kind, &MemoryStats::numOoms);
    allocator.note(MemoryAction::Oom, report.info.freeBytes, request.requestedBytes, request.stream,
                   request.tag);
    for (const auto &[id, observer] : oomObservers) {
      observers.push_back(observer);
    }
  }
  for (const OutOfMemoryObserver &observer : observers) {
    observer(report);
  }
  return status;
}

bool Device::State::waitForPendingFrees(MemoryKind kind) {
  // An operation would have to execute others in its middle, and these may need what it holds.
  if (streams->isInsideOperation()) {
    return false;
  }
  {
    std::lock_guard lock(memoryMutex);
    if (!allocator.hasPendingFrees()) {
      return false;
    }
    allocator.count(kind, &MemoryStats::numSyncAllStreams);
  }
  // A stream in error has let go of its buffers as well.
  streams->finishAll();
  return true;
}

/// Frees what can be freed, in the order of what it costs, and tries again after each step.
bool Device::State::allocateUnderPressure(const MemoryRequest &request, Allocated &result) {
  std::vector<std::function<void()>> handlers;
  {
    std::lock_guard lock(memoryMutex);
    allocator.count(request.kind, &MemoryStats::numAllocRetries);
    for (const auto &[id, handler] : pressureHandlers) {
      handlers.push_back(handler);
    }
  }
  const auto retry = [&] {
    return tryAllocate(request, true, result) ||
           (waitForPendingFrees(request.kind) && tryAllocate(request, true, result));
  };
  if (retry()) {
    return true;
  }
  for (const std::function<void()> &handler : handlers) {
    handler();
    if (retry()) {
      return true;
    }
  }
  return false;
}

void Device::countRejection(MemoryKind kind) {
  std::lock_guard lock(state->memoryMutex);
  state->allocator.count(kind, &MemoryStats::numOomRejections);
}

Expected<BufferRef> Device::allocate(uint64_t bytes, MemoryKind kind, StreamId stream,
                                     std::shared_ptr<const void> tag, uint64_t privatePool,
                                     std::shared_ptr<const std::string> program) {
  // Compared before rounding: rounding the largest numbers up would wrap.
  if (bytes > uint64_t(desc().segmentBytes)) {
    countRejection(kind);
    return error<6111>("an allocation of {} bytes is larger than a segment of {} bytes and can "
                       "never succeed; split the tensor",
                       bytes, desc().segmentBytes);
  }
  const MemoryRequest request{bytes,       roundUp(bytes),    kind, stream, std::move(tag),
                              privatePool, std::move(program)};
  State::Allocated result;
  const bool isPossible =
      request.roundedBytes <= state->allocator.largestPossibleBytes(request.kind);
  if (!isPossible || (!state->tryAllocate(request, false, result) &&
                      !state->allocateUnderPressure(request, result))) {
    return state->outOfMemory(request);
  }
  return BufferRef(new Buffer(shared_from_this(), result.block, result.address,
                              request.roundedBytes, result.generation));
}

void Device::abandon(Buffer &buffer) {
  std::lock_guard lock(state->memoryMutex);
  if (buffer.generation == state->generation) {
    state->allocator.abandon(buffer.block);
  }
}

void Device::adopt(Buffer &buffer) {
  std::lock_guard lock(state->memoryMutex);
  if (buffer.generation == state->generation) {
    state->allocator.adopt(buffer.block);
  }
}

void Device::release(Buffer &buffer) {
  const uint64_t address = buffer.address, bytes = buffer.sizeBytes;
  std::unique_lock driverLock(state->driverMutex, std::try_to_lock);
  const bool atOnce = driverLock.owns_lock();
  if (buffer.generation != state->generation) {
    return;
  }
  Status discarded = Status::success();
  if (atOnce) {
    discarded = state->driver->discard(address, bytes);
  }
  std::lock_guard lock(state->memoryMutex);
  if (buffer.generation != state->generation) {
    return;
  }
  if (!discarded.ok()) {
    // Its old contents would show in the next buffer, so the block is not used again.
    log(LogLevel::Error, "runtime", "discard address={:#x} bytes={} failed: {}", address, bytes,
        discarded.message());
    state->allocator.abandon(buffer.block);
    return;
  }
  if (!atOnce) {
    addRange(state->pendingDiscards, address, bytes);
    state->pendingCount.store(state->pendingDiscards.size(), std::memory_order_release);
  }
  state->allocator.release(buffer.block);
}

Status Device::recordStream(const BufferRef &buffer, StreamId stream) {
  return streams().keepAlive(stream, buffer);
}

//===- Reset ----------------------------------------------------------------------------------===//

Status Device::resetStreams(const std::function<bool()> &losesMemory) {
  Status result = Status::success();
  const auto forget = [&] {
    if (!losesMemory()) {
      return;
    }
    std::lock_guard driverLock(state->driverMutex);
    result = state->driver->reset();
    std::vector<ChunkInfo> chunks;
    {
      std::lock_guard lock(state->memoryMutex);
      chunks = state->allocator.chunks();
      state->allocator.reset();
      state->generation = state->generation + 1;
    }
    state->discardPending();
    for (const ChunkInfo &chunk : chunks) {
      if (Status discarded = state->driver->discard(chunk.address, chunk.bytes);
          !discarded.ok() && result.ok()) {
        result = discarded.withContext("reset: ");
      }
    }
  };
  SPYRE_RETURN_IF_ERROR(streams().reset(forget));
  return result;
}

Status Device::reset() {
  return resetStreams([] { return true; });
}

Status Device::recover() {
  return resetStreams([&] { return streams().isInError(); });
}

uint64_t Device::generation() const { return state->generation; }

//===- Reports and limits ---------------------------------------------------------------------===//

MemoryStats Device::memoryStats() const {
  std::lock_guard lock(state->memoryMutex);
  return state->allocator.stats();
}

MemoryStats Device::memoryStats(MemoryKind kind) const {
  std::lock_guard lock(state->memoryMutex);
  return state->allocator.stats(kind);
}

MemoryStats Device::dataMemoryStats() const {
  std::lock_guard lock(state->memoryMutex);
  return state->allocator.dataStats();
}

void Device::resetPeakMemoryStats() {
  std::lock_guard lock(state->memoryMutex);
  state->allocator.resetPeaks();
}

void Device::resetAccumulatedMemoryStats() {
  std::lock_guard lock(state->memoryMutex);
  state->allocator.resetSums();
}

MemoryInfo Device::memoryInfo() const {
  std::lock_guard lock(state->memoryMutex);
  return {state->allocator.freeBytes(), memoryEnd(desc())};
}

MemorySnapshot Device::memorySnapshot() const {
  std::lock_guard lock(state->memoryMutex);
  return {state->allocator.chunks(), state->allocator.history()};
}

void Device::setMemoryHistory(size_t maxEvents) {
  std::lock_guard lock(state->memoryMutex);
  state->allocator.setHistory(maxEvents);
}

void Device::emptyCache() {
  discardFreed();
  std::lock_guard lock(state->memoryMutex);
  state->allocator.emptyCache();
}

void Device::dissolvePool(uint64_t privatePool) {
  std::lock_guard lock(state->memoryMutex);
  state->allocator.dissolvePool(privatePool);
}

void Device::setMemoryLimit(uint64_t bytes) {
  std::lock_guard lock(state->memoryMutex);
  state->limitBytes = bytes;
}

uint64_t Device::addPressureHandler(std::function<void()> handler) {
  std::lock_guard lock(state->memoryMutex);
  state->pressureHandlers.emplace(state->nextHandler, std::move(handler));
  return state->nextHandler++;
}

uint64_t Device::addOutOfMemoryObserver(OutOfMemoryObserver observer) {
  std::lock_guard lock(state->memoryMutex);
  state->oomObservers.emplace(state->nextHandler, std::move(observer));
  return state->nextHandler++;
}

void Device::removeHandler(uint64_t handler) {
  std::lock_guard lock(state->memoryMutex);
  state->pressureHandlers.erase(handler);
  state->oomObservers.erase(handler);
}

std::string Device::memorySummary() const {
  std::string text;
  std::string table;
  MemoryStats stats;
  {
    std::lock_guard lock(state->memoryMutex);
    stats = state->allocator.stats();
    table = state->allocator.regionTable() + state->allocator.temporariesTable();
  }
  text += fmt::format("memory of device '{}' ({} bytes)\n", desc().name, memoryEnd(desc()));
  text +=
      fmt::format("  {:<24}{:>16}{:>16}{:>18}{:>18}\n", "", "now", "peak", "allocated", "freed");
  const std::pair<const char *, const MemoryStatArray *> rows[] = {
      {"allocated bytes", &stats.allocatedBytes},
      {"active bytes", &stats.activeBytes},
      {"requested bytes", &stats.requestedBytes},
      {"reserved bytes", &stats.reservedBytes},
      {"unused inside chunks", &stats.inactiveSplitBytes},
      {"allocations", &stats.allocation},
      {"active blocks", &stats.active},
      {"chunks", &stats.segment},
      {"free blocks in chunks", &stats.inactiveSplit}};
  for (const auto &[name, array] : rows) {
    for (MemoryPool pool : {kAllPools, kLargePool, kSmallPool}) {
      const char *label = pool == kAllPools ? name : pool == kLargePool ? "  large" : "  small";
      const MemoryStat &stat = (*array)[pool];
      text += fmt::format("  {:<24}{:>16}{:>16}{:>18}{:>18}\n", label, stat.current, stat.peak,
                          stat.allocated, stat.freed);
    }
  }
  text += fmt::format("  retries {}, out of memory {}, larger than a segment {}",
                      stats.numAllocRetries, stats.numOoms, stats.numOomRejections);
  return text + table + "\n";
}

} // namespace spyre::runtime
