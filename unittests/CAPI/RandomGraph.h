//===- RandomGraph.h - seeded random graphs over the whole table of operations --------------===//
#pragma once

#include "spyre/Base/Random.h"

#include "GraphInterpreter.h"

namespace spyre::testing {

struct RandomGraphOptions {
  /// Steps of the chain; a step may need more than one call.
  int64_t steps = 5;
  /// Largest size of a dimension, and of a tensor.
  int64_t maxSize = 140;
  int64_t maxElements = 8000;
  /// Small whole numbers instead of multiples of 1/64.
  bool whole = false;
};

/// A chain of operations and at least two views on fresh inputs and earlier values.
Graph randomGraph(Random &random, const RandomGraphOptions &options);

/// Numbers that every format of the device and the host holds.
HostTensor randomTensor(Random &random, const std::vector<int64_t> &shape, numerics::HostType dtype,
                        bool whole);

bool isInteger(numerics::HostType dtype);
bool isViewCall(const std::string &target);

/// The graph as graph IR text, inputs in default layouts. With \p hints, a location per call,
/// inputs have names of dimensions: those of size 64 are d64. With \p numbered, calls have node
/// numbers: the caller can run them.
std::string graphText(const Graph &graph, const std::vector<std::string> &hints = {},
                      bool numbered = false);

} // namespace spyre::testing
