//===- SuperDscWindow.cpp - convolutions and pooling as SuperDSCs ---------------------------===//
//
// The twelve steps of SuperDscEmitter.cpp for window ops. They differ in three ways: dimensions are
// named by their part and not by their position; the input has dimensions i and j that are no
// symbols of the OpSpec, with sizes of their own and never split; a core that has a slice of the
// pixels starts at the input pixel of its first window (docs/adr/0021).
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Spec/Windows.h"

#include "SuperDscNormalize.h"
#include "SuperDscSticks.h"

#include <algorithm>

namespace spyre::spec {

namespace {

constexpr int64_t kStickBytes = 128;

struct Dim {
  std::string symbol; ///< empty for i and j
  std::string label;
  int64_t range = 1, size = 1, slices = 1;
};

/// What one device dimension of a tensor walks.
struct Walk {
  size_t dim = 0;
  int64_t offset = 0;
  int64_t strideSticks = 1;
  /// Of the next dimension outwards that walks, or the end of the tensor.
  int64_t outerStrideSticks = 1;
};

class Emitter {
public:
  Emitter(const OpSpec &source, int64_t index) : spec(normalizeForEmission(source)) {
    dsc.index = index;
    addedUnit = spec.iterationSpace.size() != source.iterationSpace.size();
  }

  Expected<SuperDsc> run() {
    SPYRE_ASSIGN_OR_RETURN(symbols, findWindowSymbols(spec));
    if (addedUnit) {
      return fault("a tensor is one index of its innermost device dimension, which no dimension "
                   "can carry; copy the slice first");
    }
    SPYRE_RETURN_IF_ERROR(nameDims());
    mapCores();
    dsc.op = spec.op;
    dsc.exUnit = spec.op == "conv2d" ? "pt" : "sfp";
    dsc.format = spec.args.front().deviceDtype;
    for (size_t i = 0; i < spec.args.size(); ++i) {
      SPYRE_RETURN_IF_ERROR(emitTensor(i));
    }
    for (const auto &[name, value] : spec.constants) {
      SPYRE_RETURN_IF_ERROR(addConstant(name, value, /*exact=*/false));
    }
    SPYRE_RETURN_IF_ERROR(emitSteps());
    SPYRE_RETURN_IF_ERROR(emitMasking());
    dsc.output = int64_t(spec.args.size()) - 1;
    for (int64_t i = 0; i < dsc.output; ++i) {
      dsc.inputs.push_back(i);
    }
    return dsc;
  }

private:
  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...values) const {
    return error<5001>("op '{}': {}", spec.op, fmt::format(format, std::forward<Args>(values)...));
  }

  std::string labelOf(const std::string &symbol) const {
    for (size_t i = 0; i < 2; ++i) {
      if (symbol == symbols.pixel[i]) {
        return kWindowNames[i].pixel;
      }
      if (symbol == symbols.window[i]) {
        return kWindowNames[i].window;
      }
    }
    return symbol == symbols.batch ? "mb" : symbol == symbols.channels ? "out" : "in";
  }

  size_t dimOf(const std::string &symbol) const {
    size_t at = 0;
    while (dims[at].symbol != symbol) {
      ++at;
    }
    return at;
  }

  static bool isWindow(const Coordinate &coordinate) {
    return coordinate.kind == Coordinate::Kind::Window;
  }

  /// Number of the window whose pixel is \p symbol.
  size_t windowOf(const std::string &symbol) const { return symbol == symbols.pixel[0] ? 0 : 1; }

  // Steps 1, 2, 5 and 7.
  Status nameDims() {
    for (const IterationDim &from : spec.iterationSpace) {
      Dim dim{from.symbol, labelOf(from.symbol), from.range, from.range, from.cores};
      const bool isChannels = from.symbol == symbols.channels || from.symbol == symbols.inChannels;
      const int64_t lanes = spec.args.front().deviceSize.back();
      if (isChannels) {
        dim.size = roundUp(dim.range, lanes);
        SPYRE_RETURN_IF_ERROR(checkWholeSticks(spec.op, dim.symbol, dim.size, dim.slices, lanes));
      }
      dims.push_back(std::move(dim));
    }
    const TensorArg &input = spec.args.front();
    for (size_t w = 0; w < 2; ++w) {
      for (size_t j = 0; j < input.deviceCoordinates.size(); ++j) {
        const Coordinate &coordinate = input.deviceCoordinates[j];
        if (isWindow(coordinate) && windowOf(coordinate.symbol) == w) {
          // Its own extent: all there is from the first window on.
          const int64_t extent = input.deviceSize[j] - coordinate.offset;
          inputDim[w] = dims.size();
          dims.push_back({"", kWindowNames[w].input, extent, extent, 1});
        }
      }
    }
    return Status::success();
  }

  // Step 11, K fast as for a matmul.
  void mapCores() {
    std::vector<size_t> fastFirst;
    for (size_t d = 0; d < dims.size(); ++d) {
      dsc.cores *= dims[d].slices;
      dsc.slices.emplace_back(dims[d].label, dims[d].slices);
      dsc.size.emplace_back(dims[d].label, dims[d].size);
      dsc.perCoreSize.emplace_back(dims[d].label, dims[d].size / dims[d].slices);
      fastFirst.push_back(d);
    }
    std::stable_partition(fastFirst.begin(), fastFirst.end(),
                          [&](size_t d) { return dims[d].label == "in" && dims[d].slices > 1; });
    for (int64_t core = 0; core < dsc.cores; ++core) {
      DimMap<int64_t> slice;
      int64_t rest = core;
      for (size_t d : fastFirst) {
        slice.emplace_back(dims[d].label, rest % dims[d].slices);
        rest /= dims[d].slices;
      }
      dsc.coreSlice.push_back(std::move(slice));
    }
  }

  /// Device dimensions that walk, inner to outer.
  std::vector<Walk> walksOf(const TensorArg &arg) const {
    std::vector<Walk> walks;
    int64_t stride = 1;
    for (size_t j = arg.deviceSize.size() - 1; j-- > 0;) {
      const Coordinate &coordinate = arg.deviceCoordinates[j];
      if (coordinate.kind != Coordinate::Kind::Constant) {
        const size_t dim =
            isWindow(coordinate) ? inputDim[windowOf(coordinate.symbol)] : dimOf(coordinate.symbol);
        if (!walks.empty()) {
          walks.back().outerStrideSticks = stride;
        }
        walks.push_back({dim, coordinate.offset, stride, stride * arg.deviceSize[j]});
      }
      stride *= arg.deviceSize[j];
    }
    return walks;
  }

  Status emitTensor(size_t index) {
    const TensorArg &arg = spec.args[index];
    static constexpr const char *kLabels[] = {"INPUT", "KERNEL", "OUTPUT"};
    const bool isOutput = index + 1 == spec.args.size();
    const std::string stick = labelOf(arg.deviceCoordinates.back().symbol);
    DscTensor tensor;
    tensor.name = fmt::format("Tensor{}", index);
    tensor.layout = kLabels[isOutput ? 2 : index];
    tensor.inLx = arg.residency == Residency::Lx;
    tensor.format = arg.deviceDtype;
    if (arg.deviceSize.back() != spec.args.front().deviceSize.back()) {
      return fault("argument {} has {} elements per stick, argument 0 has {}; convert it", index,
                   arg.deviceSize.back(), spec.args.front().deviceSize.back());
    }
    const std::vector<Walk> walks = walksOf(arg);
    for (const Walk &walk : walks) {
      tensor.dimOrder.push_back(dims[walk.dim].label);
      SPYRE_RETURN_IF_ERROR(emitGap(index, walk, stick, tensor));
    }
    if (std::find(tensor.dimOrder.begin(), tensor.dimOrder.end(), stick) == tensor.dimOrder.end()) {
      tensor.dimOrder.push_back(stick); // One stick without a tile dimension.
    }
    for (const std::string &label : tensor.dimOrder) {
      tensor.scale.emplace_back(label, 1);
    }
    SPYRE_RETURN_IF_ERROR(emitStarts(index, walks, stick, tensor));
    dsc.layouts.push_back({tensor.layout, tensor.dimOrder, {stick}, {arg.deviceSize.back()}});
    dsc.tensors.push_back(std::move(tensor));
    return Status::success();
  }

  // Step 6, gaps.
  Status emitGap(size_t index, const Walk &walk, const std::string &stick,
                 DscTensor &tensor) const {
    const Dim &dim = dims[walk.dim];
    const int64_t unit = dim.label == stick ? spec.args[index].deviceSize.back() : 1;
    const int64_t gap = walk.outerStrideSticks / walk.strideSticks * unit - dim.size;
    if (gap < 0) {
      return fault("argument {}: {} covers {} elements after padding, the tensor has {}; give it "
                   "the padded size",
                   index, dim.symbol, dim.size, gap + dim.size);
    }
    if (gap != 0 && tensor.inLx) {
      return fault("argument {}: a slice of a tensor in LX cannot be expressed; use the whole "
                   "tensor or move it to the pool",
                   index);
    }
    if (gap != 0) {
      tensor.backGap.emplace_back(dim.label, gap);
    }
    return Status::success();
  }

  /// Sticks between the starts of two neighbouring slices of what \p walk walks, times the slice.
  int64_t sliceSticks(const Walk &walk, const std::string &stick, size_t core) const {
    const Dim *dim = &dims[walk.dim];
    int64_t steps = 1;
    for (size_t w = 0; w < 2; ++w) {
      if (dim->label == kWindowNames[w].input) {
        dim = &dims[dimOf(symbols.pixel[w])];
        steps = steppingOf(w).stride;
      }
    }
    steps *= dim->size / dim->slices;
    if (dim->label == stick) {
      steps /= spec.args.front().deviceSize.back();
    }
    return *findDim(dsc.coreSlice[core], dim->label) * steps * walk.strideSticks;
  }

  Status emitStarts(size_t index, const std::vector<Walk> &walks, const std::string &stick,
                    DscTensor &tensor) const {
    const TensorArg &arg = spec.args[index];
    int64_t offsetSticks = 0, stride = 1;
    for (size_t j = arg.deviceSize.size() - 1; j-- > 0;) {
      offsetSticks += arg.deviceCoordinates[j].offset * stride;
      stride *= arg.deviceSize[j];
    }
    if (tensor.inLx && offsetSticks != 0) {
      return fault("argument {}: an offset into a tensor in LX cannot be expressed; use the whole "
                   "tensor or move it to the pool",
                   index);
    }
    for (size_t core = 0; core < size_t(dsc.cores); ++core) {
      int64_t sticks = offsetSticks;
      for (const Walk &walk : walks) {
        sticks += tensor.inLx ? 0 : sliceSticks(walk, stick, core);
      }
      tensor.startAddress.push_back(arg.address + kStickBytes * sticks);
    }
    return checkLxInput(index, tensor);
  }

  /// A core finds only its own part of a tensor in LX, and windows of pixels overlap.
  Status checkLxInput(size_t index, const DscTensor &tensor) const {
    for (size_t w = 0; w < 2 && index == 0 && tensor.inLx; ++w) {
      if (!symbols.pixel[w].empty() && dims[dimOf(symbols.pixel[w])].slices > 1) {
        return fault("argument {} is in LX, but {} is split over cores, which need parts of each "
                     "other's input; split another symbol or move the input to the pool",
                     index, symbols.pixel[w]);
      }
    }
    return Status::success();
  }

  WindowStep steppingOf(size_t window) const {
    for (const Coordinate &coordinate : spec.args.front().deviceCoordinates) {
      if (isWindow(coordinate) && windowOf(coordinate.symbol) == window) {
        return {coordinate.factor, coordinate.windowFactor};
      }
    }
    return {};
  }

  Status addConstant(const std::string &name, double value, bool exact) {
    const DscConstant constant{name, dsc.format, numerics::encodeConstant(value, dsc.format)};
    if (exact && dsc.format != numerics::DataFormat::IeeeFp32 &&
        double(numerics::dl16ToFloat(uint16_t(constant.bits))) != value) {
      return fault("{} = {} is no number of {}; it holds whole numbers up to 1024", name, value,
                   numerics::formatName(dsc.format));
    }
    dsc.constants.push_back(constant);
    return Status::success();
  }

  Status emitSteps() {
    for (size_t w = 0; w < 2; ++w) {
      const WindowStep step = steppingOf(w);
      if (step.stride != 1) {
        SPYRE_RETURN_IF_ERROR(addConstant(kWindowNames[w].stride, double(step.stride), true));
      }
      if (step.dilation != 1) {
        SPYRE_RETURN_IF_ERROR(addConstant(kWindowNames[w].dilation, double(step.dilation), true));
      }
    }
    return Status::success();
  }

  // Step 8, as for a matmul (docs/adr/0008).
  Status emitMasking() {
    for (const Dim &dim : dims) {
      if (dim.label == "in" && dim.size != dim.range) {
        dsc.masking.emplace_back("in", std::pair(dim.range, dim.size - dim.range));
        SPYRE_RETURN_IF_ERROR(addConstant("samv-maskvalue", 0, false));
      }
    }
    return Status::success();
  }

  const OpSpec spec;
  bool addedUnit = false;
  WindowSymbols symbols;
  std::vector<Dim> dims;
  /// Positions of i and j.
  size_t inputDim[2] = {0, 0};
  SuperDsc dsc;
};

} // namespace

Expected<SuperDsc> emitWindowOp(const OpSpec &spec, int64_t index) {
  return Emitter(spec, index).run();
}

} // namespace spyre::spec
