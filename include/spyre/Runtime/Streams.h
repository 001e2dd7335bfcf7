//===- Streams.h - asynchronous work on a device: streams, events, simulated time -----------===//
//
// A device has 65 streams: 0 the default, 1-32 of low and 33-64 of high priority. Work is
// submitted as operations, which run first in, first out inside a stream; between streams only
// events order them. One worker thread per device executes one operation at a time, so "overlap"
// exists on the simulated clock only: each operation gets a start and an end there, from its
// stream, the events it waited for and the engine it needs.
//
// A wait captures the record an event has at that moment, and a record is queued before anybody can
// wait for it: whatever waits was submitted later than what it waits for, so waits cannot form a
// cycle. A thread that waits may execute what it waits for.
//
// An operation that fails puts its stream in error: what is queued behind it is dropped, its later
// events are poisoned, and every later call on the stream returns the first error until the device
// is reset. Other streams go on. A contained fault costs less: the stream goes on, the next call
// that waits for it returns the error once, and what the operation was writing stays poisoned.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace spyre::runtime {

class Buffer;
class Device;

using StreamId = uint32_t;
constexpr StreamId kDefaultStream = 0;
constexpr StreamId kPoolStreams = 32;
constexpr StreamId kFirstLowStream = 1;
constexpr StreamId kFirstHighStream = kFirstLowStream + kPoolStreams;
constexpr StreamId kStreamCount = kFirstHighStream + kPoolStreams;
/// E6116 unless there is such a stream.
Status checkStreamId(StreamId stream);
constexpr bool isHighPriority(StreamId stream) { return stream >= kFirstHighStream; }

/// What an operation occupies on the simulated clock; operations on different engines overlap.
enum class Engine : uint8_t { Compute, HostToDevice, DeviceToHost, OnDevice, Host };
constexpr size_t kEngineCount = 5;
const char *engineName(Engine engine);

/// A name that costs nothing to make from a literal and one reference count from a shared string.
class OperationName {
public:
  OperationName(const char *literal = "operation") : literal(literal) {}
  OperationName(std::shared_ptr<const std::string> text) : text(std::move(text)) {}
  const char *c_str() const { return text ? text->c_str() : literal; }

private:
  const char *literal = nullptr;
  std::shared_ptr<const std::string> text;
};

/// A failure that damaged nothing but what its operation was writing. Waiting for the stream tells
/// it once; reading what the operation was writing tells it every time.
class ContainedFault {
public:
  explicit ContainedFault(Status status) : error(std::move(status)) {}
  const Status &status() const { return error; }
  bool isReported() const { return reported.load(std::memory_order_acquire); }
  /// The error for somebody outside; from now on it counts as told.
  Status report() {
    reported.store(true, std::memory_order_release);
    return error;
  }
  /// True for one caller only: the one who has to tell it.
  bool claimReport() { return !reported.exchange(true, std::memory_order_acq_rel); }

private:
  const Status error;
  std::atomic<bool> reported{false};
};
using FaultRef = std::shared_ptr<ContainedFault>;

struct Operation;

/// What the body of an operation is given.
class OperationContext {
public:
  OperationContext(Device &device, StreamId stream, const Operation &operation)
      : device(device), stream(stream), operation(operation) {}
  Device &device;
  const StreamId stream;
  /// The operation whose body runs.
  const Operation &operation;
  /// Set by the device where the body ran into a contained fault: its error is that of the fault.
  FaultRef fault;
  /// Set for operations with isToldOfDrop that will not run.
  const Status *dropReason = nullptr;
  /// Nanoseconds on the simulated clock beyond what launches and copies account for.
  void addNanoseconds(uint64_t nanoseconds) { extraNanoseconds += nanoseconds; }

  /// Kept by the device: what launches, copies and transfers called on the operation's thread
  /// amounted to.
  uint64_t launchNanoseconds = 0;
  uint64_t copiedBytes = 0;
  uint64_t extraNanoseconds = 0;
};

struct Operation {
  OperationName name;
  /// Python line that asked for it ("train.py:12"), for errors; null: not known.
  std::shared_ptr<const std::string> location;
  Engine engine = Engine::Compute;
  /// Runs on the worker, or on a thread that waits for the stream or called run(). May use the
  /// device and its streams. What it throws becomes E6110.
  std::function<Status(OperationContext &)> body;
  /// Kept alive until the operation retired: buffers, programs, staging memory.
  std::vector<std::shared_ptr<const void>> references;
  /// Bytes of a copy, for the simulated clock; 0: what its body copied.
  uint64_t bytes = 0;
  /// run() only: the error goes to the caller alone and the stream stays usable. For refusals that
  /// say nothing about the device.
  bool isErrorLocal = false;
  /// Buffer that a copy or a fill writes: it cannot be read when the operation is dropped.
  std::shared_ptr<Buffer> target;
  /// For operations with other results: the body is also called when the operation is dropped, with
  /// OperationContext::dropReason, and then only poisons what it would have written.
  bool isToldOfDrop = false;
  /// "operation 'aten.add.Tensor' at train.py:12 on stream 0"
  std::string describe(StreamId stream) const;
};

/// One operation on the simulated clock of its device, and when the host knew of it.
struct TimelineRecord {
  OperationName name;
  StreamId stream = kDefaultStream;
  Engine engine = Engine::Compute;
  uint64_t bytes = 0;
  /// Simulated.
  uint64_t startNanoseconds = 0, endNanoseconds = 0;
  /// Of the host's steady clock.
  uint64_t hostSubmitNanoseconds = 0, hostStartNanoseconds = 0, hostEndNanoseconds = 0;
  bool isFailed = false;
};
/// Called on the thread that executed the operation, with no lock held, before it retires.
using TimelineObserver = std::function<void(const TimelineRecord &)>;

/// Rates of the host link and limits of the queue. Not part of the machine description: they
/// belong to the host the card sits in.
struct StreamOptions {
  /// One PCIe 5.0 x8 link, each direction.
  double hostLinkBytesPerNanosecond = 32;
  uint64_t hostLinkLatencyNanoseconds = 2000;
  /// Copies inside DDR read and write each byte.
  double onDeviceBytesPerNanosecond = 102.4;
  uint64_t onDeviceLatencyNanoseconds = 500;
  /// Operations a device holds before submitters wait.
  size_t maxQueued = 1024;
  /// How long an idle worker looks for work before it sleeps.
  uint64_t spinNanoseconds = 30000;
  /// How long a thread that waits looks before it sleeps.
  uint64_t waitSpinNanoseconds = 10000;
};

namespace detail {
struct EventRecord;
struct Scheduler;
} // namespace detail

/// A point in a stream. May be recorded again; waits keep the record they saw.
class Event {
public:
  explicit Event(bool timing) : isTimed(timing) {}
  bool timing() const { return isTimed; }
  /// True when there is nothing to wait for: also when it was never recorded. Error: that of the
  /// stream that failed before it; a contained fault only if nobody was told yet.
  Expected<bool> query() const;
  Status synchronize() const;
  /// Simulated time at which the work before the event was done. Errors: E6114 (not timed, never
  /// recorded, not done yet).
  Expected<uint64_t> completionNanoseconds() const;
  /// From \p begin to \p end, negative when end came first. Errors: as completionNanoseconds, E6114
  /// (events of different devices).
  static Expected<double> elapsedMilliseconds(const Event &begin, const Event &end);

private:
  friend class Streams;
  std::shared_ptr<detail::EventRecord> current() const;
  const bool isTimed;
  mutable std::mutex mutex;
  std::shared_ptr<detail::EventRecord> record;
};
using EventRef = std::shared_ptr<Event>;

/// The streams of one device; thread safe. Every call with an id above 64 is E6116.
class Streams {
public:
  Streams(Device &device, const StreamOptions &options);
  ~Streams();
  Streams(const Streams &) = delete;
  Streams &operator=(const Streams &) = delete;

  /// The next of a pool, round robin: the 33rd request gives the first again.
  StreamId fromPool(bool isHigh);

  /// Queues and returns; waits only while the queue is full. Errors: that of the stream, E6113
  /// (the device was shut down).
  Status submit(StreamId stream, Operation operation);
  /// Queues and waits; on the caller's own thread when the device has nothing to do. Inside an
  /// operation of the same stream the body runs at once, as a part of that operation.
  Status run(StreamId stream, Operation operation);
  /// True when everything submitted to the stream has retired. Errors: as synchronize.
  Expected<bool> query(StreamId stream);
  /// Waits for what was submitted so far. Inside an operation: E6112 when it would wait for itself.
  /// Errors: that of the stream; a contained fault that nobody was told yet.
  Status synchronize(StreamId stream);
  /// All streams; the error of the lowest stream that has one.
  Status synchronizeAll();
  /// Waits as synchronizeAll and tells no fault: for those who need the work done and not its
  /// outcome.
  void finishAll();
  /// Waits for one stream and returns its lasting error.
  Status finish(StreamId stream);
  /// The error the stream is in.
  Status error(StreamId stream) const;
  /// True when some stream is in error.
  bool isInError() const;

  Status recordEvent(const EventRef &event, StreamId stream);
  Expected<EventRef> recordEvent(StreamId stream, bool timing);
  /// Later work of the stream starts after the event's present record is done, also that of another
  /// device, whose simulated time is not compared. An event never recorded holds nobody up.
  Status waitEvent(StreamId stream, const EventRef &event);
  /// Keeps \p reference until what was submitted to the stream so far has retired.
  Status keepAlive(StreamId stream, std::shared_ptr<const void> reference);

  /// Null: none. Operations that run at this moment may still report to the old one.
  void setTimelineObserver(TimelineObserver observer);
  /// Simulated time at which everything that has retired was done.
  uint64_t deviceNanoseconds() const;
  /// Operations that have retired since the device was made, dropped ones not counted.
  uint64_t retiredOperations() const;

  /// True on a thread that executes an operation of this device.
  bool isInsideOperation() const;

  /// Waits for the running operation, drops the queued ones (their events are poisoned with E6115)
  /// and calls \p whileStopped, then clears all errors. Error: E6112 inside an operation.
  Status reset(const std::function<void()> &whileStopped = nullptr);
  /// Drops what is queued, waits for the running operation and ends the worker; later submissions
  /// are E6113. Called by the device's destructor and at process exit.
  void shutdown();

private:
  std::shared_ptr<detail::Scheduler> scheduler;
};

/// The operation this thread executes for \p device, or null.
OperationContext *currentOperation(const Device &device);

} // namespace spyre::runtime
