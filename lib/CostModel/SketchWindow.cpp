//===- SketchWindow.cpp - windows over images ------------------------------------------------===//
//
// As BackEnd/LowerPool.cpp, LowerConv.cpp and WindowTile.cpp lower them.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"

#include "Candidate.h"

#include <algorithm>

namespace spyre::costmodel {

using numerics::DataFormat;
using program::Unit;

namespace {

/// Places.
constexpr size_t kIn = 0, kWeights = 1, kOut = 2;
constexpr int64_t kBlock = program::kMatmulBlock;
constexpr int64_t kBlockBytes = kBlock * kStickBytes;
constexpr int64_t kWideBytes = 2 * kStickBytes;
/// More window elements than this are not unrolled in one tile (BackEnd/LowerConv.cpp).
constexpr int64_t kMaxUnrolled = 64;

class WindowSketch {
public:
  WindowSketch(const Candidate &candidate, Sketch &sketch)
      : candidate(candidate), priced(*candidate.priced), kernel(priced.kernel),
        window(kernel.window), sketch(sketch), table(sketch.table), timing(priced.device->timing) {
    table.places = 3;
    batch = addAxis(window.batch, 1);
    for (size_t w = 0; w < 2; ++w) {
      pixel[w] = addAxis(window.pixel[w], 1);
      element[w] = addAxis(window.element[w], 1);
    }
  }

  bool pool();
  bool convolution();

private:
  int64_t strideOf(size_t tensor, int dim) const {
    return dim < 0 ? 0 : candidate.stride[tensor][size_t(dim)];
  }
  size_t addAxis(int dim, int64_t perStep, int64_t partial = 0) {
    int64_t count = dim < 0 ? 1 : candidate.perCore[size_t(dim)] / perStep;
    size_t a = table.add(count, count - partial);
    table.stride[kIn][a] = 0;
    table.stride[kWeights][a] = priced.tensors == 3 ? strideOf(1, dim) : 0;
    table.stride[kOut][a] = strideOf(priced.output(), dim);
    return a;
  }
  void placeInput(int channelDim);
  int64_t band(size_t w) const {
    return (table.axis[pixel[w]].tile - 1) * window.stride[w] +
           (table.axis[element[w]].tile - 1) * window.dilation[w] + 1;
  }
  bool isApart(size_t w) const {
    return table.axis[pixel[w]].tile * table.axis[element[w]].tile < band(w);
  }
  int64_t inputSticks() const {
    int64_t sticks = table.axis[channels].tile;
    for (size_t w = 0; w < 2; ++w) {
      sticks *= std::min(table.axis[pixel[w]].tile * table.axis[element[w]].tile, band(w));
    }
    return sticks * (table.depends(kIn, batch) ? table.axis[batch].tile : 1);
  }
  /// Columns, rows, channels, batch, whatever the tensor's order is.
  int inputLayout() {
    int layout = sketch.addLayout();
    std::array<int64_t, kMaxAxes> &order = table.stride[size_t(layout)];
    order[pixel[1]] = order[element[1]] = 1;
    order[pixel[0]] = order[element[0]] = 2;
    order[channels] = 3;
    order[batch] = table.depends(kIn, batch) ? 4 : 0;
    return layout;
  }
  void addInputLevels(SketchStep &step) const;
  /// As in the back end: binary search, since windows share sticks.
  template <typename Bytes>
  bool fill(std::initializer_list<size_t> order, size_t maxAxes, int64_t budget,
            const Bytes &bytes);
  void addLoop(size_t axis) {
    if (table.axis[axis].tiled()) {
      sketch.loop[sketch.loops++] = uint8_t(axis);
    }
  }
  SketchStep &addConvert(size_t depth, uint16_t from, uint16_t to);
  void addStore(size_t depth, uint16_t out);
  bool poolTiles(bool converts, int64_t accBytes);
  bool convolutionTiles(bool hasTail);

  const Candidate &candidate;
  const PricedKernel &priced;
  const Kernel &kernel;
  const KernelWindow &window;
  Sketch &sketch;
  AxisTable &table;
  const arch::Timing &timing;
  size_t batch = 0, channels = 0, results = 0;
  std::array<size_t, 2> pixel{}, element{};
};

} // namespace

void WindowSketch::placeInput(int channelDim) {
  table.stride[kIn][batch] = strideOf(0, window.batch);
  table.stride[kIn][channels] = strideOf(0, channelDim);
  for (size_t w = 0; w < 2; ++w) {
    int64_t bytes = strideOf(0, window.input[w]);
    auto moved = [&](size_t a, int64_t step) { return table.axis[a].count > 1 ? step * bytes : 0; };
    table.stride[kIn][pixel[w]] = moved(pixel[w], window.stride[w]);
    table.stride[kIn][element[w]] = moved(element[w], window.dilation[w]);
  }
}

void WindowSketch::addInputLevels(SketchStep &step) const {
  if (table.depends(kIn, batch)) {
    step.addLevel(int(batch), table.stride[kIn][batch]);
  }
  step.addLevel(int(channels), table.stride[kIn][channels]);
  for (size_t w = 0; w < 2; ++w) {
    if (isApart(w)) {
      step.addLevel(int(pixel[w]), table.stride[kIn][pixel[w]]);
      step.addLevel(int(element[w]), table.stride[kIn][element[w]]);
    } else {
      step.addBand(pixel[w], window.stride[w], element[w], window.dilation[w],
                   strideOf(0, window.input[w]));
    }
  }
}

template <typename Bytes>
bool WindowSketch::fill(std::initializer_list<size_t> order, size_t maxAxes, int64_t budget,
                        const Bytes &bytes) {
  for (size_t a : order) {
    table.axis[a].tile = 1;
  }
  if (bytes() > budget) {
    return false;
  }
  budget = bytes() <= budget / 2 ? budget / 2 : budget;
  size_t grown = 0;
  for (size_t a : order) {
    if (grown == maxAxes) {
      break;
    }
    SketchAxis &axis = table.axis[a];
    int64_t fits = 1, tooMuch = axis.count + 1;
    while (tooMuch - fits > 1) {
      int64_t middle = fits + (tooMuch - fits) / 2;
      axis.tile = middle;
      (bytes() <= budget ? fits : tooMuch) = middle;
    }
    axis.tile = fits;
    grown += fits > 1;
    if (axis.tiled()) {
      break;
    }
  }
  return true;
}

/// Between 16 and 32 bits, per stick of 16 bits; the levels are the caller's.
SketchStep &WindowSketch::addConvert(size_t depth, uint16_t from, uint16_t to) {
  SketchStep &convert = sketch.add(Work::Lanes, Unit::Vector, depth);
  convert.cycles = 64 / timing.sfpLanesPerCycle;
  convert.lxBytes = double(kStickBytes + kWideBytes);
  convert.reads = from;
  convert.writes = to;
  return convert;
}

void WindowSketch::addStore(size_t depth, uint16_t out) {
  if (!kernel.output.inLx) {
    SketchStep &store = sketch.add(Work::Transfer, Unit::Store, depth);
    store.leaving = true;
    store.rates = &candidate.rates[priced.output()];
    store.reads = out;
    sketch.addLevels(store, kOut, true);
  }
}

//===- Pooling, depthwise convolution -------------------------------------------------------===//

/// The window first, then pixels, channels, batch.
bool WindowSketch::poolTiles(bool converts, int64_t accBytes) {
  const int64_t wide = converts ? kWideBytes : 0, room = priced.device->lxStagingBytes();
  auto bytes = [&] {
    int64_t sum = inputSticks() * ((kernel.inputs[0].inLx ? 0 : kStickBytes) + wide) +
                  table.tileSteps(kOut) * (accBytes + (kernel.output.inLx ? 0 : kStickBytes));
    if (window.depthwise) {
      sum += table.tileSteps(kWeights) * ((kernel.inputs[1].inLx ? 0 : kStickBytes) + wide);
    }
    return sum;
  };
  if (!fill({element[1], element[0]}, 2, room, bytes)) {
    return false;
  }
  size_t levels = program::kMaxLevels - converts - (table.axis[element[0]].tile > 1) -
                  (table.axis[element[1]].tile > 1);
  fill({pixel[1], pixel[0], channels, batch}, levels, room, bytes);
  return true;
}

bool WindowSketch::pool() {
  const int64_t accBytes = program::accBytes(kernel.format);
  const bool converts = window.depthwise && kernel.format == DataFormat::Sen169Fp16;
  channels = addAxis(window.channels, priced.lanes());
  placeInput(window.channels);
  if (!poolTiles(converts, accBytes)) {
    return false;
  }
  for (size_t axis : {channels, batch, pixel[0], pixel[1]}) {
    addLoop(axis);
  }
  const size_t accDepth = sketch.loops;
  addLoop(element[0]);
  addLoop(element[1]);
  auto buffer = [&](bool exists, int64_t steps, int64_t bytes, int layout) {
    return exists ? sketch.addBuffer(double(steps * bytes), layout) : uint16_t(0);
  };
  const int inLayout = inputLayout();
  const int64_t weightSteps = table.tileSteps(kWeights), outSteps = table.tileSteps(kOut);
  uint16_t in = buffer(!kernel.inputs[0].inLx, inputSticks(), kStickBytes, inLayout);
  uint16_t inWide = converts ? buffer(true, inputSticks(), kWideBytes, inLayout) : in;
  uint16_t weights = 0, weightsWide = 0;
  if (window.depthwise) {
    weights = buffer(!kernel.inputs[1].inLx, weightSteps, kStickBytes, kWeights);
    weightsWide = converts ? buffer(true, weightSteps, kWideBytes, kWeights) : weights;
  }
  uint16_t acc = buffer(true, outSteps, accBytes, kOut);
  uint16_t out = buffer(!kernel.output.inLx, outSteps, kStickBytes, kOut);

  SketchStep &clear = addLanes(candidate, sketch, kOut, accDepth, 1, kStickBytes);
  clear.addLevel(-1, 0, accBytes / kStickBytes);
  clear.writes = acc;
  if (window.depthwise) {
    size_t depth = sketch.depthOf(kWeights);
    if (!kernel.inputs[1].inLx) {
      addLoad(candidate, sketch, 1, kWeights, depth, weights);
    }
    if (converts) {
      sketch.addLevels(addConvert(depth, weights, weightsWide), kWeights, false);
    }
  }
  const size_t depth = sketch.depthOf(kIn);
  if (!kernel.inputs[0].inLx) {
    SketchStep &load = sketch.add(Work::Transfer, Unit::Load, depth);
    load.rates = &candidate.rates[0];
    load.writes = in;
    addInputLevels(load);
  }
  if (converts) {
    addInputLevels(addConvert(depth, in, inWide));
  }
  SketchStep &add = addLanes(candidate, sketch, kOut, sketch.loops, timing.sfpReductionFactor,
                             kStickBytes + 2 * accBytes);
  add.addLevel(int(element[0]));
  add.addLevel(int(element[1]));
  add.reads = inWide | weightsWide | acc;
  add.writes = acc;
  if (window.depthwise) {
    double sticks = converts ? 2 : 1;
    add.cycles = 32 * sticks / timing.sfpLanesPerCycle;
    add.lxBytes = 4 * kStickBytes * sticks;
  }
  SketchStep &finish = addLanes(candidate, sketch, kOut, accDepth, timing.sfpReductionFactor,
                                accBytes + kStickBytes);
  finish.leaving = true;
  finish.reads = acc;
  finish.writes = out;
  if (converts) {
    finish.cycles = 64 / timing.sfpLanesPerCycle;
  }
  addStore(accDepth, out);
  return true;
}

//===- Convolution --------------------------------------------------------------------------===//

/// First what is summed, then pixels, then output channels.
bool WindowSketch::convolutionTiles(bool hasTail) {
  const int64_t room = priced.device->lxStagingBytes();
  auto bytes = [&] {
    int64_t sum =
        table.tileSteps(kOut) * (program::kMatmulAccBytes + (kernel.output.inLx ? 0 : kStickBytes));
    sum += kernel.inputs[0].inLx ? 0 : inputSticks() * kStickBytes;
    sum += kernel.inputs[1].inLx ? 0 : table.tileSteps(kWeights) * kBlockBytes;
    return sum;
  };
  const int64_t most = hasTail ? kMaxUnrolled : INT64_MAX;
  const int64_t ki = table.axis[element[0]].count, kj = table.axis[element[1]].count;
  const bool takesKj = kj <= most, takesKi = ki <= most / kj;
  auto fillSummed = [&](int64_t budget) {
    if (takesKj && takesKi) {
      return fill({channels, element[1], element[0]}, 3, budget, bytes);
    }
    if (takesKi) {
      return fill({channels, element[0]}, 2, budget, bytes);
    }
    return takesKj ? fill({channels, element[1]}, 2, budget, bytes)
                   : fill({channels}, 1, budget, bytes);
  };
  table.axis[channels].tile = table.axis[channels].count;
  table.axis[element[1]].tile = takesKj ? kj : 1;
  table.axis[element[0]].tile = takesKi ? ki : 1;
  if (bytes() > room / 4 * 3 && !fillSummed(room / 2) && !fillSummed(room)) {
    return false;
  }
  auto levelsLeft = [&] {
    size_t used = 0;
    for (size_t a = 0; a < table.axes; ++a) {
      used += table.axis[a].tile > 1;
    }
    return program::kMaxLevels - std::min(used, program::kMaxLevels);
  };
  fill({pixel[1], pixel[0], batch}, levelsLeft(), room, bytes);
  fill({results}, levelsLeft(), room, bytes);
  return true;
}

bool WindowSketch::convolution() {
  const bool hasTail = kernel.maskedElements > 0;
  const int64_t lanes = priced.lanes();
  results = addAxis(window.channels, lanes);
  channels = addAxis(window.inChannels, lanes, hasTail);
  placeInput(window.inChannels);
  const int64_t rowBytes = strideOf(1, window.inChannels);
  table.stride[kWeights][channels] = kBlock * rowBytes;
  if (!convolutionTiles(hasTail)) {
    return false;
  }
  for (size_t axis : {results, batch, pixel[0], pixel[1]}) {
    addLoop(axis);
  }
  const size_t accDepth = sketch.loops;
  for (size_t axis : {element[0], element[1], channels}) {
    addLoop(axis);
  }
  const auto outSteps = double(table.tileSteps(kOut));
  const int weightLayout = sketch.addLayout();
  std::array<int64_t, kMaxAxes> &order = table.stride[size_t(weightLayout)];
  order[channels] = 1;
  order[element[1]] = 2;
  order[element[0]] = 3;
  order[results] = 4;
  uint16_t a = kernel.inputs[0].inLx
                   ? uint16_t(0)
                   : sketch.addBuffer(double(inputSticks() * kStickBytes), inputLayout());
  uint16_t b =
      kernel.inputs[1].inLx
          ? uint16_t(0)
          : sketch.addBuffer(double(table.tileSteps(kWeights) * kBlockBytes), weightLayout);
  uint16_t acc = sketch.addBuffer(outSteps * program::kMatmulAccBytes, kOut);
  uint16_t out = kernel.output.inLx ? uint16_t(0) : sketch.addBuffer(outSteps * kStickBytes, kOut);

  SketchStep &clear = addLanes(candidate, sketch, kOut, accDepth, 1, kStickBytes);
  clear.addLevel(-1, 0, program::kMatmulAccBytes / kStickBytes);
  clear.writes = acc;
  if (!kernel.inputs[0].inLx) {
    SketchStep &load = sketch.add(Work::Transfer, Unit::Load, sketch.depthOf(kIn));
    load.rates = &candidate.rates[0];
    load.writes = a;
    addInputLevels(load);
  }
  if (!kernel.inputs[1].inLx) {
    SketchStep &load = sketch.add(Work::Transfer, Unit::Load, sketch.depthOf(kWeights));
    load.rates = &candidate.rates[1];
    load.writes = b;
    for (size_t axis : {results, element[0], element[1]}) {
      load.addLevel(int(axis), table.stride[kWeights][axis]);
    }
    // The roots of a split have whole slices.
    bool lacks = hasTail && candidate.reducedSlices() == 1;
    load.addLevel(int(channels), rowBytes, kBlock, lacks ? kernel.maskedElements : 0);
    if (hasTail && !lacks) {
      load.fewer = &candidate.fewerRates;
      load.fewerAxis = int8_t(channels);
    }
  }
  for (int part = 0; part < (hasTail ? 2 : 1); ++part) {
    SketchStep &multiply = sketch.add(Work::Matmul, Unit::Matrix, sketch.loops);
    multiply.cycles = double(kBlock * kBlock) / timing.ptMacsPerCycle;
    multiply.reads = a | b | acc;
    multiply.writes = acc;
    multiply.addLevel(int(results));
    if (hasTail) {
      multiply.repeats = {int8_t(element[0]), int8_t(element[1])};
    } else {
      multiply.addLevel(int(element[0]));
      multiply.addLevel(int(element[1]));
    }
    if (part == 0) {
      multiply.addLevel(int(channels), 0, 1, hasTail ? 1 : 0);
    } else {
      multiply.onlyTail = int8_t(channels);
    }
    multiply.blockLevels = multiply.levels;
    for (size_t axis : {batch, pixel[0], pixel[1]}) {
      multiply.addLevel(int(axis));
    }
  }
  addCombine(candidate, sketch, kOut, accDepth, program::kMatmulAccBytes, acc);
  SketchStep &finish = addLanes(candidate, sketch, kOut, accDepth, timing.sfpReductionFactor,
                                program::accBytes(kernel.format) + kStickBytes);
  finish.leaving = true;
  finish.reads = acc;
  finish.writes = out;
  addStore(accDepth, out);
  return true;
}

bool sketchPool(const Candidate &candidate, Sketch &sketch) {
  return WindowSketch(candidate, sketch).pool();
}

bool sketchConvolution(const Candidate &candidate, Sketch &sketch) {
  return WindowSketch(candidate, sketch).convolution();
}

} // namespace spyre::costmodel
