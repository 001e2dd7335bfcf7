//===- ThreadPool.cpp - workers that share one index counter --------------------------------===//
//
// One parallelFor at a time: callers from several threads queue on `turn`. All workers take part in
// every round, so a round is over when each of them has reported back.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace spyre {

/// More threads than this cost more than they bring.
static constexpr size_t kMaxThreads = 256;

/// True while this thread runs a body: a nested parallelFor then runs in place, since waiting for
/// workers that wait for us would never end.
static thread_local bool insideParallelFor = false;

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex turn;

  std::mutex mutex;
  std::condition_variable roundBegins;
  std::condition_variable roundEnds;
  uint64_t round = 0;
  size_t busyWorkers = 0;
  bool stopping = false;

  // Fixed during a round.
  size_t count = 0;
  const std::function<void(size_t)> *body = nullptr;
  std::atomic<size_t> nextIndex{0};

  void runIndices() {
    insideParallelFor = true;
    for (size_t i = nextIndex.fetch_add(1); i < count; i = nextIndex.fetch_add(1)) {
      (*body)(i);
    }
    insideParallelFor = false;
  }

  void workerLoop() {
    uint64_t seenRound = 0;
    std::unique_lock lock(mutex);
    while (true) {
      roundBegins.wait(lock, [&] { return stopping || round != seenRound; });
      if (stopping) {
        return;
      }
      seenRound = round;
      lock.unlock();
      runIndices();
      lock.lock();
      if (--busyWorkers == 0) {
        roundEnds.notify_one();
      }
    }
  }
};

ThreadPool::ThreadPool(size_t threads) : state(std::make_unique<State>()) {
  if (threads == 0) {
    threads = std::max(1u, std::thread::hardware_concurrency());
  }
  threads = std::min(threads, kMaxThreads);
  for (size_t i = 1; i < threads; ++i) {
    try {
      state->workers.emplace_back([this] { state->workerLoop(); });
    } catch (const std::system_error &) {
      break; // The host gives no more threads; fewer do the same work.
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state->mutex);
    state->stopping = true;
  }
  state->roundBegins.notify_all();
  for (std::thread &worker : state->workers) {
    worker.join();
  }
}

size_t ThreadPool::threads() const { return state->workers.size() + 1; }

void ThreadPool::parallelFor(size_t count, const std::function<void(size_t)> &body) {
  if (insideParallelFor || count <= 1 || state->workers.empty()) {
    for (size_t i = 0; i < count; ++i) {
      body(i);
    }
    return;
  }
  std::lock_guard turn(state->turn);
  {
    std::lock_guard lock(state->mutex);
    state->count = count;
    state->body = &body;
    state->nextIndex.store(0);
    state->busyWorkers = state->workers.size();
    ++state->round;
  }
  state->roundBegins.notify_all();
  state->runIndices();
  std::unique_lock lock(state->mutex);
  state->roundEnds.wait(lock, [&] { return state->busyWorkers == 0; });
  state->body = nullptr;
}

} // namespace spyre
