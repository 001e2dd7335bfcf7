//===- RandomGraph.cpp - seeded random graphs of the supported operations -------------------===//
#include "RandomGraph.h"

#include "spyre/Base/Math.h"
#include "spyre/Numerics/Formats.h"

#include <algorithm>
#include <numeric>

namespace spyre::testing {

namespace {

using Shape = std::vector<int64_t>;

class Generator {
public:
  Generator(Random &random, const RandomGraphOptions &options) : random(random), options(options) {}

  Graph run() {
    int64_t rank = random.between(1, 4);
    Shape shape;
    for (int64_t i = 0; i < rank; ++i) {
      shape.push_back(size());
    }
    while (elementCount(shape) > 20000) {
      shape[random.below(rank)] = random.between(1, 9);
    }
    addInput(shape, false);
    for (int64_t i = 0; i < options.calls; ++i) {
      addRandomCall();
    }
    graph.outputs.push_back(lastValue());
    if (random.below(4) == 0) {
      graph.outputs.push_back(int64_t(random.below(shapes.size())));
    }
    fixInputs();
    return graph;
  }

private:
  int64_t size() {
    static const int64_t favourites[] = {1, 2, 3, 64, 65, 67, 128, 130};
    if (random.below(2)) {
      return std::min(favourites[random.below(8)], options.maxSize);
    }
    return random.between(1, options.maxSize);
  }
  int64_t lastValue() const { return int64_t(shapes.size()) - 1; }

  /// Inputs are numbered first in the end; while building, ids are provisional.
  int64_t addInput(const Shape &shape, bool isBool) {
    HostTensor tensor;
    tensor.shape = shape;
    tensor.isBool = isBool;
    for (int64_t n = 0; n < elementCount(shape); ++n) {
      float value = isBool          ? float(random.below(2))
                    : options.exact ? float(random.between(-2, 2))
                                    : random.uniform(-1, 1);
      tensor.values.push_back(numerics::dl16ToFloat(numerics::floatToDl16(value)));
    }
    graph.inputs.push_back(std::move(tensor));
    shapes.push_back(shape);
    isInput.push_back(true);
    return lastValue();
  }

  int64_t addCall(std::string target, std::vector<int64_t> operands,
                  std::vector<std::pair<std::string, capi::Attribute>> attributes, Shape shape) {
    graph.calls.push_back({std::move(target), std::move(operands), std::move(attributes), shape});
    shapes.push_back(std::move(shape));
    isInput.push_back(false);
    return lastValue();
  }

  Shape broadcastable(const Shape &shape) {
    Shape result = shape;
    for (int64_t &dim : result) {
      if (random.below(3) == 0) {
        dim = 1;
      }
    }
    size_t drop = random.below(result.size() + 1);
    if (random.below(3) == 0) {
      result.erase(result.begin(), result.begin() + drop);
    }
    return result;
  }

  void addRandomCall() {
    int64_t x = lastValue();
    Shape shape = shapes[x];
    switch (random.below(10)) {
    case 0:
    case 1: {
      const char *name = random.below(2) ? "aten.add.Tensor" : "aten.mul.Tensor";
      if (random.below(4) == 0) {
        addCall(name, {x}, {{"scalar1", double(random.between(-2, 2))}}, shape);
      } else {
        int64_t y = addInput(broadcastable(shape), false);
        std::vector<int64_t> operands =
            random.below(2) ? std::vector<int64_t>{x, y} : std::vector<int64_t>{y, x};
        addCall(name, operands, {}, shape);
      }
      return;
    }
    case 2: {
      int64_t condition = addInput(broadcastable(shape), true);
      int64_t y = addInput(broadcastable(shape), false);
      addCall("aten.where.self", {condition, x, y}, {}, shape);
      return;
    }
    case 3:
      if (!options.exact) {
        // Keeps values small so that exp does not overflow after a few steps.
        int64_t scaled = addCall("aten.mul.Tensor", {x}, {{"scalar1", 0.0625}}, shape);
        addCall("aten.exp.default", {scaled}, {}, shape);
        return;
      }
      addCall("aten.clone.default", {x}, {}, shape);
      return;
    case 4:
      return addReduction(x, shape);
    case 5:
      return addMatmul(x, shape);
    case 6:
    case 7: {
      Shape dims(shape.size());
      std::iota(dims.begin(), dims.end(), 0);
      for (size_t i = dims.size(); i > 1; --i) {
        std::swap(dims[i - 1], dims[random.below(i)]);
      }
      Shape result;
      for (int64_t dim : dims) {
        result.push_back(shape[dim]);
      }
      addCall("aten.permute.default", {x}, {{"dims", dims}}, result);
      return;
    }
    case 8:
      addCall("aten.view.default", {x}, {}, reshaped(elementCount(shape)));
      return;
    default: {
      Shape wide = shape;
      for (int64_t &dim : wide) {
        dim = dim == 1 && random.below(2) ? random.between(2, 9) : dim;
      }
      if (wide.size() < 4 && random.below(2)) {
        wide.insert(wide.begin(), random.between(1, 3));
      }
      if (elementCount(wide) <= 40000) {
        addCall("aten.expand.default", {x}, {}, wide);
      }
      return;
    }
    }
  }

  Shape reshaped(int64_t elements) {
    Shape shape;
    while (elements > 1 && shape.size() < 4) {
      Shape divisors;
      for (int64_t d = 2; d <= elements; ++d) {
        if (elements % d == 0) {
          divisors.push_back(d);
        }
      }
      shape.push_back(shape.size() == 3 ? elements : divisors[random.below(divisors.size())]);
      elements /= shape.back();
    }
    if (random.below(4) == 0 && shape.size() < 4) {
      shape.insert(shape.begin() + random.below(shape.size() + 1), 1);
    }
    return shape;
  }

  void addReduction(int64_t x, const Shape &shape) {
    if (shape.empty()) {
      return;
    }
    bool keep = random.below(2);
    Shape dims = {int64_t(random.below(shape.size()))}, result;
    if (random.below(4) == 0 && shape.size() > 1) {
      dims.push_back((dims[0] + 1) % int64_t(shape.size()));
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      bool reduced = std::count(dims.begin(), dims.end(), int64_t(d)) > 0;
      if (!reduced) {
        result.push_back(shape[d]);
      } else if (keep) {
        result.push_back(1);
      }
    }
    if (random.below(2)) {
      dims[0] -= int64_t(shape.size());
    }
    addCall(random.below(2) ? "aten.sum.dim_IntList" : "aten.amax.default", {x},
            {{"dim", dims}, {"keepdim", keep}}, result);
  }

  void addMatmul(int64_t x, const Shape &shape) {
    if (shape.size() != 2 && shape.size() != 3) {
      return;
    }
    int64_t n = std::min<int64_t>(size(), 70);
    Shape y = shape, result = shape;
    y[y.size() - 2] = shape.back();
    y.back() = result.back() = n;
    if (elementCount(y) > 20000 || elementCount(shape) * n > 2000000) {
      return;
    }
    int64_t other = addInput(y, false);
    bool transposed = random.below(3) == 0;
    if (transposed) { // the same numbers through a view
      Shape flipped = y;
      std::swap(flipped[y.size() - 1], flipped[y.size() - 2]);
      graph.inputs.back().shape = flipped;
      shapes.back() = flipped;
      Shape dims(y.size());
      std::iota(dims.begin(), dims.end(), 0);
      std::swap(dims[y.size() - 1], dims[y.size() - 2]);
      other = addCall("aten.permute.default", {other}, {{"dims", dims}}, y);
    }
    addCall(shape.size() == 2 ? "aten.mm.default" : "aten.bmm.default", {x, other}, {}, result);
  }

  /// Renumbers provisional ids: inputs first, then calls.
  void fixInputs() {
    std::vector<int64_t> newId(shapes.size());
    int64_t inputs = 0, calls = 0;
    for (size_t i = 0; i < shapes.size(); ++i) {
      newId[i] = isInput[i] ? inputs++ : int64_t(graph.inputs.size()) + calls++;
    }
    for (Call &call : graph.calls) {
      for (int64_t &operand : call.operands) {
        operand = newId[operand];
      }
    }
    for (int64_t &output : graph.outputs) {
      output = newId[output];
    }
  }

  Random &random;
  const RandomGraphOptions &options;
  Graph graph;
  std::vector<Shape> shapes;
  std::vector<bool> isInput;
};

} // namespace

Graph randomGraph(Random &random, const RandomGraphOptions &options) {
  return Generator(random, options).run();
}

std::string graphText(const Graph &graph) {
  capi::GraphBuilder builder;
  std::vector<capi::ValueId> ids;
  std::vector<capi::TensorType> types;
  auto typeOf = [](const std::vector<int64_t> &shape, bool isBool) {
    return capi::TensorType{isBool ? numerics::HostType::Bool : numerics::HostType::Float16, shape,
                            rowMajorStrides(shape)};
  };
  std::vector<HostTensor> values = interpret(graph); // only for the element types of views
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    types.push_back(typeOf(graph.inputs[i].shape, graph.inputs[i].isBool));
    auto layout = layout::DeviceLayout::makeDefault(types.back().size, types.back().dtype);
    ids.push_back(builder.addInput("in" + std::to_string(i), types.back(), 0, *layout));
  }
  for (size_t i = 0; i < graph.calls.size(); ++i) {
    const Call &call = graph.calls[i];
    std::vector<capi::ValueId> operands;
    for (int64_t operand : call.operands) {
      operands.push_back(ids[operand]);
    }
    types.push_back(typeOf(call.shape, values[graph.inputs.size() + i].isBool));
    ids.push_back(builder.addCall(call.target, operands, call.attributes, types.back(), ""));
  }
  for (int64_t output : graph.outputs) {
    builder.addOutput(ids[output], types[output]);
  }
  return builder.text();
}

} // namespace spyre::testing
