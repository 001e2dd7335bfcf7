//===- ErrorBound.cpp - how far two honest runs of a graph may be apart ---------------------===//
//
// Except for exp, every operation is linear in each of its operands (or a choice between them), so
// the same operation on magnitudes and errors gives its propagated error. The interpreter computes
// that too, as a graph of one call.
//===--------------------------------------------------------------------------------------------===//
#include "ErrorBound.h"

#include "Support/Tolerance.h"

#include <cmath>

namespace spyre::testing {

namespace {

constexpr const char *kDtype = "float16";
/// The interpreter rounds sums of errors too: at most twice 2^-10 per call.
constexpr float kRoundedErrors = 1 + 0x1p-8f;

HostTensor withValues(const HostTensor &like, std::vector<float> values) {
  return {like.shape, std::move(values), like.isBool};
}

HostTensor magnitude(const HostTensor &tensor) {
  HostTensor result = tensor;
  for (float &value : result.values) {
    value = std::fabs(value);
  }
  return result;
}

/// \p call on other operands. A scalar operand is part of the call.
std::vector<float> callOn(const Call &call, std::vector<HostTensor> operands) {
  Graph graph;
  graph.inputs = std::move(operands);
  graph.calls = {call};
  graph.calls[0].operands.clear();
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    graph.calls[0].operands.push_back(int64_t(i));
  }
  return interpret(graph).back().values;
}

class Propagation {
public:
  Propagation(const Graph &graph, const std::vector<HostTensor> &values)
      : graph(graph), values(values) {
    for (const HostTensor &input : graph.inputs) {
      const float lost = input.isBool ? 0 : float(hostAbsoluteTolerance());
      bounds.emplace_back(input.values.size(), lost);
    }
    for (const Call &call : graph.calls) {
      bounds.push_back(run(call, values[bounds.size()]));
    }
  }
  std::vector<std::vector<float>> take() { return std::move(bounds); }

private:
  HostTensor error(const Call &call, size_t operand) const {
    const int64_t id = call.operands[operand];
    return withValues(values[size_t(id)], bounds[size_t(id)]);
  }
  const HostTensor &value(const Call &call, size_t operand) const {
    return values[size_t(call.operands[operand])];
  }

  /// \p error += \p relative of the magnitudes.
  static std::vector<float> widened(std::vector<float> error, double relative,
                                    const std::vector<float> &magnitudes) {
    for (size_t i = 0; i < error.size(); ++i) {
      error[i] = error[i] * kRoundedErrors + float(relative) * std::fabs(magnitudes[i]);
    }
    return error;
  }

  /// |a| eb + ea |b| + ea eb with the product of \p call.
  std::vector<float> ofProduct(const Call &call) const {
    const HostTensor a = magnitude(value(call, 0)), b = magnitude(value(call, 1));
    const HostTensor ea = error(call, 0), eb = error(call, 1);
    std::vector<float> total = callOn(call, {a, eb});
    for (const auto &part : {callOn(call, {ea, b}), callOn(call, {ea, eb})}) {
      for (size_t i = 0; i < total.size(); ++i) {
        total[i] += part[i];
      }
    }
    return total;
  }

  /// add and mul with a number: only mul scales the error.
  std::vector<float> ofScalar(const Call &call) const {
    Call scaled = call;
    double &scalar = std::get<double>(scaled.attributes[0].second);
    scalar = call.target == "aten.mul.Tensor" ? std::fabs(scalar) : 0.0;
    return callOn(scaled, {error(call, 0)});
  }

  std::vector<float> ofExp(const Call &call, const HostTensor &result) const {
    std::vector<float> total = error(call, 0).values;
    for (size_t i = 0; i < total.size(); ++i) {
      total[i] = result.values[i] * std::expm1(total[i]);
    }
    return total;
  }

  /// One dimension after the other is summed and rounded.
  std::vector<float> ofSum(const Call &call) const {
    double relative = 0;
    const std::vector<int64_t> &shape = value(call, 0).shape;
    for (int64_t dim : std::get<std::vector<int64_t>>(call.attributes[0].second)) {
      const size_t at = size_t(dim < 0 ? dim + int64_t(shape.size()) : dim);
      relative += tolerance("sum", kDtype, shape[at]);
    }
    return widened(callOn(call, {error(call, 0)}), relative,
                   callOn(call, {magnitude(value(call, 0))}));
  }

  std::vector<float> ofMatmul(const Call &call) const {
    const HostTensor &a = value(call, 0), &b = value(call, 1);
    return widened(ofProduct(call), tolerance("matmul", kDtype, a.shape.back()),
                   callOn(call, {magnitude(a), magnitude(b)}));
  }

  std::vector<float> run(const Call &call, const HostTensor &result) const {
    const std::string &name = call.target;
    if (name == "aten.mm.default" || name == "aten.bmm.default") {
      return ofMatmul(call);
    }
    if (name == "aten.sum.dim_IntList") {
      return ofSum(call);
    }
    if (name == "aten.exp.default") {
      return widened(ofExp(call, result), tolerance("exp", kDtype), result.values);
    }
    if (name == "aten.where.self") {
      return callOn(call, {value(call, 0), error(call, 1), error(call, 2)});
    }
    if (name != "aten.add.Tensor" && name != "aten.mul.Tensor") {
      return callOn(call, {error(call, 0)}); // views and maxima move errors, no more
    }
    const std::vector<float> moved = call.operands.size() == 1 ? ofScalar(call)
                                     : name == "aten.mul.Tensor"
                                         ? ofProduct(call)
                                         : callOn(call, {error(call, 0), error(call, 1)});
    return widened(moved, tolerance("pointwise", kDtype), result.values);
  }

  const Graph &graph;
  const std::vector<HostTensor> &values;
  std::vector<std::vector<float>> bounds;
};

} // namespace

std::vector<std::vector<float>> errorBounds(const Graph &graph,
                                            const std::vector<HostTensor> &values) {
  return Propagation(graph, values).take();
}

} // namespace spyre::testing
