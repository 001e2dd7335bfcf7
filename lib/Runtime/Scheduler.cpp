//===- Scheduler.cpp - picks, executes and retires operations -------------------------------===//
#include "Scheduler.h"

#include "spyre/Base/Log.h"
#include "spyre/Runtime/Device.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <unistd.h>

namespace spyre::runtime::detail {

namespace {

thread_local Nest *threadNest = nullptr;

uint64_t hostNanoseconds() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count());
}

/// Marks the thread as one that executes for a scheduler, for as long as it lives.
class NestGuard {
public:
  NestGuard(Scheduler &scheduler, OperationContext *context)
      : nest{&scheduler, context, threadNest} {
    threadNest = &nest;
  }
  ~NestGuard() { threadNest = nest.outer; }
  NestGuard(const NestGuard &) = delete;
  NestGuard &operator=(const NestGuard &) = delete;

private:
  Nest nest;
};

Status runBody(const Operation &operation, OperationContext &context) {
  if (!operation.body) {
    return Status::success();
  }
  try {
    return operation.body(context);
  } catch (const std::exception &exception) {
    return error<6110>("it threw an exception: {}; see where the operation was submitted",
                       exception.what());
  } catch (...) {
    return error<6110>("it threw something that is no std::exception; see where the operation was "
                       "submitted");
  }
}

Status stickyError(const Status &status, const char *name, StreamId stream) {
  return Status(status.code(),
                fmt::format("operation '{}' on stream {} failed: {}; the stream refuses work until "
                            "the device is reset: call torch.spyre.reset_device()",
                            name, stream, status.text()));
}

Status waitsForItself() {
  return error<6112>("an operation waits for work that can only start after the operation itself; "
                     "wait outside of operations, or with an event on the stream");
}

/// Those that have a worker: it must not outlive what the process destroys at exit. Never freed,
/// because they are needed after static destructors began.
struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Scheduler>> schedulers;
};

Registry &registry() {
  static Registry *instance = new Registry;
  return *instance;
}

void shutdownAll() {
  std::vector<std::weak_ptr<Scheduler>> schedulers;
  {
    std::lock_guard lock(registry().mutex);
    schedulers.swap(registry().schedulers);
  }
  for (const std::weak_ptr<Scheduler> &weak : schedulers) {
    if (std::shared_ptr<Scheduler> scheduler = weak.lock()) {
      scheduler->shutdown();
    }
  }
}

void registerForExit(const std::shared_ptr<Scheduler> &scheduler) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  static const int registered = std::atexit(shutdownAll);
  (void)registered;
  std::erase_if(all.schedulers, [](const auto &weak) { return weak.expired(); });
  all.schedulers.push_back(scheduler);
}

} // namespace

Nest *currentNest() { return threadNest; }

bool isInside(const Scheduler &scheduler) {
  for (const Nest *nest = threadNest; nest; nest = nest->outer) {
    if (nest->scheduler == &scheduler) {
      return true;
    }
  }
  return false;
}

void wakeWaiters(std::vector<EventRecord::Waiter> waiters) {
  for (const EventRecord::Waiter &waiter : waiters) {
    if (std::shared_ptr<Scheduler> scheduler = waiter.scheduler.lock()) {
      scheduler->unblock(waiter.stream);
    }
  }
}

std::vector<EventRecord::Waiter> EventRecord::complete(Status status, uint64_t atNanoseconds) {
  std::lock_guard lock(mutex);
  isDone = true;
  result = std::move(status);
  nanoseconds = atNanoseconds;
  changed.notify_all();
  return std::exchange(waiters, {});
}

int ReadySet::pick() {
  const uint64_t ready = filled & ~blocked & ~busy;
  if (ready == 0) {
    return -1;
  }
  const uint64_t after = ready & (~uint64_t(0) << next);
  const int bit = std::countr_zero(after != 0 ? after : ready);
  next = uint32_t(bit + 1) % 64;
  return bit;
}

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

//===- Queues ---------------------------------------------------------------------------------===//

void Scheduler::push(StreamId stream, Entry entry) {
  StreamState &state = streams[stream];
  entry.hostSeenNanoseconds = hostSeenNanoseconds;
  state.queue.push_back(std::move(entry));
  ++state.submitted;
  ++queued;
  setOf(stream).filled |= bitOf(stream);
  if (workerProcess == 0) {
    startWorker();
  }
  wakeWorker();
}

Entry Scheduler::pop(StreamId stream) {
  StreamState &state = streams[stream];
  Entry entry = std::move(state.queue.front());
  state.queue.pop_front();
  if (state.queue.empty()) {
    setOf(stream).filled &= ~bitOf(stream);
  }
  --queued;
  if (spaceWaiters > 0) {
    space.notify_one();
  }
  return entry;
}

std::vector<Entry> Scheduler::takeAll(StreamId stream) {
  std::vector<Entry> taken;
  StreamState &state = streams[stream];
  taken.reserve(state.queue.size());
  while (!state.queue.empty()) {
    taken.push_back(pop(stream));
  }
  setOf(stream).blocked &= ~bitOf(stream);
  return taken;
}

void Scheduler::drop(std::vector<Entry> entries, const Status &status) {
  for (Entry &entry : entries) {
    if (entry.kind == Entry::Kind::Record) {
      wakeWaiters(entry.record->complete(status, 0));
    }
    if (entry.result) {
      *entry.result = status;
    }
  }
}

void Scheduler::retire(StreamId stream) {
  ++streams[stream].retired;
  if (progressWaiters > 0) {
    progress.notify_all();
  }
}

void Scheduler::unblock(StreamId stream) {
  Lock lock(mutex);
  setOf(stream).blocked &= ~bitOf(stream);
  wakeWorker();
  if (progressWaiters > 0) {
    progress.notify_all();
  }
}

void Scheduler::noteSeen(uint64_t nanoseconds) {
  Lock lock(mutex);
  hostSeenNanoseconds = std::max(hostSeenNanoseconds, nanoseconds);
}

//===- The worker -----------------------------------------------------------------------------===//

void Scheduler::startWorker() {
  workerProcess = int64_t(getpid());
  worker = std::thread([self = shared_from_this()] { self->workerLoop(); });
  registerForExit(shared_from_this());
}

void Scheduler::wakeWorker() {
  signals.fetch_add(1, std::memory_order_release);
  if (isWorkerAsleep) {
    work.notify_one();
  }
}

void Scheduler::workerLoop() {
  Lock lock(mutex);
  while (!isStopped) {
    if (executing || isPaused || !step(lock)) {
      waitForWork(lock);
    }
  }
}

void Scheduler::waitForWork(Lock &lock) {
  constexpr int kLooksPerYield = 64;
  if (isStopped) {
    return;
  }
  const uint64_t seen = signals.load(std::memory_order_acquire);
  const auto isNew = [&] { return signals.load(std::memory_order_acquire) != seen; };
  lock.unlock();
  if (seen != lastIdle) {
    lastIdle = seen;
    device.discardFreed();
  }
  for (const uint64_t end = hostNanoseconds() + options.spinNanoseconds;
       !isNew() && hostNanoseconds() < end;) {
    for (int look = 0; look < kLooksPerYield && !isNew(); ++look) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    std::this_thread::yield();
  }
  lock.lock();
  isWorkerAsleep = true;
  work.wait(lock, [&] { return isStopped || isNew(); });
  isWorkerAsleep = false;
}

bool Scheduler::step(Lock &lock) {
  StreamId stream = kStreamCount;
  if (const int bit = high.pick(); bit >= 0) {
    stream = kFirstHighStream + StreamId(bit);
  } else if (const int lowBit = low.pick(); lowBit >= 0) {
    stream = StreamId(lowBit);
  } else {
    return false;
  }
  StreamState &state = streams[stream];
  switch (state.queue.front().kind) {
  case Entry::Kind::Run: {
    // What failed is in the stream's state and with the caller of run().
    const Status ignored = execute(lock, stream, pop(stream));
    (void)ignored;
    return true;
  }
  case Entry::Kind::Record: {
    Entry entry = pop(stream);
    state.endNanoseconds = std::max(state.endNanoseconds, entry.hostSeenNanoseconds);
    auto waiters = entry.record->complete(Status::success(), state.endNanoseconds);
    retire(stream);
    if (!waiters.empty()) {
      lock.unlock();
      wakeWaiters(std::move(waiters));
      lock.lock();
    }
    return true;
  }
  case Entry::Kind::Keep: {
    const bool outer = std::exchange(executing, true);
    {
      Entry entry = pop(stream);
      NestGuard nest(*this, nullptr);
      lock.unlock();
      entry.operation.references.clear();
      lock.lock();
    }
    executing = outer;
    retire(stream);
    return true;
  }
  case Entry::Kind::Wait:
    return stepWait(lock, stream);
  }
  return false;
}

bool Scheduler::stepWait(Lock &lock, StreamId stream) {
  StreamState &state = streams[stream];
  const RecordRef record = state.queue.front().record;
  Status result = Status::success();
  {
    std::lock_guard recordLock(record->mutex);
    if (!record->isDone) {
      record->waiters.push_back({weak_from_this(), stream});
      setOf(stream).blocked |= bitOf(stream);
      return true;
    }
    result = record->result;
    state.endNanoseconds = std::max(state.endNanoseconds, record->nanoseconds);
  }
  pop(stream);
  if (!result.ok()) {
    fail(lock, stream,
         result.withContext(
             fmt::format("stream {} waited for an event of stream {}: ", stream, record->stream)));
  }
  retire(stream);
  return true;
}

void Scheduler::fail(Lock &lock, StreamId stream, Status status) {
  log(LogLevel::Error, "runtime", "stream={} {}", stream, status.message());
  streams[stream].error = status;
  std::vector<Entry> dropped = takeAll(stream);
  const size_t count = dropped.size();
  const bool outer = std::exchange(executing, true);
  {
    NestGuard nest(*this, nullptr);
    lock.unlock();
    drop(std::move(dropped), status);
    lock.lock();
  }
  executing = outer;
  streams[stream].retired += count;
  space.notify_all();
}

Status Scheduler::execute(Lock &lock, StreamId stream, Entry entry) {
  const bool outer = std::exchange(executing, true);
  setOf(stream).busy |= bitOf(stream);
  Status status = Status::success();
  Status *const result = entry.result;
  const bool isLocal = result && entry.operation.isErrorLocal;
  const OperationName name = entry.operation.name;
  {
    OperationContext context(device, stream);
    NestGuard nest(*this, &context);
    lock.unlock();
    const uint64_t hostStart = isObserved ? hostNanoseconds() : 0;
    status = runBody(entry.operation, context);
    lock.lock();
    TimelineRecord record = advanceClock(stream, entry, context, !status.ok());
    const std::shared_ptr<const TimelineObserver> watching = observer;
    lock.unlock();
    if (watching && *watching) {
      record.hostStartNanoseconds = hostStart;
      record.hostEndNanoseconds = hostNanoseconds();
      try {
        (*watching)(record);
      } catch (...) {
        log(LogLevel::Warning, "runtime", "the observer of the timeline threw at {}", name.c_str());
      }
    }
    // Before the operation counts as retired: who synchronises finds its memory free.
    entry = Entry();
    lock.lock();
  }
  if (result) {
    *result = status;
  }
  if (!status.ok() && !isLocal) {
    fail(lock, stream, stickyError(status, name.c_str(), stream));
  }
  setOf(stream).busy &= ~bitOf(stream);
  executing = outer;
  ++retiredOperations;
  retire(stream);
  return status;
}

//===- Simulated time -------------------------------------------------------------------------===//

uint64_t Scheduler::durationOf(const Operation &operation, const OperationContext &context) const {
  const double bytes = double(operation.bytes > 0 ? operation.bytes : context.copiedBytes);
  const uint64_t counted = context.launchNanoseconds + context.extraNanoseconds;
  switch (operation.engine) {
  case Engine::HostToDevice:
  case Engine::DeviceToHost:
    return counted + options.hostLinkLatencyNanoseconds +
           uint64_t(bytes / options.hostLinkBytesPerNanosecond);
  case Engine::OnDevice:
    return counted + options.onDeviceLatencyNanoseconds +
           uint64_t(bytes / options.onDeviceBytesPerNanosecond);
  case Engine::Compute:
  case Engine::Host:
    break;
  }
  return counted;
}

TimelineRecord Scheduler::advanceClock(StreamId stream, const Entry &entry,
                                       const OperationContext &context, bool isFailed) {
  const Operation &operation = entry.operation;
  StreamState &state = streams[stream];
  TimelineRecord record;
  record.name = operation.name;
  record.stream = stream;
  record.engine = operation.engine;
  record.bytes = operation.bytes > 0 ? operation.bytes : context.copiedBytes;
  record.isFailed = isFailed;
  record.hostSubmitNanoseconds = entry.hostSubmitNanoseconds;
  record.startNanoseconds = std::max(state.endNanoseconds, entry.hostSeenNanoseconds);
  record.endNanoseconds = record.startNanoseconds;
  if (isFailed) {
    return record;
  }
  uint64_t &engineFree = engineFreeNanoseconds[size_t(operation.engine)];
  // The host has as many engines as it has streams.
  if (operation.engine != Engine::Host) {
    record.startNanoseconds = std::max(record.startNanoseconds, engineFree);
  }
  record.endNanoseconds = record.startNanoseconds + durationOf(operation, context);
  state.endNanoseconds = record.endNanoseconds;
  engineFree = std::max(engineFree, record.endNanoseconds);
  doneNanoseconds = std::max(doneNanoseconds, record.endNanoseconds);
  return record;
}

//===- What Streams calls ---------------------------------------------------------------------===//

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

Status Scheduler::waitUntil(Lock &lock, const std::function<bool()> &isDone) {
  const bool inside = isInside(*this);
  while (!isDone()) {
    if (inside && step(lock)) {
      continue;
    }
    if (inside) {
      // What is left waits for an event: of another device, or of our own unfinished operation.
      bool waitsForOthers = false;
      for (const StreamState &state : streams) {
        if (!state.queue.empty() && state.queue.front().kind == Entry::Kind::Wait) {
          waitsForOthers |= state.queue.front().record->owner.lock().get() != this;
        }
      }
      if (!waitsForOthers) {
        return waitsForItself();
      }
    }
    ++progressWaiters;
    progress.wait(lock);
    --progressWaiters;
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

Status Scheduler::synchronize(StreamId first, StreamId last) {
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
  for (StreamId stream = first; stream < last; ++stream) {
    SPYRE_RETURN_IF_ERROR(streams[stream].error);
  }
  return Status::success();
}

Status Scheduler::waitInside(const EventRecord &record) {
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
      record->complete(Status::success(), state.endNanoseconds);
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
      state.endNanoseconds = std::max(state.endNanoseconds, record->nanoseconds);
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
      error<6115>("the work was dropped by a reset of the device; submit it again "
                  "with tensors made after the reset");
  for (std::vector<Entry> &entries : dropped) {
    drop(std::move(entries), reason);
  }
  if (whileStopped) {
    whileStopped();
  }
  lock.lock();
  for (StreamId stream = 0; stream < kStreamCount; ++stream) {
    streams[stream].error = Status::success();
    streams[stream].retired += counts[stream];
  }
  isPaused = false;
  wakeWorker();
  progress.notify_all();
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
  space.notify_all();
  if (!isInside(*this)) {
    ++progressWaiters;
    progress.wait(lock, [&] { return !executing; });
    --progressWaiters;
  }
  std::thread ending = std::move(worker);
  lock.unlock();
  const Status reason = error<6113>("the device was shut down; open it again");
  for (std::vector<Entry> &entries : dropped) {
    drop(std::move(entries), reason);
  }
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
