//===- TileClock.cpp - units, buffers and loops that repeat ---------------------------------===//
#include "TileClock.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace spyre::costmodel {

using program::kUnits;
using program::Unit;

namespace {

/// Loops are followed exactly up to here, and at most so far until they repeat.
constexpr int64_t kExactTrips = 5;
constexpr int64_t kMostTrips = 24;
constexpr size_t kMaxGaps = 6;
/// Remembered durations: of loops with up to so many depths.
constexpr size_t kKeptDepths = 3;

/// Of one execution. No initial values: tables of these are only partly used.
struct Cost {
  double busy, latency;
  double ddrBytes, turn, slack;
  /// For the breakdown.
  double bytes, fill, lx;
};

/// All that moves with time.
struct Times {
  std::array<double, kUnits> free, done;
  double ddrEnd, unmatchedReads, unmatchedWrites;
  std::array<double, 2 * kMaxBuffers> touched;
};

class Run {
public:
  Run(const Sketch &sketch, const arch::Timing &timing, Breakdown *breakdown)
      : sketch(sketch), timing(timing), breakdown(breakdown) {
    for (size_t a = 0; a < sketch.table.axes; ++a) {
      const SketchAxis &axis = sketch.table.axis[a];
      steps[a] = axis.count;
      tail[a] = axis.full < axis.count;
    }
    lastUnit.fill(kNobody);
    times.free.fill(0);
    std::fill_n(times.touched.begin(), 2 * sketch.buffers, 0.0);
    times.done.fill(0);
    times.ddrEnd = times.unmatchedReads = times.unmatchedWrites = 0;
  }

  double run() {
    walk(0, 0);
    return *std::max_element(times.done.begin(), times.done.end());
  }
  /// Every instruction waited for another unit.
  bool isChain() const { return waits + 1 == executed; }

private:
  static constexpr uint8_t kNobody = 0xFF;

  void walk(size_t depth, unsigned variant);
  void repeat(size_t depth, unsigned variant, int64_t trips);
  void runSteps(size_t depth, bool leaving, unsigned variant);
  void runSliced(size_t first, size_t end, unsigned variant);
  void run(const SketchStep &step, const Cost &cost);
  const Cost &costOf(size_t index, unsigned variant);
  Cost computeCost(const SketchStep &step) const;
  void extrapolate(const Times &before, double times);
  double reserve(double earliest, double busy);
  void count(const SketchStep &step, const Cost &cost, double turn);

  const Sketch &sketch;
  const arch::Timing &timing;
  Breakdown *breakdown;
  double weight = 1;
  size_t executed = 0, waits = 0;
  std::array<int64_t, kMaxAxes> steps;
  std::array<bool, kMaxAxes> tail;
  Times times;
  std::array<uint8_t, 2 * kMaxBuffers> lastUnit;
  uint16_t inCopy = 0, wasRead = 0;
  size_t gaps = 0;
  std::array<double, kMaxGaps + 1> gapBegin, gapEnd;
  std::array<std::array<Cost, kMaxSteps>, size_t(1) << kKeptDepths> kept;
  std::array<uint32_t, size_t(1) << kKeptDepths> isKept{};
  Cost scratch;
};

//===- Loops --------------------------------------------------------------------------------===//

void Run::walk(size_t depth, unsigned variant) {
  runSteps(depth, false, variant);
  if (depth < sketch.loops) {
    size_t a = sketch.loop[depth];
    const SketchAxis &axis = sketch.table.axis[a];
    int64_t trips = axis.full / axis.tile, rest = axis.count - trips * axis.tile;
    if (trips > 0) {
      steps[a] = axis.tile;
      tail[a] = false;
      repeat(depth, variant, trips);
    }
    if (rest > 0) {
      steps[a] = rest;
      tail[a] = axis.full < axis.count;
      walk(depth + 1, variant | 1u << depth);
    }
    steps[a] = axis.count;
    tail[a] = axis.full < axis.count;
  }
  runSteps(depth, true, variant);
}

static bool isSteady(const Times &a, const Times &b, const Times &c) {
  for (size_t u = 0; u < kUnits; ++u) {
    double last = c.done[u] - b.done[u], before = b.done[u] - a.done[u];
    if (std::abs(last - before) > 0.001 * last + 0.5) {
      return false;
    }
  }
  return true;
}

void Run::repeat(size_t depth, unsigned variant, int64_t trips) {
  if (trips <= kExactTrips) {
    for (int64_t i = 0; i < trips; ++i) {
      walk(depth + 1, variant);
    }
    return;
  }
  // In pairs, since buffers take turns.
  Times first, second, third;
  walk(depth + 1, variant);
  first = times;
  walk(depth + 1, variant);
  walk(depth + 1, variant);
  second = times;
  int64_t done = 3;
  const double outer = weight;
  while (trips - done >= 2) {
    walk(depth + 1, variant);
    walk(depth + 1, variant);
    done += 2;
    third = times;
    if (isSteady(first, second, third) || done >= kMostTrips) {
      auto pairs = double((trips - done) / 2);
      extrapolate(second, pairs);
      if (breakdown != nullptr && pairs > 0) {
        // Counters of the pairs that were not run: run one more with their weight, off the clock.
        Times saved = times;
        auto units = lastUnit;
        size_t savedGaps = gaps;
        auto begins = gapBegin, ends = gapEnd;
        weight = outer * pairs;
        walk(depth + 1, variant);
        walk(depth + 1, variant);
        weight = outer;
        times = saved;
        lastUnit = units;
        gaps = savedGaps;
        gapBegin = begins;
        gapEnd = ends;
      }
      done += int64_t(pairs) * 2;
      break;
    }
    first = second;
    second = third;
  }
  for (; done < trips; ++done) {
    walk(depth + 1, variant);
  }
}

void Run::extrapolate(const Times &before, double pairs) {
  const double ddr = (times.ddrEnd - before.ddrEnd) * pairs;
  for (size_t g = 0; g < gaps; ++g) {
    gapBegin[g] += ddr;
    gapEnd[g] += ddr;
  }
  times.ddrEnd += ddr;
  for (size_t u = 0; u < kUnits; ++u) {
    times.free[u] += (times.free[u] - before.free[u]) * pairs;
    times.done[u] += (times.done[u] - before.done[u]) * pairs;
  }
  for (size_t b = 0; b < 2 * sketch.buffers; ++b) {
    times.touched[b] += (times.touched[b] - before.touched[b]) * pairs;
  }
  times.unmatchedReads += (times.unmatchedReads - before.unmatchedReads) * pairs;
  times.unmatchedWrites += (times.unmatchedWrites - before.unmatchedWrites) * pairs;
}

void Run::runSteps(size_t depth, bool leaving, unsigned variant) {
  for (size_t s = 0; s < sketch.steps; ++s) {
    const SketchStep &step = sketch.step[s];
    if (step.depth != depth || step.leaving != leaving) {
      continue;
    }
    if ((step.onlyTail >= 0 && !tail[size_t(step.onlyTail)]) ||
        (step.alsoTail >= 0 && !tail[size_t(step.alsoTail)])) {
      continue;
    }
    if (step.perStepOf < 0) {
      run(step, costOf(s, variant));
      continue;
    }
    size_t end = s + 1;
    while (end < sketch.steps && sketch.step[end].perStepOf == step.perStepOf) {
      ++end;
    }
    runSliced(s, end, variant);
    s = end - 1;
  }
}

void Run::runSliced(size_t first, size_t end, unsigned variant) {
  int64_t slices = steps[size_t(sketch.step[first].perStepOf)];
  auto pair = [&] {
    for (size_t s = first; s < end; ++s) {
      run(sketch.step[s], costOf(s, variant));
    }
  };
  constexpr int64_t kFollowed = 6;
  Times before;
  for (int64_t i = 0; i < std::min(slices, kFollowed); ++i) {
    if (i == kFollowed - 2) {
      before = times;
    }
    pair();
  }
  if (slices > kFollowed) {
    auto left = double(slices - kFollowed);
    extrapolate(before, left / 2);
    if (breakdown != nullptr) {
      for (size_t s = first; s < end; ++s) {
        weight *= left;
        count(sketch.step[s], costOf(s, variant), 0);
        weight /= left;
      }
    }
  }
}

//===- Steps --------------------------------------------------------------------------------===//

double Run::reserve(double earliest, double busy) {
  if (gaps == 0 && earliest <= times.ddrEnd) {
    return times.ddrEnd += busy;
  }
  // Gaps that nobody can use any more are forgotten.
  double horizon = std::min(times.free[size_t(Unit::Load)], times.free[size_t(Unit::Store)]);
  size_t keptGaps = 0;
  double left = busy, end = earliest;
  std::array<double, kMaxGaps + 1> begins, ends;
  auto keep = [&](double begin, double close) {
    if (begin < close && keptGaps < kMaxGaps) {
      begins[keptGaps] = begin;
      ends[keptGaps++] = close;
    }
  };
  for (size_t g = 0; g < gaps; ++g) {
    double begin = gapBegin[g], close = gapEnd[g];
    if (close <= horizon) {
      continue;
    }
    double start = std::max(begin, earliest);
    if (left > 0 && start < close) {
      double taken = std::min(left, close - start);
      left -= taken;
      end = start + taken;
      keep(begin, start);
      begin = end;
    }
    keep(begin, close);
  }
  if (left > 0 || busy == 0) {
    double start = std::max(times.ddrEnd, earliest);
    keep(times.ddrEnd, start);
    times.ddrEnd = end = start + left;
  }
  gaps = keptGaps;
  gapBegin = begins;
  gapEnd = ends;
  return end;
}

void Run::run(const SketchStep &step, const Cost &cost) {
  const auto unit = size_t(step.unit);
  double &free = times.free[unit], &done = times.done[unit];
  uint16_t begins = step.writes & ~step.reads & wasRead;
  inCopy ^= begins;
  wasRead = uint16_t((wasRead & ~begins) | step.reads);
  const unsigned used = unsigned(step.reads | step.writes);
  bool waited = false;
  for (unsigned left = used; left != 0; left &= left - 1) {
    auto b = size_t(__builtin_ctz(left));
    size_t at = 2 * b + (sketch.buffer[b].doubled && (inCopy >> b & 1));
    if (lastUnit[at] != kNobody && lastUnit[at] != unit) {
      free = std::max(free, times.touched[at]);
      waited = true;
    }
  }
  ++executed;
  waits += waited;
  done = std::max(done, free);
  double ready = sketch.overlaps ? free : *std::max_element(times.done.begin(), times.done.end());
  double end = 0, turn = 0;
  if (step.work == Work::Transfer) {
    const bool isLoad = step.unit == Unit::Load;
    double &other = isLoad ? times.unmatchedWrites : times.unmatchedReads;
    double matched = std::min(other, cost.ddrBytes);
    other -= matched;
    (isLoad ? times.unmatchedReads : times.unmatchedWrites) += cost.ddrBytes - matched;
    if (matched > 0) {
      turn = std::ceil(std::max(cost.turn * matched / cost.ddrBytes - cost.slack, 0.0));
    }
    end = sketch.overlaps ? reserve(ready, cost.busy + turn) : ready + cost.busy + turn;
  } else {
    end = ready + cost.busy;
  }
  free = end;
  done = std::max(done, end + cost.latency);
  for (unsigned left = used; left != 0; left &= left - 1) {
    auto b = size_t(__builtin_ctz(left));
    size_t at = 2 * b + (sketch.buffer[b].doubled && (inCopy >> b & 1));
    times.touched[at] = done;
    lastUnit[at] = uint8_t(unit);
  }
  if (breakdown != nullptr) {
    count(step, cost, turn);
  }
}

const Cost &Run::costOf(size_t index, unsigned variant) {
  variant &= (1u << sketch.step[index].depth) - 1;
  if (variant >= kept.size()) {
    return scratch = computeCost(sketch.step[index]);
  }
  if ((isKept[variant] >> index & 1) == 0) {
    isKept[variant] |= 1u << index;
    kept[variant][index] = computeCost(sketch.step[index]);
  }
  return kept[variant][index];
}

static double whole(double cycles) { return std::ceil(cycles); }

/// Contiguous bytes in DDR, in whichever order the levels are walked.
static double runBytes(const SketchStep &step, const std::array<int64_t, 8> &counts) {
  int64_t run = 128;
  unsigned used = 0;
  for (bool grows = true; grows;) {
    grows = false;
    for (unsigned l = 0; l < step.levels; ++l) {
      if ((used >> l & 1) == 0 && counts[l] > 1 && std::abs(step.level[l].stride) == run) {
        run *= counts[l];
        used |= 1u << l;
        grows = true;
      }
    }
  }
  return double(run);
}

Cost Run::computeCost(const SketchStep &step) const {
  std::array<int64_t, 8> counts;
  double points = 1, blocks = 1;
  for (size_t l = 0; l < step.levels; ++l) {
    const SketchLevel &level = step.level[l];
    counts[l] = level.perStep;
    if (level.axis >= 0 && level.axis != step.perStepOf) {
      auto a = size_t(level.axis);
      counts[l] = steps[a] * level.perStep - (tail[a] ? level.tailLess : 0);
      if (level.second >= 0) {
        counts[l] = (steps[a] - 1) * level.perStep +
                    (steps[size_t(level.second)] - 1) * level.perSecond + 1;
      }
    }
    points *= double(counts[l]);
    blocks = l + 1 == step.blockLevels ? points : blocks;
  }
  Cost cost{};
  if (points <= 0) {
    return cost;
  }
  double bytes = points * 128;
  cost.bytes = bytes;
  switch (step.work) {
  case Work::Transfer: {
    const TransferRates &rates =
        step.fewerAxis >= 0 && tail[size_t(step.fewerAxis)] ? *step.fewer : *step.rates;
    const TransferRates::Way &way =
        !step.scattered && rates.togetherFromBytes >= 0 && bytes > rates.togetherFromBytes
            ? rates.together
            : rates.alone;
    double run = step.scattered ? 128 : runBytes(step, counts);
    double requests = bytes / std::min(run, arch::kDdrRequestBytes) * timing.ddrRequestCycles;
    double chip = std::max(bytes * way.chipPerByte, way.reads * requests);
    double busy = std::max(std::max(chip, bytes * way.portPerByte),
                           bytes * std::max(way.corePerByte, way.ringPerByte));
    cost.busy = whole(busy);
    cost.latency = way.latency;
    cost.ddrBytes = bytes * way.reads / rates.cores;
    cost.turn = bytes * way.reads / arch::kDdrWriteBatchBytes * timing.ddrTurnaroundCycles;
    cost.slack = busy - chip;
    break;
  }
  case Work::Lanes:
  case Work::Move: {
    double work = points * step.cycles, lx = points * step.lxBytes / timing.lxBytesPerCycle;
    cost.busy = whole(std::max(work, lx));
    cost.lx = std::max(lx - work, 0.0);
    break;
  }
  case Work::Matmul: {
    double stream = points * step.cycles / blocks;
    double fill = 64.0 * 128 / timing.ptFillBytesPerCycle;
    cost.busy = whole(fill + (blocks - 1) * std::max(stream, fill) + stream);
    cost.fill = fill + (blocks - 1) * std::max(fill - stream, 0.0);
    for (int8_t axis : step.repeats) {
      cost.busy *= axis < 0 ? 1 : double(steps[size_t(axis)]);
      cost.fill *= axis < 0 ? 1 : double(steps[size_t(axis)]);
    }
    break;
  }
  case Work::Exchange: {
    // Accumulators are compact in LX: one run.
    cost.busy = whole(bytes * step.linkTransfers / timing.ringBytesPerCycle +
                      step.hops * timing.ringRunCycles);
    cost.latency = whole(step.lastHops * timing.ringHopCycles);
    break;
  }
  }
  return cost;
}

void Run::count(const SketchStep &step, const Cost &cost, double turn) {
  Breakdown &sum = *breakdown;
  switch (step.work) {
  case Work::Transfer:
    sum.ddrCycles += weight * (cost.busy + turn);
    sum.ddrLatencyCycles += weight * cost.latency;
    (step.unit == Unit::Load ? sum.ddrReadBytes : sum.ddrWriteBytes) +=
        weight * cost.ddrBytes * step.rates->cores;
    break;
  case Work::Lanes:
  case Work::Move:
    sum.sfpCycles += weight * (cost.busy - cost.lx);
    sum.lxCycles += weight * cost.lx;
    break;
  case Work::Matmul:
    sum.ptFillCycles += weight * cost.fill;
    sum.ptCycles += weight * (cost.busy - cost.fill);
    break;
  case Work::Exchange:
    sum.ringCycles += weight * (cost.busy + cost.latency);
    sum.ringBytes += weight * cost.bytes;
    break;
  }
}

} // namespace

double runSketch(const Sketch &sketch, const arch::Timing &timing, Breakdown *breakdown) {
  Run run(sketch, timing, breakdown);
  double cycles = run.run();
  if (!sketch.unrolls || !sketch.overlaps || !run.isChain()) {
    return cycles;
  }
  // Nothing would be gained by tokens, so the back end does without.
  Sketch oneByOne = sketch;
  oneByOne.overlaps = false;
  return Run(oneByOne, timing, nullptr).run();
}

} // namespace spyre::costmodel
