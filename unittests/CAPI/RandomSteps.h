//===- RandomSteps.h - the steps a random graph is made of ----------------------------------===//
#pragma once

#include "RandomGraph.h"

namespace spyre::testing {

using Shape = std::vector<int64_t>;
using Attributes = std::vector<std::pair<std::string, capi::Attribute>>;

class Steps {
public:
  Steps(Random &random, const RandomGraphOptions &options) : random(random), options(options) {}
  Graph run();

private:
  struct Value {
    Shape shape;
    numerics::HostType dtype;
    double largest; ///< roughly the largest magnitude of an element; of indices, -1 when negative
    bool isInput;
  };

  int64_t size();
  int64_t last() const { return int64_t(values.size()) - 1; }
  const Shape &shapeOf(int64_t x) const { return values[size_t(x)].shape; }
  numerics::HostType typeOf(int64_t x) const { return values[size_t(x)].dtype; }
  bool oneIn(int64_t n) { return random.below(uint64_t(n)) == 0; }
  template <size_t N>
  const char *pick(const char *const (&names)[N]) {
    return names[random.below(N)];
  }
  /// Like an element of an input.
  double number() {
    return options.whole ? double(random.between(-2, 2)) : double(random.between(-128, 128)) / 64;
  }
  /// A dimension, at times counted from the back.
  int64_t spelled(int64_t dim, int64_t rank) { return oneIn(3) ? dim - rank : dim; }

  int64_t addInput(const Shape &shape, numerics::HostType dtype);
  int64_t addCall(const std::string &target, std::vector<int64_t> operands, Attributes attributes,
                  Shape shape, numerics::HostType dtype, double largest);
  int64_t unary(const std::string &target, int64_t x, Attributes attributes, double largest);
  int64_t clamped(int64_t x, double limit);
  int64_t positive(int64_t x);
  Shape broadcastable(Shape shape);
  /// An input, or a number everywhere, that broadcasts to \p x.
  int64_t partner(int64_t x, numerics::HostType dtype);
  void renumber();

  void addStep(int64_t x);
  // RandomSteps.cpp
  void addUnary(int64_t x);
  void addBinary(int64_t x);
  void addComparison(int64_t x);
  void addTruth(int64_t x);
  void addReduction(int64_t x);
  void addMatmul(int64_t x);
  void addAttention(int64_t x);
  void addLayer(int64_t x);
  void addNorm(int64_t x);
  void addCat(int64_t x);
  void addCopy(int64_t x);
  void addScatter(int64_t x);
  void addPad(int64_t x);
  int64_t addFill(int64_t x, const Shape &shape, numerics::HostType dtype);
  // RandomViews.cpp
  void addView(int64_t x);
  void addPart(int64_t x);
  void addSlice(int64_t x, int64_t dim);
  void addSplit(int64_t x, int64_t dim);
  void addUnfold(int64_t x, int64_t dim);
  void addRearrangement(int64_t x);
  void addPermutation(int64_t x);
  void addExpansion(int64_t x);
  void addReshape(int64_t x);
  void addUnitChange(int64_t x);
  Shape reshaped(int64_t elements);
  void view(const std::string &target, int64_t x, Attributes attributes, Shape shape);

  // RandomSelections.cpp
  void addSelection(int64_t x);
  // RandomTypes.cpp
  void addCast(int64_t x);
  void addMixed(int64_t x);
  void addGather(int64_t x);
  void addGatherAlong(int64_t x, int64_t dim);
  void addTwoIndices(int64_t x);
  void addLookUp(int64_t x);
  // RandomIntegers.cpp
  void addInteger(int64_t x);
  void addIntegerBinary(int64_t x);
  void addIntegerComparison(int64_t x);
  void addIntegerReduction(int64_t x);
  int64_t integerPartner(int64_t x);
  int64_t addIndex(const Shape &shape, int64_t rows, bool mayCountFromEnd);
  Shape indexShape(int64_t limit);

  Random &random;
  const RandomGraphOptions &options;
  Graph graph;
  std::vector<Value> values;
};

} // namespace spyre::testing
