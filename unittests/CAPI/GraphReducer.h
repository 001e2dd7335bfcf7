//===- GraphReducer.h - the smallest graph that still fails ---------------------------------===//
#pragma once

#include "GraphInterpreter.h"

#include <functional>

namespace spyre::testing {

/// Drops outputs, calls and inputs of \p graph and shrinks sizes while \p fails says true. A
/// candidate may be malformed; \p fails must say false then.
Graph reduceGraph(Graph graph, const std::function<bool(const Graph &)> &fails);

} // namespace spyre::testing
