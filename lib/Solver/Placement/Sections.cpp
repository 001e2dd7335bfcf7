//===- Sections.cpp - the sweep over time ----------------------------------------------------===//
#include "Sections.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace spyre::solver::placement {
namespace {

int64_t commonUnit(const PackProblem &problem) {
  int64_t unit = 0;
  for (const PackItem &item : problem.items) {
    for (const PackPiece &piece : item.pieces) {
      unit = std::gcd(unit, piece.height);
    }
    unit = std::gcd(unit, item.pinned > 0 ? item.pinned : 0);
    // Offsets are sums of heights; an alignment that divides all of them is no constraint, any
    // other makes offsets multiples of itself.
    unit = std::gcd(unit, item.alignment > 1 ? item.alignment : 0);
  }
  return std::max<int64_t>(unit, 1);
}

/// Which pieces live in each elementary interval, swept in time order.
class Sweep {
public:
  explicit Sweep(const PackProblem &problem) : problem(problem) {
    for (size_t i = 0; i < problem.items.size(); ++i) {
      for (const PackPiece &piece : problem.items[i].pieces) {
        events.push_back({piece.lower, true, int(i), piece.height});
        events.push_back({piece.upper, false, int(i), piece.height});
      }
    }
    for (const PackReserve &reserve : problem.reserves) {
      events.push_back({reserve.lower, true, -1, reserve.bytes});
      events.push_back({reserve.upper, false, -1, reserve.bytes});
    }
    std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
      return std::tie(a.time, a.begins, a.item, a.height) <
             std::tie(b.time, b.begins, b.item, b.height);
    });
  }

  /// Calls \p visit(alive, reserved) for each interval that is not plainly implied by the one
  /// before: something ended since the last visit, or a reserve is active.
  template <typename Visit, typename Break>
  void run(const Visit &visit, const Break &componentEnds) {
    bool grown = false;
    std::map<int, int64_t> alive;
    std::multimap<int64_t, int> reserved;
    // Items that live on through a gap keep the component together.
    std::vector<int> piecesLeft(problem.items.size());
    for (size_t i = 0; i < problem.items.size(); ++i) {
      piecesLeft[i] = int(problem.items[i].pieces.size());
    }
    int open = 0;
    std::vector<char> started(problem.items.size(), 0);
    for (size_t i = 0; i < events.size();) {
      const int64_t time = events[i].time;
      const bool ends = !events[i].begins;
      const bool changesReserve = hasReserve(i, time);
      if (grown && (ends || changesReserve) && !alive.empty()) {
        visit(alive, reserved.empty() ? 0 : reserved.rbegin()->first);
        grown = false;
      }
      for (; i < events.size() && events[i].time == time; ++i) {
        const Event &event = events[i];
        if (event.item < 0) {
          if (event.begins) {
            reserved.emplace(event.height, 0);
          } else {
            reserved.erase(reserved.find(event.height));
          }
          grown = true;
        } else if (event.begins) {
          alive[event.item] = event.height;
          grown = true;
          open += started[event.item] ? 0 : 1;
          started[event.item] = 1;
        } else {
          alive.erase(event.item);
          open -= --piecesLeft[event.item] == 0 ? 1 : 0;
        }
        if (open == 0 && !event.begins && event.item >= 0) {
          componentEnds();
        }
      }
    }
  }

private:
  struct Event {
    int64_t time;
    bool begins;
    int item;
    int64_t height;
  };

  bool hasReserve(size_t from, int64_t time) const {
    for (size_t i = from; i < events.size() && events[i].time == time; ++i) {
      if (events[i].item < 0) {
        return true;
      }
    }
    return false;
  }

  const PackProblem &problem;
  std::vector<Event> events;
};

void addNeighbours(SectionedProblem &part) {
  for (size_t i = 0; i < part.items.size(); ++i) {
    // Several sections may hold the pair; the largest distance counts.
    std::map<int, Neighbour> found;
    for (const auto &place : part.items[i].places) {
      for (const Section::Member &member : part.sections[place.section].members) {
        if (member.item == int(i)) {
          continue;
        }
        Neighbour &pair = found[member.item];
        pair.item = member.item;
        pair.above = std::max(pair.above, place.height);
        pair.below = std::max(pair.below, member.height);
      }
    }
    for (const auto &[item, pair] : found) {
      part.items[i].neighbours.push_back(pair);
    }
  }
}

bool samePlaces(const SectionedProblem::Item &a, const SectionedProblem::Item &b) {
  return a.alignment == b.alignment && a.pinned < 0 && b.pinned < 0 &&
         std::equal(
             a.places.begin(), a.places.end(), b.places.begin(), b.places.end(),
             [](const auto &x, const auto &y) {
               return x.section == y.section && x.height == y.height;
             });
}

void addFacts(SectionedProblem &part) {
  for (const Section &section : part.sections) {
    int64_t load = 0;
    for (const Section::Member &member : section.members) {
      load += member.height;
    }
    for (const Section::Member &member : section.members) {
      part.items[member.item].load = std::max(part.items[member.item].load, load);
    }
  }
  for (size_t i = 0; i < part.items.size(); ++i) {
    // A twin shares the first section.
    const auto &item = part.items[i];
    for (const Section::Member &member : part.sections[item.places.front().section].members) {
      if (member.item < int(i) && samePlaces(part.items[member.item], item)) {
        part.items[i].twin = std::max(part.items[i].twin, member.item);
      }
    }
  }
}

} // namespace

std::vector<SectionedProblem> cutIntoSections(const PackProblem &problem, bool pairs) {
  const int64_t unit = commonUnit(problem);
  std::vector<SectionedProblem> parts(1);
  std::vector<int> local(problem.items.size(), -1);
  auto localItem = [&](int source) {
    SectionedProblem &part = parts.back();
    if (local[source] < 0) {
      local[source] = int(part.items.size());
      const PackItem &from = problem.items[source];
      SectionedProblem::Item item;
      item.source = source;
      item.alignment = std::max<int64_t>(1, from.alignment / unit);
      item.pinned = from.pinned < 0 ? -1 : from.pinned / unit;
      item.highest = (problem.capacity - from.extent) / unit;
      for (const PackPiece &piece : from.pieces) {
        item.maxHeight = std::max(item.maxHeight, piece.height / unit);
        item.width += piece.upper - piece.lower;
        // An order needs no exact area; a huge one must not overflow.
        item.area += int64_t(std::min(
            double(piece.upper - piece.lower) * double(piece.height) / double(unit), 1e15));
      }
      part.items.push_back(std::move(item));
    }
    return local[source];
  };
  Sweep(problem).run(
      [&](const std::map<int, int64_t> &alive, int64_t reserved) {
        SectionedProblem &part = parts.back();
        Section section;
        section.ceiling = std::max<int64_t>(0, problem.capacity - reserved) / unit;
        for (const auto &[source, height] : alive) {
          const int item = localItem(source);
          section.members.push_back({item, height / unit});
          part.items[item].places.push_back({int(part.sections.size()), height / unit});
          part.items[item].highest =
              std::min(part.items[item].highest, section.ceiling - height / unit);
        }
        part.sections.push_back(std::move(section));
      },
      [&] {
        if (!parts.back().sections.empty()) {
          parts.emplace_back();
        }
      });
  if (parts.back().sections.empty()) {
    parts.pop_back();
  }
  for (SectionedProblem &part : parts) {
    part.unit = unit;
    if (pairs) {
      addNeighbours(part);
      addFacts(part);
    }
  }
  return parts;
}

int64_t loadOf(const PackProblem &problem) {
  int64_t most = 0;
  Sweep(problem).run(
      [&](const std::map<int, int64_t> &alive, int64_t reserved) {
        int64_t load = reserved;
        for (const auto &[item, height] : alive) {
          load += height;
        }
        most = std::max(most, load);
      },
      [] {});
  return most;
}

} // namespace spyre::solver::placement
