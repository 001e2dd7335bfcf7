//===- Lowerings.h - one function per class of operation ------------------------------------===//
//
// Each takes a checked Kernel, checks the rules of its class [spec: codegen-and-backend 3.3], and
// returns the phase; its buffers join those of the program. Errors: E5302 (rule), E5303 (staging
// area too small, phase too long).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include "Buffers.h"

namespace spyre::backend {

/// Pointwise functions and copies.
Expected<program::Phase> lowerPointwise(const Kernel &kernel, BufferTable &buffers);
Expected<program::Phase> lowerReduction(const Kernel &kernel, BufferTable &buffers);
Expected<program::Phase> lowerTopK(const Kernel &kernel, BufferTable &buffers);
Expected<program::Phase> lowerConversion(const Kernel &kernel, BufferTable &buffers);
Expected<program::Phase> lowerMatmul(const Kernel &kernel, BufferTable &buffers);
/// conv2d.
Expected<program::Phase> lowerConvolution(const Kernel &kernel, BufferTable &buffers);
/// Pooling and depthwise convolution.
Expected<program::Phase> lowerPool(const Kernel &kernel, BufferTable &buffers);
/// Running sums.
Expected<program::Phase> lowerScan(const Kernel &kernel, BufferTable &buffers);
Expected<program::Phase> lowerRestickify(const Kernel &kernel, BufferTable &buffers);

} // namespace spyre::backend
