//===- Scheduler.h - queues, worker and simulated clock behind Streams ----------------------===//
//
// One lock per device guards all queues. Whoever executes an operation holds the "token"
// (executing): the worker, or a caller of run() that found the device idle. Bodies, observers and
// the release of references always happen without the lock.
//
// Locks are taken in the order scheduler, record; a record that completes wakes the schedulers that
// wait for it after it has let go of its own lock.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/Streams.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace spyre::runtime::detail {

/// One recording of an event: pending, then done at a simulated time or poisoned by an error.
struct EventRecord {
  struct Waiter {
    std::weak_ptr<Scheduler> scheduler;
    StreamId stream;
  };
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool isDone = false;
  Status result = Status::success();
  uint64_t nanoseconds = 0;
  /// Contained fault of the stream that nobody was told of when it was reached.
  FaultRef fault;
  /// Where it was recorded; set before it is queued.
  StreamId stream = kDefaultStream;
  std::weak_ptr<Scheduler> owner;
  std::vector<Waiter> waiters;

  /// Returns those to wake.
  std::vector<Waiter> complete(Status status, uint64_t atNanoseconds, FaultRef fault = nullptr);
};
using RecordRef = std::shared_ptr<EventRecord>;

/// An element of a queue: an operation, or one of the marks between operations.
struct Entry {
  enum class Kind : uint8_t { Run, Record, Wait, Keep };
  Kind kind = Kind::Run;
  Operation operation;
  RecordRef record;
  /// Simulated time the host had seen when it submitted.
  uint64_t hostSeenNanoseconds = 0;
  uint64_t hostSubmitNanoseconds = 0;
  /// Where run() wants the operation's own result; lives until the entry has retired.
  Status *result = nullptr;
};

struct StreamState {
  std::deque<Entry> queue;
  Status error = Status::success();
  /// The first contained fault that is still to be told.
  FaultRef fault;
  uint64_t submitted = 0, retired = 0;
  /// Simulated time at which the stream's last operation ended.
  uint64_t endNanoseconds = 0;
};

/// A set of streams with the round robin of its priority.
struct ReadySet {
  uint64_t filled = 0, blocked = 0, busy = 0;
  uint32_t next = 0;
  /// The bit whose turn it is, or -1.
  int pick();
};

struct Scheduler : std::enable_shared_from_this<Scheduler> {
  using Lock = std::unique_lock<std::mutex>;
  Scheduler(Device &device, const StreamOptions &options) : device(device), options(options) {}
  ~Scheduler();

  Status submit(StreamId stream, Entry entry);
  Status run(StreamId stream, Operation operation);
  /// Waits for what was submitted to the streams from \p first to before \p last.
  Status waitForAll(StreamId first, StreamId last);
  Status synchronize(StreamId first, StreamId last);
  /// The contained fault of the stream, which nobody was told of; null when there is none.
  FaultRef untoldFault(StreamId stream);
  /// The error to tell somebody who has waited for the stream.
  Status tellError(StreamId stream);
  Status recordEvent(const RecordRef &record, StreamId stream);
  Status waitRecord(StreamId stream, const RecordRef &record);
  Status reset(const std::function<void()> &whileStopped);
  void shutdown();
  /// Waits for a record of this scheduler; of another one, does what work there is meanwhile.
  Status waitFor(const EventRecord &record);
  void unblock(StreamId stream);
  /// The host knows that the device has reached this time.
  void noteSeen(uint64_t nanoseconds);

  Status checkUsable(StreamId stream) const;
  bool isIdle(StreamId stream) const {
    return streams[stream].queue.empty() && streams[stream].submitted == streams[stream].retired;
  }

  Device &device;
  const StreamOptions options;
  mutable std::mutex mutex;
  std::array<StreamState, kStreamCount> streams;
  ReadySet low, high;
  uint32_t nextInPool[2] = {0, 0};
  size_t queued = 0;
  bool executing = false, isPaused = false, isStopped = false;
  uint64_t retiredOperations = 0;

  /// Simulated clock; changed by the holder of the token, under the lock.
  std::array<uint64_t, kEngineCount> engineFreeNanoseconds{};
  uint64_t hostSeenNanoseconds = 0, doneNanoseconds = 0;

  std::shared_ptr<const TimelineObserver> observer;
  std::atomic<bool> isObserved{false};

private:
  ReadySet &setOf(StreamId stream) { return isHighPriority(stream) ? high : low; }
  static uint64_t bitOf(StreamId stream) {
    return uint64_t(1) << (isHighPriority(stream) ? stream - kFirstHighStream : stream);
  }
  bool isBusy(StreamId stream) { return (setOf(stream).busy & bitOf(stream)) != 0; }
  void push(StreamId stream, Entry entry);
  Entry pop(StreamId stream);
  void startWorker();
  void wakeWorker();
  void workerLoop();
  void waitForWork(Lock &lock);
  /// Takes one entry that can go on; false when there is none.
  bool step(Lock &lock);
  bool stepWait(Lock &lock, StreamId stream);
  Status execute(Lock &lock, StreamId stream, Entry entry);
  TimelineRecord advanceClock(StreamId stream, const Entry &entry, const OperationContext &context,
                              bool isFailed);
  uint64_t durationOf(const Operation &operation, const OperationContext &context) const;
  void fail(Lock &lock, StreamId stream, Status status);
  std::vector<Entry> takeAll(StreamId stream);
  /// Outside the lock: poisons records, releases references.
  void drop(StreamId stream, std::vector<Entry> entries, const Status &status);
  void retire(StreamId stream);
  void noteProgress();
  bool waitsForOthers() const;
  Status waitUntil(Lock &lock, const std::function<bool()> &isDone);

  std::condition_variable work, progress, space;
  size_t progressWaiters = 0, spaceWaiters = 0;
  bool isWorkerAsleep = false;
  /// Counts what may give the worker something to do; it looks here without the lock.
  std::atomic<uint64_t> signals{0};
  /// Counts what those who wait may wait for.
  std::atomic<uint64_t> progressSignals{0};
  /// The worker's: value of signals at which it last tidied up.
  uint64_t lastIdle = 0;
  std::thread worker;
  int64_t workerProcess = 0;
};

/// Whoever executes operations on this thread, innermost first.
struct Nest {
  Scheduler *scheduler;
  OperationContext *context;
  Nest *outer;
};
Nest *currentNest();
bool isInside(const Scheduler &scheduler);
void wakeWaiters(std::vector<EventRecord::Waiter> waiters);
/// What the body throws becomes E6110.
Status runBody(const Operation &operation, OperationContext &context);

/// Of the host's steady clock.
inline uint64_t hostNanoseconds() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count());
}

/// Looks for up to \p nanoseconds whether \p isNew. Does not give way to other threads: on a busy
/// host that would cost far more than what is waited for.
template <typename Predicate>
void spinUntil(const Predicate &isNew, uint64_t nanoseconds) {
  constexpr int kLooksPerTime = 32;
  for (const uint64_t end = hostNanoseconds() + nanoseconds; !isNew() && hostNanoseconds() < end;) {
    for (int look = 0; look < kLooksPerTime && !isNew(); ++look) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }
}

} // namespace spyre::runtime::detail
