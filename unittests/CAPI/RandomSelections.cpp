//===- RandomSelections.cpp - random calls for the largest elements and their places --------===//
#include "RandomSteps.h"

#include <algorithm>

namespace spyre::testing {

using numerics::HostType;

void Steps::addSelection(int64_t x) {
  static const char *const names[] = {"aten.topk.default",      "aten.max.dim",
                                      "aten.min.dim",           "aten.argmax.default",
                                      "aten.argmin.default",    "spyre.topkvalue.default",
                                      "spyre.topkindex.default"};
  const std::string name = pick(names);
  Shape shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  const bool isList = name.find("topk") != std::string::npos;
  const bool isPlace = name.find("arg") != std::string::npos;
  if (rank == 0 || elementCount(shape) > 4000) { // every element takes a stick, at worst
    return addReduction(x);
  }
  const double largest = values[size_t(x)].largest;
  if (isPlace && oneIn(4)) {
    addCall(name, {x}, {}, {}, HostType::Int64, double(elementCount(shape) - 1));
    return;
  }
  const auto dim = int64_t(random.below(uint64_t(rank)));
  int64_t &size = shape[size_t(dim)];
  const double last = double(size - 1);
  Attributes attributes = {{"dim", spelled(dim, rank)}};
  size = isList ? random.between(1, std::min<int64_t>(size, 6)) : 1;
  if (isList) {
    attributes.push_back({"k", size});
  } else if (oneIn(2)) {
    attributes.push_back({"keepdim", true});
  } else {
    shape.erase(shape.begin() + dim);
  }
  bool hasPlaces = isPlace || name == "spyre.topkindex.default";
  if (name == "aten.topk.default" && oneIn(2)) {
    attributes.push_back({"largest", false});
  }
  if (name == "aten.topk.default" || !(isList || isPlace)) {
    hasPlaces = oneIn(2);
    attributes.push_back({"result", int64_t(hasPlaces ? 1 : 0)});
  }
  addCall(name, {x}, attributes, shape, hasPlaces ? HostType::Int64 : typeOf(x),
          hasPlaces ? last : largest);
}

} // namespace spyre::testing
