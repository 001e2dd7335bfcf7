//===- Ddr.h - the memory behind the cores, and what is known of its padding ----------------===//
//
// With the sanitizer each stick has a mask: bit i is set when bytes 2i and 2i+1 are padding, that
// is, hold no data of the tensor. Fresh memory counts as data (a user may read what he allocated);
// so a mask of zero, which costs no host memory, is the usual case.
//
// Chunks that were ever written are remembered, so that a snapshot copies what is there and not 128
// GB of zeros. Cores of one launch write different sticks but perhaps the same chunk: the marks are
// atomic.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "HostMemory.h"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace spyre::sim {

constexpr int64_t kStickBytes = 128;

class Ddr {
public:
  static Expected<Ddr> create(uint64_t bytes, bool trackPadding);

  uint64_t bytes() const { return memory.bytes(); }
  bool contains(uint64_t address, uint64_t count) const { return memory.contains(address, count); }
  uint8_t *at(uint64_t address) { return memory.at(address); }
  const uint8_t *at(uint64_t address) const { return memory.at(address); }
  /// Masks of the sticks from \p address on; NULL without tracking.
  uint64_t *padding(uint64_t address) {
    return masks ? reinterpret_cast<uint64_t *>(masks->at(maskOffset(address))) : nullptr;
  }

  /// Call before writing [address, address + count).
  void touch(uint64_t address, uint64_t count);
  /// Plain bytes from the host: all of it is data from now on.
  void clearPadding(uint64_t address, uint64_t count);
  /// The masks follow the bytes.
  void copyPadding(uint64_t from, uint64_t to, uint64_t count);
  void discard(uint64_t address, uint64_t count);

  /// Contents of the chunks ever written, and their masks.
  struct Image {
    struct Chunk {
      uint64_t address = 0;
      std::vector<uint8_t> data;
      std::vector<uint64_t> padding;
    };
    std::vector<Chunk> chunks;
  };
  Image save() const;
  void restore(const Image &image);

private:
  static constexpr uint64_t kChunkBytes = uint64_t(1) << 18;
  Ddr(HostMemory memory, std::optional<HostMemory> masks);
  static uint64_t maskOffset(uint64_t address) { return address / kStickBytes * sizeof(uint64_t); }
  uint64_t chunkBytes(uint64_t chunk) const;
  void forgetAll();

  HostMemory memory;
  std::optional<HostMemory> masks;
  uint64_t chunks;
  std::unique_ptr<std::atomic<uint8_t>[]> touched;
};

} // namespace spyre::sim
