//===- Trace.h - what each unit did when, for tools that draw it ----------------------------===//
#pragma once

#include "spyre/Sim/SpyreSim.h"

#include <cstdint>
#include <vector>

namespace spyre::sim {

/// Events of one core; the first `limit` are kept.
class TraceLog {
public:
  void start(uint64_t maxEvents) {
    limit = maxEvents;
    events.clear();
  }
  void add(const spyre_sim_event &event) {
    if (events.size() < limit) {
      events.push_back(event);
    }
  }
  /// Forgets the events of \p launch, the last one.
  void forgetLaunch(uint32_t launch) {
    while (!events.empty() && events.back().launch == launch) {
      events.pop_back();
    }
  }
  const std::vector<spyre_sim_event> &all() const { return events; }

private:
  uint64_t limit = 0;
  std::vector<spyre_sim_event> events;
};

} // namespace spyre::sim
