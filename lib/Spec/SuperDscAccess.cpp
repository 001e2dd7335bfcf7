//===- SuperDscAccess.cpp - which cores have which part of a tensor -------------------------===//
//
// Things every reader of a SuperDSC must see alike: by which division a tensor lies in LX, where
// the rows of an indirectly accessed tensor begin (docs/adr/0020), and which cores have the larger
// slices of uneven work (docs/adr/0055).
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

int64_t firstOfSlice(const SuperDsc &dsc, const std::string &dim, int64_t size, int64_t slice) {
  const DscUneven &uneven = dsc.uneven;
  const int64_t large = uneven.dim == dim ? std::min(slice, uneven.largeSlices) : slice;
  return large * size + (slice - large) * uneven.smallSize;
}

std::vector<std::vector<int64_t>> partCores(const SuperDsc &dsc) {
  std::vector<std::vector<int64_t>> parts(dsc.uneven.dim.empty() ? 1 : 2);
  for (size_t core = 0; core < dsc.coreSlice.size(); ++core) {
    const int64_t *slice = findDim(dsc.coreSlice[core], dsc.uneven.dim);
    parts[slice && *slice >= dsc.uneven.largeSlices ? 1 : 0].push_back(int64_t(core));
  }
  return parts;
}

static SuperDsc partOf(const SuperDsc &dsc, const std::vector<int64_t> &cores, bool isLarge) {
  SuperDsc part = dsc;
  part.uneven = {};
  part.cores = int64_t(cores.size());
  part.coreSlice.clear();
  for (int64_t core : cores) {
    part.coreSlice.push_back(dsc.coreSlice[size_t(core)]);
  }
  for (auto &[dim, slices] : part.slices) {
    if (dim == dsc.uneven.dim) {
      slices = isLarge ? dsc.uneven.largeSlices : slices - dsc.uneven.largeSlices;
    }
  }
  for (auto &[dim, size] : part.perCoreSize) {
    size = dim == dsc.uneven.dim && !isLarge ? dsc.uneven.smallSize : size;
  }
  for (DscTensor &tensor : part.tensors) {
    std::vector<int64_t> starts;
    for (int64_t core : cores) {
      if (size_t(core) < tensor.startAddress.size()) {
        starts.push_back(tensor.startAddress[size_t(core)]);
      }
    }
    tensor.startAddress = std::move(starts);
  }
  return part;
}

std::vector<SuperDsc> partsOf(const SuperDsc &dsc) {
  if (dsc.uneven.dim.empty()) {
    return {dsc};
  }
  const std::vector<std::vector<int64_t>> cores = partCores(dsc);
  return {partOf(dsc, cores[0], true), partOf(dsc, cores[1], false)};
}

} // namespace spyre::spec
