//===- TurnMutex.h - a lock that threads get in the order they asked for it -----------------===//
//
// Who has it may take it again. Who gives it back and asks at once stands behind those that wait,
// so a thread that launches without pause does not keep others out.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace spyre::runtime {

class TurnMutex {
public:
  void lock() {
    std::unique_lock guard(mutex);
    if (depth > 0 && owner == std::this_thread::get_id()) {
      ++depth;
      return;
    }
    const uint64_t ticket = nextTicket++;
    turned.wait(guard, [&] { return ticket == turn; });
    owner = std::this_thread::get_id();
    depth = 1;
  }
  void unlock() {
    {
      std::lock_guard guard(mutex);
      if (--depth > 0) {
        return;
      }
      ++turn;
    }
    turned.notify_all();
  }

private:
  std::mutex mutex;
  std::condition_variable turned;
  uint64_t nextTicket = 0, turn = 0;
  std::thread::id owner;
  int depth = 0;
};

} // namespace spyre::runtime
