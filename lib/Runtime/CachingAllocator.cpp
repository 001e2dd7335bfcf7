//===- CachingAllocator.cpp - best fit over cached chunks -----------------------------------===//
#include "CachingAllocator.h"

#include "spyre/Base/Status.h"

#include <algorithm>
#include <chrono>

namespace spyre::runtime {

namespace {

constexpr uint64_t kMiB = uint64_t(1) << 20;
/// Sizes on a machine with plenty of memory, those of PyTorch's CUDA allocator.
constexpr uint64_t kSmallRequestBytes = kMiB, kMediumRequestBytes = 10 * kMiB;
constexpr uint64_t kSmallChunkBytes = 2 * kMiB, kMediumChunkBytes = 20 * kMiB;
constexpr uint64_t kRoundBytes = 2 * kMiB;
/// A region holds at least this many of the larger chunks; otherwise all sizes are halved.
constexpr uint64_t kChunksPerRegion = 32;
constexpr int kMaxHalvings = 10;
/// Address 0 is never handed out, so that it can mean "nothing" in a dump.
constexpr uint64_t kFirstAddress = kAllocationAlignmentBytes;

bool isActive(const MemoryBlock &block) { return block.state != BlockState::Inactive; }
bool isSplit(const MemoryBlock &block) { return block.previous || block.next; }

int64_t nowMicroseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

} // namespace

CachingAllocator::CachingAllocator(uint64_t totalBytes, uint64_t regionBytes)
    : totalBytes(totalBytes), regionBytes(regionBytes) {
  SPYRE_CHECK(regionBytes > 0, "a machine has segments");
  makeRegions();
  for (MemoryKind kind : {MemoryKind::Tensor, MemoryKind::Program, MemoryKind::Temporary}) {
    for (size_t region : regionOrder(kind)) {
      possibleBytes[size_t(kind)] =
          std::max(possibleBytes[size_t(kind)], regions[region].space.freeBytes());
    }
  }
  const uint64_t smallest = std::min(totalBytes, regionBytes);
  int halvings = 0;
  while (halvings < kMaxHalvings && (kMediumChunkBytes >> halvings) * kChunksPerRegion > smallest) {
    ++halvings;
  }
  smallRequestBytes = kSmallRequestBytes >> halvings;
  mediumRequestBytes = kMediumRequestBytes >> halvings;
  smallChunkBytes = kSmallChunkBytes >> halvings;
  mediumChunkBytes = kMediumChunkBytes >> halvings;
  roundBytes = kRoundBytes >> halvings;
}

CachingAllocator::~CachingAllocator() {
  for (auto &[address, chunk] : chunkAt) {
    for (MemoryBlock *block = chunk->first; block;) {
      delete std::exchange(block, block->next);
    }
  }
}

void CachingAllocator::makeRegions() {
  regions.clear();
  for (uint64_t begin = 0; begin < totalBytes; begin += regionBytes) {
    const uint64_t end = begin + std::min(regionBytes, totalBytes - begin);
    const uint64_t usable = begin == 0 ? kFirstAddress : begin;
    regions.push_back({begin, end, true, false, FirstFitAllocator(usable, std::max(usable, end))});
  }
  if (!regions.empty()) {
    regions.back().isForPrograms = true;
    regions.back().isForTensors = regions.size() == 1;
  }
}

/// Programs that find their own region full may lie elsewhere: a launch maps them by themselves.
std::vector<size_t> CachingAllocator::regionOrder(MemoryKind kind) const {
  const bool isOfProgram = kind != MemoryKind::Tensor;
  std::vector<size_t> order;
  if (isOfProgram && !regions.empty()) {
    order.push_back(regions.size() - 1);
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].isForTensors && !(isOfProgram && regions[i].isForPrograms)) {
      order.push_back(i);
    }
  }
  return order;
}

MemoryPool CachingAllocator::poolOf(uint64_t bytes) const {
  return bytes <= smallRequestBytes ? kSmallPool : kLargePool;
}

//===- Statistics -----------------------------------------------------------------------------===//

template <typename Action>
void CachingAllocator::forStatsOf(MemoryKind kind, Action &&action) {
  action(allStats);
  action(kindStats[size_t(kind)]);
  if (kind != MemoryKind::Program) {
    action(withoutPrograms);
  }
}

std::array<MemoryStats *, 2 + kMemoryKinds> CachingAllocator::everyStats() {
  return {&allStats, &withoutPrograms, &kindStats[0], &kindStats[1], &kindStats[2]};
}

template <typename Change>
void CachingAllocator::change(MemoryKind kind, MemoryPool pool, MemoryStatArray MemoryStats::*field,
                              Change &&apply) {
  forStatsOf(kind, [&](MemoryStats &stats) {
    apply((stats.*field)[kAllPools]);
    apply((stats.*field)[pool]);
  });
}

void CachingAllocator::increase(const MemoryChunk &chunk, MemoryStatArray MemoryStats::*field,
                                uint64_t amount) {
  change(chunk.kind, chunk.pool, field, [amount](MemoryStat &stat) { stat.increase(amount); });
}

void CachingAllocator::decrease(const MemoryChunk &chunk, MemoryStatArray MemoryStats::*field,
                                uint64_t amount) {
  change(chunk.kind, chunk.pool, field, [amount](MemoryStat &stat) { stat.decrease(amount); });
}

void CachingAllocator::count(MemoryKind kind, int64_t MemoryStats::*counter) {
  forStatsOf(kind, [counter](MemoryStats &stats) { ++(stats.*counter); });
}

void CachingAllocator::resetPeaks() {
  for (MemoryStats *stats : everyStats()) {
    for (MemoryStatArray *array : stats->arrays()) {
      for (MemoryStat &stat : *array) {
        stat.peak = stat.current;
      }
    }
  }
}

void CachingAllocator::resetSums() {
  for (MemoryStats *stats : everyStats()) {
    for (MemoryStatArray *array : stats->arrays()) {
      for (MemoryStat &stat : *array) {
        stat.allocated = stat.freed = 0;
      }
    }
    stats->numAllocRetries = stats->numOoms = stats->numOomRejections = 0;
    stats->numSyncAllStreams = stats->numDeviceAlloc = stats->numDeviceFree = 0;
  }
}

bool CachingAllocator::hasPendingFrees() const {
  return allStats.active[kAllPools].current > allStats.allocation[kAllPools].current;
}

//===- Blocks ---------------------------------------------------------------------------------===//

void CachingAllocator::insertFree(MemoryBlock *block) {
  block->state = BlockState::Inactive;
  freeSet(*block->chunk).insert(block);
  if (isSplit(*block)) {
    increase(*block->chunk, &MemoryStats::inactiveSplit, 1);
    increase(*block->chunk, &MemoryStats::inactiveSplitBytes, block->bytes);
  }
}

void CachingAllocator::eraseFree(MemoryBlock *block) {
  freeSet(*block->chunk).erase(block);
  if (isSplit(*block)) {
    decrease(*block->chunk, &MemoryStats::inactiveSplit, 1);
    decrease(*block->chunk, &MemoryStats::inactiveSplitBytes, block->bytes);
  }
}

void CachingAllocator::split(MemoryBlock *block, uint64_t bytes) {
  if (block->bytes == bytes) {
    return;
  }
  auto *rest = new MemoryBlock;
  rest->address = block->address + bytes;
  rest->bytes = block->bytes - bytes;
  rest->chunk = block->chunk;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next) {
    rest->next->previous = rest;
  }
  block->next = rest;
  block->bytes = bytes;
  insertFree(rest);
}

void CachingAllocator::join(MemoryBlock *left, MemoryBlock *right) {
  left->bytes += right->bytes;
  left->next = right->next;
  if (left->next) {
    left->next->previous = left;
  }
  delete right;
}

MemoryBlock *CachingAllocator::takeCached(const MemoryRequest &request, MemoryPool pool) {
  FreeSet &free = freeSet(request.privatePool, request.kind, pool);
  MemoryBlock key;
  key.bytes = request.roundedBytes;
  const auto found = free.lower_bound(&key);
  if (found == free.end()) {
    return nullptr;
  }
  MemoryBlock *block = *found;
  eraseFree(block);
  return block;
}

MemoryBlock *CachingAllocator::carve(const MemoryRequest &request, MemoryPool pool) {
  const uint64_t bytes = request.roundedBytes;
  uint64_t wanted = (bytes + roundBytes - 1) / roundBytes * roundBytes;
  if (pool == kSmallPool) {
    wanted = std::max(bytes, smallChunkBytes);
  } else if (bytes <= mediumRequestBytes) {
    wanted = mediumChunkBytes;
  }
  // Where there is no room for a whole chunk there may be for what was asked.
  for (uint64_t chunkBytes : {wanted, bytes}) {
    for (size_t region : regionOrder(request.kind)) {
      const std::optional<uint64_t> address = regions[region].space.allocate(chunkBytes);
      if (!address) {
        continue;
      }
      MemoryChunk *chunk = addChunk({*address, chunkBytes, request.kind, pool, uint32_t(region),
                                     request.privatePool, nullptr});
      auto *block = new MemoryBlock;
      block->address = *address;
      block->bytes = chunkBytes;
      block->chunk = chunk;
      chunk->first = block;
      count(request.kind, &MemoryStats::numDeviceAlloc);
      note(MemoryAction::SegmentAlloc, *address, chunkBytes, request.stream, nullptr);
      return block;
    }
  }
  return nullptr;
}

MemoryBlock *CachingAllocator::allocate(const MemoryRequest &request) {
  SPYRE_CHECK(request.roundedBytes > 0 && request.roundedBytes % kAllocationAlignmentBytes == 0,
              "sizes are whole sticks");
  const MemoryPool pool = poolOf(request.roundedBytes);
  MemoryBlock *block = takeCached(request, pool);
  if (!block) {
    block = carve(request, pool);
  }
  if (!block) {
    return nullptr;
  }
  split(block, request.roundedBytes);
  block->state = BlockState::ActiveAllocated;
  block->requestedBytes = request.requestedBytes;
  block->stream = request.stream;
  block->tag = request.tag;
  block->program = request.program;
  increase(*block->chunk, &MemoryStats::active, 1);
  increase(*block->chunk, &MemoryStats::activeBytes, block->bytes);
  countAllocated(*block);
  return block;
}

void CachingAllocator::countAllocated(const MemoryBlock &block) {
  increase(*block.chunk, &MemoryStats::allocation, 1);
  increase(*block.chunk, &MemoryStats::allocatedBytes, block.bytes);
  increase(*block.chunk, &MemoryStats::requestedBytes, block.requestedBytes);
  note(MemoryAction::Alloc, block.address, block.bytes, block.stream, block.tag);
}

void CachingAllocator::adopt(MemoryBlock *block) {
  if (block->state == BlockState::ActivePendingFree) {
    block->state = BlockState::ActiveAllocated;
    countAllocated(*block);
  }
}

void CachingAllocator::abandon(MemoryBlock *block) {
  if (block->state != BlockState::ActiveAllocated) {
    return;
  }
  block->state = BlockState::ActivePendingFree;
  decrease(*block->chunk, &MemoryStats::allocation, 1);
  decrease(*block->chunk, &MemoryStats::allocatedBytes, block->bytes);
  decrease(*block->chunk, &MemoryStats::requestedBytes, block->requestedBytes);
  note(MemoryAction::FreeRequested, block->address, block->bytes, block->stream, block->tag);
}

void CachingAllocator::release(MemoryBlock *block) {
  SPYRE_CHECK(isActive(*block), "a block is freed once");
  abandon(block);
  decrease(*block->chunk, &MemoryStats::active, 1);
  decrease(*block->chunk, &MemoryStats::activeBytes, block->bytes);
  note(MemoryAction::FreeCompleted, block->address, block->bytes, block->stream,
       std::move(block->tag));
  block->tag = nullptr;
  block->program = nullptr;
  block->requestedBytes = 0;
  if (MemoryBlock *next = block->next; next && !isActive(*next)) {
    eraseFree(next);
    join(block, next);
  }
  if (MemoryBlock *previous = block->previous; previous && !isActive(*previous)) {
    eraseFree(previous);
    join(previous, block);
    block = previous;
  }
  insertFree(block);
}

//===- Chunks ---------------------------------------------------------------------------------===//

MemoryChunk *CachingAllocator::addChunk(const MemoryChunk &chunk) {
  const auto added = chunkAt.emplace(chunk.address, std::make_unique<MemoryChunk>(chunk)).first;
  increase(chunk, &MemoryStats::segment, 1);
  increase(chunk, &MemoryStats::reservedBytes, chunk.bytes);
  return added->second.get();
}

void CachingAllocator::removeChunk(MemoryChunk *chunk) {
  decrease(*chunk, &MemoryStats::segment, 1);
  decrease(*chunk, &MemoryStats::reservedBytes, chunk->bytes);
  chunkAt.erase(chunk->address);
}

void CachingAllocator::emptyCache() {
  std::vector<MemoryChunk *> empty;
  for (const auto &[address, chunk] : chunkAt) {
    if (!isActive(*chunk->first) && !chunk->first->next) {
      empty.push_back(chunk.get());
    }
  }
  for (MemoryChunk *chunk : empty) {
    cutChunk(chunk);
  }
}

void CachingAllocator::reclaim() {
  std::vector<MemoryChunk *> all;
  for (const auto &[address, chunk] : chunkAt) {
    all.push_back(chunk.get());
  }
  for (MemoryChunk *chunk : all) {
    cutChunk(chunk);
  }
}

void CachingAllocator::dissolvePool(uint64_t privatePool) {
  const auto found = freeSets.find(privatePool);
  if (privatePool == 0 || found == freeSets.end()) {
    return;
  }
  for (const auto &[address, chunk] : chunkAt) {
    if (chunk->privatePool == privatePool) {
      chunk->privatePool = 0;
    }
  }
  for (size_t kind = 0; kind < found->second.size(); ++kind) {
    for (size_t pool = 0; pool < found->second[kind].size(); ++pool) {
      freeSets[0][kind][pool].merge(found->second[kind][pool]);
    }
  }
  freeSets.erase(found);
}

/// Gives the free blocks of a chunk back; each run of live blocks becomes a chunk of its own.
void CachingAllocator::cutChunk(MemoryChunk *chunk) {
  std::vector<MemoryBlock *> blocks;
  bool hasFree = false;
  for (MemoryBlock *block = chunk->first; block; block = block->next) {
    blocks.push_back(block);
    hasFree |= !isActive(*block);
  }
  if (!hasFree) {
    return;
  }
  const MemoryChunk old = *chunk;
  for (MemoryBlock *block : blocks) {
    if (!isActive(*block)) {
      eraseFree(block);
    }
  }
  removeChunk(chunk);
  MemoryChunk *run = nullptr;
  MemoryBlock *last = nullptr;
  for (size_t i = 0; i < blocks.size(); ++i) {
    MemoryBlock *block = blocks[i];
    if (!isActive(*block)) {
      regions[old.region].space.release(block->address, block->bytes);
      count(old.kind, &MemoryStats::numDeviceFree);
      note(MemoryAction::SegmentFree, block->address, block->bytes, kDefaultStream, nullptr);
      delete block;
      run = nullptr;
      continue;
    }
    if (!run) {
      uint64_t bytes = 0;
      for (size_t j = i; j < blocks.size() && isActive(*blocks[j]); ++j) {
        bytes += blocks[j]->bytes;
      }
      run =
          addChunk({block->address, bytes, old.kind, old.pool, old.region, old.privatePool, block});
      last = nullptr;
    }
    block->chunk = run;
    block->previous = last;
    block->next = nullptr;
    if (last) {
      last->next = block;
    }
    last = block;
  }
}

void CachingAllocator::reset() {
  for (auto &[address, chunk] : chunkAt) {
    for (MemoryBlock *block = chunk->first; block; block = block->next) {
      if (isActive(*block)) {
        abandon(block);
        decrease(*chunk, &MemoryStats::active, 1);
        decrease(*chunk, &MemoryStats::activeBytes, block->bytes);
        note(MemoryAction::FreeCompleted, block->address, block->bytes, block->stream, block->tag);
      } else {
        eraseFree(block);
      }
    }
    for (MemoryBlock *block = chunk->first; block;) {
      delete std::exchange(block, block->next);
    }
    decrease(*chunk, &MemoryStats::segment, 1);
    decrease(*chunk, &MemoryStats::reservedBytes, chunk->bytes);
    note(MemoryAction::SegmentFree, address, chunk->bytes, kDefaultStream, nullptr);
  }
  chunkAt.clear();
  makeRegions();
  resetPeaks();
}

//===- Reports --------------------------------------------------------------------------------===//

uint64_t CachingAllocator::largestFreeBytes(MemoryKind kind) const {
  uint64_t largest = 0;
  for (size_t i : regionOrder(kind)) {
    largest = std::max(largest, regions[i].space.largestFreeBytes());
  }
  for (const auto &[privatePool, byKind] : freeSets) {
    for (const FreeSet &free : byKind[size_t(kind)]) {
      largest = std::max(largest, free.empty() ? 0 : (*free.rbegin())->bytes);
    }
  }
  return largest;
}

uint64_t CachingAllocator::freeBytes() const {
  uint64_t free = 0;
  for (const Region &region : regions) {
    free += region.space.freeBytes();
  }
  return free + uint64_t(allStats.reservedBytes[kAllPools].current -
                         allStats.activeBytes[kAllPools].current);
}

std::string CachingAllocator::regionTable() const {
  std::string table;
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region &region = regions[i];
    uint64_t used = 0;
    for (const auto &[address, chunk] : chunkAt) {
      for (const MemoryBlock *block = chunk->region == i ? chunk->first : nullptr; block;
           block = block->next) {
        used += isActive(*block) ? block->bytes : 0;
      }
    }
    const char *what =
        region.isForTensors ? (region.isForPrograms ? "all" : "tensors") : "programs";
    table += fmt::format("\n  region {} ({}): {} of {} bytes used, largest free block {}", i, what,
                         used, region.end - region.begin, region.space.largestFreeBytes());
  }
  return table;
}

std::string CachingAllocator::temporariesTable() const {
  constexpr size_t kMostLines = 8;
  std::map<std::string, uint64_t> bytesOf;
  for (const auto &[address, chunk] : chunkAt) {
    const bool isTemporary = chunk->kind == MemoryKind::Temporary;
    for (const MemoryBlock *block = isTemporary ? chunk->first : nullptr; block;
         block = block->next) {
      if (isActive(*block)) {
        bytesOf[block->program ? *block->program : std::string()] += block->bytes;
      }
    }
  }
  std::vector<std::pair<std::string, uint64_t>> programs(bytesOf.begin(), bytesOf.end());
  std::stable_sort(programs.begin(), programs.end(),
                   [](const auto &a, const auto &b) { return a.second > b.second; });
  std::string table;
  for (size_t i = 0; i < std::min(programs.size(), kMostLines); ++i) {
    table +=
        fmt::format("\n  temporaries of '{}': {} bytes", programs[i].first, programs[i].second);
  }
  if (programs.size() > kMostLines) {
    table += fmt::format("\n  temporaries of {} more programs", programs.size() - kMostLines);
  }
  return table;
}

std::vector<ChunkInfo> CachingAllocator::chunks() const {
  std::vector<ChunkInfo> all;
  for (const auto &[address, chunk] : chunkAt) {
    ChunkInfo info;
    info.address = address;
    info.bytes = chunk->bytes;
    info.kind = chunk->kind;
    info.region = chunk->region;
    info.isLarge = chunk->pool == kLargePool;
    info.privatePool = chunk->privatePool;
    for (const MemoryBlock *block = chunk->first; block; block = block->next) {
      info.blocks.push_back({block->address, block->bytes, block->requestedBytes, block->state,
                             block->stream, block->tag, block->program});
      const bool isAllocated = block->state == BlockState::ActiveAllocated;
      info.allocatedBytes += isAllocated ? block->bytes : 0;
      info.requestedBytes += isAllocated ? block->requestedBytes : 0;
      info.activeBytes += isActive(*block) ? block->bytes : 0;
    }
    all.push_back(std::move(info));
  }
  return all;
}

void CachingAllocator::setHistory(size_t newMaxEvents) {
  maxEvents = newMaxEvents;
  events.clear();
}

void CachingAllocator::note(MemoryAction action, uint64_t address, uint64_t bytes, StreamId stream,
                            std::shared_ptr<const void> tag) {
  if (maxEvents == 0) {
    return;
  }
  if (events.size() == maxEvents) {
    events.pop_front();
  }
  events.push_back({action, address, bytes, stream, nowMicroseconds(), std::move(tag)});
}

} // namespace spyre::runtime
