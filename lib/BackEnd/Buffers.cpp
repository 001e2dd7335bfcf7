//===- Buffers.cpp - places in LX become buffers with a life --------------------------------===//
#include "Buffers.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace spyre::backend {

using program::Buffer;
using program::Space;

void BufferTable::beginPhase(const std::string &name) {
  phaseName = name;
  ++phase;
}

int32_t BufferTable::add(Buffer buffer, const std::string &suffix) {
  buffer.name = phaseName + "." + suffix;
  buffer.firstPhase = buffer.lastPhase = phase;
  entries.push_back({std::move(buffer), -1});
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

BufferTable::LxPlace BufferTable::LxPlace::of(const TensorMap &map) {
  LxPlace place;
  auto [low, high] = std::minmax_element(map.startAddress.begin(), map.startAddress.end());
  place.base = *low;
  place.bytes = map.spanBytes();
  place.end = *high + place.bytes;
  for (size_t i = 0; *low != *high && i < map.startAddress.size(); ++i) {
    place.coreOffset.push_back(map.startAddress[i] - place.base);
  }
  return place;
}

bool BufferTable::LxPlace::isSame(const LxPlace &other) const {
  return base == other.base && bytes == other.bytes && coreOffset == other.coreOffset;
}

bool BufferTable::LxPlace::holds(const LxPlace &other) const {
  return base <= other.base && base + bytes >= other.base + other.bytes &&
         coreOffset == other.coreOffset;
}

/// The buffer among those that share bytes with \p wanted that was used last, or -1.
int32_t BufferTable::newestUserOf(const LxPlace &wanted) const {
  int32_t newest = -1;
  const auto age = [&](int32_t i) { return std::pair(entries[size_t(i)].buffer.lastPhase, i); };
  for (const LxPlace &place : places) {
    if (place.overlaps(wanted) && (newest < 0 || age(place.newest) > age(newest))) {
      newest = place.newest;
    }
  }
  return newest;
}

/// Of place number \p known, or of a new place when that is -1.
int32_t BufferTable::beginLife(const LxPlace &wanted, int32_t known, const TensorMap &map) {
  bool untouched = std::none_of(places.begin(), places.end(), [&](const LxPlace &place) {
    return place.written && place.overlaps(wanted);
  });
  Buffer buffer;
  buffer.base = wanted.base;
  buffer.bytes = wanted.bytes;
  buffer.coreOffset = wanted.coreOffset;
  buffer.liveIn = !map.isOutput && untouched;
  int32_t added = add(std::move(buffer), map.role);
  if (known < 0) {
    known = int32_t(places.size());
    places.push_back(wanted);
  }
  places[size_t(known)].newest = added;
  entries[size_t(added)].place = known;
  return added;
}

/// A read means the newest buffer with this place, or the newest one that holds it. A write goes on
/// with the buffer of this place unless another one had the bytes in between; then the old contents
/// are gone and a new life begins.
BufferTable::Location BufferTable::residentTensor(const TensorMap &map) {
  LxPlace wanted = LxPlace::of(map);
  int32_t same = -1, found = -1;
  for (size_t i = 0; i < places.size() && same < 0; ++i) {
    if (places[i].isSame(wanted)) {
      same = int32_t(i);
      found = places[i].newest;
    } else if (!map.isOutput && places[i].holds(wanted)) {
      found = std::max(found, places[i].newest);
    }
  }
  bool continues = found >= 0 && (!map.isOutput || found == newestUserOf(wanted) ||
                                  entries[size_t(found)].buffer.lastPhase == phase);
  if (!continues) {
    found = beginLife(wanted, same, map);
  }
  Entry &entry = entries[size_t(found)];
  entry.buffer.lastPhase = phase;
  places[size_t(entry.place)].written |= map.isOutput;
  return {found, wanted.base - entry.buffer.base};
}

/// True when nobody used bytes of \p place after its newest life; within a phase the inputs come
/// first.
bool BufferTable::isLastUser(const LxPlace &place) const {
  int32_t lastPhase = entries[size_t(place.newest)].buffer.lastPhase;
  return std::none_of(places.begin(), places.end(), [&](const LxPlace &other) {
    int32_t firstPhase = entries[size_t(other.newest)].buffer.firstPhase;
    return &other != &place && other.overlaps(place) &&
           (firstPhase > lastPhase || (firstPhase == lastPhase && other.newest > place.newest));
  });
}

/// What nobody overwrote is there for the next program.
void BufferTable::findLivesAcrossPrograms() {
  for (const LxPlace &place : places) {
    entries[size_t(place.newest)].buffer.liveOut = isLastUser(place);
  }
}

/// A tensor that begins where another one ends its life in the same phase is in place of it.
void BufferTable::findInPlace() {
  using Start = std::pair<int64_t, std::vector<int64_t>>;
  std::map<Start, int32_t> starts;
  std::vector<int32_t> startOf;
  for (const LxPlace &place : places) {
    Start start(place.base, place.coreOffset);
    startOf.push_back(starts.emplace(std::move(start), int32_t(starts.size())).first->second);
  }
  // By start and last phase: buffers in ascending order.
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> ended;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].place >= 0) {
      int32_t start = startOf[size_t(entries[i].place)];
      ended[{start, entries[i].buffer.lastPhase}].push_back(int32_t(i));
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].place < 0) {
      continue;
    }
    Buffer &buffer = entries[i].buffer;
    auto found = ended.find({startOf[size_t(entries[i].place)], buffer.firstPhase});
    if (found != ended.end()) {
      auto later = std::lower_bound(found->second.begin(), found->second.end(), int32_t(i));
      buffer.inPlaceOf = later == found->second.begin() ? -1 : *std::prev(later);
    }
  }
}

void BufferTable::makeNamesUnique() {
  std::unordered_set<std::string_view> taken; // of names that are final
  taken.reserve(entries.size());
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
  findInPlace();
  makeNamesUnique();
  std::vector<Buffer> buffers;
  buffers.reserve(entries.size());
  for (Entry &entry : entries) {
    buffers.push_back(std::move(entry.buffer));
  }
  return buffers;
}

} // namespace spyre::backend
