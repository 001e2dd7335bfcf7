//===- RegisterPasses.cpp - passes on graph IR by flag -------------------------------------===//
#include "spyre/Dialect/Graph/Transforms/Passes.h"

namespace spyre::graph {

#define GEN_PASS_REGISTRATION
#include "spyre/Dialect/Graph/Transforms/Passes.h.inc"

void registerGraphPasses() { registerSpyreGraphPasses(); }

} // namespace spyre::graph
