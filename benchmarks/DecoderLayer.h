//===- DecoderLayer.h - decoder layers of the shape of Granite 3.3 8B as graph IR -----------===//
#pragma once

#include <cstdint>
#include <string>

namespace spyre::bench {

/// Layers of hidden size 4096, 32 heads of 128 in 8 groups, MLP 12800, on 2048 tokens: rms_norm,
/// projections, rotary embedding, attention with an additive mask, SiLU MLP, residuals. Each layer
/// has its own weights. benchmarks/compile_peer.py builds the same in torch.
std::string decoderLayers(int64_t layers);

} // namespace spyre::bench
