//===- PackSearch.h - can these boxes be stacked below a ceiling? ---------------------------===//
//
// The innermost question of placement: every item is given its times and heights, only its offset
// is free. The answer is a packing, a proof that there is none, or "not decided" when the node
// limit is reached.
//
// Time is cut into sections (moments at which no more items live at once). A node of the search
// takes one section whose lowest free address f is known and asks which item begins at f there:
// one of those that can, or none. Sections are taken with the fewest answers first. Three facts
// keep the tree small:
//   - a packing exists only if one exists in which each item rests on the floor or on another, so
//     an item that does not begin at f jumps to the lowest top it could rest on;
//   - in a section, what is not yet placed must fit above what it may at the lowest begin at;
//   - a dead end is explained by the decisions it rests on; decisions about other times are not
//     tried again (conflict-directed back-jumping).
// Several orders of sections and items share the node budget in rounds of doubling length.
// [spec: scratchpad 14.2, 15, 18.3; the sections and the rounds are of the published search, the
// rest is ours, see docs/adr/0047]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::solver::placement {

/// The item takes [offset, offset + height) in [lower, upper).
struct PackPiece {
  int64_t lower = 0, upper = 0;
  int64_t height = 0;
};

struct PackItem {
  /// Ascending and disjoint in time, all of height > 0.
  std::vector<PackPiece> pieces;
  /// offset + extent is at most the capacity; no less than any height.
  int64_t extent = 0;
  int64_t alignment = 1;
  /// The offset it must have; -1: free.
  int64_t pinned = -1;
};

/// Bytes at the top that nobody may use in [lower, upper).
struct PackReserve {
  int64_t lower = 0, upper = 0;
  int64_t bytes = 0;
};

struct PackProblem {
  std::vector<PackItem> items;
  int64_t capacity = 0;
  std::vector<PackReserve> reserves;
};

enum class PackAnswer { Packed, Impossible, Undecided };

struct PackResult {
  PackAnswer answer = PackAnswer::Undecided;
  /// One per item when packed.
  std::vector<int64_t> offsets;
  /// Items of which no packing exists; not the smallest such set. Set when impossible.
  std::vector<int> culprits;
  int64_t nodes = 0;
};

/// \p nodeLimit counts decisions of the search; the same input gives the same result anywhere.
PackResult packItems(const PackProblem &problem, int64_t nodeLimit);

/// Largest number of items in one time component for which packItems() searches; beyond it only
/// one-pass orders are tried.
constexpr int kMaxSearchedItems = 1500;

/// Smallest conceivable height: the largest sum of heights at one moment.
int64_t loadOf(const PackProblem &problem);

} // namespace spyre::solver::placement
