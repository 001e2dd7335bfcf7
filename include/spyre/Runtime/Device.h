//===- Device.h - the hardware abstraction: what a driver must offer ------------------------===//
//
// Two drivers: "sim" (the simulated card) and "null" (accepts everything, computes nothing: the
// skeleton to copy and the zero of measurements). One conformance suite (conformance/) runs against
// each. Physical addresses stay inside the runtime; users hold Buffer handles.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Status.h"
#include "spyre/Runtime/Memory.h"
#include "spyre/Runtime/Streams.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spyre {
class ThreadPool;
}

namespace spyre::runtime {

/// Names and meaning as in the public counters of torch.spyre.
struct DeviceCounters {
  uint64_t launches = 0;
  uint64_t ddrReadBytes = 0, ddrWriteBytes = 0;
  uint64_t lxReadBytes = 0, lxWriteBytes = 0;
  uint64_t ringBytes = 0;
  uint64_t ptMacs = 0, sfpLaneOps = 0;
  uint64_t cycles = 0, nanoseconds = 0;
  uint64_t sanitizerChecks = 0;
};

/// Memory behind one segment of a launch.
struct SegmentBinding {
  uint64_t physicalBase = 0;
  uint64_t bytes = 0;
};

/// Launch flag: the next launch belongs to the same bundle, so LX is kept for it. After any other
/// launch a card that is shared may hand LX to somebody else.
constexpr uint32_t kNonTerminalLaunch = 1;

/// What a fill leaves in each of its sticks: value where mask is 0xFF, what was there where it is
/// 0.
struct StickFill {
  std::array<uint8_t, 128> value{};
  std::array<uint8_t, 128> mask{};
  bool isWhole() const;
};

/// Reads, writes and fills of different ranges may run at the same time; nothing else does.
class Driver {
public:
  virtual ~Driver() = default;
  virtual const char *name() const = 0;
  virtual const arch::DeviceDesc &desc() const = 0;
  virtual Status write(uint64_t address, const void *data, uint64_t bytes) = 0;
  virtual Status read(uint64_t address, void *data, uint64_t bytes) = 0;
  virtual Status discard(uint64_t address, uint64_t bytes) = 0;
  /// Between two ranges that do not overlap; goes through the host unless the driver can do better.
  virtual Status copy(uint64_t from, uint64_t to, uint64_t bytes);
  /// Whole sticks of a tensor, with what is known of its padding: bit i of padding[s] says that
  /// bytes 2i and 2i + 1 of stick s hold no data; null: all is data. Drivers that do not want to
  /// know ignore it, and callers need not find it out for them.
  virtual bool wantsPadding() const { return false; }
  virtual Status writeSticks(uint64_t address, const void *data, uint64_t bytes,
                             const uint64_t *padding) {
    (void)padding;
    return write(address, data, bytes);
  }
  virtual Status readSticks(uint64_t address, void *data, uint64_t bytes, const uint64_t *padding) {
    (void)padding;
    return read(address, data, bytes);
  }
  /// \p sticks sticks on get the same contents; padding as in writeSticks. The default writes them
  /// from the host, which a driver whose card can fill memory by itself does better.
  virtual Status fillSticks(uint64_t address, uint64_t sticks, const StickFill &fill,
                            const uint64_t *padding);
  virtual Status launch(uint64_t programAddress, uint64_t programBytes,
                        const std::vector<SegmentBinding> &segments, uint32_t flags = 0) = 0;
  /// Number of the phase in which this thread's last launch failed, when the fault is contained:
  /// nothing was touched but what the program writes up to that phase. Else nothing.
  virtual std::optional<uint32_t> containedPhase() const { return std::nullopt; }
  virtual DeviceCounters counters() const = 0;
  virtual void resetCounters() = 0;
  /// Brings a card that refuses work back; contents of its memory may be lost.
  virtual Status reset() { return Status::success(); }
};

struct DriverOptions {
  uint32_t threads = 0;
  bool sanitizer = true;
  /// The card is shared: LX is overwritten between bundles with what this seed gives.
  bool sharedCard = false;
  uint64_t wipeSeed = 0;
};

/// "sim" or "null"; anything else is E6101 and lists them.
Expected<std::unique_ptr<Driver>> createDriver(const std::string &name,
                                               const arch::DeviceDesc &desc,
                                               const DriverOptions &options = {});

/// Launches of this process that no sanitizer watched, over all drivers that have one: tests demand
/// 0.
uint64_t unsanitizedLaunches();

class Device;
struct MemoryBlock;

/// A piece of device memory; freed when the last handle goes.
class Buffer {
public:
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  uint64_t bytes() const { return sizeBytes; }
  uint64_t physicalAddress() const { return address; }
  Device &device() const { return *owner; }
  /// The tensor that owned it is gone: it no longer counts as allocated, and is free when the
  /// operations that hold a handle have retired. May be called more than once.
  void abandon();
  /// An abandoned buffer that is used again counts as allocated: memory that is kept between uses.
  void adopt();
  /// The device was reset since it was made: any use is E6117.
  bool isLost() const;

  /// A quick look: false when fault() is null.
  bool isPoisoned() const { return poisoned.load(std::memory_order_acquire); }
  /// The contained fault because of which the contents must not be read; null when they may.
  FaultRef fault();
  /// What \p fault left: its contents are not those that were to be written. Contents that were
  /// there before and are not damaged may be read again as soon as somebody was told of the fault.
  void poison(const FaultRef &fault, bool isDamaged);
  /// Something was written to it.
  void noteData() { holdsData.store(true, std::memory_order_relaxed); }
  /// Everything that is read of it was written anew.
  void heal();

private:
  friend class Device;
  Buffer(std::shared_ptr<Device> owner, MemoryBlock *block, uint64_t address, uint64_t sizeBytes,
         uint64_t generation);
  std::shared_ptr<Device> owner;
  MemoryBlock *block;
  uint64_t address;
  uint64_t sizeBytes;
  /// Of the device when it was made; a reset makes the buffer useless.
  uint64_t generation;
  std::atomic<bool> poisoned{false}, holdsData{false};
  /// Behind the lock of the device's memory.
  FaultRef poisonedBy;
  bool keepsContents = false;
};
using BufferRef = std::shared_ptr<Buffer>;

/// A driver plus an allocator, streams and the host-side counters. Thread safe. Copies and launches
/// of this class happen at once, on the caller's thread: they are what the operations of streams()
/// are made of.
class Device : public std::enable_shared_from_this<Device> {
public:
  /// \p threads as in DriverOptions: host threads of transfers, 0 = one per host core.
  static std::shared_ptr<Device> create(std::unique_ptr<Driver> driver, uint32_t threads = 0,
                                        const StreamOptions &options = {});
  ~Device();

  const arch::DeviceDesc &desc() const;
  const char *driverName() const;

  /// At least one byte, rounded up to sticks. Fresh memory reads as zero and counts as never
  /// written. When there is no room: gives cached chunks back, waits for buffers that queued work
  /// still holds, calls the pressure handlers. \p stream, \p tag and \p program (the name of the
  /// program whose memory it is) are for snapshots. Memory of a \p privatePool other than 0 lies in
  /// chunks of that pool only. Errors: E6102 (out of device memory) with sizes in use, E6111
  /// (larger than a segment).
  Expected<BufferRef> allocate(uint64_t bytes, MemoryKind kind = MemoryKind::Tensor,
                               StreamId stream = kDefaultStream,
                               std::shared_ptr<const void> tag = nullptr, uint64_t privatePool = 0,
                               std::shared_ptr<const std::string> program = nullptr);
  /// Counts a request that no amount of free memory could satisfy, and was not made therefore.
  void countRejection(MemoryKind kind);
  /// Chunks of the pool become everybody's: nobody will allocate in it any more.
  void dissolvePool(uint64_t privatePool);
  /// Buffers may use so many bytes together from now on; those there are stay. E6102 beyond.
  void setMemoryLimit(uint64_t bytes);
  /// Keeps the buffer until what was submitted to the stream so far has retired.
  Status recordStream(const BufferRef &buffer, StreamId stream);
  /// Raw bytes at an offset of the buffer. Errors: E6103 (outside the buffer), and when reading the
  /// fault that poisoned the buffer.
  Status copyToDevice(const BufferRef &buffer, uint64_t offset, const void *data, uint64_t bytes);
  Status copyToHost(const BufferRef &buffer, uint64_t offset, void *data, uint64_t bytes);
  /// Whole sticks of a tensor; \p padding as in Driver::writeSticks, of no use unless
  /// wantsPadding(). May be called on any thread, so the bytes are not counted for the operation:
  /// that is for whoever gave the pieces to the threads.
  bool wantsPadding() const;
  Status copySticksToDevice(const BufferRef &buffer, uint64_t offset, const void *data,
                            uint64_t bytes, const uint64_t *padding);
  Status copySticksToHost(const BufferRef &buffer, uint64_t offset, void *data, uint64_t bytes,
                          const uint64_t *padding);
  /// The first \p bytes, which are all that \p to is used for. Nothing is copied from a poisoned
  /// buffer, and what was to be written is poisoned by the same fault.
  Status copyOnDevice(const BufferRef &from, const BufferRef &to, uint64_t bytes);
  /// The error of the fault that poisoned the buffer, noted in the operation this thread executes.
  Status checkReadable(const BufferRef &buffer) const;
  /// \p sticks sticks from \p offset on, as Driver::fillSticks; not counted, as above.
  Status fillSticks(const BufferRef &buffer, uint64_t offset, uint64_t sticks,
                    const StickFill &fill, const uint64_t *padding);

  /// segments[i] binds virtual segment i; the program segment is bound to \p program.
  /// \p flags as in Driver::launch. A contained fault poisons what the program writes; a program
  /// that reads what is poisoned does not run and returns the error of that fault.
  Status launch(const BufferRef &program, uint64_t jobOffset, uint64_t jobBytes,
                const std::vector<BufferRef> &segments, uint32_t flags = 0);
  /// The same with segments that need not be one buffer each. The caller keeps what is bound alive.
  /// \p containedPhase receives Driver::containedPhase() of a launch that fails.
  Status launchBound(const BufferRef &program, uint64_t jobOffset, uint64_t jobBytes,
                     std::vector<SegmentBinding> segments, uint32_t flags = 0,
                     std::optional<uint32_t> *containedPhase = nullptr);

  /// While it lives, launches of other threads wait: for those that hand on data in LX.
  class LaunchTurn {
  public:
    explicit LaunchTurn(Device &device);
    ~LaunchTurn();
    LaunchTurn(const LaunchTurn &) = delete;
    LaunchTurn &operator=(const LaunchTurn &) = delete;

  private:
    Device &device;
  };

  DeviceCounters counters() const;
  void resetCounters();

  MemoryStats memoryStats() const;
  /// Statistics of one kind alone.
  MemoryStats memoryStats(MemoryKind kind) const;
  /// Tensors and temporaries of programs together: what torch reports.
  MemoryStats dataMemoryStats() const;
  void resetPeakMemoryStats();
  void resetAccumulatedMemoryStats();
  MemoryInfo memoryInfo() const;
  MemorySnapshot memorySnapshot() const;
  /// Keeps the last \p maxEvents events for snapshots; 0: none. Forgets those kept.
  void setMemoryHistory(size_t maxEvents);
  std::string memorySummary() const;
  /// Chunks without a live buffer go back to their regions.
  void emptyCache();
  /// Gives host memory behind freed buffers back; the worker does so when it has nothing to do.
  void discardFreed();
  /// Called without a lock when memory is short, in the order they were added; may free buffers.
  uint64_t addPressureHandler(std::function<void()> handler);
  uint64_t addOutOfMemoryObserver(OutOfMemoryObserver observer);
  void removeHandler(uint64_t handler);

  Streams &streams();
  /// Waits for the running operation, drops the queued ones, clears errors and gives all memory
  /// back: later use of a buffer made before is E6117. Error: E6112 inside an operation.
  Status reset();
  /// The same, but memory and its contents stay unless a stream was in error. What dropped
  /// operations were to write first cannot be read.
  Status recover();
  /// Counts resets, from 1.
  uint64_t generation() const;

  /// For work on the host side of this device; made at the first call.
  ThreadPool &threadPool();

private:
  friend class Buffer;
  Device(std::unique_ptr<Driver> driver, uint32_t threads, const StreamOptions &options);
  Status check(const BufferRef &buffer, const char *what) const;
  template <typename Access>
  Status copy(const char *what, const BufferRef &buffer, uint64_t offset, const void *data,
              uint64_t bytes, Access &&access);
  void abandon(Buffer &buffer);
  void adopt(Buffer &buffer);
  void release(Buffer &buffer);
  /// Resets the streams; gives the memory back when \p losesMemory says so.
  Status resetStreams(const std::function<bool()> &losesMemory);
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spyre::runtime
