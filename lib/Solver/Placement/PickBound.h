//===- PickBound.h - the most that can be worth placing --------------------------------------===//
//
// Leave out that a buffer needs its bytes in one piece: what remains is that at each tick the
// chosen ones may not need more than there is. Two bounds come of that [spec: scratchpad 14.2]:
//   - a price per tick (found by steps along the violated ticks): each buffer pays for the room it
//     takes, and nobody can gain more than the priced room and the buffers that still profit;
//   - the best choice itself, tick by tick over the sets of buffers that may be alive together.
//     States that cannot beat the best known plan by the prices are dropped; if there are still too
//     many, the worst go, and the best of those that went stays in the bound.
// All bounds are computed in integers: they hold exactly.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "Sections.h"

namespace spyre::solver::placement {

/// -1: free, 0: must stay out, 1: must be in.
using Fixing = std::vector<int8_t>;

struct Choice {
  /// Local indices of what is in; valid if `found`.
  std::vector<int> members;
  bool found = false;
  int64_t value = 0;
  /// No choice under the same fixings is worth more.
  int64_t bound = 0;
};

class PickBound {
public:
  /// \p items: relaxed items, one per candidate; \p values: theirs.
  PickBound(const PackProblem &items, std::vector<int64_t> values);

  /// Looks for prices; \p known is the value of a plan that exists.
  void price(int64_t known);
  /// The bound by prices alone.
  int64_t priceBound(const Fixing &fixing) const;
  /// Best choice worth more than \p known. \p statesLeft is reduced by the partial choices made.
  Choice choose(const Fixing &fixing, int64_t known, int64_t statesPerTick,
                int64_t &statesLeft) const;

private:
  class TickChoice;
  using Wide = __int128;
  struct Place {
    int section;
    int64_t height;
  };
  struct Member {
    int item;
    int64_t height;
    bool enters, leaves;
  };
  struct SectionInfo {
    int64_t ceiling;
    std::vector<Member> members;
  };

  Wide reducedValue(int item) const;

  std::vector<int64_t> values;
  std::vector<std::vector<Place>> places;
  std::vector<SectionInfo> sections;
  /// Per section, in units of value >> kPriceBits.
  std::vector<int64_t> prices;
};

} // namespace spyre::solver::placement
