//===- Sketch.cpp - axes, tiles and second copies on fixed arrays ---------------------------===//
#include "Sketch.h"

#include <algorithm>
#include <bit>

namespace spyre::costmodel {

using program::Unit;

static void eraseAxis(AxisTable &table, size_t axis) {
  for (size_t a = axis + 1; a < table.axes; ++a) {
    table.axis[a - 1] = table.axis[a];
    for (size_t p = 0; p < table.places; ++p) {
      table.stride[p][a - 1] = table.stride[p][a];
    }
  }
  --table.axes;
}

static bool isOneRun(const AxisTable &table, size_t inner, size_t outer) {
  const SketchAxis &in = table.axis[inner], &out = table.axis[outer];
  if (inner == outer || in.full != in.count || out.full != out.count) {
    return false;
  }
  for (size_t p = 0; p < table.places; ++p) {
    if (table.stride[p][outer] != table.stride[p][inner] * in.count) {
      return false;
    }
  }
  return true;
}

static bool joinOnePair(AxisTable &table, size_t first) {
  for (size_t inner = first; inner < table.axes; ++inner) {
    for (size_t outer = first; outer < table.axes; ++outer) {
      if (isOneRun(table, inner, outer)) {
        int64_t count = table.axis[inner].count * table.axis[outer].count;
        table.axis[inner] = {count, count, 1};
        eraseAxis(table, outer);
        return true;
      }
    }
  }
  return false;
}

void AxisTable::coalesce(size_t first, bool join) {
  for (size_t a = axes; a-- > first;) {
    if (axis[a].count == 1 && axis[a].full == 1) {
      eraseAxis(*this, a);
    }
  }
  while (join && joinOnePair(*this, first)) {
  }
}

void AxisTable::innerFirst(size_t place, std::array<uint8_t, kMaxAxes> &order) const {
  for (size_t a = 0; a < axes; ++a) {
    size_t at = a;
    while (at > 0 && stride[place][order[at - 1]] > stride[place][a]) {
      order[at] = order[at - 1];
      --at;
    }
    order[at] = uint8_t(a);
  }
}

int64_t AxisTable::tileSteps(size_t place) const {
  int64_t steps = 1;
  for (size_t a = 0; a < axes; ++a) {
    steps *= depends(place, a) ? axis[a].tile : 1;
  }
  return steps;
}

int64_t StagingBytes::of(const AxisTable &table) const {
  int64_t bytes = 0;
  for (size_t p = 0; p < table.places; ++p) {
    bytes += perStep[p] == 0 ? 0 : perStep[p] * table.tileSteps(p);
  }
  return bytes;
}

bool fillTiles(AxisTable &table, const uint8_t *order, size_t count, size_t maxAxes, int64_t budget,
               const StagingBytes &bytes) {
  std::array<int64_t, kMaxPlaces> now = bytes.perStep;
  int64_t sum = 0;
  for (size_t p = 0; p < table.places; ++p) {
    sum += now[p];
  }
  for (size_t i = 0; i < count; ++i) {
    table.axis[order[i]].tile = 1;
  }
  if (sum > budget) {
    return false;
  }
  budget = sum <= budget / 2 ? budget / 2 : budget;
  size_t grown = 0;
  for (size_t i = 0; i < count && grown < maxAxes; ++i) {
    SketchAxis &axis = table.axis[order[i]];
    int64_t moving = 0;
    for (size_t p = 0; p < table.places; ++p) {
      moving += table.depends(p, order[i]) ? now[p] : 0;
    }
    // Bytes grow by `moving` with each further step.
    axis.tile = moving == 0 ? axis.count : std::min(axis.count, 1 + (budget - sum) / moving);
    sum += (axis.tile - 1) * moving;
    for (size_t p = 0; p < table.places; ++p) {
      now[p] *= table.depends(p, order[i]) ? axis.tile : 1;
    }
    grown += axis.tile > 1;
    if (axis.tiled()) {
      break;
    }
  }
  return true;
}

size_t Sketch::depthOf(size_t place) const {
  size_t depth = loops;
  while (depth > 0 && !table.depends(place, loop[depth - 1])) {
    --depth;
  }
  return depth;
}

void Sketch::addLevels(SketchStep &to, size_t place, bool inDdr) const {
  for (size_t a = 0; a < table.axes; ++a) {
    // Few axes have more than one step in a tile, as an instruction has few levels.
    if (table.depends(place, a) && table.axis[a].tile > 1) {
      to.addLevel(int(a), inDdr ? table.stride[place][a] : 0);
    }
  }
}

//===- Second copies ------------------------------------------------------------------------===//

namespace {
struct Study {
  uint8_t buffer = 0;
  int rank = 2;
  double lives = 0;
};
} // namespace

static double tripsTo(const Sketch &sketch, const SketchStep &step) {
  double trips = 1;
  for (size_t i = 0; i < step.depth; ++i) {
    trips *= double(sketch.table.axis[sketch.loop[i]].trips());
  }
  return step.perStepOf < 0 ? trips
                            : trips * double(sketch.table.axis[size_t(step.perStepOf)].tile);
}

/// Axes of a layout, innermost first; false when two have the same place in it.
static bool sortLayout(const Sketch &sketch, int layout, std::array<uint8_t, kMaxAxes> &order,
                       size_t &count) {
  const std::array<int64_t, kMaxAxes> &stride = sketch.table.stride[size_t(layout)];
  bool distinct = true;
  count = 0;
  for (size_t a = 0; a < sketch.table.axes; ++a) {
    if (stride[a] == 0) {
      continue;
    }
    size_t at = count++;
    for (; at > 0 && stride[order[at - 1]] >= stride[a]; --at) {
      distinct &= stride[order[at - 1]] != stride[a];
      order[at] = order[at - 1];
    }
    order[at] = uint8_t(a);
  }
  return distinct;
}

/// The last, smaller tile of an axis may leave gaps in the buffer. The back end gives a second copy
/// only where as many bytes are written as lie between the first and the last that are read.
static bool isWritten(const Sketch &sketch, const SketchBuffer &buffer) {
  if (buffer.layout < 0) {
    return buffer.layout != kNeverDoubled;
  }
  const AxisTable &table = sketch.table;
  std::array<uint8_t, kMaxAxes> order;
  size_t count = 0;
  bool distinct = sortLayout(sketch, buffer.layout, order, count);
  for (size_t i = 0; i < sketch.loops; ++i) {
    size_t a = sketch.loop[i];
    int64_t rest = table.axis[a].count % table.axis[a].tile;
    if (table.stride[size_t(buffer.layout)][a] == 0 || rest == 0) {
      continue;
    }
    int64_t written = 1, reach = 1, step = 1;
    bool seen = false, hasOuter = false;
    for (size_t l = 0; l < count; ++l) {
      const SketchAxis &axis = table.axis[order[l]];
      int64_t steps = order[l] == a ? rest : axis.tile;
      bool apart = int(order[l]) == buffer.readApart && !axis.tiled() && steps > 1;
      written *= steps;
      reach += (steps - 1 - apart) * step;
      step *= axis.tile;
      hasOuter |= seen && axis.tile > 1;
      seen |= order[l] == a;
    }
    if (distinct ? written < reach : hasOuter) {
      return false;
    }
  }
  return true;
}

/// Whether an iteration of loop \p i leaves some buffer in its other copy: an odd number of lives.
static bool turns(const Sketch &sketch, size_t i) {
  for (size_t s = 0; s < sketch.steps; ++s) {
    const SketchStep &step = sketch.step[s];
    int64_t lives = step.depth > i ? 1 : 0;
    for (size_t inner = i + 1; inner < step.depth; ++inner) {
      lives *= sketch.table.axis[sketch.loop[inner]].trips() % 2;
    }
    for (unsigned left = unsigned(step.writes & ~step.reads); left != 0; left &= left - 1) {
      if (lives != 0 && sketch.buffer[size_t(__builtin_ctz(left))].doubled) {
        return true;
      }
    }
  }
  return false;
}

/// Whether no loop is left of the program: short ones in which a second copy takes turns are
/// written down iteration by iteration.
static bool unrolls(const Sketch &sketch) {
  for (size_t i = 0; i < sketch.loops; ++i) {
    const SketchAxis &axis = sketch.table.axis[sketch.loop[i]];
    int64_t trips = axis.full / axis.tile;
    if (trips > 3 || (trips > 1 && !turns(sketch, i))) {
      return false;
    }
  }
  return true;
}

void doubleBuffers(Sketch &sketch, const arch::DeviceDesc &device) {
  std::array<Study, kMaxBuffers> studies;
  size_t count = 0;
  auto next = double(device.lxStagingBegin());
  for (size_t b = 0; b < sketch.buffers; ++b) {
    next += sketch.buffer[b].bytes;
    sketch.buffer[b].doubled = false;
    unsigned units = 0;
    Study study{uint8_t(b), 2, 0};
    for (size_t s = 0; s < sketch.steps; ++s) {
      const SketchStep &step = sketch.step[s];
      if (((step.reads | step.writes) >> b & 1) == 0) {
        continue;
      }
      units |= 1u << unsigned(step.unit);
      if ((step.reads >> b & 1) == 0 && study.lives == 0) {
        study.lives = tripsTo(sketch, step);
      }
      study.rank = step.unit == Unit::Load    ? 0
                   : step.unit == Unit::Store ? std::min(study.rank, 1)
                                              : study.rank;
    }
    if (study.lives > 1 && std::popcount(units) > 1 && isWritten(sketch, sketch.buffer[b])) {
      studies[count++] = study;
    }
  }
  std::stable_sort(studies.begin(), studies.begin() + ptrdiff_t(count),
                   [](const Study &a, const Study &b) {
                     return a.rank != b.rank ? a.rank < b.rank : a.lives > b.lives;
                   });
  for (size_t i = 0; i < count; ++i) {
    SketchBuffer &buffer = sketch.buffer[studies[i].buffer];
    if (next + buffer.bytes <= double(device.lxBytes)) {
      buffer.doubled = true;
      next += buffer.bytes;
    }
  }
  sketch.unrolls = unrolls(sketch);
}

} // namespace spyre::costmodel
