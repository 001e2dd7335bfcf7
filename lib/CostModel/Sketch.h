//===- Sketch.h - the back end's program of a kernel, in outline ----------------------------===//
//
// Axes with their tiles, the loops over tiles, and per tile a handful of steps: which unit works on
// how many points, and which staging buffers it reads and writes. That is all the clock needs, and
// it fits in fixed arrays, so that pricing a candidate allocates nothing. Axes, tiles and levels
// mean what they mean in the back end.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Program/Program.h"

#include <array>
#include <cstdint>

namespace spyre::costmodel {

constexpr size_t kMaxAxes = 14;
constexpr size_t kMaxPlaces = 14;
constexpr size_t kMaxSteps = 28;
constexpr size_t kMaxBuffers = 14;

struct SketchAxis {
  int64_t count = 1;
  /// Without a partial last step.
  int64_t full = 1;
  int64_t tile = 1;

  bool tiled() const { return tile < count; }
  int64_t trips() const { return (count + tile - 1) / tile; }
};

/// Axes, and the byte strides of the operands along them.
struct AxisTable {
  size_t axes = 0, places = 0;
  std::array<SketchAxis, kMaxAxes> axis;
  std::array<std::array<int64_t, kMaxAxes>, kMaxPlaces> stride;

  size_t add(int64_t count, int64_t full) {
    axis[axes] = {count, full, 1};
    return axes++;
  }
  size_t add(int64_t count) { return add(count, count); }
  bool depends(size_t place, size_t a) const { return stride[place][a] != 0; }
  /// Drops axes from \p first on that have one step, and joins those that are one run everywhere.
  void coalesce(size_t first, bool join);
  /// Axes by ascending stride of \p place.
  void innerFirst(size_t place, std::array<uint8_t, kMaxAxes> &order) const;
  int64_t tileSteps(size_t place) const;
};

/// Staging bytes of a tile: for each place so many per step.
struct StagingBytes {
  std::array<int64_t, kMaxPlaces> perStep{};
  int64_t of(const AxisTable &table) const;
};

/// As the back end fills the staging area (BackEnd/Tiling.h): false when one step does not fit.
bool fillTiles(AxisTable &table, const uint8_t *order, size_t count, size_t maxAxes, int64_t budget,
               const StagingBytes &bytes);

/// What moving bytes between DDR and a core costs, per byte; both ways cores can read.
struct TransferRates {
  struct Way {
    double reads = 1;
    double chipPerByte = 0, portPerByte = 0, corePerByte = 0, ringPerByte = 0;
    double latency = 0;
  };
  Way alone, together;
  /// Cores that take part.
  double cores = 1;
  /// Reading together pays from so many bytes on; negative: never.
  double togetherFromBytes = -1;
};

/// Steps of an axis times `perStep`, less `tailLess` where the tile has the partial step. With a
/// second axis the elements that windows meet: the steps between the first and the last of both.
struct SketchLevel {
  int8_t axis = -1, second = -1;
  int64_t perStep = 1;
  int64_t tailLess = 0;
  int64_t perSecond = 0;
  /// In DDR.
  int64_t stride = 0;
};

enum class Work : uint8_t { Transfer, Lanes, Move, Matmul, Exchange };

struct SketchStep {
  Work work = Work::Lanes;
  program::Unit unit = program::Unit::Vector;
  /// Loops around it, and whether it stands behind the inner ones.
  uint8_t depth = 0;
  bool leaving = false;
  /// Runs only in tiles with the partial step of this axis, or of these two.
  int8_t onlyTail = -1, alsoTail = -1;
  /// Runs once per step of this axis (with others that have it), instead of on all at once.
  int8_t perStepOf = -1;
  uint8_t levels = 0;
  std::array<SketchLevel, program::kMaxLevels + 2> level;
  /// Buffers, as bits. What is only written begins a new life.
  uint16_t reads = 0, writes = 0;
  /// Of the unit, per point: cycles of work and bytes from and to LX.
  double cycles = 0, lxBytes = 0;
  /// Transfers; in tiles with the partial step of `fewerAxis` fewer cores take part.
  const TransferRates *rates = nullptr, *fewer = nullptr;
  int8_t fewerAxis = -1;
  /// Single rows are fetched, wherever they are.
  bool scattered = false;
  /// As many instructions as these axes have steps, one behind the other.
  std::array<int8_t, 2> repeats = {-1, -1};
  /// Leading levels along which the matrix unit's block changes.
  uint8_t blockLevels = 0;
  /// Exchanges one behind the other: transfers over the fullest link and ways of all of them, and
  /// the way of the last.
  double linkTransfers = 1, hops = 0, lastHops = 0;

  void addLevel(int axis, int64_t stride = 0, int64_t perStep = 1, int64_t tailLess = 0) {
    level[levels++] = {int8_t(axis), -1, perStep, tailLess, 0, stride};
  }
  void addBand(size_t axis, int64_t perStep, size_t second, int64_t perSecond, int64_t stride) {
    level[levels++] = {int8_t(axis), int8_t(second), perStep, 0, perSecond, stride};
  }
};

struct SketchBuffer {
  double bytes = 0;
  /// Place in the order of whose strides a tile is compact; -1: one step at a time.
  int layout = -1;
  /// Axis whose last step other instructions read than the rest.
  int readApart = -1;
  bool doubled = false;
};

/// Layout of a buffer that the back end cannot double.
constexpr int kNeverDoubled = -2;

struct Sketch {
  AxisTable table;
  /// Tiled axes, outermost first.
  size_t loops = 0;
  std::array<uint8_t, kMaxAxes> loop;
  size_t steps = 0;
  std::array<SketchStep, kMaxSteps> step;
  size_t buffers = 0, layouts = 0;
  std::array<SketchBuffer, kMaxBuffers> buffer;
  bool overlaps = true;
  /// The program has no loops; then it overlaps only if some instruction waits for no other.
  bool unrolls = false;

  SketchStep &add(Work work, program::Unit unit, size_t depth) {
    SketchStep &added = step[steps++];
    added = {};
    added.work = work;
    added.unit = unit;
    added.depth = uint8_t(depth);
    return added;
  }
  uint16_t addBuffer(double bytes, int layout) {
    buffer[buffers] = {bytes, layout, -1, false};
    return uint16_t(1u << buffers++);
  }
  /// A place that is only the order of a tile: strides are the caller's to fill in.
  int addLayout() {
    size_t place = table.places + layouts++;
    table.stride[place].fill(0);
    return int(place);
  }
  /// Loops around everything \p place depends on.
  size_t depthOf(size_t place) const;
  /// Adds the axes \p place depends on to \p to, outermost in its memory first.
  void addLevels(SketchStep &to, size_t place, bool inDdr) const;
};

/// Second copies as the back end gives them (BackEnd/DoubleBuffer.h), while LX has room.
void doubleBuffers(Sketch &sketch, const arch::DeviceDesc &device);

} // namespace spyre::costmodel
