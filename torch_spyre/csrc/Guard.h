//===- Guard.h - the thread's current device and streams ------------------------------------===//
#pragma once

#include "spyre/Runtime/Streams.h"

#include "c10/core/Device.h"

#include <optional>

namespace spyre::plugin {

/// Throws when there is none: see defaultDevice().
c10::DeviceIndex currentDevice();
/// The same as torch writes it.
inline c10::Device currentSpyre() { return {c10::DeviceType::PrivateUse1, currentDevice()}; }
/// \p device, with the current index where it has none. Throws E6509 when there is no such device.
c10::Device withIndex(std::optional<c10::Device> device);
/// Throws E6509 when there is no such device.
void setCurrentDevice(c10::DeviceIndex index);
/// The thread's stream on a device; opens nothing.
runtime::StreamId currentStream(c10::DeviceIndex index);
/// Waits for all work of the device, or of all devices for -1; nothing to do for one that was never
/// used. Call it without the GIL.
void synchronizeDevice(c10::DeviceIndex index);
/// Answers torch's generic accelerator questions; called once, at import.
void registerHooks();

} // namespace spyre::plugin
