//===- PhaseTimer.cpp - control flow and clocks only ----------------------------------------===//
#include "PhaseTimer.h"

#include <algorithm>
#include <map>

namespace spyre::sim {

using program::Opcode;
using program::Unit;

namespace {

/// Cores of a phase that execute the same instructions.
struct CoreClass {
  std::vector<size_t> cores;
  ClockOf<StallMoment> clock;
  size_t pc = 0, depth = 0;
  std::array<int64_t, program::kMaxLoops> loops{};
};

enum class Stop { Exchange, Barrier, Done };

class PhaseTimer {
public:
  PhaseTimer(const PlannedPhase &phase, const arch::Timing &timing) : phase(phase), timing(timing) {
    makeClasses();
  }

  Status run();
  StallMoment moment;
  Counters counters;

private:
  void makeClasses();
  bool runs(const program::Instruction &source, size_t core) const {
    return source.onlyTable < 0 || table(source.onlyTable)[core] != 0;
  }
  const std::vector<int64_t> &table(int32_t index) const {
    return phase.source->coreTables[size_t(index)];
  }
  Expected<Stop> runToCollective(CoreClass &group);
  Status step(CoreClass &group, const PlannedInstruction &planned);
  void count(const CoreClass &group, const PlannedInstruction &planned);
  void exchange(const PlannedInstruction &planned);
  void barrier();

  const PlannedPhase &phase;
  const arch::Timing &timing;
  std::vector<CoreClass> classes;
};

} // namespace

void PhaseTimer::makeClasses() {
  // What tells cores apart: the entries of the tables that switch instructions off.
  std::vector<int32_t> tables;
  for (const PlannedInstruction &planned : phase.instructions) {
    int32_t only = planned.source->onlyTable;
    if (only >= 0 && std::find(tables.begin(), tables.end(), only) == tables.end()) {
      tables.push_back(only);
    }
  }
  std::map<std::vector<bool>, size_t> found;
  for (size_t core = 0; core < size_t(phase.source->cores); ++core) {
    std::vector<bool> key;
    for (int32_t only : tables) {
      key.push_back(table(only)[core] != 0);
    }
    auto [entry, isNew] = found.try_emplace(std::move(key), classes.size());
    if (isNew) {
      classes.emplace_back();
    }
    classes[entry->second].cores.push_back(core);
  }
}

Status PhaseTimer::run() {
  moment.spend(Reason::Overhead, wholeCycles(timing.phaseOverheadCycles));
  for (CoreClass &group : classes) {
    group.clock.begin(phase.source->overlap, moment);
  }
  while (true) {
    Stop stop = Stop::Done;
    for (CoreClass &group : classes) {
      SPYRE_ASSIGN_OR_RETURN(stop, runToCollective(group));
    }
    if (stop == Stop::Exchange) {
      exchange(phase.instructions[classes[0].pc]);
    } else {
      barrier();
    }
    if (stop == Stop::Done) {
      return Status::success();
    }
    for (CoreClass &group : classes) {
      ++group.pc;
    }
  }
}

Expected<Stop> PhaseTimer::runToCollective(CoreClass &group) {
  for (; group.pc < phase.instructions.size(); ++group.pc) {
    const PlannedInstruction &planned = phase.instructions[group.pc];
    switch (planned.source->opcode) {
    case Opcode::Loop:
      group.loops[group.depth++] = 0;
      break;
    case Opcode::EndLoop:
      if (++group.loops[group.depth - 1] < phase.instructions[planned.partner].source->parameter) {
        group.pc = planned.partner;
      } else {
        --group.depth;
      }
      break;
    case Opcode::Exchange:
      return Stop::Exchange;
    case Opcode::Barrier:
      return Stop::Barrier;
    default:
      if (runs(*planned.source, group.cores[0])) {
        SPYRE_RETURN_IF_ERROR(step(group, planned));
      }
    }
  }
  return Stop::Done;
}

Status PhaseTimer::step(CoreClass &group, const PlannedInstruction &planned) {
  const program::Instruction &source = *planned.source;
  if (source.opcode == Opcode::Signal || source.opcode == Opcode::Wait) {
    bool done = source.opcode == Opcode::Signal ? group.clock.signal(source.unit, source.token)
                                                : group.clock.wait(source.unit, source.token);
    return done ? Status::success()
                : Status(error<7006>("bad-program: phase {} instruction {}: signals and waits of "
                                     "token {} do not match; put each signal before its wait",
                                     phase.name, planned.index, source.token));
  }
  group.clock.run(planned.unit, planned.duration);
  count(group, planned);
  return Status::success();
}

static void addTimes(Counters &sum, const Counters &cost, uint64_t times) {
  sum.ddrReadBytes += cost.ddrReadBytes * times;
  sum.ddrWriteBytes += cost.ddrWriteBytes * times;
  sum.lxReadBytes += cost.lxReadBytes * times;
  sum.lxWriteBytes += cost.lxWriteBytes * times;
  sum.ringBytes += cost.ringBytes * times;
  sum.ptMacs += cost.ptMacs * times;
  sum.sfpLaneOps += cost.sfpLaneOps * times;
  sum.instructions += cost.instructions * times;
}

void PhaseTimer::count(const CoreClass &group, const PlannedInstruction &planned) {
  addTimes(counters, planned.cost, group.cores.size());
  const program::Instruction &source = *planned.source;
  if (source.opcode != Opcode::Load || source.peerTable < 0) {
    return;
  }
  // The leaders read DDR, the others get it from the ring.
  const std::vector<int64_t> &leaders = table(source.peerTable);
  for (size_t core : group.cores) {
    bool leads = leaders[core] == int64_t(core);
    (leads ? counters.ringBytes : counters.ddrReadBytes) -=
        leads ? planned.cost.ringBytes : planned.cost.ddrReadBytes;
  }
}

void PhaseTimer::exchange(const PlannedInstruction &planned) {
  StallMoment start;
  for (const CoreClass &group : classes) {
    const StallMoment &ready = group.clock.ready(Unit::Ring);
    start = start.cycle < ready.cycle ? ready : start;
  }
  for (CoreClass &group : classes) {
    group.clock.hold(Unit::Ring, start);
    group.clock.run(Unit::Ring, planned.duration);
  }
  Counters serving;
  serving.instructions = planned.cost.instructions;
  const std::vector<int64_t> &peers = table(planned.source->peerTable);
  for (size_t core = 0; core < size_t(phase.source->cores); ++core) {
    counters += peers[core] >= 0 ? planned.cost : serving;
  }
}

void PhaseTimer::barrier() {
  for (const CoreClass &group : classes) {
    const StallMoment &done = group.clock.done();
    moment = moment.cycle < done.cycle ? done : moment;
  }
  moment.spend(Reason::Overhead, wholeCycles(timing.barrierCycles));
  for (CoreClass &group : classes) {
    group.clock.synchronize(moment);
  }
}

Expected<PhaseTime> timeOf(const PlannedPhase &phase, const arch::Timing &timing) {
  PhaseTimer timer(phase, timing);
  SPYRE_RETURN_IF_ERROR(timer.run());
  return PhaseTime{timer.moment.cycle, timer.moment.spent, timer.counters};
}

} // namespace spyre::sim
