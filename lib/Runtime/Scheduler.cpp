//===- Scheduler.cpp - submitting, waiting, events, reset -----------------------------------===//
#include "Scheduler.h"

#include <algorithm>
#include <unistd.h>

namespace spyre::runtime::detail {

namespace {

Status waitsForItself() {
  return error<6112>("an operation waits for work that can only start after the operation itself; "
                     "wait outside of operations, or with an event on the stream");
}

} // namespace

Scheduler::~Scheduler() {
  if (worker.joinable()) {
    worker.detach();
  }
}

Status Scheduler::checkUsable(StreamId stream) const {
  if (isStopped) {
    return error<6113>("the device was shut down; open it again");
  }
  return streams[stream].error;
}

Status Scheduler::submit(StreamId stream, Entry entry) {
  if (isObserved.load(std::memory_order_relaxed)) {
    entry.hostSubmitNanoseconds = hostNanoseconds();
  }
  Lock lock(mutex);
  SPYRE_RETURN_IF_ERROR(checkUsable(stream));
  // Who executes operations may not wait for others to be executed.
  if (queued >= options.maxQueued && !currentNest()) {
    ++spaceWaiters;
    space.wait(lock, [&] { return queued < options.maxQueued || !checkUsable(stream).ok(); });
    --spaceWaiters;
    SPYRE_RETURN_IF_ERROR(checkUsable(stream));
  }
  push(stream, std::move(entry));
  return Status::success();
}

/// What is left waits for an event: of another device, or of our own unfinished operation.
bool Scheduler::waitsForOthers() const {
  for (const StreamState &state : streams) {
    if (!state.queue.empty() && state.queue.front().kind == Entry::Kind::Wait &&
        state.queue.front().record->owner.lock().get() != this) {
      return true;
    }
  }
  return false;
}

Status Scheduler::waitUntil(Lock &lock, const std::function<bool()> &isDone) {
  const bool inside = isInside(*this);
  bool hasHelped = false;
  while (!isDone()) {
    // Who waits may as well do the work: inside an operation nobody else can, and outside it spares
    // two changes of thread when the worker sleeps.
    if ((inside || (!executing && !isPaused)) && step(lock)) {
      hasHelped = true;
      continue;
    }
    if (inside && !waitsForOthers()) {
      return waitsForItself();
    }
    const uint64_t seen = progressSignals.load(std::memory_order_acquire);
    lock.unlock();
    spinUntil([&] { return progressSignals.load(std::memory_order_acquire) != seen; },
              options.waitSpinNanoseconds);
    lock.lock();
    ++progressWaiters;
    progress.wait(lock, [&] { return progressSignals.load() != seen; });
    --progressWaiters;
  }
  if (hasHelped && !inside && queued > 0) {
    wakeWorker();
  }
  return Status::success();
}

Status Scheduler::run(StreamId stream, Operation operation) {
  Status result = Status::success();
  Entry entry;
  entry.operation = std::move(operation);
  entry.result = &result;
  if (isObserved.load(std::memory_order_relaxed)) {
    entry.hostSubmitNanoseconds = hostNanoseconds();
  }
  Lock lock(mutex);
  SPYRE_RETURN_IF_ERROR(checkUsable(stream));
  StreamState &state = streams[stream];
  if (isInside(*this) && isBusy(stream)) {
    for (Nest *nest = currentNest(); nest; nest = nest->outer) {
      if (nest->scheduler == this && nest->context) {
        lock.unlock();
        return runBody(entry.operation, *nest->context);
      }
    }
  }
  if (!executing && !isPaused && queued == 0) {
    ++state.submitted;
    entry.hostSeenNanoseconds = hostSeenNanoseconds;
    result = execute(lock, stream, std::move(entry));
    if (queued > 0) {
      wakeWorker();
    }
  } else {
    push(stream, std::move(entry));
    const uint64_t target = state.submitted;
    const Status waited = waitUntil(lock, [&] { return state.retired >= target; });
    if (!waited.ok()) {
      const auto mine = std::find_if(state.queue.begin(), state.queue.end(),
                                     [&](const Entry &other) { return other.result == &result; });
      SPYRE_CHECK(mine != state.queue.end(), "an operation that did not run is still queued");
      state.queue.erase(mine);
      --state.submitted;
      --queued;
      if (state.queue.empty()) {
        setOf(stream).filled &= ~bitOf(stream);
      }
      return waited;
    }
  }
  hostSeenNanoseconds = std::max(hostSeenNanoseconds, state.endNanoseconds);
  return result.ok() || state.error.ok() ? result : state.error;
}

Status Scheduler::waitForAll(StreamId first, StreamId last) {
  Lock lock(mutex);
  const bool inside = isInside(*this);
  for (StreamId stream = first; stream < last; ++stream) {
    // What an operation's own stream did before it has retired; the rest follows it.
    if (inside && isBusy(stream)) {
      continue;
    }
    const uint64_t target = streams[stream].submitted;
    SPYRE_RETURN_IF_ERROR(waitUntil(lock, [&] { return streams[stream].retired >= target; }));
  }
  for (StreamId stream = first; stream < last; ++stream) {
    hostSeenNanoseconds = std::max(hostSeenNanoseconds, streams[stream].endNanoseconds);
  }
  return Status::success();
}

FaultRef Scheduler::untoldFault(StreamId stream) {
  FaultRef &fault = streams[stream].fault;
  if (fault && fault->isReported()) {
    fault = nullptr;
  }
  return fault;
}

Status Scheduler::tellError(StreamId stream) {
  const FaultRef fault = std::exchange(streams[stream].fault, nullptr);
  SPYRE_RETURN_IF_ERROR(streams[stream].error);
  return fault && fault->claimReport() ? fault->status() : Status::success();
}

Status Scheduler::synchronize(StreamId first, StreamId last) {
  SPYRE_RETURN_IF_ERROR(waitForAll(first, last));
  Lock lock(mutex);
  for (StreamId stream = first; stream < last; ++stream) {
    SPYRE_RETURN_IF_ERROR(tellError(stream));
  }
  return Status::success();
}

Status Scheduler::waitFor(const EventRecord &record) {
  Lock lock(mutex);
  const auto isDone = [&] {
    std::lock_guard recordLock(record.mutex);
    return record.isDone;
  };
  if (record.owner.lock().get() == this) {
    return waitUntil(lock, isDone);
  }
  while (!isDone() && step(lock)) {
  }
  return Status::success();
}

Status Scheduler::recordEvent(const RecordRef &record, StreamId stream) {
  record->stream = stream;
  record->owner = weak_from_this();
  {
    Lock lock(mutex);
    if (Status usable = checkUsable(stream); !usable.ok()) {
      record->complete(usable, 0);
      return usable;
    }
    if (isIdle(stream)) {
      StreamState &state = streams[stream];
      state.endNanoseconds = std::max(state.endNanoseconds, hostSeenNanoseconds);
      record->complete(Status::success(), state.endNanoseconds, untoldFault(stream));
      return Status::success();
    }
  }
  Entry entry;
  entry.kind = Entry::Kind::Record;
  entry.record = record;
  Status queuedUp = submit(stream, std::move(entry));
  if (!queuedUp.ok()) {
    record->complete(queuedUp, 0);
  }
  return queuedUp;
}

Status Scheduler::waitRecord(StreamId stream, const RecordRef &record) {
  {
    Lock lock(mutex);
    SPYRE_RETURN_IF_ERROR(checkUsable(stream));
    std::lock_guard recordLock(record->mutex);
    if (record->isDone && record->result.ok() && isIdle(stream)) {
      StreamState &state = streams[stream];
      if (record->owner.lock().get() == this) {
        state.endNanoseconds = std::max(state.endNanoseconds, record->nanoseconds);
      }
      return Status::success();
    }
  }
  Entry entry;
  entry.kind = Entry::Kind::Wait;
  entry.record = record;
  return submit(stream, std::move(entry));
}

Status Scheduler::reset(const std::function<void()> &whileStopped) {
  if (isInside(*this)) {
    return error<6112>("a device cannot be reset from inside one of its operations; reset it after "
                       "the operation");
  }
  Lock lock(mutex);
  ++progressWaiters;
  progress.wait(lock, [&] { return !isPaused; });
  isPaused = true;
  std::array<std::vector<Entry>, kStreamCount> dropped;
  for (StreamId stream = 0; stream < kStreamCount; ++stream) {
    dropped[stream] = takeAll(stream);
  }
  progress.wait(lock, [&] { return !executing; });
  --progressWaiters;
  std::array<size_t, kStreamCount> counts{};
  for (StreamId stream = 0; stream < kStreamCount; ++stream) {
    counts[stream] = dropped[stream].size();
  }
  lock.unlock();
  const Status reason =
      error<6115>("the work was dropped by a reset of the device; submit it again");
  for (StreamId stream = 0; stream < kStreamCount; ++stream) {
    drop(stream, std::move(dropped[stream]), reason);
  }
  if (whileStopped) {
    whileStopped();
  }
  lock.lock();
  for (StreamId stream = 0; stream < kStreamCount; ++stream) {
    streams[stream].error = Status::success();
    streams[stream].fault = nullptr;
    streams[stream].retired += counts[stream];
  }
  isPaused = false;
  wakeWorker();
  noteProgress();
  space.notify_all();
  return Status::success();
}

void Scheduler::shutdown() {
  // In a forked child there is no worker, and its locks may be held for ever.
  if (workerProcess != 0 && workerProcess != int64_t(getpid())) {
    return;
  }
  Lock lock(mutex);
  isStopped = true;
  std::array<std::vector<Entry>, kStreamCount> dropped;
  for (StreamId stream = 0; stream < kStreamCount; ++stream) {
    dropped[stream] = takeAll(stream);
    streams[stream].retired += dropped[stream].size();
  }
  wakeWorker();
  noteProgress();
  space.notify_all();
  if (!isInside(*this)) {
    ++progressWaiters;
    progress.wait(lock, [&] { return !executing; });
    --progressWaiters;
  }
  std::thread ending = std::move(worker);
  lock.unlock();
  const Status reason = error<6113>("the device was shut down; open it again");
  for (StreamId stream = 0; stream < kStreamCount; ++stream) {
    drop(stream, std::move(dropped[stream]), reason);
  }
  lock.lock();
  noteProgress();
  lock.unlock();
  if (ending.joinable()) {
    // The last handle of the device may go on the worker itself, with the operation that held it.
    if (ending.get_id() == std::this_thread::get_id()) {
      ending.detach();
    } else {
      ending.join();
    }
  }
}

} // namespace spyre::runtime::detail
