//===- Ddr.cpp - chunks, masks and images of the device memory ------------------------------===//
#include "Ddr.h"

#include <algorithm>
#include <cstring>

namespace spyre::sim {

Ddr::Ddr(HostMemory memory, std::optional<HostMemory> masks)
    : memory(std::move(memory)), masks(std::move(masks)),
      chunks(this->memory.bytes() / kChunkBytes + 1),
      touched(std::make_unique<std::atomic<uint8_t>[]>(chunks)) {}

Expected<Ddr> Ddr::create(uint64_t bytes, bool trackPadding) {
  SPYRE_ASSIGN_OR_RETURN(HostMemory memory, HostMemory::reserve(bytes));
  memory.preferLargePages();
  std::optional<HostMemory> masks;
  if (trackPadding) {
    SPYRE_ASSIGN_OR_RETURN(masks, HostMemory::reserve(maskOffset(bytes) + sizeof(uint64_t)));
  }
  return Ddr(std::move(memory), std::move(masks));
}

void Ddr::touch(uint64_t address, uint64_t count) {
  if (count == 0) {
    return;
  }
  for (uint64_t chunk = address / kChunkBytes; chunk <= (address + count - 1) / kChunkBytes;
       ++chunk) {
    if (touched[chunk].load(std::memory_order_relaxed) == 0) {
      touched[chunk].store(1, std::memory_order_relaxed);
    }
  }
}

void Ddr::clearPadding(uint64_t address, uint64_t count) {
  if (!masks || count == 0) {
    return;
  }
  uint64_t first = maskOffset(address);
  uint64_t last = maskOffset(address + count - 1) + sizeof(uint64_t);
  // Reading first keeps untouched pages of masks untouched.
  const uint8_t *begin = masks->at(first), *end = masks->at(last - 1) + 1;
  if (std::any_of(begin, end, [](uint8_t byte) { return byte != 0; })) {
    std::memset(masks->at(first), 0, last - first);
  }
}

void Ddr::copyPadding(uint64_t from, uint64_t to, uint64_t count) {
  if (from % kStickBytes == 0 && to % kStickBytes == 0 && count % kStickBytes == 0) {
    std::memcpy(padding(to), padding(from), count / kStickBytes * sizeof(uint64_t));
    return;
  }
  if (from % 2 != 0 || to % 2 != 0) {
    clearPadding(to, count); // Bits stand for pairs of bytes, which do not correspond.
    return;
  }
  auto bitOf = [](uint64_t address) { return uint64_t(1) << (address % kStickBytes / 2); };
  for (uint64_t offset = 0; offset < count; offset += 2) {
    bool isPadding = (*padding(from + offset) & bitOf(from + offset)) != 0;
    uint64_t &mask = *padding(to + offset);
    mask = isPadding ? mask | bitOf(to + offset) : mask & ~bitOf(to + offset);
  }
}

void Ddr::discard(uint64_t address, uint64_t count) {
  memory.discard(address, count);
  if (masks && count > 0) {
    uint64_t first = maskOffset(address);
    masks->discard(first, maskOffset(address + count - 1) + sizeof(uint64_t) - first);
  }
  // Chunks that lie inside whole are as if never written.
  for (uint64_t chunk = (address + kChunkBytes - 1) / kChunkBytes;
       (chunk + 1) * kChunkBytes <= address + count; ++chunk) {
    touched[chunk].store(0, std::memory_order_relaxed);
  }
}

uint64_t Ddr::chunkBytes(uint64_t chunk) const {
  return std::min(kChunkBytes, memory.bytes() - chunk * kChunkBytes);
}

Ddr::Image Ddr::save() const {
  Image image;
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    if (touched[chunk].load(std::memory_order_relaxed) == 0) {
      continue;
    }
    uint64_t address = chunk * kChunkBytes, bytes = chunkBytes(chunk);
    Image::Chunk saved{address, {memory.at(address), memory.at(address) + bytes}, {}};
    if (masks) {
      saved.padding.resize(bytes / kStickBytes);
      std::memcpy(saved.padding.data(), masks->at(maskOffset(address)),
                  saved.padding.size() * sizeof(uint64_t));
    }
    image.chunks.push_back(std::move(saved));
  }
  return image;
}

void Ddr::forgetAll() {
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    if (touched[chunk].load(std::memory_order_relaxed) != 0) {
      discard(chunk * kChunkBytes, chunkBytes(chunk));
      touched[chunk].store(0, std::memory_order_relaxed);
    }
  }
}

void Ddr::restore(const Image &image) {
  forgetAll();
  for (const Image::Chunk &chunk : image.chunks) {
    touch(chunk.address, chunk.data.size());
    std::memcpy(memory.at(chunk.address), chunk.data.data(), chunk.data.size());
    if (masks && !chunk.padding.empty()) {
      std::memcpy(masks->at(maskOffset(chunk.address)), chunk.padding.data(),
                  chunk.padding.size() * sizeof(uint64_t));
    }
  }
}

} // namespace spyre::sim
