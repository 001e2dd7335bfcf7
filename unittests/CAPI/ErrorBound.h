//===- ErrorBound.h - how far two honest runs of a graph may be apart -----------------------===//
//
// The device and the interpreter round after every operation, but sum in different orders and have
// different exponential functions. What that can make of a result is propagated through the graph,
// element by element, from the tolerances of the single operations (test/tolerances.json).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "GraphInterpreter.h"

namespace spyre::testing {

/// For each value of \p values = interpret(\p graph) the largest absolute difference, by element.
std::vector<std::vector<float>> errorBounds(const Graph &graph,
                                            const std::vector<HostTensor> &values);

} // namespace spyre::testing
