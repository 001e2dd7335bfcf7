//===- HostLanes.cpp - gather, scatter and convert the elements of sticks -------------------===//
#include "HostLanes.h"

#include <algorithm>
#include <cstring>

namespace spyre::layout::detail {

static constexpr int64_t kStickBytes = 128;
static constexpr int64_t kLineBytes = 64;
/// 128 elements of 1 byte, 64 of 2 or 32 of 8: the widest host form of a stick.
static constexpr int64_t kMaxRunBytes = 256;
/// Sticks of one transposed tile: a cache line of 2-byte elements, in either direction.
static constexpr int64_t kTileSticks = 64;
/// How many rows ahead host memory is asked for.
static constexpr int64_t kPrefetchRows = 8;
/// The same for rows of several sticks.
static constexpr int64_t kPrefetchTileRows = 2;

HostLanes::HostLanes(const TransferPlan &plan, const HostTensorRef &host)
    : plan(plan), base(static_cast<char *>(host.data)), type(host.type),
      elementBytes(numerics::hostTypeBytes(host.type)) {
  uniform = plan.laneStride(laneStride);
  SPYRE_CHECK(plan.elemsPerStick * elementBytes <= kMaxRunBytes, "host elements fit the buffer");
}

int64_t HostLanes::laneOffset(const StickRun &run, int64_t lane) const {
  const HostGroup &group = plan.groups[plan.laneGroup];
  return run.hostOffset - group.hostOffset(run.laneIndex) +
         group.hostOffset(run.laneIndex + lane * plan.laneStep);
}

/// Rows lie far apart in host memory, where the hardware does not foresee them.
static void prefetch(const char *data, int64_t bytes) {
  for (int64_t line = 0; line < bytes; line += kLineBytes) {
    __builtin_prefetch(data + line);
  }
  __builtin_prefetch(data + bytes - 1); // One line more when data is not aligned.
}

bool HostLanes::isContiguous(const StickRun &run, int64_t rowStride) const {
  return uniform && laneStride == 1 && rowStride == run.count && run.count == plan.elemsPerStick;
}

/// Elements of one tile must be distinct: a tile is not written in the order of the lanes.
bool HostLanes::isTile(const StickRun &run, int64_t count, int64_t rowStride) const {
  return uniform && rowStride == 1 && count > 1 && run.count > 1 &&
         laneStride >= std::min(count, kTileSticks);
}

void HostLanes::clearTail(const StickRun &run, char *stick) const {
  int64_t usedBytes = run.count * kStickBytes / plan.elemsPerStick;
  std::memset(stick + usedBytes, 0, size_t(kStickBytes - usedBytes));
}

//===--------------------------------------------------------------------------------------------===//
// To the device
//===--------------------------------------------------------------------------------------------===//

void HostLanes::toStick(const StickRun &run, char *stick) const {
  if (uniform && (laneStride == 1 || run.count == 1)) {
    numerics::convertHostToDevice(type, at(run.hostOffset), stick, run.count);
    return;
  }
  alignas(64) char buffer[kMaxRunBytes];
  if (uniform) {
    copyStrided(elementBytes, at(run.hostOffset), laneStride, buffer, 1, run.count);
  } else {
    for (int64_t i = 0; i < run.count; ++i) {
      std::memcpy(buffer + i * elementBytes, at(laneOffset(run, i)), size_t(elementBytes));
    }
  }
  numerics::convertHostToDevice(type, buffer, stick, run.count);
}

void HostLanes::tileToSticks(const StickRun &run, int64_t count, char *sticks) const {
  alignas(64) char columns[kTileSticks * kMaxRunBytes];
  alignas(64) char tile[kTileSticks * kMaxRunBytes];
  const int64_t columnBytes = count * elementBytes;
  for (int64_t lane = 0; lane < run.count; ++lane) {
    const char *column = at(run.hostOffset + lane * laneStride);
    std::memcpy(columns + lane * columnBytes, column, size_t(columnBytes));
    prefetch(column + columnBytes, columnBytes); // Of the next tile, most often.
  }
  transpose(elementBytes, columns, count, tile, run.count, run.count, count);
  if (run.count == plan.elemsPerStick) {
    numerics::convertHostToDevice(type, tile, sticks, count * run.count);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    numerics::convertHostToDevice(type, tile + i * run.count * elementBytes,
                                  sticks + i * kStickBytes, run.count);
  }
}

void HostLanes::toSticks(StickRun run, int64_t count, int64_t rowStride, char *sticks) const {
  if (run.count < plan.elemsPerStick) {
    for (int64_t i = 0; i < count; ++i) {
      clearTail(run, sticks + i * kStickBytes);
    }
  }
  if (isContiguous(run, rowStride)) {
    numerics::convertHostToDevice(type, at(run.hostOffset), sticks, count * run.count);
    return;
  }
  if (isTile(run, count, rowStride)) {
    for (int64_t done = 0; done < count; done += kTileSticks) {
      tileToSticks(run, std::min(kTileSticks, count - done), sticks + done * kStickBytes);
      run.hostOffset += kTileSticks;
    }
    return;
  }
  const int64_t runBytes = laneStride == 1 ? run.count * elementBytes : 1;
  for (int64_t i = 0; i < count; ++i) {
    if (i + kPrefetchRows < count) {
      prefetch(at(run.hostOffset + kPrefetchRows * rowStride), runBytes);
    }
    toStick(run, sticks + i * kStickBytes);
    run.hostOffset += rowStride;
  }
}

void HostLanes::toTiles(const StickRun &run, int64_t rows, int64_t tiles, int64_t rowStride,
                        char *sticks, int64_t pitch) const {
  alignas(64) char line[kMaxTiles * kStickBytes];
  const int64_t elems = tiles * plan.elemsPerStick;
  const char *from = at(run.hostOffset);
  for (int64_t row = 0; row < rows; ++row) {
    if (row + kPrefetchTileRows < rows) {
      prefetch(from + kPrefetchTileRows * rowStride * elementBytes, elems * elementBytes);
    }
    numerics::convertHostToDevice(type, from, line, elems);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      std::memcpy(sticks + tile * pitch + row * kStickBytes, line + tile * kStickBytes,
                  kStickBytes);
    }
    from += rowStride * elementBytes;
  }
}

//===--------------------------------------------------------------------------------------------===//
// From the device
//===--------------------------------------------------------------------------------------------===//

void HostLanes::fromStick(const char *stick, const StickRun &run) const {
  if (uniform && (laneStride == 1 || run.count == 1)) {
    numerics::convertDeviceToHost(type, stick, at(run.hostOffset), run.count);
    return;
  }
  alignas(64) char buffer[kMaxRunBytes];
  numerics::convertDeviceToHost(type, stick, buffer, run.count);
  if (uniform) {
    copyStrided(elementBytes, buffer, 1, at(run.hostOffset), laneStride, run.count);
    return;
  }
  for (int64_t i = 0; i < run.count; ++i) {
    std::memcpy(at(laneOffset(run, i)), buffer + i * elementBytes, size_t(elementBytes));
  }
}

void HostLanes::fromTiles(const char *sticks, int64_t pitch, const StickRun &run, int64_t rows,
                          int64_t tiles, int64_t rowStride) const {
  alignas(64) char line[kMaxTiles * kStickBytes];
  const int64_t elems = tiles * plan.elemsPerStick;
  char *to = at(run.hostOffset);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      std::memcpy(line + tile * kStickBytes, sticks + tile * pitch + row * kStickBytes,
                  kStickBytes);
    }
    numerics::convertDeviceToHost(type, line, to, elems);
    to += rowStride * elementBytes;
  }
}

void HostLanes::tileFromSticks(const char *sticks, const StickRun &run, int64_t count) const {
  alignas(64) char columns[kTileSticks * kMaxRunBytes];
  alignas(64) char tile[kTileSticks * kMaxRunBytes];
  const int64_t columnBytes = count * elementBytes;
  for (int64_t i = 0; i < count; ++i) {
    numerics::convertDeviceToHost(type, sticks + i * kStickBytes,
                                  tile + i * run.count * elementBytes, run.count);
  }
  transpose(elementBytes, tile, run.count, columns, count, count, run.count);
  for (int64_t lane = 0; lane < run.count; ++lane) {
    std::memcpy(at(run.hostOffset + lane * laneStride), columns + lane * columnBytes,
                size_t(columnBytes));
  }
}

void HostLanes::fromSticks(const char *sticks, StickRun run, int64_t count,
                           int64_t rowStride) const {
  if (isContiguous(run, rowStride)) {
    numerics::convertDeviceToHost(type, sticks, at(run.hostOffset), count * run.count);
    return;
  }
  if (isTile(run, count, rowStride)) {
    for (int64_t done = 0; done < count; done += kTileSticks) {
      tileFromSticks(sticks + done * kStickBytes, run, std::min(kTileSticks, count - done));
      run.hostOffset += kTileSticks;
    }
    return;
  }
  const int64_t runBytes = laneStride == 1 ? run.count * elementBytes : 1;
  for (int64_t i = 0; i < count; ++i) {
    if (i + kPrefetchRows < count) {
      prefetch(at(run.hostOffset + kPrefetchRows * rowStride), runBytes);
    }
    fromStick(sticks + i * kStickBytes, run);
    run.hostOffset += rowStride;
  }
}

} // namespace spyre::layout::detail
