//===- SuperDscEmitterTest.cpp - the twelve steps, on cases with known numbers --------------===//
#include "SpecTestUtils.h"

#include <functional>

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

using Scale = DimMap<int64_t>;
using numerics::DataFormat;

SuperDsc emit(const OpSpec &spec) { return valueOf(emitSuperDsc(spec, 0)); }

/// [rows, cols] with stick cols, both symbols.
TensorArg matrix(int64_t rows, int64_t cols) {
  return tensor({(cols + 63) / 64, rows, 64}, {tile("c1"), sym("c0"), lane("c1")});
}

OpSpec reduceColumns(const char *op, int64_t cols, int64_t cores) {
  return makeSpec(op, {{"c0", 96, 1}, {"c1", cols, cores}},
                  {matrix(96, cols), tensor({1, 96, 64}, {fixed(), sym("c0"), fixed()})}, true);
}

OpSpec matmul(int64_t m, int64_t n, int64_t k, int64_t kRows) {
  return makeSpec("batchmatmul", {{"c0", m, 1}, {"c1", n, 1}, {"c2", k, 1}},
                  {tensor({(k + 63) / 64, m, 64}, {tile("c2"), sym("c0"), lane("c2")}),
                   tensor({(n + 63) / 64, kRows, 64}, {tile("c1"), sym("c2"), lane("c1")}),
                   tensor({(n + 63) / 64, m, 64}, {tile("c1"), sym("c0"), lane("c1")})},
                  true);
}

} // namespace

TEST(SuperDscEmitter, ReproducesWorkedExampleA) {
  expectGolden("superdsc/example-a-add-lx.json",
               writeSuperDsc(valueOf(emitSuperDsc(exampleA(), 0))));
}

TEST(SuperDscEmitter, ReproducesWorkedExampleB) {
  expectGolden("superdsc/example-b-batchmatmul-ksplit.json",
               writeSuperDsc(valueOf(emitSuperDsc(exampleB(), 1))));
}

// [96,192] over 4 cores: 24 rows of 128 bytes each; a row, a column and a scalar operand.
TEST(SuperDscEmitter, BroadcastOperandsShareTheLayoutWithScales) {
  const OpSpec spec = makeSpec("where3", {{"c0", 96, 4}, {"c1", 192, 1}},
                               {tensor({1, 3, 64}, {fixed(), tile("c1"), lane("c1")}),
                                tensor({1, 96, 64}, {fixed(), sym("c0"), fixed()}),
                                tensor({1, 1, 64}, {fixed(), fixed(), fixed()}), matrix(96, 192)});
  const SuperDsc dsc = emit(spec);
  ASSERT_EQ(dsc.layouts.size(), 1u);
  EXPECT_EQ(dsc.layouts[0].label, "OUTPUT");
  // The label takes the order of the first tensor that has it.
  EXPECT_EQ(dsc.tensors[0].dimOrder, (std::vector<std::string>{"out", "mb"}));
  EXPECT_EQ(dsc.tensors[3].dimOrder, (std::vector<std::string>{"mb", "out"}));
  EXPECT_EQ(dsc.tensors[0].scale, (Scale{{"out", 1}, {"mb", -1}}));
  EXPECT_EQ(dsc.tensors[1].scale, (Scale{{"out", -2}, {"mb", 1}}));
  EXPECT_EQ(dsc.tensors[2].scale, (Scale{{"out", -2}, {"mb", -1}}));
  EXPECT_EQ(dsc.tensors[3].scale, (Scale{{"out", 1}, {"mb", 1}}));
  const int64_t out = 3 * kSegment;
  EXPECT_EQ(dsc.tensors[3].startAddress,
            (std::vector<int64_t>{out, out + 3072, out + 6144, out + 9216}));
  EXPECT_EQ(dsc.tensors[0].startAddress, std::vector<int64_t>(4, 0));
  EXPECT_EQ(dsc.inputs, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(dsc.exUnit, "sfp");
}

TEST(SuperDscEmitter, UnalignedPointwiseIsPaddedWithoutMask) {
  const SuperDsc dsc =
      emit(makeSpec("exp", {{"c0", 8, 1}, {"c1", 100, 1}}, {matrix(8, 100), matrix(8, 100)}));
  EXPECT_EQ(dsc.size, (Scale{{"mb", 8}, {"out", 128}}));
  EXPECT_TRUE(dsc.masking.empty());
  EXPECT_TRUE(dsc.constants.empty());
}

TEST(SuperDscEmitter, StickReductionMasksThePaddedTail) {
  const SuperDsc sum = emit(reduceColumns("sum", 100, 1));
  EXPECT_EQ(sum.op, "sum");
  EXPECT_EQ(sum.size, (Scale{{"mb", 96}, {"out", 128}}));
  EXPECT_EQ(sum.masking, (DimMap<std::pair<int64_t, int64_t>>{{"out", {100, 28}}}));
  ASSERT_EQ(sum.constants.size(), 1u);
  EXPECT_EQ(sum.constants[0].name, "samv-maskvalue");
  EXPECT_EQ(sum.constants[0].bits, 0u);
  EXPECT_EQ(sum.tensors[1].scale, (Scale{{"mb", 1}, {"out", -2}}));
  EXPECT_EQ(sum.inputs, (std::vector<int64_t>{0, 1})); // the output is the accumulator
  EXPECT_EQ(sum.output, 1);
  EXPECT_EQ(emit(reduceColumns("max", 100, 1)).constants[0].bits, 0xFFFEu);
  EXPECT_EQ(emit(reduceColumns("min", 100, 1)).constants[0].bits, 0x7FFEu);
  EXPECT_TRUE(emit(reduceColumns("max", 128, 1)).masking.empty());
}

TEST(SuperDscEmitter, MaskOfFp32IsMinusInfinity) {
  OpSpec spec = makeSpec(
      "max", {{"c0", 4, 1}, {"c1", 40, 1}},
      {tensor({2, 4, 32}, {Coordinate::floorDiv("c1", 32), sym("c0"), Coordinate::mod("c1", 32)}),
       tensor({1, 4, 32}, {fixed(), sym("c0"), fixed()})},
      true);
  for (TensorArg &arg : spec.args) {
    arg.deviceDtype = numerics::DataFormat::IeeeFp32;
  }
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.constants.at(0).bits, 0xFF800000u);
  EXPECT_EQ(dsc.constants.at(0).format, numerics::DataFormat::IeeeFp32);
}

// The mask comes after the op's own constants, whatever maskingConstId_ says.
TEST(SuperDscEmitter, OwnConstantsComeBeforeTheMask) {
  OpSpec spec = reduceColumns("mean", 100, 1);
  spec.constants = {{"scaling_factor", 0.01}};
  const SuperDsc dsc = emit(spec);
  ASSERT_EQ(dsc.constants.size(), 2u);
  EXPECT_EQ(dsc.constants[0].name, "scaling_factor");
  EXPECT_EQ(dsc.constants[0].bits,
            numerics::encodeConstant(0.01, numerics::DataFormat::Sen169Fp16));
  EXPECT_EQ(dsc.constants[1].name, "samv-maskvalue");
}

// Raw float bits for IEEE_FP32, 16 bits of DLFloat16 for every other format, in the spec's order.
TEST(SuperDscEmitter, GoldenConstantsOfElementWiseOps) {
  OpSpec spec =
      makeSpec("softplus", {{"c0", 8, 2}, {"c1", 100, 1}}, {matrix(8, 100), matrix(8, 100)});
  spec.constants = {{"softplusBeta", 1.5}, {"softplusThresh", 20}};
  expectGolden("superdsc/softplus-constants.json", writeSuperDsc(valueOf(emitSuperDsc(spec, 3))));
  const SuperDsc half = emit(spec);
  ASSERT_EQ(half.constants.size(), 2u);
  EXPECT_EQ(half.constants[0], (DscConstant{"softplusBeta", DataFormat::Sen169Fp16, 0x3F00}));
  EXPECT_EQ(half.constants[1], (DscConstant{"softplusThresh", DataFormat::Sen169Fp16, 0x4680}));

  const std::vector<Coordinate> c = {Coordinate::floorDiv("c0", 32), Coordinate::mod("c0", 32)};
  for (DataFormat format : {DataFormat::IeeeFp32, DataFormat::IeeeInt32}) {
    OpSpec clip = makeSpec("clip", {{"c0", 32, 1}}, {tensor({1, 32}, c), tensor({1, 32}, c)});
    for (TensorArg &arg : clip.args) {
      arg.deviceDtype = format;
    }
    clip.constants = {{"clipMax", 1.5}};
    const bool single = format == DataFormat::IeeeFp32;
    EXPECT_EQ(emit(clip).constants.at(0),
              (DscConstant{"clipMax", format, single ? 0x3FC00000u : 0x3F00u}));
  }
}

// The pair of mean and mean of squares is one stick per point, also when it has a stick symbol: the
// dimension is reduced there, and cores along it share the address.
TEST(SuperDscEmitter, LayerNormScaleReducesTheStickOfItsPair) {
  const TensorArg sparse = tensor({1, 8, 64}, {fixed(), sym("c0"), fixed()});
  OpSpec spec =
      makeSpec("layernormscale", {{"c0", 8, 2}, {"c1", 64, 1}}, {matrix(8, 64), matrix(8, 64)});
  spec.constants = {{"eps", 1e-5}};
  const SuperDsc spelled = emit(spec);
  spec.args[0].deviceCoordinates = sparse.deviceCoordinates;
  EXPECT_EQ(spelled, emit(spec));
  EXPECT_EQ(*findDim(spelled.tensors[0].scale, std::string("out")), -2);
  EXPECT_EQ(spelled.tensors[0].startAddress, (std::vector<int64_t>{0, 4 * 128}));

  OpSpec all = makeSpec("layernormscale", {{"c0", 8, 1}}, {sparse, sparse});
  all.constants = {{"eps", 1e-5}};
  const SuperDsc dsc = emit(all);
  EXPECT_EQ(dsc.tensors[0].scale, dsc.tensors[1].scale);
  EXPECT_EQ(dsc.size.back().second, 64); // the virtual stick
}

TEST(SuperDscEmitter, SplitReductionSharesTheOutputAddress) {
  const SuperDsc dsc = emit(reduceColumns("sum", 256, 4));
  EXPECT_EQ(dsc.cores, 4);
  EXPECT_EQ(dsc.tensors[1].startAddress, std::vector<int64_t>(4, kSegment));
}

TEST(SuperDscEmitter, NonStickReductionHasTheSuffix) {
  const OpSpec spec = makeSpec("sum", {{"c0", 192, 1}, {"c1", 96, 1}},
                               {tensor({3, 96, 64}, {tile("c0"), sym("c1"), lane("c0")}),
                                tensor({1, 3, 64}, {fixed(), tile("c0"), lane("c0")})},
                               true);
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.op, "sumnonstick");
  EXPECT_EQ(dsc.tensors[0].dimOrder, (std::vector<std::string>{"out", "mb"}));
  EXPECT_EQ(dsc.tensors[1].scale, (Scale{{"out", -1}, {"mb", 1}}));
  EXPECT_EQ(dsc.layouts.at(0).stickDims, std::vector<std::string>{"mb"});
}

// All tensors hold one value per stick: the reduction is along rows, not along the virtual stick.
TEST(SuperDscEmitter, ReductionOfSparseTensorsIsNonStick) {
  const OpSpec spec = makeSpec("sum", {{"c0", 96, 1}},
                               {tensor({1, 96, 64}, {fixed(), sym("c0"), fixed()}),
                                tensor({1, 1, 64}, {fixed(), fixed(), fixed()})},
                               true);
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.op, "sumnonstick");
  EXPECT_EQ(dsc.size, (Scale{{"out", 96}, {"x", 64}}));
  EXPECT_EQ(dsc.tensors[0].scale, (Scale{{"out", 1}, {"x", -2}}));
  EXPECT_TRUE(dsc.masking.empty());
}

TEST(SuperDscEmitter, OpOnScalarsGetsAVirtualStick) {
  const TensorArg scalar = tensor({1, 64}, {fixed(), fixed()});
  const SuperDsc dsc = emit(makeSpec("add", {}, {scalar, scalar, scalar}));
  EXPECT_EQ(dsc.size, (Scale{{"mb", 64}}));
  EXPECT_EQ(dsc.tensors[2].scale, (Scale{{"mb", -2}}));
  EXPECT_EQ(dsc.cores, 1);
}

TEST(SuperDscEmitter, MatmulPadsAndMasksK) {
  const SuperDsc dsc = emit(matmul(55, 128, 67, 128));
  EXPECT_EQ(dsc.size, (Scale{{"mb", 55}, {"out", 128}, {"in", 128}}));
  EXPECT_EQ(dsc.masking, (DimMap<std::pair<int64_t, int64_t>>{{"in", {67, 61}}}));
  ASSERT_EQ(dsc.constants.size(), 1u);
  EXPECT_EQ(dsc.constants[0].bits, 0u);
  EXPECT_EQ(dsc.exUnit, "pt");
  EXPECT_EQ(dsc.inputs, (std::vector<int64_t>{0, 1}));
}

TEST(SuperDscEmitter, MatmulNamesFourAndFiveDims) {
  const auto coordinates = [](const char *row, const char *stick) {
    return std::vector<Coordinate>{sym("a"), sym("b"), tile(stick), sym(row), lane(stick)};
  };
  const OpSpec spec =
      makeSpec("batchmatmul", {{"a", 2, 2}, {"b", 3, 1}, {"m", 1, 1}, {"n", 64, 1}, {"k", 64, 1}},
               {tensor({2, 3, 1, 1, 64}, coordinates("m", "k")),
                tensor({2, 3, 1, 64, 64}, coordinates("k", "n")),
                tensor({2, 3, 1, 1, 64}, coordinates("m", "n"))},
               true);
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.size, (Scale{{"y", 2}, {"x", 3}, {"mb", 1}, {"out", 64}, {"in", 64}}));
  EXPECT_EQ(dsc.layouts[0].dimOrder, (std::vector<std::string>{"mb", "in", "x", "y"}));
  EXPECT_EQ(dsc.layouts[1].dimOrder, (std::vector<std::string>{"in", "out", "x", "y"}));
  EXPECT_EQ(dsc.layouts[2].dimOrder, (std::vector<std::string>{"mb", "out", "x", "y"}));
}

TEST(SuperDscEmitter, SliceOfABiggerBufferHasOffsetAndGap) {
  // Rows 64..95 and stick columns 2..3 of [200, 320].
  OpSpec spec =
      makeSpec("identity", {{"c0", 32, 2}, {"c1", 128, 1}},
               {tensor({5, 200, 64}, {tile("c1", 2), sym("c0", 64), lane("c1")}), matrix(32, 128)});
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.tensors[0].backGap, (Scale{{"mb", 168}, {"out", 192}}));
  const int64_t first = 128 * (2 * 200 + 64);
  EXPECT_EQ(dsc.tensors[0].startAddress, (std::vector<int64_t>{first, first + 16 * 128}));
  EXPECT_TRUE(dsc.tensors[1].backGap.empty());
}

// Row 5 of [8, 192]: the constant dimension lies innermost, so a dim of size 1 carries its gap.
TEST(SuperDscEmitter, SelectedRowGetsAUnitDim) {
  const OpSpec spec = makeSpec("identity", {{"c0", 192, 1}},
                               {tensor({3, 8, 64}, {tile("c0"), fixed(5), lane("c0")}),
                                tensor({1, 3, 64}, {fixed(), tile("c0"), lane("c0")})});
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.size, (Scale{{"mb", 1}, {"out", 192}}));
  EXPECT_EQ(dsc.tensors[0].backGap, (Scale{{"mb", 7}}));
  EXPECT_EQ(dsc.tensors[0].startAddress, std::vector<int64_t>{5 * 128});
  EXPECT_EQ(dsc.tensors[1].dimOrder, (std::vector<std::string>{"out", "mb"}));
  EXPECT_EQ(dsc.tensors[1].scale, (Scale{{"mb", 1}, {"out", 1}}));
}

TEST(SuperDscEmitter, UnalignedRestickifyLosesItsSplitAndHasReversedGaps) {
  const OpSpec spec = makeSpec("ReStickifyOpHBM", {{"c0", 100, 2}, {"c1", 192, 3}},
                               {tensor({3, 100, 64}, {tile("c1"), sym("c0"), lane("c1")}),
                                tensor({2, 192, 64}, {tile("c0"), sym("c1"), lane("c0")})});
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.size, (Scale{{"mb", 128}, {"out", 192}}));
  EXPECT_EQ(dsc.slices, (Scale{{"mb", 1}, {"out", 3}}));
  EXPECT_EQ(dsc.cores, 3);
  EXPECT_EQ(dsc.tensors[0].backGap, (Scale{{"mb", 28}}));
  EXPECT_TRUE(dsc.tensors[1].backGap.empty());
  EXPECT_EQ(dsc.layouts[0].label, "OUTPUT");
  EXPECT_EQ(dsc.layouts[1].label, "KERNEL");
}

TEST(SuperDscEmitter, RestickifyOfARangeOfOneIsPaddedToAStick) {
  const OpSpec spec = makeSpec("ReStickifyOpHBM", {{"c0", 1, 1}, {"c1", 64, 1}},
                               {tensor({1, 1, 64}, {tile("c1"), sym("c0"), lane("c1")}),
                                tensor({1, 64, 64}, {tile("c0"), sym("c1"), lane("c0")})});
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.size, (Scale{{"mb", 64}, {"out", 64}}));
  EXPECT_EQ(dsc.tensors[0].backGap, (Scale{{"mb", 63}}));
}

TEST(SuperDscEmitter, CopiesOfIntegersAreRelabelled) {
  OpSpec spec = makeSpec("identity", {{"c0", 32, 1}},
                         {tensor({1, 32}, {fixed(), Coordinate::mod("c0", 32)}),
                          tensor({1, 32}, {fixed(), Coordinate::mod("c0", 32)})});
  for (TensorArg &arg : spec.args) {
    arg.deviceDtype = numerics::DataFormat::IeeeInt32;
  }
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.format, numerics::DataFormat::IeeeFp32);
  EXPECT_EQ(dsc.tensors[1].format, numerics::DataFormat::IeeeFp32);
}

TEST(SuperDscEmitter, ConversionOfAVectorGetsADimBesideTheStick) {
  OpSpec spec =
      makeSpec("dl16tofp32", {{"c0", 128, 1}},
               {tensor({2, 64}, {tile("c0"), lane("c0")}),
                tensor({4, 32}, {Coordinate::floorDiv("c0", 32), Coordinate::mod("c0", 32)})});
  spec.args[1].deviceDtype = numerics::DataFormat::IeeeFp32;
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.size, (Scale{{"mb", 1}, {"out", 128}}));
  EXPECT_EQ(dsc.layouts.size(), 2u);
}

TEST(SuperDscEmitter, RefusesWhatTheInterfaceCannotSay) {
  struct Case {
    const char *text;
    OpSpec spec;
  };
  OpSpec mixedSticks = makeSpec(
      "add", {{"c0", 64, 1}, {"c1", 64, 1}},
      {matrix(64, 64), matrix(64, 64), tensor({1, 64, 64}, {tile("c0"), sym("c1"), lane("c0")})});
  OpSpec mixedFormats = makeSpec(
      "add", {{"c0", 4, 1}, {"c1", 64, 1}},
      {matrix(4, 64),
       tensor({2, 4, 32}, {Coordinate::floorDiv("c1", 32), sym("c0"), Coordinate::mod("c1", 32)}),
       matrix(4, 64)});
  mixedFormats.args[1].deviceDtype = numerics::DataFormat::IeeeFp32;
  OpSpec wrongK = matmul(4, 64, 64, 64);
  std::swap(wrongK.args[0], wrongK.args[1]);
  OpSpec unalignedSlice = makeSpec("ReStickifyOpHBM", {{"c0", 70, 1}, {"c1", 64, 1}},
                                   {tensor({1, 200, 64}, {tile("c1"), sym("c0"), lane("c1")}),
                                    tensor({2, 64, 64}, {tile("c0"), sym("c1"), lane("c0")})});
  OpSpec lxSlice = exampleA();
  lxSlice.args[2].deviceSize[1] = 16;
  OpSpec lxOffset = lxSlice;
  lxOffset.args[2].deviceCoordinates[1] = sym("c0", 8);
  OpSpec sparseRestickify =
      makeSpec("ReStickifyOpHBM", {{"c0", 64, 1}},
               {tensor({1, 64}, {fixed(), lane("c0")}), tensor({64, 64}, {sym("c0"), fixed()})});
  const std::vector<Case> cases = {
      {"restickify it", mixedSticks},           {"elements per stick", mixedFormats},
      {"the sticks must be K", wrongK},         {"give it the padded size", matmul(4, 64, 67, 67)},
      {"copy the slice first", unalignedSlice}, {"slice of a tensor in LX", lxSlice},
      {"slice of a tensor in LX", lxOffset},    {"each with one stick symbol", sparseRestickify},
  };
  for (const Case &c : cases) {
    EXPECT_ERROR(emitSuperDsc(c.spec, 0).status(), 5001, c.text);
  }
  EXPECT_ERROR(emitSuperDsc(exampleA(), -1).status(), 5001, "negative");
}
