//===- FuzzStatistics.h - what the random graphs were made of -------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"

#include "GraphInterpreter.h"

#include <map>

namespace spyre::testing {

struct FuzzStatistics {
  int64_t graphs = 0, calls = 0, views = 0, fewestViews = 1 << 20;
  int64_t sizes = 0, unalignedSizes = 0;
  int64_t operations = 0, copies = 0, refusedForSpan = 0;
  int64_t elements = 0, exactElements = 0, openElements = 0;
  std::map<std::string, int64_t> targets;
  std::map<size_t, int64_t> ranks;
  std::map<numerics::HostType, int64_t> types;

  void count(const Graph &graph);
  /// Device operations of a compiled model, and those of them that only move data.
  void count(const Artifacts &artifacts);
  void count(const Interval &element);

  std::string text() const;
};

} // namespace spyre::testing
