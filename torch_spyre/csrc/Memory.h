//===- Memory.h - torch storages on the device ----------------------------------------------===//
//
// A storage's data pointer is a token from a range no program can map: non-zero, unique, offsets
// into it still find their allocation, and a stray dereference faults. Never a device address.
//
// How the elements lie on the device (StorageGeometry) belongs to the storage and not to a tensor:
// a view's layout describes the whole storage, so every view, alias or detached copy sees the same
// one, whoever made it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"
#include "spyre/Runtime/Device.h"

#include "ATen/core/Tensor.h"
#include "c10/core/CachingDeviceAllocator.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace spyre::plugin {

/// Host size and strides with which the allocation was made, and its device layout. The element a
/// tensor sees at host offset o of its storage is the one this geometry puts there.
struct StorageGeometry {
  std::vector<int64_t> size, stride;
  layout::DeviceLayout layout;
  bool operator==(const StorageGeometry &) const = default;
};
using GeometryRef = std::shared_ptr<const StorageGeometry>;

/// Null buffer for storages of zero bytes.
struct Allocation {
  uintptr_t token = 0;
  size_t bytes = 0;
  c10::DeviceIndex deviceIndex = 0;
  runtime::BufferRef buffer;
  GeometryRef geometry;
  /// Type of the elements; unknown for storages somebody made as bare bytes.
  std::optional<c10::ScalarType> type;
  /// Host bytes that are still to be sent: a loaded storage whose tensor is not known yet. See
  /// Serialization.h.
  std::atomic<bool> waiting{false};
  c10::Storage hostBytes;
};

/// The allocator of the spyre device; lives as long as the process.
c10::DeviceAllocator &deviceAllocator();
/// Makes it known to torch; called once, at import.
void registerAllocator();
/// The allocation a pointer lies in, nullptr for foreign pointers.
const Allocation *findAllocation(const void *pointer);
/// Whether a reset took the memory of one of \p tensors.
bool lostMemory(const std::vector<at::Tensor> &tensors);

/// Fails (E6512) for storages that are not ours.
Allocation &allocationOf(const c10::Storage &storage);
const runtime::BufferRef &bufferOf(const at::Tensor &tensor);
/// Geometry of the tensor's storage. A storage that was made as bare bytes gets a flat one here.
const StorageGeometry &geometryOf(const at::Tensor &tensor);
/// True when the tensor is exactly what its storage was made for: no view, no offset.
bool isWholeStorage(const at::Tensor &tensor);

/// Default geometry of a dense tensor; falls back to a flat one where no layout can describe the
/// strides (overlap) or the rank.
StorageGeometry makeGeometry(c10::IntArrayRef size, c10::IntArrayRef stride, c10::ScalarType type);
/// max(device bytes, host bytes)
size_t storageBytes(const StorageGeometry &geometry, c10::ScalarType type);
c10::Storage makeStorage(StorageGeometry geometry, c10::ScalarType type, c10::Device device);
/// \p geometry is an interned one (Prepared.h).
c10::Storage makeStorage(const GeometryRef &geometry, c10::ScalarType type, size_t bytes,
                         c10::Device device);
/// A tensor of \p size and \p stride on a fresh storage.
at::Tensor makeTensor(c10::IntArrayRef size, c10::IntArrayRef stride, c10::ScalarType type,
                      c10::Device device, StorageGeometry geometry);
/// Row-major tensor with the canonical layout.
at::Tensor makeDefaultTensor(c10::IntArrayRef size, c10::ScalarType type, c10::Device device);
/// Gives the storage new memory and geometry; all its views see them.
void replaceMemory(const c10::Storage &storage, StorageGeometry geometry, c10::ScalarType type);
/// A storage without memory that will get the bytes of \p host when its type is known.
c10::Storage makeWaitingStorage(c10::Storage host, c10::Device device);
/// Memory for a waiting storage, by its geometry.
void allocateWaiting(const c10::Storage &storage);
/// Raw bytes: keeps the first ones and the geometry.
void resizeStorageBytes(const c10::Storage &storage, size_t bytes);

} // namespace spyre::plugin
