//===- SuperDscVerifier.cpp - is a SuperDSC consistent, and does it fit the machine ---------===//
//
// What a back end may rely on after reading somebody else's file: names resolve, sizes divide,
// every stick a core can touch lies inside the memory it names.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Spec/Windows.h"

#include <algorithm>
#include <set>

namespace spyre::spec {

namespace {

class Verifier {
public:
  Verifier(const SuperDsc &dsc, const arch::DeviceDesc &device) : dsc(dsc), device(device) {}

  Status run() {
    SPYRE_RETURN_IF_ERROR(checkSizes());
    SPYRE_RETURN_IF_ERROR(checkCoreMap());
    SPYRE_RETURN_IF_ERROR(checkWindows());
    for (const DscLayout &layout : dsc.layouts) {
      SPYRE_RETURN_IF_ERROR(checkLayout(layout));
    }
    for (const DscTensor &tensor : dsc.tensors) {
      SPYRE_RETURN_IF_ERROR(checkTensor(tensor));
    }
    SPYRE_RETURN_IF_ERROR(checkMasking());
    return checkOperands();
  }

private:
  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...args) const {
    return error<5003>("{}_{}: {}", dsc.index, dsc.op.substr(0, 64),
                       fmt::format(format, std::forward<Args>(args)...));
  }

  Status checkSizes() const {
    if (dsc.cores < 1 || dsc.cores > device.cores) {
      return fault("{} cores are used, the machine has {}", dsc.cores, device.cores);
    }
    if (dsc.size.size() != dsc.slices.size() || dsc.size.size() != dsc.perCoreSize.size()) {
      return fault("N_, numWkSlicesPerDim_ and ss_ name {}, {} and {} dimensions; they must agree",
                   dsc.size.size(), dsc.slices.size(), dsc.perCoreSize.size());
    }
    std::set<std::string> seen;
    int64_t cores = 1, points = 1;
    for (const auto &[dim, size] : dsc.size) {
      const int64_t *slices = findDim(dsc.slices, dim);
      const int64_t *perCore = findDim(dsc.perCoreSize, dim);
      if (!seen.insert(dim).second || !slices || !perCore) {
        return fault("dimension '{}' of N_ is repeated, or not in numWkSlicesPerDim_ and ss_",
                     dim.substr(0, 40));
      }
      if (dim == dsc.uneven.dim) {
        SPYRE_RETURN_IF_ERROR(checkUneven(size, *slices, *perCore));
      } else if (size < 1 || *slices < 1 || *perCore < 1 || size % *slices != 0 ||
                 size / *slices != *perCore) {
        return fault("dimension '{}': size {} is not {} slices of {}", dim.substr(0, 40), size,
                     *slices, *perCore);
      }
      if (__builtin_mul_overflow(points, size, &points) ||
          __builtin_mul_overflow(cores, *slices, &cores)) {
        return fault("the iteration space does not fit 64 bits");
      }
    }
    if (!dsc.uneven.dim.empty() && !seen.count(dsc.uneven.dim)) {
      return fault("'{}' is divided unevenly and not in N_", dsc.uneven.dim.substr(0, 40));
    }
    return cores == dsc.cores ? Status::success()
                              : fault("the slices make {} pieces for {} cores", cores, dsc.cores);
  }

  /// Slices of two sizes, the larger first, that need nothing of each other and lie in DDR.
  Status checkUneven(int64_t size, int64_t slices, int64_t large) const {
    const DscUneven &uneven = dsc.uneven;
    const int64_t others = slices - uneven.largeSlices;
    int64_t sum = 0, rest = 0;
    const bool fits = uneven.largeSlices >= 1 && others >= 1 && uneven.smallSize >= 1 &&
                      large > uneven.smallSize && slices <= device.cores &&
                      !__builtin_mul_overflow(large, uneven.largeSlices, &sum) &&
                      !__builtin_mul_overflow(uneven.smallSize, others, &rest) &&
                      !__builtin_add_overflow(sum, rest, &sum) && sum == size;
    if (!fits) {
      return fault("dimension '{}': size {} is not {} slices of {} and {} of {}",
                   uneven.dim.substr(0, 40), size, uneven.largeSlices, large, others,
                   uneven.smallSize);
    }
    for (const DscTensor &tensor : dsc.tensors) {
      const int64_t *scale = findDim(tensor.scale, uneven.dim);
      const bool isOutput = &tensor - dsc.tensors.data() == dsc.output;
      if (tensor.inLx || tensor.indirection != DscTensor::Indirection::None || isWindowOp(dsc.op) ||
          (isOutput && (!scale || *scale != 1))) {
        return fault("'{}' is divided unevenly, but {} is in LX, indirectly accessed or of a "
                     "window op, or '{}' is reduced",
                     uneven.dim.substr(0, 40), tensor.name, uneven.dim.substr(0, 40));
      }
    }
    return Status::success();
  }

  Status checkCoreMap() const {
    if (int64_t(dsc.coreSlice.size()) != dsc.cores) {
      return fault("coreIdToWkSlice_ has {} entries for {} cores", dsc.coreSlice.size(), dsc.cores);
    }
    // By position in the grid of slices, which has as many places as there are cores.
    std::vector<bool> taken(dsc.coreSlice.size());
    for (size_t core = 0; core < dsc.coreSlice.size(); ++core) {
      int64_t position = 0;
      for (const auto &[dim, slices] : dsc.slices) {
        const int64_t *slice = findDim(dsc.coreSlice[core], dim);
        if (!slice || *slice < 0 || *slice >= slices) {
          return fault("core {} has no slice in 0..{} of '{}'", core, slices - 1, dim);
        }
        position = position * slices + *slice;
      }
      if (dsc.coreSlice[core].size() != dsc.slices.size() || taken[size_t(position)]) {
        return fault("core {} has a slice of an unknown dimension, or that of another core", core);
      }
      taken[size_t(position)] = true;
    }
    return Status::success();
  }

  /// The windows of a convolution or pooling op stay inside of the input.
  Status checkWindows() {
    SPYRE_ASSIGN_OR_RETURN(steps, windowSteps(dsc));
    for (size_t i = 0; i < steps.size() && isWindowOp(dsc.op); ++i) {
      const WindowNames &names = kWindowNames[i];
      const int64_t *pixels = findDim(dsc.size, names.pixel);
      const int64_t *elements = findDim(dsc.size, names.window);
      const int64_t *input = findDim(dsc.size, names.input);
      if (!pixels && !elements && !input) {
        continue;
      }
      if (!pixels || !elements || !input || *findDim(dsc.slices, names.window) != 1 ||
          *findDim(dsc.slices, names.input) != 1) {
        return fault("'{}', '{}' and '{}' are one window; N_ has all or none, and the last two are "
                     "not split",
                     names.pixel, names.window, names.input);
      }
      const int64_t reach = windowReach(steps[i], *pixels, *elements);
      if (reach < 1 || reach > *input) {
        return fault("{} pixels and {} window elements along '{}' need {} elements of '{}', which "
                     "has {}",
                     *pixels, *elements, names.pixel, reach, names.input, *input);
      }
    }
    return Status::success();
  }

  Status checkLayout(const DscLayout &layout) const {
    std::set<std::string> dims;
    for (const std::string &dim : layout.dimOrder) {
      if (!dims.insert(dim).second || !findDim(dsc.size, dim)) {
        return fault("layout {}: dimension '{}' is repeated or not in N_", layout.label,
                     dim.substr(0, 40));
      }
    }
    // Quantised families interleave dimensions in a stick, one of them perhaps in two parts.
    const std::vector<std::string> &sticks = layout.stickDims;
    bool fits = !sticks.empty() && layout.stickSizes.size() == sticks.size() && lanesOf(layout) > 0;
    for (size_t i = 0; i < sticks.size(); ++i) {
      fits = fits && dims.count(sticks[i]) && (i == 0 || sticks[i] != sticks[i - 1]);
    }
    return fits ? Status::success()
                : fault("layout {}: the stick must be one of its dimensions, or several with a "
                        "size each, neighbours different",
                        layout.label);
  }

  /// Elements of a stick; 0 when that is no sensible number.
  static int64_t lanesOf(const DscLayout &layout) {
    int64_t lanes = 1;
    for (int64_t size : layout.stickSizes) {
      if (size < 1 || size > 1024 || lanes > 1024) {
        return 0;
      }
      lanes *= size;
    }
    return lanes;
  }

  /// Elements of \p dim in one stick; 1 for other dimensions.
  static int64_t lanesAlong(const DscLayout &layout, const std::string &dim) {
    int64_t lanes = 1;
    for (size_t i = 0; i < layout.stickDims.size(); ++i) {
      lanes *= layout.stickDims[i] == dim ? layout.stickSizes[i] : 1;
    }
    return lanes;
  }

  static bool isStickDim(const DscLayout &layout, const std::string &dim) {
    return std::find(layout.stickDims.begin(), layout.stickDims.end(), dim) !=
           layout.stickDims.end();
  }

  const DscLayout *findLayout(const std::string &label) const {
    for (const DscLayout &layout : dsc.layouts) {
      if (layout.label == label) {
        return &layout;
      }
    }
    return nullptr;
  }

  Status checkTensor(const DscTensor &tensor) const {
    const DscLayout *layout = findLayout(tensor.layout);
    if (!layout) {
      return fault("{}: no layout '{}'", tensor.name, tensor.layout);
    }
    const int64_t lanes = lanesOf(*layout);
    if (lanes < 1 || lanes != numerics::elemsPerStick(tensor.format)) {
      return fault("{}: sticks of {} elements do not fit format {}", tensor.name, lanes,
                   numerics::formatName(tensor.format));
    }
    std::vector<std::string> own = tensor.dimOrder, shared = layout->dimOrder;
    std::sort(own.begin(), own.end());
    std::sort(shared.begin(), shared.end());
    if (own != shared || tensor.scale.size() != shared.size()) {
      return fault("{}: its dimensions or scales are not those of layout {}", tensor.name,
                   layout->label);
    }
    for (const auto &[dim, scale] : tensor.scale) {
      const bool isStick = isStickDim(*layout, dim);
      if (!std::binary_search(shared.begin(), shared.end(), dim) ||
          (scale != 1 && scale != -1 && !(isStick && scale == -2))) {
        return fault("{}: scale {} of '{}'; it is 1, -1, or -2 for the stick", tensor.name, scale,
                     dim.substr(0, 40));
      }
    }
    for (const auto &[dim, gap] : tensor.backGap) {
      const int64_t *scale = findDim(tensor.scale, dim);
      if (!scale || *scale != 1 || gap == 0) {
        return fault("{}: a gap of {} in '{}', which the tensor does not have", tensor.name, gap,
                     dim.substr(0, 40));
      }
    }
    SPYRE_RETURN_IF_ERROR(checkIndirection(tensor));
    SPYRE_RETURN_IF_ERROR(checkOwners(tensor));
    return checkAddresses(tensor, *layout);
  }

  /// Index and value tensors name each other, and an index tensor is one of those of computeOp_.
  Status checkIndirection(const DscTensor &tensor) const {
    using Indirection = DscTensor::Indirection;
    const int64_t self = &tensor - dsc.tensors.data();
    const bool isIndex = tensor.indirection == Indirection::Index;
    const bool listed = std::count(dsc.indexTensors.begin(), dsc.indexTensors.end(), self) == 1;
    if (isIndex != listed) {
      return fault("{}: an index tensor, or one of indirectAccessIndexLabeledDs, but not both",
                   tensor.name);
    }
    if (tensor.indirection == Indirection::None) {
      return tensor.indirectDims.empty()
                 ? Status::success()
                 : fault("{}: limited dimensions without indirect access", tensor.name);
    }
    const bool known =
        tensor.indirectPartner >= 0 && tensor.indirectPartner < int64_t(dsc.tensors.size());
    const Indirection wanted = isIndex ? Indirection::Value : Indirection::Index;
    if (!known || dsc.tensors[size_t(tensor.indirectPartner)].indirection != wanted) {
      return fault("{}: the other end of its indirect access is no {} tensor", tensor.name,
                   isIndex ? "value" : "index");
    }
    return Status::success();
  }

  /// Who holds which slice of an input in LX: each core all dims or nothing, each slice some core.
  Status checkOwners(const DscTensor &tensor) const {
    if (tensor.ownerSlice.empty()) {
      return Status::success();
    }
    const int64_t self = &tensor - dsc.tensors.data();
    if (!tensor.inLx || self == dsc.output || int64_t(tensor.ownerSlice.size()) != dsc.cores) {
      return fault("{}: slices of its own for {} of {} cores; only an input in LX may have them",
                   tensor.name, tensor.ownerSlice.size(), dsc.cores);
    }
    std::vector<std::string> held;
    int64_t pieces = 1;
    for (const auto &[dim, scale] : tensor.scale) {
      const int64_t slices = scale == 1 ? slicesOf(dsc, tensor, dim) : 1;
      if (*findDim(dsc.size, dim) % slices != 0) {
        return fault("{}: '{}' of size {} is not {} slices of equal size", tensor.name, dim,
                     *findDim(dsc.size, dim), slices);
      }
      pieces *= std::min(slices, device.cores + 1);
      if (pieces > dsc.cores) {
        return fault("{}: more slices than the {} cores that may hold them; use more cores",
                     tensor.name, dsc.cores);
      }
      if (scale == 1) {
        held.push_back(dim);
      }
    }
    std::set<std::vector<int64_t>> owned;
    for (size_t core = 0; core < tensor.ownerSlice.size(); ++core) {
      std::vector<int64_t> position;
      for (const std::string &dim : held) {
        const int64_t *slice = findDim(tensor.ownerSlice[core], dim);
        position.push_back(slice && *slice >= 0 ? *slice : -1);
      }
      const bool holds = !tensor.ownerSlice[core].empty();
      if (tensor.ownerSlice[core].size() != (holds ? held.size() : 0) ||
          (holds && std::count(position.begin(), position.end(), -1) > 0)) {
        return fault("{}: core {} has slices of {} of the {} dimensions; name all or none",
                     tensor.name, core, tensor.ownerSlice[core].size(), held.size());
      }
      if (holds) {
        owned.insert(std::move(position));
      }
    }
    return int64_t(owned.size()) == pieces
               ? Status::success()
               : fault("{}: {} of its {} slices are in no core's LX", tensor.name,
                       pieces - int64_t(owned.size()), pieces);
  }

  /// Sticks between the first and the last one a core touches, both included, by the address rule.
  Expected<int64_t> spanSticks(const DscTensor &tensor, const DscLayout &layout) const {
    int64_t stride = 1, span = 1;
    for (const std::string &dim : tensor.dimOrder) {
      if (*findDim(tensor.scale, dim) < 0) {
        continue;
      }
      const bool isStick = isStickDim(layout, dim);
      const int64_t lanes = lanesAlong(layout, dim);
      const int64_t *foundGap = findDim(tensor.backGap, dim);
      const int64_t gap = foundGap ? *foundGap : 0;
      const bool isIndex = tensor.indirection == DscTensor::Indirection::Index;
      const bool isIndirect = std::find(tensor.indirectDims.begin(), tensor.indirectDims.end(),
                                        dim) != tensor.indirectDims.end();
      int64_t perCore = tensor.ownerSlice.empty()
                            ? *findDim(dsc.perCoreSize, dim)
                            : *findDim(dsc.size, dim) / slicesOf(dsc, tensor, dim);
      if (isIndex && !isIndexDim(tensor, dim)) {
        continue; // Its scales are 1 everywhere; it has only the dims its value is indexed by.
      }
      const int64_t small = dim == dsc.uneven.dim ? dsc.uneven.smallSize : 0;
      if (isStick && (perCore % lanes != 0 || small % lanes != 0) && !isIndex) {
        return fault("{}: a core has {} elements of '{}', not whole sticks of {}", tensor.name,
                     small % lanes != 0 ? small : perCore, dim, lanes);
      }
      const bool reversed = dsc.op == "ReStickifyOpHBM";
      int64_t extent = tensor.inLx ? perCore : *findDim(dsc.size, dim);
      const bool overflow = reversed ? __builtin_sub_overflow(extent, gap, &extent)
                                     : __builtin_add_overflow(extent, gap, &extent);
      if (overflow || extent < 1 || (gap < 0 && !reversed && !isIndirect)) {
        return fault("{}: gap {} of '{}' leaves no memory", tensor.name, gap, dim);
      }
      if (isWindowOp(dsc.op)) {
        perCore = windowPerCore(dsc, steps, dim);
      }
      // The padded tail of a restickify has no memory; any row of a value tensor may be read.
      perCore = isIndirect ? extent : std::min(perCore, extent);
      if (isStick) {
        perCore = ceilDiv(perCore, lanes);
        extent = extent / lanes + (extent % lanes != 0);
      }
      int64_t reach = 0;
      if (__builtin_mul_overflow(perCore - 1, stride, &reach) ||
          __builtin_add_overflow(span, reach, &span) ||
          __builtin_mul_overflow(stride, extent, &stride)) {
        return fault("{}: its extent does not fit 64 bits", tensor.name);
      }
    }
    return span;
  }

  /// Whether the index tensor \p tensor has the dim: its value tensor says so.
  bool isIndexDim(const DscTensor &tensor, const std::string &dim) const {
    const std::vector<std::string> &dims = dsc.tensors[size_t(tensor.indirectPartner)].indirectDims;
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  }

  Status checkAddresses(const DscTensor &tensor, const DscLayout &layout) const {
    SPYRE_ASSIGN_OR_RETURN(int64_t sticks, spanSticks(tensor, layout));
    if (int64_t(tensor.startAddress.size()) != dsc.cores) {
      return fault("{}: {} start addresses for {} cores", tensor.name, tensor.startAddress.size(),
                   dsc.cores);
    }
    if (tensor.symbolic) {
      return checkSymbols(tensor, sticks);
    }
    const int64_t limit =
        tensor.inLx ? device.lxStagingBegin() : device.segmentBase(device.programSegment());
    // Cores may share a stick of indices.
    const bool isIndex = tensor.indirection == DscTensor::Indirection::Index && !tensor.inLx;
    const int64_t unit =
        isIndex ? std::max<int64_t>(numerics::elementBytes(tensor.format), 1) : device.stickBytes;
    for (size_t core = 0; core < tensor.startAddress.size(); ++core) {
      const int64_t start = tensor.indirection == DscTensor::Indirection::Value
                                ? valueStart(dsc, tensor, core)
                                : tensor.startAddress[core];
      if (start < 0 || start % unit != 0 || start > limit ||
          sticks > (limit - start) / device.stickBytes) {
        return fault("{}: {} sticks from address {}; they must start at a multiple of {} and end "
                     "at {} in {}",
                     tensor.name, sticks, start, unit, limit,
                     tensor.inLx ? "the planner's part of LX" : "the data segments");
      }
    }
    return Status::success();
  }

  /// Where the symbols point is known at launch; that the tensor fits a segment is known now.
  Status checkSymbols(const DscTensor &tensor, int64_t sticks) const {
    if (tensor.inLx || sticks > device.segmentBytes / device.stickBytes) {
      return fault("{}: symbolic addresses in LX, or {} sticks, which no segment holds",
                   tensor.name, sticks);
    }
    const bool named = std::all_of(tensor.startAddress.begin(), tensor.startAddress.end(),
                                   [](int64_t id) { return id < 0; });
    return named ? Status::success()
                 : fault("{}: the ids of its symbols must be negative", tensor.name);
  }

  Status checkMasking() const {
    for (const auto &[dim, range] : dsc.masking) {
      const int64_t *size = findDim(dsc.size, dim);
      if (!size || range.first < 0 || range.second < 1 || range.first > *size ||
          range.second != *size - range.first) {
        return fault("coordinateMasking_ of '{}' is [{}, {}]; it must be the tail of a dimension",
                     dim.substr(0, 40), range.first, range.second);
      }
    }
    const bool named = std::any_of(dsc.constants.begin(), dsc.constants.end(),
                                   [](const DscConstant &c) { return c.name == "samv-maskvalue"; });
    return dsc.masking.empty() || named
               ? Status::success()
               : fault("coordinateMasking_ without a constant 'samv-maskvalue'");
  }

  Status checkOperands() const {
    const int64_t count = int64_t(dsc.tensors.size());
    bool known = dsc.output >= 0 && dsc.output < count && !dsc.inputs.empty();
    for (const std::vector<int64_t> *list : {&dsc.inputs, &dsc.indexTensors}) {
      for (int64_t index : *list) {
        known = known && index >= 0 && index < count;
      }
    }
    if (!known) {
      return fault("computeOp_ needs inputs and an output among its {} tensors", count);
    }
    return dsc.exUnit == "pt" || dsc.exUnit == "sfp"
               ? Status::success()
               : fault("exUnit '{}' is neither pt nor sfp", dsc.exUnit.substr(0, 40));
  }

  const SuperDsc &dsc;
  const arch::DeviceDesc &device;
  WindowSteps steps;
};

} // namespace

Status verifySuperDsc(const SuperDsc &dsc, const arch::DeviceDesc &device) {
  return Verifier(dsc, device).run();
}

} // namespace spyre::spec
