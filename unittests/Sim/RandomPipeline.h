//===- RandomPipeline.h - random programs whose units overlap, with their tokens ------------===//
//
// Operations of all five units on a few slots of LX, in random order. Where an operation depends on
// one of another unit a token orders the two; there is one token per pair of units, and a wait is
// left out when an earlier one of the pair already waited for as much. What remains is right by
// construction. isOrdered() tells with plain reachability, and nothing else in common with the
// device, whether the tokens still order everything after some waits were taken out.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Sim/SimFixture.h"

#include <bitset>

namespace spyre::test {

class RandomPipeline {
public:
  static constexpr int64_t kSlots = 7;
  static constexpr size_t kMostOps = 96;

  /// \p slotSticks must be even.
  RandomPipeline(Random &random, size_t opCount, int64_t cores, int64_t slotSticks)
      : cores(cores), slotBytes(slotSticks * 128), slotSticks(slotSticks) {
    for (int64_t slot = 0; slot < kSlots; ++slot) {
      append({Unit::Load, {}, slot});
    }
    while (ops.size() < opCount) {
      append(randomOp(random));
    }
  }

  struct Step {
    enum class Kind { Op, Signal, Wait } kind = Kind::Op;
    /// Op: index. Signal, Wait: the unit and the token.
    size_t op = 0;
    Unit unit = Unit::Load;
    uint8_t token = 0;
  };
  std::vector<Step> steps;

  std::vector<size_t> waits() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind == Step::Kind::Wait) {
        found.push_back(i);
      }
    }
    return found;
  }

  /// Every two operations of different units that touch a slot, one of them writing, have an order.
  bool isOrdered() const {
    std::vector<std::bitset<kMostOps>> before = reachability();
    for (size_t later = 0; later < ops.size(); ++later) {
      for (size_t earlier = 0; earlier < later; ++earlier) {
        if (ops[earlier].unit != ops[later].unit && conflict(ops[earlier], ops[later]) &&
            !before[later][earlier]) {
          return false;
        }
      }
    }
    return true;
  }

  PhaseBuilder build(bool overlap) const {
    PhaseBuilder phase("0_random", cores, overlap);
    std::vector<int64_t> rows, next;
    for (int64_t core = 0; core < cores; ++core) {
      rows.push_back(core * kCoreBytes);
      next.push_back((core + 1) % cores);
    }
    int32_t rowTable = phase.table(rows), peerTable = phase.table(next);
    for (const Step &step : steps) {
      if (step.kind == Step::Kind::Signal) {
        phase.signal(step.unit, step.token);
      } else if (step.kind == Step::Kind::Wait) {
        phase.wait(step.unit, step.token);
      } else {
        emit(phase, step.op, rowTable, peerTable);
      }
    }
    return phase;
  }

  /// Bytes that core 0 stores to segment 1; the others follow.
  static constexpr int64_t kCoreBytes = 0x30000;

private:
  struct Op {
    Unit unit = Unit::Load;
    std::vector<int64_t> reads;
    /// The slot written, or -1.
    int64_t write = -1;
  };

  static Op randomOp(Random &random) {
    auto slot = [&] { return int64_t(random.below(kSlots)); };
    switch (random.below(6)) {
    case 0:
      return {Unit::Load, {}, slot()};
    case 1:
      return {Unit::Store, {slot()}, -1};
    case 2: { // The accumulators must share no stick with A and B for the model to be exact.
      int64_t acc = slot();
      return {Unit::Matrix, {(acc + 1) % kSlots, (acc + 2) % kSlots, acc}, acc};
    }
    case 3:
      return {Unit::Ring, {slot()}, slot()};
    default:
      return {Unit::Vector, {slot(), slot()}, slot()};
    }
  }

  static bool touches(const Op &op, int64_t slot) {
    return op.write == slot || std::find(op.reads.begin(), op.reads.end(), slot) != op.reads.end();
  }
  static bool conflict(const Op &a, const Op &b) {
    return (a.write >= 0 && touches(b, a.write)) || (b.write >= 0 && touches(a, b.write));
  }

  static uint8_t tokenOf(Unit from, Unit to) {
    return uint8_t(size_t(from) * program::kUnits + size_t(to));
  }

  /// Adds \p op with the waits it needs and one signal for each unit that may wait for it.
  void append(const Op &op) {
    size_t index = ops.size();
    for (size_t unit = 0; unit < program::kUnits; ++unit) {
      int64_t last = -1;
      for (size_t i = 0; i < index; ++i) {
        if (size_t(ops[i].unit) == unit && ops[i].unit != op.unit && conflict(ops[i], op)) {
          last = int64_t(i);
        }
      }
      if (last > waited[unit][size_t(op.unit)]) {
        addSignalBehind(size_t(last), op.unit);
        steps.push_back({Step::Kind::Wait, 0, op.unit, tokenOf(Unit(unit), op.unit)});
        waited[unit][size_t(op.unit)] = last;
      }
    }
    ops.push_back(op);
    steps.push_back({Step::Kind::Op, index, op.unit, 0});
  }

  /// Directly behind operation \p op, so that it says no more than it must.
  void addSignalBehind(size_t op, Unit waiter) {
    auto place = std::find_if(steps.begin(), steps.end(), [&](const Step &step) {
      return step.kind == Step::Kind::Op && step.op == op;
    });
    steps.insert(place + 1, {Step::Kind::Signal, 0, ops[op].unit, tokenOf(ops[op].unit, waiter)});
  }

  /// Operations that come before each one: those of its unit, and what its waits bring along.
  std::vector<std::bitset<kMostOps>> reachability() const {
    std::vector<std::bitset<kMostOps>> before(ops.size());
    std::array<std::bitset<kMostOps>, program::kUnits> seen;
    std::array<std::vector<std::bitset<kMostOps>>, program::kMaxTokens> queues;
    std::array<size_t, program::kMaxTokens> taken{};
    for (const Step &step : steps) {
      std::bitset<kMostOps> &mine = seen[size_t(step.unit)];
      if (step.kind == Step::Kind::Signal) {
        queues[step.token].push_back(mine);
      } else if (step.kind == Step::Kind::Wait) {
        mine |= queues[step.token].at(taken[step.token]++);
      } else {
        before[step.op] = mine;
        mine.set(step.op);
      }
    }
    return before;
  }

  void emit(PhaseBuilder &phase, size_t index, int32_t rows, int32_t peers) const {
    const Op &op = ops[index];
    auto lx = [&](int64_t slot) { return at(slot * slotBytes, {128}); };
    int64_t place = int64_t(index) * slotBytes;
    switch (op.unit) {
    case Unit::Load:
      phase.load({slotSticks}, ddrAt(0, place % kCoreBytes, {128}).table(rows), lx(op.write));
      break;
    case Unit::Store:
      phase.store({slotSticks}, lx(op.reads[0]), ddrAt(1, place, {128}).table(rows));
      break;
    case Unit::Matrix:
      phase.matmul({slotSticks / 2}, lx(op.reads[0]), lx(op.reads[1]),
                   at(op.write * slotBytes, {256}), 1);
      break;
    case Unit::Ring:
      phase.exchange(Function::Copy, {slotSticks}, peers, lx(op.reads[0]), lx(op.write));
      break;
    case Unit::Vector:
      phase.vector(index % 2 == 0 ? Function::Add : Function::Mul, {slotSticks},
                   {lx(op.reads[0]), lx(op.reads[1]), lx(op.write)});
      break;
    }
  }

  int64_t cores, slotBytes, slotSticks;
  std::vector<Op> ops;
  /// [signaller][waiter]: the last operation the waiter has waited for.
  std::array<std::array<int64_t, program::kUnits>, program::kUnits> waited = allNever();

  static std::array<std::array<int64_t, program::kUnits>, program::kUnits> allNever() {
    std::array<std::array<int64_t, program::kUnits>, program::kUnits> never;
    for (auto &row : never) {
      row.fill(-1);
    }
    return never;
  }
};

} // namespace spyre::test
