//===- Uneven.cpp - slices of two sizes: what all cores do, and what is left ----------------===//
#include "Uneven.h"

#include "Geometry.h"

#include <algorithm>

namespace spyre::backend {

using spec::DscTensor;
using spec::SuperDsc;

static void setDim(spec::DimMap<int64_t> &map, const std::string &dim, int64_t value) {
  for (auto &[name, old] : map) {
    old = name == dim ? value : old;
  }
}

/// The first \p cores cores of \p dsc with \p perCore elements of the uneven dimension each, in
/// \p slices slices. Start addresses stay.
static SuperDsc pieceOf(const SuperDsc &dsc, int64_t cores, int64_t slices, int64_t perCore) {
  const std::string dim = dsc.uneven.dim;
  const int64_t size = *spec::findDim(dsc.size, dim), visited = perCore * slices;
  SuperDsc piece = dsc;
  piece.uneven = {};
  piece.cores = cores;
  piece.coreSlice.resize(size_t(cores));
  setDim(piece.size, dim, visited);
  setDim(piece.slices, dim, slices);
  setDim(piece.perCoreSize, dim, perCore);
  // What a restickify calls a gap is what memory has less.
  const int64_t sign = dsc.op == "ReStickifyOpHBM" ? -1 : 1;
  for (DscTensor &tensor : piece.tensors) {
    tensor.startAddress.resize(size_t(cores));
    const int64_t *scale = spec::findDim(tensor.scale, dim);
    if (!scale || *scale != 1) {
      continue;
    }
    const int64_t *gap = spec::findDim(tensor.backGap, dim);
    const int64_t rest = (gap ? *gap : 0) + sign * (size - visited);
    std::erase_if(tensor.backGap, [&](const auto &entry) { return entry.first == dim; });
    if (rest != 0) {
      tensor.backGap.emplace_back(dim, rest);
    }
  }
  return piece;
}

/// How far the tensors of \p all move along its dimension \p dim by \p elements.
static Expected<std::vector<int64_t>> stepsOf(const SuperDsc &all, const std::string &dim,
                                              int64_t elements, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(Kernel kernel, analyse(all, device));
  std::vector<int64_t> bytes(all.tensors.size(), 0);
  auto add = [&](const TensorMap &map) {
    bytes[map.index] = elements / map.stepElements(dim) * map.strideBytes(dim);
  };
  std::for_each(kernel.inputs.begin(), kernel.inputs.end(), add);
  add(kernel.output);
  return bytes;
}

/// The large slices must be those of the first cores: a phase runs on cores 0..n.
static Status checkCores(const SuperDsc &dsc) {
  const std::vector<int64_t> large = spec::partCores(dsc).front();
  return !large.empty() && large.back() == int64_t(large.size()) - 1
             ? Status::success()
             : error<5320>("{}_{}: the larger slices of '{}' are not those of the first {} cores; "
                           "let '{}' change slowest in coreIdToWkSlice_",
                           dsc.index, dsc.op, dsc.uneven.dim, large.size(), dsc.uneven.dim);
}

static Status expand(const SuperDsc &dsc, const arch::DeviceDesc &device,
                     std::vector<SuperDsc> &out) {
  SPYRE_RETURN_IF_ERROR(spec::verifySuperDsc(dsc, device));
  SPYRE_RETURN_IF_ERROR(checkCores(dsc));
  const spec::DscUneven &uneven = dsc.uneven;
  const int64_t slices = *spec::findDim(dsc.slices, uneven.dim);
  const int64_t large = *spec::findDim(dsc.perCoreSize, uneven.dim);
  SuperDsc all = pieceOf(dsc, dsc.cores, slices, uneven.smallSize);
  SuperDsc rest = pieceOf(dsc, dsc.cores / slices * uneven.largeSlices, uneven.largeSlices,
                          large - uneven.smallSize);
  SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> steps,
                         stepsOf(all, uneven.dim, uneven.smallSize, device));
  for (size_t t = 0; t < rest.tensors.size(); ++t) {
    for (int64_t &start : rest.tensors[t].startAddress) {
      start += steps[t];
    }
  }
  for (SuperDsc *piece : {&all, &rest}) {
    SPYRE_RETURN_IF_ERROR(spec::verifySuperDsc(*piece, device));
    out.push_back(std::move(*piece));
  }
  return Status::success();
}

Expected<std::vector<SuperDsc>> expandUneven(const std::vector<SuperDsc> &operations,
                                             const arch::DeviceDesc &device) {
  std::vector<SuperDsc> out;
  for (const SuperDsc &dsc : operations) {
    if (!isUneven(dsc)) {
      out.push_back(dsc);
      continue;
    }
    SPYRE_RETURN_IF_ERROR(expand(dsc, device, out));
  }
  return out;
}

} // namespace spyre::backend
