//===- Evaluator.h - slow reference semantics of OpSpecs ------------------------------------===//
//
// The second opinion: executes OpSpecs element by element from their coordinates, one scalar at a
// time, with the numerics policy (docs/numerics.md) and no notion of LX, tiles or programs; of
// cores only how a split reduction is cut into slices, since that is part of its result (ADR 0012).
// It shares no source with Program, BackEnd or Sim. Simulator results must equal its results bit
// for bit.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/OpSpec.h"

#include <map>
#include <string>
#include <vector>

namespace spyre::evaluator {

/// Bytes of device memory, by kernel argument and one pool.
struct Memory {
  std::vector<std::vector<uint8_t>> arguments;
  std::vector<uint8_t> pool;
  /// What lies in LX, by address: the next bundle may read it.
  std::map<int64_t, std::vector<uint8_t>> lx = {};
};

/// Runs the ops in order on \p memory. Padding lanes of outputs are written as the device does.
/// Errors: E1401 (an op without a rule), E1402 (an access outside its tensor).
Status evaluate(const std::vector<spec::OpSpec> &specs, Memory &memory);

} // namespace spyre::evaluator
