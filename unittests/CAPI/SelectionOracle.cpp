//===- SelectionOracle.cpp - the largest elements of a column, and where they can be --------===//
#include "GraphInterpreter.h"

#include <algorithm>

namespace spyre::testing {

using Shape = std::vector<int64_t>;

bool isSelectionCall(const std::string &target) {
  static const char *const names[] = {
      "aten.argmax.default", "aten.argmin.default",     "aten.max.dim",
      "aten.min.dim",        "spyre.topkindex.default", "spyre.topkvalue.default"};
  return std::count(std::begin(names), std::end(names), target) > 0 ||
         target == "aten.topk.default";
}

namespace {

bool wantsPlaces(const Call &call) {
  const std::string name = stemOf(call.target);
  return name == "argmax" || name == "argmin" || name == "topkindex" ||
         integerOf(call, "result", 0) == 1;
}

bool isOfLargest(const Call &call) {
  const std::string name = stemOf(call.target);
  if (name == "topk") {
    for (const auto &[key, value] : call.attributes) {
      if (key == "largest") {
        return std::get<bool>(value);
      }
    }
  }
  return name != "min" && name != "argmin";
}

/// Of the ends of all intervals the one of rank \p rank: so many elements are at least there.
Interval valueAt(const std::vector<Interval> &column, int64_t rank) {
  std::vector<double> low, high;
  for (const Interval &element : column) {
    low.push_back(element.lo);
    high.push_back(element.hi);
  }
  std::sort(low.rbegin(), low.rend());
  std::sort(high.rbegin(), high.rend());
  return {low[size_t(rank)], high[size_t(rank)]};
}

/// Places whose element can have the rank; of equal exact ones the first comes first.
Interval placeAt(const std::vector<Interval> &column, int64_t rank) {
  const auto count = int64_t(column.size());
  Interval places{double(count), -1};
  for (int64_t i = 0; i < count; ++i) {
    const Interval &own = column[size_t(i)];
    int64_t before = 0, behind = 0;
    for (int64_t j = 0; j < count; ++j) {
      const Interval &other = column[size_t(j)];
      const bool isTie = own.isExact() && other.isExact() && own.lo == other.lo;
      before += other.lo > own.hi || (isTie && j < i) ? 1 : 0;
      behind += other.hi < own.lo || (isTie && j > i) ? 1 : 0;
    }
    if (before <= rank && behind <= count - 1 - rank) {
      places = {std::min(places.lo, double(i)), std::max(places.hi, double(i))};
    }
  }
  return places;
}

} // namespace

Bounds interpretSelection(const Call &call, const std::vector<Bounds> &operands) {
  Bounds x = operands[0];
  const bool ofAll = std::none_of(call.attributes.begin(), call.attributes.end(),
                                  [](const auto &entry) { return entry.first == "dim"; });
  if (ofAll && stemOf(call.target).starts_with("arg")) {
    x.shape = {elementCount(x.shape)};
  }
  const auto rank = int64_t(x.shape.size());
  int64_t dim = integerOf(call, "dim", -1);
  dim = dim < 0 ? dim + rank : dim;
  const int64_t size = x.shape[size_t(dim)], k = integerOf(call, "k", 1);
  int64_t inner = 1;
  for (size_t d = size_t(dim) + 1; d < x.shape.size(); ++d) {
    inner *= x.shape[d];
  }
  const bool largest = isOfLargest(call), places = wantsPlaces(call);
  Bounds result{call.shape, call.dtype, std::vector<Interval>(size_t(elementCount(call.shape)))};
  for (int64_t n = 0; n < elementCount(x.shape) / size; ++n) {
    std::vector<Interval> column;
    bool isOpen = false;
    for (int64_t i = 0; i < size; ++i) {
      const Interval element = x.elements[size_t((n / inner * size + i) * inner + n % inner)];
      isOpen = isOpen || element.isOpen();
      column.push_back(largest ? element : Interval{-element.hi, -element.lo});
    }
    for (int64_t r = 0; r < k; ++r) {
      Interval &found = result.elements[size_t((n / inner * k + r) * inner + n % inner)];
      if (isOpen) {
        found = places ? Interval{0, double(size - 1)} : Interval::open();
      } else if (places) {
        found = placeAt(column, r);
      } else {
        found = valueAt(column, r);
        found = largest ? found : Interval{-found.hi, -found.lo};
      }
    }
  }
  return result;
}

} // namespace spyre::testing
