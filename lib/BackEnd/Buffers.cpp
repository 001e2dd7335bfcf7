//===- Buffers.cpp - places in LX become buffers with a life --------------------------------===//
#include "Buffers.h"

#include <algorithm>
#include <set>

namespace spyre::backend {

using program::Buffer;
using program::Space;

int64_t BufferTable::Entry::end() const {
  int64_t offset = 0;
  for (int64_t core : buffer.coreOffset) {
    offset = std::max(offset, core);
  }
  return buffer.base + offset + buffer.bytes;
}

bool BufferTable::Entry::overlaps(const Buffer &other, int64_t otherEnd) const {
  return buffer.base < otherEnd && other.base < end();
}

void BufferTable::beginPhase(const std::string &name) {
  phaseName = name;
  ++phase;
}

int32_t BufferTable::add(Buffer buffer, const std::string &suffix) {
  buffer.name = phaseName + "." + suffix;
  buffer.firstPhase = buffer.lastPhase = phase;
  entries.push_back({std::move(buffer), false, false});
  return int32_t(entries.size() - 1);
}

int32_t BufferTable::staging(const std::string &suffix, int64_t base, int64_t bytes) {
  Buffer buffer;
  buffer.base = base;
  buffer.bytes = bytes;
  return add(std::move(buffer), suffix);
}

BufferTable::Location BufferTable::tensor(const TensorMap &map) {
  if (map.inLx || map.arrival) {
    return residentTensor(map);
  }
  // All cores together reach every stick of the tensor: a gap before the first or behind the last
  // one cannot be told from memory of somebody else, so it is left out.
  auto [low, high] = std::minmax_element(map.startAddress.begin(), map.startAddress.end());
  Buffer buffer;
  buffer.space = Space::Ddr;
  buffer.base = *low;
  buffer.bytes = *high - *low + map.spanBytes();
  return {add(std::move(buffer), map.role), 0};
}

/// The place a tensor in LX has.
static Buffer placeInLx(const TensorMap &map) {
  Buffer place;
  place.base = *std::min_element(map.startAddress.begin(), map.startAddress.end());
  place.bytes = map.spanBytes();
  bool differ = false;
  for (int64_t start : map.startAddress) {
    place.coreOffset.push_back(start - place.base);
    differ |= start != place.base;
  }
  if (!differ) {
    place.coreOffset.clear();
  }
  return place;
}

/// The entry among those that share bytes with \p place that was used last, if any.
const BufferTable::Entry *BufferTable::newestUserOf(const Entry &place) const {
  const Entry *newest = nullptr;
  for (const Entry &entry : entries) {
    if (entry.resident && entry.overlaps(place.buffer, place.end()) &&
        (!newest || entry.buffer.lastPhase >= newest->buffer.lastPhase)) {
      newest = &entry;
    }
  }
  return newest;
}

/// A read means the newest buffer with this place, or the newest one that holds it. A write goes on
/// with the buffer of this place unless another one had the bytes in between; then the old contents
/// are gone and a new life begins.
BufferTable::Location BufferTable::residentTensor(const TensorMap &map) {
  Entry wanted{placeInLx(map), true, false};
  const Buffer &place = wanted.buffer;
  const Entry *newest = newestUserOf(wanted);
  int32_t found = -1;
  bool exact = false;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Buffer &buffer = entries[i].buffer;
    if (!entries[i].resident || buffer.coreOffset != place.coreOffset) {
      continue;
    }
    bool same = buffer.base == place.base && buffer.bytes == place.bytes;
    bool holds = buffer.base <= place.base &&
                 buffer.base + buffer.bytes >= place.base + place.bytes && !map.isOutput;
    if (same || (holds && !exact)) {
      found = int32_t(i);
      exact |= same;
    }
  }
  bool continues = found >= 0 && (!map.isOutput || &entries[size_t(found)] == newest ||
                                  entries[size_t(found)].buffer.lastPhase == phase);
  if (!continues) {
    bool untouched = std::none_of(entries.begin(), entries.end(), [&](const Entry &entry) {
      return entry.resident && entry.written && entry.overlaps(place, wanted.end());
    });
    found = add(place, map.role);
    entries.back().resident = true;
    entries.back().buffer.liveIn = !map.isOutput && untouched;
  }
  Entry &entry = entries[size_t(found)];
  entry.buffer.lastPhase = phase;
  entry.written |= map.isOutput;
  return {found, place.base - entry.buffer.base};
}

/// What nobody overwrote is there for the next program. A tensor that begins where another one ends
/// its life in the same phase is in place of it.
void BufferTable::findLivesAcrossPrograms() {
  for (size_t i = 0; i < entries.size(); ++i) {
    Buffer &buffer = entries[i].buffer;
    buffer.liveOut = entries[i].resident;
    for (size_t j = 0; j < entries.size() && entries[i].resident; ++j) {
      const Buffer &other = entries[j].buffer;
      if (i == j || !entries[j].resident || !entries[i].overlaps(other, entries[j].end())) {
        continue;
      }
      // Within a phase the inputs come first.
      bool isLater =
          other.firstPhase > buffer.lastPhase || (other.firstPhase == buffer.lastPhase && j > i);
      buffer.liveOut &= !isLater;
      bool sameStart = other.base == buffer.base && other.coreOffset == buffer.coreOffset;
      if (sameStart && j < i && other.lastPhase == buffer.firstPhase) {
        buffer.inPlaceOf = int32_t(j);
      }
    }
  }
}

void BufferTable::makeNamesUnique() {
  std::set<std::string> taken;
  for (Entry &entry : entries) {
    Buffer &buffer = entry.buffer;
    if (buffer.liveIn || buffer.liveOut) {
      buffer.name = fmt::format("lx.{}.{}", buffer.base, buffer.bytes);
    }
    std::string name = buffer.name;
    for (int again = 2; !taken.insert(buffer.name).second; ++again) {
      buffer.name = fmt::format("{}.{}", name, again);
    }
  }
}

std::vector<Buffer> BufferTable::finish() {
  findLivesAcrossPrograms();
  makeNamesUnique();
  std::vector<Buffer> buffers;
  for (Entry &entry : entries) {
    buffers.push_back(std::move(entry.buffer));
  }
  return buffers;
}

} // namespace spyre::backend
