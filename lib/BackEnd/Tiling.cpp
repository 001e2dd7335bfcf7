//===- Tiling.cpp - joining axes and choosing tile sizes ------------------------------------===//
#include "Tiling.h"

#include <algorithm>
#include <numeric>

namespace spyre::backend {

int64_t saturatingProduct(int64_t a, int64_t b) {
  constexpr int64_t kLarge = int64_t(1) << 60;
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kLarge : std::min(product, kLarge);
}

int64_t tileSteps(const std::vector<Axis> &axes, const Place &place) {
  int64_t steps = 1;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (place.dependsOn(a)) {
      steps = saturatingProduct(steps, axes[a].tile);
    }
  }
  return steps;
}

static void eraseAxis(std::vector<Axis> &axes, const std::vector<Place *> &places, size_t axis) {
  axes.erase(axes.begin() + ptrdiff_t(axis));
  for (Place *place : places) {
    place->stride.erase(place->stride.begin() + ptrdiff_t(axis));
  }
}

/// True when stepping past the end of \p inner is one step of \p outer, everywhere.
static bool isOneRun(const std::vector<Axis> &axes, const std::vector<Place *> &places,
                     size_t inner, size_t outer) {
  if (inner == outer || axes[inner].full != axes[inner].count ||
      axes[outer].full != axes[outer].count) {
    return false;
  }
  return std::all_of(places.begin(), places.end(), [&](const Place *place) {
    return place->stride[outer] == place->stride[inner] * axes[inner].count;
  });
}

static bool joinOnePair(std::vector<Axis> &axes, const std::vector<Place *> &places) {
  for (size_t inner = 0; inner < axes.size(); ++inner) {
    for (size_t outer = 0; outer < axes.size(); ++outer) {
      if (isOneRun(axes, places, inner, outer)) {
        axes[inner] = Axis::whole(axes[outer].name + "*" + axes[inner].name,
                                  axes[inner].count * axes[outer].count);
        eraseAxis(axes, places, outer);
        return true;
      }
    }
  }
  return false;
}

void coalesce(std::vector<Axis> &axes, const std::vector<Place *> &places) {
  for (size_t a = axes.size(); a-- > 0;) {
    if (axes[a].count == 1 && axes[a].full == 1) {
      eraseAxis(axes, places, a);
    }
  }
  bool arrives = std::any_of(places.begin(), places.end(),
                             [](const Place *place) { return place->arriving != nullptr; });
  while (!arrives && joinOnePair(axes, places)) {
  }
}

std::vector<size_t> innerFirst(const Place &place) {
  std::vector<size_t> order(place.stride.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return place.stride[a] < place.stride[b]; });
  return order;
}

bool fillTiles(std::vector<Axis> &axes, const std::vector<size_t> &order, size_t maxAxes,
               int64_t budget, const std::function<int64_t()> &bytes) {
  for (size_t a : order) {
    axes[a].tile = 1;
  }
  if (bytes() > budget) {
    return false;
  }
  budget = bytes() <= budget / 2 ? budget / 2 : budget;
  size_t grown = 0;
  for (size_t a : order) {
    if (grown == maxAxes) {
      break;
    }
    int64_t fits = 1, tooMuch = axes[a].count + 1;
    while (tooMuch - fits > 1) {
      int64_t middle = fits + (tooMuch - fits) / 2;
      axes[a].tile = middle;
      (bytes() <= budget ? fits : tooMuch) = middle;
    }
    axes[a].tile = fits;
    grown += fits > 1;
    if (axes[a].tiled()) {
      break;
    }
  }
  return true;
}

} // namespace spyre::backend
