//===- Prepared.h - tensors that are made often, described once -----------------------------===//
//
// Geometries are kept once each, for the life of the process: equal ones are the same object, so a
// pointer compares and hashes as the whole geometry. What it takes to make a tensor (strides,
// layout, bytes) is worked out when a shape is seen for the first time.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Memory.h"

namespace spyre::plugin {

/// The one object for this geometry.
GeometryRef internGeometry(StorageGeometry geometry);

/// A tensor to be made.
struct PreparedTensor {
  std::vector<int64_t> size, stride;
  c10::ScalarType type = c10::ScalarType::Half;
  GeometryRef geometry;
  size_t bytes = 0;
};

PreparedTensor prepareTensor(c10::IntArrayRef size, c10::IntArrayRef stride, c10::ScalarType type,
                             StorageGeometry geometry);
/// Row-major with the canonical layout; remembered.
const PreparedTensor &preparedDefault(c10::IntArrayRef size, c10::ScalarType type);
at::Tensor makePrepared(const PreparedTensor &prepared, c10::Device device);

} // namespace spyre::plugin
