//===- Constants.h - the constants of an operation ------------------------------------------===//
//
// A SuperDSC has them by name and in the operation's format; the vector unit takes fp32 bits in the
// order of its function.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Geometry.h"

#include <cstdint>
#include <vector>

namespace spyre::backend {

/// The constants of the operation in the order of its row, as fp32 bits. Every name once, no other.
/// Error: E5302.
Expected<std::vector<uint32_t>> readConstants(const Kernel &kernel);

} // namespace spyre::backend
