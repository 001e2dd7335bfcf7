//===- GoldenTest.cpp - the documented passes give the documented numbers -------------------===//
#include "spyre/Solver/Division/Verify.h"

#include "Support.h"

namespace spyre::solver::division {
namespace {

using namespace test;

constexpr int64_t kLimit = 268435456;

Units unitsFrom(std::vector<int64_t> counts, std::vector<bool> output) {
  Units units;
  units.extent = units.count = units.basis = counts;
  units.elems.assign(counts.size(), 1);
  units.stick.assign(counts.size(), false);
  units.output = std::move(output);
  return units;
}

//===- 15.1 ---------------------------------------------------------------------------------===//

TEST(DivisionGolden, LargestDivisors) {
  const int64_t rows[][3] = {{100, 32, 25}, {64, 32, 32}, {200, 32, 25}, {400, 32, 25}, {7, 32, 7},
                             {13, 8, 1},    {97, 32, 1},  {12, 6, 6},    {10, 2, 2},    {1, 32, 1}};
  for (const auto &[size, cores, expected] : rows) {
    EXPECT_EQ(coreSplit(size, cores), expected) << size << " on " << cores;
  }
}

TEST(DivisionGolden, MostSplittableVariable) {
  const Units wide = unitsFrom({3, 64}, {false, false});
  EXPECT_EQ(mostSplittable(wide, {0, 1}, 8)->dim, 1);
  EXPECT_EQ(mostSplittable(wide, {0, 1}, 8)->split, 8);
  const Units equal = unitsFrom({8, 8}, {false, false});
  EXPECT_EQ(mostSplittable(equal, {0, 1}, 4)->dim, 0);
  EXPECT_EQ(mostSplittable(equal, {0, 1}, 4)->split, 4);
  EXPECT_FALSE(mostSplittable(unitsFrom({7}, {false}), {0}, 4).has_value());
}

TEST(DivisionGolden, GreedySplits) {
  EXPECT_EQ(greedySplits(unitsFrom({6, 64}, {true, true}), {{1, 0}, {}}, {1, 1}, 32),
            (Splits{1, 32}));
  EXPECT_EQ(greedySplits(unitsFrom({12, 10}, {true, true}), {{0, 1}, {}}, {1, 1}, 32),
            (Splits{12, 2}));
  EXPECT_EQ(
      greedySplits(unitsFrom({8192, 64, 512}, {true, true, false}), {{0, 1}, {}}, {1, 1, 2}, 32),
      (Splits{16, 1, 2}));
}

//===- 15.2 ---------------------------------------------------------------------------------===//

struct PointwiseRow {
  const char *id;
  std::vector<int64_t> shape, deviceSize, adjusted;
  Splits splits;
  int64_t cores = 32;
  int64_t lanes = 64;
};

TEST(DivisionGolden, Pointwise) {
  const PointwiseRow rows[] = {
      {"G-P1", {1024}, {16, 64}, {16}, {16}},
      {"G-P2", {67}, {2, 64}, {2}, {2}},
      {"G-P3", {128, 67}, {2, 128, 64}, {128, 2}, {32, 1}},
      {"G-P4", {1, 67}, {2, 1, 64}, {1, 2}, {1, 2}},
      {"G-P5", {1024, 4096}, {64, 1024, 64}, {1024, 64}, {32, 1}},
      {"G-P6", {100, 200}, {4, 100, 64}, {100, 4}, {25, 1}},
      {"G-P7", {7, 13}, {1, 7, 64}, {7, 1}, {7, 1}},
      {"G-P8", {6, 4096}, {64, 6, 64}, {6, 64}, {1, 32}},
      {"G-P9", {12, 640}, {10, 12, 64}, {12, 10}, {12, 2}},
      {"G-P10", {12, 640}, {10, 12, 64}, {12, 10}, {6, 1}, 6},
      {"G-P11", {512, 1024}, {32, 512, 32}, {512, 32}, {32, 1}, 32, 32},
  };
  for (const PointwiseRow &row : rows) {
    const Op op = pointwise(row.shape, 1, row.lanes);
    EXPECT_EQ(op.tensors[0].deviceSize, row.deviceSize) << row.id;
    EXPECT_EQ(unitsOf(op).count, row.adjusted) << row.id;
    const Outcome outcome = divided(op, {.mode = Mode::Compat, .cores = row.cores});
    EXPECT_EQ(outcome.plan.splits, row.splits) << row.id;
    EXPECT_TRUE(outcome.verdict.ok()) << row.id << ": " << outcome.verdict.message();
  }
}

/// Input of 16 bits, output with \p lanes elements in a stick.
Op mixed(std::vector<int64_t> shape, int64_t lanes) {
  Op op = pointwise(shape);
  op.tensors[1] = makePointwise(shape, 1, lanes).tensors[1];
  return op;
}

TEST(DivisionGolden, PointwiseOfTwoWidths) {
  EXPECT_EQ(compatSplits(mixed({4, 640}, 16)), (Splits{2, 10})) << "G-P12";
  EXPECT_EQ(mixed({4, 640}, 16).tensors[1].deviceSize, (std::vector<int64_t>{40, 4, 16}));
  EXPECT_EQ(compatSplits(mixed({2, 640}, 128)), (Splits{2, 5})) << "G-P13";
  EXPECT_EQ(mixed({2, 640}, 128).tensors[1].deviceSize, (std::vector<int64_t>{5, 2, 128}));
}

//===- 15.3 ---------------------------------------------------------------------------------===//

struct SpanRow {
  const char *id;
  Op op;
  Splits least, final;
  /// Largest documented span with the final splits.
  int64_t spanBytes;
  int verdict;
  int64_t cores = 32;
  int64_t limit = kLimit;
};

int64_t largestDocumentedSpan(const Op &op, const Splits &splits) {
  int64_t largest = 0;
  for (const Tensor &tensor : op.tensors) {
    largest = std::max(largest, documentedSpan(op, unitsOf(op), tensor, splits));
  }
  return largest;
}

std::vector<SpanRow> spanRows() {
  return {
      {"G-S1", pointwise({8192, 17408}), {0, 2}, {16, 2}, 142606336, 0},
      {"G-S2", pointwise({32, 8192, 17408}), {0, 32, 0}, {1, 32, 1}, 285212672, 3064},
      {"G-S3", pointwise({32, 8193, 1740}), {0, 3, 0}, {8, 3, 1}, 313212928, 3064},
      {"G-S4", pointwise({8, 4097, 4096}), {0, 1, 0}, {1, 1, 4}, 268500992, 3064, 4},
      {"G-S5", restickify({131072, 5120}, 0), {4, 5}, {4, 5}, 335544320, 3064},
      {"G-S6", makeMatmul(0, 8192, 4096, 32768), {0, 0, 2}, {16, 1, 2}, kLimit, 0},
      {"G-S7", makeMatmul(0, 8192, 4096, 32768), {0, 2, 4}, {4, 2, 4}, 134217728, 0, 32, 268431360},
      {"G-S9", pointwise({120000, 4096}), {0, 1}, {1, 1}, 983040000, 3064, 1},
      {"G-S10", pointwise({98000, 4096}), {0, 1}, {1, 1}, 802816000, 3064, 1},
  };
}

TEST(DivisionGolden, SpanReduction) {
  for (const SpanRow &row : spanRows()) {
    arch::DeviceDesc device = machine();
    device.spanLimitBytes = row.limit;
    Expected<SpanReduction> least = reduceSpan(row.op, device, row.cores);
    ASSERT_TRUE(least.ok()) << row.id << ": " << least.status().message();
    EXPECT_EQ(least->least, row.least) << row.id;
    const Outcome outcome =
        divided(row.op, {.mode = Mode::Compat, .cores = row.cores, .spanLimitBytes = row.limit});
    EXPECT_EQ(outcome.plan.splits, row.final) << row.id;
    EXPECT_EQ(largestDocumentedSpan(row.op, row.final), row.spanBytes) << row.id;
    EXPECT_EQ(outcome.verdict.code(), row.verdict) << row.id << ": " << outcome.verdict.message();
  }
}

/// One coordinate step*c0 + c1 with \p sticks sticks behind it.
Op sharedCoordinate(int64_t c0, int64_t c1, int64_t step, int64_t sticks) {
  Op op{.name = "shared"};
  op.dims = {{.name = "c0", .extent = c0}, {.name = "c1", .extent = c1}};
  for (bool output : {false, true}) {
    Tensor tensor;
    tensor.name = output ? "out" : "in";
    tensor.output = output;
    tensor.deviceSize = {step * (c0 - 1) + c1, sticks, 64};
    tensor.coordinates = {{{{.dim = 0, .step = step}, {.dim = 1}}, 0}, {}, {}};
    tensor.index = {step, 1};
    op.tensors.push_back(tensor);
  }
  return op;
}

TEST(DivisionGolden, LargestSpanDecidesBetweenVariablesOfOneCoordinate) {
  const arch::DeviceDesc device = machine();
  // G-S8: 2,097,152 bytes per step.
  const Op s8 = sharedCoordinate(6, 24, 24, 16384);
  EXPECT_EQ(largestDocumentedSpan(s8, {1, 1}), 301989888);
  EXPECT_EQ(reduceSpan(s8, device, 32)->least, (Splits{1, 3}));
  EXPECT_EQ(largestDocumentedSpan(s8, {1, 3}), kLimit);
  EXPECT_EQ(largestDocumentedSpan(s8, {2, 1}), 150994944);
  // G-S11: 5,242,880 bytes per step.
  const Op s11 = sharedCoordinate(6, 24, 24, 40960);
  EXPECT_EQ(largestDocumentedSpan(s11, {1, 1}), 754974720);
  EXPECT_EQ(reduceSpan(s11, device, 32)->least, (Splits{2, 8}));
  EXPECT_EQ(largestDocumentedSpan(s11, {2, 8}), 267386880);
}

TEST(DivisionGolden, EqualSpansAreDecidedByFewerCores) {
  // c0 + c1 with c0 < 12, c1 < 8: (1, 4) and (2, 1) reach equally far.
  const Op op = sharedCoordinate(12, 8, 1, 1);
  arch::DeviceDesc device = machine();
  device.spanLimitBytes = 13 * 128;
  EXPECT_EQ(largestDocumentedSpan(op, {1, 4}), largestDocumentedSpan(op, {2, 1}));
  EXPECT_EQ(reduceSpan(op, device, 32)->least, (Splits{2, 1}));
}

TEST(DivisionGolden, SticksWithoutAFittingDivisorAreAnError) {
  // G-S12: 37 sticks, three slices needed.
  const Op op = restickify({32, 2368, 4096}, 1);
  EXPECT_EQ(op.tensors[0].deviceSize, (std::vector<int64_t>{2368, 64, 32, 64}));
  EXPECT_EQ(op.tensors[1].deviceSize, (std::vector<int64_t>{4096, 37, 32, 64}));
  for (Mode mode : {Mode::Compat, Mode::CompatS1}) {
    Expected<Outcome> outcome = tryDivide(op, {.mode = mode});
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.status().code(), 3062);
    EXPECT_NE(outcome.status().text().find("{1}"), std::string::npos);
    EXPECT_NE(outcome.status().text().find("620756992"), std::string::npos);
  }
  // All but the documented passes go on: tiles do what divisors cannot.
  EXPECT_TRUE(divided(op, {}).tiling.has_value());
}

TEST(DivisionGolden, TwoReducedVariablesForTheSpanAreAnError) {
  Op op = reduction({64, 64, 128}, 0);
  op.dims[0].reduced = true;
  // Both reduced variables lie outside, the result has one row.
  op.tensors[0].deviceSize = {64, 64, 2, 64};
  op.tensors[0].coordinates = {
      {{{.dim = 2}}}, {{{.dim = 0}}}, {{{.dim = 1, .divisor = 64}}}, {{{.dim = 1, .wrap = 64}}}};
  op.tensors[1].deviceSize = {2, 64};
  op.tensors[1].coordinates = {{{{.dim = 1, .divisor = 64}}}, {{{.dim = 1, .wrap = 64}}}};
  op.tensors[1].index = {0, 1, 0};
  arch::DeviceDesc device = machine();
  device.cores = 1024;
  device.spanLimitBytes = 64 * 2 * 128 / 4;
  Expected<SpanReduction> reduced = reduceSpan(op, device, 1024);
  ASSERT_FALSE(reduced.ok());
  EXPECT_EQ(reduced.status().code(), 3063);
}

//===- 15.4 ---------------------------------------------------------------------------------===//

TEST(DivisionGolden, Reductions) {
  EXPECT_EQ(compatSplits(reduction({512, 1024}, 1)), (Splits{32, 1})) << "G-R1";
  EXPECT_EQ(compatSplits(reduction({3, 4096}, 1)), (Splits{3, 8})) << "G-R2";
  EXPECT_EQ(compatSplits(reduction({1024, 64}, 0)), (Splits{1, 32})) << "G-R3";
  EXPECT_EQ(compatSplits(reduction({4096, 640}, 0)), (Splits{10, 2})) << "G-R4";
  EXPECT_EQ(compatSplits(reduction({64, 768}, 1, 32)), (Splits{32, 1})) << "G-R5";
  EXPECT_EQ(unitsOf(reduction({64, 768}, 1, 32)).count, (std::vector<int64_t>{64, 24}));
}

TEST(DivisionGolden, PartialLastSticksAreSplitAsDocumentedAndRefused) {
  // G-R7. The documented plan splits what the back end cannot mask.
  const Op op = reduction({3, 4100}, 1);
  const Outcome outcome = divided(op, {.mode = Mode::Compat});
  EXPECT_EQ(outcome.plan.splits, (Splits{3, 5}));
  EXPECT_EQ(outcome.verdict.code(), 3069);
  EXPECT_EQ(divided(op, {}).plan.splits, (Splits{3, 1}));
  arch::DeviceDesc able = machine();
  able.division.coordinateMask = false;
  EXPECT_TRUE(divided(op, {.mode = Mode::Compat}, able).verdict.ok());
}

//===- 15.5 ---------------------------------------------------------------------------------===//

struct MatmulRow {
  const char *id;
  int64_t b, m, n, k;
  /// b, m, n, k
  Splits usual, planned;
  /// Cheapest by the formula; 0: the pass declines or the table has none.
  double us;
  int64_t cores = 32;
};

Splits withoutBatch(const MatmulRow &row, const Splits &splits) {
  return row.b > 1 ? splits : Splits(splits.begin() + 1, splits.end());
}

TEST(DivisionGolden, Matmul) {
  const MatmulRow rows[] = {
      {"G-M1", 1, 512, 4096, 4096, {1, 32, 1, 1}, {1, 4, 8, 1}, 379.563},
      {"G-M2", 1, 512, 1024, 4096, {1, 32, 1, 1}, {1, 4, 8, 1}, 110.251},
      {"G-M3", 1, 512, 12800, 4096, {1, 32, 1, 1}, {1, 4, 8, 1}, 1142.613},
      {"G-M4", 1, 4, 4096, 4096, {1, 1, 32, 1}, {1, 4, 8, 1}, 318.022},
      {"G-M5", 1, 4, 1024, 4096, {1, 2, 16, 1}, {1, 4, 8, 1}, 192.125},
      {"G-M6", 1, 4, 12800, 4096, {1, 1, 25, 1}, {1, 4, 8, 1}, 674.728},
      {"G-M7", 1, 1, 1024, 4096, {1, 1, 16, 2}, {1, 1, 16, 2}, 0},
      {"G-M8", 1, 1, 25600, 4096, {1, 1, 25, 1}, {1, 1, 25, 1}, 0},
      {"G-M9", 1, 8, 1024, 1024, {1, 2, 16, 1}, {1, 4, 8, 1}, 160.883},
      {"G-M10", 1, 512, 4096, 12800, {1, 32, 1, 1}, {1, 4, 8, 1}, 1142.613},
      {"G-M11", 1, 4096, 4096, 4096, {1, 32, 1, 1}, {1, 4, 8, 1}, 1889.621},
      {"G-M12", 1, 128, 1024, 4096, {1, 32, 1, 1}, {1, 32, 1, 1}, 69.205},
      {"G-M13", 32, 512, 512, 128, {1, 32, 1, 1}, {1, 4, 8, 1}, 144.725},
      {"G-M14", 32, 512, 128, 512, {1, 32, 1, 1}, {1, 32, 1, 1}, 166.571},
      {"G-M15", 32, 1, 512, 128, {32, 1, 1, 1}, {32, 1, 1, 1}, 0},
      {"G-M16", 8, 128, 64, 512, {1, 32, 1, 1}, {1, 32, 1, 1}, 0},
      {"G-M17", 1, 128, 64, 256, {1, 32, 1, 1}, {1, 32, 1, 1}, 0},
      {"G-M18", 1, 100, 1000, 3000, {1, 25, 1, 1}, {1, 25, 1, 1}, 0},
      {"G-M19/8", 1, 512, 4096, 4096, {1, 8, 1, 1}, {1, 1, 8, 1}, 0, 8},
      {"G-M19/24", 1, 512, 4096, 4096, {1, 16, 1, 1}, {1, 2, 8, 1}, 0, 24},
      {"G-M19/1", 1, 512, 4096, 4096, {1, 1, 1, 1}, {1, 1, 1, 1}, 0, 1},
      {"G-M20", 1, 8192, 4096, 32768, {1, 16, 1, 2}, {1, 16, 1, 2}, 0},
  };
  for (const MatmulRow &row : rows) {
    const Op op = makeMatmul(row.b > 1 ? row.b : 0, row.m, row.n, row.k);
    const Splits usual = compatSplits(op, row.cores);
    EXPECT_EQ(usual, withoutBatch(row, row.usual)) << row.id;
    const Outcome later = divided(op, {.mode = Mode::CompatS1, .cores = row.cores});
    EXPECT_EQ(later.plan.splits, withoutBatch(row, row.planned)) << row.id;
    if (row.us > 0) {
      const std::optional<MatmulDivision> matmul = divideMatmul(op, {}, row.cores);
      ASSERT_TRUE(matmul.has_value()) << row.id;
      EXPECT_NEAR(matmul->cheapestUs, row.us, 5e-4) << row.id;
    }
  }
}

TEST(DivisionGolden, MatmulPassDeclinesWithAReason) {
  const std::pair<Op, const char *> rows[] = {
      {makeMatmul(0, 1, 1024, 4096), "no-rows-or-columns"},
      {makeMatmul(32, 1, 512, 128), "rows-in-both-operands"},
      {makeMatmul(8, 128, 64, 512), "column-of-one-stick"},
      {makeMatmul(4, 128, 512, 512, true), "two-kinds-of-rows"},
  };
  for (const auto &[op, reason] : rows) {
    std::vector<Decision> decisions;
    EXPECT_FALSE(matmulShape(op, {}, &decisions).has_value());
    ASSERT_EQ(decisions.size(), 1u);
    EXPECT_EQ(decisions[0].reason(), reason);
  }
}

TEST(DivisionGolden, MatmulCostByTerms) {
  const int64_t sizes[4] = {1, 512, 4096, 4096};
  const struct {
    int64_t splits[4];
    double compute, hbm, psum, tie, total;
  } rows[] = {
      {{1, 8, 4, 1}, 174.7627, 204.8, 0, 0, 379.5627},
      {{1, 4, 8, 1}, 174.7627, 204.8, 0, 0, 379.5627},
      {{1, 16, 2, 1}, 247.1517, 409.6, 0, 50, 706.7517},
      {{1, 32, 1, 1}, 349.5253, 819.2, 0, 100, 1268.7253},
      {{1, 1, 32, 1}, 174.7627, 819.2, 0, 0, 993.9627},
      {{1, 8, 2, 2}, 174.7627, 204.8, 293.6013, 0, 673.1639},
  };
  for (const auto &row : rows) {
    const MatmulCost cost = matmulCost(sizes, row.splits, 32);
    EXPECT_NEAR(cost.computeUs, row.compute, 5e-5);
    EXPECT_NEAR(cost.hbmUs, row.hbm, 5e-5);
    EXPECT_NEAR(cost.psumUs, row.psum, 5e-5);
    EXPECT_NEAR(cost.tieUs, row.tie, 5e-5);
    EXPECT_NEAR(cost.totalUs, row.total, 1e-4);
  }
  EXPECT_EQ(matmulCost(sizes, {1, 32, 2, 1}, 32).totalUs, HUGE_VAL);
}

//===- 15.6 ---------------------------------------------------------------------------------===//

TEST(DivisionGolden, StoredSplits) {
  using Map = std::map<int64_t, int64_t>;
  const struct {
    const char *id;
    Splits splits;
    std::vector<int64_t> write, read, extents;
    Map output, reduction;
  } rows[] = {
      {"G-E1", {4, 2}, {8, 1}, {8, 1}, {8, 8}, {{8, 4}, {1, 2}}, {}},
      {"G-E2", {4, 2, 1}, {32, 8, 1}, {32, 8, 1}, {4, 4, 8}, {{32, 4}, {8, 2}}, {}},
      {"G-E3", {1, 1}, {8, 1}, {8, 1}, {8, 8}, {}, {}},
      {"G-E4", {4, 2, 8}, {4, 1, 0}, {16, 0, 1}, {8, 4, 16}, {{4, 4}, {1, 2}}, {{1, 8}}},
      {"G-E5", {4, 2, 4}, {8, 1, 0}, {8, 0, 1}, {8, 8, 8}, {{8, 4}, {1, 2}}, {{1, 4}}},
      {"G-E6",
       {2, 4, 2, 8},
       {32, 4, 1, 0},
       {128, 16, 0, 1},
       {2, 8, 4, 16},
       {{32, 2}, {4, 4}, {1, 2}},
       {{1, 8}}},
      {"G-E7", {4, 1, 1}, {4, 1, 0}, {16, 0, 1}, {8, 4, 16}, {{4, 4}}, {}},
      {"G-E8", {4, 1, 1}, {8, 8, 1}, {8, 8, 1}, {4, 1, 8}, {{8, 4}}, {}},
      {"G-E9", {4, 1}, {8, 0}, {8, 0}, {8, 8}, {{8, 4}}, {}},
      {"G-E10", {8}, {1}, {1}, {8}, {{1, 8}}, {}},
      {"G-E11", {1}, {1}, {1}, {8}, {}, {}},
  };
  for (const auto &row : rows) {
    const StoredSplits stored = encodeSplits(row.splits, row.write, row.read);
    EXPECT_EQ(stored.output, row.output) << row.id;
    EXPECT_EQ(stored.reduction, row.reduction) << row.id;
    EXPECT_EQ(decodeSplits(stored, row.write, row.read, row.extents), row.splits) << row.id;
  }
}

TEST(DivisionGolden, TheSecondPassKnowsOnlyWhatIsStored) {
  const Op op = makeMatmul(0, 8192, 4096, 32768);
  const StoredSplits stored = reduceSpan(op, machine(), 32)->stored;
  EXPECT_EQ(stored.reduction, (std::map<int64_t, int64_t>{{1, 2}}));
  EXPECT_EQ(distributeWork(op, stored, 32), (Splits{16, 1, 2}));
  // What is not stored is not there: the split of K is lost and all cores go to M.
  EXPECT_EQ(distributeWork(op, {}, 32), (Splits{32, 1, 1}));
  StoredSplits other;
  other.output[4096] = 4;
  EXPECT_EQ(distributeWork(op, other, 32), (Splits{4, 8, 1}));
}

TEST(DivisionGolden, TheSecondPassCanBeSwitchedOff) {
  const Op op = makeMatmul(0, 8192, 4096, 32768);
  EXPECT_EQ(divided(op, {.mode = Mode::Compat, .distribute = false}).plan.splits,
            (Splits{1, 1, 2}));
  EXPECT_EQ(divided(pointwise({64, 64}), {.mode = Mode::Compat, .distribute = false}).plan.cores,
            1);
}

TEST(DivisionGolden, WhatIsNeitherPointwiseNorReductionIsSkipped) {
  Op op = pointwise({64, 64});
  op.kind = Kind::Other;
  for (Mode mode : {Mode::Compat, Mode::CompatS1, Mode::Best}) {
    const Outcome outcome = divided(op, {.mode = mode});
    EXPECT_TRUE(outcome.skipped);
    EXPECT_TRUE(outcome.stored.empty());
    ASSERT_EQ(outcome.decisions.size(), 1u);
    EXPECT_EQ(outcome.decisions[0].reason(), "not-divided");
  }
}

//===- 15.8 ---------------------------------------------------------------------------------===//

Op hinted(Op op, std::vector<std::pair<size_t, int64_t>> hints) {
  for (auto [dim, split] : hints) {
    op.dims[dim].hint = split;
  }
  return op;
}

TEST(DivisionGolden, Hints) {
  for (Mode mode : {Mode::Compat, Mode::CompatS1, Mode::Best}) {
    const Request request{.mode = mode, .cores = 8};
    EXPECT_EQ(divided(hinted(pointwise({128, 64}, 2), {{0, 4}}), request).plan.splits,
              (Splits{4, 1}));
    EXPECT_EQ(divided(hinted(makeMatmul(0, 128, 64, 256), {{0, 2}, {2, 4}}), request).plan.splits,
              (Splits{2, 1, 4}));
    auto fault = [&](const Op &op, int code, const char *words, int64_t cores = 8) {
      Expected<Outcome> outcome = tryDivide(op, {.mode = mode, .cores = cores});
      ASSERT_FALSE(outcome.ok());
      EXPECT_EQ(outcome.status().code(), code);
      EXPECT_NE(outcome.status().text().find(words), std::string::npos)
          << outcome.status().message();
    };
    fault(hinted(pointwise({130, 64}), {{0, 4}}), 3067, "not evenly divisible");
    fault(hinted(makeMatmul(0, 128, 128, 64), {{0, 2}, {1, 2}, {2, 2}}), 3068, "exceeds SENCORES",
          4);
    fault(hinted(pointwise({128, 64}), {{0, -1}}), 3066, "must be positive");
  }
}

TEST(DivisionGolden, HintsOnTwoReducedVariablesAreRefused) {
  // G-R6: sum over the last two dims of [64, 32, 16].
  Op op = reduction({64, 32, 16}, 2);
  op.dims[1].reduced = true;
  op.tensors[1].deviceSize = {1, 64, 64};
  op.tensors[1].coordinates = {{}, {{{.dim = 0}}}, {}};
  Expected<Outcome> outcome = tryDivide(hinted(op, {{1, 2}, {2, 2}}), {.mode = Mode::CompatS1});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code(), 3063);
  EXPECT_NE(outcome.status().text().find("reduction dimensions"), std::string::npos);
}

TEST(DivisionGolden, IgnoredHintsAndTiles) {
  const Op op = hinted(pointwise({128, 64}, 2), {{0, 4}});
  Options options{.mode = Mode::Compat, .cores = 8, .ignoreHints = true};
  EXPECT_EQ(divide(op, machine(), options, DeviceRates(machine()))->plan.splits, (Splits{8, 1}));
  // A loop of four over the rows and two slices of the columns beside each other.
  Op tiled = hinted(pointwise({128, 128}), {{1, 2}});
  tiled.dims[0].tiles = 4;
  EXPECT_EQ(divided(tiled, {.mode = Mode::CompatS1, .cores = 8}).plan.splits, (Splits{1, 2}));
  EXPECT_EQ(unitsOf(tiled).count, (std::vector<int64_t>{32, 2}));
  tiled.dims[0].extent = 130;
  Expected<Outcome> uneven = tryDivide(tiled, {});
  EXPECT_EQ(uneven.status().code(), 3060);
}

//===- 16.2 ---------------------------------------------------------------------------------===//

TEST(DivisionGolden, OwnersOfSlices) {
  const Op op = makeMatmul(0, 64, 1024, 1024);
  using Slices = std::vector<int64_t>;
  const Plan generic = makePlan(op, {2, 4, 1}, CoreOrder::FirstFastest);
  EXPECT_EQ(generic.owner[1], (Slices{1, 0, 0}));
  EXPECT_EQ(generic.owner[4], (Slices{0, 2, 0}));
  EXPECT_EQ(generic.owner[7], (Slices{1, 3, 0}));
  const Plan plain = makePlan(op, {2, 4, 4}, CoreOrder::FirstFastest);
  EXPECT_EQ(plain.owner[3], (Slices{1, 1, 0}));
  EXPECT_EQ(plain.owner[6], (Slices{0, 3, 0}));
  EXPECT_EQ(plain.owner[9], (Slices{1, 0, 1}));
  EXPECT_EQ(plain.owner[30], (Slices{0, 3, 3}));
  const Plan fast = makePlan(op, {2, 4, 4}, documentedOrder(op, {2, 4, 4}));
  EXPECT_EQ(fast.owner[3], (Slices{0, 0, 3}));
  EXPECT_EQ(fast.owner[6], (Slices{1, 0, 2}));
  EXPECT_EQ(fast.owner[9], (Slices{0, 1, 1}));
  EXPECT_EQ(fast.owner[30], (Slices{1, 3, 2}));
  EXPECT_EQ(documentedOrder(op, {2, 4, 1}), CoreOrder::FirstFastest);
}

} // namespace
} // namespace spyre::solver::division
