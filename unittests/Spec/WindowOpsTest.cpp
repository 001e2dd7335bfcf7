//===- WindowOpsTest.cpp - text, rules and SuperDSCs of convolutions, pooling, running sums ===//
#include "spyre/Spec/Windows.h"

#include "SpecTestUtils.h"

#include <functional>

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

using Sizes = DimMap<int64_t>;
using Names = std::vector<std::string>;

/// Two images of [8, 6 or more, 70 channels]; window [3, 2], strides 2 and 1, dilations 1 and 3, to
/// [2, 3, 3, 100].
OpSpec convolution() {
  return makeSpec(
      "conv2d",
      {{"b", 2, 1},
       {"y", 3, 3},
       {"x", 3, 1},
       {"c", 100, 2},
       {"u", 3, 1},
       {"v", 2, 1},
       {"k", 70, 1}},
      {tensor({2, 8, 2, 6, 64}, {sym("b"), Coordinate::window("y", 2, "u", 1), tile("k"),
                                 Coordinate::window("x", 1, "v", 3), lane("k")}),
       tensor({3, 2, 2, 128, 64}, {sym("u"), sym("v"), tile("c"), sym("k"), lane("c")}),
       tensor({2, 3, 2, 3, 64}, {sym("b"), sym("y"), tile("c"), sym("x"), lane("c")})},
      true);
}

OpSpec pool(const char *op) {
  OpSpec spec = makeSpec(op, {{"b", 2, 1}, {"y", 4, 2}, {"c", 64, 1}, {"u", 2, 1}},
                         {tensor({2, 9, 1, 64}, {sym("b"), Coordinate::window("y", 2, "u", 1, 1),
                                                 tile("c"), lane("c")}),
                          tensor({2, 4, 1, 64}, {sym("b"), sym("y"), tile("c"), lane("c")})},
                         true);
  return spec;
}

OpSpec cumsum() {
  TensorArg arg =
      tensor({2, 5, 32}, {Coordinate::floorDiv("c", 32), sym("s"), Coordinate::mod("c", 32)});
  arg.deviceDtype = numerics::DataFormat::IeeeFp32;
  return makeSpec("x_cumsum", {{"c", 64, 1}, {"s", 5, 1}}, {arg, arg});
}

Status verified(OpSpec spec, const std::function<void(OpSpec &)> &change) {
  change(spec);
  return verifyOpSpec(spec);
}

} // namespace

TEST(WindowText, RoundTripsAndHasNoOrder) {
  EXPECT_EQ(Coordinate::window("y", 2, "ki", 1, 5).toString(), "2*y + ki + 5");
  EXPECT_EQ(Coordinate::window("y", 1, "ki", 3).toString(), "y + 3*ki");
  const std::vector<OpSpec> specs{convolution(), pool("maxpoolfwd")};
  std::string text = writeOpSpecs(specs);
  EXPECT_EQ(valueOf(parseOpSpecs(text)), specs);
  for (const char *other : {"'u + 2*y'", "' u+2 * y '", "'0 + u + 2*y'"}) {
    std::string turned = text;
    turned.replace(turned.find("'2*y + u'"), 9, other);
    EXPECT_EQ(valueOf(parseOpSpecs(turned)), specs) << other;
  }
}

TEST(WindowText, RefusesWhatIsNoWindow) {
  const std::string text = writeOpSpecs({convolution()});
  const auto replaced = [&](const std::string &by) {
    std::string changed = text;
    changed.replace(changed.find("'2*y + u'"), 9, "'" + by + "'");
    return parseOpSpecs(changed).status();
  };
  EXPECT_ERROR(replaced("2*y"), 1301, "a symbol alone has factor 1");
  EXPECT_ERROR(replaced("2*y + u + v"), 1301, "a coordinate has one symbol, a window two");
  EXPECT_ERROR(replaced("2*y + u + 2*v"), 1301, "a window has two symbols");
  EXPECT_ERROR(replaced("y - u"), 1301, "a window two");
  EXPECT_ERROR(replaced("-2*y + u"), 1301, "expected end of text");
  EXPECT_ERROR(replaced("2*3 + u"), 1301, "a name");
  EXPECT_ERROR(replaced("floor(y/64) + 2*u"), 1301, "a window has two symbols");
}

TEST(WindowRules, AcceptTheExamples) {
  for (const OpSpec &spec : {convolution(), pool("maxpoolfwd"), pool("avgpoolfwd"), cumsum()}) {
    EXPECT_EQ(verifyOpSpec(spec).message(), "");
  }
}

TEST(WindowRules, WindowsStayInsideAndBelongToTheInputOfTheseOps) {
  using Kind = std::function<void(OpSpec &)>;
  const std::pair<Kind, const char *> wrong[] = {
      {[](OpSpec &s) { s.args[0].deviceSize[1] = 6; }, "2*y + u reaches outside"},
      {[](OpSpec &s) { s.args[0].deviceCoordinates[1].offset = 2; }, "reaches outside"},
      {[](OpSpec &s) { s.args[0].deviceCoordinates[1].factor = 0; }, "outside of 1..65536"},
      {[](OpSpec &s) { s.args[0].deviceCoordinates[1].windowFactor = -1; }, "outside of 1..65536"},
      {[](OpSpec &s) { s.op = "batchmatmul"; }, "only the input of a convolution"},
      {[](OpSpec &s) { s.args[0].deviceCoordinates[1].windowSymbol = "zz"; }, "two known symbols"},
      {[](OpSpec &s) { s.args[0].deviceCoordinates[1].windowSymbol = "y"; }, "two known symbols"},
      {[](OpSpec &s) { s.args[0].deviceCoordinates[1].windowSymbol = "k"; }, "not the stick's"},
      {[](OpSpec &s) { s.args[0].deviceCoordinates[1].windowSymbol = "v"; }, "two outer"},
      {[](OpSpec &s) { s.args[1].deviceCoordinates[0] = Coordinate::window("u", 1, "v", 1); },
       "only the input of a convolution"},
      {[](OpSpec &s) { s.args[0].deviceCoordinates[0].windowSymbol = "v"; }, "without a window"},
  };
  for (const auto &[change, part] : wrong) {
    EXPECT_ERROR(verified(convolution(), change), 1302, part);
  }
}

TEST(WindowRules, PartsOfTheOperation) {
  using Kind = std::function<void(OpSpec &)>;
  const std::pair<Kind, const char *> wrong[] = {
      {[](OpSpec &s) { s.isReduction = false; }, "reduction"},
      {[](OpSpec &s) { s.args.erase(s.args.begin() + 1); }, "a reduction with 2 inputs"},
      {[](OpSpec &s) { s.iterationSpace[4].cores = 3; }, "window symbol u is split"},
      {[](OpSpec &s) { std::swap(s.iterationSpace[4], s.iterationSpace[6]); }, "in this order"},
      {[](OpSpec &s) { std::swap(s.iterationSpace[0], s.iterationSpace[5]); }, "in this order"},
      {[](OpSpec &s) { s.op = "depthwiseconv2dnative"; }, "the others the same channels"},
      {[](OpSpec &s) { s.iterationSpace.insert(s.iterationSpace.begin(), {"z", 1, 1}); },
       "there is one batch symbol"},
      {[](OpSpec &s) { s.args[1].deviceCoordinates[0] = sym("b"); }, "all pixels share them"},
      {[](OpSpec &s) { s.args[1].deviceCoordinates[3] = fixed(); }, "a row per k"},
  };
  for (const auto &[change, part] : wrong) {
    EXPECT_ERROR(verified(convolution(), change), 1302, part);
  }
  EXPECT_ERROR(
      verified(pool("maxpoolfwd"), [](OpSpec &s) { s.args[0].deviceCoordinates[1] = sym("y"); }),
      1302, "symbol u is in no coordinate");
  EXPECT_ERROR(
      verified(pool("maxpoolfwd"), [](OpSpec &s) { s.args[0].deviceCoordinates.back() = fixed(); }),
      1302, "");
}

TEST(ScanRules, TheLastSymbolIsScanned) {
  EXPECT_ERROR(verified(cumsum(), [](OpSpec &s) { s.iterationSpace[1].cores = 5; }), 1302,
               "sums along s, the last symbol, which is split over 5 cores");
  EXPECT_ERROR(
      verified(cumsum(), [](OpSpec &s) { std::swap(s.iterationSpace[0], s.iterationSpace[1]); }),
      1302, "sums along c, the last symbol, which is a stick");
  EXPECT_ERROR(verified(cumsum(), [](OpSpec &s) { s.isReduction = true; }), 1302, "no reduction");
}

TEST(WindowSuperDsc, GoldenFiles) {
  expectGolden("superdsc/conv2d-strided.json",
               writeSuperDsc(valueOf(emitSuperDsc(convolution(), 0))));
  expectGolden("superdsc/x_cumsum.json", writeSuperDsc(valueOf(emitSuperDsc(cumsum(), 3))));
}

TEST(WindowSuperDsc, NamesDimensionsByTheirPart) {
  const SuperDsc dsc = valueOf(emitSuperDsc(convolution(), 0));
  EXPECT_EQ(dsc.size, (Sizes{{"mb", 2},
                             {"y", 3},
                             {"x", 3},
                             {"out", 128},
                             {"ki", 3},
                             {"kj", 2},
                             {"in", 128},
                             {"i", 8},
                             {"j", 6}}));
  EXPECT_EQ(*findDim(dsc.slices, "i"), 1);
  EXPECT_EQ(dsc.tensors[0].dimOrder, (Names{"j", "in", "i", "mb"}));
  EXPECT_EQ(dsc.tensors[1].dimOrder, (Names{"in", "out", "kj", "ki"}));
  EXPECT_EQ(dsc.tensors[2].dimOrder, (Names{"x", "out", "y", "mb"}));
  ASSERT_EQ(dsc.constants.size(), 3u);
  EXPECT_EQ(dsc.constants[0].name, "windowStrideY");
  EXPECT_EQ(numerics::dl16ToFloat(uint16_t(dsc.constants[0].bits)), 2);
  EXPECT_EQ(dsc.constants[1].name, "windowDilationX");
  EXPECT_EQ(dsc.constants[2].name, "samv-maskvalue");
  EXPECT_EQ(dsc.masking, (DimMap<std::pair<int64_t, int64_t>>{{"in", {70, 58}}}));
  EXPECT_EQ(dsc.exUnit, "pt");
  // Rows of pixels are 2 rows of the input apart: 2 x 2 x 6 sticks. Cores 0, 1, 2 have y.
  EXPECT_EQ(dsc.tensors[0].startAddress,
            (std::vector<int64_t>{0, 24 * 128, 48 * 128, 0, 24 * 128, 48 * 128}));
  EXPECT_EQ(valueOf(readSuperDsc(writeSuperDsc(dsc))), dsc);
  EXPECT_EQ(verifySuperDsc(dsc, *arch::DeviceDesc::preset("spyre")).message(), "");
}

TEST(WindowSuperDsc, OneWindowDimensionAndAnOffset) {
  const SuperDsc dsc = valueOf(emitSuperDsc(pool("maxpoolfwd"), 0));
  // Of nine rows the first is left out: a gap behind the eight from there on.
  EXPECT_EQ(dsc.size, (Sizes{{"mb", 2}, {"y", 4}, {"out", 64}, {"ki", 2}, {"i", 8}}));
  EXPECT_EQ(dsc.tensors[0].backGap, (Sizes{{"i", 1}}));
  EXPECT_EQ(dsc.tensors[0].startAddress, (std::vector<int64_t>{128, 5 * 128}));
  EXPECT_EQ(dsc.exUnit, "sfp");
}

TEST(WindowSuperDsc, RefusesWhatItCannotSay) {
  OpSpec spec = pool("maxpoolfwd");
  spec.args[0].deviceSize[1] = 5000;
  spec.args[0].deviceCoordinates[1].factor = 1025;
  EXPECT_ERROR(emitSuperDsc(spec, 0).status(), 5001, "holds whole numbers up to 1024");
  spec = pool("maxpoolfwd");
  spec.args[0].residency = Residency::Lx;
  spec.args[0].argIndex = -1;
  EXPECT_ERROR(emitSuperDsc(spec, 0).status(), 5001, "a slice of a tensor in LX");
  spec = convolution();
  spec.args[1].deviceSize[3] = 70;
  EXPECT_ERROR(emitSuperDsc(spec, 0).status(), 5001, "give it the padded size");
}
