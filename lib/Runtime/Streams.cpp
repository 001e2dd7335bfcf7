//===- Streams.cpp - the public face of the scheduler, and events ---------------------------===//
#include "spyre/Runtime/Streams.h"

#include "Scheduler.h"

#include <algorithm>

namespace spyre::runtime {

using detail::Entry;
using detail::EventRecord;
using detail::RecordRef;

Status checkStreamId(StreamId stream) {
  if (stream >= kStreamCount) {
    return error<6116>("there is no stream {}; streams are 0 (default), 1-32 (low priority) and "
                       "33-64 (high priority)",
                       stream);
  }
  return Status::success();
}

const char *engineName(Engine engine) {
  switch (engine) {
  case Engine::Compute:
    return "compute";
  case Engine::HostToDevice:
    return "host to device";
  case Engine::DeviceToHost:
    return "device to host";
  case Engine::OnDevice:
    return "on device";
  case Engine::Host:
    return "host";
  }
  return "unknown";
}

std::string Operation::describe(StreamId stream) const {
  return fmt::format("operation '{}'{} on stream {}", name.c_str(),
                     location ? " at " + *location : "", stream);
}

OperationContext *currentOperation(const Device &device) {
  for (detail::Nest *nest = detail::currentNest(); nest; nest = nest->outer) {
    if (nest->context && &nest->context->device == &device) {
      return nest->context;
    }
  }
  return nullptr;
}

//===- Event ----------------------------------------------------------------------------------===//

/// The error to tell somebody who looks at the record, whose lock is held.
static Status outcome(const EventRecord &record) {
  SPYRE_RETURN_IF_ERROR(record.result);
  return record.fault && record.fault->claimReport() ? record.fault->status() : Status::success();
}

RecordRef Event::current() const {
  std::lock_guard lock(mutex);
  return record;
}

Expected<bool> Event::query() const {
  const RecordRef seen = current();
  if (!seen) {
    return true;
  }
  std::lock_guard lock(seen->mutex);
  SPYRE_RETURN_IF_ERROR(outcome(*seen));
  return seen->isDone;
}

Status Event::synchronize() const {
  const RecordRef seen = current();
  if (!seen) {
    return Status::success();
  }
  // A thread that executes operations has to do the work it waits for itself.
  for (detail::Nest *nest = detail::currentNest(); nest; nest = nest->outer) {
    SPYRE_RETURN_IF_ERROR(nest->scheduler->waitFor(*seen));
  }
  const std::shared_ptr<detail::Scheduler> owner = seen->owner.lock();
  if (owner) {
    SPYRE_RETURN_IF_ERROR(owner->waitFor(*seen));
  }
  std::unique_lock lock(seen->mutex);
  seen->changed.wait(lock, [&] { return seen->isDone; });
  const Status result = outcome(*seen);
  const uint64_t nanoseconds = seen->nanoseconds;
  lock.unlock();
  if (owner) {
    owner->noteSeen(nanoseconds);
  }
  return result;
}

Expected<uint64_t> Event::completionNanoseconds() const {
  if (!isTimed) {
    return error<6114>("the event has no time; make it with enable_timing=True");
  }
  const RecordRef seen = current();
  if (!seen) {
    return error<6114>("the event was never recorded; record it on a stream first");
  }
  std::lock_guard lock(seen->mutex);
  if (!seen->isDone) {
    return error<6114>("the work before the event is not done yet; synchronize the event first");
  }
  if (!seen->result.ok()) {
    return seen->result;
  }
  return seen->nanoseconds;
}

Expected<double> Event::elapsedMilliseconds(const Event &begin, const Event &end) {
  constexpr double kNanosecondsPerMillisecond = 1e6;
  SPYRE_ASSIGN_OR_RETURN(const uint64_t first, begin.completionNanoseconds());
  SPYRE_ASSIGN_OR_RETURN(const uint64_t last, end.completionNanoseconds());
  const RecordRef from = begin.current(), to = end.current();
  if (from->owner.lock() != to->owner.lock()) {
    return error<6114>("the events were recorded on different devices, whose clocks do not start "
                       "together; measure between events of one device");
  }
  return (double(last) - double(first)) / kNanosecondsPerMillisecond;
}

//===- Streams --------------------------------------------------------------------------------===//

Streams::Streams(Device &device, const StreamOptions &options)
    : scheduler(std::make_shared<detail::Scheduler>(device, options)) {}
Streams::~Streams() { shutdown(); }

StreamId Streams::fromPool(bool isHigh) {
  std::lock_guard lock(scheduler->mutex);
  uint32_t &next = scheduler->nextInPool[isHigh ? 1 : 0];
  const StreamId stream = (isHigh ? kFirstHighStream : kFirstLowStream) + next;
  next = (next + 1) % kPoolStreams;
  return stream;
}

Status Streams::submit(StreamId stream, Operation operation) {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  Entry entry;
  entry.operation = std::move(operation);
  return scheduler->submit(stream, std::move(entry));
}

Status Streams::run(StreamId stream, Operation operation) {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  // The operation may hold the last handle of the device, and with it of this object.
  const std::shared_ptr<detail::Scheduler> kept = scheduler;
  return kept->run(stream, std::move(operation));
}

Expected<bool> Streams::query(StreamId stream) {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  std::lock_guard lock(scheduler->mutex);
  SPYRE_RETURN_IF_ERROR(scheduler->tellError(stream));
  return scheduler->isIdle(stream);
}

Status Streams::synchronize(StreamId stream) {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  return scheduler->synchronize(stream, stream + 1);
}

Status Streams::synchronizeAll() { return scheduler->synchronize(0, kStreamCount); }

void Streams::finishAll() {
  const Status ignored = scheduler->waitForAll(0, kStreamCount);
  (void)ignored;
}

Status Streams::finish(StreamId stream) {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  SPYRE_RETURN_IF_ERROR(scheduler->waitForAll(stream, stream + 1));
  return error(stream);
}

bool Streams::isInError() const {
  std::lock_guard lock(scheduler->mutex);
  return std::any_of(scheduler->streams.begin(), scheduler->streams.end(),
                     [](const detail::StreamState &state) { return !state.error.ok(); });
}

Status Streams::error(StreamId stream) const {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  std::lock_guard lock(scheduler->mutex);
  return scheduler->streams[stream].error;
}

Status Streams::recordEvent(const EventRef &event, StreamId stream) {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  if (!event) {
    return spyre::error<6114>("there is no event to record; make one first");
  }
  const RecordRef record = std::make_shared<EventRecord>();
  Status recorded = scheduler->recordEvent(record, stream);
  // After it is queued: nobody can wait for a record that is not.
  std::lock_guard lock(event->mutex);
  event->record = record;
  return recorded;
}

Expected<EventRef> Streams::recordEvent(StreamId stream, bool timing) {
  EventRef event = std::make_shared<Event>(timing);
  SPYRE_RETURN_IF_ERROR(recordEvent(event, stream));
  return event;
}

Status Streams::waitEvent(StreamId stream, const EventRef &event) {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  const RecordRef record = event ? event->current() : nullptr;
  return record ? scheduler->waitRecord(stream, record) : error(stream);
}

Status Streams::keepAlive(StreamId stream, std::shared_ptr<const void> reference) {
  SPYRE_RETURN_IF_ERROR(checkStreamId(stream));
  {
    std::lock_guard lock(scheduler->mutex);
    if (scheduler->isIdle(stream)) {
      return Status::success();
    }
  }
  Entry entry;
  entry.kind = Entry::Kind::Keep;
  entry.operation.references.push_back(std::move(reference));
  return scheduler->submit(stream, std::move(entry));
}

void Streams::setTimelineObserver(TimelineObserver observer) {
  std::shared_ptr<const TimelineObserver> shared;
  if (observer) {
    shared = std::make_shared<const TimelineObserver>(std::move(observer));
  }
  std::lock_guard lock(scheduler->mutex);
  scheduler->isObserved = shared != nullptr;
  scheduler->observer.swap(shared);
}

uint64_t Streams::deviceNanoseconds() const {
  std::lock_guard lock(scheduler->mutex);
  return scheduler->doneNanoseconds;
}

uint64_t Streams::retiredOperations() const {
  std::lock_guard lock(scheduler->mutex);
  return scheduler->retiredOperations;
}

bool Streams::isInsideOperation() const { return detail::isInside(*scheduler); }

Status Streams::reset(const std::function<void()> &whileStopped) {
  return scheduler->reset(whileStopped);
}

void Streams::shutdown() { scheduler->shutdown(); }

} // namespace spyre::runtime
