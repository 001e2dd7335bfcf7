//===- Indirect.h - tensors whose rows are chosen by an index tensor ------------------------===//
//
// A value tensor has its indirect dimensions taken out of TensorMap::dims: they do not walk its
// memory, they walk the index tensor. Where the rows are is in TensorMap::rows and rowBytes.
//
// Indices are 32-bit integers. Cores may share a stick of them, so positions are counted in
// elements: a core's indices along their stick dimension begin at lane `firstLane` of the stick at
// its start address. Dimensions which the value tensor is not indexed by are none of the index
// tensor's, whatever its scales say. (docs/adr/0020)
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Geometry.h"

namespace spyre::backend {

constexpr int64_t kIndexBytes = 4;
constexpr int64_t kIndexLanes = kStickBytes / kIndexBytes;

struct IndexMap {
  /// Start addresses are rounded down to sticks. The stick dimension is counted in sticks, as many
  /// as the core that touches most of them needs.
  TensorMap map;
  std::vector<int64_t> firstLane;

  /// Between sticks along the stick dimension; 0 when each stick holds one index.
  int64_t stickBytes() const { return map.sparse ? 0 : map.strideBytes(map.stickDim); }
  /// Sticks that hold \p count indices of \p core along the stick dimension.
  int64_t sticksOf(size_t core, int64_t count) const {
    return map.sparse ? 1 : (firstLane[core] + count + kIndexLanes - 1) / kIndexLanes;
  }
  int64_t mostLanes() const;
};

/// Takes the rows of \p dim, an indirect dimension of \p tensor with steps of \p strideBytes, into
/// \p map; returns how many there are. Error: E5302.
Expected<int64_t> addRows(const Kernel &kernel, const spec::DscTensor &tensor,
                          const std::string &dim, int64_t strideBytes, TensorMap &map);

/// The index tensor of the value tensor \p value. Error: E5302.
Expected<IndexMap> mapIndex(const Kernel &kernel, const TensorMap &value);

bool isIndirectDim(const spec::DscTensor &tensor, const std::string &dim);

/// Which operations and tensors may take part in an indirect access. Error: E5302.
Status checkIndirection(const Kernel &kernel);

} // namespace spyre::backend
