//===- Memory.cpp - allocator bridge, tokens, storage geometry ------------------------------===//
#include "Memory.h"

#include "spyre/Base/Math.h"

#include "Errors.h"
#include "Prepared.h"
#include "RuntimeState.h"
#include "Types.h"
#include "c10/core/Allocator.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace spyre::plugin {

namespace {

using c10::CachingDeviceAllocator::DeviceStats;

/// Above every address a user program of a 64-bit host can map.
constexpr uintptr_t kFirstToken = uintptr_t(1) << 56;
constexpr size_t kTokenAlignment = 128;

void deleteAllocation(void *context);

class SpyreAllocator final : public c10::DeviceAllocator {
public:
  c10::DataPtr allocate(size_t bytes) override {
    auto allocation = std::make_unique<Allocation>();
    allocation->bytes = bytes;
    if (bytes > 0) {
      allocation->buffer = check(device()->allocate(bytes));
      std::lock_guard<std::mutex> lock(mutex);
      allocation->token = nextToken;
      nextToken += size_t(roundUp(int64_t(bytes), kTokenAlignment)) + kTokenAlignment;
      live.emplace(allocation->token, allocation.get());
      change(int64_t(allocation->buffer->bytes()));
    }
    void *pointer = reinterpret_cast<void *>(allocation->token);
    c10::Device where(c10::DeviceType::PrivateUse1, allocation->deviceIndex);
    return {pointer, allocation.release(), &deleteAllocation, where};
  }

  void release(Allocation *allocation) {
    std::unique_ptr<Allocation> owned(allocation);
    if (owned->buffer) {
      std::lock_guard<std::mutex> lock(mutex);
      live.erase(owned->token);
      change(-int64_t(owned->buffer->bytes()));
    }
  }

  const Allocation *find(uintptr_t address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto next = live.upper_bound(address);
    if (next == live.begin()) {
      return nullptr;
    }
    const Allocation *candidate = std::prev(next)->second;
    return address < candidate->token + candidate->bytes ? candidate : nullptr;
  }

  bool initialized() override { return deviceStarted(); }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr &, c10::Stream) override {}
  DeviceStats getDeviceStats(c10::DeviceIndex) override {
    std::lock_guard<std::mutex> lock(mutex);
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {
    std::lock_guard<std::mutex> lock(mutex);
    for (c10::CachingAllocator::StatArray *array : tracked()) {
      for (c10::CachingAllocator::Stat &stat : *array) {
        stat.reset_accumulated();
      }
    }
  }
  void resetPeakStats(c10::DeviceIndex) override {
    std::lock_guard<std::mutex> lock(mutex);
    for (c10::CachingAllocator::StatArray *array : tracked()) {
      for (c10::CachingAllocator::Stat &stat : *array) {
        stat.reset_peak();
      }
    }
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    size_t total = size_t(deviceDesc().ddrBytes);
    size_t used = deviceStarted() ? device()->memoryStats().allocatedBytes : 0;
    return {total - std::min(used, total), total};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void *, const void *, std::size_t) const override {
    raise(
        error<6512>("the bytes of a Spyre storage are device formats and cannot be copied as host "
                    "bytes; copy tensors instead (tensor.clone(), tensor.cpu())"));
  }

private:
  std::array<c10::CachingAllocator::StatArray *, 6> tracked() {
    return {&stats.allocation,   &stats.active,         &stats.allocated_bytes,
            &stats.active_bytes, &stats.reserved_bytes, &stats.requested_bytes};
  }
  void change(int64_t bytes) {
    auto update = [](c10::CachingAllocator::StatArray &array, int64_t amount) {
      auto &stat = array[size_t(c10::CachingAllocator::StatType::AGGREGATE)];
      amount >= 0 ? stat.increase(size_t(amount)) : stat.decrease(size_t(-amount));
    };
    int64_t one = bytes >= 0 ? 1 : -1;
    update(stats.allocation, one);
    update(stats.active, one);
    for (auto *array : {&stats.allocated_bytes, &stats.active_bytes, &stats.reserved_bytes,
                        &stats.requested_bytes}) {
      update(*array, bytes);
    }
  }

  std::mutex mutex;
  uintptr_t nextToken = kFirstToken;
  std::map<uintptr_t, Allocation *> live;
  DeviceStats stats;
};

SpyreAllocator &allocator() {
  static SpyreAllocator *instance = new SpyreAllocator();
  return *instance;
}

void deleteAllocation(void *context) { allocator().release(static_cast<Allocation *>(context)); }

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

} // namespace

c10::DeviceAllocator &deviceAllocator() { return allocator(); }

void registerAllocator() { c10::SetAllocator(c10::DeviceType::PrivateUse1, &allocator()); }

const Allocation *findAllocation(const void *pointer) {
  return allocator().find(reinterpret_cast<uintptr_t>(pointer));
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
  return allocationOf(tensor.storage()).buffer;
}

const StorageGeometry &geometryOf(const at::Tensor &tensor) {
  Allocation &allocation = allocationOf(tensor.storage());
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
  return makeStorage(internGeometry(std::move(geometry)), bytes, device);
}

c10::Storage makeStorage(const GeometryRef &geometry, size_t bytes, c10::Device device) {
  checkDeviceIndex(device.has_index() ? device.index() : 0);
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, &allocator(), /*resizable=*/true);
  allocationOf(storage).geometry = geometry;
  return storage;
}

at::Tensor makeTensor(c10::IntArrayRef size, c10::IntArrayRef stride, c10::ScalarType type,
                      c10::Device device, StorageGeometry geometry) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      makeStorage(std::move(geometry), type, device),
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
  return tensor;
}

at::Tensor makeDefaultTensor(c10::IntArrayRef size, c10::ScalarType type, c10::Device device) {
  return makePrepared(preparedDefault(size, type), device);
}

void replaceMemory(const c10::Storage &storage, StorageGeometry geometry, c10::ScalarType type) {
  size_t bytes = storageBytes(geometry, type);
  c10::StorageImpl *impl = storage.unsafeGetStorageImpl();
  impl->set_data_ptr_noswap(allocator().allocate(bytes));
  impl->set_nbytes(bytes);
  allocationOf(storage).geometry = internGeometry(std::move(geometry));
}

void resizeStorageBytes(const c10::Storage &storage, size_t bytes) {
  Allocation &old = allocationOf(storage);
  GeometryRef geometry = old.geometry;
  c10::DataPtr fresh = allocator().allocate(bytes);
  auto &allocation = *static_cast<Allocation *>(fresh.get_context());
  if (old.buffer && allocation.buffer) {
    uint64_t kept = std::min(old.buffer->bytes(), allocation.buffer->bytes());
    check(device()->copyOnDevice(old.buffer, allocation.buffer, kept));
  }
  allocation.geometry = geometry;
  c10::StorageImpl *impl = storage.unsafeGetStorageImpl();
  impl->set_data_ptr_noswap(std::move(fresh));
  impl->set_nbytes(bytes);
}

} // namespace spyre::plugin
