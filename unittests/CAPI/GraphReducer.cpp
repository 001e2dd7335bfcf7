//===- GraphReducer.cpp - the smallest graph that still fails -------------------------------===//
//
// Greedy passes until none helps. A call is dropped by putting a fresh input in its place, or its
// own operand where that has the same type; a size is shrunk everywhere at once, in shapes and in
// lists, because the calls must keep fitting together.
//===--------------------------------------------------------------------------------------------===//
#include "GraphReducer.h"

#include "RandomGraph.h"

#include <algorithm>
#include <set>

namespace spyre::testing {

namespace {

using Shape = std::vector<int64_t>;

/// Without the calls and inputs that no output needs.
Graph withoutDead(const Graph &graph) {
  const size_t inputs = graph.inputs.size();
  std::vector<bool> needed(inputs + graph.calls.size(), false);
  for (int64_t output : graph.outputs) {
    needed[size_t(output)] = true;
  }
  for (size_t i = graph.calls.size(); i-- > 0;) {
    for (int64_t operand : graph.calls[i].operands) {
      needed[size_t(operand)] = needed[size_t(operand)] || needed[inputs + i];
    }
  }
  Graph result;
  std::vector<int64_t> newId(needed.size(), -1);
  int64_t next = 0;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) {
      continue;
    }
    newId[i] = next++;
    if (i < inputs) {
      result.inputs.push_back(graph.inputs[i]);
    } else {
      result.calls.push_back(graph.calls[i - inputs]);
    }
  }
  for (Call &call : result.calls) {
    for (int64_t &operand : call.operands) {
      operand = newId[size_t(operand)];
    }
  }
  for (int64_t output : graph.outputs) {
    result.outputs.push_back(newId[size_t(output)]);
  }
  return result;
}

HostTensor freshInput(const Shape &shape, numerics::HostType dtype) {
  Random random(1);
  return randomTensor(random, shape, dtype, false);
}

/// Call \p index becomes an input.
Graph withInputFor(const Graph &graph, size_t index) {
  const auto inputs = int64_t(graph.inputs.size()), old = inputs + int64_t(index);
  Graph result = graph;
  result.inputs.push_back(freshInput(graph.calls[index].shape, graph.calls[index].dtype));
  auto renumber = [&](int64_t &id) { id = id == old ? inputs : id >= inputs ? id + 1 : id; };
  for (Call &call : result.calls) {
    std::for_each(call.operands.begin(), call.operands.end(), renumber);
  }
  std::for_each(result.outputs.begin(), result.outputs.end(), renumber);
  return withoutDead(result);
}

/// Users of call \p index take its operand \p operand instead.
Graph withBypass(const Graph &graph, size_t index, int64_t operand) {
  const int64_t old = int64_t(graph.inputs.size() + index);
  Graph result = graph;
  for (Call &call : result.calls) {
    std::replace(call.operands.begin(), call.operands.end(), old, operand);
  }
  std::replace(result.outputs.begin(), result.outputs.end(), old, operand);
  return withoutDead(result);
}

Graph withSize(const Graph &graph, int64_t from, int64_t to) {
  Graph result = graph;
  for (HostTensor &input : result.inputs) {
    if (std::count(input.shape.begin(), input.shape.end(), from) > 0) {
      std::replace(input.shape.begin(), input.shape.end(), from, to);
      input = freshInput(input.shape, input.dtype);
    }
  }
  for (Call &call : result.calls) {
    std::replace(call.shape.begin(), call.shape.end(), from, to);
    for (auto &[name, value] : call.attributes) {
      const bool isShape = name == "size" || name == "shape" || name == "normalized_shape";
      if (auto *list = std::get_if<Shape>(&value); list && isShape) {
        std::replace(list->begin(), list->end(), from, to);
      }
    }
  }
  return result;
}

class Reducer {
public:
  Reducer(Graph graph, const std::function<bool(const Graph &)> &fails)
      : graph(std::move(graph)), fails(fails) {}

  Graph run() {
    while (dropOutputs() || endEarlier() || dropCalls() || bypassCalls() || shrinkSizes()) {
    }
    return graph;
  }

private:
  bool accept(Graph candidate) {
    if (!fails(candidate)) {
      return false;
    }
    graph = std::move(candidate);
    return true;
  }

  bool dropOutputs() {
    for (size_t i = 0; graph.outputs.size() > 1 && i < graph.outputs.size(); ++i) {
      Graph candidate = graph;
      candidate.outputs.erase(candidate.outputs.begin() + int64_t(i));
      if (accept(withoutDead(candidate))) {
        return true;
      }
    }
    return false;
  }

  bool endEarlier() {
    for (size_t i = 0; i < graph.calls.size(); ++i) {
      Graph candidate = graph;
      candidate.outputs = {int64_t(graph.inputs.size() + i)};
      candidate = withoutDead(candidate);
      if (candidate.calls.size() < graph.calls.size() && accept(std::move(candidate))) {
        return true;
      }
    }
    return false;
  }

  bool dropCalls() {
    for (size_t i = graph.calls.size(); i-- > 0;) {
      if (accept(withInputFor(graph, i))) {
        return true;
      }
    }
    return false;
  }

  bool bypassCalls() {
    const size_t inputs = graph.inputs.size();
    for (size_t i = graph.calls.size(); i-- > 0;) {
      const Call call = graph.calls[i];
      for (int64_t id : call.operands) {
        const bool isInput = size_t(id) < inputs;
        const Shape &shape =
            isInput ? graph.inputs[size_t(id)].shape : graph.calls[size_t(id) - inputs].shape;
        const auto dtype =
            isInput ? graph.inputs[size_t(id)].dtype : graph.calls[size_t(id) - inputs].dtype;
        if (shape == call.shape && dtype == call.dtype && accept(withBypass(graph, i, id))) {
          return true;
        }
      }
    }
    return false;
  }

  bool shrinkSizes() {
    std::set<int64_t> sizes;
    for (const HostTensor &input : graph.inputs) {
      sizes.insert(input.shape.begin(), input.shape.end());
    }
    for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
      for (int64_t to : {int64_t(1), int64_t(2), *it / 2, *it - 1}) {
        if (to >= 1 && to < *it && accept(withSize(graph, *it, to))) {
          return true;
        }
      }
    }
    return false;
  }

  Graph graph;
  const std::function<bool(const Graph &)> &fails;
};

} // namespace

Graph reduceGraph(Graph graph, const std::function<bool(const Graph &)> &fails) {
  return Reducer(std::move(graph), fails).run();
}

} // namespace spyre::testing
