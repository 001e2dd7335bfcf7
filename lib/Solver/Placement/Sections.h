//===- Sections.h - moments of a packing problem ---------------------------------------------===//
//
// What the packing search knows about time: the sections, which items are alive in each with which
// height, and for each pair how far apart their offsets must be. Lengths are in units of the
// largest common divisor, so that addresses are small numbers.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "PackSearch.h"

namespace spyre::solver::placement {

struct Section {
  int64_t ceiling = 0;
  struct Member {
    int item = 0;
    int64_t height = 0;
  };
  std::vector<Member> members;
};

/// j overlaps the owner of the list in time: j is above it by at least `above`, or below it by at
/// least `below`.
struct Neighbour {
  int item = 0;
  int64_t above = 0, below = 0;
};

/// One time component of a problem, in units.
struct SectionedProblem {
  struct Item {
    /// Index in the PackProblem.
    int source = 0;
    int64_t alignment = 1, pinned = -1;
    /// Its largest offset: no ceiling is passed there.
    int64_t highest = 0;
    int64_t maxHeight = 0, width = 0, area = 0, load = 0;
    /// (section, height), ascending.
    struct Place {
      int section = 0;
      int64_t height = 0;
    };
    std::vector<Place> places;
    std::vector<Neighbour> neighbours;
    /// A lower-numbered item that is the same in everything, or -1.
    int twin = -1;
  };
  std::vector<Item> items;
  std::vector<Section> sections;
  int64_t unit = 1;
};

/// Independent parts: no item of one overlaps one of another in time.
/// Without \p pairs neither neighbours nor twins are listed.
std::vector<SectionedProblem> cutIntoSections(const PackProblem &problem, bool pairs = true);

} // namespace spyre::solver::placement
