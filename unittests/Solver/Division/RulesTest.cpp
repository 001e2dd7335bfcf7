//===- RulesTest.cpp - each row of the capability table, on and lifted ----------------------===//
#include "spyre/Solver/Division/Rules.h"

#include "Support.h"

namespace spyre::solver::division {
namespace {

using namespace test;

std::vector<int64_t> allowed(const Op &op, size_t dim, const arch::DeviceDesc &device,
                             int64_t cores = 32) {
  Expected<Domains> domains = domainsOf(op, unitsOf(op), device, cores);
  EXPECT_TRUE(domains.ok()) << domains.status().message();
  return domains.ok() ? domains->dims[dim].splits : std::vector<int64_t>();
}

/// With the rule \p dim has the splits \p with, without it \p without.
void expectRule(const Op &op, size_t dim, bool arch::DivisionRules::*rule,
                const std::vector<int64_t> &with, const std::vector<int64_t> &without) {
  arch::DeviceDesc device = machine();
  EXPECT_EQ(allowed(op, dim, device), with);
  device.division.*rule = false;
  EXPECT_EQ(allowed(op, dim, device), without);
}

TEST(DivisionRules, CarriedReductionRow) {
  Op op = pointwise({64, 64});
  op.dims[0].role = Role::Carried;
  op.dims[0].requiredSplit = 8;
  expectRule(op, 0, &arch::DivisionRules::carriedReductionRow, {8}, {1, 2, 4, 8, 16, 32});
  EXPECT_EQ(divided(op, {}).plan.splits[0], 8);
}

TEST(DivisionRules, CoordinateMask) {
  expectRule(reduction({3, 4100}, 1), 1, &arch::DivisionRules::coordinateMask, {1}, {1, 5, 13});
  EXPECT_EQ(allowed(reduction({3, 4096}, 1), 1, machine()).size(), 6u) << "no partial stick";
}

TEST(DivisionRules, ConvSpatial) {
  Op op = pointwise({8, 16, 16, 64});
  op.kind = Kind::Conv;
  op.dims[1].role = op.dims[2].role = Role::Spatial;
  EXPECT_EQ(allowed(op, 1, machine()).size(), 5u) << "stride 1";
  op.windowStride = 2;
  expectRule(op, 1, &arch::DivisionRules::convSpatial, {1}, {1, 2, 4, 8, 16});
  EXPECT_EQ(allowed(op, 0, machine()).size(), 4u);
}

TEST(DivisionRules, ReductionWindow) {
  Op pool = reduction({8, 4, 128}, 1);
  pool.kind = Kind::Pool;
  expectRule(pool, 2, &arch::DivisionRules::reductionWindow, {1}, {1, 2, 4});
  Op conv = pool;
  conv.kind = Kind::Conv;
  EXPECT_EQ(allowed(conv, 2, machine()).size(), 3u) << "channels are no window";
  conv.dims[2].role = Role::Kernel;
  expectRule(conv, 2, &arch::DivisionRules::reductionWindow, {1}, {1, 2, 4});
  Op depthwise = pool;
  depthwise.kind = Kind::DepthwiseConv;
  expectRule(depthwise, 2, &arch::DivisionRules::reductionWindow, {1}, {1, 2, 4});
}

TEST(DivisionRules, CoarseTileLocal) {
  Op op = pointwise({64, 256});
  op.dims[0].tiles = 4;
  expectRule(op, 0, &arch::DivisionRules::coarseTileLocal, {1}, {1, 2, 4, 8, 16});
  Op copy = op;
  copy.tileCopy = true;
  EXPECT_EQ(allowed(copy, 0, machine()).size(), 5u);
  Op hinted = op;
  hinted.dims[0].hint = 2;
  EXPECT_EQ(allowed(hinted, 0, machine()).size(), 5u);
}

TEST(DivisionRules, DirectReadSourceStick) {
  Op op = pointwise({8, 200});
  op.tensors[0].directRead = true;
  op.loopTrips = 2;
  EXPECT_EQ(allowed(op, 1, machine()), (std::vector<int64_t>{1, 2, 4}));
  op.loopTrips = 3;
  expectRule(op, 1, &arch::DivisionRules::directReadSourceStick, {1}, {1, 2, 4});
}

TEST(DivisionRules, AlignedOwnership) {
  // x.repeat(3, 2) of two rows: six rows in segments of 2, three of them.
  Op op = pointwise({6, 128});
  op.dims[0].segments = {2, 3};
  expectRule(op, 0, &arch::DivisionRules::alignedOwnership, {1, 3, 6}, {1, 2, 3, 6});
}

TEST(DivisionRules, RestickifyPadding) {
  expectRule(restickify({128, 200}, 0), 1, &arch::DivisionRules::restickifyPadding, {1}, {1, 2, 4});
  EXPECT_EQ(allowed(restickify({128, 256}, 0), 1, machine()).size(), 3u);
}

TEST(DivisionRules, SecondStickDim) {
  Op op = pointwise({64, 256});
  op.dims[0].role = Role::SecondStick;
  expectRule(op, 0, &arch::DivisionRules::secondStickDim, {1}, {1, 2, 4, 8, 16, 32});
}

TEST(DivisionRules, StaggeredMatmulK) {
  Op op = makeMatmul(0, 64, 256, 256);
  EXPECT_EQ(allowed(op, 2, machine()).size(), 3u);
  op.tensors[1].staggered = true;
  expectRule(op, 2, &arch::DivisionRules::staggeredMatmulK, {1}, {1, 2, 4});
}

TEST(DivisionRules, TopK) {
  // Rows, results, and the axis that is searched.
  Op op = reduction({64, 12, 512}, 2);
  op.kind = Kind::TopK;
  op.dims[1].role = Role::Results;
  op.dims[2].role = Role::Search;
  // 12 results, at most 4 on a core: 3 slices, neither more nor fewer.
  expectRule(op, 1, &arch::DivisionRules::topK, {3}, {1, 2, 3, 4, 6, 12});
  expectRule(op, 2, &arch::DivisionRules::topK, {1}, {1, 2, 4, 8});
  op.dims[1].extent = 37;
  op.tensors[0] = reduction({64, 37, 512}, 2).tensors[0];
  op.tensors[1] = reduction({64, 37, 512}, 2).tensors[1];
  Expected<Domains> none = domainsOf(op, unitsOf(op), machine(), 32);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), 3071);
}

TEST(DivisionRules, KeepByIndex) {
  Op op = reduction({64, 8, 512}, 2);
  op.kind = Kind::KeepByIndex;
  op.dims[0].role = Role::EnclosesSearch;
  op.dims[1].role = Role::Results;
  op.dims[2].role = Role::Search;
  expectRule(op, 0, &arch::DivisionRules::keepByIndex, {1}, {1, 2, 4, 8, 16, 32});
  expectRule(op, 1, &arch::DivisionRules::keepByIndex, {2}, {1, 2, 4, 8});
  expectRule(op, 2, &arch::DivisionRules::keepByIndex, {1}, {1, 2, 4, 8});
}

TEST(DivisionRules, IndirectAccess) {
  const std::vector<int64_t> table = {128, 64, 512};
  const Op op = makeGather(256, table);
  expectRule(op, 1, &arch::DivisionRules::indirectAccess, {1}, {1, 2, 4, 8, 16, 32});
  EXPECT_EQ(divided(op, {}).plan.splits, (Splits{8, 1, 1}));
  EXPECT_EQ(divided(op, {.cores = 6}).plan.splits, (Splits{4, 1, 1}));
  // 40 entries are two sticks of indices; the result must have places for 64.
  Op partial = makeGather(40, table);
  EXPECT_EQ(allowed(partial, 0, machine()), (std::vector<int64_t>{1}));
  Tensor &out = partial.tensors.back();
  for (size_t c = 0; c < out.coordinates.size(); ++c) {
    for (const Term &term : out.coordinates[c].terms) {
      out.deviceSize[c] = term.dim == 0 ? 64 : out.deviceSize[c];
    }
  }
  EXPECT_EQ(allowed(partial, 0, machine()), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(divided(partial, {}).plan.splits, (Splits{2, 1, 1}));
}

/// Writes \p entries rows into a table.
Op scatter(int64_t entries) {
  Op op = makeGather(entries, std::vector<int64_t>{5, 64, 512});
  op.kind = Kind::Scatter;
  std::swap(op.tensors[1], op.tensors[2]);
  op.tensors[1].output = false;
  op.tensors[2].output = true;
  return op;
}

TEST(DivisionRules, Scatters) {
  EXPECT_EQ(divided(scatter(5), {}).plan.cores, 1) << "a partial stick cannot be padded";
  EXPECT_EQ(allowed(scatter(64), 0, machine()), (std::vector<int64_t>{1, 2}));
  Op adding = scatter(64);
  adding.kind = Kind::ScatterAdd;
  EXPECT_EQ(divided(adding, {}).plan.cores, 1);
  Op two = scatter(64);
  two.tensors.insert(two.tensors.begin(), two.tensors[0]);
  EXPECT_EQ(divided(two, {}).plan.cores, 1);
}

TEST(DivisionRules, MultiReduction) {
  Op op = reduction({64, 32, 256}, 2);
  op.dims[1].reduced = true;
  op.tensors[1].deviceSize = {1, 64, 64};
  op.tensors[1].coordinates = {{}, {{{.dim = 0}}}, {}};
  expectRule(op, 1, &arch::DivisionRules::multiReduction, {1}, {1, 2, 4, 8, 16, 32});
  expectRule(op, 2, &arch::DivisionRules::multiReduction, {1}, {1, 2, 4});
  op.dims[1].reduced = false;
  EXPECT_EQ(allowed(op, 2, machine()).size(), 3u);
}

TEST(DivisionRules, OverlappingWindow) {
  // Windows of 8 that move by 1 over 39 rows.
  Op op{.name = "unfold", .kind = Kind::Reduction};
  op.dims = {{.name = "o", .extent = 32}, {.name = "w", .extent = 8, .reduced = true}};
  op.dims[1].role = Role::Window;
  Tensor in{.name = "in"};
  in.deviceSize = {39, 64};
  in.coordinates = {{{{.dim = 0}, {.dim = 1}}}, {}};
  in.index = {1, 1};
  Tensor out{.name = "out"};
  out.deviceSize = {32, 64};
  out.coordinates = {{{{.dim = 0}}}, {}};
  out.index = {1, 0};
  out.output = true;
  op.tensors = {in, out};
  expectRule(op, 0, &arch::DivisionRules::overlappingWindow, {32}, {1, 2, 4, 8, 16, 32});
}

TEST(DivisionRules, AtMostOneReducedVariableIsSplit) {
  Op op = makeMatmul(0, 64, 256, 256);
  op.kind = Kind::Pointwise;
  op.dims[0].reduced = op.dims[2].reduced = true;
  op.tensors[2].coordinates[1].terms.clear();
  op.tensors[2].deviceSize[1] = 1;
  EXPECT_EQ(checkRules(op, machine(), 32, {2, 1, 1}).code(), 0);
  EXPECT_EQ(checkRules(op, machine(), 32, {2, 1, 2}).code(), 3063);
  arch::DeviceDesc two = machine();
  two.division.splitReductions = 2;
  EXPECT_EQ(checkRules(op, two, 32, {2, 1, 2}).code(), 0);
}

TEST(DivisionRules, TableIsPartOfTheDeviceDescription) {
  arch::DeviceDesc device = machine();
  const std::string before = device.hash();
  EXPECT_EQ(device.toJson().find("division"), std::string::npos);
  for (const arch::DivisionRuleName &rule : arch::kDivisionRules) {
    arch::DeviceDesc lifted = device;
    lifted.division.*rule.member = false;
    Expected<arch::DeviceDesc> read = arch::DeviceDesc::fromJson(lifted.toJson());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, lifted);
    EXPECT_NE(lifted.hash(), before);
  }
  device.division.maxTripCount = 1000;
  EXPECT_EQ(arch::DeviceDesc::fromJson(device.toJson())->division.maxTripCount, 1000);
}

} // namespace
} // namespace spyre::solver::division
