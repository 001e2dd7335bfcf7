//===- OnePass.cpp - lowest free address, in several orders ----------------------------------===//
#include "OnePass.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace spyre::solver::placement {
namespace {

int64_t aligned(int64_t value, int64_t alignment) {
  return alignment <= 1 ? value : (value + alignment - 1) / alignment * alignment;
}

class OnePass {
public:
  explicit OnePass(const SectionedProblem &part) : part(part) {}

  bool place(const std::vector<int> &order) {
    offsets.assign(part.items.size(), -1);
    for (size_t i = 0; i < part.items.size(); ++i) {
      offsets[i] = part.items[i].pinned;
    }
    for (int item : order) {
      if (part.items[item].pinned < 0 && !placeItem(item)) {
        return false;
      }
    }
    return true;
  }

  std::vector<int64_t> offsets;

private:
  /// Addresses the item may not begin at, from each neighbour that has one.
  bool placeItem(int item) {
    blocked.clear();
    for (const Neighbour &pair : part.items[item].neighbours) {
      if (offsets[pair.item] >= 0) {
        blocked.push_back({offsets[pair.item] - pair.above, offsets[pair.item] + pair.below});
      }
    }
    std::sort(blocked.begin(), blocked.end());
    int64_t at = 0;
    for (const auto &[low, high] : blocked) {
      if (low >= at) {
        break;
      }
      at = std::max(at, aligned(high, part.items[item].alignment));
    }
    offsets[item] = at;
    return at <= part.items[item].highest;
  }

  const SectionedProblem &part;
  std::vector<std::pair<int64_t, int64_t>> blocked;
};

bool pinsAgree(const SectionedProblem &part) {
  for (size_t i = 0; i < part.items.size(); ++i) {
    const auto &item = part.items[i];
    if (item.pinned < 0) {
      continue;
    }
    if (item.pinned > item.highest) {
      return false;
    }
    for (const Neighbour &pair : item.neighbours) {
      const int64_t other = part.items[pair.item].pinned;
      if (other >= 0 && item.pinned - pair.below < other && other < item.pinned + pair.above) {
        return false;
      }
    }
  }
  return true;
}

} // namespace

std::vector<int64_t> packInOnePass(const SectionedProblem &part) {
  if (!pinsAgree(part)) {
    return {};
  }
  using Key = std::array<int64_t, 2>;
  auto key = [&](int item, int order) -> Key {
    const auto &entry = part.items[item];
    switch (order) {
    case 0:
      return {-entry.width, -entry.maxHeight};
    case 1:
      return {-entry.maxHeight, -entry.width};
    case 2:
      return {-entry.area, 0};
    default:
      return {entry.places.front().section, -entry.width};
    }
  };
  OnePass pass(part);
  std::vector<int> order(part.items.size());
  for (int kind = 0; kind < 4; ++kind) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return key(a, kind) < key(b, kind); });
    if (pass.place(order)) {
      return pass.offsets;
    }
  }
  return {};
}

std::vector<int> overfullSection(const SectionedProblem &part) {
  for (const Section &section : part.sections) {
    int64_t load = 0;
    for (const Section::Member &member : section.members) {
      load += member.height;
    }
    if (load > section.ceiling) {
      std::vector<int> culprits;
      for (const Section::Member &member : section.members) {
        culprits.push_back(member.item);
      }
      return culprits;
    }
  }
  return {};
}

} // namespace spyre::solver::placement
