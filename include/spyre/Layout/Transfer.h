//===- Transfer.h - move a host tensor into its device layout and back ----------------------===//
//
// A transfer is a set of loop nests over (host stride, device stride) that covers each host element
// once [spec: device-and-layouts 4.2]. Formats are converted on the way. Device bytes no
// host element maps to (padding) are zero after packing.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"

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

} // namespace spyre::layout
