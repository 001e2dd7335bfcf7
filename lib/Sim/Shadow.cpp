//===- Shadow.cpp - checks per stick; dense runs are scanned as arrays ----------------------===//
#include "Shadow.h"

namespace spyre::sim {

using program::Unit;

//===- Order of units -----------------------------------------------------------------------===//

bool UnitOrder::signal(Unit unit, uint8_t token) {
  if (tokens[token].size() == kMostSignals) {
    return false;
  }
  Clock clock = known[size_t(unit)];
  clock[size_t(unit)] = now[size_t(unit)];
  tokens[token].push(clock);
  hasTokens = true;
  return true;
}

bool UnitOrder::wait(Unit unit, uint8_t token) {
  if (tokens[token].empty()) {
    return false;
  }
  Clock &mine = known[size_t(unit)];
  const Clock &theirs = tokens[token].front();
  for (size_t i = 0; i < mine.size(); ++i) {
    mine[i] = std::max(mine[i], theirs[i]);
  }
  tokens[token].pop();
  return true;
}

void UnitOrder::forgetTokens() {
  for (size_t i = 0; hasTokens && i < tokens.size(); ++i) {
    tokens[i].clear();
  }
  hasTokens = false;
}

void UnitOrder::synchronize() { known.fill(now); }

static uint32_t latest(const UnitOrder::Clock &clock) {
  return *std::max_element(clock.begin(), clock.end());
}

bool UnitOrder::isHalfFull() const { return latest(now) > UINT32_MAX / 2; }
bool UnitOrder::isFull() const { return latest(now) == UINT32_MAX; }

void UnitOrder::reset() {
  now = {};
  synchronize();
  // Signals from before are known to everybody, whatever their times were.
  for (auto &queue : tokens) {
    queue.assign(Clock{});
  }
}

//===- Sticks -------------------------------------------------------------------------------===//

static int64_t stickOf(int64_t address) { return address / kStickBytes; }

Shadow::Shadow(uint64_t lxBytes)
    : writers(size_t(lxBytes / kStickBytes + 1)), masks(writers.size()) {}

/// Calls \p body with the number of every stick the access touches until it returns false.
template <typename Body>
void Shadow::forEachStick(const Access &access, Body body) const {
  if (access.isDense()) {
    for (int64_t stick = stickOf(access.lowest()); stick <= stickOf(access.end() - 1); ++stick) {
      if (!body(size_t(stick))) {
        return;
      }
    }
    return;
  }
  for (int64_t i = 0; i < access.count; ++i) {
    int64_t address = access.base + i * access.stride;
    for (int64_t stick = stickOf(address); stick <= stickOf(address + access.width - 1); ++stick) {
      if (!body(size_t(stick))) {
        return;
      }
    }
  }
}

/// Differences are gathered without branches, so that the scan vectorises.
static bool allEqual(const uint64_t *values, int64_t count, uint64_t expected) {
  uint64_t difference = 0;
  for (int64_t i = 0; i < count; ++i) {
    difference |= values[i] ^ expected;
  }
  return difference == 0;
}

std::optional<Finding> Shadow::checkWriter(const Access &access, WriterKey key) const {
  if (access.isDense()) {
    int64_t first = stickOf(access.lowest());
    if (allEqual(&writers[size_t(first)], stickOf(access.end() - 1) + 1 - first, key)) {
      return std::nullopt;
    }
  }
  std::optional<Finding> finding;
  forEachStick(access, [&](size_t stick) {
    if (writers[stick] != key) {
      finding = Finding{.kind = Finding::Kind::Writer,
                        .address = int64_t(stick) * kStickBytes,
                        .found = writers[stick]};
    }
    return !finding;
  });
  return finding;
}

void Shadow::setWriter(const Access &access, WriterKey key) {
  if (access.isDense()) {
    std::fill(writers.begin() + stickOf(access.lowest()),
              writers.begin() + stickOf(access.end() - 1) + 1, key);
    return;
  }
  forEachStick(access, [&](size_t stick) {
    writers[stick] = key;
    return true;
  });
}

void Shadow::adoptHostData(const Access &access, WriterKey key) {
  forEachStick(access, [&](size_t stick) {
    if (writers[stick] == kHostWritten) {
      writers[stick] = key;
    }
    return true;
  });
}

void Shadow::forgetTag(int64_t address, int64_t bytes, uint32_t tag) {
  forEachStick({.base = address, .width = bytes}, [&](size_t stick) {
    if (uint32_t(writers[stick] >> 32) == tag) {
      writers[stick] = kNeverWritten;
    }
    return true;
  });
}

void Shadow::setWriterOfRange(int64_t address, int64_t bytes, WriterKey key) {
  if (bytes > 0) {
    setWriter({.base = address, .width = bytes}, key);
    clearPadding({.base = address, .width = bytes});
  }
}

void Shadow::forgetAll(WriterKey key) {
  std::fill(writers.begin(), writers.end(), key);
  std::fill(masks.begin(), masks.end(), 0);
}

bool Shadow::noPadding(const Access &access) const {
  if (access.isDense()) {
    int64_t first = stickOf(access.lowest());
    return allEqual(&masks[size_t(first)], stickOf(access.end() - 1) + 1 - first, 0);
  }
  uint64_t any = 0;
  forEachStick(access, [&](size_t stick) {
    any |= masks[stick];
    return true;
  });
  return any == 0;
}

void Shadow::clearPadding(const Access &access) {
  if (access.isDense()) {
    std::fill(masks.begin() + stickOf(access.lowest()),
              masks.begin() + stickOf(access.end() - 1) + 1, 0);
    return;
  }
  forEachStick(access, [&](size_t stick) {
    masks[stick] = 0;
    return true;
  });
}

//===- Times --------------------------------------------------------------------------------===//

std::optional<Finding> Shadow::checkRead(const Access &access, Unit unit, const UnitOrder &order) {
  std::optional<Finding> finding;
  uint32_t time = order.time(unit);
  forEachStick(access, [&](size_t stick) {
    Times &touched = times[stick];
    if (!order.knows(unit, touched.writer, touched.write)) {
      finding = Finding{.kind = Finding::Kind::Unordered,
                        .address = int64_t(stick) * kStickBytes,
                        .unit = Unit(touched.writer),
                        .otherWrote = true};
    }
    touched.read[size_t(unit)] = time;
    return !finding;
  });
  return finding;
}

std::optional<Finding> Shadow::checkWrite(const Access &access, Unit unit, const UnitOrder &order) {
  std::optional<Finding> finding;
  uint32_t time = order.time(unit);
  forEachStick(access, [&](size_t stick) {
    Times &touched = times[stick];
    int64_t address = int64_t(stick) * kStickBytes;
    if (!order.knows(unit, touched.writer, touched.write)) {
      finding = Finding{.kind = Finding::Kind::Unordered,
                        .address = address,
                        .unit = Unit(touched.writer),
                        .otherWrote = true};
    }
    for (size_t other = 0; other < program::kUnits && !finding; ++other) {
      if (!order.knows(unit, other, touched.read[other])) {
        finding =
            Finding{.kind = Finding::Kind::Unordered, .address = address, .unit = Unit(other)};
      }
    }
    touched.write = time;
    touched.writer = uint8_t(unit);
    return !finding;
  });
  return finding;
}

void Shadow::forgetTimes() { std::fill(times.begin(), times.end(), Times()); }

void Shadow::ensureTimes() { times.resize(writers.size()); }

void Shadow::restore(const Image &image) {
  writers = image.writers;
  masks = image.masks;
  forgetTimes();
}

} // namespace spyre::sim
