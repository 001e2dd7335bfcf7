//===- FairSharedMutex.h - a shared lock whose exclusive side cannot starve -----------------===//
//
// Copies share the driver, a launch or a reset has it alone. The system's shared lock lets readers
// in as long as there is one inside, so that copies of several threads which overlap keep a launch
// out for ever. Here whoever wants it alone closes the door behind those inside and waits for them.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <mutex>
#include <shared_mutex>

namespace spyre::runtime {

/// For std::lock_guard, std::unique_lock and std::shared_lock. Not recursive, not even shared.
class FairSharedMutex {
public:
  void lock() {
    std::lock_guard closed(door);
    inner.lock();
  }
  bool try_lock() {
    std::unique_lock closed(door, std::try_to_lock);
    return closed.owns_lock() && inner.try_lock();
  }
  void unlock() { inner.unlock(); }

  void lock_shared() {
    std::lock_guard passing(door);
    inner.lock_shared();
  }
  void unlock_shared() { inner.unlock_shared(); }

private:
  std::mutex door;
  std::shared_mutex inner;
};

} // namespace spyre::runtime
