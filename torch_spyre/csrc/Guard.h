//===- Guard.h - the thread's current device ------------------------------------------------===//
#pragma once

#include "c10/core/Device.h"

namespace spyre::plugin {

c10::DeviceIndex currentDevice();
/// Throws E6509 when there is no such device.
void setCurrentDevice(c10::DeviceIndex index);
/// Answers torch's generic accelerator questions; called once, at import.
void registerHooks();

} // namespace spyre::plugin
