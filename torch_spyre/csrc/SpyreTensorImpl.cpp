//===- SpyreTensorImpl.cpp - copies of a tensor keep its layout -----------------------------===//
#include "SpyreTensorImpl.h"

#include "Errors.h"
#include "Prepared.h"
#include "Types.h"

#include <utility>

namespace spyre::plugin {

SpyreTensorImpl::SpyreTensorImpl(c10::Storage &&storage, caffe2::TypeMeta type,
                                 GeometryRef ownGeometry)
    : c10::TensorImpl(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type),
      own(std::move(ownGeometry)) {}

template <typename Version>
c10::intrusive_ptr<c10::TensorImpl> SpyreTensorImpl::copyWith(Version &&version,
                                                              bool allowChange) const {
  auto copy = c10::make_intrusive<SpyreTensorImpl>(c10::Storage(storage()), dtype(), own);
  copy_tensor_metadata(this, copy.get(), std::forward<Version>(version), allowChange);
  return copy;
}

c10::intrusive_ptr<c10::TensorImpl>
SpyreTensorImpl::shallow_copy_and_detach(const c10::VariableVersion &version,
                                         bool allowChange) const {
  // A mode that watches dispatch (fake tensors, tracing) makes its own copy.
  auto core = c10::TensorImpl::shallow_copy_and_detach(version, allowChange);
  return dynamic_cast<SpyreTensorImpl *>(core.get()) != nullptr || key_set() != core->key_set()
             ? core
             : copyWith(version, allowChange);
}

c10::intrusive_ptr<c10::TensorImpl>
SpyreTensorImpl::shallow_copy_and_detach(c10::VariableVersion &&version, bool allowChange) const {
  return shallow_copy_and_detach(std::as_const(version), allowChange);
}

void SpyreTensorImpl::shallow_copy_from(const c10::intrusive_ptr<c10::TensorImpl> &impl) {
  c10::TensorImpl::shallow_copy_from(impl);
  const auto *ours = dynamic_cast<const SpyreTensorImpl *>(impl.get());
  own = ours != nullptr ? ours->own : nullptr;
}

GeometryRef ownGeometryOf(const at::Tensor &tensor) {
  const auto *impl = dynamic_cast<const SpyreTensorImpl *>(tensor.unsafeGetTensorImpl());
  return impl != nullptr ? impl->ownGeometry() : nullptr;
}

at::Tensor keepLayout(const at::Tensor &base, at::Tensor view) {
  GeometryRef own = ownGeometryOf(base);
  if (!own) {
    return view;
  }
  auto result =
      at::detail::make_tensor<SpyreTensorImpl>(c10::Storage(view.storage()), view.dtype(), own);
  result.unsafeGetTensorImpl()->set_sizes_and_strides(view.sizes(), view.strides(),
                                                      view.storage_offset());
  return result;
}

at::Tensor viewInLayout(const at::Tensor &base, c10::IntArrayRef size, c10::IntArrayRef stride,
                        const layout::DeviceLayout &layout) {
  check(layout.verify());
  const layout::DeviceLayout &present = geometryOf(base).layout;
  const runtime::BufferRef &buffer = bufferOf(base);
  const int64_t bytes = buffer ? int64_t(buffer->bytes()) : 0;
  if (layout.format != present.format || layout.bytes() > bytes) {
    raise(error<6513>("a layout of format {} with {} bytes cannot show memory of format {} with {} "
                      "bytes; keep the format and stay inside",
                      numerics::formatName(layout.format), layout.bytes(),
                      numerics::formatName(present.format), bytes));
  }
  GeometryRef geometry = internGeometry({toVector(size), toVector(stride), layout});
  auto result = at::detail::make_tensor<SpyreTensorImpl>(c10::Storage(base.storage()), base.dtype(),
                                                         std::move(geometry));
  result.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, 0);
  return result;
}

} // namespace spyre::plugin
