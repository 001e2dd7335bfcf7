//===- Copy.cpp - transfers -----------------------------------------------------------------===//
#include "Copy.h"

#include "spyre/Base/Log.h"
#include "spyre/Numerics/Ranges.h"
#include "spyre/Runtime/TensorTransfer.h"

#include "ATen/MemoryOverlap.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/zeros.h"
#include "ATen/record_function.h"
#include "DeviceCopy.h"
#include "Downcast.h"
#include "Elements.h"
#include "Errors.h"
#include "Guard.h"
#include "Memory.h"
#include "RuntimeState.h"
#include "Types.h"
#include "Waits.h"
#include "c10/util/Exception.h"
#include "fmt/ranges.h"

#include <cstring>

namespace spyre::plugin {

using numerics::DataFormat;
using numerics::HostType;

namespace {

constexpr size_t kStickBytes = 128;

layout::HostTensorRef hostRef(const at::Tensor &host, HostType type) {
  layout::HostTensorRef ref;
  ref.data = host.data_ptr();
  ref.type = type;
  ref.size = toVector(host.sizes());
  ref.stride = toVector(host.strides());
  return ref;
}

/// Memory of the host an operation reads or writes after its call may have returned.
using HostMemory = std::shared_ptr<const void>;

HostMemory keep(const at::Tensor &host) {
  return std::make_shared<const c10::Storage>(host.storage());
}

enum class Wait { No, Yes };

void enqueue(const at::Tensor &tensor, runtime::Operation operation, Wait wait) {
  const c10::DeviceIndex index = tensor.device().index();
  if (wait == Wait::Yes) {
    noteWait(operation.engine == runtime::Engine::HostToDevice ? "copy to the device"
                                                               : "copy to the host");
  }
  // Who waits is told at once; the stream need not remember it.
  operation.isErrorLocal = wait == Wait::Yes;
  runtime::Streams &streams = device(index)->streams();
  check(wait == Wait::Yes ? streams.run(currentStream(index), std::move(operation))
                          : streams.submit(currentStream(index), std::move(operation)));
}

/// Poison that is known already is an error of the call that would read it, unless work that is
/// queued writes the tensor anew.
void checkContents(const at::Tensor &tensor) {
  const runtime::BufferRef &buffer = bufferOf(tensor);
  if (buffer && buffer->isPoisoned()) {
    const c10::DeviceIndex index = tensor.device().index();
    check(device(index)->streams().finish(currentStream(index)));
    if (const runtime::FaultRef fault = buffer->fault()) {
      raise(fault->report());
    }
  }
}

void logCopy(const char *direction, const layout::HostTensorRef &host,
             const layout::DeviceLayout &layout) {
  if (logLevel() >= LogLevel::Debug) {
    log(LogLevel::Debug, "execution", "{} bytes={} size=[{}] layout={}", direction, layout.bytes(),
        fmt::join(host.size, ","), layout.toTuple());
  }
}

/// The whole storage of \p tensor, in \p layout, from and to \p host.
void upload(const layout::HostTensorRef &host, const at::Tensor &tensor,
            const layout::DeviceLayout &layout, HostMemory memory, Wait wait) {
  RECORD_FUNCTION("launch::H2D", c10::ArrayRef<const c10::IValue>{});
  logCopy("h2d", host, layout);
  runtime::Operation operation;
  operation.name = "launch::H2D";
  operation.engine = runtime::Engine::HostToDevice;
  operation.references = {std::move(memory)};
  operation.target = bufferOf(tensor);
  operation.body = [host, layout, buffer = bufferOf(tensor),
                    stride = geometryOf(tensor).stride](runtime::OperationContext &) {
    return runtime::uploadTensor(buffer, layout, stride, host);
  };
  hostCounters().h2dBytes += uint64_t(layout.bytes());
  enqueue(tensor, std::move(operation), wait);
}

void download(const at::Tensor &tensor, const layout::DeviceLayout &layout,
              const layout::HostTensorRef &host, HostMemory memory, Wait wait) {
  RECORD_FUNCTION("launch::D2H", c10::ArrayRef<const c10::IValue>{});
  logCopy("d2h", host, layout);
  checkContents(tensor);
  runtime::Operation operation;
  operation.name = "launch::D2H";
  operation.engine = runtime::Engine::DeviceToHost;
  operation.references = {std::move(memory)};
  operation.body = [host, layout, buffer = bufferOf(tensor),
                    stride = geometryOf(tensor).stride](runtime::OperationContext &) {
    return runtime::downloadTensor(buffer, layout, stride, host);
  };
  hostCounters().d2hBytes += uint64_t(layout.bytes());
  enqueue(tensor, std::move(operation), wait);
}

layout::DeviceLayout rawLayout(const StorageGeometry &geometry, const RawType &raw) {
  layout::DeviceLayout layout = geometry.layout;
  layout.format = raw.format;
  return layout;
}

void storeRawImage(const at::Tensor &tensor, const at::Tensor &image) {
  const StorageGeometry &geometry = geometryOf(tensor);
  const RawType raw = rawTypeOf(geometry.layout.format);
  at::Tensor whole = image.as_strided(geometry.size, geometry.stride);
  // The image is nobody else's: it may wait for the device, its owner need not.
  upload(hostRef(whole, raw.host), tensor, rawLayout(geometry, raw), keep(image), Wait::No);
}

bool isDl16Value(c10::ScalarType type) {
  return type == c10::ScalarType::Half || type == c10::ScalarType::BFloat16;
}

} // namespace

bool coversStorage(const at::Tensor &tensor) {
  const StorageGeometry &geometry = geometryOf(tensor);
  return tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
         tensor.numel() == hostExtent(geometry.size, geometry.stride);
}

namespace {

/// Device bits of host values, row-major.
at::Tensor bitsOfValues(const at::Tensor &host, c10::ScalarType type, DataFormat format) {
  const RawType raw = rawTypeOf(format);
  at::Tensor bits = at::empty(host.sizes(), raw.scalar);
  if (isDl16Value(type) && host.scalar_type() != type) {
    // One rounding, straight to the device format.
    at::Tensor values = host.to(c10::ScalarType::Float).contiguous();
    if (format == numerics::deviceFormat(requireHostType(type))) {
      numerics::floatsToElements(requireHostType(type), values.const_data_ptr<float>(),
                                 static_cast<uint16_t *>(bits.data_ptr()), bits.numel());
    } else {
      numerics::floatToDevice(format, values.const_data_ptr<float>(), bits.data_ptr(),
                              bits.numel());
    }
    return bits;
  }
  const at::Tensor values = host.to(type).contiguous();
  check(checkDowncast(values, values));
  numerics::convertHostToDevice(requireHostType(type), values.const_data_ptr(), bits.data_ptr(),
                                bits.numel());
  return bits;
}

} // namespace

at::Tensor deviceBits(const at::Tensor &host, const at::Tensor &tensor) {
  return bitsOfValues(host, tensor.scalar_type(), geometryOf(tensor).layout.format);
}

namespace {

/// Values of device bits as \p target, without a detour over fp16 when target is wider.
at::Tensor valuesOfBits(const at::Tensor &bits, c10::ScalarType type, DataFormat format,
                        c10::ScalarType target) {
  at::Tensor dense = bits.contiguous();
  if (isDl16Value(type) && target != type) {
    at::Tensor values = at::empty(bits.sizes(), c10::ScalarType::Float);
    numerics::deviceToFloat(format, dense.const_data_ptr(), values.data_ptr<float>(),
                            values.numel());
    return values.to(target);
  }
  at::Tensor values = at::empty(bits.sizes(), type);
  numerics::convertDeviceToHost(requireHostType(type), dense.const_data_ptr(), values.data_ptr(),
                                values.numel());
  return values.to(target);
}

/// The plain bits mean the same number in both types.
bool sameBits(const at::Tensor &from, const at::Tensor &to) {
  if (geometryOf(from).layout.format != geometryOf(to).layout.format) {
    return false;
  }
  return from.scalar_type() == to.scalar_type() ||
         (isDl16Value(from.scalar_type()) && isDl16Value(to.scalar_type()));
}

} // namespace

at::Tensor rawImage(const at::Tensor &tensor) {
  const StorageGeometry &geometry = geometryOf(tensor);
  const RawType raw = rawTypeOf(geometry.layout.format);
  at::Tensor image = at::empty({hostExtent(geometry.size, geometry.stride)}, raw.scalar);
  at::Tensor whole = image.as_strided(geometry.size, geometry.stride);
  download(tensor, rawLayout(geometry, raw), hostRef(whole, raw.host), nullptr, Wait::Yes);
  return image;
}

at::Tensor viewOfImage(const at::Tensor &image, const at::Tensor &tensor) {
  return image.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

namespace {

/// Bits of the elements alone, from the sticks that hold them.
at::Tensor readElements(const at::Tensor &tensor, const ElementPlaces &places) {
  RECORD_FUNCTION("launch::D2H", c10::ArrayRef<const c10::IValue>{});
  const StorageGeometry &geometry = geometryOf(tensor);
  std::vector<uint8_t> data(places.sticks.size() * kStickBytes);
  runtime::Operation operation;
  operation.name = "launch::D2H";
  operation.engine = runtime::Engine::DeviceToHost;
  operation.body = [&, buffer = bufferOf(tensor)](runtime::OperationContext &) {
    return runtime::downloadSticks(buffer, geometry.layout, geometry.size, geometry.stride,
                                   places.sticks, data.data());
  };
  hostCounters().d2hBytes += data.size();
  enqueue(tensor, std::move(operation), Wait::Yes);
  at::Tensor bits = at::empty(tensor.sizes(), rawTypeOf(geometry.layout.format).scalar);
  const auto width = size_t(bits.element_size());
  auto *to = static_cast<uint8_t *>(bits.data_ptr());
  for (size_t i = 0; i < places.bytes.size(); ++i) {
    std::memcpy(to + i * width, data.data() + places.bytes[i], width);
  }
  return bits;
}

void writeElements(const at::Tensor &tensor, const at::Tensor &given, ElementPlaces places) {
  RECORD_FUNCTION("launch::H2D", c10::ArrayRef<const c10::IValue>{});
  const StorageGeometry &geometry = geometryOf(tensor);
  const at::Tensor bits = given.expand(tensor.sizes()).contiguous();
  hostCounters().d2hBytes += places.sticks.size() * kStickBytes;
  hostCounters().h2dBytes += places.sticks.size() * kStickBytes;
  runtime::Operation operation;
  operation.name = "launch::H2D";
  operation.engine = runtime::Engine::HostToDevice;
  operation.references = {keep(bits)};
  operation.target = bufferOf(tensor);
  operation.body = [buffer = bufferOf(tensor), layout = geometry.layout, size = geometry.size,
                    stride = geometry.stride, places = std::move(places),
                    from = static_cast<const uint8_t *>(bits.const_data_ptr()),
                    width = size_t(bits.element_size())](runtime::OperationContext &) {
    return runtime::changeSticks(buffer, layout, size, stride, places.sticks, [&](uint8_t *data) {
      for (size_t i = 0; i < places.bytes.size(); ++i) {
        std::memcpy(data + places.bytes[i], from + i * width, width);
      }
    });
  };
  enqueue(tensor, std::move(operation), Wait::No);
}

/// Bits of the tensor's elements.
at::Tensor viewBits(const at::Tensor &tensor) {
  if (const std::optional<ElementPlaces> places = placesIfFewer(tensor)) {
    return readElements(tensor, *places);
  }
  return viewOfImage(rawImage(tensor), tensor);
}

} // namespace

void storeBits(const at::Tensor &tensor, const at::Tensor &bits) {
  if (std::optional<ElementPlaces> places = placesIfFewer(tensor)) {
    writeElements(tensor, bits, *std::move(places));
    return;
  }
  const StorageGeometry &geometry = geometryOf(tensor);
  at::Tensor image = coversStorage(tensor)
                         ? at::empty({hostExtent(geometry.size, geometry.stride)}, bits.options())
                         : rawImage(tensor);
  viewOfImage(image, tensor).copy_(bits);
  storeRawImage(tensor, image);
}

at::Tensor hostImage(const at::Tensor &tensor) {
  const StorageGeometry &geometry = geometryOf(tensor);
  if (geometry.layout.bytes() == 0) {
    return at::empty({0}, tensor.scalar_type());
  }
  return valuesOfBits(rawImage(tensor), tensor.scalar_type(), geometry.layout.format,
                      tensor.scalar_type());
}

namespace {

/// The host tensor as the storage of \p tensor has its elements; nothing when they differ by more
/// than a view that shows all of them (a transpose, a reshape) and is the same on both sides.
std::optional<at::Tensor> asStorage(const at::Tensor &host, const at::Tensor &tensor) {
  if (isWholeStorage(tensor)) {
    return host;
  }
  const StorageGeometry &geometry = geometryOf(tensor);
  if (!coversStorage(tensor) || host.strides() != tensor.strides() ||
      c10::multiply_integers(geometry.size) != tensor.numel()) {
    return std::nullopt;
  }
  return host.as_strided(geometry.size, geometry.stride, host.storage_offset());
}

} // namespace

void copyToDevice(const at::Tensor &given, const at::Tensor &tensor, bool nonBlocking) {
  const StorageGeometry &geometry = geometryOf(tensor);
  const HostType type = requireHostType(tensor.scalar_type());
  const std::optional<at::Tensor> whole = asStorage(given, tensor);
  if (whole && given.scalar_type() == tensor.scalar_type() &&
      geometry.layout.format == numerics::deviceFormat(type)) {
    const at::Tensor &host = *whole;
    at::Tensor source = host.is_non_overlapping_and_dense() ? host : host.contiguous();
    check(checkDowncast(source, given));
    // Pageable memory may be changed as soon as the call returns: the device reads a copy.
    if (nonBlocking && source.is_same(host) && !host.is_pinned()) {
      source = host.clone();
    }
    const bool mayWait = nonBlocking || !source.is_same(host);
    upload(hostRef(source, type), tensor, geometry.layout, keep(source),
           mayWait ? Wait::No : Wait::Yes);
    return;
  }
  storeBits(tensor, bitsOfValues(given, tensor.scalar_type(), geometry.layout.format));
}

void copyToHost(const at::Tensor &tensor, const at::Tensor &given, bool nonBlocking) {
  const StorageGeometry &geometry = geometryOf(tensor);
  const HostType type = requireHostType(tensor.scalar_type());
  const std::optional<at::Tensor> whole = asStorage(given, tensor);
  if (whole && given.scalar_type() == tensor.scalar_type() &&
      whole->is_non_overlapping_and_dense() &&
      geometry.layout.format == numerics::deviceFormat(type)) {
    // Only pinned memory may be filled later: who has it knows that it must wait.
    const at::Tensor &host = *whole;
    const bool mayWait = nonBlocking && host.is_pinned();
    download(tensor, geometry.layout, hostRef(host, type), keep(host),
             mayWait ? Wait::No : Wait::Yes);
    return;
  }
  const at::Tensor bits = viewBits(tensor);
  given.copy_(
      valuesOfBits(bits, tensor.scalar_type(), geometry.layout.format, given.scalar_type()));
}

void copyOnDevice(const at::Tensor &from, const at::Tensor &to) {
  // Cards have no way to each other but the host.
  const bool isPlain = from.device() == to.device() && sameBits(from, to) && isWholeStorage(from) &&
                       isWholeStorage(to) && geometryOf(from) == geometryOf(to);
  if (!isPlain && copyByProgram(from, to)) {
    return;
  }
  if (!sameBits(from, to)) {
    const at::Tensor bits = viewBits(from);
    copyToDevice(
        valuesOfBits(bits, from.scalar_type(), geometryOf(from).layout.format, to.scalar_type()),
        to);
    return;
  }
  if (isPlain) {
    const auto bytes = uint64_t(geometryOf(from).layout.bytes());
    checkContents(from);
    runtime::Operation operation;
    operation.name = "launch::D2D";
    operation.engine = runtime::Engine::OnDevice;
    operation.target = bufferOf(to);
    operation.body = [source = bufferOf(from), target = bufferOf(to),
                      bytes](runtime::OperationContext &context) {
      return context.device.copyOnDevice(source, target, bytes);
    };
    enqueue(from, std::move(operation), Wait::No);
    hostCounters().d2dBytes += bytes;
    return;
  }
  storeBits(to, viewBits(from).contiguous());
}

void copyTensor(const at::Tensor &source, const at::Tensor &destination, bool nonBlocking) {
  if (destination.numel() == 0) {
    return;
  }
  at::assert_no_internal_overlap(destination);
  at::Tensor from =
      source.sizes() == destination.sizes() ? source : source.expand(destination.sizes());
  if (isSpyre(from) && isSpyre(destination)) {
    copyOnDevice(from, destination);
  } else if (isSpyre(from) && destination.is_cpu()) {
    copyToHost(from, destination, nonBlocking);
  } else if (from.is_cpu() && isSpyre(destination)) {
    copyToDevice(from, destination, nonBlocking);
  } else {
    raise(error<6505>("a copy from {} to {} is not possible; go through the CPU",
                      source.device().str(), destination.device().str()));
  }
}

at::Tensor canonical(const at::Tensor &tensor) {
  at::Tensor plain = makeDefaultTensor(tensor.sizes(), tensor.scalar_type(), tensor.device());
  if (tensor.numel() == 0 || (isWholeStorage(tensor) && geometryOf(tensor) == geometryOf(plain))) {
    return tensor;
  }
  copyOnDevice(tensor, plain);
  return plain;
}

at::Tensor toHost(const at::Tensor &tensor) {
  at::Tensor host = at::empty(tensor.sizes(), tensor.options().device(c10::DeviceType::CPU));
  if (tensor.numel() > 0) {
    copyToHost(tensor, host);
  }
  return host;
}

} // namespace spyre::plugin
