//===- SuperDscAccess.cpp - which cores have which part of a tensor -------------------------===//
//
// Two things every reader of a SuperDSC must see alike: by which division a tensor lies in LX, and
// where the rows of an indirectly accessed tensor begin. (docs/adr/0020)
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/SuperDsc.h"

#include <algorithm>

namespace spyre::spec {

/// No machine has as many cores; one more is still a number.
static constexpr int64_t kMaxSlices = int64_t(1) << 31;

int64_t slicesOf(const SuperDsc &dsc, const DscTensor &tensor, const std::string &dim) {
  if (tensor.ownerSlice.empty()) {
    const int64_t *slices = findDim(dsc.slices, dim);
    return slices ? *slices : 1;
  }
  int64_t last = 0;
  for (const DimMap<int64_t> &owned : tensor.ownerSlice) {
    const int64_t *slice = findDim(owned, dim);
    last = std::max(last, slice ? std::min(*slice, kMaxSlices) : 0);
  }
  return last + 1;
}

int64_t valueStart(const SuperDsc &dsc, const DscTensor &tensor, size_t core) {
  DimMap<int64_t> wanted = dsc.coreSlice[core];
  for (auto &[dim, slice] : wanted) {
    const bool isIndirect = std::find(tensor.indirectDims.begin(), tensor.indirectDims.end(),
                                      dim) != tensor.indirectDims.end();
    slice = isIndirect ? 0 : slice;
  }
  for (size_t other = 0; other < dsc.coreSlice.size(); ++other) {
    const bool isIt = std::all_of(wanted.begin(), wanted.end(), [&](const auto &entry) {
      const int64_t *slice = findDim(dsc.coreSlice[other], entry.first);
      return slice && *slice == entry.second;
    });
    if (isIt) {
      return tensor.startAddress[other];
    }
  }
  return tensor.startAddress[core];
}

} // namespace spyre::spec
