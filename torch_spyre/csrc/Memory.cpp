//===- Memory.cpp - storages and where their elements lie -----------------------------------===//
#include "Memory.h"

#include "spyre/Base/Log.h"
#include "spyre/Base/Math.h"

#include "Allocator.h"
#include "Errors.h"
#include "Guard.h"
#include "Prepared.h"
#include "RuntimeState.h"
#include "Serialization.h"
#include "SpyreTensorImpl.h"
#include "Types.h"
#include "c10/core/Allocator.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace spyre::plugin {

namespace {

StorageGeometry flatGeometry(int64_t elements, c10::ScalarType type) {
  StorageGeometry geometry;
  geometry.size = {elements};
  geometry.stride = {1};
  geometry.layout = check(layout::DeviceLayout::makeDefault({elements}, requireHostType(type)));
  return geometry;
}

/// The strides walk over hostExtent elements, each once: a permutation of row-major.
bool isDense(c10::IntArrayRef size, c10::IntArrayRef stride) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] == 0) {
      return true;
    }
    if (size[i] != 1) {
      dims.emplace_back(stride[i], size[i]);
    }
  }
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (const auto &[step, extent] : dims) {
    if (step != expected) {
      return false;
    }
    expected *= extent;
  }
  return true;
}

/// A storage somebody made as bare bytes: as many elements as fit on both sides.
StorageGeometry geometryOfBytes(const Allocation &allocation, c10::ScalarType type) {
  int64_t host = int64_t(allocation.bytes / c10::elementSize(type));
  int64_t bytes = allocation.buffer ? int64_t(allocation.buffer->bytes()) : 0;
  int64_t onDevice = bytes / numerics::elementBytes(numerics::deviceFormat(requireHostType(type)));
  return flatGeometry(std::min(host, onDevice), type);
}

/// Said in the call that uses the tensor: found out on the stream it would cost the user the
/// stream.
void checkMemory(const Allocation &allocation, const at::Tensor &tensor) {
  const runtime::BufferRef &buffer = allocation.buffer;
  if (buffer && buffer->isLost()) {
    raise(error<6117>("the tensor was made before the device was reset and its contents are lost; "
                      "make it again"));
  }
  const auto needed =
      allocation.geometry ? uint64_t(allocation.geometry->layout.bytes()) : uint64_t(0);
  if ((!buffer && tensor.numel() > 0) || (buffer && buffer->bytes() < needed)) {
    raise(error<6131>("the storage of the tensor has {} bytes where its elements take {}; give the "
                      "storage its size back with resize_(), or make the tensor again",
                      buffer ? buffer->bytes() : 0, needed));
  }
}

} // namespace

c10::DeviceAllocator &deviceAllocator() { return spyreAllocator(); }

void registerAllocator() { c10::SetAllocator(c10::DeviceType::PrivateUse1, &spyreAllocator()); }

const Allocation *findAllocation(const void *pointer) {
  return spyreAllocator().find(reinterpret_cast<uintptr_t>(pointer));
}

bool lostMemory(const std::vector<at::Tensor> &tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor &tensor) {
    const Allocation *allocation = findAllocation(tensor.storage().data_ptr().get());
    return allocation != nullptr && allocation->buffer &&
           (allocation->buffer->isLost() || allocation->buffer->fault());
  });
}

Allocation &allocationOf(const c10::Storage &storage) {
  const c10::DataPtr &data = storage.data_ptr();
  if (data.get_deleter() != &deleteAllocation) {
    raise(error<6512>("a storage on {} was not made by this backend; make tensors with "
                      "torch.empty(..., device=\"spyre\")",
                      storage.device().str()));
  }
  return *static_cast<Allocation *>(data.get_context());
}

const runtime::BufferRef &bufferOf(const at::Tensor &tensor) {
  Allocation &allocation = allocationOf(tensor.storage());
  if (allocation.waiting) [[unlikely]] {
    sendWaiting(tensor);
  }
  checkMemory(allocation, tensor);
  return allocation.buffer;
}

const StorageGeometry &geometryOf(const at::Tensor &tensor) {
  const auto *ours = dynamic_cast<const SpyreTensorImpl *>(tensor.unsafeGetTensorImpl());
  if (ours != nullptr && ours->ownGeometry()) {
    return *ours->ownGeometry();
  }
  Allocation &allocation = allocationOf(tensor.storage());
  if (!allocation.geometry && allocation.waiting) {
    chooseGeometry(tensor);
  }
  if (!allocation.geometry) {
    allocation.geometry = internGeometry(geometryOfBytes(allocation, tensor.scalar_type()));
  }
  return *allocation.geometry;
}

bool isWholeStorage(const at::Tensor &tensor) {
  const StorageGeometry &geometry = geometryOf(tensor);
  return tensor.storage_offset() == 0 && tensor.sizes() == c10::IntArrayRef(geometry.size) &&
         tensor.strides() == c10::IntArrayRef(geometry.stride);
}

StorageGeometry makeGeometry(c10::IntArrayRef size, c10::IntArrayRef stride, c10::ScalarType type) {
  StorageGeometry geometry;
  geometry.size = toVector(size);
  geometry.stride = toVector(stride);
  std::vector<int64_t> order(size.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = int64_t(i);
  }
  if (int64_t(size.size()) > layout::kMaxRank || !isDense(size, stride)) {
    return flatGeometry(hostExtent(size, stride), type);
  }
  geometry.layout = check(
      layout::DeviceLayout::make(geometry.size, geometry.stride, requireHostType(type), order));
  return geometry;
}

size_t storageBytes(const StorageGeometry &geometry, c10::ScalarType type) {
  int64_t host = hostExtent(geometry.size, geometry.stride) * int64_t(c10::elementSize(type));
  return size_t(std::max(geometry.layout.bytes(), host));
}

c10::Storage makeStorage(StorageGeometry geometry, c10::ScalarType type, c10::Device device) {
  size_t bytes = storageBytes(geometry, type);
  return makeStorage(internGeometry(std::move(geometry)), type, bytes, device);
}

c10::Storage makeStorage(const GeometryRef &geometry, c10::ScalarType type, size_t bytes,
                         c10::Device device) {
  const c10::DeviceIndex index = withIndex(device).index();
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes,
                       spyreAllocator().allocateOn(index, bytes), &spyreAllocator(),
                       /*resizable=*/true);
  allocationOf(storage).geometry = geometry;
  allocationOf(storage).type = type;
  return storage;
}

at::Tensor makeTensor(c10::IntArrayRef size, c10::IntArrayRef stride, c10::ScalarType type,
                      c10::Device device, StorageGeometry geometry) {
  auto tensor = at::detail::make_tensor<SpyreTensorImpl>(
      makeStorage(std::move(geometry), type, device), c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
  return tensor;
}

at::Tensor makeDefaultTensor(c10::IntArrayRef size, c10::ScalarType type, c10::Device device) {
  return makePrepared(preparedDefault(size, type), device);
}

void replaceMemory(const c10::Storage &storage, StorageGeometry geometry, c10::ScalarType type) {
  size_t bytes = storageBytes(geometry, type);
  c10::StorageImpl *impl = storage.unsafeGetStorageImpl();
  impl->set_data_ptr_noswap(spyreAllocator().allocateOn(storage.device().index(), bytes));
  impl->set_nbytes(bytes);
  allocationOf(storage).geometry = internGeometry(std::move(geometry));
  allocationOf(storage).type = type;
}

c10::Storage makeWaitingStorage(c10::Storage host, c10::Device device) {
  // A byte becomes at most one half-word on the device; sticks pad the rest.
  constexpr size_t kMostGrowth = 2, kStickBytes = 128;
  auto allocation = std::make_unique<Allocation>();
  const size_t bytes = host.nbytes();
  allocation->bytes = bytes;
  allocation->deviceIndex = withIndex(device).index();
  allocation->waiting = true;
  allocation->hostBytes = std::move(host);
  c10::DataPtr data =
      spyreAllocator().reserve(std::move(allocation), bytes * kMostGrowth + kStickBytes);
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, std::move(data), &spyreAllocator(),
                      /*resizable=*/true);
}

void allocateWaiting(const c10::Storage &storage) {
  Allocation &allocation = allocationOf(storage);
  allocation.bytes = storageBytes(*allocation.geometry, *allocation.type);
  if (allocation.bytes > 0) {
    spyreAllocator().obtain(allocation);
  }
  storage.unsafeGetStorageImpl()->set_nbytes(allocation.bytes);
}

void resizeStorageBytes(const c10::Storage &storage, size_t bytes) {
  Allocation &old = allocationOf(storage);
  GeometryRef geometry = old.geometry;
  c10::DataPtr fresh = spyreAllocator().allocateOn(old.deviceIndex, bytes);
  auto &allocation = *static_cast<Allocation *>(fresh.get_context());
  if (old.buffer && allocation.buffer) {
    uint64_t kept = std::min(old.buffer->bytes(), allocation.buffer->bytes());
    runtime::Operation operation;
    operation.name = "launch::D2D";
    operation.engine = runtime::Engine::OnDevice;
    operation.target = allocation.buffer;
    operation.body = [from = old.buffer, to = allocation.buffer,
                      kept](runtime::OperationContext &context) {
      return context.device.copyOnDevice(from, to, kept);
    };
    check(device(old.deviceIndex)
              ->streams()
              .submit(currentStream(old.deviceIndex), std::move(operation)));
  }
  allocation.geometry = geometry;
  allocation.type = old.type;
  c10::StorageImpl *impl = storage.unsafeGetStorageImpl();
  impl->set_data_ptr_noswap(std::move(fresh));
  impl->set_nbytes(bytes);
}

} // namespace spyre::plugin
