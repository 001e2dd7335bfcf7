//===- RandomProgram.h - seeded random device programs for tests ----------------------------===//
#pragma once

#include "spyre/Base/Random.h"
#include "spyre/Program/Program.h"

namespace spyre::test {

/// A program that verifyProgram accepts for \p device, whose operands stay inside their buffers and
/// which does little work. It uses every opcode and field now and then. Nothing is promised about
/// what it computes: it reads LX that nobody wrote, and indices are what happens to be there.
program::Program randomProgram(Random &random, const arch::DeviceDesc &device);

/// A program whose structure can be written but whose contents are arbitrary.
program::Program arbitraryProgram(Random &random);

} // namespace spyre::test
