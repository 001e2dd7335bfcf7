//===- LoopSpecTest.cpp - counted loops: text, rules, advances, unrolling, bundles ----------===//
#include "spyre/Spec/LoopSpec.h"

#include "spyre/Spec/Bundle.h"

#include "SpecTestUtils.h"

#include <functional>

namespace spyre::spec::test {

namespace {

/// exp over [32, 128] in tiles of 8 rows: device size [2, 32, 64] on both sides.
OpSpec rowTile() {
  const TensorArg arg = tensor({2, 32, 64}, {tile("c1"), sym("c0"), lane("c1")});
  OpSpec spec = makeSpec("exp", {{"c0", 8, 2}, {"c1", 128, 1}}, {arg, arg});
  spec.tiledSymbols = {"c0"};
  return spec;
}

Kernel rowLoop() { return {SpecNode::loop(4, {"c0"}, {SpecNode::of(rowTile())})}; }

/// Two levels over one symbol: 2 halves of 2 tiles of 8 rows, and columns in the inner loop too.
Kernel nest() {
  OpSpec spec = rowTile();
  spec.iterationSpace[1].range = 64;
  spec.tiledSymbols = {"c0", "c1"};
  return {SpecNode::of(exampleA()),
          SpecNode::loop(2, {"c0"}, {SpecNode::loop(2, {"c0", "c1"}, {SpecNode::of(spec)})}),
          SpecNode::unimplemented("welford_reduce")};
}

/// Reads and writes the same scratch each time.
Kernel still() {
  OpSpec spec = rowTile();
  spec.tiledSymbols.clear();
  return {SpecNode::loop(3, {}, {SpecNode::of(spec), SpecNode::of(spec)})};
}

std::string bundleText(const Kernel &kernel, const BundleOptions &options) {
  return valueOf(generateBundle(kernel, options)).at("bundle.mlir");
}

Bundle bundleOf(const Kernel &kernel, const BundleOptions &options) {
  return valueOf(parseBundleMlir(bundleText(kernel, options)));
}

} // namespace

TEST(LoopSpec, TextRoundTripsAndMatchesTheGoldenFile) {
  Kernel kernel = nest();
  kernel[1].body[0].body[0].op.args[0].perTileFixed = true;
  const std::string text = writeKernel(kernel);
  expectGolden("opspec/loops.txt", text);
  EXPECT_EQ(valueOf(parseKernel(text)), kernel);
  EXPECT_ERROR(parseOpSpecs(text).status(), 1301, "unroll its loops first");
  EXPECT_EQ(writeKernel(kernelOf({exampleA(), exampleB()})),
            writeOpSpecs({exampleA(), exampleB()}));
  const Kernel byHand =
      valueOf(parseKernel("[LoopSpec(body=[UnimplementedOp(op='any'),], count=3)]"));
  EXPECT_EQ(byHand, (Kernel{SpecNode::loop(3, {}, {SpecNode::unimplemented("any")})}));
}

TEST(LoopSpec, TextErrorsSayWhere) {
  const auto failure = [](const std::string &text) { return parseKernel(text).status(); };
  EXPECT_ERROR(failure("[LoopSpec(count=2)]"), 1301, "without 'body'");
  EXPECT_ERROR(failure("[LoopSpec(body=[])]"), 1301, "without 'count'");
  EXPECT_ERROR(failure("[LoopSpec(count=x, body=[])]"), 1301, "expected an integer");
  EXPECT_ERROR(failure("[LoopSpec(count=2, size=3, body=[])]"), 1301, "no field 'size'");
  EXPECT_ERROR(failure("[UnimplementedOp(name='a')]"), 1301, "no field 'name'");
  std::string deep;
  for (int i = 0; i < 1000; ++i) {
    deep += i == 0 ? "[" : "LoopSpec(count=1, body=[";
  }
  EXPECT_ERROR(failure(deep), 1301, "nested at most 16 deep");
}

// The numbers of the reference's example: 1024 bytes, not the 2048 of host strides nor the 8192 of
// whole extents [spec: codegen-and-backend 4.5].
TEST(LoopSpec, TensorsMoveByDeviceStrides) {
  const OpSpec spec = rowTile();
  EXPECT_EQ(bytesPerIteration(spec, spec.args[0], {{4, {"c0"}}}, 0), 1024);
  OpSpec columns = rowTile();
  columns.iterationSpace = {{"c0", 32, 1}, {"c1", 64, 1}};
  columns.tiledSymbols = {"c1"};
  EXPECT_EQ(bytesPerIteration(columns, columns.args[0], {{2, {"c1"}}}, 0), 32 * 128);
  columns.args[0].perTileFixed = true;
  EXPECT_EQ(bytesPerIteration(columns, columns.args[0], {{2, {"c1"}}}, 0), 0);
  const Kernel kernel = nest();
  const OpSpec &inner = kernel[1].body[0].body[0].op;
  const std::vector<LoopLevel> levels = {{2, {"c0"}}, {2, {"c0", "c1"}}};
  EXPECT_EQ(bytesPerIteration(inner, inner.args[0], levels, 0), 2048);
  EXPECT_EQ(bytesPerIteration(inner, inner.args[0], levels, 1), 1024 + 32 * 128);
}

TEST(LoopSpec, UnrollingAddsTilesToCoordinates) {
  const std::vector<OpSpec> specs = valueOf(unrollKernel(rowLoop()));
  ASSERT_EQ(specs.size(), 4u);
  for (int64_t i = 0; i < 4; ++i) {
    const OpSpec &spec = specs[size_t(i)];
    EXPECT_EQ(spec.args[1].deviceCoordinates[1], sym("c0", 8 * i));
    EXPECT_EQ(spec.args[1].address, kSegment);
    EXPECT_EQ(spec.args[1].deviceSize, (std::vector<int64_t>{2, 32, 64}));
    EXPECT_TRUE(spec.tiledSymbols.empty());
    EXPECT_TRUE(verifyOpSpec(spec).ok()) << verifyOpSpec(spec).message();
  }
  EXPECT_ERROR(unrollKernel(nest()).status(), 5001, "unimplemented operation welford_reduce");
  Kernel nested = nest();
  nested.pop_back();
  const std::vector<OpSpec> inner = valueOf(unrollKernel(nested));
  ASSERT_EQ(inner.size(), 5u);
  EXPECT_EQ(inner[4].args[0].deviceCoordinates,
            (std::vector<Coordinate>{tile("c1", 1), sym("c0", 24), lane("c1")}));
}

TEST(LoopSpec, EveryRuleIsChecked) {
  struct Case {
    const char *text;
    std::function<void(Kernel &, OpSpec &)> change;
  };
  const std::vector<Case> cases = {
      {"counts to 0", [](Kernel &k, OpSpec &) { k[0].count = 0; }},
      {"counts to 16385", [](Kernel &k, OpSpec &) { k[0].count = 16385; }},
      {"ends at 40, the device size is 32", [](Kernel &k, OpSpec &) { k[0].count = 5; }},
      {"tiled by no loop", [](Kernel &k, OpSpec &) { k[0].tiledSymbols = {"c1"}; }},
      {"listed twice", [](Kernel &, OpSpec &op) { op.tiledSymbols = {"c0", "c0"}; }},
      {"not whole sticks of 64",
       [](Kernel &k, OpSpec &op) {
         k[0].tiledSymbols = op.tiledSymbols = {"c1"};
         op.iterationSpace = {{"c0", 8, 1}, {"c1", 32, 1}};
       }},
      {"does not move with tiles",
       [](Kernel &, OpSpec &op) {
         op.args[1].residency = Residency::Lx;
         op.args[1].argIndex = -1;
         op.args[1].address = 0;
       }},
      {"has one stick of it",
       [](Kernel &k, OpSpec &op) {
         k[0].tiledSymbols = op.tiledSymbols = {"c1"};
         op.iterationSpace = {{"c0", 8, 1}, {"c1", 64, 1}};
         op.args[0].deviceSize[0] = 1;
         op.args[0].deviceCoordinates[0] = fixed();
       }},
      {"16384 are supported",
       [](Kernel &k, OpSpec &) { k = {SpecNode::loop(16384, {}, {SpecNode::loop(2, {}, k)})}; }},
      {"nested deeper",
       [](Kernel &k, OpSpec &) {
         for (int i = 0; i < 16; ++i) {
           k = {SpecNode::loop(1, {}, k)};
         }
       }},
  };
  EXPECT_TRUE(verifyKernel(rowLoop()).ok()) << verifyKernel(rowLoop()).message();
  for (const Case &c : cases) {
    Kernel kernel = rowLoop();
    c.change(kernel, kernel[0].body[0].op);
    EXPECT_ERROR(verifyKernel(kernel), 1303, c.text);
    EXPECT_FALSE(generateBundle(kernel).ok()) << c.text;
  }
  Kernel unknown = rowLoop();
  unknown[0].body[0].op.tiledSymbols = {"z"};
  EXPECT_ERROR(verifyKernel(unknown), 1302, "tiled symbol 'z' is not in the iteration space");
}

TEST(LoopSpec, SymbolicLoopsHaveAffineAddresses) {
  const std::string text = bundleText(rowLoop(), {.symbolicArguments = true, .unrollLoops = false});
  expectGolden("bundle/loop.mlir", text);
  const Bundle bundle = valueOf(parseBundleMlir(text));
  ASSERT_EQ(bundle.body.size(), 1u);
  ASSERT_TRUE(bundle.body[0].isLoop);
  EXPECT_EQ(bundle.body[0].count, 4);
  const BundleExecute &execute = bundle.body[0].body.at(0).execute;
  ASSERT_EQ(execute.operands.size(), 4u); // two cores, two tensors
  for (const AddressExpr &operand : execute.operands) {
    EXPECT_EQ(operand.strides, (std::vector<AddressExpr::Stride>{{0, 1024}}));
  }
  EXPECT_EQ(execute.operands[1].constant, 4 * 128);
}

TEST(LoopSpec, BakedLoopsAreKeptWhereNothingMoves) {
  DecisionTrace trace;
  const BundleOptions baked{.unrollLoops = false, .trace = &trace};
  Kernel kernel = still();
  kernel.push_back(rowLoop()[0]);
  const Bundle bundle = bundleOf(kernel, baked);
  ASSERT_EQ(bundle.body.size(), 5u);
  EXPECT_TRUE(bundle.body[0].isLoop);
  EXPECT_EQ(bundle.body[0].body.size(), 2u);
  EXPECT_EQ(bundle.body[4].execute.file, "sdsc_5.json");
  EXPECT_NE(trace.toJson().find("baked-addresses-move"), std::string::npos) << trace.toJson();
  EXPECT_NE(trace.toJson().find("nothing-moves"), std::string::npos) << trace.toJson();
  EXPECT_EQ(bundleOf(kernel, {}).body.size(), 10u);
  EXPECT_EQ(bundleOf(kernel, {.symbolicArguments = true}).body.size(), 10u);
}

// A scratch that stays and a tensor that moves may begin at the same address.
TEST(LoopSpec, AddressesThatMoveDifferentlyAreDifferentSymbols) {
  Kernel kernel = rowLoop();
  OpSpec &spec = kernel[0].body[0].op;
  spec.args.insert(spec.args.begin(), spec.args[0]);
  spec.op = "add";
  spec.args[1].perTileFixed = true;
  const BundleExecute execute =
      bundleOf(kernel, {.symbolicArguments = true, .unrollLoops = false}).body[0].body[0].execute;
  EXPECT_EQ(execute.operands.size(), 6u);
}

// Two tensors of one call at the same place of their segments are two symbols.
TEST(LoopSpec, ArgumentsDoNotShareSymbols) {
  OpSpec spec = rowTile();
  spec.tiledSymbols.clear();
  spec.args[1].address = spec.args[0].address;
  const BundleExecute execute =
      bundleOf({SpecNode::of(spec)}, {.symbolicArguments = true}).body[0].execute;
  EXPECT_EQ(execute.operands.size(), 4u);
}

TEST(LoopSpec, CoresOfAMatmulCanCountTheFirstDimensionFastest) {
  OpSpec spec = exampleB();
  spec.iterationSpace[0].cores = 2;
  const SuperDsc fast = valueOf(emitSuperDsc(spec, 0));
  const SuperDsc plain = valueOf(emitSuperDsc(spec, 0, {.kFastCores = false}));
  EXPECT_EQ(*findDim(fast.coreSlice[1], std::string("in")), 1);
  EXPECT_EQ(*findDim(plain.coreSlice[1], std::string("in")), 0);
  EXPECT_EQ(*findDim(plain.coreSlice[1], std::string("mb")), 1);
}

} // namespace spyre::spec::test
