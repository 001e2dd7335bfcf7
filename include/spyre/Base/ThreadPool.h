//===- ThreadPool.h - run n independent pieces on a few host threads ------------------------===//
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace spyre {

/// A fixed set of threads. parallelFor calls body(0..count-1), each once, and waits for all; the
/// calling thread takes part. Results must not depend on which thread ran which index.
class ThreadPool {
public:
  /// 0 means one thread per host core.
  explicit ThreadPool(size_t threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  size_t threads() const;
  void parallelFor(size_t count, const std::function<void(size_t)> &body);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spyre
