//===- GraphInterpreter.cpp - graphs on the host, straight from their definition ------------===//
#include "GraphInterpreter.h"

#include "spyre/Numerics/Formats.h"
#include "spyre/Numerics/Functions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace spyre::testing {

int64_t elementCount(const std::vector<int64_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

namespace {

std::vector<int64_t> unflatten(int64_t flat, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

int64_t flatten(const std::vector<int64_t> &index, const std::vector<int64_t> &shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    flat = flat * shape[d] + index[d];
  }
  return flat;
}

/// Element of \p tensor that broadcasts to \p index of a larger shape.
float at(const HostTensor &tensor, const std::vector<int64_t> &index) {
  std::vector<int64_t> own(index.end() - tensor.shape.size(), index.end());
  for (size_t d = 0; d < own.size(); ++d) {
    own[d] = tensor.shape[d] == 1 ? 0 : own[d];
  }
  return tensor.values[flatten(own, tensor.shape)];
}

float rounded(float value) { return numerics::dl16ToFloat(numerics::floatToDl16(value)); }

class Interpreter {
public:
  explicit Interpreter(const Graph &graph) : values(graph.inputs) {
    for (const Call &call : graph.calls) {
      HostTensor result;
      result.shape = call.shape;
      result.values.resize(elementCount(call.shape));
      run(call, result);
      values.push_back(std::move(result));
    }
  }
  std::vector<HostTensor> values;

private:
  void run(const Call &call, HostTensor &result) {
    const std::string &name = call.target;
    const HostTensor &first = values[call.operands[0]];
    if (name == "aten.mm.default" || name == "aten.bmm.default") {
      return matmul(first, values[call.operands[1]], result);
    }
    if (name == "aten.sum.dim_IntList" || name == "aten.amax.default") {
      return reduce(call, first, result);
    }
    if (name == "aten.permute.default") {
      const auto &dims = std::get<std::vector<int64_t>>(call.attributes[0].second);
      for (int64_t n = 0; n < elementCount(result.shape); ++n) {
        std::vector<int64_t> index = unflatten(n, result.shape), from(index.size());
        for (size_t d = 0; d < dims.size(); ++d) {
          from[dims[d]] = index[d];
        }
        result.values[n] = first.values[flatten(from, first.shape)];
      }
      result.isBool = first.isBool;
      return;
    }
    if (name == "aten.view.default" || name == "aten.clone.default") {
      result.values = first.values;
      result.isBool = first.isBool;
      return;
    }
    for (int64_t n = 0; n < elementCount(result.shape); ++n) {
      result.values[n] = pointwise(call, unflatten(n, result.shape));
    }
    result.isBool = name == "aten.expand.default" && first.isBool;
  }

  float pointwise(const Call &call, const std::vector<int64_t> &index) {
    std::vector<float> in;
    for (int64_t operand : call.operands) {
      in.push_back(at(values[operand], index));
    }
    if (!call.attributes.empty() && call.attributes[0].first == "scalar1") {
      in.push_back(rounded(float(std::get<double>(call.attributes[0].second))));
    }
    if (call.target == "aten.add.Tensor") {
      return rounded(in[0] + in[1]);
    }
    if (call.target == "aten.mul.Tensor") {
      return rounded(in[0] * in[1]);
    }
    if (call.target == "aten.exp.default") {
      return rounded(float(std::exp(double(in[0]))));
    }
    if (call.target == "aten.where.self") {
      return in[0] != 0 ? in[1] : in[2];
    }
    return in[0]; // expand
  }

  static void matmul(const HostTensor &a, const HostTensor &b, HostTensor &result) {
    size_t rank = a.shape.size();
    int64_t m = a.shape[rank - 2], k = a.shape[rank - 1], n = b.shape[rank - 1];
    int64_t batch = rank == 3 ? a.shape[0] : 1;
    for (int64_t i = 0; i < batch * m * n; ++i) {
      int64_t column = i % n, row = i / n % m, block = i / (m * n);
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum = std::fma(a.values[(block * m + row) * k + p], b.values[(block * k + p) * n + column],
                       sum);
      }
      result.values[i] = rounded(sum);
    }
  }

  /// One dimension at a time, highest first, rounding after each.
  static void reduce(const Call &call, const HostTensor &input, HostTensor &result) {
    bool isSum = call.target == "aten.sum.dim_IntList";
    std::vector<int64_t> dims = std::get<std::vector<int64_t>>(call.attributes[0].second);
    for (int64_t &dim : dims) {
      dim = dim < 0 ? dim + int64_t(input.shape.size()) : dim;
    }
    std::sort(dims.rbegin(), dims.rend());
    HostTensor current = input;
    for (int64_t dim : dims) {
      HostTensor next;
      next.shape = current.shape;
      next.shape[dim] = 1;
      next.values.resize(elementCount(next.shape));
      for (int64_t n = 0; n < elementCount(next.shape); ++n) {
        std::vector<int64_t> index = unflatten(n, next.shape);
        float total = isSum ? 0 : -INFINITY;
        for (index[dim] = 0; index[dim] < current.shape[dim]; ++index[dim]) {
          float value = current.values[flatten(index, current.shape)];
          total = isSum ? total + value : std::max(total, value);
        }
        next.values[n] = rounded(total);
      }
      current = std::move(next);
    }
    result.values = current.values;
  }
};

} // namespace

std::vector<HostTensor> interpret(const Graph &graph) { return Interpreter(graph).values; }

} // namespace spyre::testing
