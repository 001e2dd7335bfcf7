//===- SectionSearch.h - one run of the packing search ---------------------------------------===//
#pragma once

#include "Sections.h"

#include <cstddef>

namespace spyre::solver::placement {

/// Which section a node decides about.
enum class SectionPolicy {
  /// The lowest free address, unless somewhere there is at most one answer.
  LowestFloor,
  /// Fewest answers, then the lowest free address.
  FewestThenLowest,
  /// Fewest answers, then the least room to spare.
  FewestThenTightest,
};

class SectionSearch {
public:
  SectionSearch(const SectionedProblem &part, const std::vector<int> &rank, SectionPolicy policy,
                int64_t nodeLimit);

  PackAnswer run();
  int64_t nodes() const { return nodeCount; }
  const std::vector<int64_t> &offsets() const { return offset; }
  /// All items: the proof of a search that was exhausted may use any of them.
  std::vector<int> culprits() const;

private:
  /// Set of levels of the search; the last bit stands for all levels beyond.
  using Word = uint64_t;
  struct SectionState {
    int64_t floor, lowestTop, total;
    int count;
  };
  struct Change {
    int item;
    int64_t lowest;
    char rests;
  };
  enum class Outcome { Solved, Failed, OutOfNodes };

  Word *reasonOf(int item) { return &reason[size_t(item) * words]; }
  void addLevel(std::vector<Word> &set, int level) const;
  bool hasLevel(const std::vector<Word> &set, int level) const;
  void addReason(std::vector<Word> &set, int item);
  /// Why the item is where it is: the level that placed it, or what keeps it above its lowest.
  void addState(std::vector<Word> &set, int item);
  void addSection(std::vector<Word> &set, int section);

  void remember(int item);
  void undoTo(size_t mark);
  void refresh(int section);
  bool sectionHolds(int section);
  bool touchedHold(int &failed);
  void touch(int item);
  /// Past the pinned items that are in the way.
  int64_t pastPins(int item, int64_t lowest) const;

  int chooseSection() const;
  /// Number of answers; -1 if some item that could begin here might have another below it.
  int answersAt(int section) const;
  bool fitsEverywhere(int item, int &failed) const;
  Outcome decide(int level);
  Outcome tryItem(int item, int level, std::vector<Word> &conflict, bool &jump);
  Outcome tryNone(const std::vector<int> &candidates, int level, std::vector<Word> &conflict);
  bool raiseNeighbours(int item, int level);

  const SectionedProblem &part;
  const std::vector<int> &rank;
  SectionPolicy policy;
  int64_t nodeLimit, nodeCount = 0;
  int lastLevel;
  size_t words;
  int unplaced;
  std::vector<int64_t> lowest, offset, highest;
  std::vector<char> placed, rests;
  std::vector<int> levelOf;
  std::vector<int> pinnedItems;
  std::vector<Word> reason;
  std::vector<SectionState> state;
  std::vector<Change> trail;
  std::vector<Word> trailReasons;
  std::vector<std::vector<Word>> conflicts;
  std::vector<int> touched;
  std::vector<int64_t> touchMark;
  int64_t touchCount = 0;
  std::vector<std::pair<int64_t, int64_t>> releases;
};

} // namespace spyre::solver::placement
