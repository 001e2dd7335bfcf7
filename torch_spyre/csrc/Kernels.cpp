//===- Kernels.cpp - operations every torch program needs before any arithmetic -------------===//
//
// Factories, copies, views and storage surgery, registered for PrivateUse1. Views are torch's own
// functions: the layout belongs to the storage, so a view is metadata only; one that was given
// another layout by name keeps it.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"

#include "ATen/Context.h"
#include "ATen/ops/_local_scalar_dense_native.h"
#include "ATen/ops/_reshape_alias_native.h"
#include "ATen/ops/alias_native.h"
#include "ATen/ops/as_strided_native.h"
#include "ATen/ops/is_set_to_native.h"
#include "ATen/ops/unfold_native.h"
#include "ATen/ops/view_native.h"
#include "Copy.h"
#include "Errors.h"
#include "Fill.h"
#include "Guard.h"
#include "Memory.h"
#include "Serialization.h"
#include "SpyreTensorImpl.h"
#include "Types.h"
#include "torch/library.h"

#include <algorithm>
#include <limits>

namespace spyre::plugin {

namespace {

c10::ScalarType dtypeOrDefault(std::optional<c10::ScalarType> dtype) {
  return dtype ? *dtype : c10::get_default_dtype_as_scalartype();
}

void checkOptions(std::optional<c10::Layout> layout, std::optional<bool> pinMemory) {
  if (layout && *layout != c10::Layout::Strided) {
    raise(error<6503>("Spyre backend only supports strided tensors; make the tensor on the CPU"));
  }
  if (pinMemory && *pinMemory) {
    raise(error<6503>("Pin memory can only be on CPU; leave pin_memory out for a Spyre tensor"));
  }
}

void checkMemoryFormat(std::optional<c10::MemoryFormat> format) {
  if (format && *format != c10::MemoryFormat::Contiguous &&
      *format != c10::MemoryFormat::Preserve) {
    std::ostringstream name;
    name << *format;
    raise(
        error<6503>("Spyre backend only supports contiguous memory format, got: {}; device_layout= "
                    "chooses how a tensor lies on the device",
                    name.str()));
  }
}

void checkSizes(c10::IntArrayRef size) {
  for (int64_t extent : size) {
    TORCH_CHECK(extent >= 0, "Trying to create tensor with negative dimension ", extent, ": ",
                size);
  }
}

/// Largest value of an integer tensor on the device, where 64 bits are 32.
int64_t largest(const at::Tensor &tensor) {
  constexpr int64_t kMostBytes = 4;
  const int64_t bits = 8 * std::min<int64_t>(tensor.element_size(), kMostBytes);
  return (int64_t(1) << (tensor.scalar_type() == c10::ScalarType::Byte ? bits : bits - 1)) - 1;
}

/// With torch.use_deterministic_algorithms(True) nobody shall depend on what memory held.
at::Tensor unfilled(at::Tensor tensor) {
  const at::Context &context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
      [[unlikely]] {
    if (tensor.is_floating_point()) {
      tensor.fill_(std::numeric_limits<double>::quiet_NaN());
    } else {
      tensor.fill_(tensor.scalar_type() == c10::ScalarType::Bool ? 1 : largest(tensor));
    }
  }
  return tensor;
}

at::Tensor empty(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
                 std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                 std::optional<bool> pinMemory, std::optional<c10::MemoryFormat> format) {
  checkOptions(layout, pinMemory);
  checkMemoryFormat(format);
  checkSizes(size);
  const c10::ScalarType type = dtypeOrDefault(dtype);
  if (type == c10::ScalarType::Byte && c10::multiply_integers(size) == 0) {
    // Torch's batch norm reserves no bytes on every device; nothing is as good in one type as in
    // another.
    const std::vector<int64_t> stride = rowMajorStrides(toVector(size));
    return makeTensor(size, stride, type, withIndex(device),
                      makeGeometry(size, stride, c10::ScalarType::Char));
  }
  return unfilled(makeDefaultTensor(size, type, withIndex(device)));
}

at::Tensor emptyStrided(c10::IntArrayRef size, c10::IntArrayRef stride,
                        std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
                        std::optional<c10::Device> device, std::optional<bool> pinMemory) {
  checkOptions(layout, pinMemory);
  checkSizes(size);
  TORCH_CHECK(size.size() == stride.size(), "mismatch in length of strides and shape");
  c10::ScalarType type = dtypeOrDefault(dtype);
  return unfilled(
      makeTensor(size, stride, type, withIndex(device), makeGeometry(size, stride, type)));
}

at::Tensor copyFrom(const at::Tensor &self, const at::Tensor &dst, bool nonBlocking) {
  copyTensor(self, dst, nonBlocking);
  return dst;
}

at::Tensor copyFromAndResize(const at::Tensor &self, const at::Tensor &dst) {
  if (self.sizes() != dst.sizes()) {
    dst.resize_(self.sizes());
  }
  copyTensor(self, dst);
  return dst;
}

/// Host elements the storage holds; torch's own check counts the padding too.
void checkBounds(const at::Tensor &self, c10::IntArrayRef size, c10::IntArrayRef stride,
                 int64_t offset) {
  const StorageGeometry &geometry = geometryOf(self);
  int64_t needed = hostExtent(size, stride);
  int64_t present = hostExtent(geometry.size, geometry.stride);
  if (needed > 0 && offset + needed > present) {
    raise(error<6511>(
        "a view with sizes [{}] needs elements {} to {} of a storage of {}; give sizes, "
        "strides and offset that stay inside",
        fmt::join(size, ", "), offset, offset + needed - 1, present));
  }
}

at::Tensor asStrided(const at::Tensor &self, c10::IntArrayRef size, c10::IntArrayRef stride,
                     std::optional<int64_t> offset) {
  TORCH_CHECK(size.size() == stride.size(), "mismatch in length of strides and shape");
  checkBounds(self, size, stride, offset.value_or(self.storage_offset()));
  return keepLayout(self, at::native::as_strided_tensorimpl(self, size, stride, offset));
}

at::Tensor view(const at::Tensor &self, c10::IntArrayRef size) {
  return keepLayout(self, at::native::view(self, size));
}

at::Tensor alias(const at::Tensor &self) { return keepLayout(self, at::native::alias(self)); }

at::Tensor reshapeAlias(const at::Tensor &self, c10::IntArrayRef size, c10::IntArrayRef stride) {
  return keepLayout(self, at::native::_reshape_alias(self, size, stride));
}

at::Tensor unfold(const at::Tensor &self, int64_t dim, int64_t size, int64_t step) {
  return keepLayout(self, at::native::unfold(self, dim, size, step));
}

at::Tensor viewDtype(const at::Tensor &self, c10::ScalarType dtype) {
  if (dtype != self.scalar_type()) {
    raise(error<6504>("view(dtype) from {} to {} would show device bytes, not host bytes; use "
                      "tensor.to(dtype), or view on the CPU",
                      c10::toString(self.scalar_type()), c10::toString(dtype)));
  }
  return keepLayout(self, at::native::as_strided_tensorimpl(self, self.sizes(), self.strides(),
                                                            self.storage_offset()));
}

/// Order of elements is kept as on the CPU; the storage only grows.
const at::Tensor &resize(const at::Tensor &self, c10::IntArrayRef size,
                         std::optional<c10::MemoryFormat> format) {
  checkSizes(size);
  if (self.sizes() == size && self.is_contiguous()) {
    return self;
  }
  checkMemoryFormat(format);
  TORCH_CHECK(!format || *format != c10::MemoryFormat::Preserve, "Unsupported memory format",
              *format);
  const StorageGeometry old = geometryOf(self);
  const std::vector<int64_t> stride = rowMajorStrides(toVector(size));
  const int64_t offset = self.storage_offset();
  const int64_t needed = offset + hostExtent(size, stride);
  const int64_t present = hostExtent(old.size, old.stride);
  c10::TensorImpl *impl = self.unsafeGetTensorImpl();
  if (needed > present) {
    const at::Tensor bits = present > 0 ? rawImage(self) : at::Tensor();
    StorageGeometry grown = offset == 0 ? makeGeometry(size, stride, self.scalar_type())
                                        : makeGeometry({needed}, {1}, self.scalar_type());
    replaceMemory(self.storage(), grown, self.scalar_type());
    if (bits.defined()) {
      impl->set_sizes_and_strides(c10::IntArrayRef{present}, c10::IntArrayRef{1}, 0);
      storeBits(self, bits);
    }
  }
  impl->set_sizes_and_strides(size, stride, offset);
  return self;
}

at::Tensor &setStorageOffset(at::Tensor &self, at::Storage source, int64_t offset,
                             c10::IntArrayRef size, c10::IntArrayRef stride) {
  TORCH_CHECK(self.device() == source.device(),
              "Attempted to set the storage of a tensor on device \"", self.device(),
              "\" to a storage on different device \"", source.device(), "\"");
  TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  std::vector<int64_t> strides =
      stride.size() == size.size() ? toVector(stride) : rowMajorStrides(toVector(size));
  at::Tensor probe =
      at::detail::make_tensor<c10::TensorImpl>(c10::Storage(source), self.key_set(), self.dtype());
  probe.unsafeGetTensorImpl()->set_sizes_and_strides(size, strides, offset);
  checkBounds(probe, size, strides, offset);
  sendIfWhole(probe);
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(source));
  self.unsafeGetTensorImpl()->set_sizes_and_strides(size, strides, offset);
  return self;
}

at::Tensor &setStorage(at::Tensor &self, at::Storage source) {
  at::Tensor probe =
      at::detail::make_tensor<c10::TensorImpl>(c10::Storage(source), self.key_set(), self.dtype());
  const StorageGeometry &geometry = geometryOf(probe);
  return setStorageOffset(self, source, 0, {hostExtent(geometry.size, geometry.stride)}, {1});
}

at::Tensor &setTensor(at::Tensor &self, const at::Tensor &source) {
  if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) {
    return self;
  }
  return setStorageOffset(self, source.storage(), source.storage_offset(), source.sizes(),
                          source.strides());
}

at::Tensor &setEmpty(at::Tensor &self) {
  c10::ScalarType type = self.scalar_type();
  return setStorageOffset(self, makeStorage(makeGeometry({0}, {1}, type), type, self.device()), 0,
                          {0}, {1});
}

at::Scalar localScalar(const at::Tensor &self) {
  return at::native::_local_scalar_dense_cpu(toHost(self));
}

at::Tensor &fillScalar(at::Tensor &self, const at::Scalar &value) {
  fillWithScalar(self, value);
  return self;
}

at::Tensor &fillTensor(at::Tensor &self, const at::Tensor &value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
              value.dim(), " dimensions.");
  return fillScalar(self, value.item());
}

at::Tensor &zero(at::Tensor &self) { return fillScalar(self, 0); }

void recordStream(at::Tensor &self, c10::Stream stream) {
  deviceAllocator().recordStream(self.storage().data_ptr(), stream);
}

bool hasCompatibleShallowCopyType(const at::Tensor &self, const at::Tensor &from) {
  return isSpyre(self) && isSpyre(from);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", emptyStrided);
  m.impl("_copy_from", copyFrom);
  m.impl("_copy_from_and_resize", copyFromAndResize);
  m.impl("as_strided", asStrided);
  m.impl("view", view);
  m.impl("alias", alias);
  m.impl("view.dtype", viewDtype);
  m.impl("_reshape_alias", reshapeAlias);
  m.impl("unfold", unfold);
  m.impl("resize_", resize);
  m.impl("set_.source_Storage_storage_offset", setStorageOffset);
  m.impl("set_.source_Storage", setStorage);
  m.impl("set_.source_Tensor", setTensor);
  m.impl("set_", setEmpty);
  m.impl("is_set_to", at::native::is_set_to);
  m.impl("_local_scalar_dense", localScalar);
  m.impl("fill_.Scalar", fillScalar);
  m.impl("fill_.Tensor", fillTensor);
  m.impl("zero_", zero);
  m.impl("record_stream", recordStream);
  m.impl("_has_compatible_shallow_copy_type", hasCompatibleShallowCopyType);
}

} // namespace spyre::plugin
