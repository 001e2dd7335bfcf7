//===- SuperDscEmitter.cpp - OpSpec -> SuperDSC in twelve steps -----------------------------===//
//
// Steps as numbered in codegen-and-backend 2.1. Extents, gaps and start addresses are computed from
// the device strides of the coordinates, not from positions, so that the address rule of SuperDsc.h
// holds for permuted tensors and constant slices too; on tensors without constant slices the
// numbers are those of the documented formulas.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Spec/Windows.h"

#include "SuperDscPlan.h"
#include "SuperDscSticks.h"

#include <algorithm>
#include <limits>

namespace spyre::spec {

namespace {

constexpr int64_t kStickBytes = 128;
constexpr const char *kMatmulLabels[] = {"ki", "kj", "y", "x", "mb", "out", "in"};
constexpr const char *kOtherLabels[] = {"mb", "x", "y", "i", "j", "ki", "kj"};
constexpr size_t kLabelCount = 7;

class Emitter {
public:
  Emitter(const OpSpec &source, int64_t index, const EmitOptions &options)
      : spec(normalizeForEmission(source)), opClass(classifyOp(spec)), options(options) {
    dsc.index = index;
  }

  Expected<SuperDsc> run() {
    SPYRE_RETURN_IF_ERROR(nameDims());
    planArgs();
    SPYRE_RETURN_IF_ERROR(checkIndirect(spec.op, opClass, dims, args));
    SPYRE_RETURN_IF_ERROR(addVirtualStick());
    SPYRE_RETURN_IF_ERROR(opClass == OpClass::Matmul       ? checkMatmul()
                          : opClass == OpClass::Restickify ? checkRestickify()
                          : isTopK()                       ? checkTopK()
                          : opClass == OpClass::Conversion ? Status::success()
                                                           : checkSameStick());
    SPYRE_RETURN_IF_ERROR(checkSticks(spec));
    if (isPair() && !isStickReduction()) {
      return fault("it reduces the stick of its input into one stick per point; the output may "
                   "not have a stick symbol");
    }
    SPYRE_RETURN_IF_ERROR(padSizes());
    completeOrders();
    dsc.format = relabel(firstData().arg->deviceDtype);
    mapCores();
    for (size_t i = 0; i < args.size(); ++i) {
      SPYRE_RETURN_IF_ERROR(emitTensor(i));
    }
    emitMasking();
    nameOp();
    return std::move(dsc);
  }

private:
  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...values) const {
    return error<5001>("op '{}': {}", spec.op, fmt::format(format, std::forward<Args>(values)...));
  }

  bool isMatmulOp() const { return opClass == OpClass::Matmul; }
  bool isTopK() const {
    return opClass == OpClass::Reduction && (spec.op == "topkvalue" || spec.op == "topkindex");
  }
  /// Two values per output stick.
  bool isPair() const {
    return opClass == OpClass::Reduction && (spec.op == "exx2" || spec.op == "exx2_zeromean");
  }
  /// Step 3: whose order and stick define the op's.
  ArgPlan &reference() { return spec.isReduction ? args.front() : args.back(); }

  /// The first argument that is no index tensor.
  const ArgPlan &firstData() const {
    size_t i = 0;
    while (args[i].arg->isIndex()) {
      ++i;
    }
    return args[i];
  }

  // Steps 1 and 2.
  Status nameDims() {
    const size_t count = spec.iterationSpace.size();
    if (count > kLabelCount + (isMatmulOp() ? 0 : 1)) {
      return fault("{} dimensions; the interface has names for {}", count,
                   kLabelCount + (isMatmulOp() ? 0 : 1));
    }
    for (size_t i = 0; i < count; ++i) {
      const IterationDim &from = spec.iterationSpace[i];
      const char *label = isMatmulOp()     ? kMatmulLabels[kLabelCount - count + i]
                          : i + 1 == count ? "out"
                                           : kOtherLabels[i];
      dims.push_back(
          {from.symbol, label, from.range, from.range, from.cores, from.uneven, from.fastest});
    }
    return Status::success();
  }

  int64_t findDimOf(const std::string &symbol) const {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].symbol == symbol) {
        return int64_t(d);
      }
    }
    return -1;
  }

  void planArgs() {
    for (const TensorArg &arg : spec.args) {
      ArgPlan plan;
      plan.arg = &arg;
      plan.lanes = numerics::elemsPerStick(arg.deviceDtype);
      plan.deviceDim.assign(dims.size(), -1);
      plan.unit.assign(dims.size(), 1);
      const size_t outer = arg.deviceSize.size() - stickRank(arg);
      plan.strideSticks.assign(outer, 1);
      int64_t stride = 1;
      for (size_t j = outer; j-- > 0;) {
        plan.strideSticks[j] = stride;
        stride *= arg.deviceSize[j];
        const Coordinate &coordinate = arg.deviceCoordinates[j];
        if (coordinate.kind == Coordinate::Kind::Indirect) {
          planIndirect(args, coordinate.symbol, int64_t(j), plan);
        } else if (coordinate.kind != Coordinate::Kind::Constant) {
          const int64_t dim = findDimOf(coordinate.symbol);
          plan.deviceDim[size_t(dim)] = int64_t(j);
          plan.order.push_back(size_t(dim));
        }
      }
      planStick(plan);
      plan.ownDims = plan.order.size();
      args.push_back(std::move(plan));
    }
  }

  void planStick(ArgPlan &plan) const {
    const std::vector<Coordinate> &coordinates = plan.arg->deviceCoordinates;
    for (size_t j = coordinates.size(); j-- > plan.strideSticks.size();) {
      if (coordinates[j].kind != Coordinate::Kind::Mod) {
        continue; // One value per stick.
      }
      const size_t dim = size_t(findDimOf(coordinates[j].symbol));
      plan.parts.emplace_back(dim, coordinates[j].divisor);
      plan.unit[dim] *= coordinates[j].divisor;
      if (plan.stick < 0 || plan.unit[dim] > plan.unit[size_t(plan.stick)]) {
        plan.stick = int64_t(dim);
      }
      // One stick and no dimension that could be its tile index.
      if (std::find(plan.order.begin(), plan.order.end(), dim) == plan.order.end()) {
        plan.order.push_back(dim);
      }
    }
  }

  // Step 4: an op on tensors that all hold one value per stick still works on whole sticks.
  Status addVirtualStick() {
    opStick = reference().stick;
    if (opStick >= 0 || isMatmulOp()) {
      return Status::success();
    }
    if (dims.size() >= kLabelCount) {
      return fault("{} dimensions and no stick; the interface has no name for one more",
                   dims.size());
    }
    const int64_t lanes = firstData().lanes;
    opStick = int64_t(dims.size());
    dims.push_back({"", kOtherLabels[dims.size()], lanes, lanes, 1});
    for (ArgPlan &plan : args) {
      plan.deviceDim.push_back(-1);
      plan.unit.push_back(1);
    }
    return Status::success();
  }

  Status checkMatmul() const {
    if (args.size() != 3 || dims.size() < 2) {
      return fault("{} arguments and {} dimensions; a matmul has two inputs, one output, and at "
                   "least N and K",
                   args.size(), dims.size());
    }
    const int64_t k = int64_t(dims.size()) - 1, n = k - 1;
    if (args[0].stick != k || args[1].stick != n || args[2].stick != n) {
      return fault("the sticks must be K ({}) for the first input and N ({}) for the second input "
                   "and the output; restickify the operands",
                   dims[size_t(k)].symbol, dims[size_t(n)].symbol);
    }
    if (args[1].deviceDim[size_t(k)] < 0 || args[2].deviceDim[size_t(k)] >= 0) {
      return fault("K ({}) must be a dimension of the second input and not of the output",
                   dims[size_t(k)].symbol);
    }
    return Status::success();
  }

  Status checkRestickify() const {
    if (args.size() != 2 || args[0].stick < 0 || args[1].stick < 0) {
      return fault("a restickify has one input and one output, each with one stick symbol");
    }
    return args[0].lanes == args[1].lanes
               ? Status::success()
               : fault("input and output have {} and {} elements per stick; convert first",
                       args[0].lanes, args[1].lanes);
  }

  /// Lanes stay apart; a stick of indices may have fewer lanes than one of values.
  Status checkTopK() const {
    if (args.size() != 2 || args[0].stick < 0 || args[0].stick != args[1].stick) {
      return fault("input and output need the same stick, neither the reduced dimension nor k; "
                   "restickify the input");
    }
    return args[0].lanes % args[1].lanes == 0
               ? Status::success()
               : fault("sticks of {} values and of {} results do not fit", args[0].lanes,
                       args[1].lanes);
  }

  Status checkSameStick() const {
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].arg->isIndex()) {
        continue;
      }
      if (args[i].stick >= 0 && args[i].stick != opStick) {
        return fault("argument {} has stick {}, the op works on sticks of {}; restickify it", i,
                     dims[size_t(args[i].stick)].symbol,
                     dims[size_t(opStick)].symbol.empty() ? "single values"
                                                          : dims[size_t(opStick)].symbol);
      }
      if (args[i].lanes != firstData().lanes) {
        return fault("argument {} has {} elements per stick, the first one has {}; convert it", i,
                     args[i].lanes, firstData().lanes);
      }
    }
    return Status::success();
  }

  // Steps 5 and 7. For a matmul all sticks are padded, and K is the stick of the first input.
  Status padSizes() {
    for (size_t i = 0; i < args.size(); ++i) {
      const bool chosen = opClass == OpClass::Reduction   ? i == 0
                          : opClass == OpClass::Pointwise ? i + 1 == args.size()
                                                          : true;
      for (size_t d = 0; chosen && d < dims.size(); ++d) {
        dims[d].size = roundUp(dims[d].size, args[i].unit[d]);
      }
    }
    for (Dim &dim : dims) {
      if (opClass == OpClass::Restickify && dim.size != dim.range) {
        dim.slices = 1; // The padded tail cannot be cut.
        dim.uneven = false;
      }
    }
    for (const ArgPlan &plan : args) {
      for (size_t d = 0; d < dims.size() && !plan.arg->isIndex(); ++d) {
        const Dim &dim = dims[d];
        // Uneven slices are whole pieces, of which the sizes must be made.
        SPYRE_RETURN_IF_ERROR(checkWholeSticks(spec.op, dim.symbol, dim.size,
                                               dim.uneven ? 1 : dim.slices, plan.unit[d]));
      }
    }
    return Status::success();
  }

  // Step 6, first bullet: what a tensor lacks is appended outermost, in the op's order.
  void completeOrders() {
    std::vector<size_t> opOrder = reference().order;
    if (size_t(opStick) + 1 == dims.size() && dims.back().symbol.empty()) {
      opOrder.push_back(size_t(opStick));
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      if (std::find(opOrder.begin(), opOrder.end(), d) == opOrder.end()) {
        opOrder.push_back(d);
      }
    }
    for (ArgPlan &plan : args) {
      plan.layoutStick = plan.stick >= 0 ? plan.stick : opStick;
      if (isMatmulOp() || isTopK()) {
        continue;
      }
      for (size_t d : opOrder) {
        if (std::find(plan.order.begin(), plan.order.end(), d) == plan.order.end()) {
          plan.order.push_back(d);
        }
      }
    }
  }

  /// Elements of the largest slice of dim \p d; says so in the SuperDSC when there are two sizes.
  int64_t largestSlice(size_t d) {
    const Dim &dim = dims[d];
    if (!dim.uneven) {
      return dim.size / dim.slices;
    }
    int64_t unit = 1;
    for (const ArgPlan &plan : args) {
      unit = std::max(unit, plan.unit[d]);
    }
    const int64_t pieces = dim.size / unit;
    dsc.uneven = {dim.label, pieces % dim.slices, pieces / dim.slices * unit};
    return dsc.uneven.smallSize + unit;
  }

  // Step 11. With K or the fastest dim first, the cores that share an output slice have consecutive
  // numbers.
  void mapCores() {
    const bool kFirst =
        options.kFastCores && isMatmulOp() && dims.size() >= 3 && dims.back().slices > 1;
    std::vector<size_t> fastFirst;
    if (kFirst) {
      fastFirst.push_back(dims.size() - 1);
    }
    dsc.cores = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!kFirst || d + 1 < dims.size()) {
        fastFirst.push_back(d);
      }
      dsc.cores *= dims[d].slices;
      dsc.slices.emplace_back(dims[d].label, dims[d].slices);
      dsc.size.emplace_back(dims[d].label, dims[d].size);
      dsc.perCoreSize.emplace_back(dims[d].label, largestSlice(d));
    }
    std::stable_partition(fastFirst.begin(), fastFirst.end(),
                          [&](size_t d) { return dims[d].fastest; });
    // Uneven slices change slowest: those with more to do are on the first cores.
    std::stable_partition(fastFirst.begin(), fastFirst.end(),
                          [&](size_t d) { return !dims[d].uneven; });
    placeInSlices.resize(dims.size());
    for (size_t at = 0; at < fastFirst.size(); ++at) {
      placeInSlices[fastFirst[at]] = at;
    }
    dsc.coreSlice.reserve(size_t(dsc.cores));
    for (int64_t core = 0; core < dsc.cores; ++core) {
      DimMap<int64_t> slice;
      slice.reserve(fastFirst.size());
      int64_t rest = core;
      for (size_t d : fastFirst) {
        slice.emplace_back(dims[d].label, rest % dims[d].slices);
        rest /= dims[d].slices;
      }
      dsc.coreSlice.push_back(std::move(slice));
    }
  }

  /// Device dimension of the dim at \p position of the order. Of the dims of an index, the first
  /// has all rows, the others one.
  static int64_t deviceDimAt(const ArgPlan &plan, size_t position) {
    if (plan.isIndirect(position)) {
      return position == plan.firstIndirect ? plan.rowDim : -1;
    }
    return plan.deviceDim[plan.order[position]];
  }

  /// Elements of memory between two steps of the next outer dimension, in units of this one.
  int64_t memoryExtent(const ArgPlan &plan, size_t position) const {
    const int64_t deviceDim = deviceDimAt(plan, position);
    const int64_t unit = plan.unit[plan.order[position]];
    if (deviceDim < 0) {
      return unit; // One stick without a tile dimension, or a further dim of an index.
    }
    int64_t extent = plan.arg->deviceSize[size_t(deviceDim)];
    size_t outer = position + 1;
    while (outer < plan.ownDims && plan.isIndirect(outer) && outer != plan.firstIndirect) {
      ++outer;
    }
    if (outer < plan.ownDims) {
      const int64_t next = deviceDimAt(plan, outer);
      if (next >= 0) {
        extent = plan.strideSticks[size_t(next)] / plan.strideSticks[size_t(deviceDim)];
      }
    }
    return extent * unit;
  }

  // Step 6, gaps, and their reversed meaning in step 7 for a restickify.
  Status emitGaps(size_t index, DscTensor &tensor) const {
    const ArgPlan &plan = args[index];
    for (size_t position = 0; position < plan.ownDims; ++position) {
      const size_t d = plan.order[position];
      const Dim &dim = dims[d];
      const int64_t memory = memoryExtent(plan, position);
      // The stick of an index tensor need not be one of the operation's, which are padded.
      const int64_t size = plan.arg->isIndex() && int64_t(d) == plan.stick
                               ? roundUp(dim.size, plan.lanes)
                               : dim.size;
      int64_t gap = memory - size;
      if (plan.isIndirect(position) && position == plan.firstIndirect &&
          memory != plan.arg->deviceSize[size_t(plan.rowDim)]) {
        return fault("argument {}: its rows are part of a larger dimension; copy them first",
                     index);
      }
      if (opClass == OpClass::Restickify) {
        gap = -gap;
        if (int64_t(d) != plan.stick && dim.size != dim.range && memory != dim.range) {
          return fault("argument {}: {} = {} is not a whole number of sticks and a slice of {}; "
                       "copy the slice first",
                       index, dim.symbol, dim.range, memory);
        }
      } else if (gap < 0 && !plan.isIndirect(position)) {
        return fault("argument {}: {} covers {} elements after padding, the tensor has {}; give "
                     "it the padded size",
                     index, dim.symbol, dim.size, memory);
      }
      const bool paddedTail = opClass == OpClass::Restickify && gap > 0;
      if (tensor.inLx && gap != 0 && !paddedTail) {
        return fault("argument {}: a slice of a tensor in LX cannot be expressed; use the whole "
                     "tensor or move it to the pool",
                     index);
      }
      if (gap != 0) {
        tensor.backGap.emplace_back(dim.label, gap);
      }
    }
    return Status::success();
  }

  // Per core: base + offset of the slice view + offset of the core's own slice.
  Status emitStarts(size_t index, DscTensor &tensor) const {
    const ArgPlan &plan = args[index];
    int64_t offsetSticks = 0;
    for (size_t j = 0; j < plan.strideSticks.size(); ++j) {
      offsetSticks += plan.arg->deviceCoordinates[j].offset * plan.strideSticks[j];
    }
    if (tensor.inLx && offsetSticks != 0) {
      return fault("argument {}: an offset into a tensor in LX cannot be expressed; use the whole "
                   "tensor or move it to the pool",
                   index);
    }
    tensor.startAddress.reserve(size_t(dsc.cores));
    for (int64_t core = 0; core < dsc.cores; ++core) {
      const DimMap<int64_t> &slices = dsc.coreSlice[size_t(core)];
      int64_t sticks = offsetSticks, lanes = 0;
      for (size_t d = 0; d < dims.size() && !tensor.inLx; ++d) {
        if (plan.deviceDim[d] >= 0) {
          const int64_t slice = slices[placeInSlices[d]].second;
          // Cores may share a stick of indices; of all other tensors they have whole ones.
          const int64_t unit = plan.unit[d];
          const int64_t first = firstOfSlice(dsc, dims[d].label, dsc.perCoreSize[d].second, slice);
          sticks += first / unit * plan.strideSticks[size_t(plan.deviceDim[d])];
          lanes += first % unit;
        } else if (int64_t(d) == plan.stick) {
          // Only one stick: it has no tile dimension.
          lanes += slices[placeInSlices[d]].second * dsc.perCoreSize[d].second;
        }
      }
      tensor.startAddress.push_back(plan.arg->address + kStickBytes * sticks +
                                    kStickBytes / plan.lanes * lanes);
    }
    return Status::success();
  }

  int64_t scaleOf(const ArgPlan &plan, size_t dim) const {
    const auto ownEnd = plan.order.begin() + int64_t(plan.ownDims);
    if (std::find(plan.order.begin(), ownEnd, dim) != ownEnd || plan.arg->isIndex()) {
      return 1;
    }
    return plan.stick < 0 && int64_t(dim) == opStick ? -2 : -1;
  }

  std::vector<std::string> labels(const std::vector<size_t> &order) const {
    std::vector<std::string> names;
    for (size_t d : order) {
      names.push_back(dims[d].label);
    }
    return names;
  }

  // Step 6, layout label: the first layout with the same stick and set of dims, or a new one.
  Expected<const DscLayout *> findLayout(const ArgPlan &plan) {
    DscLayout layout{"", labels(plan.order), {}, {}};
    for (const auto &[dim, elements] : plan.parts) {
      layout.stickDims.push_back(dims[dim].label);
      layout.stickSizes.push_back(elements);
    }
    if (plan.parts.empty()) { // One value per stick: the stick of the op.
      layout.stickDims.push_back(dims[size_t(plan.layoutStick)].label);
      layout.stickSizes.push_back(plan.lanes);
    }
    const bool hasIndices = args.front().arg->isIndex();
    if (hasIndices) {
      layout.label = plan.arg->isIndex() ? "KERNEL_IDX" : "OUTPUT";
    }
    for (const DscLayout &known : dsc.layouts) {
      if (hasIndices && known.label != layout.label) {
        continue;
      }
      if (known.stickDims == layout.stickDims && known.stickSizes == layout.stickSizes &&
          known.dimOrder.size() == layout.dimOrder.size() &&
          std::is_permutation(known.dimOrder.begin(), known.dimOrder.end(),
                              layout.dimOrder.begin())) {
        return &known;
      }
    }
    static constexpr const char *kMatmulNames[] = {"INPUT", "KERNEL", "OUTPUT", "KERNEL_IDX"};
    static constexpr const char *kOtherNames[] = {"OUTPUT", "KERNEL", "INPUT", "KERNEL_IDX"};
    const size_t next = dsc.layouts.size();
    if (hasIndices) {
      if (std::any_of(dsc.layouts.begin(), dsc.layouts.end(),
                      [&](const DscLayout &known) { return known.label == layout.label; })) {
        return fault("two layouts for {} tensors; an indirect access knows one for indices and "
                     "one for all others",
                     plan.arg->isIndex() ? "index" : "other");
      }
      dsc.layouts.push_back(std::move(layout));
      return &dsc.layouts.back();
    }
    if (next >= 4) {
      return fault("more than 4 different layouts; restickify operands to fewer");
    }
    layout.label = isMatmulOp() ? kMatmulNames[next] : kOtherNames[next];
    dsc.layouts.push_back(std::move(layout));
    return &dsc.layouts.back();
  }

  /// Copies of integers travel as fp32 words, bits untouched.
  numerics::DataFormat relabel(numerics::DataFormat format) const {
    return spec.op == "identity" && format == numerics::DataFormat::IeeeInt32
               ? numerics::DataFormat::IeeeFp32
               : format;
  }

  Status emitTensor(size_t index) {
    const ArgPlan &plan = args[index];
    DscTensor tensor;
    tensor.name = fmt::format("Tensor{}", index);
    tensor.inLx = plan.arg->residency == Residency::Lx;
    tensor.dimOrder = labels(plan.order);
    tensor.format =
        plan.arg->isIndex() ? numerics::DataFormat::SenUint32 : relabel(plan.arg->deviceDtype);
    SPYRE_ASSIGN_OR_RETURN(const DscLayout *layout, findLayout(plan));
    tensor.layout = layout->label;
    for (const std::string &label : layout->dimOrder) {
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d].label == label) {
          tensor.scale.emplace_back(label, scaleOf(plan, d));
        }
      }
    }
    SPYRE_RETURN_IF_ERROR(emitGaps(index, tensor));
    SPYRE_RETURN_IF_ERROR(emitStarts(index, tensor));
    emitIndirection(dims, args, index, tensor);
    emitOwners(dims, plan, dsc, tensor);
    dsc.tensors.push_back(std::move(tensor));
    return Status::success();
  }

  /// The reduced dim is the one in the sticks. A virtual stick is never reduced.
  bool isStickReduction() const {
    return opClass == OpClass::Reduction && args.front().stick >= 0 && args.back().stick < 0;
  }

  // Step 8, and our own rule that a matmul says where its padded K begins.
  void emitMasking() {
    for (const auto &[name, value] : spec.constants) {
      dsc.constants.push_back({name, dsc.format, numerics::encodeConstant(value, dsc.format)});
    }
    if (!isStickReduction() && !isMatmulOp()) {
      return;
    }
    const Dim &dim = dims[size_t(args.front().stick)];
    if (dim.size == dim.range) {
      return;
    }
    dsc.masking.emplace_back(dim.label, std::pair(dim.range, dim.size - dim.range));
    // What no element passes: infinity, or the format's largest value where it has none. A finite
    // fp32 number would be the maximum of a row that is -inf.
    const double largest = std::numeric_limits<float>::infinity();
    const double mask = spec.op == "max" ? -largest : spec.op == "min" ? largest : 0.0;
    uint32_t bits = numerics::encodeConstant(mask, dsc.format);
    if (dsc.format == numerics::DataFormat::IeeeInt32) { // the integers at the ends are their own
      bits = uint32_t(numerics::floatToInt32(float(mask)));
    }
    dsc.constants.push_back({"samv-maskvalue", dsc.format, bits});
  }

  // Steps 9, 10 and 12.
  void nameOp() {
    dsc.op = spec.op;
    dsc.exUnit = isMatmulOp() ? "pt" : "sfp";
    if (opClass == OpClass::Reduction && !isStickReduction() && !isTopK()) {
      dsc.op += "nonstick";
    }
    dsc.output = int64_t(args.size()) - 1;
    // A reduction lists its output as an input too: it is the accumulator.
    const bool accumulates = opClass == OpClass::Reduction && !isTopK();
    const int64_t inputs = accumulates ? dsc.output + 1 : dsc.output;
    for (int64_t i = 0; i < inputs; ++i) {
      (args[size_t(i)].arg->isIndex() ? dsc.indexTensors : dsc.inputs).push_back(i);
    }
  }

  const OpSpec spec;
  const OpClass opClass;
  const EmitOptions options;
  std::vector<Dim> dims;
  std::vector<ArgPlan> args;
  int64_t opStick = -1;
  /// Where each dim is in the slices of a core, which are all in one order.
  std::vector<size_t> placeInSlices;
  SuperDsc dsc;
};

} // namespace

Expected<SuperDsc> emitSuperDsc(const OpSpec &spec, int64_t index, const EmitOptions &options) {
  SPYRE_RETURN_IF_ERROR(verifyOpSpec(spec));
  if (index < 0) {
    return error<5001>("op '{}': index {} is negative; number the ops from 0", spec.op, index);
  }
  if (isWindowOp(spec.op)) {
    return emitWindowOp(spec, index);
  }
  return Emitter(spec, index, options).run();
}

} // namespace spyre::spec
