//===- TileClock.cpp - units, buffers and loops that repeat ---------------------------------===//
#include "TileClock.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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

/// Where the clock stands: times, who touched which copy last, and unused time of the memory.
struct Stand {
  Times times;
  std::array<uint8_t, 2 * kMaxBuffers> lastUnit;
  uint16_t inCopy = 0, wasRead = 0;
  size_t gaps = 0;
  std::array<double, kMaxGaps + 1> gapBegin, gapEnd;
};

/// One iteration of a loop with loops inside, from where it began to where it ended. Begun from the
/// same stand at another time it takes the same time, so it need not be followed again.
struct Iteration {
  unsigned variant = 0;
  Stand before, after;
  /// A store found fewer bytes read than it writes.
  bool readsRunOut = false;
};

/// What an iteration at some depth uses.
struct Used {
  unsigned units = 0, buffers = 0;
};

class Run {
public:
  Run(const Sketch &sketch, const arch::Timing &timing, Breakdown *breakdown)
      : sketch(sketch), timing(timing), breakdown(breakdown),
        remembers(breakdown == nullptr && sketch.loops > 1 && !sketch.unrolls) {
    for (size_t a = 0; a < sketch.table.axes; ++a) {
      const SketchAxis &axis = sketch.table.axis[a];
      steps[a] = axis.count;
      tail[a] = axis.full < axis.count;
    }
    sortSteps();
    lastUnit.fill(kNobody);
    times.free.fill(0);
    std::fill_n(times.touched.begin(), 2 * sketch.buffers, 0.0);
    times.done.fill(0);
    times.ddrEnd = times.unmatchedReads = times.unmatchedWrites = 0;
  }

  double leastCycles();
  double run() {
    walk(0, 0);
    return *std::max_element(times.done.begin(), times.done.end());
  }
  /// Every instruction waited for another unit.
  bool isChain() const { return waits + 1 == executed; }

private:
  static constexpr uint8_t kNobody = 0xFF;

  void sortSteps();
  template <typename Each>
  void forEachVariant(size_t step, size_t depth, unsigned variant, double times, const Each &each);
  void walk(size_t depth, unsigned variant);
  void iterate(size_t depth, unsigned variant);
  bool isFrom(const Iteration &iteration, const Used &used) const;
  void replay(const Iteration &iteration, const Used &used);
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
  const bool remembers;
  size_t executed = 0, waits = 0;
  /// Numbers of the steps by depth, those before the inner loops first.
  std::array<uint8_t, kMaxSteps> stepOrder;
  std::array<uint8_t, 2 * (kMaxAxes + 1) + 1> stepBegin;
  std::array<Used, kMaxAxes + 1> usedFrom;
  /// Of depths 1 and 2, the last ones in turn.
  static constexpr size_t kKeptIterations = 3;
  std::array<std::array<Iteration, kKeptIterations>, 2> iterations;
  std::array<size_t, 2> iterationsKept{};
  std::array<int64_t, kMaxAxes> steps;
  std::array<bool, kMaxAxes> tail;
  Stand stand;
  Times &times = stand.times;
  std::array<uint8_t, 2 * kMaxBuffers> &lastUnit = stand.lastUnit;
  uint16_t &inCopy = stand.inCopy, &wasRead = stand.wasRead;
  size_t &gaps = stand.gaps;
  std::array<double, kMaxGaps + 1> &gapBegin = stand.gapBegin, &gapEnd = stand.gapEnd;
  bool readsRunOut = false;
  std::array<std::array<Cost, kMaxSteps>, size_t(1) << kKeptDepths> kept;
  std::array<uint32_t, size_t(1) << kKeptDepths> isKept{};
  Cost scratch;
};

//===- Loops --------------------------------------------------------------------------------===//

void Run::sortSteps() {
  size_t count = 0, slot = 0;
  for (size_t depth = 0; depth <= sketch.loops; ++depth) {
    for (bool leaving : {false, true}) {
      stepBegin[slot++] = uint8_t(count);
      for (size_t s = 0; s < sketch.steps; ++s) {
        if (sketch.step[s].depth == depth && sketch.step[s].leaving == leaving) {
          stepOrder[count++] = uint8_t(s);
        }
      }
    }
  }
  stepBegin[slot] = uint8_t(count);
  for (size_t depth = sketch.loops + 1; remembers && depth-- > 0;) {
    Used &used = usedFrom[depth];
    used = depth < sketch.loops ? usedFrom[depth + 1] : Used();
    for (size_t i = stepBegin[2 * depth]; i < stepBegin[2 * depth + 2]; ++i) {
      const SketchStep &step = sketch.step[stepOrder[i]];
      used.units |= 1u << unsigned(step.unit);
      used.buffers |= unsigned(step.reads | step.writes);
    }
    used.units = sketch.overlaps ? used.units : (1u << kUnits) - 1;
  }
}

/// Cycles that make no difference: times are whole, but for halves where loops were multiplied.
static constexpr double kSameCycles = 0.6;

static bool isNear(double a, double b) { return std::abs(a - b) < kSameCycles; }

/// Whether the clock stands as it did when \p iteration began, for what an iteration uses. Times
/// before all of its units are free do not matter.
bool Run::isFrom(const Iteration &iteration, const Used &used) const {
  const Stand &before = iteration.before;
  const auto first = size_t(__builtin_ctz(used.units));
  const double shift = times.free[first] - before.times.free[first];
  if (((inCopy ^ before.inCopy) & used.buffers) != 0 ||
      ((wasRead ^ before.wasRead) & used.buffers) != 0 || gaps != before.gaps ||
      times.unmatchedWrites != before.times.unmatchedWrites ||
      (times.unmatchedReads != before.times.unmatchedReads &&
       (iteration.readsRunOut || times.unmatchedReads < before.times.unmatchedReads)) ||
      !isNear(times.ddrEnd, before.times.ddrEnd + shift)) {
    return false;
  }
  double earliest = times.free[first];
  for (unsigned left = used.units; left != 0; left &= left - 1) {
    auto u = size_t(__builtin_ctz(left));
    if (!isNear(times.free[u], before.times.free[u] + shift) ||
        !isNear(std::max(times.done[u], times.free[u]),
                std::max(before.times.done[u], before.times.free[u]) + shift)) {
      return false;
    }
    earliest = std::min(earliest, times.free[u]);
  }
  for (unsigned left = used.buffers; left != 0; left &= left - 1) {
    auto b = size_t(__builtin_ctz(left));
    for (size_t at = 2 * b; at < 2 * b + 1 + sketch.buffer[b].doubled; ++at) {
      double now = lastUnit[at] == kNobody ? earliest : times.touched[at];
      double then = before.lastUnit[at] == kNobody ? earliest : before.times.touched[at] + shift;
      bool isOld = now <= earliest && then <= earliest + kSameCycles;
      if (!isOld && (!isNear(now, then) || lastUnit[at] != before.lastUnit[at])) {
        return false;
      }
    }
  }
  for (size_t g = 0; g < gaps; ++g) {
    if (!isNear(gapBegin[g], before.gapBegin[g] + shift) ||
        !isNear(gapEnd[g], before.gapEnd[g] + shift)) {
      return false;
    }
  }
  return true;
}

void Run::replay(const Iteration &iteration, const Used &used) {
  const Stand &before = iteration.before, &after = iteration.after;
  const auto first = size_t(__builtin_ctz(used.units));
  const double shift = times.free[first] - before.times.free[first];
  for (unsigned left = used.units; left != 0; left &= left - 1) {
    auto u = size_t(__builtin_ctz(left));
    times.free[u] = after.times.free[u] + shift;
    times.done[u] = after.times.done[u] + shift;
  }
  for (unsigned left = used.buffers; left != 0; left &= left - 1) {
    auto b = size_t(__builtin_ctz(left));
    for (size_t at = 2 * b; at < 2 * b + 2; ++at) {
      times.touched[at] = after.times.touched[at] + shift;
      lastUnit[at] = after.lastUnit[at];
    }
  }
  inCopy = uint16_t((inCopy & ~used.buffers) | (after.inCopy & used.buffers));
  wasRead = uint16_t((wasRead & ~used.buffers) | (after.wasRead & used.buffers));
  times.ddrEnd = after.times.ddrEnd + shift;
  times.unmatchedReads += after.times.unmatchedReads - before.times.unmatchedReads;
  times.unmatchedWrites += after.times.unmatchedWrites - before.times.unmatchedWrites;
  gaps = after.gaps;
  for (size_t g = 0; g < gaps; ++g) {
    gapBegin[g] = after.gapBegin[g] + shift;
    gapEnd[g] = after.gapEnd[g] + shift;
  }
  readsRunOut |= iteration.readsRunOut;
}

/// The body of loop \p depth - 1.
void Run::iterate(size_t depth, unsigned variant) {
  if (!remembers || depth >= sketch.loops || depth > iterations.size()) {
    walk(depth, variant);
    return;
  }
  auto &kept = iterations[depth - 1];
  size_t &count = iterationsKept[depth - 1];
  const Used &used = usedFrom[depth];
  for (size_t i = 0; i < std::min(count, kKeptIterations); ++i) {
    if (kept[i].variant == variant && isFrom(kept[i], used)) {
      replay(kept[i], used);
      return;
    }
  }
  Iteration &added = kept[count++ % kKeptIterations];
  added.variant = variant;
  added.before = stand;
  const bool outer = readsRunOut;
  readsRunOut = false;
  walk(depth, variant);
  added.after = stand;
  added.readsRunOut = readsRunOut;
  readsRunOut |= outer;
}

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
      iterate(depth + 1, variant | 1u << depth);
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
      iterate(depth + 1, variant);
    }
    return;
  }
  // In pairs, since buffers take turns.
  Times first, second, third;
  iterate(depth + 1, variant);
  first = times;
  iterate(depth + 1, variant);
  iterate(depth + 1, variant);
  second = times;
  int64_t done = 3;
  const double outer = weight;
  while (trips - done >= 2) {
    iterate(depth + 1, variant);
    iterate(depth + 1, variant);
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
        iterate(depth + 1, variant);
        iterate(depth + 1, variant);
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
    iterate(depth + 1, variant);
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
  const size_t slot = 2 * depth + leaving;
  for (size_t i = stepBegin[slot]; i < stepBegin[slot + 1]; ++i) {
    const size_t s = stepOrder[i];
    const SketchStep &step = sketch.step[s];
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
    i += end - 1 - s;
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

//===- Without the clock --------------------------------------------------------------------===//

/// Calls each(times, cost) for the executions of a step that cost the same; \p times is how often
/// the first \p depth loops around it turn.
template <typename Each>
void Run::forEachVariant(size_t step, size_t depth, unsigned variant, double times,
                         const Each &each) {
  const SketchStep &of = sketch.step[step];
  if (depth == of.depth) {
    const bool runs = (of.onlyTail < 0 || tail[size_t(of.onlyTail)]) &&
                      (of.alsoTail < 0 || tail[size_t(of.alsoTail)]);
    if (runs) {
      each(of.perStepOf < 0 ? times : times * double(steps[size_t(of.perStepOf)]),
           costOf(step, variant));
    }
    return;
  }
  const size_t a = sketch.loop[depth];
  const SketchAxis &axis = sketch.table.axis[a];
  const int64_t trips = axis.full / axis.tile, rest = axis.count - trips * axis.tile;
  if (trips > 0) {
    steps[a] = axis.tile;
    tail[a] = false;
    forEachVariant(step, depth + 1, variant, times * double(trips), each);
  }
  if (rest > 0) {
    steps[a] = rest;
    tail[a] = axis.full < axis.count;
    forEachVariant(step, depth + 1, variant | 1u << depth, times, each);
  }
  steps[a] = axis.count;
  tail[a] = axis.full < axis.count;
}

/// Each unit does its steps one after the other, DDR serves one request at a time, and who touches
/// a copy of a buffer waits for the unit that did before. Of the bytes that are read and those that
/// are written, the fewer turn the bus.
double Run::leastCycles() {
  constexpr double kMany = std::numeric_limits<double>::infinity();
  std::array<double, kUnits> unit{};
  std::array<double, kMaxBuffers> buffer{};
  double all = 0, read = 0, written = 0, slack = 0, turnPerByte = kMany;
  for (size_t s = 0; s < sketch.steps; ++s) {
    const SketchStep &step = sketch.step[s];
    double busy = 0;
    forEachVariant(s, 0, 0, 1, [&](double times, const Cost &cost) {
      busy += times * cost.busy;
      if (step.work == Work::Transfer && cost.ddrBytes > 0) {
        (step.unit == Unit::Load ? read : written) += times * cost.ddrBytes;
        slack += times * cost.slack;
        turnPerByte = std::min(turnPerByte, cost.turn / cost.ddrBytes);
      }
    });
    unit[size_t(step.unit)] += busy;
    all += busy;
    for (unsigned left = unsigned(step.reads | step.writes); left != 0; left &= left - 1) {
      const auto b = size_t(__builtin_ctz(left));
      buffer[b] += sketch.buffer[b].doubled ? busy / 2 : busy;
    }
  }
  const double turned = std::min(read, written);
  const double turns = turned > 0 ? std::max(turned * turnPerByte - slack, 0.0) : 0;
  if (!sketch.overlaps) {
    return all + turns;
  }
  unit[size_t(Unit::Load)] += unit[size_t(Unit::Store)] + turns;
  return std::max(*std::max_element(unit.begin(), unit.end()),
                  *std::max_element(buffer.begin(), buffer.end()));
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
  // The copies it touches.
  std::array<uint8_t, kMaxBuffers> places;
  size_t touches = 0;
  bool waited = false;
  for (unsigned left = unsigned(step.reads | step.writes); left != 0; left &= left - 1) {
    auto b = size_t(__builtin_ctz(left));
    const size_t at = 2 * b + (sketch.buffer[b].doubled && (inCopy >> b & 1));
    places[touches++] = uint8_t(at);
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
    readsRunOut |= !isLoad && matched < cost.ddrBytes;
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
  for (size_t i = 0; i < touches; ++i) {
    times.touched[places[i]] = done;
    lastUnit[places[i]] = uint8_t(unit);
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

double leastCycles(const Sketch &sketch, const arch::Timing &timing) {
  return kRepeats * Run(sketch, timing, nullptr).leastCycles();
}

double runSketch(const Sketch &sketch, const arch::Timing &timing, Breakdown *breakdown,
                 double enough) {
  Run run(sketch, timing, breakdown);
  if (enough < std::numeric_limits<double>::infinity()) {
    const double least = run.leastCycles();
    if (kRepeats * least > enough) {
      return least;
    }
  }
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
