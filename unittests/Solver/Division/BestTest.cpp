//===- BestTest.cpp - the cheapest legal division, proofs, tiles, padding -------------------===//
#include "spyre/Solver/Division/Granularity.h"
#include "spyre/Solver/Division/Kernels.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include "Support.h"

#include <cmath>

namespace spyre::solver::division {
namespace {

using namespace test;

double priceOf(const Op &op, const CostModel &costs, const Splits &splits) {
  Candidates one{.dims = splits.size(), .splits = {splits.begin(), splits.end()}};
  double ns = 0;
  costs.price(op, unitsOf(op), one, std::span(&ns, 1));
  return ns;
}

/// Brute force with the verifier as the judge finds no better division and no other legal ones.
void compareWithBruteForce(const Op &op, const arch::DeviceDesc &device, int64_t cores) {
  const DeviceRates costs(device);
  int64_t legal = 0;
  double least = HUGE_VAL;
  forEachSplit(op, cores, [&](const Splits &splits) {
    if (isLegal(op, device, cores, splits)) {
      ++legal;
      least = std::min(least, priceOf(op, costs, splits));
    }
  });
  Options options{.cores = cores, .padding = false};
  Expected<Outcome> outcome = divide(op, device, options, costs);
  if (legal == 0) {
    EXPECT_TRUE(!outcome.ok() || outcome->tiling.has_value()) << op.name << " " << describe(op);
    return;
  }
  ASSERT_TRUE(outcome.ok()) << op.name << " " << describe(op) << outcome.status().message();
  ASSERT_FALSE(outcome->tiling.has_value()) << op.name << " " << describe(op);
  EXPECT_EQ(outcome->candidatesTried, legal) << op.name << " " << describe(op);
  EXPECT_DOUBLE_EQ(outcome->nanoseconds, least) << op.name << " " << describe(op);
}

TEST(DivisionBest, IsWhatBruteForceFinds) {
  arch::DeviceDesc device = machine();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    device.spanLimitBytes = seed % 3 == 0 ? 64 << 10 : 256 << 20;
    compareWithBruteForce(randomOp(seed, 200), device, seed % 2 == 0 ? 8 : 12);
  }
}

TEST(DivisionBest, DocumentedPlanIsACandidateWheneverItIsLegal) {
  const arch::DeviceDesc device = machine();
  const DeviceRates costs(device);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Op op = randomOp(seed, 5000);
    Expected<Outcome> compat = tryDivide(op, {.mode = Mode::Compat});
    Expected<Outcome> best = tryDivide(op, {});
    if (compat.ok() && compat->verdict.ok()) {
      ASSERT_TRUE(best.ok());
      EXPECT_LE(best->nanoseconds, compat->nanoseconds) << describe(op);
    }
  }
}

// Prices are right to a few parts in a thousand: what is not really cheaper is no reason to leave
// the documented plan, and what is cheaper is taken.
TEST(DivisionBest, DocumentedPlanIsKeptUnlessAnotherIsReallyCheaper) {
  const arch::DeviceDesc device = machine();
  const KernelCosts costs(device);
  int kept = 0, left = 0;
  for (int64_t m : {1, 4, 64, 512}) {
    const Op op = makeMatmul(0, m, 4096, 4096);
    Candidates all{.dims = 3};
    forEachSplit(op, 32, [&](const Splits &splits) {
      if (isLegal(op, device, 32, splits)) {
        all.splits.insert(all.splits.end(), splits.begin(), splits.end());
      }
    });
    std::vector<double> ns(all.size());
    costs.price(op, unitsOf(op), all, ns);
    for (size_t documented = 0; documented < all.size(); ++documented) {
      const auto found = costs.cheapest(op, unitsOf(op), all, 0.02, documented);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->nanoseconds, ns[found->candidate]);
      if (found->candidate == documented) {
        ++kept;
      } else {
        ++left;
        EXPECT_LT(found->nanoseconds, 0.995 * ns[documented]) << describe(op);
      }
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(left, 0);
}

TEST(DivisionBest, PricesAreInjected) {
  /// Wants as few cores as possible, then as many slices of the second dim.
  struct Strange : CostModel {
    void price(const Op &, const Units &, const Candidates &candidates,
               std::span<double> ns) const override {
      for (size_t i = 0; i < candidates.size(); ++i) {
        ns[i] = 1000 - double(candidates[i][1]) + 10 * double(candidates[i][0]);
      }
    }
    const char *name() const override { return "strange"; }
  };
  Expected<Outcome> outcome = divide(pointwise({128, 1024}), machine(), {}, Strange());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->plan.splits, (Splits{1, 16}));
  EXPECT_EQ(outcome->nanoseconds, 994);
}

TEST(DivisionBest, OneRowUsesAllCoresByAKSplit) {
  const Outcome outcome = divided(makeMatmul(0, 1, 25600, 4096), {});
  EXPECT_EQ(outcome.plan.cores, 32);
  EXPECT_GT(outcome.plan.splits[2], 1);
  EXPECT_EQ(compatSplits(makeMatmul(0, 1, 25600, 4096)), (Splits{1, 25, 1}));
  // Partners of the split reduction are neighbours.
  for (size_t core = 0; core + 1 < outcome.plan.owner.size(); core += 2) {
    EXPECT_EQ(outcome.plan.owner[core][1], outcome.plan.owner[core + 1][1]);
  }
}

TEST(DivisionBest, PrefillShapesAreNotSplitByRowsAlone) {
  for (int64_t n : {1024, 4096, 12800}) {
    const Op op = makeMatmul(0, 512, n, 4096);
    const Outcome best = divided(op, {}), compat = divided(op, {.mode = Mode::Compat});
    EXPECT_EQ(compat.plan.splits, (Splits{32, 1, 1}));
    EXPECT_LT(best.nanoseconds, compat.nanoseconds);
  }
}

TEST(DivisionBest, DecisionsSayWhatAndWhy) {
  Options options{.explain = true};
  const arch::DeviceDesc device = machine();
  Expected<Outcome> outcome =
      divide(makeMatmul(0, 1, 25600, 4096), device, options, DeviceRates(device));
  ASSERT_TRUE(outcome.ok());
  ASSERT_FALSE(outcome->decisions.empty());
  EXPECT_EQ(outcome->decisions[0].reason(), "cheapest");
  EXPECT_NE(outcome->decisions[0].detail().find("the documented plan is n 25"), std::string::npos);
  ASSERT_EQ(int64_t(outcome->candidates.size()), outcome->candidatesTried);
  EXPECT_EQ(outcome->candidates[0].nanoseconds, outcome->nanoseconds);
  for (size_t i = 1; i < outcome->candidates.size(); ++i) {
    EXPECT_LE(outcome->candidates[i - 1].nanoseconds, outcome->candidates[i].nanoseconds);
  }
}

//===- No even division ---------------------------------------------------------------------===//

std::vector<Op> impossibleOps() {
  return {restickify({131072, 5120}, 0), restickify({262144, 3840}, 0),
          pointwise({32, 8192, 17408}), pointwise({32, 8193, 1740})};
}

void checkTiles(const Op &op, const TilingPlan &tiling, const arch::DeviceDesc &device,
                int64_t cores) {
  // Every element lies in exactly one tile: along each dim the parts follow each other.
  std::vector<int64_t> covered(op.dims.size(), 0);
  for (const TiledPart &part : tiling.parts) {
    const Op tile = tileOf(op, part.tileExtent);
    EXPECT_EQ(verifyPlan(tile, device, cores, part.plan).message(), "");
    for (size_t d = 0; d < op.dims.size(); ++d) {
      EXPECT_EQ(part.first[d], part.tileExtent[d] == op.dims[d].extent ? 0 : covered[d]);
      covered[d] = part.first[d] + part.tileExtent[d] * part.tiles[d];
      for (size_t t = 0; t < op.tensors.size(); ++t) {
        EXPECT_EQ(part.advanceBytes[t][d],
                  part.tiles[d] > 1 ? advanceBytes(op.tensors[t], int(d), part.tileExtent[d]) : 0);
      }
    }
  }
  for (size_t d = 0; d < op.dims.size(); ++d) {
    EXPECT_EQ(covered[d], op.dims[d].extent) << op.dims[d].name;
  }
}

TEST(DivisionBest, ImpossibleOpsHaveAProofAndATiling) {
  const arch::DeviceDesc device = machine();
  for (const Op &op : impossibleOps()) {
    int64_t combinations = 0;
    forEachSplit(op, 32, [&](const Splits &splits) {
      ++combinations;
      const Plan plan = makePlan(op, splits, CoreOrder::FirstFastest);
      EXPECT_FALSE(verifyPlan(op, device, 32, plan).ok()) << describe(op, splits);
    });
    const Outcome outcome = divided(op, {});
    EXPECT_EQ(outcome.verdict.code(), 3065);
    EXPECT_NE(outcome.verdict.text().find("no even division without padding exists"),
              std::string::npos);
    ASSERT_TRUE(outcome.proof.has_value());
    EXPECT_EQ(outcome.proof->combinations, combinations);
    for (const NoDivision::Row &row : outcome.proof->maximal) {
      const Plan plan = makePlan(op, row.splits, CoreOrder::FirstFastest);
      ASSERT_GE(row.tensor, 0);
      EXPECT_EQ(trueSpans(op, plan)[size_t(row.tensor)], row.spanBytes);
      EXPECT_GT(row.spanBytes, device.spanLimitBytes);
    }
    ASSERT_TRUE(outcome.tiling.has_value());
    checkTiles(op, *outcome.tiling, device, 32);
  }
}

TEST(DivisionBest, ProofsNameWhatIsNeeded) {
  EXPECT_EQ(divided(restickify({131072, 5120}, 0), {}).proof->needed, (Splits{8, 5}));
  EXPECT_EQ(divided(restickify({262144, 3840}, 0), {}).proof->needed, (Splits{8, 10}));
  EXPECT_EQ(divided(pointwise({32, 8193, 1740}), {}).proof->needed[1], 0);
  EXPECT_NE(divided(restickify({131072, 5120}, 0), {}).proof->text.find("40 cores of 32"),
            std::string::npos);
}

TEST(DivisionBest, TheSameShapesScaledDown) {
  // Extents and limit a 64th: the same structure at a size that can be run.
  arch::DeviceDesc device = machine();
  device.spanLimitBytes /= 64;
  for (const Op &op : {restickify({2048, 5120}, 0), pointwise({32, 128, 17408})}) {
    const Outcome outcome = divided(op, {}, device);
    ASSERT_TRUE(outcome.tiling.has_value()) << describe(op);
    checkTiles(op, *outcome.tiling, device, 32);
  }
}

TEST(DivisionTiling, AdvancesByPhysicalStrides) {
  const Op op = pointwise({1024, 4096});
  EXPECT_EQ(advanceBytes(op.tensors[0], 0, 512), 65536);
  EXPECT_EQ(advanceBytes(op.tensors[0], 1, 1024), 2097152);
  const Op tall = pointwise({120000, 4096});
  EXPECT_EQ(advanceBytes(tall.tensors[0], 1, 2048), 245760000ll * 2);
  EXPECT_EQ(advanceBytes(pointwise({1024, 256}).tensors[0], 0, 512), 65536);
}

TEST(DivisionTiling, TilesThatAreLeftOver) {
  const TilingPlan tiling = *divided(pointwise({32, 8193, 1740}), {}).tiling;
  ASSERT_EQ(tiling.parts.size(), 2u);
  EXPECT_EQ(tiling.parts[0].trips(), 1);
  EXPECT_EQ(tiling.parts[0].tileExtent[1] + tiling.parts[1].tileExtent[1], 8193);
}

TEST(DivisionTiling, LeftoversOfSticksWithFewDivisors) {
  // Both sticks have few divisors.
  const Op op = restickify({768, 2368, 704}, 1);
  const TilingPlan tiling = *divided(op, {}).tiling;
  EXPECT_GE(tiling.parts.size(), 2u);
  int64_t points = 0;
  for (const TiledPart &part : tiling.parts) {
    EXPECT_EQ(verifyPlan(tileOf(op, part.tileExtent), machine(), 32, part.plan).message(), "");
    points += part.trips() * part.tileExtent[0] * part.tileExtent[1] * part.tileExtent[2];
  }
  EXPECT_EQ(points, 768ll * 2368 * 704);
}

TEST(DivisionTiling, ThePaddedTailOfARestickifyStays) {
  Expected<Outcome> outcome =
      divide(restickify({768, 2368, 592}, 1), machine(), {}, DeviceRates(machine()));
  EXPECT_EQ(outcome.status().code(), 3065);
}

/// Sticks along dim 2 become sticks along dim 1; the result is a temp.
Op growingRestickify(const std::vector<int64_t> &shape) {
  Op op = restickify(shape, 1);
  op.tensors.back().growable = true;
  return op;
}

TEST(DivisionTiling, ThePaddedTailOfARestickifyGetsMemory) {
  const Outcome outcome = divided(growingRestickify({768, 2368, 592}), {});
  EXPECT_EQ(outcome.op.dims[2].extent, 640);
  ASSERT_TRUE(outcome.tiling.has_value());
  checkTiles(outcome.op, *outcome.tiling, machine(), 32);
  // Both sides have a tail; only that of the result can have memory.
  EXPECT_EQ(tryDivide(growingRestickify({768, 2368 + 8, 592}), {.cores = 1}).status().code(), 3065);
}

TEST(DivisionTiling, OneCore) {
  for (int64_t rows : {120000, 98000}) {
    const Op op = pointwise({rows, 4096});
    const Outcome outcome = divided(op, {.cores = 1});
    ASSERT_TRUE(outcome.tiling.has_value());
    checkTiles(op, *outcome.tiling, machine(), 1);
    EXPECT_TRUE(divided(op, {.mode = Mode::Compat, .cores = 1}).tiling.has_value());
  }
}

TEST(DivisionTiling, ReducedRangesBeyondTheLimitAreRefused) {
  // One row of output; the reduced range alone is beyond the limit of one core.
  arch::DeviceDesc device = machine();
  device.spanLimitBytes = 128 * 64;
  Expected<Outcome> outcome = tryDivide(reduction({4096, 64}, 0), {.cores = 1}, device);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code(), 3065);
}

//===- Padding ------------------------------------------------------------------------------===//

TEST(DivisionBest, RoomInTheLayoutsIsUsed) {
  // 33 rows: 11 cores of three; the layouts have room for 17 to 20 cores of two. Much work per
  // point, so that cores count.
  Op op = pointwise({33, 64});
  op.operations = 1000;
  EXPECT_EQ(divided(op, {}).plan.cores, 11);
  for (Tensor &tensor : op.tensors) {
    tensor.deviceSize[1] = 40;
  }
  const Outcome padded = divided(op, {});
  EXPECT_GE(padded.plan.cores, 17);
  EXPECT_EQ(padded.op.dims[0].extent, 2 * padded.plan.cores);
  EXPECT_EQ(padded.op.tensors[0].deviceSize[1], 40) << "nothing had to grow";
}

TEST(DivisionBest, GrowableTensorsArePadded) {
  Op op = pointwise({127, 64});
  op.operations = 1000;
  EXPECT_EQ(divided(op, {}).plan.cores, 1) << "127 is prime";
  for (Tensor &tensor : op.tensors) {
    tensor.growable = true;
  }
  const Outcome outcome = divided(op, {});
  EXPECT_EQ(outcome.op.dims[0].extent, 128);
  EXPECT_EQ(outcome.op.tensors[0].deviceSize[1], 128);
  EXPECT_EQ(outcome.plan.splits, (Splits{32, 1}));
  EXPECT_EQ(outcome.decisions.back().reason(), "padded");
  Options options{.padding = false};
  EXPECT_EQ(divide(op, machine(), options, DeviceRates(machine()))->plan.cores, 1);
  // One tensor that cannot grow is enough.
  op.tensors[0].growable = false;
  EXPECT_EQ(divided(op, {}).plan.cores, 1);
}

TEST(DivisionBest, TheResultOfARestickifyIsPadded) {
  // 100 and 1000 are no whole sticks: nothing is cut but the batch.
  EXPECT_EQ(divided(restickify({1, 100, 1000}, 1), {}).plan.cores, 1);
  const Outcome outcome = divided(growingRestickify({1, 100, 1000}), {});
  EXPECT_EQ(outcome.op.dims[2].extent, 1024);
  EXPECT_EQ(outcome.op.dims[1].extent, 100) << "the input has no such rows";
  EXPECT_EQ(outcome.plan.splits, (Splits{1, 1, 16}));
  EXPECT_EQ(outcome.decisions.back().reason(), "padded");
}

//===- Bad input ----------------------------------------------------------------------------===//

TEST(DivisionBest, NumbersOfCores) {
  const arch::DeviceDesc device = machine();
  EXPECT_EQ(*parseCores("1", device), 1);
  EXPECT_EQ(*parseCores("32", device), 32);
  for (const char *text :
       {"", " ", "four", "0", "-1", "33", "4.5", "0x4", "4 ", "1e1", "99999999999999999999"}) {
    Expected<int64_t> cores = parseCores(text, device);
    ASSERT_FALSE(cores.ok()) << text;
    EXPECT_EQ(cores.status().code(), 3061) << text;
  }
  EXPECT_EQ(parseCores("5", machine("tiny")).status().code(), 3061);
  EXPECT_EQ(tryDivide(pointwise({64, 64}), {.cores = 0}).status().code(), 3061);
  EXPECT_EQ(tryDivide(pointwise({64, 64}), {.cores = 33}).status().code(), 3061);
  EXPECT_EQ(parseMode("fastest").status().code(), 3074);
}

TEST(DivisionBest, UnsoundOperationsAreRefused) {
  auto faultOf = [](const std::function<void(Op &)> &change) {
    Op op = pointwise({128, 256});
    change(op);
    return tryDivide(op, {}).status().code();
  };
  EXPECT_EQ(faultOf([](Op &) {}), 0);
  EXPECT_EQ(faultOf([](Op &op) { op.dims[0].extent = 0; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.dims[0].extent = INT64_MAX; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.dims[0].name = op.dims[1].name; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.dims[0].tiles = 3; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.dims[0].granularity = 3; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.dims[0].segments = {3, 3}; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.dims[0].requiredSplit = 2; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors.clear(); }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].output = true; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].deviceSize[0] = 0; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].deviceSize[0] = 2; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].deviceSize.back() = 100; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].coordinates.pop_back(); }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].coordinates[1].terms[0].dim = 7; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].coordinates[1].terms[0].divisor = 0; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].coordinates.back().terms[0].step = 2; }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.tensors[0].index.pop_back(); }), 3060);
  EXPECT_EQ(faultOf([](Op &op) { op.dims.resize(13, {.name = "x"}); }), 3060);
}

TEST(DivisionBest, HintsThatBreakARuleAreRefusedInEveryMode) {
  for (Mode mode : {Mode::Compat, Mode::CompatS1, Mode::Best}) {
    Op masked = reduction({3, 4100}, 1);
    masked.dims[1].hint = 5;
    EXPECT_EQ(tryDivide(masked, {.mode = mode}).status().code(), 3069);
    Op large = pointwise({8192, 17408});
    large.dims[0].hint = 2;
    EXPECT_EQ(tryDivide(large, {.mode = mode}).status().code(), 3064);
  }
}

TEST(DivisionBest, SizesKnownAtRunTimeAreDividedByTheirGranularity) {
  Op op = pointwise({1024, 64});
  op.operations = 1000;
  op.dims[0].granularity = 12;
  EXPECT_EQ(tryDivide(op, {}).status().code(), 3060);
  op.dims[0].granularity = 8;
  EXPECT_EQ(divided(op, {}).plan.splits, (Splits{8, 1}));
  EXPECT_EQ(compatSplits(op), (Splits{8, 1}));
}

TEST(DivisionBest, GranularityOfSizesKnownAtRunTime) {
  const int64_t rows[][2] = {{100, 4},   {128, 4},    {512, 16}, {1024, 32},
                             {2048, 64}, {4096, 128}, {37, 37},  {97, 97}};
  for (const auto &[largest, expected] : rows) {
    EXPECT_EQ(*granularityOf(largest, 0), expected) << largest;
    EXPECT_EQ(*granularityOf(largest, 2), expected) << largest;
  }
  EXPECT_EQ(*granularityOf(96, 12), 12);
  EXPECT_EQ(granularityOf(3, 0).status().code(), 3075);
  EXPECT_EQ(granularityOf(100, 24).status().code(), 3075);
  EXPECT_EQ(granularityOf(4096, 64).status().code(), 3075) << "64 sizes";
  EXPECT_EQ(granularityOf(0, 0).status().code(), 3075);
}

TEST(DivisionBest, OperationsWithoutDimsRunOnOneCore) {
  Op op{.name = "scalar"};
  Tensor tensor{.name = "out"};
  tensor.deviceSize = {1, 64};
  tensor.coordinates = {{}, {}};
  tensor.output = true;
  op.tensors = {tensor};
  EXPECT_EQ(divided(op, {}).plan.cores, 1);
  EXPECT_EQ(divided(op, {.mode = Mode::Compat}).plan.cores, 1);
}

} // namespace
} // namespace spyre::solver::division
