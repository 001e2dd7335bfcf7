//===- Indirect.cpp - geometry of index and value tensors -----------------------------------===//
#include "Indirect.h"

#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::backend {

using spec::DscTensor;
using Indirection = DscTensor::Indirection;

int64_t IndexMap::mostLanes() const {
  return *std::max_element(firstLane.begin(), firstLane.end());
}

bool isIndirectDim(const DscTensor &tensor, const std::string &dim) {
  return std::find(tensor.indirectDims.begin(), tensor.indirectDims.end(), dim) !=
         tensor.indirectDims.end();
}

Expected<int64_t> addRows(const Kernel &kernel, const DscTensor &tensor, const std::string &dim,
                          int64_t strideBytes, TensorMap &map) {
  const int64_t *gap = spec::findDim(tensor.backGap, dim);
  int64_t rows = *spec::findDim(kernel.dsc->size, dim);
  if (__builtin_add_overflow(rows, gap ? *gap : 0, &rows) || rows < 1 || rows > INT32_MAX) {
    return error<5302>("{}: {} has {} rows along '{}'; indices reach 1 to {}", kernel.name,
                       tensor.name, rows, dim, INT32_MAX);
  }
  if (map.rows > 1 && rows > 1) {
    return error<5302>("{}: {} has rows along '{}' and another indirect dimension; an index "
                       "chooses along one, the others have one row",
                       kernel.name, tensor.name, dim);
  }
  if (rows > 1 || map.rowBytes == 0) {
    map.rowBytes = strideBytes;
  }
  map.rows = std::max(map.rows, rows);
  return rows;
}

/// Of the index tensor: the dims its value tensor is indexed by, in the order of its memory.
static Status addDims(const Kernel &kernel, const DscTensor &tensor, const DscTensor &value,
                      IndexMap &index) {
  int64_t strideBytes = kStickBytes;
  uint64_t wholeSticks = 1;
  TensorMap &map = index.map;
  for (const std::string &dim : tensor.dimOrder) {
    if (!isIndirectDim(value, dim)) {
      continue;
    }
    const bool isStick = dim == map.stickDim && !map.sparse;
    const int64_t *gap = spec::findDim(tensor.backGap, dim);
    const int64_t perCore = kernel.perCore(dim);
    int64_t memory = map.inLx ? perCore : perCore * kernel.slices(dim), steps = perCore;
    bool fits = !__builtin_add_overflow(memory, gap ? *gap : 0, &memory) && memory >= perCore;
    if (isStick) {
      memory = ceilDiv(std::max<int64_t>(memory, 1), kIndexLanes);
      steps = index.sticksOf(0, perCore);
      for (size_t core = 0; core < index.firstLane.size(); ++core) {
        steps = std::max(steps, index.sticksOf(core, perCore));
      }
    }
    map.dims.push_back({dim, steps, strideBytes});
    addSlices(kernel, dim, memory, wholeSticks, map);
    if (!fits || __builtin_mul_overflow(strideBytes, memory, &strideBytes) ||
        strideBytes > (int64_t(1) << 60)) {
      return error<5302>("{}: index tensor {} has {} entries along '{}', or is larger than any "
                         "memory",
                         kernel.name, tensor.name, memory, dim);
    }
  }
  return Status::success();
}

/// In LX the indices of a core are a run that starts with its first stick.
static Status checkResident(const Kernel &kernel, const DscTensor &tensor, const IndexMap &index) {
  const std::string &stick = index.map.stickDim;
  const bool whole = kernel.slices(stick) == 1 || kernel.perCore(stick) % kIndexLanes == 0;
  const bool run = index.stickBytes() == kStickBytes || kernel.perCore(stick) <= kIndexLanes;
  if (index.map.sparse || (whole && run)) {
    return Status::success();
  }
  return error<5302>("{}: index tensor {} in LX has parts of sticks, or sticks apart from each "
                     "other along '{}'; leave it in DDR",
                     kernel.name, tensor.name, stick);
}

Expected<IndexMap> mapIndex(const Kernel &kernel, const TensorMap &value) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  const DscTensor &valueTensor = dsc.tensors[value.index];
  const auto partner = size_t(valueTensor.indirectPartner);
  const auto cores = size_t(dsc.cores);
  if (valueTensor.startAddress.size() != cores || dsc.coreSlice.size() != cores) {
    return error<5302>("{}: {} has {} start addresses and {} cores have work, of {}; name all",
                       kernel.name, valueTensor.name, valueTensor.startAddress.size(),
                       dsc.coreSlice.size(), cores);
  }
  if (partner >= dsc.tensors.size() || dsc.tensors[partner].indirection != Indirection::Index ||
      dsc.tensors[partner].indirectPartner != int64_t(value.index)) {
    return error<5302>("{}: {} and its index tensor do not name each other", kernel.name,
                       valueTensor.name);
  }
  const DscTensor &tensor = dsc.tensors[partner];
  auto layout = std::find_if(dsc.layouts.begin(), dsc.layouts.end(),
                             [&](const auto &l) { return l.label == tensor.layout; });
  const bool isWord = tensor.format == numerics::DataFormat::SenUint32 ||
                      tensor.format == numerics::DataFormat::IeeeInt32;
  if (layout == dsc.layouts.end() || layout->stickDims.size() != 1 || !isWord ||
      tensor.holdsAddresses || !tensor.ownerSlice.empty() || tensor.startAddress.size() != cores) {
    return error<5302>("{}: index tensor {} is {} of type {}, or in other cores' LX; indices are "
                       "SENUINT32 numbers of rows (indexTensorType_ \"index\") with one stick "
                       "dimension",
                       kernel.name, tensor.name, numerics::formatName(tensor.format),
                       tensor.holdsAddresses ? "address" : "index");
  }
  IndexMap index;
  TensorMap &map = index.map;
  map.index = partner;
  map.inLx = tensor.inLx;
  map.stickDim = layout->stickDims[0];
  map.lanes = kIndexLanes;
  map.sparse = !isIndirectDim(valueTensor, map.stickDim);
  map.sliceBegin.resize(tensor.inLx ? size_t(dsc.cores) : 0);
  for (int64_t start : tensor.startAddress) {
    if (start < 0 || start % kIndexBytes != 0 || (tensor.inLx && start % kStickBytes != 0)) {
      return error<5302>("{}: index tensor {} starts at {}; give a multiple of {}", kernel.name,
                         tensor.name, start, tensor.inLx ? kStickBytes : kIndexBytes);
    }
    index.firstLane.push_back(start % kStickBytes / kIndexBytes);
    map.startAddress.push_back(start - start % kStickBytes);
  }
  SPYRE_RETURN_IF_ERROR(addDims(kernel, tensor, valueTensor, index));
  if (tensor.inLx) {
    SPYRE_RETURN_IF_ERROR(checkResident(kernel, tensor, index));
  }
  return index;
}

Status checkIndirection(const Kernel &kernel) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  for (size_t i = 0; i < dsc.tensors.size(); ++i) {
    const DscTensor &tensor = dsc.tensors[i];
    if (tensor.indirection == Indirection::None) {
      continue;
    }
    const bool isLaneWise =
        kernel.op.opClass == OpClass::Pointwise || kernel.op.opClass == OpClass::Copy;
    const bool isInput = std::count(dsc.inputs.begin(), dsc.inputs.end(), int64_t(i)) > 0;
    if (int64_t(i) == dsc.output || !isLaneWise ||
        isInput != (tensor.indirection == Indirection::Value)) {
      return error<5302>("{}: {} takes part in an indirect access; only inputs of element-wise "
                         "operations and copies may be chosen by indices, and outputs may not "
                         "(scatter)",
                         kernel.name, tensor.name);
    }
    if (tensor.indirection == Indirection::Value &&
        (tensor.inLx || tensor.indirectDims.empty() || !tensor.ownerSlice.empty())) {
      return error<5302>("{}: {} is gathered from LX, or along no dimension; rows are gathered "
                         "from DDR along the dimensions with maxDimSizes_ 1",
                         kernel.name, tensor.name);
    }
  }
  return Status::success();
}

} // namespace spyre::backend
