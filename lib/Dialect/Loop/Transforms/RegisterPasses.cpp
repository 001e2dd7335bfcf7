//===- RegisterPasses.cpp - passes on loop IR by flag --------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

namespace spyre::loop {

#define GEN_PASS_REGISTRATION
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

void registerLoopPasses() { registerSpyreLoopPasses(); }

} // namespace spyre::loop
