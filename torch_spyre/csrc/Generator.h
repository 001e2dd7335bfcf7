//===- Generator.h - random numbers of the spyre device -------------------------------------===//
//
// Random numbers are made on the CPU. A spyre generator wraps a CPU generator of its own, so the
// values equal the CPU's for the same seed and seeding the device does not disturb the CPU's
// stream.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "ATen/core/Generator.h"

namespace spyre::plugin {

const at::Generator &defaultGenerator();
at::Generator newGenerator();
/// The CPU generator to use where an operation was given \p generator (a spyre one, or none).
at::Generator hostGenerator(const std::optional<at::Generator> &generator);

} // namespace spyre::plugin
