//===- Gather.h - inputs that come to LX row by row, as indices say -------------------------===//
//
// An indirectly accessed input takes part in a lowering like any other: it has a tile in the
// staging area, which Gather fills instead of Load. Its indices are loaded before. The axis along
// the stick of the indices is special: a tile may begin inside a stick of indices, so all indices
// along it are in the staging area at once,
//
//     index tile:   | sticks of axis i, all steps |  for each step of a tile of the other axes
//
// and when they are too many, the axis is cut into an outer one over chunks of whole sticks and
// what remains, which is walked afterwards:
//
//     n indices = chunks * chunk + rest        loop chunks { load indices; tiles }  the same, rest
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Indirect.h"
#include "PhaseBuilder.h"

#include <memory>
#include <vector>

namespace spyre::backend {

class GatherPlan {
public:
  explicit GatherPlan(const Kernel &kernel) : kernel(kernel) {}

  /// The index tensor of input \p number, whose place is \p tensor without strides yet.
  void add(size_t number, PhaseBuilder &builder);
  bool empty() const { return sources.empty(); }
  /// One more axis, the dimension \p dim.
  void addAxis(const std::string &dim);
  /// Joins axes of \p builder as coalesce() does, but leaves the axis of the indices alone; cuts
  /// it when its indices need too much of the staging area. Strides of \p places follow.
  void finishAxes(PhaseBuilder &builder, const std::vector<Place *> &places);

  /// \p tensor with dependences on the axes of its indices: what its tile looks like.
  Place shapeOf(size_t number, const Place &tensor) const;
  bool isGathered(size_t number) const { return find(number) != nullptr; }
  /// Axis over chunks, or -1: it is not tiled, and outermost.
  int64_t chunkAxis() const { return chunks > 0 ? int64_t(outer) : -1; }
  int64_t stagingBytes(const PhaseBuilder &builder) const;
  void stage(PhaseBuilder &builder);

  /// Emits the loads of indices that belong to \p depth of \p order.
  void loadIndices(PhaseBuilder &builder, const std::vector<size_t> &order, size_t depth) const;
  /// Fills the tile \p unit of input \p number.
  void gather(PhaseBuilder &builder, size_t number, const Place &tensor, const Place &unit) const;

  /// Goes on to what is behind the chunks; false when there is nothing. \p places are those of
  /// tensors.
  bool nextPart(PhaseBuilder &builder, const std::vector<Place *> &places);

private:
  struct Source {
    size_t number = 0;
    const IndexMap *index = nullptr;
    /// Where the indices are, bytes per step of each axis; along the stick in elements.
    Place elements;
    /// The same in DDR, for whole sticks: it stands still along the stick's axis.
    Place sticks;
    Place unit;
  };
  const Source *find(size_t number) const;
  int64_t unitBytes(const Source &source) const;
  void loadSticks(PhaseBuilder &builder, const Source &source, int64_t first, int64_t count,
                  int32_t only) const;

  const Kernel &kernel;
  std::vector<Source> sources;
  /// Axis along the stick of the indices, or -1; its steps in the current part.
  int64_t inner = -1;
  int64_t innerSteps = 1;
  /// Cut: the outer axis, steps of a chunk, and what is left.
  size_t outer = 0;
  int64_t chunks = 0, rest = 0;
  /// Steps of the first part, for which the staging area is laid out.
  int64_t stagedSteps = 1;
};

} // namespace spyre::backend
