//===- TensorTransfer.cpp - host tensor <-> device buffer -----------------------------------===//
//
// The conversion works on host memory (Layout), piece by piece; each piece then moves in one copy.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Runtime/TensorTransfer.h"

#include "spyre/Layout/Padding.h"
#include "spyre/Runtime/Executable.h"

#include "fmt/ranges.h"

#include <atomic>

namespace spyre::runtime {

namespace {

constexpr int64_t kStickBytes = 128;

Status checkBuffer(const BufferRef &buffer, const layout::DeviceLayout &layout) {
  SPYRE_RETURN_IF_ERROR(layout.verify());
  if (!buffer) {
    return error<6105>("the buffer handle is empty; allocate it first");
  }
  if (buffer->bytes() < uint64_t(layout.bytes())) {
    return error<6203>("the tensor needs {} bytes on the device but its buffer has {}; allocate "
                       "layout.bytes()",
                       layout.bytes(), buffer->bytes());
  }
  return Status::success();
}

Status checkTensor(const spec::TensorDesc &desc, const layout::HostTensorRef &host) {
  if (host.type != desc.dtype || host.size != desc.size) {
    return error<6203>("tensor '{}' is {} [{}] but the host tensor is {} [{}]; convert it first",
                       desc.name, numerics::hostTypeName(desc.dtype), fmt::join(desc.size, ", "),
                       numerics::hostTypeName(host.type), fmt::join(host.size, ", "));
  }
  if (host.stride.size() != host.size.size()) {
    return error<6203>("tensor '{}' has {} dimensions but the host tensor gives {} strides; pass "
                       "one stride per dimension",
                       desc.name, host.size.size(), host.stride.size());
  }
  return Status::success();
}

/// One mask per stick, for a driver that follows padding.
class PaddingMasks {
public:
  static Expected<PaddingMasks> make(const Device &device, const layout::DeviceLayout &layout,
                                     const std::vector<int64_t> &size,
                                     const std::vector<int64_t> &matchStride) {
    PaddingMasks padding;
    if (device.wantsPadding()) {
      SPYRE_ASSIGN_OR_RETURN(padding.masks, layout::stickPadding(layout, size, matchStride));
    }
    return padding;
  }

  /// Those of the sticks from \p offset on; null when all bytes are data.
  const uint64_t *at(int64_t offset) const {
    return masks.empty() ? nullptr : masks.data() + offset / kStickBytes;
  }

private:
  std::vector<uint64_t> masks;
};

/// What the pieces of a transfer amount to, whichever threads move them; counted for the operation
/// whose thread the transfer was called on.
class MovedBytes {
public:
  explicit MovedBytes(const Device &device) : operation(currentOperation(device)) {}
  ~MovedBytes() {
    if (operation) {
      operation->copiedBytes += bytes;
    }
  }
  MovedBytes(const MovedBytes &) = delete;
  MovedBytes &operator=(const MovedBytes &) = delete;
  void add(int64_t moved) { bytes.fetch_add(uint64_t(moved), std::memory_order_relaxed); }

private:
  OperationContext *operation;
  std::atomic<uint64_t> bytes{0};
};

} // namespace

Status uploadTensor(const BufferRef &buffer, const layout::DeviceLayout &layout,
                    const std::vector<int64_t> &matchStride, const layout::HostTensorRef &host) {
  SPYRE_RETURN_IF_ERROR(checkBuffer(buffer, layout));
  Device &device = buffer->device();
  SPYRE_ASSIGN_OR_RETURN(PaddingMasks padding,
                         PaddingMasks::make(device, layout, host.size, matchStride));
  MovedBytes moved(device);
  auto write = [&](int64_t offset, const void *data, int64_t bytes) {
    moved.add(bytes);
    return device.copySticksToDevice(buffer, uint64_t(offset), data, uint64_t(bytes),
                                     padding.at(offset));
  };
  SPYRE_RETURN_IF_ERROR(layout::packPieces(host, matchStride, layout, write, &device.threadPool()));
  buffer->heal();
  return Status::success();
}

Status downloadTensor(const BufferRef &buffer, const layout::DeviceLayout &layout,
                      const std::vector<int64_t> &matchStride, const layout::HostTensorRef &host) {
  SPYRE_RETURN_IF_ERROR(checkBuffer(buffer, layout));
  Device &device = buffer->device();
  SPYRE_RETURN_IF_ERROR(device.checkReadable(buffer));
  SPYRE_ASSIGN_OR_RETURN(PaddingMasks padding,
                         PaddingMasks::make(device, layout, host.size, matchStride));
  MovedBytes moved(device);
  auto read = [&](int64_t offset, void *data, int64_t bytes) {
    moved.add(bytes);
    return device.copySticksToHost(buffer, uint64_t(offset), data, uint64_t(bytes),
                                   padding.at(offset));
  };
  return layout::unpackPieces(read, layout, matchStride, host, &device.threadPool());
}

namespace {

/// Calls move(offset on the device, offset in the row of sticks, bytes, padding) for runs of
/// sticks.
template <typename Move>
Status moveSticks(const BufferRef &buffer, const layout::DeviceLayout &layout,
                  const std::vector<int64_t> &size, const std::vector<int64_t> &matchStride,
                  const std::vector<int64_t> &sticks, const Move &move) {
  SPYRE_RETURN_IF_ERROR(checkBuffer(buffer, layout));
  Device &device = buffer->device();
  SPYRE_ASSIGN_OR_RETURN(PaddingMasks padding,
                         PaddingMasks::make(device, layout, size, matchStride));
  MovedBytes moved(device);
  for (size_t first = 0; first < sticks.size();) {
    size_t next = first + 1;
    while (next < sticks.size() && sticks[next] == sticks[next - 1] + 1) {
      ++next;
    }
    const int64_t offset = sticks[first] * kStickBytes;
    const int64_t bytes = int64_t(next - first) * kStickBytes;
    moved.add(bytes);
    SPYRE_RETURN_IF_ERROR(
        move(uint64_t(offset), first * size_t(kStickBytes), uint64_t(bytes), padding.at(offset)));
    first = next;
  }
  return Status::success();
}

} // namespace

Status downloadSticks(const BufferRef &buffer, const layout::DeviceLayout &layout,
                      const std::vector<int64_t> &size, const std::vector<int64_t> &matchStride,
                      const std::vector<int64_t> &sticks, uint8_t *data) {
  SPYRE_RETURN_IF_ERROR(checkBuffer(buffer, layout));
  SPYRE_RETURN_IF_ERROR(buffer->device().checkReadable(buffer));
  auto read = [&](uint64_t from, size_t to, uint64_t bytes, const uint64_t *padding) {
    return buffer->device().copySticksToHost(buffer, from, data + to, bytes, padding);
  };
  return moveSticks(buffer, layout, size, matchStride, sticks, read);
}

Status changeSticks(const BufferRef &buffer, const layout::DeviceLayout &layout,
                    const std::vector<int64_t> &size, const std::vector<int64_t> &matchStride,
                    const std::vector<int64_t> &sticks,
                    const std::function<void(uint8_t *data)> &change) {
  std::vector<uint8_t> data(sticks.size() * size_t(kStickBytes));
  SPYRE_RETURN_IF_ERROR(downloadSticks(buffer, layout, size, matchStride, sticks, data.data()));
  change(data.data());
  auto write = [&](uint64_t to, size_t from, uint64_t bytes, const uint64_t *padding) {
    return buffer->device().copySticksToDevice(buffer, to, data.data() + from, bytes, padding);
  };
  SPYRE_RETURN_IF_ERROR(moveSticks(buffer, layout, size, matchStride, sticks, write));
  buffer->noteData();
  return Status::success();
}

Status fillTensor(const BufferRef &buffer, const layout::DeviceLayout &layout,
                  const std::vector<int64_t> &size, const std::vector<int64_t> &matchStride,
                  const std::vector<FillRun> &runs) {
  SPYRE_RETURN_IF_ERROR(checkBuffer(buffer, layout));
  Device &device = buffer->device();
  SPYRE_ASSIGN_OR_RETURN(PaddingMasks padding,
                         PaddingMasks::make(device, layout, size, matchStride));
  MovedBytes moved(device);
  for (const FillRun &run : runs) {
    const int64_t offset = run.firstStick * kStickBytes;
    moved.add(run.sticks * kStickBytes);
    SPYRE_RETURN_IF_ERROR(device.fillSticks(buffer, uint64_t(offset), uint64_t(run.sticks),
                                            run.fill, padding.at(offset)));
  }
  const bool isWhole = runs.size() == 1 && runs[0].firstStick == 0 && runs[0].fill.isWhole() &&
                       runs[0].sticks * kStickBytes >= layout.bytes();
  isWhole ? buffer->heal() : buffer->noteData();
  return Status::success();
}

Status uploadTensor(const BufferRef &buffer, const spec::TensorDesc &desc,
                    const layout::HostTensorRef &host) {
  SPYRE_RETURN_IF_ERROR(checkTensor(desc, host));
  return uploadTensor(buffer, desc.layout, desc.stride, host)
      .withContext(fmt::format("tensor '{}': ", desc.name));
}

Status downloadTensor(const BufferRef &buffer, const spec::TensorDesc &desc,
                      const layout::HostTensorRef &host) {
  SPYRE_RETURN_IF_ERROR(checkTensor(desc, host));
  return downloadTensor(buffer, desc.layout, desc.stride, host)
      .withContext(fmt::format("tensor '{}': ", desc.name));
}

} // namespace spyre::runtime
