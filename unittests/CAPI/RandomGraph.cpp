//===- RandomGraph.cpp - seeded random graphs over the whole table of operations ------------===//
//
// A chain: each step takes the last value (at times an earlier one) and applies an operation picked
// evenly from one group. Where an operation needs its arguments in a range (logarithms, quotients)
// the step brings the calls that make it so, and values that grow are clamped: results near the
// ends of a format would hide errors instead of showing them.
//===--------------------------------------------------------------------------------------------===//
#include "RandomGraph.h"

#include "spyre/Base/Math.h"

#include "RandomSteps.h"

#include <algorithm>

namespace spyre::testing {

using numerics::HostType;

bool isInteger(HostType dtype) { return dtype >= HostType::Int8 && dtype <= HostType::Int64; }

HostTensor randomTensor(Random &random, const Shape &shape, HostType dtype, bool whole) {
  HostTensor tensor{shape, {}, dtype};
  for (int64_t n = 0; n < elementCount(shape); ++n) {
    tensor.values.push_back(dtype == HostType::Bool ? float(random.below(2))
                            : isInteger(dtype)      ? float(random.below(2))
                            : whole                 ? float(random.between(-2, 2))
                                                    : float(random.between(-128, 128)) / 64.0f);
  }
  return tensor;
}

bool isViewCall(const std::string &target) {
  static const char *const stems[] = {"slice",
                                      "select",
                                      "narrow",
                                      "split",
                                      "split_with_sizes",
                                      "chunk",
                                      "unbind",
                                      "unfold",
                                      "permute",
                                      "transpose",
                                      "t",
                                      "expand",
                                      "view",
                                      "_unsafe_view",
                                      "reshape",
                                      "squeeze",
                                      "unsqueeze",
                                      "flatten",
                                      "alias",
                                      "detach",
                                      "lift_fresh_copy",
                                      "flip",
                                      "diagonal",
                                      "as_strided"};
  return std::count(std::begin(stems), std::end(stems), stemOf(target)) > 0;
}

//===--------------------------------------------------------------------------------------------===//
// Steps: the shared part
//===--------------------------------------------------------------------------------------------===//

Graph Steps::run() {
  static const HostType types[] = {HostType::Float16, HostType::Float16, HostType::Bfloat16,
                                   HostType::Float32};
  const HostType dtype = types[random.below(4)];
  Shape shape;
  for (int64_t rank = random.between(1, 4); rank > 0; --rank) {
    shape.push_back(size());
  }
  while (elementCount(shape) > options.maxElements / 2) { // the innermost size last
    const bool others = elementCount({shape.begin(), shape.end() - 1}) > 1;
    shape[random.below(shape.size() - (others ? 1 : 0))] = random.between(1, 9);
  }
  addInput(shape, dtype);
  for (int64_t i = 0; i < options.steps; ++i) {
    addStep(random.below(6) == 0 ? int64_t(random.below(values.size())) : last());
  }
  while (std::count_if(graph.calls.begin(), graph.calls.end(),
                       [](const Call &call) { return isViewCall(call.target); }) < 2) {
    addView(last());
  }
  graph.outputs.push_back(last());
  for (uint64_t more = random.below(4) == 0 ? random.below(3) + 1 : 0; more > 0; --more) {
    graph.outputs.push_back(int64_t(random.below(values.size())));
  }
  renumber();
  return std::move(graph);
}

int64_t Steps::size() {
  static const int64_t favourites[] = {1, 2, 3, 32, 64, 65, 67, 96, 128, 130};
  return oneIn(2) ? std::min(favourites[random.below(10)], options.maxSize)
                  : random.between(1, options.maxSize);
}

int64_t Steps::addInput(const Shape &shape, HostType dtype) {
  graph.inputs.push_back(randomTensor(random, shape, dtype, options.whole));
  values.push_back({shape, dtype, dtype == HostType::Bool ? 1.0 : 2.0, true});
  return last();
}

int64_t Steps::addCall(const std::string &target, std::vector<int64_t> operands,
                       Attributes attributes, Shape shape, HostType dtype, double largest) {
  graph.calls.push_back({target, std::move(operands), std::move(attributes), shape, dtype});
  values.push_back({std::move(shape), dtype, largest, false});
  return last();
}

int64_t Steps::unary(const std::string &target, int64_t x, Attributes attributes, double largest) {
  return addCall(target, {x}, std::move(attributes), shapeOf(x), typeOf(x), largest);
}

int64_t Steps::clamped(int64_t x, double limit) {
  return values[size_t(x)].largest <= limit
             ? x
             : unary("aten.clamp.default", x, {{"min", -limit}, {"max", limit}}, limit);
}

int64_t Steps::positive(int64_t x) {
  const int64_t magnitude = unary("aten.abs.default", clamped(x, 64), {}, 64);
  return unary("aten.add.Scalar", magnitude, {{"other", 0.5}}, 65);
}

Shape Steps::broadcastable(Shape shape) {
  for (int64_t &dim : shape) {
    dim = random.below(3) == 0 ? 1 : dim;
  }
  if (!shape.empty() && random.below(3) == 0) {
    shape.erase(shape.begin(), shape.begin() + int64_t(random.below(shape.size() + 1)));
  }
  return shape;
}

int64_t Steps::partner(int64_t x, HostType dtype) {
  const Shape shape = broadcastable(shapeOf(x));
  return random.below(4) == 0 ? addFill(x, shape, dtype) : addInput(shape, dtype);
}

void Steps::addStep(int64_t x) {
  // Larger numbers would leave the range in which sums are exact.
  constexpr double kLargest = 2000;
  if (isInteger(typeOf(x))) {
    return oneIn(4) ? addLookUp(x) : addInteger(x);
  }
  if (typeOf(x) == HostType::Float8E4m3fn) { // is converted, or moved
    return oneIn(3) ? addView(x) : addCast(x);
  }
  if (typeOf(x) == HostType::Bool) {
    random.below(8) == 0 ? addGather(x) : random.below(3) == 0 ? addView(x) : addTruth(x);
    return;
  }
  x = values[size_t(x)].largest > kLargest ? clamped(x, 4) : x;
  if (oneIn(20)) {
    return addInteger(integerPartner(x));
  }
  switch (random.below(20)) {
  case 0:
  case 1:
    addUnary(x);
    return;
  case 2:
  case 3:
    addBinary(x);
    return;
  case 4:
    addComparison(x);
    return;
  case 5:
    oneIn(2) ? addSelection(x) : addReduction(x);
    return;
  case 6:
    addMatmul(x);
    return;
  case 7:
    addLayer(x);
    return;
  case 8:
    oneIn(3) ? addCat(x) : oneIn(2) ? addScatter(x) : addCopy(x);
    return;
  case 9:
    addCast(x);
    return;
  case 10:
    addMixed(x);
    return;
  case 11:
  case 12:
    addGather(x);
    return;
  default:
    addView(x);
  }
}

/// Inputs are numbered first in the end; while building, ids are provisional.
void Steps::renumber() {
  std::vector<int64_t> newId(values.size());
  int64_t inputs = 0, calls = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    newId[i] = values[i].isInput ? inputs++ : int64_t(graph.inputs.size()) + calls++;
  }
  for (Call &call : graph.calls) {
    for (int64_t &operand : call.operands) {
      operand = newId[size_t(operand)];
    }
  }
  for (int64_t &output : graph.outputs) {
    output = newId[size_t(output)];
  }
}

Graph randomGraph(Random &random, const RandomGraphOptions &options) {
  return Steps(random, options).run();
}

/// "|d64:64,d3:3": dimensions of equal size have one name.
static std::string namesOfSizes(const std::vector<int64_t> &shape) {
  std::vector<std::string> names;
  for (int64_t size : shape) {
    names.push_back(fmt::format("d{}:{}", size, size));
  }
  return names.empty() ? "" : fmt::format("|{}", fmt::join(names, ","));
}

std::string graphText(const Graph &graph, const std::vector<std::string> &hints, bool numbered) {
  capi::GraphBuilder builder;
  std::vector<capi::ValueId> ids;
  std::vector<capi::TensorType> types;
  for (const HostTensor &input : graph.inputs) {
    types.push_back({input.dtype, input.shape, rowMajorStrides(input.shape)});
    auto layout = layout::DeviceLayout::makeDefault(types.back().size, types.back().dtype);
    const std::string names = hints.empty() ? "" : namesOfSizes(input.shape);
    ids.push_back(
        builder.addInput("in" + std::to_string(ids.size()) + names, types.back(), 0, *layout));
  }
  for (const Call &call : graph.calls) {
    std::vector<capi::ValueId> operands;
    for (int64_t operand : call.operands) {
      operands.push_back(ids[size_t(operand)]);
    }
    types.push_back({call.dtype, call.shape, rowMajorStrides(call.shape)});
    const size_t number = ids.size() - graph.inputs.size();
    ids.push_back(builder.addCall(call.target, operands, call.attributes, types.back(),
                                  hints.empty() ? "" : hints[number],
                                  numbered ? int64_t(number) : -1));
  }
  for (int64_t output : graph.outputs) {
    builder.addOutput(ids[size_t(output)], types[size_t(output)]);
  }
  for (auto [input, value] : graph.mutations) {
    builder.addMutation(ids[size_t(input)], ids[size_t(value)]);
  }
  return *builder.text();
}

} // namespace spyre::testing
