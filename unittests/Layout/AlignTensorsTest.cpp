//===- AlignTensorsTest.cpp - aligned coordinates reach the same elements -------------------===//
#include "spyre/Layout/AlignTensors.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

#include <map>

namespace spyre::layout {
namespace {

/// Row-major element of the tensor as given, for values of the given variables.
int64_t elementOf(const AlignTensor &tensor, const std::vector<int64_t> &values) {
  int64_t element = 0;
  for (size_t dim = 0; dim < tensor.deviceSize.size(); ++dim) {
    int64_t at = tensor.coordinates[dim].offset;
    for (const AlignTerm &term : tensor.coordinates[dim].terms) {
      at += term.num * (values[size_t(term.variable)] % term.mod) / term.den;
    }
    element = element * tensor.deviceSize[dim] + at;
  }
  return element;
}

/// The same for aligned dimensions and values of the new variables.
int64_t elementOf(const std::vector<AlignedDim> &dims, const std::vector<int64_t> &values) {
  int64_t element = 0;
  for (const AlignedDim &dim : dims) {
    int64_t at = dim.variable < 0 ? 0 : values[size_t(dim.variable)];
    at = dim.divisor != 0 ? at / dim.divisor : at;
    at = dim.modulus != 0 ? at % dim.modulus : at;
    element = element * dim.size + at + dim.offset;
  }
  return element;
}

/// A variable is a number with digits of these bases, the innermost first.
struct Digits {
  std::vector<int64_t> bases;
  int64_t weight(size_t digit) const {
    int64_t product = 1;
    for (size_t i = 0; i < digit; ++i) {
      product *= bases[i];
    }
    return product;
  }
};

/// A tensor that reads each variable in pieces of whole digits, in any order; one of them, whole,
/// in sticks of \p stick elements.
AlignTensor randomTensor(const std::vector<Digits> &variables, int64_t stick, Random &random) {
  AlignTensor tensor;
  const size_t stickVariable = random.below(variables.size());
  for (size_t v = 0; v < variables.size(); ++v) {
    const int64_t range = variables[v].weight(variables[v].bases.size());
    if (v == stickVariable) {
      AlignTerm outer{1, stick, int64_t(v), range, 1, 0, -1};
      tensor.deviceSize.push_back((range + stick - 1) / stick);
      tensor.coordinates.push_back(range > stick ? AlignCoordinate{{outer}, 0, -1}
                                                 : AlignCoordinate{});
      continue;
    }
    if (random.below(4) == 0) {
      continue; // broadcast
    }
    for (size_t begin = 0; begin < variables[v].bases.size();) {
      const size_t end = begin + 1 + random.below(variables[v].bases.size() - begin);
      const int64_t den = variables[v].weight(begin), mod = variables[v].weight(end);
      const int64_t offset = random.below(6) == 0 ? int64_t(random.below(3)) : 0;
      tensor.deviceSize.push_back(mod / den + offset);
      tensor.coordinates.push_back({{{1, den, int64_t(v), mod, 1, 0, -1}}, offset, -1});
      begin = end;
    }
  }
  if (random.below(3) == 0) { // one element of a dimension
    tensor.deviceSize.push_back(5);
    tensor.coordinates.push_back({{}, int64_t(random.below(5)), -1});
  }
  for (size_t i = tensor.deviceSize.size(); i > 1; --i) {
    const size_t other = random.below(i);
    std::swap(tensor.deviceSize[i - 1], tensor.deviceSize[other]);
    std::swap(tensor.coordinates[i - 1], tensor.coordinates[other]);
  }
  const int64_t range = variables[stickVariable].weight(variables[stickVariable].bases.size());
  tensor.deviceSize.push_back(stick);
  tensor.coordinates.push_back(
      {{{1, 1, int64_t(stickVariable), std::min(range, stick), 1, 0, -1}}, 0, -1});
  return tensor;
}

/// Elements of all tensors at every point, as a multiset.
using Reach = std::map<std::vector<int64_t>, int>;

template <typename Tensors>
Reach reachOf(const std::vector<AlignVariable> &variables, const Tensors &tensors) {
  Reach reach;
  std::vector<int64_t> values(variables.size(), 0);
  for (bool isMore = true; isMore;) {
    std::vector<int64_t> elements;
    for (const auto &tensor : tensors) {
      elements.push_back(elementOf(tensor, values));
    }
    ++reach[elements];
    isMore = false;
    for (size_t v = 0; v < values.size() && !isMore; ++v) {
      isMore = ++values[v] < variables[v].range;
      values[v] = isMore ? values[v] : 0;
    }
  }
  return reach;
}

TEST(AlignTensors, ReachTheSameElementsTogether) {
  Random random(11);
  int divided = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Digits> digits(1 + random.below(3));
    std::vector<AlignVariable> variables;
    for (Digits &variable : digits) {
      for (size_t i = 1 + random.below(3); i > 0; --i) {
        variable.bases.push_back(2 + int64_t(random.below(3)));
      }
      variables.push_back({variable.weight(variable.bases.size()), 1});
    }
    std::vector<AlignTensor> tensors;
    for (size_t i = 1 + random.below(3); i > 0; --i) {
      tensors.push_back(randomTensor(digits, 8, random));
    }
    Expected<Alignment> result = alignTensors(variables, tensors);
    if (!result.ok()) { // a stick or a padded dimension that is cut: allowed, if it says so
      EXPECT_EQ(result.status().code(), 2023);
      continue;
    }
    ++divided;
    ASSERT_EQ(reachOf(variables, tensors), reachOf(result->variables, result->tensors)) << round;
    for (const auto &dims : result->tensors) {
      EXPECT_EQ(dims.size(), result->tensors[0].size()) << round;
    }
  }
  EXPECT_GT(divided, 200);
}

TEST(AlignTensors, RefuseWhatTheyCannotKnow) {
  const std::vector<AlignVariable> space = {{12, 1}};
  auto one = [](AlignTerm term, int64_t size) {
    return AlignTensor{{size, 64}, {{{term}, 0, -1}, {}}};
  };
  auto codeOf = [&](const std::vector<AlignTensor> &tensors) {
    return alignTensors(space, tensors).status().code();
  };
  EXPECT_EQ(codeOf({one({1, 1, 0, 3}, 3), one({1, 1, 0, 4}, 4)}), 2023); // 3 and 4
  EXPECT_EQ(codeOf({one({1, 1, 7, 12}, 12)}), 2023);                     // no such variable
  EXPECT_EQ(codeOf({one({2, 3, 0, 12}, 12)}), 2023);                     // two thirds
  EXPECT_EQ(codeOf({AlignTensor{{64}, {}}}), 2023);                      // no coordinate
  EXPECT_EQ(codeOf({AlignTensor{{1, 64}, {{{}, 3, -1}, {}}}}), 2023);    // element 3 of one
  EXPECT_EQ(alignTensors({{0, 1}}, {}).status().code(), 2023);
  EXPECT_TRUE(alignTensors(space, {one({1, 1, 0, 12}, 12)}).ok());
}

} // namespace
} // namespace spyre::layout
