//===- Generator.h - random numbers of the spyre device -------------------------------------===//
//
// Random numbers are made on the CPU. A spyre generator wraps a CPU generator of its own, so the
// values equal the CPU's for the same seed and seeding the device does not disturb the CPU's
// stream.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "ATen/core/Generator.h"

namespace spyre::plugin {

/// Of a device; -1 is the current one. Does not open it. Throws E6509 when there is no such device.
const at::Generator &defaultGenerator(c10::DeviceIndex index = -1);
at::Generator newGenerator(c10::DeviceIndex index = -1);
/// The CPU generator to use where an operation was given \p generator (a spyre one, or none: the
/// current device's).
at::Generator hostGenerator(const std::optional<at::Generator> &generator);

} // namespace spyre::plugin
