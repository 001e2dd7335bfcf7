//===- PackSearch.cpp - the search described in PackSearch.h ---------------------------------===//
#include "PackSearch.h"

#include "OnePass.h"
#include "SectionSearch.h"
#include "Sections.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace spyre::solver::placement {
namespace {

/// Orders in which items are tried at one address. Wide and large ones first, in several meanings
/// of the words: which of them is quick differs from problem to problem.
constexpr int kOrders = 6;

std::vector<int> rankItems(const SectionedProblem &part, int order) {
  using Key = std::array<int64_t, 3>;
  auto key = [&](const SectionedProblem::Item &item) -> Key {
    switch (order) {
    case 0:
      return {-item.width, -item.area, -item.load};
    case 1:
      return {-item.maxHeight, -item.width, 0};
    case 2:
      return {-item.load, -item.area, -item.width};
    case 3:
      return {-item.area, -item.width, 0};
    case 4:
      return {-item.load, -item.width, -item.area};
    default:
      return {-int64_t(item.places.size()), -item.maxHeight, 0};
    }
  };
  std::vector<int> sorted(part.items.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](int a, int b) { return key(part.items[a]) < key(part.items[b]); });
  std::vector<int> rank(part.items.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    rank[sorted[i]] = int(i);
  }
  return rank;
}

/// Decisions times members of sections in one question.
constexpr int64_t kMaxWork = 4'000'000'000;

/// One component; the node limit is what is left of the caller's.
PackResult packPart(const SectionedProblem &part, int64_t nodeLimit) {
  PackResult result;
  if (auto overfull = overfullSection(part); !overfull.empty()) {
    result.answer = PackAnswer::Impossible;
    result.culprits = std::move(overfull);
    return result;
  }
  if (auto offsets = packInOnePass(part); !offsets.empty()) {
    result.answer = PackAnswer::Packed;
    result.offsets = std::move(offsets);
    return result;
  }
  if (part.items.size() > size_t(kMaxSearchedItems)) {
    return result;
  }
  constexpr std::array kPolicies = {SectionPolicy::LowestFloor, SectionPolicy::FewestThenLowest,
                                    SectionPolicy::FewestThenTightest};
  // A decision costs time in proportion to the size of the part: large parts get fewer.
  int64_t members = 0;
  for (const Section &section : part.sections) {
    members += int64_t(section.members.size());
  }
  nodeLimit = std::min(nodeLimit, kMaxWork / std::max<int64_t>(1, members));
  for (int64_t budget = 2 * int64_t(part.items.size()); result.nodes < nodeLimit; budget *= 2) {
    for (int order = 0; order < kOrders; ++order) {
      const std::vector<int> rank = rankItems(part, order);
      for (SectionPolicy policy : kPolicies) {
        const int64_t share = std::min(budget, nodeLimit - result.nodes);
        if (share <= 0) {
          return result;
        }
        SectionSearch search(part, rank, policy, share);
        const PackAnswer answer = search.run();
        result.nodes += search.nodes();
        if (answer != PackAnswer::Undecided) {
          result.answer = answer;
          result.offsets = search.offsets();
          result.culprits = search.culprits();
          return result;
        }
      }
    }
  }
  return result;
}

} // namespace

PackResult packItems(const PackProblem &problem, int64_t nodeLimit) {
  PackResult result;
  result.answer = PackAnswer::Packed;
  result.offsets.assign(problem.items.size(), 0);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const int64_t pin = std::max<int64_t>(0, problem.items[i].pinned);
    result.offsets[i] = pin;
    if (pin + problem.items[i].extent > problem.capacity) {
      result.answer = PackAnswer::Impossible;
      result.offsets.clear();
      result.culprits = {int(i)};
      return result;
    }
  }
  for (const SectionedProblem &part : cutIntoSections(problem)) {
    PackResult partResult = packPart(part, nodeLimit - result.nodes);
    result.nodes += partResult.nodes;
    if (partResult.answer == PackAnswer::Impossible) {
      result.answer = PackAnswer::Impossible;
      result.offsets.clear();
      for (int item : partResult.culprits) {
        result.culprits.push_back(part.items[item].source);
      }
      return result;
    }
    if (partResult.answer == PackAnswer::Undecided) {
      // Another part may still prove that there is no packing.
      result.answer = PackAnswer::Undecided;
      continue;
    }
    for (size_t i = 0; i < part.items.size(); ++i) {
      result.offsets[part.items[i].source] = partResult.offsets[i] * part.unit;
    }
  }
  if (result.answer != PackAnswer::Packed) {
    result.offsets.clear();
  }
  return result;
}

} // namespace spyre::solver::placement
