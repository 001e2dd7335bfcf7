//===- RandomGraph.h - seeded random graphs of the supported operations ---------------------===//
#pragma once

#include "spyre/Base/Random.h"

#include "GraphInterpreter.h"

namespace spyre::testing {

struct RandomGraphOptions {
  int64_t calls = 5;
  /// Largest size of a dimension.
  int64_t maxSize = 140;
  /// Small integers and no exp: sums are exact in any order, so results must match exactly.
  bool exact = true;
};

Graph randomGraph(Random &random, const RandomGraphOptions &options);

/// The graph as graph IR text, inputs in default layouts.
std::string graphText(const Graph &graph);

} // namespace spyre::testing
