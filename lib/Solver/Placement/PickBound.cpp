//===- PickBound.cpp - prices, and the choice tick by tick -----------------------------------===//
#include "PickBound.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

namespace spyre::solver::placement {
namespace {

constexpr int kPriceBits = 16;
constexpr double kPriceScale = 65536.0;
/// Terms summed while looking for prices.
constexpr int64_t kPriceWork = 200'000'000;
/// Buffers alive at once for which sets are kept; more: prices only.
constexpr int kMaxAlive = 256;

using Set = std::array<uint64_t, kMaxAlive / 64>;

struct SetHash {
  size_t operator()(const Set &set) const {
    uint64_t hash = 0x9e3779b97f4a7c15ull;
    for (uint64_t word : set) {
      hash = (hash ^ word) * 0xff51afd7ed558ccdull;
      hash ^= hash >> 32;
    }
    return size_t(hash);
  }
};

int64_t floorScaled(__int128 value) {
  // Bad prices give bounds beyond all values: any such number says the same.
  constexpr __int128 kMost = __int128(INT64_MAX);
  return int64_t(std::clamp(value >> kPriceBits, -kMost, kMost));
}

} // namespace

PickBound::PickBound(const PackProblem &items, std::vector<int64_t> itemValues)
    : values(std::move(itemValues)), places(items.items.size()) {
  for (const SectionedProblem &part : cutIntoSections(items, false)) {
    for (const Section &section : part.sections) {
      SectionInfo info;
      info.ceiling = section.ceiling;
      for (const Section::Member &member : section.members) {
        const int item = part.items[member.item].source;
        info.members.push_back({item, member.height, places[item].empty(), false});
        places[item].push_back({int(sections.size()), member.height});
      }
      sections.push_back(std::move(info));
    }
  }
  for (size_t i = 0; i < sections.size(); ++i) {
    for (Member &member : sections[i].members) {
      member.leaves = places[member.item].back().section == int(i);
    }
  }
  prices.assign(sections.size(), 0);
}

PickBound::Wide PickBound::reducedValue(int item) const {
  Wide value = Wide(values[item]) << kPriceBits;
  for (const Place &place : places[item]) {
    value -= Wide(place.height) * prices[place.section];
  }
  return value;
}

int64_t PickBound::priceBound(const Fixing &fixing) const {
  Wide bound = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    bound += Wide(sections[i].ceiling) * prices[i];
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const Wide reduced = fixing[i] == 0 ? 0 : reducedValue(int(i));
    bound += fixing[i] == 1 ? reduced : std::max<Wide>(0, reduced);
  }
  return floorScaled(bound);
}

void PickBound::price(int64_t known) {
  int64_t work = 1;
  for (const auto &list : places) {
    work += int64_t(list.size());
  }
  const int64_t rounds = std::clamp<int64_t>(kPriceWork / work, 10, 200);
  const Fixing free(values.size(), -1);
  std::vector<int64_t> best = prices;
  int64_t bestBound = priceBound(free);
  std::vector<double> now(prices.begin(), prices.end());
  std::vector<int64_t> excess(sections.size());
  double pace = 1.5;
  int stale = 0;
  for (int64_t round = 0; round < rounds && bestBound > known; ++round) {
    for (size_t i = 0; i < sections.size(); ++i) {
      excess[i] = -sections[i].ceiling;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (reducedValue(int(i)) > 0) {
        for (const Place &place : places[i]) {
          excess[place.section] += place.height;
        }
      }
    }
    double norm = 0;
    for (size_t i = 0; i < sections.size(); ++i) {
      if (excess[i] > 0 || prices[i] > 0) {
        norm += double(excess[i]) * double(excess[i]);
      }
    }
    if (norm == 0) {
      break;
    }
    const double step = pace * double(bestBound - known) * kPriceScale / norm;
    for (size_t i = 0; i < sections.size(); ++i) {
      now[i] = std::max(0.0, now[i] + step * double(excess[i]));
      prices[i] = int64_t(std::min(now[i], 1e17));
    }
    const int64_t bound = priceBound(free);
    if (bound < bestBound) {
      bestBound = bound;
      best = prices;
      stale = 0;
    } else if (++stale == 8) {
      pace /= 2;
      stale = 0;
      now.assign(best.begin(), best.end());
    }
  }
  prices = best;
}

/// The best choice, tick by tick: one run of PickBound::choose().
class PickBound::TickChoice {
public:
  TickChoice(const PickBound &bounds, const Fixing &fixing, int64_t known, int64_t statesPerTick,
             int64_t &statesLeft)
      : bounds(bounds), fixing(fixing), known(known), statesLeft(statesLeft),
        gain(bounds.values.size(), 0), cost(bounds.values.size(), 0),
        slotOf(bounds.values.size(), -1), itemIn(kMaxAlive, -1), states(1) {
    const int64_t ticks = std::max<int64_t>(1, int64_t(bounds.sections.size()));
    perTick = std::clamp<int64_t>(statesLeft / ticks, 16, statesPerTick);
    for (int slot = kMaxAlive; slot-- > 0;) {
      freeSlots.push_back(slot);
    }
  }

  Choice run() {
    choice.bound = bounds.priceBound(fixing);
    if (choice.bound <= known) {
      return choice;
    }
    prepare();
    for (size_t s = 0; s < bounds.sections.size(); ++s) {
      if (!step(s)) {
        // Too much to keep: the bound by prices stands.
        choice.members.clear();
        return choice;
      }
    }
    finish();
    return choice;
  }

private:
  struct State {
    Set set{};
    int64_t value = 0, load = 0;
    /// The last item it took, in `traces`.
    int32_t trace = -1;
  };
  struct Trace {
    int32_t before, item;
  };

  static void setBit(Set &set, int slot) { set[size_t(slot) >> 6] |= uint64_t(1) << (slot & 63); }
  static void clearBit(Set &set, int slot) {
    set[size_t(slot) >> 6] &= ~(uint64_t(1) << (slot & 63));
  }
  static bool hasBit(const Set &set, int slot) {
    return (set[size_t(slot) >> 6] >> (slot & 63)) & 1;
  }

  /// Room and profit that lie ahead, in priced units; and what needs no room at all.
  void prepare() {
    for (size_t i = 0; i < bounds.sections.size(); ++i) {
      ahead += Wide(bounds.sections[i].ceiling) * bounds.prices[i];
    }
    for (size_t i = 0; i < bounds.values.size(); ++i) {
      if (fixing[i] == 0) {
        continue;
      }
      if (bounds.places[i].empty()) {
        base += bounds.values[i];
        choice.members.push_back(int(i));
        continue;
      }
      const Wide reduced = bounds.reducedValue(int(i));
      gain[i] = fixing[i] == 1 ? reduced : std::max<Wide>(0, reduced);
      ahead += gain[i];
      cost[i] = (Wide(bounds.values[i]) << kPriceBits) - reduced;
    }
  }

  /// The most a state can come to: what it has, what is ahead, less the room it holds.
  int64_t boundOf(const State &state) const {
    Wide bound = (Wide(state.value + base) << kPriceBits) + ahead;
    for (size_t word = 0; word < state.set.size(); ++word) {
      for (uint64_t bits = state.set[word]; bits != 0; bits &= bits - 1) {
        bound -= cost[itemIn[word * 64 + size_t(__builtin_ctzll(bits))]];
      }
    }
    return floorScaled(bound);
  }

  bool step(size_t s) {
    const SectionInfo &section = bounds.sections[s];
    carryOver(section);
    ahead -= Wide(section.ceiling) * bounds.prices[s];
    for (const Member &member : section.members) {
      if (member.enters && fixing[member.item] != 0 && !enter(member, section.ceiling)) {
        return false;
      }
    }
    for (const Member &member : section.members) {
      if (slotOf[member.item] >= 0) {
        cost[member.item] -= Wide(member.height) * bounds.prices[s];
      }
    }
    leave(section);
    keepBest();
    return traces.size() < kMaxTraces;
  }

  /// Loads of what lives on; a window may have grown.
  void carryOver(const SectionInfo &section) {
    for (State &state : states) {
      state.load = 0;
      for (const Member &member : section.members) {
        if (!member.enters && slotOf[member.item] >= 0 && hasBit(state.set, slotOf[member.item])) {
          state.load += member.height;
        }
      }
    }
    std::erase_if(states, [&](const State &state) { return state.load > section.ceiling; });
  }

  /// With and without the item that begins here.
  bool enter(const Member &member, int64_t ceiling) {
    if (freeSlots.empty()) {
      return false;
    }
    const int slot = freeSlots.back();
    freeSlots.pop_back();
    slotOf[member.item] = slot;
    itemIn[slot] = member.item;
    ahead -= gain[member.item];
    next.clear();
    for (const State &state : states) {
      if (state.load + member.height <= ceiling) {
        State taken = state;
        setBit(taken.set, slot);
        taken.value += bounds.values[member.item];
        taken.load += member.height;
        traces.push_back({state.trace, member.item});
        taken.trace = int32_t(traces.size()) - 1;
        next.push_back(taken);
      }
      if (fixing[member.item] != 1) {
        next.push_back(state);
      }
    }
    states.swap(next);
    statesLeft -= int64_t(states.size());
    // A tick at which many begin would double too often.
    if (int64_t(states.size()) > 4 * perTick) {
      keepBest();
    }
    return true;
  }

  void leave(const SectionInfo &section) {
    for (const Member &member : section.members) {
      if (member.leaves && slotOf[member.item] >= 0) {
        for (State &state : states) {
          clearBit(state.set, slotOf[member.item]);
        }
        freeSlots.push_back(slotOf[member.item]);
        slotOf[member.item] = -1;
      }
    }
  }

  /// Of equal sets the most valuable stays; what cannot win goes; then the worst, if too many.
  void keepBest() {
    std::unordered_map<Set, size_t, SetHash> seen;
    next.clear();
    for (const State &state : states) {
      auto [it, fresh] = seen.try_emplace(state.set, next.size());
      if (fresh) {
        next.push_back(state);
      } else if (next[it->second].value < state.value) {
        next[it->second] = state;
      }
    }
    std::vector<std::pair<int64_t, size_t>> ranked;
    for (size_t i = 0; i < next.size(); ++i) {
      if (const int64_t bound = boundOf(next[i]); bound > known) {
        ranked.push_back({-bound, i});
      }
    }
    if (int64_t(ranked.size()) > perTick) {
      std::sort(ranked.begin(), ranked.end());
      dropped = std::max(dropped, -ranked[size_t(perTick)].first);
      ranked.resize(size_t(perTick));
    }
    states.clear();
    for (const auto &[bound, index] : ranked) {
      states.push_back(next[index]);
    }
  }

  void finish() {
    const State *best = nullptr;
    for (const State &state : states) {
      if (!best || state.value > best->value) {
        best = &state;
      }
    }
    int64_t reached = known;
    if (best) {
      choice.found = true;
      choice.value = best->value + base;
      reached = std::max(reached, choice.value);
      for (int32_t at = best->trace; at >= 0; at = traces[size_t(at)].before) {
        choice.members.push_back(traces[size_t(at)].item);
      }
      std::sort(choice.members.begin(), choice.members.end());
    }
    choice.bound = std::min(choice.bound, std::max(reached, dropped));
  }

  static constexpr size_t kMaxTraces = size_t(1) << 27;
  const PickBound &bounds;
  const Fixing &fixing;
  const int64_t known;
  int64_t &statesLeft;
  int64_t perTick = 0, base = 0, dropped = -1;
  Wide ahead = 0;
  /// Per item: profit while ahead; price of the room it still takes.
  std::vector<Wide> gain, cost;
  std::vector<int> slotOf, itemIn, freeSlots;
  std::vector<State> states, next;
  std::vector<Trace> traces;
  Choice choice;
};

Choice PickBound::choose(const Fixing &fixing, int64_t known, int64_t statesPerTick,
                         int64_t &statesLeft) const {
  return TickChoice(*this, fixing, known, statesPerTick, statesLeft).run();
}

} // namespace spyre::solver::placement
