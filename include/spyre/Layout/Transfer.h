//===- Transfer.h - move a host tensor into its device layout and back ----------------------===//
//
// A transfer is a set of loop nests over (host stride, device stride) that covers each host element
// once [spec: device-and-layouts 4.2]. Formats are converted on the way. Device bytes no
// host element maps to (padding) are zero after packing.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"

#include <functional>

namespace spyre {
class ThreadPool;
}

namespace spyre::layout {

/// A host tensor in memory: data points at element (0, ..., 0); strides are in elements.
struct HostTensorRef {
  void *data = nullptr;
  numerics::HostType type = numerics::HostType::Float16;
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
};

/// Fills layout.bytes() at \p device. \p matchStride are the host strides the layout was built with
/// (strideMap is in terms of them); host.stride are the strides of the host memory actually read.
/// Large tensors use the threads of \p pool, if given; the bytes are the same.
/// Errors: E2009 (the layout does not describe a tensor of that size).
Status packToDevice(const HostTensorRef &host, const std::vector<int64_t> &matchStride,
                    const DeviceLayout &layout, void *device, ThreadPool *pool = nullptr);
/// Inverse. Every host element is written once; padding is ignored.
Status unpackFromDevice(const void *device, const DeviceLayout &layout,
                        const std::vector<int64_t> &matchStride, const HostTensorRef &host,
                        ThreadPool *pool = nullptr);

/// Moves bytes at \p offset from the start of the device tensor; offset and size are whole sticks.
using DeviceWrite = std::function<Status(int64_t offset, const void *data, int64_t bytes)>;
using DeviceRead = std::function<Status(int64_t offset, void *data, int64_t bytes)>;

/// As packToDevice and unpackFromDevice for device memory that only copies reach: the tensor moves
/// through buffers that stay in the cache, so no second tensor is held in host memory. The pieces
/// cover the layout once; with a pool, several threads call \p write or \p read at a time. Errors:
/// E2009 before the first piece; the failure of the lowest piece, when the others have moved.
Status packPieces(const HostTensorRef &host, const std::vector<int64_t> &matchStride,
                  const DeviceLayout &layout, const DeviceWrite &write, ThreadPool *pool = nullptr);
Status unpackPieces(const DeviceRead &read, const DeviceLayout &layout,
                    const std::vector<int64_t> &matchStride, const HostTensorRef &host,
                    ThreadPool *pool = nullptr);

} // namespace spyre::layout
