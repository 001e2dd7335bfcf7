//===- SectionSearch.cpp - one run of the packing search -------------------------------------===//
#include "SectionSearch.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace spyre::solver::placement {
namespace {

constexpr int64_t kNever = INT64_MAX;

int64_t aligned(int64_t value, int64_t alignment) {
  return alignment <= 1 ? value : (value + alignment - 1) / alignment * alignment;
}

} // namespace

SectionSearch::SectionSearch(const SectionedProblem &part, const std::vector<int> &rank,
                             SectionPolicy policy, int64_t nodeLimit)
    : part(part), rank(rank), policy(policy), nodeLimit(nodeLimit) {
  const size_t count = part.items.size();
  lastLevel = int(2 * count);
  words = size_t(lastLevel) / 64 + 1;
  unplaced = int(count);
  lowest.assign(count, 0);
  offset.assign(count, 0);
  highest.assign(count, kNever);
  placed.assign(count, 0);
  rests.assign(count, 1);
  levelOf.assign(count, 0);
  reason.assign(count * words, 0);
  state.resize(part.sections.size());
  touchMark.assign(part.sections.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    highest[i] = part.items[i].highest;
    if (part.items[i].pinned >= 0) {
      pinnedItems.push_back(int(i));
    }
  }
}

std::vector<int> SectionSearch::culprits() const {
  std::vector<int> all(part.items.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

//===--------------------------------------------------------------------------------------------===//
// Sets of levels
//===--------------------------------------------------------------------------------------------===//

void SectionSearch::addLevel(std::vector<Word> &set, int level) const {
  const int bit = std::min(level, lastLevel);
  set[size_t(bit) >> 6] |= Word(1) << (bit & 63);
}

bool SectionSearch::hasLevel(const std::vector<Word> &set, int level) const {
  const int bit = std::min(level, lastLevel);
  return (set[size_t(bit) >> 6] >> (bit & 63)) & 1;
}

void SectionSearch::addReason(std::vector<Word> &set, int item) {
  const Word *from = reasonOf(item);
  for (size_t i = 0; i < words; ++i) {
    set[i] |= from[i];
  }
}

void SectionSearch::addState(std::vector<Word> &set, int item) {
  if (placed[item]) {
    addLevel(set, levelOf[item]);
  } else {
    addReason(set, item);
  }
}

void SectionSearch::addSection(std::vector<Word> &set, int section) {
  for (const Section::Member &member : part.sections[section].members) {
    if (!placed[member.item]) {
      addReason(set, member.item);
    }
  }
}

//===--- changes and their undoing
//----------------------------------------------------------------===//

void SectionSearch::remember(int item) {
  trail.push_back({item, lowest[item], rests[item]});
  const Word *from = reasonOf(item);
  trailReasons.insert(trailReasons.end(), from, from + words);
}

void SectionSearch::undoTo(size_t mark) {
  while (trail.size() > mark) {
    const Change &change = trail.back();
    lowest[change.item] = change.lowest;
    rests[change.item] = change.rests;
    std::copy(trailReasons.end() - std::ptrdiff_t(words), trailReasons.end(),
              reasonOf(change.item));
    trailReasons.resize(trailReasons.size() - words);
    for (const auto &place : part.items[change.item].places) {
      if (touchMark[place.section] != touchCount) {
        touchMark[place.section] = touchCount;
        touched.push_back(place.section);
      }
    }
    trail.pop_back();
  }
}

void SectionSearch::refresh(int section) {
  SectionState fresh{kNever, kNever, 0, 0};
  for (const Section::Member &member : part.sections[section].members) {
    if (!placed[member.item]) {
      const int64_t low = lowest[member.item];
      fresh.floor = std::min(fresh.floor, low);
      fresh.lowestTop = std::min(fresh.lowestTop, low + member.height);
      fresh.total += member.height;
      ++fresh.count;
    }
  }
  state[section] = fresh;
}

void SectionSearch::touch(int item) {
  for (const auto &place : part.items[item].places) {
    if (touchMark[place.section] != touchCount) {
      touchMark[place.section] = touchCount;
      touched.push_back(place.section);
    }
  }
}

/// In a section everything unplaced has to fit above where it may begin; with all of them in the
/// order of these addresses the lowest possible top is exact.
bool SectionSearch::sectionHolds(int section) {
  refresh(section);
  const SectionState &now = state[section];
  if (now.count == 0) {
    return true;
  }
  const int64_t ceiling = part.sections[section].ceiling;
  if (now.floor + now.total > ceiling) {
    return false;
  }
  releases.clear();
  for (const Section::Member &member : part.sections[section].members) {
    if (!placed[member.item]) {
      releases.push_back({lowest[member.item], member.height});
    }
  }
  std::sort(releases.begin(), releases.end());
  int64_t top = 0;
  for (const auto &[low, height] : releases) {
    top = std::max(top, low) + height;
  }
  return top <= ceiling;
}

bool SectionSearch::touchedHold(int &failed) {
  failed = -1;
  for (int section : touched) {
    if (!sectionHolds(section) && failed < 0) {
      failed = section;
    }
  }
  return failed < 0;
}

int64_t SectionSearch::pastPins(int item, int64_t from) const {
  if (pinnedItems.empty() || part.items[item].pinned >= 0) {
    return from;
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (const Neighbour &pair : part.items[item].neighbours) {
      const int64_t pin = part.items[pair.item].pinned;
      if (pin >= 0 && from + pair.above > pin && from < pin + pair.below) {
        from = aligned(pin + pair.below, part.items[item].alignment);
        moved = true;
      }
    }
  }
  return from;
}

//===--- choosing what to decide
//------------------------------------------------------------------===//

bool SectionSearch::fitsEverywhere(int item, int &failed) const {
  if (lowest[item] > highest[item]) {
    // Its own lowest address is the reason, and that is a reason in each of its sections.
    failed = part.items[item].places.front().section;
    return false;
  }
  for (const auto &place : part.items[item].places) {
    if (lowest[item] + state[place.section].total > part.sections[place.section].ceiling) {
      failed = place.section;
      return false;
    }
  }
  return true;
}

int SectionSearch::answersAt(int section) const {
  const SectionState &now = state[section];
  int answers = now.floor + now.total < part.sections[section].ceiling ? 1 : 0;
  for (const Section::Member &member : part.sections[section].members) {
    const int item = member.item;
    if (placed[item] || lowest[item] != now.floor) {
      continue;
    }
    bool fits = true;
    for (const auto &place : part.items[item].places) {
      const SectionState &there = state[place.section];
      if (there.lowestTop <= now.floor) {
        return -1;
      }
      fits &= now.floor + there.total <= part.sections[place.section].ceiling;
    }
    const int twin = part.items[item].twin;
    answers += fits && rests[item] && !(twin >= 0 && !placed[twin]) ? 1 : 0;
  }
  return answers;
}

int SectionSearch::chooseSection() const {
  struct Key {
    int64_t first, second, third;
    bool operator<(const Key &other) const {
      return std::tie(first, second, third) < std::tie(other.first, other.second, other.third);
    }
  };
  int best = -1;
  Key bestKey{kNever, kNever, kNever};
  for (size_t i = 0; i < part.sections.size(); ++i) {
    const SectionState &now = state[i];
    if (now.count == 0) {
      continue;
    }
    const int64_t slack = part.sections[i].ceiling - now.floor - now.total;
    // Without counting answers: can it still win?
    if (policy == SectionPolicy::LowestFloor && best >= 0 && bestKey.first <= 0 &&
        now.floor > bestKey.second) {
      continue;
    }
    const int answers = answersAt(int(i));
    if (answers < 0) {
      continue;
    }
    Key key{answers, now.floor, slack};
    if (policy == SectionPolicy::LowestFloor) {
      key = {std::min(answers, 2), now.floor, answers};
    } else if (policy == SectionPolicy::FewestThenTightest) {
      key = {answers, slack, now.floor};
    }
    if (key < bestKey) {
      bestKey = key;
      best = int(i);
    }
  }
  return best;
}

//===--- the tree
//-----------------------------------------------------------------------------------===//

/// The item has got its place: what overlaps it and cannot be below it is above it.
bool SectionSearch::raiseNeighbours(int item, int level) {
  for (const Neighbour &pair : part.items[item].neighbours) {
    const int other = pair.item;
    if (placed[other] || part.items[other].pinned >= 0) {
      continue;
    }
    const int64_t top = aligned(offset[item] + pair.above, part.items[other].alignment);
    if (lowest[other] > top || (lowest[other] == top && rests[other])) {
      continue;
    }
    remember(other);
    if (lowest[other] == top) {
      rests[other] = 1;
      continue;
    }
    Word *why = reasonOf(other);
    if (pair.below > offset[item]) {
      // It could not be below even from address 0.
      std::fill(why, why + words, 0);
    }
    const int bit = std::min(level, lastLevel);
    why[size_t(bit) >> 6] |= Word(1) << (bit & 63);
    lowest[other] = pastPins(other, top);
    rests[other] = 1;
    touch(other);
  }
  return true;
}

SectionSearch::Outcome SectionSearch::tryItem(int item, int level, std::vector<Word> &conflict,
                                              bool &jump) {
  int failed = -1;
  if (!fitsEverywhere(item, failed)) {
    addSection(conflict, failed);
    return Outcome::Failed;
  }
  const size_t mark = trail.size();
  ++touchCount;
  touched.clear();
  placed[item] = 1;
  offset[item] = lowest[item];
  levelOf[item] = level;
  --unplaced;
  touch(item);
  raiseNeighbours(item, level);
  Outcome outcome = Outcome::Failed;
  const bool holds = touchedHold(failed);
  if (holds) {
    outcome = decide(level + 1);
    if (outcome != Outcome::Failed) {
      return outcome;
    }
  } else {
    addSection(conflict, failed);
  }
  placed[item] = 0;
  ++unplaced;
  ++touchCount;
  touched.clear();
  touch(item);
  undoTo(mark);
  for (int section : touched) {
    refresh(section);
  }
  if (holds) {
    const std::vector<Word> &below = conflicts[size_t(level) + 1];
    if (level < lastLevel && !hasLevel(below, level)) {
      conflict = below;
      jump = true;
    } else {
      for (size_t i = 0; i < words; ++i) {
        conflict[i] |= below[i];
      }
    }
  }
  return Outcome::Failed;
}

SectionSearch::Outcome SectionSearch::tryNone(const std::vector<int> &candidates, int level,
                                              std::vector<Word> &conflict) {
  // Each candidate then rests on something that is not placed yet.
  std::vector<int64_t> jumps;
  std::vector<Word> why(words, 0);
  bool possible = true;
  for (int item : candidates) {
    int64_t next = kNever;
    for (const Neighbour &pair : part.items[item].neighbours) {
      addState(why, pair.item);
      const int64_t pin = part.items[pair.item].pinned;
      if (!placed[pair.item]) {
        const int64_t base = pin >= 0 ? pin : lowest[pair.item];
        const int64_t top = aligned(base + pair.below, part.items[item].alignment);
        // A pinned item far below may have been passed already.
        if (top > lowest[item]) {
          next = std::min(next, top);
        }
      }
    }
    possible &= next != kNever && part.items[item].pinned < 0;
    jumps.push_back(next);
  }
  if (!possible) {
    for (size_t i = 0; i < words; ++i) {
      conflict[i] |= why[i];
    }
    return Outcome::Failed;
  }
  const size_t mark = trail.size();
  ++touchCount;
  touched.clear();
  for (size_t i = 0; i < candidates.size(); ++i) {
    const int item = candidates[i];
    remember(item);
    lowest[item] = pastPins(item, jumps[i]);
    rests[item] = lowest[item] != jumps[i] ? 1 : 0;
    for (const Neighbour &pair : part.items[item].neighbours) {
      const int64_t pin = part.items[pair.item].pinned;
      const bool fixed = placed[pair.item] || pin >= 0;
      const int64_t at = pin >= 0 ? pin : offset[pair.item];
      rests[item] |= fixed && aligned(at + pair.below, part.items[item].alignment) == lowest[item];
    }
    Word *own = reasonOf(item);
    for (size_t w = 0; w < words; ++w) {
      own[w] |= why[w];
    }
    const int bit = std::min(level, lastLevel);
    own[size_t(bit) >> 6] |= Word(1) << (bit & 63);
    touch(item);
  }
  int failed = -1;
  const bool holds = touchedHold(failed);
  if (holds) {
    const Outcome outcome = decide(level + 1);
    if (outcome != Outcome::Failed) {
      return outcome;
    }
  } else {
    addSection(conflict, failed);
  }
  ++touchCount;
  touched.clear();
  undoTo(mark);
  for (int section : touched) {
    refresh(section);
  }
  if (holds) {
    const std::vector<Word> &below = conflicts[size_t(level) + 1];
    for (size_t i = 0; i < words; ++i) {
      conflict[i] |= below[i];
    }
  }
  return Outcome::Failed;
}

SectionSearch::Outcome SectionSearch::decide(int level) {
  if (unplaced == 0) {
    return Outcome::Solved;
  }
  // A level is a frame of the stack, too; "none" may be said more often than there are items.
  if (nodeCount >= nodeLimit || level > lastLevel + 64) {
    return Outcome::OutOfNodes;
  }
  ++nodeCount;
  if (conflicts.size() <= size_t(level) + 1) {
    conflicts.resize(size_t(level) + 2);
  }
  const int section = chooseSection();
  const int64_t floor = state[section].floor;
  std::vector<int> candidates;
  std::vector<Word> conflict(words, 0);
  for (const Section::Member &member : part.sections[section].members) {
    addState(conflict, member.item);
    if (!placed[member.item] && lowest[member.item] == floor) {
      candidates.push_back(member.item);
    }
  }
  std::sort(candidates.begin(), candidates.end(), [&](int a, int b) { return rank[a] < rank[b]; });
  for (int item : candidates) {
    const int twin = part.items[item].twin;
    if (twin >= 0 && !placed[twin]) {
      continue;
    }
    if (!rests[item]) {
      // Nothing below it, placed or not, ends here: that is why.
      for (const Neighbour &pair : part.items[item].neighbours) {
        addState(conflict, pair.item);
      }
      continue;
    }
    bool jump = false;
    const Outcome outcome = tryItem(item, level, conflict, jump);
    if (outcome != Outcome::Failed) {
      return outcome;
    }
    if (jump) {
      conflicts[level] = std::move(conflict);
      return Outcome::Failed;
    }
  }
  if (const Outcome outcome = tryNone(candidates, level, conflict); outcome != Outcome::Failed) {
    return outcome;
  }
  if (level < lastLevel) {
    conflict[size_t(level) >> 6] &= ~(Word(1) << (level & 63));
  }
  conflicts[level] = std::move(conflict);
  return Outcome::Failed;
}

PackAnswer SectionSearch::run() {
  for (size_t i = 0; i < part.items.size(); ++i) {
    const int64_t pin = part.items[i].pinned;
    lowest[i] = pin >= 0 ? pin : pastPins(int(i), 0);
    if (lowest[i] > highest[i]) {
      return PackAnswer::Impossible;
    }
    for (const Neighbour &pair : part.items[i].neighbours) {
      const int64_t other = part.items[pair.item].pinned;
      if (pin >= 0 && other >= 0 && other < pin + pair.above && pin < other + pair.below) {
        return PackAnswer::Impossible;
      }
    }
  }
  for (size_t i = 0; i < part.sections.size(); ++i) {
    if (!sectionHolds(int(i))) {
      return PackAnswer::Impossible;
    }
  }
  switch (decide(0)) {
  case Outcome::Solved:
    return PackAnswer::Packed;
  case Outcome::Failed:
    return PackAnswer::Impossible;
  case Outcome::OutOfNodes:
    return PackAnswer::Undecided;
  }
  return PackAnswer::Undecided;
}

} // namespace spyre::solver::placement
