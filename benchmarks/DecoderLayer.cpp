//===- DecoderLayer.cpp - decoder layers of the shape of Granite 3.3 8B as graph IR ---------===//
#include "DecoderLayer.h"

#include "spyre/Base/Math.h"
#include "spyre/CAPI/Compiler.h"

namespace spyre::bench {

namespace {

constexpr int64_t kTokens = 2048, kHidden = 4096, kHeads = 32, kGroups = 8, kWidth = 128,
                  kMlp = 12800;

using Shape = std::vector<int64_t>;
using Attributes = std::vector<std::pair<std::string, capi::Attribute>>;

class Decoder {
public:
  struct Tensor {
    capi::ValueId id;
    Shape shape;
  };

  std::string run(int64_t layers) {
    Tensor x = input("x", {1, kTokens, kHidden});
    cosine = input("cos", {1, 1, kTokens, kWidth});
    sine = input("sin", {1, 1, kTokens, kWidth});
    mask = input("mask", {1, 1, kTokens, kTokens});
    for (int64_t i = 0; i < layers; ++i) {
      prefix = fmt::format("layer{}_", i);
      x = add(x, attention(norm(x, "norm1")));
      x = add(x, mlp(norm(x, "norm2")));
    }
    builder.addOutput(x.id, typeOf(x.shape));
    return *builder.text();
  }

private:
  static capi::TensorType typeOf(const Shape &shape) {
    return {numerics::HostType::Float16, shape, rowMajorStrides(shape)};
  }

  Tensor input(const std::string &name, const Shape &shape) {
    auto layout = layout::DeviceLayout::makeDefault(shape, numerics::HostType::Float16);
    return {builder.addInput(prefix + name, typeOf(shape), 0, *layout), shape};
  }
  Tensor call(const char *name, const std::vector<Tensor> &operands, Attributes attributes,
              const Shape &shape) {
    std::vector<capi::ValueId> ids;
    for (const Tensor &operand : operands) {
      ids.push_back(operand.id);
    }
    return {builder.addCall(name, ids, attributes, typeOf(shape), "decoder.py:1"), shape};
  }

  Tensor add(const Tensor &x, const Tensor &y) {
    return call("aten.add.Tensor", {x, y}, {}, x.shape);
  }
  Tensor mul(const Tensor &x, const Tensor &y) {
    return call("aten.mul.Tensor", {x, y}, {}, x.shape);
  }
  Tensor view(const Tensor &x, const Shape &shape) {
    return call("aten.view.default", {x}, {{"size", shape}}, shape);
  }
  Tensor transpose(const Tensor &x, int64_t a, int64_t b) {
    Shape shape = x.shape;
    std::swap(shape[size_t(a)], shape[size_t(b)]);
    return call("aten.transpose.int", {x}, {{"dim0", a}, {"dim1", b}}, shape);
  }
  Tensor norm(const Tensor &x, const std::string &name) {
    return call("aten.rms_norm.default", {x, input(name, {kHidden})},
                {{"normalized_shape", Shape{kHidden}}, {"eps", 1e-5}}, x.shape);
  }
  Tensor linear(const Tensor &x, const std::string &name, int64_t outputs) {
    Shape shape = x.shape;
    Tensor weight = input(name, {outputs, shape.back()});
    shape.back() = outputs;
    return call("aten.linear.default", {x, weight}, {}, shape);
  }
  Tensor half(const Tensor &x, int64_t start) {
    Shape shape = x.shape;
    shape.back() /= 2;
    return call("aten.slice.Tensor", {x},
                {{"dim", int64_t(3)}, {"start", start}, {"end", start + shape.back()}}, shape);
  }

  Tensor heads(const Tensor &x, const std::string &name, int64_t count) {
    return transpose(view(linear(x, name, count * kWidth), {1, kTokens, count, kWidth}), 1, 2);
  }
  Tensor rotated(const Tensor &x) {
    Tensor second = half(x, kWidth / 2);
    Tensor turned =
        call("aten.cat.default", {call("aten.neg.default", {second}, {}, second.shape), half(x, 0)},
             {{"dim", int64_t(-1)}}, x.shape);
    return add(mul(x, cosine), mul(turned, sine));
  }
  Tensor repeated(const Tensor &x) {
    const Shape one = {1, kGroups, 1, kTokens, kWidth};
    const Shape all = {1, kGroups, kHeads / kGroups, kTokens, kWidth};
    Tensor wide = call("aten.expand.default", {view(x, one)}, {{"size", all}}, all);
    return view(wide, {1, kHeads, kTokens, kWidth});
  }
  Tensor attention(const Tensor &x) {
    Tensor q = rotated(heads(x, "q", kHeads)), k = repeated(rotated(heads(x, "k", kGroups)));
    Tensor v = repeated(heads(x, "v", kGroups));
    const Shape square = {1, kHeads, kTokens, kTokens};
    Tensor scores = call("aten.matmul.default", {q, transpose(k, 2, 3)}, {}, square);
    scores = call("aten.mul.Scalar", {scores}, {{"other", 0.0078125}}, square);
    scores = call("aten._softmax.default", {add(scores, mask)},
                  {{"dim", int64_t(-1)}, {"half_to_float", false}}, square);
    Tensor mixed = call("aten.matmul.default", {scores, v}, {}, q.shape);
    return linear(view(transpose(mixed, 1, 2), {1, kTokens, kHidden}), "o", kHidden);
  }
  Tensor mlp(const Tensor &x) {
    Tensor gate = linear(x, "gate", kMlp);
    gate = call("aten.silu.default", {gate}, {}, gate.shape);
    return linear(mul(gate, linear(x, "up", kMlp)), "down", kHidden);
  }

  capi::GraphBuilder builder;
  std::string prefix;
  Tensor cosine, sine, mask;
};

} // namespace

std::string decoderLayers(int64_t layers) { return Decoder().run(layers); }

} // namespace spyre::bench
