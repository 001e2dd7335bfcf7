//===- Generator.h - random numbers of the spyre device -------------------------------------===//
//
// Random numbers are made on the CPU. A spyre generator wraps a CPU generator of its own, so the
// values equal the CPU's for the same seed and seeding the device does not disturb the CPU's
// stream. Each device has a default generator, made without starting the device.
//
// A state has 5016 bytes: seed, left, seeded, next, then 624 words of 64 bits that hold 32 bits of
// the engine each. Box-Muller makes normals in pairs; the half of a pair that waits for the next
// call is kept in the upper halves of the first words, so a restored generator goes on exactly
// where the saved one did. See docs/adr/0038-files-and-random-numbers.md.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "ATen/core/Generator.h"

namespace spyre::plugin {

/// Default generator of a device; a negative index means the current one. Throws E6509.
const at::Generator &defaultGenerator(c10::DeviceIndex index = -1);
at::Generator newGenerator(c10::DeviceIndex index = -1);
/// The CPU generator to use where an operation on device \p index was given \p generator (a spyre
/// one, or none). A CPU generator is taken as it is: programs that make reproducible numbers pass
/// one.
at::Generator hostGenerator(const std::optional<at::Generator> &generator,
                            c10::DeviceIndex index = -1);

} // namespace spyre::plugin
