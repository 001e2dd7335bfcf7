//===- OracleTest.cpp - the generator, the reducer and the intervals of the random graphs ---===//
#include "FuzzStatistics.h"
#include "GraphReducer.h"
#include "RandomGraph.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <set>

using namespace spyre;
using namespace spyre::testing;
using numerics::HostType;

namespace {

FuzzStatistics statisticsOf(uint64_t count) {
  FuzzStatistics statistics;
  for (uint64_t seed = 0; seed < count; ++seed) {
    Random random(seed);
    statistics.count(randomGraph(random, {}));
  }
  return statistics;
}

bool callsExp(const Graph &graph) {
  return std::any_of(graph.calls.begin(), graph.calls.end(),
                     [](const Call &call) { return call.target == "aten.exp.default"; });
}

} // namespace

/// Whoever adds a row adds it to RandomSteps.cpp or RandomViews.cpp and gives the interpreter its
/// meaning; or says here why not.
TEST(RandomGraph, EveryRowOfTheTableIsGenerated) {
  const std::set<std::string> excused = {
      // Two numbers in one stick are no tensor; layer_norm is made of these three.
      "spyre.exx2.default", "spyre.layernormscale.default", "spyre.layernormnorm.default"};
  const FuzzStatistics statistics = statisticsOf(3000);
  std::string missing;
  for (const std::string &name : capi::supportedOperations()) {
    if (statistics.targets.count(name) == 0 && excused.count(name) == 0) {
      missing += " " + name;
    }
  }
  EXPECT_EQ(missing, "");
}

TEST(RandomGraph, MostSizesAreUnalignedAndEveryGraphHasViews) {
  const FuzzStatistics statistics = statisticsOf(1000);
  EXPECT_GE(2 * statistics.unalignedSizes, statistics.sizes);
  EXPECT_GE(statistics.fewestViews, 2);
}

TEST(GraphReducer, LeavesTheCallThatMattersAndTheSmallestSize) {
  int reduced = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Graph graph = randomGraph(random, {});
    if (!callsExp(graph)) {
      continue;
    }
    const Graph small = reduceGraph(graph, callsExp);
    ++reduced;
    ASSERT_EQ(small.calls.size(), 1u) << seed << "\n" << graphText(small);
    EXPECT_EQ(small.inputs.size(), 1u);
    EXPECT_EQ(elementCount(small.calls[0].shape), 1) << graphText(small);
  }
  EXPECT_GT(reduced, 10);
}

TEST(Interval, DocumentedArithmeticIsExactAndTheRestIsWidened) {
  const Pointwise add("add", {}, HostType::Float16), exp("exp", {}, HostType::Float16);
  const Interval sum = add({Interval::exactly(1), Interval::exactly(0.0009765625)});
  EXPECT_EQ(sum.lo, 1 + 0x1p-9); // a tie goes away from zero
  EXPECT_TRUE(sum.isExact());
  const Interval power = exp({Interval::exactly(1)});
  EXPECT_LT(power.lo, 2.718);
  EXPECT_GT(power.hi, 2.719);
  EXPECT_LT(power.hi - power.lo, 0.02);
}

TEST(Interval, NothingIsKnownWhereADivisorMayBeZero) {
  const Pointwise div("div", {}, HostType::Float16), max("maximum", {}, HostType::Float16);
  const Interval open = div({Interval::exactly(1), {-1, 1}});
  EXPECT_TRUE(open.isOpen());
  EXPECT_TRUE(max({open, Interval::exactly(3)}).isOpen());
  const Pointwise where("where", {}, HostType::Float16);
  EXPECT_EQ(where({Interval::exactly(0), open, Interval::exactly(3)}).lo, 3);
}

TEST(Interval, UnknownTruthTakesBothSides) {
  const Pointwise greater("gt", {}, HostType::Bool), where("where", {}, HostType::Float16);
  const Interval unknown = greater({{0, 2}, Interval::exactly(1)});
  EXPECT_EQ(unknown.lo, 0);
  EXPECT_EQ(unknown.hi, 1);
  const Interval both = where({unknown, Interval::exactly(5), Interval::exactly(-5)});
  EXPECT_EQ(both.lo, -5);
  EXPECT_EQ(both.hi, 5);
}
