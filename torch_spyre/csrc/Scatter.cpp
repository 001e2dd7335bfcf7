//===- Scatter.cpp - a copy of a tensor with new contents in a part of it -------------------===//
//
// Torch's own kernels for these copy the memory behind the tensor, as many elements as its bytes
// could hold. Here the memory is padded, and holds fewer.
//===--------------------------------------------------------------------------------------------===//
#include "ATen/MemoryOverlap.h"
#include "ATen/ops/as_strided.h"
#include "ATen/ops/clone.h"
#include "ATen/ops/diagonal.h"
#include "Copy.h"
#include "Memory.h"
#include "Types.h"
#include "torch/library.h"

namespace spyre::plugin {

namespace {

/// A copy that lies in memory of its own as \p self does in its. Where elements of \p self share a
/// place, a copy without such places.
at::Tensor cloneMemory(const at::Tensor &self) {
  if (coversStorage(self) || at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    return self.clone();
  }
  const StorageGeometry &geometry = geometryOf(self);
  const at::Tensor all = self.as_strided({hostExtent(geometry.size, geometry.stride)}, {1}, 0);
  return all.clone().as_strided(self.sizes(), self.strides(), self.storage_offset());
}

void store(const at::Tensor &part, const at::Tensor &source) {
  TORCH_CHECK(part.sizes() == source.sizes(),
              "expected src to have a size equal to the slice of self. src size = ", source.sizes(),
              ", slice size = ", part.sizes());
  part.copy_(source);
}

at::Tensor diagonalScatter(const at::Tensor &self, const at::Tensor &source, int64_t offset,
                           int64_t dim1, int64_t dim2) {
  at::Tensor result = cloneMemory(self);
  store(result.diagonal(offset, dim1, dim2), source);
  return result;
}

at::Tensor asStridedScatter(const at::Tensor &self, const at::Tensor &source, c10::IntArrayRef size,
                            c10::IntArrayRef stride, std::optional<int64_t> offset) {
  at::Tensor result = cloneMemory(self);
  store(result.as_strided(size, stride, offset), source);
  return result;
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("diagonal_scatter", diagonalScatter);
  m.impl("as_strided_scatter", asStridedScatter);
}

} // namespace spyre::plugin
