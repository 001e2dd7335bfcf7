//===- Serialization.cpp - storages as host bytes -------------------------------------------===//
#include "Serialization.h"

#include "spyre/Base/Math.h"
#include "spyre/Layout/Coordinates.h"

#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "Copy.h"
#include "Errors.h"
#include "Memory.h"
#include "Prepared.h"
#include "RuntimeState.h"
#include "Types.h"
#include "fmt/ranges.h"
#include "torch/csrc/jit/serialization/pickler_helper.h"
#include "torch/library.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <string_view>

namespace spyre::plugin {

namespace {

using Sizes = std::vector<int64_t>;

/// "spyre_layout_1;SIZE;STRIDE;TUPLE": host size and strides of the storage, then the layout.
constexpr std::string_view kKey = "spyre_layout_1;";

/// A tensor over all elements of a storage of ours, with the type it was made for.
at::Tensor wholeTensor(const c10::Storage &storage) {
  Allocation &allocation = allocationOf(storage);
  if (!allocation.type) {
    raise(error<6550>("the storage on {} was made as bytes, and a Spyre storage has no bytes to "
                      "copy; make a tensor with a dtype and copy that",
                      storage.device().str()));
  }
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(*allocation.type));
  const StorageGeometry &geometry = geometryOf(tensor);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(geometry.size, geometry.stride);
  return tensor;
}

/// The waiting bytes as elements.
at::Tensor hostElements(const Allocation &allocation, c10::ScalarType type) {
  at::Tensor host = at::empty({0}, type);
  const int64_t count = int64_t(allocation.hostBytes.nbytes() / c10::elementSize(type));
  return host.set_(allocation.hostBytes, 0, {count}, {1});
}

bool isEmptyStorage(const c10::Storage &storage) { return storage.nbytes() == 0; }

std::string keyOf(const StorageGeometry &geometry) {
  return fmt::format("{}{};{};{}", kKey, fmt::join(geometry.size, ","),
                     fmt::join(geometry.stride, ","), geometry.layout.toTuple());
}

Expected<Sizes> parseSizes(std::string_view text) {
  Sizes sizes;
  while (!text.empty()) {
    int64_t value = 0;
    auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    const size_t used = size_t(end - text.data());
    if (fault != std::errc() || value < 0 || (used < text.size() && text[used] != ',')) {
      return error<6551>("'{}' is not a list of sizes; the file is damaged, save the model again",
                         text);
    }
    sizes.push_back(value);
    text.remove_prefix(std::min(used + 1, text.size()));
  }
  return sizes;
}

Expected<StorageGeometry> parseKey(std::string_view text) {
  text.remove_prefix(kKey.size());
  const size_t first = text.find(';');
  const size_t second = first == text.npos ? first : text.find(';', first + 1);
  if (second == text.npos) {
    return error<6551>("the layout '{}' has fewer than three parts; the file is damaged, save the "
                       "model again",
                       text);
  }
  StorageGeometry geometry;
  SPYRE_ASSIGN_OR_RETURN(geometry.size, parseSizes(text.substr(0, first)));
  SPYRE_ASSIGN_OR_RETURN(geometry.stride, parseSizes(text.substr(first + 1, second - first - 1)));
  SPYRE_ASSIGN_OR_RETURN(geometry.layout,
                         layout::DeviceLayout::fromTuple(std::string(text.substr(second + 1))));
  SPYRE_RETURN_IF_ERROR(geometry.layout.verify());
  SPYRE_RETURN_IF_ERROR(
      layout::CoordinateMap::make(geometry.layout, geometry.size, geometry.stride).status());
  return geometry;
}

/// The storage can be told apart in no other way: same element count, same format.
Status checkFits(const StorageGeometry &geometry, const at::Tensor &tensor, int64_t present) {
  const int64_t needed = hostExtent(geometry.size, geometry.stride);
  const int64_t seen = tensor.numel() == 0
                           ? 0
                           : tensor.storage_offset() + hostExtent(tensor.sizes(), tensor.strides());
  const bool sameFormat =
      geometry.layout.format == numerics::deviceFormat(requireHostType(tensor.scalar_type()));
  if (needed > present || seen > needed || !sameFormat) {
    return error<6551>("a layout for {} elements of {} does not describe a storage of {} elements "
                       "of {}; the file is damaged, save the model again",
                       needed, numerics::formatName(geometry.layout.format), present,
                       c10::toString(tensor.scalar_type()));
  }
  return Status::success();
}

void writeMetadata(const at::Tensor &tensor, std::unordered_map<std::string, bool> &metadata) {
  if (!isEmptyStorage(tensor.storage())) {
    metadata[keyOf(geometryOf(tensor))] = true;
  }
}

void readMetadata(const at::Tensor &tensor, std::unordered_map<std::string, bool> &metadata) {
  for (const auto &[key, value] : metadata) {
    if (key.rfind(kKey, 0) != 0 || !value || isEmptyStorage(tensor.storage())) {
      continue;
    }
    const StorageGeometry geometry = check(parseKey(key));
    Allocation &allocation = allocationOf(tensor.storage());
    if (allocation.waiting) {
      const int64_t present =
          int64_t(allocation.hostBytes.nbytes() / c10::elementSize(tensor.scalar_type()));
      check(checkFits(geometry, tensor, present));
      allocation.type = tensor.scalar_type();
      allocation.geometry = internGeometry(geometry);
      sendWaiting(tensor);
    } else {
      const StorageGeometry &old = geometryOf(tensor);
      check(checkFits(geometry, tensor, hostExtent(old.size, old.stride)));
      moveToGeometry(tensor, geometry);
    }
  }
}

/// Whether a copy in this memory format has the strides of its source.
bool keepsStrides(const at::Tensor &self, c10::MemoryFormat format) {
  return format == c10::MemoryFormat::Preserve
             ? self.is_non_overlapping_and_dense()
             : format == c10::MemoryFormat::Contiguous &&
                   self.strides() == c10::IntArrayRef(rowMajorStrides(toVector(self.sizes())));
}

/// A copy lies on the device as its source does, which torch's own clone cannot know.
at::Tensor clone(const at::Tensor &self, std::optional<c10::MemoryFormat> given) {
  const c10::MemoryFormat format = given.value_or(c10::MemoryFormat::Preserve);
  const bool liesAlike = keepsStrides(self, format) && self.numel() > 0 && isWholeStorage(self);
  const at::Tensor result = liesAlike ? makeTensor(self.sizes(), self.strides(), self.scalar_type(),
                                                   self.device(), geometryOf(self))
                                      : at::empty_like(self, self.options(), format);
  copyTensor(self, result);
  return result;
}

} // namespace

void moveToGeometry(const at::Tensor &tensor, const StorageGeometry &geometry) {
  const StorageGeometry old = geometryOf(tensor);
  if (old == geometry) {
    return;
  }
  const at::Tensor image = rawImage(tensor);
  const int64_t elements = hostExtent(geometry.size, geometry.stride);
  replaceMemory(tensor.storage(), geometry, tensor.scalar_type());
  storeBits(wholeTensor(tensor.storage()),
            image.narrow(0, 0, elements).as_strided(geometry.size, geometry.stride));
}

void copyToHostStorage(const c10::Storage &storage, const c10::Storage &host) {
  if (host.device_type() != c10::DeviceType::CPU || host.nbytes() < storage.nbytes()) {
    raise(error<6550>("the values of a Spyre storage of {} bytes do not fit {} bytes on {}; use "
                      "tensor.cpu()",
                      storage.nbytes(), host.nbytes(), host.device().str()));
  }
  std::memset(host.mutable_data(), 0, host.nbytes());
  if (isEmptyStorage(storage)) {
    return;
  }
  const at::Tensor image = hostImage(wholeTensor(storage));
  std::memcpy(host.mutable_data(), image.const_data_ptr(), std::min(image.nbytes(), host.nbytes()));
}

c10::Storage hostStorageOf(const c10::Storage &storage) {
  at::Tensor bytes = at::empty({int64_t(storage.nbytes())}, c10::ScalarType::Byte);
  copyToHostStorage(storage, bytes.storage());
  return bytes.storage();
}

c10::Storage cloneStorage(const c10::Storage &storage) {
  if (isEmptyStorage(storage)) {
    return makeStorage(makeGeometry({0}, {1}, c10::ScalarType::Half), c10::ScalarType::Half,
                       storage.device());
  }
  const at::Tensor from = wholeTensor(storage);
  const at::Tensor to =
      makeTensor(from.sizes(), from.strides(), from.scalar_type(), from.device(), geometryOf(from));
  copyTensor(from, to);
  return to.storage();
}

void chooseGeometry(const at::Tensor &tensor) {
  Allocation &allocation = allocationOf(tensor.storage());
  const c10::ScalarType type = tensor.scalar_type();
  const int64_t count = int64_t(allocation.hostBytes.nbytes() / c10::elementSize(type));
  // A tensor that is the whole storage gets the layout it would have been made with.
  const bool whole = tensor.storage_offset() == 0 && tensor.numel() == count &&
                     tensor.is_non_overlapping_and_dense();
  StorageGeometry geometry = whole ? makeGeometry(tensor.sizes(), tensor.strides(), type)
                                   : makeGeometry({count}, {1}, type);
  allocation.type = type;
  allocation.geometry = internGeometry(std::move(geometry));
}

void sendIfWhole(const at::Tensor &tensor) {
  const Allocation &allocation = allocationOf(tensor.storage());
  if (allocation.waiting && tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
      tensor.nbytes() == allocation.hostBytes.nbytes()) {
    sendWaiting(tensor);
  }
}

void sendWaiting(const at::Tensor &tensor) {
  // Recursive: sending asks for the buffer. Other threads wait until the bytes are there.
  static std::recursive_mutex mutex;
  std::lock_guard<std::recursive_mutex> lock(mutex);
  const c10::Storage &storage = tensor.storage();
  Allocation &allocation = allocationOf(storage);
  if (!allocation.waiting || allocation.buffer) {
    return;
  }
  geometryOf(tensor);
  const at::Tensor host = hostElements(allocation, *allocation.type);
  allocateWaiting(storage);
  const StorageGeometry &geometry = *allocation.geometry;
  const at::Tensor whole = wholeTensor(storage);
  if (whole.numel() > 0) {
    copyToDevice(host.as_strided(geometry.size, geometry.stride), whole);
  }
  allocation.waiting = false;
  allocation.hostBytes = c10::Storage();
}

void registerSerialization() {
  torch::jit::TensorBackendMetaRegistry(c10::DeviceType::PrivateUse1, &writeMetadata,
                                        &readMetadata);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("clone", clone); }

} // namespace spyre::plugin
