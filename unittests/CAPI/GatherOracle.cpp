//===- GatherOracle.cpp - what calls with indices give, element by element ------------------===//
#include "GraphInterpreter.h"

#include <algorithm>

namespace spyre::testing {

using Shape = std::vector<int64_t>;

bool isGatherCall(const std::string &target) {
  static const char *const names[] = {"aten.embedding.default", "aten.index_select.default",
                                      "aten.index.Tensor", "aten.gather.default"};
  return std::count(std::begin(names), std::end(names), target) > 0;
}

static int64_t indexAt(const Bounds &index, Shape place, int64_t size) {
  for (size_t d = 0; d < place.size(); ++d) {
    place[d] = index.shape[d] == 1 ? 0 : place[d];
  }
  const auto value = int64_t(index.elements[size_t(flatten(place, index.shape))].lo);
  return value < 0 ? value + size : value;
}

static int64_t dimOf(const Call &call, const Bounds &table) {
  const int64_t dim = integerOf(call, "dim", 0);
  return dim < 0 ? dim + int64_t(table.shape.size()) : dim;
}

/// Where in the table element \p at of the result comes from.
static Shape sourceOf(const Call &call, const std::vector<Bounds> &operands, const Shape &at) {
  const Bounds &table = operands[0];
  const std::string name = stemOf(call.target);
  if (name == "gather") {
    Shape from = at;
    const auto dim = size_t(dimOf(call, table));
    from[dim] = indexAt(operands[1], at, table.shape[dim]);
    return from;
  }
  Shape dims = listOf(call, "indices_at");
  for (int64_t d = 0; dims.empty() && d + 1 < int64_t(operands.size()); ++d) {
    dims.push_back(name == "index_select" ? dimOf(call, table) : d);
  }
  size_t indexRank = name == "index_select" ? 1 : 0;
  for (size_t i = 1; i < operands.size(); ++i) {
    indexRank = std::max(indexRank, operands[i].shape.size());
  }
  const bool together = dims.back() - dims.front() + 1 == int64_t(dims.size());
  const int64_t begin = together ? dims.front() : 0;
  const Shape place(at.begin() + begin, at.begin() + begin + int64_t(indexRank));
  Shape rest = at, from;
  rest.erase(rest.begin() + begin, rest.begin() + begin + int64_t(indexRank));
  size_t next = 0;
  for (int64_t d = 0; d < int64_t(table.shape.size()); ++d) {
    auto found = std::find(dims.begin(), dims.end(), d);
    if (found == dims.end()) {
      from.push_back(rest[next++]);
      continue;
    }
    const Bounds &index = operands[size_t(found - dims.begin()) + 1];
    from.push_back(indexAt(index, {place.end() - int64_t(index.shape.size()), place.end()},
                           table.shape[size_t(d)]));
  }
  return from;
}

Bounds interpretGather(const Call &call, const std::vector<Bounds> &operands) {
  Bounds result{call.shape, call.dtype, {}};
  // Indices may be places of elements that are not known exactly.
  const bool isKnown = std::all_of(operands.begin() + 1, operands.end(), [](const Bounds &index) {
    return std::all_of(index.elements.begin(), index.elements.end(),
                       [](const Interval &element) { return element.isExact(); });
  });
  if (!isKnown) {
    result.elements.assign(size_t(elementCount(call.shape)), Interval::open());
    return result;
  }
  for (int64_t n = 0; n < elementCount(call.shape); ++n) {
    const Shape from = sourceOf(call, operands, unflatten(n, call.shape));
    result.elements.push_back(operands[0].elements[size_t(flatten(from, operands[0].shape))]);
  }
  return result;
}

} // namespace spyre::testing
