//===- LowerTopK.cpp - the k largest values of each lane, or where they are -----------------===//
//
// Input and output have the same stick dimension; the input alone has the reduced dimension, the
// output alone that of size k. Lanes stay apart, so each input stick has a list of its own:
//
//     loop over tiles of kept axes {
//       Fill the lists: k numbers below 0, which are empty places (their values do not matter)
//       loop over tiles of the reduced axis, ascending { Load; TopK }
//       Finish one of the two halves of the lists; Store
//     }
//
// The lists have 32-bit lanes. Numbers are therefore sticks of int32 already: two for one stick of
// 16-bit values, whose halves follow each other along the stick dimension.
//===--------------------------------------------------------------------------------------------===//
#include "Lowerings.h"
#include "PhaseBuilder.h"

namespace spyre::backend {

using program::Instruction;
using program::Opcode;

/// Finish and Store walk k and the halves of a list beside the axes.
static constexpr size_t kMaxTileAxes = program::kMaxLevels - 2;
/// A number below 0: every element goes before it.
static constexpr uint32_t kEmptyPlace = 0xffffffff;

namespace {
struct TopK {
  const Kernel *kernel = nullptr;
  bool wantsIndex = false;
  /// The dimension only the input has, and the one only the output has; empty when of size 1.
  std::string reducedDim, kDim;
  int64_t k = 1;
  /// Output sticks for one of the input, and bytes between them and between the k results.
  int64_t halves = 1, halfStride = 0, kStride = 0;

  Place input, output, number;
  Place inputUnit, state, outputUnit;
  int64_t unitHalfStride = 0, unitKStride = 0;
  size_t axis = 0;

  int64_t listBytes() const { return k * program::accBytes(kernel->format); }
};
} // namespace

static int64_t stepsOf(const Kernel &kernel, const std::string &dim) {
  return dim == kernel.inputs[0].stickDim ? kernel.perCore(dim) / kernel.lanes()
                                          : kernel.perCore(dim);
}

static Status takeDim(const Kernel &kernel, const std::string &dim, std::string &taken) {
  if (!taken.empty()) {
    return error<5302>("{}: '{}' and '{}' are each in one tensor only; topk reduces one dimension "
                       "and makes one of size k",
                       kernel.name, taken, dim);
  }
  if (kernel.slices(dim) > 1) {
    return error<5302>("{}: '{}' is split over {} cores, but a core finds all k of all elements; "
                       "split a dimension that input and output have",
                       kernel.name, dim, kernel.slices(dim));
  }
  taken = dim;
  return Status::success();
}

static Status checkRules(TopK &topk) {
  const Kernel &kernel = *topk.kernel;
  const TensorMap &input = kernel.inputs[0], &output = kernel.output;
  SPYRE_RETURN_IF_ERROR(kernel.checkMaskedOnly(""));
  if (input.stickDim != output.stickDim || input.sparse || output.sparse) {
    return error<5302>("{}: topk needs the stick in a dimension that input and output have, "
                       "neither the reduced one nor k; restickify first",
                       kernel.name);
  }
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (input.holds(dim) != output.holds(dim) && size > 1) {
      SPYRE_RETURN_IF_ERROR(takeDim(kernel, dim, input.holds(dim) ? topk.reducedDim : topk.kDim));
    } else if (!input.holds(dim) && size > 1) {
      return error<5302>("{}: no tensor has '{}' of size {}", kernel.name, dim, size);
    }
  }
  topk.k = topk.kDim.empty() ? 1 : kernel.perCore(topk.kDim);
  int64_t elements = topk.reducedDim.empty() ? 1 : kernel.perCore(topk.reducedDim);
  if (topk.k > program::kMaxTopK || topk.k > elements || elements > INT32_MAX) {
    return error<5302>("{}: the {} largest of {}; k is at most {} and the number of elements, "
                       "which is a 32-bit number",
                       kernel.name, topk.k, elements, program::kMaxTopK);
  }
  return Status::success();
}

static void addAxes(TopK &topk, PhaseBuilder &builder) {
  const Kernel &kernel = *topk.kernel;
  const TensorMap &input = kernel.inputs[0], &output = kernel.output;
  topk.halves = kernel.lanes() / output.lanes;
  topk.halfStride = output.strideBytes(output.stickDim);
  topk.kStride = output.strideBytes(topk.kDim);
  topk.input = builder.placeOf(input);
  topk.output = builder.placeOf(output);
  for (const auto &[dim, size] : kernel.dsc->size) {
    if (input.holds(dim) && output.holds(dim)) {
      builder.axes.push_back(Axis::whole(dim, stepsOf(kernel, dim)));
      topk.input.stride.push_back(input.strideBytes(dim));
      topk.output.stride.push_back(output.strideBytes(dim) *
                                   (dim == output.stickDim ? topk.halves : 1));
    }
  }
  coalesce(builder.axes, {&topk.input, &topk.output});
  topk.axis = builder.axes.size();
  builder.axes.push_back(
      Axis::whole(topk.reducedDim, topk.reducedDim.empty() ? 1 : kernel.perCore(topk.reducedDim)));
  topk.input.stride.push_back(input.strideBytes(topk.reducedDim));
  topk.output.stride.push_back(0);
  topk.number.stride.assign(builder.axes.size(), 0);
  topk.number.stride[topk.axis] = 1;
}

static Status planStaging(TopK &topk, PhaseBuilder &builder) {
  const Kernel &kernel = *topk.kernel;
  int64_t resultBytes = topk.k * topk.halves * kStickBytes;
  auto bytes = [&] {
    int64_t outputBytes = 2 * topk.listBytes() + (kernel.output.inLx ? 0 : resultBytes);
    return saturatingProduct(tileSteps(builder.axes, topk.input),
                             kernel.inputs[0].inLx ? 0 : kStickBytes) +
           saturatingProduct(tileSteps(builder.axes, topk.output), outputBytes);
  };
  if (!fillTiles(builder.axes, innerFirst(topk.input), kMaxTileAxes, builder.stagingBytesLeft(),
                 bytes)) {
    return error<5303>("{}: one stick with its {} largest needs {} bytes of staging area, the "
                       "machine has {}; leave more of LX to the back end",
                       kernel.name, topk.k, bytes(), builder.stagingBytesLeft());
  }
  topk.inputUnit =
      kernel.inputs[0].inLx ? topk.input : builder.stage("in0.tile", topk.input, kStickBytes);
  topk.state = builder.stage("lists", topk.output, 2 * topk.listBytes());
  topk.outputUnit = topk.output;
  topk.unitHalfStride = topk.halfStride;
  topk.unitKStride = topk.kStride;
  if (!kernel.output.inLx) {
    topk.outputUnit = builder.stage("out.tile", topk.output, resultBytes);
    topk.unitHalfStride = kStickBytes;
    topk.unitKStride = topk.halves * kStickBytes;
  }
  return Status::success();
}

static Place shiftedBytes(Place place, int64_t bytes) {
  place.offset += bytes;
  return place;
}

static void clearLists(const TopK &topk, PhaseBuilder &builder) {
  builder.fill(topk.state, 0, topk.listBytes());
  builder.fill(shiftedBytes(topk.state, topk.listBytes()), kEmptyPlace, topk.listBytes());
}

static void takeTile(const TopK &topk, PhaseBuilder &builder) {
  Instruction instruction;
  instruction.opcode = Opcode::TopK;
  instruction.parameter = topk.k;
  std::vector<const Place *> places{&topk.inputUnit, &topk.state, &topk.number};
  // The reduced axis is the outermost level: of equal values the lower index comes first.
  std::vector<size_t> order{topk.axis};
  for (size_t a : builder.axesOf(topk.output)) {
    order.push_back(a);
  }
  builder.emit(instruction, places, builder.levels(order, places));
}

static void finishAndStore(const TopK &topk, PhaseBuilder &builder) {
  const Kernel &kernel = *topk.kernel;
  Instruction finish;
  finish.opcode = Opcode::Finish;
  finish.function = program::Function::Lanes;
  finish.constant = program::kScaleOne;
  Place list = shiftedBytes(topk.state, topk.wantsIndex ? topk.listBytes() : 0);
  std::vector<const Place *> places{&list, &topk.outputUnit};
  std::vector<size_t> kept = builder.axesOf(topk.output);
  std::vector<Level> nest = builder.levels(kept, places);
  nest.push_back({topk.k, {program::accBytes(kernel.format), topk.unitKStride}});
  nest.push_back({topk.halves, {kStickBytes, topk.unitHalfStride}});
  builder.emitAs(topk.wantsIndex ? numerics::DataFormat::IeeeInt32 : kernel.format, finish, places,
                 std::move(nest));
  if (kernel.output.inLx) {
    return;
  }
  Instruction store;
  store.opcode = Opcode::Store;
  places = {&topk.outputUnit, &topk.output};
  nest = builder.levels(kept, places);
  nest.push_back({topk.k, {topk.unitKStride, topk.kStride}});
  nest.push_back({topk.halves, {topk.unitHalfStride, topk.halfStride}});
  builder.emit(store, places, std::move(nest));
}

Expected<program::Phase> lowerTopK(const Kernel &kernel, BufferTable &buffers) {
  TopK topk;
  topk.kernel = &kernel;
  topk.wantsIndex = kernel.dsc->op == "topkindex";
  SPYRE_RETURN_IF_ERROR(checkRules(topk));
  PhaseBuilder builder(kernel, buffers);
  addAxes(topk, builder);
  SPYRE_RETURN_IF_ERROR(planStaging(topk, builder));
  std::vector<size_t> order;
  for (size_t a : builder.axesOf(topk.output)) {
    if (builder.axes[a].tiled()) {
      order.push_back(a);
    }
  }
  size_t keptDepth = order.size();
  if (builder.axes[topk.axis].tiled()) {
    order.push_back(topk.axis);
  }
  auto enter = [&](size_t depth) {
    if (depth == keptDepth) {
      clearLists(topk, builder);
    }
    if (depth == PhaseBuilder::depthOf(order, topk.input)) {
      if (!kernel.inputs[0].inLx) {
        builder.load(topk.input, topk.inputUnit);
      }
    }
    if (depth == order.size()) {
      takeTile(topk, builder);
    }
  };
  auto leave = [&](size_t depth) {
    if (depth == keptDepth) {
      finishAndStore(topk, builder);
    }
  };
  builder.walk(order, enter, leave);
  return builder.finish();
}

} // namespace spyre::backend
