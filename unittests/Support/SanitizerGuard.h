//===- SanitizerGuard.h - no test runs a simulator without its sanitizer --------------------===//
//
// A result that was computed without the sanitizer proves little, so every unit test that can reach
// the simulator ends with a count: launches without it must be none. A test of the switch itself
// says beforehand how many it makes.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spyre::test {

/// The calling test launches \p count times without the sanitizer, on purpose.
void expectUnsanitizedLaunches(uint64_t count);

} // namespace spyre::test
