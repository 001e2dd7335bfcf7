//===- Worker.cpp - picks, executes and retires operations ----------------------------------===//
#include "spyre/Base/Log.h"
#include "spyre/Runtime/Device.h"

#include "Containment.h"
#include "Scheduler.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <exception>
#include <unistd.h>

namespace spyre::runtime::detail {

namespace {

thread_local Nest *threadNest = nullptr;

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

Status stickyError(const Status &status, const std::string &operation) {
  return Status(status.code(),
                fmt::format("{} failed: {}; the stream refuses work until the device is reset, and "
                            "the reset loses what its memory holds: call "
                            "torch.spyre.reset_device()",
                            operation, status.text()));
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

void wakeWaiters(std::vector<EventRecord::Waiter> waiters) {
  for (const EventRecord::Waiter &waiter : waiters) {
    if (std::shared_ptr<Scheduler> scheduler = waiter.scheduler.lock()) {
      scheduler->unblock(waiter.stream);
    }
  }
}

std::vector<EventRecord::Waiter> EventRecord::complete(Status status, uint64_t atNanoseconds,
                                                       FaultRef untold) {
  std::lock_guard lock(mutex);
  isDone = true;
  fault = std::move(untold);
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

void Scheduler::drop(StreamId stream, std::vector<Entry> entries, const Status &status) {
  for (Entry &entry : entries) {
    if (entry.kind == Entry::Kind::Record) {
      wakeWaiters(entry.record->complete(status, 0));
    }
    if (entry.operation.target) {
      poisonUnwritten({entry.operation.target}, status);
    }
    if (entry.operation.isToldOfDrop) {
      OperationContext context(device, stream, entry.operation);
      context.dropReason = &status;
      (void)runBody(entry.operation, context);
    }
    if (entry.result) {
      *entry.result = status;
    }
  }
}

void Scheduler::retire(StreamId stream) {
  ++streams[stream].retired;
  noteProgress();
}

void Scheduler::noteProgress() {
  progressSignals.fetch_add(1, std::memory_order_release);
  if (progressWaiters > 0) {
    progress.notify_all();
  }
}

void Scheduler::unblock(StreamId stream) {
  Lock lock(mutex);
  setOf(stream).blocked &= ~bitOf(stream);
  wakeWorker();
  noteProgress();
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
  spinUntil(isNew, options.spinNanoseconds);
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
    auto waiters =
        entry.record->complete(Status::success(), state.endNanoseconds, untoldFault(stream));
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
    // Clocks of different cards do not start together: a time of another card says nothing here.
    if (record->owner.lock().get() == this) {
      state.endNanoseconds = std::max(state.endNanoseconds, record->nanoseconds);
    }
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
    drop(stream, std::move(dropped), status);
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
  std::string description;
  FaultRef fault;
  {
    OperationContext context(device, stream, entry.operation);
    NestGuard nest(*this, &context);
    lock.unlock();
    const uint64_t hostStart = isObserved ? hostNanoseconds() : 0;
    status = runBody(entry.operation, context);
    fault = std::move(context.fault);
    if (!status.ok()) {
      description = entry.operation.describe(stream);
    }
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
        log(LogLevel::Warning, "runtime", "the observer of the timeline threw at {}",
            record.name.c_str());
      }
    }
    // Before the operation counts as retired: who synchronises finds its memory free.
    entry = Entry();
    lock.lock();
  }
  if (result) {
    *result = status;
    // The caller of run() is told.
    status = fault && !status.ok() ? fault->report() : status;
  }
  if (!status.ok() && !isLocal && fault) {
    FaultRef &pending = streams[stream].fault;
    pending = pending && !pending->isReported() ? pending : fault;
  } else if (!status.ok() && !isLocal) {
    fail(lock, stream, stickyError(status, description));
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

} // namespace spyre::runtime::detail
