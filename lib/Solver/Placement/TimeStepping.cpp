//===- TimeStepping.cpp - the greedy solver, and what the documented solvers share -----------===//
#include "Documented.h"
#include "Merges.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace spyre::solver::placement {

std::vector<int64_t> ceilings(const Problem &problem) {
  std::vector<int64_t> result(problem.buffers.size(), problem.capacityBytes);
  std::vector<Transient> needs = problem.transients;
  std::sort(needs.begin(), needs.end(),
            [](const Transient &a, const Transient &b) { return a.tick < b.tick; });
  for (size_t i = 0; i < result.size() && !needs.empty(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    auto need = std::lower_bound(needs.begin(), needs.end(), buffer.lower,
                                 [](const Transient &a, int64_t tick) { return a.tick < tick; });
    for (; need != needs.end() && need->tick < buffer.upper; ++need) {
      result[i] = std::min(result[i], problem.capacityBytes - need->bytes);
    }
  }
  return result;
}

static bool isParent(int index, const Buffer &child) {
  return std::find(child.parents.begin(), child.parents.end(), index) != child.parents.end();
}

Expected<Offsets> startDocumented(const Problem &problem, Variant variant) {
  SPYRE_RETURN_IF_ERROR(validate(problem));
  SPYRE_RETURN_IF_ERROR(checkPins(problem));
  if (variant == Variant::Min) {
    return error<3046>("only the exact solver looks for the least height; use --solver exact");
  }
  Offsets offsets(problem.buffers.size());
  const std::vector<int64_t> ceiling = ceilings(problem);
  std::vector<int> pinned;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (!buffer.pinned || buffer.forbidden || *buffer.pinned + buffer.sizeBytes > ceiling[i]) {
      continue;
    }
    const bool free = std::none_of(pinned.begin(), pinned.end(), [&](int other) {
      const Buffer &placed = problem.buffers[other];
      const bool isPair =
          placed.pinned == buffer.pinned && (isParent(other, buffer) || isParent(int(i), placed));
      return !isPair && overlapInTime(buffer, placed) &&
             *placed.pinned < *buffer.pinned + buffer.sizeBytes &&
             *buffer.pinned < *placed.pinned + placed.sizeBytes;
    });
    if (free) {
      offsets[i] = buffer.pinned;
      pinned.push_back(int(i));
    }
  }
  return offsets;
}

Plan finishDocumented(const Problem &problem, Offsets offsets) {
  Plan plan;
  plan.complete = true;
  std::vector<int> all(problem.buffers.size());
  std::iota(all.begin(), all.end(), 0);
  plan.certificate.loadBytes = loadOf(relaxedItems(problem, all, problem.capacityBytes));
  for (size_t i = 0; i < offsets.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (!buffer.forbidden && buffer.sizeBytes <= problem.capacityBytes) {
      plan.certificate.bound += buffer.worth();
    }
    plan.complete &= offsets[i].has_value();
  }
  plan.certificate.value = valueOf(problem, offsets);
  plan.certificate.proof =
      plan.certificate.value == plan.certificate.bound ? Proof::AllPlaced : Proof::None;
  plan.offsets = std::move(offsets);
  return plan;
}

namespace {

class TimeStepping {
public:
  TimeStepping(const Problem &problem, Offsets start)
      : offsets(std::move(start)), problem(problem), ceiling(ceilings(problem)),
        handedOver(problem.buffers.size(), 0) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      pinned.push_back(offsets[i].has_value());
      if (pinned.back()) {
        pins.push_back(int(i));
      }
    }
  }

  void run() {
    // Buffers in input order at each begin.
    std::vector<int> order(problem.buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return problem.buffers[a].lower < problem.buffers[b].lower;
    });
    for (int buffer : order) {
      const int64_t now = problem.buffers[buffer].lower;
      std::erase_if(usage, [&](int other) { return problem.buffers[other].upper <= now; });
      if (pinned[buffer]) {
        usage.push_back(buffer);
      } else if (!problem.buffers[buffer].forbidden && !problem.buffers[buffer].pinned) {
        place(buffer);
      }
    }
  }

  Offsets offsets;

private:
  void settle(int buffer, int64_t offset) {
    offsets[buffer] = offset;
    usage.push_back(buffer);
  }

  void place(int buffer) {
    const Buffer &entry = problem.buffers[buffer];
    for (int parent : entry.parents) {
      if (offsets[parent] && !handedOver[parent] && entry.sizeBytes <= ceiling[buffer] &&
          *offsets[parent] + entry.sizeBytes <= ceiling[buffer] &&
          *offsets[parent] % problem.alignmentOf(entry) == 0 &&
          !hitsPin(buffer, *offsets[parent], parent)) {
        handedOver[parent] = 1;
        settle(buffer, *offsets[parent]);
        return;
      }
    }
    if (auto found = block(buffer)) {
      settle(buffer, *found);
    }
  }

  /// Pinned buffers that begin later are in the way already.
  bool hitsPin(int buffer, int64_t offset, int parent) const {
    const Buffer &entry = problem.buffers[buffer];
    for (int other : pins) {
      const Buffer &placed = problem.buffers[other];
      if (other != parent && overlapInTime(entry, placed) &&
          *offsets[other] < offset + entry.sizeBytes &&
          offset < *offsets[other] + placed.sizeBytes) {
        return true;
      }
    }
    return false;
  }

  std::optional<int64_t> block(int buffer) const {
    const Buffer &entry = problem.buffers[buffer];
    const int64_t alignment = problem.alignmentOf(entry), size = entry.sizeBytes;
    // Occupied ranges, joined where they touch or overlap.
    std::vector<std::pair<int64_t, int64_t>> spans;
    auto add = [&](int other) {
      spans.push_back({*offsets[other], *offsets[other] + problem.buffers[other].sizeBytes});
    };
    std::for_each(usage.begin(), usage.end(), add);
    for (int other : pins) {
      if (overlapInTime(entry, problem.buffers[other]) &&
          std::find(usage.begin(), usage.end(), other) == usage.end()) {
        add(other);
      }
    }
    if (size > ceiling[buffer]) {
      return std::nullopt;
    }
    std::sort(spans.begin(), spans.end());
    if (spans.empty() || spans.front().first >= size) {
      return 0;
    }
    int64_t top = 0;
    for (const auto &[low, high] : spans) {
      top = std::max(top, high);
    }
    if (alignUp(top, alignment) + size <= ceiling[buffer]) {
      return alignUp(top, alignment);
    }
    int64_t end = spans.front().second;
    for (const auto &[low, high] : spans) {
      const int64_t free = alignUp(end, alignment);
      if (low - free >= size && free + size <= ceiling[buffer]) {
        return free;
      }
      end = std::max(end, high);
    }
    return std::nullopt;
  }

  const Problem &problem;
  std::vector<int64_t> ceiling;
  std::vector<char> handedOver, pinned;
  std::vector<int> usage, pins;
};

} // namespace

Expected<Plan> GreedySolver::plan(const Problem &problem, Variant variant) const {
  SPYRE_ASSIGN_OR_RETURN(Offsets start, startDocumented(problem, variant));
  TimeStepping steps(problem, std::move(start));
  steps.run();
  return finishDocumented(problem, std::move(steps.offsets));
}

} // namespace spyre::solver::placement
