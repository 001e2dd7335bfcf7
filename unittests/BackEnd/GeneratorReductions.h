//===- GeneratorReductions.h - reductions, top-k and matmuls with a chosen division ---------===//
//
// Draws what Generator.h leaves out: every reduction, splits of the reduced dimension, ranks up to
// five, last sticks of every kind; and says what the device must count.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Generator.h"

#include <string>
#include <vector>

namespace spyre::backend::test {

/// How a stick dimension ends: whole sticks; anywhere; as Aligned with as few sticks as the cores
/// allow; one lane more or less than whole sticks.
enum class StickEnd : uint8_t { Aligned, Unaligned, Shortest, OneLane };

struct ReductionRequest {
  /// One of reductionCases().
  std::string name;
  int64_t cores = 1;
  StickEnd end = StickEnd::Aligned;
};

struct ReductionCase {
  RandomCase base;
  /// Over the ring: accumulators of all slices but the first, once each.
  uint64_t ringBytes = 0;
  /// To DDR: every output stick once.
  uint64_t storedBytes = 0;
  /// Slices of the reduced dimension.
  int64_t slices = 1;
};

/// "sum", "sumnonstick", "sumsparse" (one value per stick in and out), "exx2", "batchmatmul", ...
const std::vector<std::string> &reductionCases();

/// Uses exactly request.cores cores, of which the reduced dimension takes a random divisor.
ReductionCase randomReduction(const ReductionRequest &request, Random &random);

} // namespace spyre::backend::test
