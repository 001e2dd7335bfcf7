//===- Waits.cpp - who is told that the host waits ------------------------------------------===//
#include "Waits.h"

#include <atomic>
#include <utility>

namespace spyre::plugin {

namespace {

/// Hooks are never released: another thread may be inside of one.
std::atomic<const WaitHook *> waitHook{nullptr};

} // namespace

void setWaitHook(WaitHook hook) { waitHook = hook ? new WaitHook(std::move(hook)) : nullptr; }

void noteWait(const char *call) {
  if (const WaitHook *hook = waitHook; hook != nullptr) [[unlikely]] {
    (*hook)(call);
  }
}

} // namespace spyre::plugin
