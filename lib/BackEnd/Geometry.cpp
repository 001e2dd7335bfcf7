//===- Geometry.cpp - the address rule and the checks that make it safe ---------------------===//
//
// After these checks every address a lowering can form lies in the tensor's own range, so the
// arithmetic that follows needs no overflow checks.
//===--------------------------------------------------------------------------------------------===//
#include "Geometry.h"

#include "spyre/Base/Math.h"

#include "Indirect.h"

#include <algorithm>

namespace spyre::backend {

using numerics::DataFormat;
using spec::DscLayout;
using spec::DscTensor;

/// More steps than this on one core would run for days; it also keeps products inside int64.
static constexpr int64_t kMaxStepsPerCore = int64_t(1) << 40;
/// No address or extent of any machine comes near; sums of two stay inside int64.
static constexpr int64_t kMaxBytes = int64_t(1) << 60;

const TensorMap::Dim *TensorMap::find(const std::string &name) const {
  for (const Dim &dim : dims) {
    if (dim.name == name) {
      return &dim;
    }
  }
  return nullptr;
}

int64_t TensorMap::stepElements(const std::string &name) const {
  int64_t elements = 1;
  for (const auto &[dim, count] : stick) {
    elements *= dim == name ? count : 1;
  }
  return elements;
}

int64_t TensorMap::strideBytes(const std::string &name) const {
  const Dim *dim = find(name);
  return dim ? dim->strideBytes : 0;
}

int64_t TensorMap::spanBytes() const {
  int64_t span = kStickBytes + (rows - 1) * rowBytes;
  for (const Dim &dim : dims) {
    span += (dim.steps - 1) * dim.strideBytes;
  }
  return span;
}

int64_t Kernel::perCore(const std::string &dim) const {
  const int64_t *size = spec::findDim(dsc->perCoreSize, dim);
  return size ? *size : 1;
}

int64_t Kernel::slices(const std::string &dim) const {
  const int64_t *count = spec::findDim(dsc->slices, dim);
  return count ? *count : 1;
}

Expected<StickSteps> Kernel::maskedSteps(const std::string &dim, int64_t lanes) const {
  StickSteps steps{perCore(dim) / lanes, 0};
  const auto *mask = spec::findDim(dsc->masking, dim);
  if (!mask || mask->second == 0) {
    return steps;
  }
  auto [first, count] = *mask;
  int64_t size = perCore(dim) * slices(dim);
  if (first < 1 || count < 0 || count >= lanes || first != size - count) {
    return error<5302>(
        "{}: masked elements [{}, +{}) of '{}' must be a tail of less than one stick "
        "({} lanes) that ends at its size {}",
        name, first, count, dim, lanes, size);
  }
  steps.tailLanes = lanes - count;
  return steps;
}

Status Kernel::checkMaskedOnly(const std::string &dim) const {
  for (const auto &[masked, range] : dsc->masking) {
    if (masked != dim && range.second != 0) {
      return error<5302>("{}: '{}' is masked but only a reduced stick dimension may be", name,
                         masked);
    }
  }
  return Status::success();
}

/// Sizes positive, complete and divided without rest.
static Status checkBox(const Kernel &kernel) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  if (dsc.cores < 1 || dsc.cores > kernel.device->cores) {
    return error<5302>("{}: {} cores, the machine has {}", kernel.name, dsc.cores,
                       kernel.device->cores);
  }
  int64_t steps = 1;
  for (const auto &[dim, size] : dsc.size) {
    const int64_t *perCore = spec::findDim(dsc.perCoreSize, dim);
    int64_t slices = kernel.slices(dim);
    if (!perCore || *perCore < 1 || slices < 1 || *perCore > kMaxStepsPerCore ||
        slices > kernel.device->cores || *perCore * slices != size) {
      return error<5302>("{}: '{}' of size {} is not {} slices of equal positive size", kernel.name,
                         dim, size, slices);
    }
    if (kernel.isWindowOp() && (dim == "i" || dim == "j")) {
      continue; // Not walked: a pixel and an element of the window say where they are.
    }
    if (__builtin_mul_overflow(steps, *perCore, &steps) || steps > kMaxStepsPerCore) {
      return error<5302>("{}: a core would take more than {} steps; divide the work", kernel.name,
                         kMaxStepsPerCore);
    }
  }
  return Status::success();
}

static Expected<const DscLayout *> findLayout(const Kernel &kernel, const DscTensor &tensor) {
  for (const DscLayout &layout : kernel.dsc->layouts) {
    if (layout.label != tensor.layout) {
      continue;
    }
    size_t most = kernel.op.mixesFormats() ? 3 : 1;
    if (layout.stickDims.empty() || layout.stickDims.size() > most ||
        layout.stickSizes.size() != layout.stickDims.size()) {
      return error<5302>("{}: {} has {} stick dimensions; {} possible here", kernel.name,
                         tensor.name, layout.stickDims.size(), most == 1 ? "one is" : "1..3 are");
    }
    int64_t lanes = numerics::elemsPerStick(tensor.format), held = 1;
    for (int64_t size : layout.stickSizes) {
      held = size < 1 || size > lanes ? 0 : held * size;
    }
    if (held != lanes || lanes == 0) {
      return error<5302>("{}: the sticks of {} hold {} elements but {} has {} per stick",
                         kernel.name, tensor.name, fmt::join(layout.stickSizes, " x "),
                         numerics::formatName(tensor.format), lanes);
    }
    return &layout;
  }
  return error<5302>("{}: {} uses the layout '{}' which is not declared", kernel.name, tensor.name,
                     tensor.layout);
}

/// 1, -1 or -2. A dimension without an entry is an ordinary one.
static Expected<int64_t> scaleOf(const Kernel &kernel, const DscTensor &tensor,
                                 const std::string &dim, bool isStick) {
  const int64_t *found = spec::findDim(tensor.scale, dim);
  int64_t scale = found ? *found : 1;
  bool known = scale == 1 || (isStick ? scale == -2 : scale == -1);
  if (!known) {
    return error<5302>("{}: {} has scale {} for '{}'; allowed are 1, -1 (not the stick) and -2 "
                       "(only the stick)",
                       kernel.name, tensor.name, scale, dim);
  }
  return scale;
}

/// Elements of \p dim that exist in memory, and how many of them a core visits.
struct Extent {
  int64_t memory = 1;
  int64_t visited = 1;
};

static Expected<Extent> extentOf(const Kernel &kernel, const DscTensor &tensor,
                                 const std::string &dim) {
  int64_t visited = kernel.perCore(dim);
  int64_t size = tensor.inLx ? visited : visited * kernel.slices(dim);
  if (kernel.isWindowOp()) {
    visited = spec::windowPerCore(*kernel.dsc, kernel.windows, dim);
    if (visited < 1) {
      return error<5302>("{}: the windows along '{}' leave 64 bits", kernel.name, dim);
    }
  }
  const int64_t *found = spec::findDim(tensor.backGap, dim);
  int64_t gap = found ? *found : 0;
  bool restickify = kernel.op.opClass == OpClass::Restickify;
  if (gap > kMaxBytes || gap < (restickify ? -kMaxBytes : 0)) {
    return error<5302>("{}: {} has gap {} for '{}'", kernel.name, tensor.name, gap, dim);
  }
  if (!restickify) {
    return Extent{size + gap, visited};
  }
  // A restickify iterates over padded sizes; its gap is what memory lacks, not what it has more.
  if (gap <= 0) {
    return Extent{size - gap, visited};
  }
  if (gap >= size || kernel.slices(dim) != 1) {
    return error<5302>("{}: {} lacks {} of {} elements of '{}', which has {} slices; a padded "
                       "dimension of a restickify has one slice and at least one element",
                       kernel.name, tensor.name, gap, size, dim, kernel.slices(dim));
  }
  return Extent{size - gap, size - gap};
}

/// The sanitizer compares 31 bits, which wrap for nonsense only.
void addSlices(const Kernel &kernel, const std::string &dim, int64_t extent, uint64_t &wholeSticks,
               TensorMap &map) {
  for (size_t core = 0; core < map.sliceBegin.size(); ++core) {
    const auto &slices = kernel.dsc->coreSlice;
    const int64_t *slice = core < slices.size() ? spec::findDim(slices[core], dim) : nullptr;
    uint64_t begin = uint64_t(slice ? *slice : 0) * uint64_t(extent) * wholeSticks;
    map.sliceBegin[core] = int64_t((uint64_t(map.sliceBegin[core]) + begin) & INT32_MAX);
  }
  wholeSticks *= uint64_t(extent) * uint64_t(kernel.slices(dim));
}

static Expected<TensorMap> mapTensor(const Kernel &kernel, size_t index) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  const DscTensor &tensor = dsc.tensors[index];
  SPYRE_ASSIGN_OR_RETURN(const DscLayout *layout, findLayout(kernel, tensor));
  TensorMap map;
  map.index = index;
  map.inLx = tensor.inLx;
  for (size_t i = 0; i < layout->stickDims.size(); ++i) {
    map.stick.emplace_back(layout->stickDims[i], layout->stickSizes[i]);
  }
  map.stickDim = layout->stickDims[0];
  for (const std::string &dim : layout->stickDims) {
    map.stickDim = map.stepElements(dim) > map.stepElements(map.stickDim) ? dim : map.stickDim;
  }
  map.lanes = numerics::elemsPerStick(tensor.format);
  map.startAddress = tensor.startAddress;
  map.sliceBegin.resize(tensor.inLx ? size_t(dsc.cores) : 0);
  uint64_t wholeSticks = 1;
  int64_t strideBytes = kStickBytes;
  std::vector<std::string> seen;
  for (const std::string &dim : tensor.dimOrder) {
    int64_t elements = map.stepElements(dim);
    bool isStick = elements > 1;
    if (!spec::findDim(dsc.size, dim) || std::find(seen.begin(), seen.end(), dim) != seen.end()) {
      return error<5302>("{}: dimension '{}' of {} is unknown or repeated", kernel.name, dim,
                         tensor.name);
    }
    seen.push_back(dim);
    SPYRE_ASSIGN_OR_RETURN(int64_t scale, scaleOf(kernel, tensor, dim, isStick));
    if (scale < 0) {
      map.sparse |= isStick;
      continue;
    }
    if (isIndirectDim(tensor, dim)) {
      SPYRE_ASSIGN_OR_RETURN(int64_t rows, addRows(kernel, tensor, dim, strideBytes, map));
      if (__builtin_mul_overflow(strideBytes, rows, &strideBytes) || strideBytes > kMaxBytes) {
        return error<5302>("{}: {} is larger than any memory", kernel.name, tensor.name);
      }
      continue;
    }
    SPYRE_ASSIGN_OR_RETURN(Extent extent, extentOf(kernel, tensor, dim));
    if (isStick) {
      if (kernel.perCore(dim) % elements != 0) {
        return error<5302>(
            "{}: a core takes {} elements of '{}', which are not whole sticks of {}; "
            "split another dimension",
            kernel.name, kernel.perCore(dim), dim, elements);
      }
      extent = {ceilDiv(extent.memory, elements), kernel.perCore(dim) / elements};
    }
    if (extent.visited > extent.memory) {
      return error<5302>("{}: {} holds {} steps of '{}' but a core visits {}", kernel.name,
                         tensor.name, extent.memory, dim, extent.visited);
    }
    map.dims.push_back({dim, extent.visited, strideBytes});
    addSlices(kernel, dim, extent.memory, wholeSticks, map);
    if (__builtin_mul_overflow(strideBytes, extent.memory, &strideBytes) ||
        strideBytes > kMaxBytes) {
      return error<5302>("{}: {} is larger than any memory", kernel.name, tensor.name);
    }
  }
  for (const std::string &dim : layout->stickDims) {
    bool partly = map.sparse && layout->stickDims.size() > 1;
    if (partly || std::find(seen.begin(), seen.end(), dim) == seen.end()) {
      return error<5302>("{}: {} does not list its stick dimension '{}'{}", kernel.name,
                         tensor.name, dim,
                         partly ? " as one it has; a stick of several has all of them" : "");
    }
  }
  return map;
}

static Status checkRange(const Kernel &kernel, const TensorMap &map) {
  const arch::DeviceDesc &device = *kernel.device;
  const std::string &name = kernel.dsc->tensors[map.index].name;
  if (map.startAddress.size() != size_t(kernel.dsc->cores)) {
    return error<5302>("{}: {} has {} start addresses for {} cores", kernel.name, name,
                       map.startAddress.size(), kernel.dsc->cores);
  }
  int64_t span = map.spanBytes();
  int64_t segment = map.inLx ? 0 : map.startAddress[0] / device.segmentBytes;
  if (!map.inLx && (map.startAddress[0] < 0 || segment >= device.programSegment())) {
    return error<5302>("{}: {} starts at {}, outside of the data segments", kernel.name, name,
                       map.startAddress[0]);
  }
  int64_t low = map.inLx ? 0 : device.segmentBase(segment);
  int64_t high = map.inLx ? device.lxStagingBegin() : low + device.segmentBytes;
  for (int64_t start : map.startAddress) {
    if (start < low || start > high || span > high - start || start % kStickBytes != 0) {
      return error<5302>(
          "{}: {} of {} bytes per core starts at {}; it must be a multiple of {} and "
          "end inside {} [{}, {}), the same on all cores",
          kernel.name, name, span, start, kStickBytes,
          map.inLx ? "the planner's part of LX" : "its segment", low, high);
    }
  }
  // A gather addresses rows, not a range.
  const bool isExempt = map.indices >= 0 && device.division.indirectTablesExceedSpan;
  if (!map.inLx && !isExempt && span > device.spanLimitBytes) {
    return error<5304>("{}: each core touches {} bytes of DDR for {}, the limit is {}; split an "
                       "outer dimension of this tensor over more cores",
                       kernel.name, span, name, device.spanLimitBytes);
  }
  return Status::success();
}

/// The format of the values; indices are 32-bit integers whatever they point into.
static Status checkTopKFormats(Kernel &kernel, const DscTensor &input, const DscTensor &output) {
  kernel.format = input.format;
  DataFormat wanted = kernel.dsc->op == "topkindex" ? DataFormat::IeeeInt32 : input.format;
  bool isFloat = input.format == DataFormat::Sen169Fp16 || input.format == DataFormat::IeeeFp32;
  if (!isFloat || output.format != wanted) {
    return error<5302>("{}: takes {} and gives {}; it compares SEN169_FP16 or IEEE_FP32 and gives "
                       "values of that format or indices in IEEE_INT32",
                       kernel.name, numerics::formatName(input.format),
                       numerics::formatName(output.format));
  }
  return Status::success();
}

/// Of operations that have other formats in than out.
static Status checkMixedFormats(const Kernel &kernel, const std::vector<size_t> &inputs) {
  bool fits = kernel.format == kernel.op.to;
  std::string given;
  for (size_t index : inputs) {
    DataFormat format = kernel.dsc->tensors[index].format;
    fits &= format == kernel.op.from;
    given += fmt::format("{} ", numerics::formatName(format));
  }
  return fits ? Status::success()
              : error<5302>("{}: {}to {}; it takes {} and gives {}", kernel.name, given,
                            numerics::formatName(kernel.format),
                            numerics::formatName(kernel.op.from),
                            numerics::formatName(kernel.op.to));
}

static Status checkFormats(Kernel &kernel, const std::vector<size_t> &inputs) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  kernel.format = dsc.tensors[size_t(dsc.output)].format;
  if (kernel.op.mixesFormats()) {
    return checkMixedFormats(kernel, inputs);
  }
  if (kernel.op.opClass == OpClass::TopK) {
    return checkTopKFormats(kernel, dsc.tensors[inputs[0]], dsc.tensors[size_t(dsc.output)]);
  }
  for (const DscTensor &tensor : dsc.tensors) {
    if (tensor.indirection == DscTensor::Indirection::Index) {
      continue;
    }
    if (tensor.format != kernel.format) {
      return error<5302>("{}: {} is {} but the output is {}; convert first", kernel.name,
                         tensor.name, numerics::formatName(tensor.format),
                         numerics::formatName(kernel.format));
    }
  }
  bool half = kernel.format == DataFormat::Sen169Fp16;
  bool single = kernel.format == DataFormat::IeeeFp32;
  bool isProduct =
      kernel.op.opClass == OpClass::Matmul || kernel.op.opClass == OpClass::Convolution;
  bool fits = (half && kernel.op.opClass != OpClass::Scan && !kernel.op.computesIntegersOnly()) ||
              (single && !isProduct && !kernel.op.computesIntegersOnly()) ||
              (kernel.format == DataFormat::IeeeInt32 && kernel.op.computesIntegers());
  if (kernel.op.opClass == OpClass::Copy) {
    fits = numerics::elementBytes(kernel.format) > 0 && numerics::elemsPerStick(kernel.format) > 0;
  }
  if (kernel.op.opClass == OpClass::Restickify) { // elements are moved, not computed on
    int64_t bytes = numerics::elementBytes(kernel.format);
    fits = bytes == 1 || bytes == 2 || bytes == 4;
  }
  if (!fits) {
    return error<5302>("{}: format {} is not lowered for this operation", kernel.name,
                       numerics::formatName(kernel.format));
  }
  return Status::success();
}

/// Tensor indices of the real inputs: reductions list their output as accumulator, too.
static Expected<std::vector<size_t>> inputIndices(const Kernel &kernel) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  int64_t tensors = int64_t(dsc.tensors.size());
  if (dsc.output < 0 || dsc.output >= tensors) {
    return error<5302>("{}: the output is tensor {} of {}", kernel.name, dsc.output, tensors);
  }
  std::vector<size_t> indices;
  for (int64_t index : dsc.inputs) {
    if (index < 0 || index >= tensors) {
      return error<5302>("{}: an input is tensor {} of {}", kernel.name, index, tensors);
    }
    if (index != dsc.output) {
      indices.push_back(size_t(index));
    }
  }
  if (indices.size() != kernel.op.inputs) {
    return error<5302>("{}: {} inputs, the operation takes {}", kernel.name, indices.size(),
                       kernel.op.inputs);
  }
  return indices;
}

/// An input in DDR or LX, with how it comes from other cores' LX or by indices.
static Status addInput(Kernel &kernel, size_t index) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  const DscTensor &tensor = dsc.tensors[index];
  const bool arrives = !tensor.ownerSlice.empty();
  Kernel owners;
  spec::SuperDsc divided;
  if (arrives) {
    divided = dividedLike(dsc, tensor);
    owners = kernel;
    owners.dsc = &divided;
    SPYRE_RETURN_IF_ERROR(checkBox(owners));
  }
  SPYRE_ASSIGN_OR_RETURN(TensorMap map, mapTensor(arrives ? owners : kernel, index));
  map.role = fmt::format("in{}", kernel.inputs.size());
  if (tensor.indirection == DscTensor::Indirection::Value) {
    SPYRE_ASSIGN_OR_RETURN(IndexMap indices, mapIndex(kernel, map));
    for (size_t core = 0; core < map.startAddress.size(); ++core) {
      map.startAddress[core] = spec::valueStart(dsc, tensor, core);
    }
    indices.map.role = fmt::format("idx{}", kernel.indices.size());
    SPYRE_RETURN_IF_ERROR(checkRange(kernel, indices.map));
    for (const auto &other : kernel.indices) {
      if (!other->map.sparse && !indices.map.sparse &&
          other->map.stickDim != indices.map.stickDim) {
        return error<5302>("{}: index tensors with sticks along '{}' and '{}'; use one layout",
                           kernel.name, other->map.stickDim, indices.map.stickDim);
      }
    }
    map.indices = int(kernel.indices.size());
    kernel.indices.push_back(std::make_shared<const IndexMap>(std::move(indices)));
  }
  SPYRE_RETURN_IF_ERROR(checkRange(kernel, map));
  if (arrives) {
    SPYRE_ASSIGN_OR_RETURN(Arrival arrival, planArrival(kernel, tensor, map));
    map.arrival = std::make_shared<const Arrival>(std::move(arrival));
    map.inLx = false;
  }
  kernel.inputs.push_back(std::move(map));
  return Status::success();
}

Expected<Kernel> analyse(const spec::SuperDsc &dsc, const arch::DeviceDesc &device) {
  Kernel kernel;
  kernel.dsc = &dsc;
  kernel.device = &device;
  kernel.name = fmt::format("{}_{}", dsc.index, dsc.op.substr(0, 64));
  SPYRE_RETURN_IF_ERROR(checkExtension(dsc.op, device));
  SPYRE_ASSIGN_OR_RETURN(kernel.op, findOp(dsc.op));
  Expected<spec::WindowSteps> windows = spec::windowSteps(dsc);
  if (!windows) {
    return error<5302>("{}", windows.status().text());
  }
  kernel.windows = *windows;
  SPYRE_RETURN_IF_ERROR(checkBox(kernel));
  SPYRE_ASSIGN_OR_RETURN(std::vector<size_t> indices, inputIndices(kernel));
  SPYRE_RETURN_IF_ERROR(checkFormats(kernel, indices));
  SPYRE_RETURN_IF_ERROR(checkIndirection(kernel));
  for (size_t index : indices) {
    SPYRE_RETURN_IF_ERROR(addInput(kernel, index));
  }
  SPYRE_ASSIGN_OR_RETURN(kernel.output, mapTensor(kernel, size_t(dsc.output)));
  kernel.output.role = "out";
  kernel.output.isOutput = true;
  SPYRE_RETURN_IF_ERROR(checkRange(kernel, kernel.output));
  SPYRE_RETURN_IF_ERROR(checkArrivals(kernel));
  return kernel;
}

} // namespace spyre::backend
