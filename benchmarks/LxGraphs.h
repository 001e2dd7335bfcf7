//===- LxGraphs.h - parts of models, to see what scratchpad planning saves -------------------===//
#pragma once

#include <string>
#include <vector>

namespace spyre::bench {

struct LxGraph {
  std::string name;
  /// Graph IR.
  std::string text;
  /// Cores to divide over; 0 means all.
  int64_t cores = 0;
};

/// Softmax, layer norm, attention with all and with shared heads, gated MLP, MLP of experts, and
/// layers with the structure of Granite's and BERT's: 256 tokens of 512 elements, which the
/// scratchpads of 32 cores hold whole.
std::vector<LxGraph> lxGraphs();

} // namespace spyre::bench
