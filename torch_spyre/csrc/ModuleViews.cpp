//===- ModuleViews.cpp - views with a layout, for code that asks for them by name -----------===//
#include "ATen/core/LegacyTypeDispatch.h"
#include "ATen/ops/as_strided.h"
#include "Copy.h"
#include "Errors.h"
#include "Module.h"
#include "SpyreTensorImpl.h"
#include "Types.h"
#include "torch/csrc/utils/pybind.h"

namespace spyre::plugin {

namespace {

using Sizes = std::vector<int64_t>;
using layout::DeviceLayout;

void requireSpyre(const at::Tensor &tensor, const char *function) {
  if (!isSpyre(tensor)) {
    raise(error<6505>("{}: the tensor is on {}, not on spyre; move it with .to(\"spyre\")",
                      function, tensor.device().str()));
  }
}

/// In the tensor's present layout a view is a view; in another one it is the memory from its start.
at::Tensor asStridedWithLayout(const at::Tensor &tensor, const Sizes &size, const Sizes &stride,
                               std::optional<int64_t> offset, const DeviceLayout &layout) {
  requireSpyre(tensor, "as_strided_with_layout");
  const int64_t start = offset.value_or(tensor.storage_offset());
  if (layout == geometryOf(tensor).layout) {
    return at::as_strided(tensor, size, stride, start);
  }
  if (start != 0) {
    raise(error<6513>("as_strided_with_layout: offset {} together with another layout; element "
                      "offsets mean something in the tensor's own layout only, use offset 0",
                      start));
  }
  return viewInLayout(tensor, size, stride, layout);
}

/// An alias without view tracking: the offset is added.
at::Tensor reinterpretTensor(const at::Tensor &tensor, const Sizes &size, const Sizes &stride,
                             int64_t offsetIncrement) {
  requireSpyre(tensor, "reinterpret_tensor");
  at::AutoDispatchBelowADInplaceOrView below;
  return at::as_strided(tensor, size, stride, tensor.storage_offset() + offsetIncrement);
}

at::Tensor reinterpretWithLayout(const at::Tensor &tensor, const Sizes &size, const Sizes &stride,
                                 int64_t offsetIncrement, const DeviceLayout &layout) {
  at::AutoDispatchBelowADInplaceOrView below;
  return asStridedWithLayout(tensor, size, stride, tensor.storage_offset() + offsetIncrement,
                             layout);
}

} // namespace

void bindViews(py::module_ &module) {
  module.def("as_strided_with_layout", &asStridedWithLayout, py::arg("tensor"), py::arg("size"),
             py::arg("stride"), py::arg("offset"), py::arg("layout"));
  module.def("reinterpret_tensor", &reinterpretTensor, py::arg("tensor"), py::arg("size"),
             py::arg("stride"), py::arg("offset_increment") = 0);
  module.def("reinterpret_tensor_with_layout", &reinterpretWithLayout, py::arg("tensor"),
             py::arg("size"), py::arg("stride"), py::arg("offset_increment"), py::arg("layout"));
}

} // namespace spyre::plugin
