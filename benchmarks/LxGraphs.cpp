//===- LxGraphs.cpp - see LxGraphs.h --------------------------------------------------------===//
#include "LxGraphs.h"

#include "spyre/Base/Math.h"
#include "spyre/CAPI/Compiler.h"

namespace spyre::bench {

namespace {

constexpr int64_t kTokens = 256, kHidden = 512, kHeads = 8, kGroups = 2, kWidth = 64, kMlp = 1536;

using Shape = std::vector<int64_t>;
using Attributes = std::vector<std::pair<std::string, capi::Attribute>>;

struct Tensor {
  capi::ValueId id;
  Shape shape;
};

class Net {
public:
  Tensor input(const std::string &name, const Shape &shape,
               numerics::HostType dtype = numerics::HostType::Float16) {
    auto layout = layout::DeviceLayout::makeDefault(shape, dtype);
    return {builder.addInput(name, {dtype, shape, rowMajorStrides(shape)}, 0, *layout), shape};
  }
  Tensor call(const char *name, const std::vector<Tensor> &operands, const Attributes &attributes,
              const Shape &shape) {
    std::vector<capi::ValueId> ids;
    for (const Tensor &operand : operands) {
      ids.push_back(operand.id);
    }
    return {builder.addCall(name, ids, attributes, typeOf(shape), ""), shape};
  }
  std::string finish(const Tensor &output) {
    builder.addOutput(output.id, typeOf(output.shape));
    return *builder.text();
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
  Tensor softmax(const Tensor &x, int64_t dim) {
    return call("aten._softmax.default", {x}, {{"dim", dim}, {"half_to_float", false}}, x.shape);
  }
  Tensor linear(const Tensor &x, const std::string &name, int64_t outputs) {
    Shape shape = x.shape;
    Tensor weight = input(name, {outputs, shape.back()});
    shape.back() = outputs;
    return call("aten.linear.default", {x, weight}, {}, shape);
  }
  Tensor layerNorm(const Tensor &x, const std::string &name) {
    const int64_t width = x.shape.back();
    return call("aten.layer_norm.default",
                {x, input(name + "_w", {width}), input(name + "_b", {width})},
                {{"normalized_shape", Shape{width}}, {"eps", 1e-5}}, x.shape);
  }
  Tensor rmsNorm(const Tensor &x, const std::string &name) {
    const int64_t width = x.shape.back();
    return call("aten.rms_norm.default", {x, input(name, {width})},
                {{"normalized_shape", Shape{width}}, {"eps", 1e-5}}, x.shape);
  }

  Tensor heads(const Tensor &x, const std::string &name, int64_t count) {
    return transpose(view(linear(x, name, count * kWidth), {1, kTokens, count, kWidth}), 1, 2);
  }
  Tensor repeated(const Tensor &x) {
    const Shape all = {1, kGroups, kHeads / kGroups, kTokens, kWidth};
    Tensor one = view(x, {1, kGroups, 1, kTokens, kWidth});
    Tensor wide = call("aten.expand.default", {one}, {{"size", all}}, all);
    return view(wide, {1, kHeads, kTokens, kWidth});
  }
  /// softmax(q k^T / 8) v
  Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v) {
    Shape square = q.shape;
    square.back() = kTokens;
    Tensor scores = call("aten.matmul.default", {q, transpose(k, 2, 3)}, {}, square);
    scores = call("aten.mul.Scalar", {scores}, {{"other", 0.125}}, square);
    return call("aten.matmul.default", {softmax(scores, -1), v}, {}, q.shape);
  }
  Tensor merged(const Tensor &x) { return view(transpose(x, 1, 2), {1, kTokens, kHidden}); }
  Tensor gatedMlp(const Tensor &x, const std::string &name, int64_t width) {
    Tensor gate = linear(x, name + "gate", width);
    gate = call("aten.silu.default", {gate}, {}, gate.shape);
    return linear(mul(gate, linear(x, name + "up", width)), name + "down", x.shape.back());
  }

private:
  static capi::TensorType typeOf(const Shape &shape) {
    return {numerics::HostType::Float16, shape, rowMajorStrides(shape)};
  }
  capi::GraphBuilder builder;
};

std::string softmaxGraph() {
  Net net;
  return net.finish(net.softmax(net.input("x", {512, 1024}), 0));
}

std::string layerNormGraph() {
  Net net;
  return net.finish(net.layerNorm(net.input("x", {1024, 1024}), "norm"));
}

std::string attentionGraph(int64_t groups) {
  Net net;
  Tensor q = net.input("q", {1, kHeads, kTokens, kWidth});
  Tensor k = net.input("k", {1, groups, kTokens, kWidth});
  Tensor v = net.input("v", {1, groups, kTokens, kWidth});
  const bool shared = groups != kHeads;
  return net.finish(net.attention(q, shared ? net.repeated(k) : k, shared ? net.repeated(v) : v));
}

std::string gatedMlpGraph() {
  Net net;
  return net.finish(net.gatedMlp(net.input("x", {kTokens, kHidden}), "", kMlp));
}

/// Which tokens go to which expert comes in as indices, with the weight of each.
std::string expertsGraph() {
  Net net;
  Tensor x = net.input("x", {kTokens, kHidden});
  std::vector<Tensor> parts;
  for (int64_t expert = 0; expert < 2; ++expert) {
    const std::string name = fmt::format("e{}_", expert);
    Tensor rows = net.input(name + "rows", {kTokens / 2}, numerics::HostType::Int32);
    Tensor share = net.input(name + "share", {kTokens / 2, 1});
    Tensor chosen = net.call("aten.index_select.default", {x, rows}, {{"dim", int64_t(0)}},
                             {kTokens / 2, kHidden});
    parts.push_back(net.mul(net.gatedMlp(chosen, name, kMlp / 2), share));
  }
  return net.finish(net.call("aten.cat.default", parts, {{"dim", int64_t(0)}}, x.shape));
}

std::string graniteGraph() {
  Net net;
  Tensor x = net.input("x", {1, kTokens, kHidden});
  Tensor n = net.rmsNorm(x, "norm1");
  Tensor q = net.heads(n, "q", kHeads), k = net.repeated(net.heads(n, "k", kGroups));
  Tensor mixed = net.attention(q, k, net.repeated(net.heads(n, "v", kGroups)));
  x = net.add(x, net.linear(net.merged(mixed), "o", kHidden));
  return net.finish(net.add(x, net.gatedMlp(net.rmsNorm(x, "norm2"), "", kMlp)));
}

std::string bertGraph() {
  Net net;
  Tensor x = net.input("x", {1, kTokens, kHidden});
  Tensor q = net.heads(x, "q", kHeads), k = net.heads(x, "k", kHeads);
  Tensor mixed = net.attention(q, k, net.heads(x, "v", kHeads));
  x = net.layerNorm(net.add(x, net.linear(net.merged(mixed), "o", kHidden)), "norm1");
  Tensor wide = net.linear(x, "up", 4 * kHidden);
  wide = net.call("aten.gelu.default", {wide}, {}, wide.shape);
  return net.finish(net.layerNorm(net.add(x, net.linear(wide, "down", kHidden)), "norm2"));
}

} // namespace

std::vector<LxGraph> lxGraphs() {
  return {{"softmax, one core", softmaxGraph(), 1},
          {"softmax", softmaxGraph()},
          {"layer norm", layerNormGraph()},
          {"attention", attentionGraph(kHeads)},
          {"attention, shared heads", attentionGraph(kGroups)},
          {"gated MLP", gatedMlpGraph()},
          {"MLP of experts", expertsGraph()},
          {"Granite layer, 256 x 512", graniteGraph()},
          {"BERT layer, 256 x 512", bertGraph()}};
}

} // namespace spyre::bench
