//===- Tiling.cpp - the fewest tiles that can be divided ------------------------------------===//
#include "spyre/Solver/Division/Tiling.h"

#include "spyre/Base/Math.h"
#include "spyre/Solver/Division/TileReach.h"

#include "BestDivision.h"
#include "Search.h"

#include <algorithm>
#include <tuple>

namespace spyre::solver::division {

/// One program per tile where loops are unrolled: more than this is no plan.
static constexpr int64_t kMaxTiles = 64;
/// Where nothing smaller helps, loops that are not unrolled.
static constexpr double kMaxTrips = 4096, kAnyTrips = 0x1p60;
static constexpr size_t kMaxTiledDims = 3;
static constexpr size_t kMaxTried = 512;

int64_t advanceBytes(const Tensor &tensor, int dim, int64_t elements) {
  int64_t sticks = 0, stride = 1;
  for (size_t d = tensor.deviceSize.size() - 1; d-- > 0;) {
    for (const Term &term : tensor.coordinates[d].terms) {
      sticks += term.dim == dim ? (term.at(elements) - term.at(0)) * stride : 0;
    }
    stride *= tensor.deviceSize[d];
  }
  return sticks * kStickBytes;
}

Op tileOf(const Op &op, const std::vector<int64_t> &tileExtent) {
  Op tile = op;
  for (size_t d = 0; d < tileExtent.size(); ++d) {
    Dim &dim = tile.dims[d];
    if (dim.walked > 0 && tileExtent[d] != dim.extent) {
      dim.walked = tileExtent[d];
      for (const Tensor &tensor : op.tensors) {
        const bool along = laneDim(tensor) == int(d);
        dim.walked = along ? roundUp(dim.walked, tensor.elemsPerStick()) : dim.walked;
      }
    }
    dim.extent = tileExtent[d];
  }
  return tile;
}

static bool mayTile(const Op &op, const Units &units, size_t d) {
  const Dim &dim = op.dims[d];
  // The padded tail of a restickify cannot be an operation of its own.
  const bool padded =
      op.kind == Kind::Restickify && units.stick[d] && units.extent[d] % units.elems[d] != 0;
  return !padded && !dim.reduced && dim.granularity == 0 && dim.segments.empty() &&
         dim.role != Role::Search && dim.role != Role::Carried && dim.role != Role::Scan &&
         units.count[d] > 1;
}

std::vector<int64_t> tileUnits(const Op &op) {
  const Units units = unitsOf(op);
  std::vector<int64_t> elements;
  for (size_t d = 0; d < op.dims.size(); ++d) {
    elements.push_back(mayTile(op, units, d) ? units.elems[d] : 0);
  }
  return elements;
}

/// Sticks a core spans of each tensor if every dim had all cores to itself.
static std::vector<int64_t> bestSpans(const Op &tile, const arch::DeviceDesc &device,
                                      int64_t cores) {
  const Units units = unitsOf(tile);
  const Reaches reaches(tile, units, device);
  std::vector<int64_t> spans(tile.tensors.size(), 0);
  for (size_t t = 0; t < reaches.tensors(); ++t) {
    int64_t sticks = 1 + reaches.anyRow(t);
    for (size_t d = 0; d < tile.dims.size(); ++d) {
      int64_t fewest = INT64_MAX;
      for (int64_t split : divisorsUpTo(units.basis[d], cores)) {
        fewest = std::min(fewest, reaches.sticks(t, d, split));
      }
      sticks += fewest;
    }
    spans[size_t(reaches.tensor(t))] = sticks;
  }
  return spans;
}

std::vector<int64_t> leastReaches(const Op &op, const arch::DeviceDesc &device, int64_t cores) {
  const Units units = unitsOf(op);
  std::vector<int64_t> extents = units.extent;
  for (size_t d = 0; d < extents.size(); ++d) {
    extents[d] = mayTile(op, units, d) ? units.elems[d] : extents[d];
  }
  return bestSpans(tileOf(op, extents), device, cores);
}

namespace {

class Tiler {
public:
  Tiler(const Op &op, const arch::DeviceDesc &device, int64_t cores, const CostModel &costs)
      : op(op), device(device), cores(cores), costs(costs), units(unitsOf(op)) {}

  std::optional<TilingPlan> run() {
    for (const Dim &dim : op.dims) {
      if (dim.tiles > 1) {
        return std::nullopt;
      }
    }
    std::optional<TilingPlan> even = equalTiles();
    std::optional<TilingPlan> rest = tilesWithRest();
    if (!even || (rest && rest->nanoseconds < even->nanoseconds)) {
      even = std::move(rest);
    }
    return even ? even : tilesOfSeveral();
  }

private:
  bool mayTile(size_t d) const { return division::mayTile(op, units, d); }

  /// Every tile moves every coordinate by the same amount, and cuts no stick.
  bool isRegular(size_t d, int64_t elements) const {
    if (elements % units.elems[d] != 0) {
      return false;
    }
    for (const Tensor &tensor : op.tensors) {
      for (const Coordinate &coordinate : tensor.coordinates) {
        for (const Term &term : coordinate.terms) {
          const int64_t moved = elements * term.step;
          if (size_t(term.dim) == d &&
              (term.wrap > 0 ? moved % term.wrap != 0 : moved % term.divisor != 0)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /// The fewest pieces by which a tile may move; 0 where none are known. Sticks that cores share
  /// (of indices) are whole in a tile.
  int64_t regularPieces(size_t d) const {
    constexpr int64_t kMostLanes = 128;
    for (int64_t pieces = 1; pieces <= kMostLanes; pieces *= 2) {
      if (isRegular(d, pieces * units.elems[d])) {
        return pieces;
      }
    }
    return 0;
  }

  /// False when the limit cannot be kept even if every dim had all cores to itself: most tilings of
  /// a large operation are refused here, without a search.
  bool mayFit(const Op &tile) const {
    const std::vector<int64_t> spans = bestSpans(tile, device, cores);
    return std::all_of(spans.begin(), spans.end(), [&](int64_t sticks) {
      return sticks <= device.spanLimitBytes / kStickBytes;
    });
  }

  std::optional<TiledPart> partOf(std::vector<int64_t> extents, std::vector<int64_t> tiles,
                                  std::vector<int64_t> first) const {
    const Op tile = tileOf(op, extents);
    if (!mayFit(tile)) {
      return std::nullopt;
    }
    Expected<std::optional<BestDivision>> found =
        cheapestDivision(tile, device, cores, costs, {}, false);
    if (!found.ok() || !found->has_value()) {
      return std::nullopt;
    }
    TiledPart part;
    const Splits &splits = (*found)->best.splits;
    part.plan = makePlan(tile, splits, documentedOrder(tile, splits));
    part.nanoseconds = (*found)->best.nanoseconds * double(productOf(tiles));
    for (const Tensor &tensor : op.tensors) {
      std::vector<int64_t> advance;
      for (size_t d = 0; d < op.dims.size(); ++d) {
        advance.push_back(tiles[d] > 1 ? advanceBytes(tensor, int(d), extents[d]) : 0);
      }
      part.advanceBytes.push_back(std::move(advance));
    }
    part.tileExtent = std::move(extents);
    part.tiles = std::move(tiles);
    part.first = std::move(first);
    return part;
  }

  void offer(std::optional<TilingPlan> &best, std::vector<TiledPart> parts) const {
    TilingPlan plan;
    plan.parts = std::move(parts);
    for (const TiledPart &part : plan.parts) {
      plan.nanoseconds += part.nanoseconds;
    }
    if (!best || plan.nanoseconds < best->nanoseconds) {
      best = std::move(plan);
    }
  }

  void collect(std::vector<std::vector<int64_t>> &found, std::vector<int64_t> &tiles, size_t next,
               int64_t product, size_t tiled) const {
    if (next == tiles.size()) {
      if (product > 1) {
        found.push_back(tiles);
      }
      return;
    }
    tiles[next] = 1;
    collect(found, tiles, next + 1, product, tiled);
    if (!mayTile(next) || tiled == kMaxTiledDims) {
      return;
    }
    for (int64_t count : divisorsUpTo(units.count[next], kMaxTiles / product)) {
      // A partial last stick would make the last tile shorter.
      const int64_t extent = units.extent[next];
      if (count > 1 && extent % count == 0 && isRegular(next, extent / count)) {
        tiles[next] = count;
        collect(found, tiles, next + 1, product * count, tiled + 1);
      }
    }
    tiles[next] = 1;
  }

  std::optional<TilingPlan> equalTiles() const {
    std::vector<std::vector<int64_t>> all;
    std::vector<int64_t> tiles(op.dims.size(), 1);
    collect(all, tiles, 0, 1, 0);
    auto key = [](const std::vector<int64_t> &counts) {
      const int64_t tiled =
          std::count_if(counts.begin(), counts.end(), [](int64_t count) { return count > 1; });
      return std::tuple(productOf(counts), tiled, *std::max_element(counts.begin(), counts.end()));
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto &a, const auto &b) { return key(a) < key(b); });
    std::optional<TilingPlan> best;
    int64_t product = 0;
    for (size_t i = 0; i < std::min(all.size(), kMaxTried); ++i) {
      if (best && productOf(all[i]) > product) {
        break;
      }
      std::vector<int64_t> extents = units.extent;
      for (size_t d = 0; d < extents.size(); ++d) {
        extents[d] /= all[i][d];
      }
      if (auto part = partOf(extents, all[i], std::vector<int64_t>(extents.size(), 0))) {
        product = productOf(all[i]);
        offer(best, {*part});
      }
    }
    return best;
  }

  /// Tiles of one dim and a shorter one behind them; sizes with many divisors are tried, too.
  std::optional<TilingPlan> tilesWithRest() const {
    for (int64_t count = 2; count <= kMaxTiles; ++count) {
      std::optional<TilingPlan> best;
      for (size_t d = 0; d < op.dims.size(); ++d) {
        const int64_t regular = mayTile(d) ? regularPieces(d) : 0;
        for (int64_t multiple = 1; regular > 0 && multiple <= cores; multiple *= 2) {
          tryRest(best, d, count, roundUp(ceilDiv(units.count[d], count), multiple * regular));
        }
      }
      if (best) {
        return best;
      }
    }
    return std::nullopt;
  }

  void tryRest(std::optional<TilingPlan> &best, size_t d, int64_t count, int64_t pieces) const {
    const int64_t extent = pieces * units.elems[d];
    const int64_t behind = extent * (count - 1), rest = units.extent[d] - behind;
    if (rest <= 0 || rest >= extent || !isRegular(d, extent)) {
      return;
    }
    std::vector<int64_t> extents = units.extent, ones(units.extent.size(), 1);
    std::vector<int64_t> tiles = ones, first(units.extent.size(), 0);
    extents[d] = extent;
    tiles[d] = count - 1;
    std::optional<TiledPart> body = partOf(extents, tiles, first);
    if (!body) {
      return;
    }
    extents[d] = rest;
    first[d] = behind;
    if (auto last = partOf(extents, ones, first)) {
      offer(best, {*body, *last});
    }
  }

  /// Tiles of pieces[d] units each, with what is left over of every dim in parts of their own.
  std::optional<TilingPlan> planFor(const std::vector<int64_t> &pieces, double mostTrips) const {
    const size_t dims = op.dims.size();
    std::vector<TiledPart> shapes(1);
    for (size_t d = 0; d < dims; ++d) {
      const int64_t extent = std::min(pieces[d] * units.elems[d], units.extent[d]);
      const int64_t tiles = units.extent[d] / extent, rest = units.extent[d] % extent;
      if ((tiles > 1 || rest > 0) && !isRegular(d, extent)) {
        return std::nullopt;
      }
      std::vector<TiledPart> longer;
      for (const TiledPart &shape : shapes) {
        for (bool last : {false, true}) {
          if (last && rest == 0) {
            continue;
          }
          longer.push_back(shape);
          longer.back().tileExtent.push_back(last ? rest : extent);
          longer.back().tiles.push_back(last ? 1 : tiles);
          longer.back().first.push_back(last ? extent * tiles : 0);
        }
      }
      shapes = std::move(longer);
    }
    std::optional<TilingPlan> plan;
    std::vector<TiledPart> parts;
    double trips = 0;
    for (TiledPart &shape : shapes) {
      double product = 1;
      for (int64_t tiles : shape.tiles) {
        product *= double(tiles);
      }
      trips += product;
      auto part =
          trips <= mostTrips ? partOf(shape.tileExtent, shape.tiles, shape.first) : std::nullopt;
      if (!part) {
        return std::nullopt;
      }
      parts.push_back(std::move(*part));
    }
    offer(plan, std::move(parts));
    return plan;
  }

  /// Dims from the one that reaches least to the one that reaches furthest.
  std::vector<size_t> dimsByReach() const {
    const Reaches reaches(op, units, device);
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t d = 0; d < op.dims.size(); ++d) {
      int64_t furthest = 0;
      for (size_t t = 0; t < reaches.tensors(); ++t) {
        furthest = std::max(furthest, reaches.sticks(t, d, 1));
      }
      order.push_back({furthest, d});
    }
    std::sort(order.begin(), order.end());
    std::vector<size_t> dims;
    for (const auto &[reach, d] : order) {
      dims.push_back(d);
    }
    return dims;
  }

  /// The last resort: every dim in the smallest tiles, then one after the other in the largest that
  /// still can be divided.
  std::optional<TilingPlan> tilesOfSeveral() const {
    std::vector<int64_t> pieces = units.count;
    for (size_t d = 0; d < pieces.size(); ++d) {
      pieces[d] = mayTile(d) ? 1 : pieces[d];
    }
    for (size_t d : dimsByReach()) {
      const int64_t smallest = pieces[d];
      for (int64_t count = 1; mayTile(d) && count <= units.count[d];
           count = count < kMaxTiles ? count + 1 : count * 2) {
        pieces[d] = ceilDiv(units.count[d], count);
        if (planFor(pieces, kAnyTrips)) {
          break;
        }
        pieces[d] = smallest;
      }
    }
    return planFor(pieces, kMaxTrips);
  }

  const Op &op;
  const arch::DeviceDesc &device;
  int64_t cores;
  const CostModel &costs;
  Units units;
};

} // namespace

std::optional<TilingPlan> tileOp(const Op &op, const arch::DeviceDesc &device, int64_t cores,
                                 const CostModel &costs) {
  return Tiler(op, device, cores, costs).run();
}

} // namespace spyre::solver::division
