//===- View.h - views as lists of buffer pieces; no IR in here ------------------------------===//
//
// See GraphToLoop.h for the idea and an example. A broadcast piece (Atom::dim == kBroadcast)
// repeats the same element.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace spyre::views {

constexpr int64_t kBroadcast = -1;

/// `extent` consecutive steps of `stride` along dimension `dim` of the buffer.
struct Atom {
  int64_t dim = kBroadcast;
  int64_t extent = 1;
  int64_t stride = 1;
  bool operator==(const Atom &) const = default;
};

/// Outermost first; extents multiply to the size of the dimension; never an atom of extent 1.
using Atoms = std::vector<Atom>;

/// A buffer read through an index map.
struct View {
  int64_t buffer = 0; ///< the caller's handle
  std::vector<Atoms> dims;
  /// Per dimension of the buffer: where the view begins.
  std::vector<int64_t> offset;

  static View whole(int64_t buffer, const std::vector<int64_t> &shape);
  std::vector<int64_t> shape() const;
  /// True when dimension i is exactly dimension i of the buffer, for all i.
  bool isWhole(const std::vector<int64_t> &bufferShape) const;
};

int64_t extentOf(const Atoms &atoms);
/// Loop variables a copy of the view would need.
int64_t atomCount(const View &view);
/// Joins neighbours that together walk one dimension evenly.
Atoms normalize(const Atoms &atoms);

View permute(const View &view, const std::vector<int64_t> &order);
/// NumPy rules: leading dimensions are added, size 1 is repeated. The shape must fit.
View broadcast(const View &view, const std::vector<int64_t> &shape);
/// Nothing when a cut falls inside an atom whose extent it does not divide.
std::optional<View> reshape(const View &view, const std::vector<int64_t> &shape);

/// `extent` elements of dimension \p dim from \p start on, every \p step-th. Nothing when they are
/// no even walk of buffer dimensions: a slice of joined dimensions that begins inside one.
std::optional<View> slice(const View &view, int64_t dim, int64_t start, int64_t extent,
                          int64_t step);
/// Drops dimension \p dim, which has size 1.
View dropDim(const View &view, int64_t dim);
/// Windows of \p size elements, \p step apart, along \p dim; the elements of a window become the
/// last dimension. Nothing when windows overlap, or the dimension is joined.
std::optional<View> unfold(const View &view, int64_t dim, int64_t size, int64_t step);

/// True when, along every dimension of the buffer, each step divides the next larger one: then
/// places can be written as digits. A slice every 5th of a cut of 16 does not.
bool nests(const View &view);

/// Segments (outermost first) of one loop dimension such that every list of atoms is cut at segment
/// borders; nothing when the cuts do not nest.
std::optional<std::vector<int64_t>> commonSegments(int64_t extent,
                                                   const std::vector<const Atoms *> &operands);

/// Contribution of each segment to the buffer's dimensions: dim and coefficient, or dim ==
/// kBroadcast.
struct Step {
  int64_t dim = kBroadcast;
  int64_t coefficient = 0;
};
std::vector<Step> stepsOf(const Atoms &atoms, const std::vector<int64_t> &segments);

} // namespace spyre::views
