//===- SpyreTensorImpl.h - the tensor class of the device -----------------------------------===//
//
// Every tensor of ours is one. It adds a layout of its own, which is almost always empty: then the
// tensor has the layout of its storage (Memory.h), as all its views have. as_strided_with_layout
// and its relatives show the same memory in another layout; only such a tensor, and views of it,
// carry one.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Memory.h"
#include "c10/core/TensorImpl.h"

namespace spyre::plugin {

class SpyreTensorImpl final : public c10::TensorImpl {
public:
  SpyreTensorImpl(c10::Storage &&storage, caffe2::TypeMeta type, GeometryRef ownGeometry = nullptr);

  /// Null: that of the storage.
  const GeometryRef &ownGeometry() const { return own; }

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy_and_detach(const c10::VariableVersion &version,
                                                              bool allowChange) const override;
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy_and_detach(c10::VariableVersion &&version,
                                                              bool allowChange) const override;
  void shallow_copy_from(const c10::intrusive_ptr<c10::TensorImpl> &impl) override;

private:
  template <typename Version>
  c10::intrusive_ptr<c10::TensorImpl> copyWith(Version &&version, bool allowChange) const;

  GeometryRef own;
};

/// The geometry a tensor has of its own, or null.
GeometryRef ownGeometryOf(const at::Tensor &tensor);
/// \p view, a view of \p base, in the layout \p base is seen in.
at::Tensor keepLayout(const at::Tensor &base, at::Tensor view);
/// The memory of \p base as a tensor of \p size and \p stride that lies on the device as \p layout
/// says. Errors: E6513 (another format, or more bytes than there are).
at::Tensor viewInLayout(const at::Tensor &base, c10::IntArrayRef size, c10::IntArrayRef stride,
                        const layout::DeviceLayout &layout);

} // namespace spyre::plugin
