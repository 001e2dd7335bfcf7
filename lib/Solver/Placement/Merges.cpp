//===- Merges.cpp - in-place pairs, then one packing question --------------------------------===//
#include "Merges.h"

#include "DifferenceSearch.h"

#include <algorithm>
#include <map>

namespace spyre::solver::placement {
namespace {

/// Pieces of a buffer from \p from on. Windows that do not begin at the buffer's own start are
/// taken as if they did, since the packing search wants boxes that stand on their offset; with
/// \p onlyCovered they count for what they cover.
void addPieces(const Buffer &buffer, int64_t from, std::vector<PackPiece> &out,
               bool onlyCovered = false) {
  int64_t at = from;
  auto add = [&](int64_t upper, int64_t height) {
    if (at < upper) {
      if (height > 0) {
        if (!out.empty() && out.back().upper == at && out.back().height == height) {
          out.back().upper = upper;
        } else {
          out.push_back({at, upper, height});
        }
      }
      at = upper;
    }
  };
  for (const Gap &gap : buffer.gaps) {
    add(gap.lower, buffer.sizeBytes);
    add(gap.upper, gap.low == gap.high ? 0 : gap.high - (onlyCovered ? gap.low : 0));
  }
  add(buffer.upper, buffer.sizeBytes);
}

/// One per tick: the largest need.
std::vector<PackReserve> reservesOf(const Problem &problem) {
  std::map<int64_t, int64_t> needs;
  for (const Transient &need : problem.transients) {
    if (need.bytes > 0) {
      int64_t &most = needs[need.tick];
      most = std::max(most, need.bytes);
    }
  }
  std::vector<PackReserve> reserves;
  for (const auto &[tick, bytes] : needs) {
    reserves.push_back({tick, tick + 1, bytes});
  }
  return reserves;
}

/// Per buffer of a problem; clean between uses, since parts of a set may be many.
struct PairingPlaces {
  explicit PairingPlaces(size_t buffers)
      : parentOf(buffers, -1), heirOf(buffers, -1), inSet(buffers, 0), chainTo(buffers) {}
  std::vector<int> parentOf, heirOf;
  std::vector<char> inSet;
  /// What the chain that ends at a buffer asks of its one offset.
  struct Chain {
    std::optional<int64_t> pin;
    int64_t alignment = 1;
  };
  std::vector<Chain> chainTo;
};

/// One assignment of parents to the children of a set.
class Pairing {
public:
  Pairing(const Problem &problem, const std::vector<int> &members, PairingPlaces &places)
      : problem(problem), members(members), parentOf(places.parentOf), heirOf(places.heirOf),
        inSet(places.inSet), chainTo(places.chainTo) {
    for (int member : members) {
      inSet[member] = 1;
      chainTo[member] = {problem.buffers[member].pinned,
                         problem.alignmentOf(problem.buffers[member])};
    }
    for (int member : members) {
      for (int parent : problem.buffers[member].parents) {
        if (usable(parent, member)) {
          children.push_back(member);
          break;
        }
      }
    }
    std::stable_sort(children.begin(), children.end(), [&](int a, int b) {
      return problem.buffers[a].lower < problem.buffers[b].lower;
    });
  }

  ~Pairing() {
    for (int member : members) {
      parentOf[member] = heirOf[member] = -1;
      inSet[member] = 0;
    }
  }
  Pairing(const Pairing &) = delete;
  Pairing &operator=(const Pairing &) = delete;

  bool usable(int parent, int child) const {
    const Buffer &from = problem.buffers[parent], &to = problem.buffers[child];
    if (!inSet[parent]) {
      return false;
    }
    // Pins that differ exclude each other.
    return !(from.pinned && to.pinned && *from.pinned != *to.pinned);
  }

  /// Goes through the pairings, most joined first. False from \p visit ends it.
  template <typename Visit>
  void each(const Visit &visit) {
    // option[i]: which parent child i has; their number: none; -1: not chosen yet.
    std::vector<int> option(children.size(), -1);
    size_t at = 0;
    while (true) {
      if (at == children.size()) {
        if (!visit() || at == 0) {
          return;
        }
        --at;
      }
      if (advance(children[at], option[at])) {
        ++at;
      } else if (at-- == 0) {
        return;
      }
    }
  }

  PackProblem items(int64_t capacityBytes, std::vector<std::vector<int>> &chains) const {
    PackProblem pack;
    pack.capacity = capacityBytes;
    pack.reserves = reservesOf(problem);
    for (int member : members) {
      if (parentOf[member] >= 0) {
        continue;
      }
      PackItem item;
      std::vector<int> chain;
      for (int at = member; at >= 0; at = heirOf[at]) {
        const Buffer &buffer = problem.buffers[at];
        chain.push_back(at);
        addPieces(buffer, buffer.lower + (at == member ? 0 : 1), item.pieces);
        item.alignment = std::max(item.alignment, problem.alignmentOf(buffer));
        item.extent = std::max(item.extent, buffer.sizeBytes);
        if (buffer.pinned) {
          item.pinned = *buffer.pinned;
        }
      }
      chains.push_back(std::move(chain));
      pack.items.push_back(std::move(item));
    }
    return pack;
  }

private:
  /// The next possible parent of the child; false when all were tried.
  bool advance(int child, int &option) {
    if (parentOf[child] >= 0) {
      heirOf[parentOf[child]] = -1;
      parentOf[child] = -1;
      chainTo[child] = {problem.buffers[child].pinned, problem.alignmentOf(problem.buffers[child])};
    }
    const auto &parents = problem.buffers[child].parents;
    for (++option; option < int(parents.size()); ++option) {
      const int parent = parents[option];
      if (usable(parent, child) && heirOf[parent] < 0 && oneOffsetServes(parent, child)) {
        parentOf[child] = parent;
        heirOf[parent] = child;
        return true;
      }
    }
    if (option == int(parents.size())) {
      return true;
    }
    option = -1;
    return false;
  }

  /// Does one offset satisfy the pins and alignments of the whole chain? Then the child ends it.
  /// Children are joined in the order of time, so no chain grows at its other end.
  bool oneOffsetServes(int parent, int child) {
    const PairingPlaces::Chain &before = chainTo[parent];
    PairingPlaces::Chain own = chainTo[child];
    if (before.pin && own.pin && *before.pin != *own.pin) {
      return false;
    }
    own.pin = own.pin ? own.pin : before.pin;
    const int64_t most = std::max(own.alignment, before.alignment);
    if (most % std::min(own.alignment, before.alignment) != 0 ||
        (own.pin && *own.pin % most != 0)) {
      return false;
    }
    own.alignment = most;
    chainTo[child] = own;
    return true;
  }

  const Problem &problem;
  const std::vector<int> &members;
  std::vector<int> &parentOf, &heirOf;
  std::vector<char> &inSet;
  std::vector<PairingPlaces::Chain> &chainTo;
  std::vector<int> children;
};

/// More pairings than this are not tried: the answer is then undecided.
constexpr int kMaxPairings = 512;

bool hasFloatingWindow(const Problem &problem, const std::vector<int> &members) {
  for (int member : members) {
    for (const Gap &gap : problem.buffers[member].gaps) {
      if (gap.low > 0 && gap.low < gap.high) {
        return true;
      }
    }
  }
  return false;
}

} // namespace

/// Where too much is alive at one tick, few of those alive there are enough: the others go, small
/// ones first. Empty where no tick is overfull, or where \p keep does not live. No question has to
/// be asked for that.
static std::vector<int> overfullMembers(const Problem &problem, const std::vector<int> &members,
                                        int64_t capacityBytes, int keep = -1) {
  const PackProblem pack = relaxedItems(problem, members, capacityBytes);
  std::map<int64_t, int64_t> change;
  for (const PackItem &item : pack.items) {
    for (const PackPiece &piece : item.pieces) {
      change[piece.lower] += piece.height;
      change[piece.upper] -= piece.height;
    }
  }
  for (const PackReserve &reserve : pack.reserves) {
    change[reserve.lower] += reserve.bytes;
    change[reserve.upper] -= reserve.bytes;
  }
  int64_t now = 0, load = 0, tick = 0;
  for (const auto &[time, bytes] : change) {
    now += bytes;
    if (now > load) {
      load = now;
      tick = time;
    }
  }
  if (load <= capacityBytes) {
    return {};
  }
  std::vector<std::pair<int64_t, int>> alive;
  for (size_t i = 0; i < members.size(); ++i) {
    for (const PackPiece &piece : pack.items[i].pieces) {
      if (piece.lower <= tick && tick < piece.upper) {
        alive.push_back({piece.height, members[i]});
      }
    }
  }
  if (keep >= 0 && std::none_of(alive.begin(), alive.end(),
                                [&](const auto &entry) { return entry.second == keep; })) {
    return {};
  }
  std::sort(alive.begin(), alive.end());
  std::vector<int> few;
  for (const auto &[height, member] : alive) {
    if (member != keep && load - height > capacityBytes) {
      load -= height;
    } else {
      few.push_back(member);
    }
  }
  std::sort(few.begin(), few.end());
  return few;
}

/// The question for members that meet in time. When packed their \p offsets are set.
static SetResult packPart(const Problem &problem, const std::vector<int> &members,
                          int64_t capacityBytes, NodeBudget &budget, PairingPlaces &places,
                          Offsets &offsets) {
  SetResult result;
  bool allImpossible = true, severalPairings = false;
  int tried = 0;
  const bool floating = hasFloatingWindow(problem, members);
  Pairing pairing(problem, members, places);
  pairing.each([&] {
    if (tried == kMaxPairings || (tried > 0 && budget.left <= 0)) {
      allImpossible = false;
      return false;
    }
    severalPairings = ++tried > 1;
    std::vector<std::vector<int>> chains;
    const PackProblem pack = pairing.items(capacityBytes, chains);
    PackResult answer = packItems(pack, std::min(budget.perQuestion, budget.left));
    int64_t spent = answer.nodes;
    if (floating && answer.answer != PackAnswer::Packed) {
      answer = packWithWindows(problem, chains, capacityBytes,
                               std::min(budget.perQuestion, budget.left - spent));
      spent += answer.nodes;
    }
    budget.spent += spent;
    budget.left -= spent;
    if (answer.answer == PackAnswer::Packed) {
      result.answer = PackAnswer::Packed;
      for (size_t i = 0; i < chains.size(); ++i) {
        for (int member : chains[i]) {
          offsets[member] = answer.offsets[i];
        }
      }
      return false;
    }
    allImpossible &= answer.answer == PackAnswer::Impossible;
    result.culprits.clear();
    for (int item : answer.culprits) {
      result.culprits.insert(result.culprits.end(), chains[item].begin(), chains[item].end());
    }
    return true;
  });
  if (result.answer == PackAnswer::Packed) {
    result.culprits.clear();
    return result;
  }
  result.answer = allImpossible ? PackAnswer::Impossible : PackAnswer::Undecided;
  if (severalPairings || floating) {
    // Another pairing fails elsewhere: the proof needs everything.
    result.culprits = members;
  }
  return result;
}

SetResult packSet(const Problem &problem, const std::vector<int> &members, int64_t capacityBytes,
                  NodeBudget &budget) {
  SetResult result;
  result.culprits = overfullMembers(problem, members, capacityBytes);
  if (!result.culprits.empty()) {
    result.answer = PackAnswer::Impossible; // whatever is joined
    return result;
  }
  result.answer = PackAnswer::Packed;
  result.offsets.assign(problem.buffers.size(), std::nullopt);
  PairingPlaces places(problem.buffers.size());
  for (const std::vector<int> &part : timeParts(problem, members)) {
    SetResult one = packPart(problem, part, capacityBytes, budget, places, result.offsets);
    if (one.answer == PackAnswer::Impossible) {
      return one;
    }
    if (one.answer == PackAnswer::Undecided) {
      // Another part may still prove that there is no packing.
      result.answer = PackAnswer::Undecided;
      result.culprits.insert(result.culprits.end(), one.culprits.begin(), one.culprits.end());
    }
  }
  return result;
}

std::vector<std::vector<int>> timeParts(const Problem &problem, const std::vector<int> &members) {
  std::vector<int> order = members;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return problem.buffers[a].lower < problem.buffers[b].lower;
  });
  std::vector<std::vector<int>> parts;
  int64_t end = INT64_MIN;
  for (int buffer : order) {
    if (parts.empty() || problem.buffers[buffer].lower >= end) {
      parts.emplace_back();
    }
    parts.back().push_back(buffer);
    end = std::max(end, problem.buffers[buffer].upper);
  }
  for (std::vector<int> &part : parts) {
    std::sort(part.begin(), part.end());
  }
  return parts;
}

PackProblem relaxedItems(const Problem &problem, const std::vector<int> &members,
                         int64_t capacityBytes) {
  PackProblem pack;
  pack.capacity = capacityBytes;
  pack.reserves = reservesOf(problem);
  std::vector<char> inSet(problem.buffers.size(), 0);
  for (int member : members) {
    inSet[member] = 1;
  }
  for (int member : members) {
    const Buffer &buffer = problem.buffers[member];
    const bool hasParent = std::any_of(buffer.parents.begin(), buffer.parents.end(),
                                       [&](int parent) { return inSet[parent]; });
    PackItem item;
    item.alignment = problem.alignmentOf(buffer);
    item.extent = buffer.sizeBytes;
    item.pinned = buffer.pinned.value_or(-1);
    addPieces(buffer, buffer.lower + (hasParent ? 1 : 0), item.pieces, true);
    pack.items.push_back(std::move(item));
  }
  return pack;
}

namespace {

/// Beyond this many buffers a conflict is not reduced further: one question each is too much.
constexpr size_t kMaxReduced = 128;

} // namespace

std::vector<int> irreducibleConflict(const Problem &problem, std::vector<int> members,
                                     int64_t capacityBytes, NodeBudget &budget, int keep) {
  if (std::vector<int> few = overfullMembers(problem, members, capacityBytes, keep); !few.empty()) {
    members = std::move(few);
  }
  if (members.size() > kMaxReduced) {
    return members;
  }
  // Large buffers are dropped last: a conflict of few large ones says more.
  std::vector<int> order = members;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return problem.buffers[a].sizeBytes < problem.buffers[b].sizeBytes;
  });
  for (int candidate : order) {
    if (candidate == keep ||
        std::find(members.begin(), members.end(), candidate) == members.end()) {
      continue;
    }
    std::vector<int> rest;
    std::copy_if(members.begin(), members.end(), std::back_inserter(rest),
                 [&](int member) { return member != candidate; });
    const SetResult answer = packSet(problem, rest, capacityBytes, budget);
    if (answer.answer != PackAnswer::Impossible) {
      continue;
    }
    members = std::move(rest);
    // The proof itself may have used less.
    if (!answer.culprits.empty() && answer.culprits.size() < members.size() &&
        (keep < 0 || std::find(answer.culprits.begin(), answer.culprits.end(), keep) !=
                         answer.culprits.end())) {
      members = answer.culprits;
      std::sort(members.begin(), members.end());
    }
  }
  return members;
}

} // namespace spyre::solver::placement
