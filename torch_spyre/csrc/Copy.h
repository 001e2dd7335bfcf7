//===- Copy.h - elements between host and device, views included ----------------------------===//
//
// The unit is the image of a storage: a flat CPU tensor with one entry per host element, holding
// device bits (raw image) or values. A view of the device tensor is the same view of the image, so
// offsets, strides and overlaps need no cases of their own. Writing part of a storage reads the raw
// image, changes those elements and writes it back; the other elements keep their bits.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "ATen/core/Tensor.h"

namespace spyre::plugin {

inline bool isSpyre(const at::Tensor &tensor) {
  return tensor.device().type() == c10::DeviceType::PrivateUse1;
}

/// Every element of the storage belongs to the tensor, once.
bool coversStorage(const at::Tensor &tensor);

/// Device bits of host values as an element of \p tensor has them, in its own rounding.
at::Tensor deviceBits(const at::Tensor &host, const at::Tensor &tensor);
/// Device bits of every element of the storage, flat, in an integer type of the element's width.
at::Tensor rawImage(const at::Tensor &tensor);
/// Writes bits of the tensor's elements; other elements of the storage stay as they are.
void storeBits(const at::Tensor &tensor, const at::Tensor &bits);

/// Values of the whole storage in the tensor's own dtype, flat.
at::Tensor hostImage(const at::Tensor &tensor);
/// The tensor's view of hostImage().
at::Tensor viewOfImage(const at::Tensor &image, const at::Tensor &tensor);

/// On the current stream of the device. \p nonBlocking: the call may return before the copy is
/// done; \p host may then be changed at once unless it is pinned. A copy to host memory that is not
/// pinned is always done when the call returns.
void copyToDevice(const at::Tensor &host, const at::Tensor &tensor, bool nonBlocking = false);
void copyToHost(const at::Tensor &tensor, const at::Tensor &host, bool nonBlocking = false);
/// Same bits where the device formats are the same.
void copyOnDevice(const at::Tensor &from, const at::Tensor &to);
/// Any pair of CPU and spyre; \p source is broadcast.
void copyTensor(const at::Tensor &source, const at::Tensor &destination, bool nonBlocking = false);

/// A row-major tensor with the canonical layout and the same bits; the tensor itself if it is one.
at::Tensor canonical(const at::Tensor &tensor);
/// Copy with a CPU tensor; .cpu() without the dispatcher.
at::Tensor toHost(const at::Tensor &tensor);

} // namespace spyre::plugin
