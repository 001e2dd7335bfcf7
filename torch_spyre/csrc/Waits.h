//===- Waits.h - calls that make the host wait for the device -------------------------------===//
#pragma once

#include <functional>
#include <string>

namespace spyre::plugin {

/// Told of each call of the user's, before the host waits for the device in it; may throw.
using WaitHook = std::function<void(const std::string &call)>;
/// Null: nobody is told.
void setWaitHook(WaitHook hook);
/// Tells the hook; cheap without one. Call it without a lock.
void noteWait(const char *call);

} // namespace spyre::plugin
