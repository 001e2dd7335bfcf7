//===- QuantisedSticksTest.cpp - sticks of several dimensions, from text to JSON ------------===//
#include "spyre/Base/Math.h"

#include "SpecTestUtils.h"

#include <functional>
#include <map>

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;
using numerics::DataFormat;

namespace {

Coordinate pair(const char *name) { return Coordinate::mod(name, 2); }

TensorArg as(DataFormat format, TensorArg arg) {
  arg.deviceDtype = format;
  return arg;
}

/// [rows, 128 * tiles] x [.., 128] of fp8, K split over \p kCores.
OpSpec matmulFp8(int64_t m, int64_t n, int64_t k, int64_t kCores = 1) {
  const int64_t kTiles = ceilDiv(k, int64_t(128)), nTiles = ceilDiv(n, int64_t(64));
  return makeSpec("batchmatmulfp8", {{"m", m, 1}, {"n", n, 1}, {"k", k, kCores}},
                  {as(DataFormat::Sen143Fp8,
                      tensor({1, kTiles, m, 128}, {fixed(), Coordinate::floorDiv("k", 128),
                                                   sym("m"), Coordinate::mod("k", 128)})),
                   as(DataFormat::Sen143Fp8,
                      tensor({nTiles, kTiles * 64, 64, 2},
                             {tile("n"), Coordinate::floorDiv("k", 2), lane("n"), pair("k")})),
                   tensor({1, nTiles, m, 64}, {fixed(), tile("n"), sym("m"), lane("n")})},
                  true);
}

/// d in the sticks, o the partner, x beside both.
OpSpec packed(const std::string &op, int64_t x, int64_t o, int64_t d) {
  const DataFormat format = op.starts_with("qfp8")      ? DataFormat::Sen143Fp8
                            : op.starts_with("csqint4") ? DataFormat::SenInt4
                                                        : DataFormat::SenInt8;
  const bool isMb = op.ends_with("mb") || op == "csqint4";
  const int64_t lanes = numerics::elemsPerStick(format), perStick = isMb ? 2 : lanes / 64,
                width = lanes / perStick;
  const int64_t rows = roundUp(o, perStick), tiles = ceilDiv(d, width);
  const Coordinate dTile = Coordinate::floorDiv("d", width),
                   oTile = Coordinate::floorDiv("o", perStick),
                   row = Coordinate::mod("o", perStick);
  TensorArg out = isMb ? tensor({tiles, rows / 2, x, width / 8, 2, 8},
                                {dTile, oTile, sym("x"), Coordinate::mod("d", width / 8, 8), row,
                                 Coordinate::mod("d", 8)})
                       : tensor({1, tiles, rows / perStick, x, 64, perStick},
                                {fixed(), dTile, oTile, sym("x"), lane("d"), row});
  out.deviceDtype = format;
  OpSpec spec = makeSpec(op, {{"x", x, 1}, {"o", o, 1}, {"d", d, 1}},
                         {tensor({1, 1, tiles * width / 64, rows, x, 64},
                                 {fixed(), fixed(), tile("d"), sym("o"), sym("x"), lane("d")}),
                          out});
  if (op.starts_with("csq")) {
    spec.constants = {{"scaleact", 2}, {"shiftact", 0.5}};
  }
  return spec;
}

SuperDsc emit(const OpSpec &spec) {
  const SuperDsc dsc = valueOf(emitSuperDsc(spec, 0));
  const Status status = verifySuperDsc(dsc, arch::DeviceDesc());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(valueOf(readSuperDsc(writeSuperDsc(dsc))), dsc);
  return dsc;
}

const DscLayout &layoutOf(const SuperDsc &dsc, size_t tensor) {
  for (const DscLayout &layout : dsc.layouts) {
    if (layout.label == dsc.tensors[tensor].layout) {
      return layout;
    }
  }
  return dsc.layouts.front();
}

using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

} // namespace

TEST(QuantisedSticks, TextHasTheInnerDivisor) {
  EXPECT_EQ(Coordinate::mod("d", 8, 8).toString(), "Mod(floor(d/8), 8)");
  const OpSpec spec = packed("qfp8mb", 3, 4, 64);
  const std::string text = writeOpSpecs({spec});
  EXPECT_NE(text.find("sympify('Mod(floor(d/8), 8)'), sympify('Mod(o, 2)'), sympify('Mod(d, 8)')"),
            std::string::npos)
      << text;
  EXPECT_EQ(valueOf(parseOpSpecs(text)), std::vector<OpSpec>{spec});
}

TEST(QuantisedSticks, TextErrorsSayWhatIsMissing) {
  const std::string good = writeOpSpecs({packed("qfp8mb", 3, 4, 64)});
  const auto replaced = [&](const std::string &to) {
    std::string text = good;
    const std::string from = "Mod(floor(d/8), 8)";
    text.replace(text.find(from), from.size(), to);
    return parseOpSpecs(text).status();
  };
  EXPECT_ERROR(replaced("Mod(floor(d), 8)"), 1301, "expected '/'");
  EXPECT_ERROR(replaced("Mod(floor(d/8, 8)"), 1301, "expected ')'");
  EXPECT_ERROR(replaced("Mod(floor(floor(d/2)/8), 8)"), 1301, "expected '/'");
  EXPECT_ERROR(replaced("Mod(Mod(d, 8), 8)"), 1301, "expected ','");
}

TEST(QuantisedSticks, VerifierKnowsTheStick) {
  EXPECT_EQ(stickRank(packed("qfp8mb", 3, 4, 64).args[1]), 3u);
  EXPECT_EQ(stickRank(packed("qfp8wt", 3, 4, 64).args[1]), 2u);
  EXPECT_EQ(stickRank(packed("qfp8wt", 3, 4, 64).args[0]), 1u);
  EXPECT_EQ(stickElements(packed("qfp8mb", 3, 4, 64).args[1], "d"), 64);
  EXPECT_EQ(stickElements(packed("qfp8mb", 3, 4, 64).args[1], "o"), 2);
  EXPECT_EQ(stickElements(packed("qfp8mb", 3, 4, 64).args[1], "x"), 1);
  EXPECT_EQ(stickRank(packed("csqint4", 3, 4, 128).args[1]), 3u);
  EXPECT_EQ(stickElements(packed("csqint4", 3, 4, 128).args[1], "d"), 128);
  EXPECT_EQ(stickRank(packed("csqint4wt", 3, 4, 64).args[1]), 2u);
  EXPECT_EQ(stickElements(packed("csqint4wt", 3, 4, 64).args[1], "o"), 4);
}

TEST(QuantisedSticks, VerifierChecksEachLaneCoordinate) {
  struct Case {
    const char *text;
    std::function<void(TensorArg &)> change;
  };
  const std::vector<Case> cases = {
      {"must be Mod of a known symbol",
       [](TensorArg &a) { a.deviceCoordinates[4] = Coordinate::constant(0); }},
      {"must be Mod of a known symbol",
       [](TensorArg &a) { a.deviceCoordinates[4] = Coordinate::mod("q", 2); }},
      {"must be Mod of a known symbol", [](TensorArg &a) { a.deviceCoordinates[4].offset = 1; }},
      {"divided by 8", [](TensorArg &a) { a.deviceCoordinates[3].inner = 1; }},
      {"divided by 1", [](TensorArg &a) { a.deviceCoordinates[5].inner = 8; }},
      {"modulo the device size 8", [](TensorArg &a) { a.deviceCoordinates[5].divisor = 4; }},
      {"at least 2",
       [](TensorArg &a) {
         a.deviceSize = {1, 2, 3, 128, 1, 1};
         a.deviceCoordinates[3] = Coordinate::mod("d", 128);
         a.deviceCoordinates[4] = Coordinate::mod("o", 1);
         a.deviceCoordinates[5] = Coordinate::mod("x", 1);
       }},
      {"the last sizes multiply", [](TensorArg &a) { a.deviceSize[4] = 3; }},
      {"nor the tile index", [](TensorArg &a) { a.deviceCoordinates[0].divisor = 8; }},
      {"nor the tile index", [](TensorArg &a) { a.deviceCoordinates[1] = sym("o"); }},
      {"more than one stick", [](TensorArg &a) { a.deviceCoordinates[1] = fixed(); }},
      {"the last coordinate",
       [](TensorArg &a) {
         a.deviceDtype = DataFormat::IeeeInt32;
         a.deviceSize = {1, 2, 3, 1, 1, 32};
         a.deviceCoordinates[3] = a.deviceCoordinates[4] = fixed();
         a.deviceCoordinates[5] = Coordinate::mod("d", 32, 2);
       }},
  };
  for (const Case &test : cases) {
    OpSpec spec = packed("qfp8mb", 3, 4, 64);
    test.change(spec.args[1]);
    EXPECT_ERROR(verifyOpSpec(spec), 1302, test.text);
  }
}

TEST(QuantisedSticks, CoresGetWholeSticksOfEveryDimension) {
  OpSpec spec = packed("qfp8wt", 3, 6, 64);
  spec.iterationSpace[1].cores = 3;
  EXPECT_TRUE(verifyOpSpec(spec).ok());
  spec.iterationSpace[1].cores = 6; // 6 elements, but 3 pairs
  EXPECT_ERROR(verifyOpSpec(spec), 1302, "6 cores do not divide its 3 sticks");
  OpSpec fours = packed("csqint4wt", 3, 8, 64);
  fours.iterationSpace[1].cores = 2;
  EXPECT_TRUE(verifyOpSpec(fours).ok());
  fours.iterationSpace[1].cores = 4; // 8 elements, but 2 sticks
  EXPECT_ERROR(verifyOpSpec(fours), 1302, "4 cores do not divide its 2 sticks");
}

// A tensor of 2^48 elements of 4 bits has the 2^47 bytes that are possible; one row more has not.
TEST(QuantisedSticks, HalfBytesAreCountedInSticks) {
  OpSpec spec = packed("csqint4wt", 1, 4, 64);
  spec.args[1].deviceSize[0] = int64_t(1) << 40;
  EXPECT_TRUE(verifyOpSpec(spec).ok());
  spec.args[1].deviceSize[0] += 1;
  EXPECT_ERROR(verifyOpSpec(spec), 1302, "is not positive or above");
}

TEST(QuantisedSticks, HalfBytesInTheJson) {
  const std::string text = writeSuperDsc(emit(packed("csqint4", 3, 4, 128)));
  const std::string word = "\"wordLength\": 0.5, \"dataFormat_\": \"SENINT4\"";
  ASSERT_NE(text.find(word), std::string::npos) << text;
  const auto replaced = [&](const std::string &to) {
    std::string changed = text;
    changed.replace(changed.find(word), word.size(), to);
    return readSuperDsc(changed).status();
  };
  EXPECT_ERROR(replaced("\"wordLength\": 1, \"dataFormat_\": \"SENINT4\""), 5002,
               "1 bytes; SENINT4 has 0.5");
  EXPECT_ERROR(replaced("\"wordLength\": 0.5, \"dataFormat_\": \"SENINT8\""), 5002,
               "0.5 bytes; SENINT8 has 1");
  EXPECT_ERROR(replaced("\"wordLength\": \"0.5\", \"dataFormat_\": \"SENINT4\""), 5002,
               "wordLength");
}

TEST(QuantisedSticks, MatmulHasTwoRowsInAStick) {
  const SuperDsc dsc = emit(matmulFp8(4, 100, 130));
  EXPECT_EQ(dsc.size, (DimMap<int64_t>{{"mb", 4}, {"out", 128}, {"in", 256}}));
  EXPECT_EQ(layoutOf(dsc, 0).stickDims, Names{"in"});
  EXPECT_EQ(layoutOf(dsc, 0).stickSizes, Sizes{128});
  EXPECT_EQ(layoutOf(dsc, 1).stickDims, (Names{"in", "out"}));
  EXPECT_EQ(layoutOf(dsc, 1).stickSizes, (Sizes{2, 64}));
  EXPECT_EQ(dsc.tensors[1].dimOrder, (Names{"in", "out"}));
  EXPECT_EQ(layoutOf(dsc, 2).stickSizes, Sizes{64});
  EXPECT_EQ(dsc.masking, (DimMap<std::pair<int64_t, int64_t>>{{"in", {130, 126}}}));
  EXPECT_EQ(dsc.exUnit, "pt");
  EXPECT_EQ(dsc.format, DataFormat::Sen143Fp8);
}

TEST(QuantisedSticks, ConversionsPadEveryStickDimension) {
  const SuperDsc mb = emit(packed("csqint8mb", 3, 5, 100));
  EXPECT_EQ(mb.size, (DimMap<int64_t>{{"mb", 3}, {"x", 6}, {"out", 128}}));
  EXPECT_EQ(layoutOf(mb, 0).stickDims, Names{"out"});
  EXPECT_EQ(layoutOf(mb, 1).stickDims, (Names{"out", "x", "out"}));
  EXPECT_EQ(layoutOf(mb, 1).stickSizes, (Sizes{8, 2, 8}));
  EXPECT_EQ(mb.constants.size(), 2u);
  EXPECT_TRUE(mb.masking.empty());
  const SuperDsc wt = emit(packed("qfp8wt", 3, 5, 100));
  EXPECT_EQ(layoutOf(wt, 1).stickDims, (Names{"x", "out"}));
  EXPECT_EQ(layoutOf(wt, 1).stickSizes, (Sizes{2, 64}));
}

TEST(QuantisedSticks, ConversionsTo4BitsHaveFourSticksInOne) {
  const SuperDsc mb = emit(packed("csqint4", 3, 5, 130));
  EXPECT_EQ(mb.size, (DimMap<int64_t>{{"mb", 3}, {"x", 6}, {"out", 256}}));
  EXPECT_EQ(layoutOf(mb, 1).stickDims, (Names{"out", "x", "out"}));
  EXPECT_EQ(layoutOf(mb, 1).stickSizes, (Sizes{8, 2, 16}));
  EXPECT_EQ(mb.tensors[1].format, DataFormat::SenInt4);
  const SuperDsc wt = emit(packed("csqint4wt", 3, 5, 130));
  EXPECT_EQ(wt.size, (DimMap<int64_t>{{"mb", 3}, {"x", 8}, {"out", 192}}));
  EXPECT_EQ(layoutOf(wt, 1).stickDims, (Names{"x", "out"}));
  EXPECT_EQ(layoutOf(wt, 1).stickSizes, (Sizes{4, 64}));
}

TEST(QuantisedSticks, VectorHasAUnitDimensionInEveryTensor) {
  const OpSpec spec =
      makeSpec("qfp8ch", {{"d", 100, 1}},
               {tensor({2, 64}, {tile("d"), lane("d")}),
                as(DataFormat::Sen143Fp8,
                   tensor({1, 128}, {Coordinate::floorDiv("d", 128), Coordinate::mod("d", 128)}))});
  const SuperDsc dsc = emit(spec);
  EXPECT_EQ(dsc.size, (DimMap<int64_t>{{"mb", 1}, {"out", 128}}));
  for (const DscTensor &tensor : dsc.tensors) {
    EXPECT_EQ(tensor.dimOrder, (Names{"mb", "out"}));
    EXPECT_EQ(tensor.scale, (DimMap<int64_t>{{"mb", 1}, {"out", 1}}));
  }
}

// The rule of SuperDsc.h, element by element, against the coordinates.
TEST(QuantisedSticks, AddressRuleHolds) {
  OpSpec split = packed("qfp8mb", 4, 8, 128);
  split.iterationSpace[0].cores = split.iterationSpace[1].cores = split.iterationSpace[2].cores = 2;
  OpSpec sliced = packed("qfp8wt", 3, 4, 64);
  sliced.args[1].deviceSize[2] += 2;
  sliced.args[1].deviceCoordinates[2].offset = 1;
  OpSpec split4 = packed("csqint4", 4, 4, 256);
  split4.iterationSpace[0].cores = split4.iterationSpace[1].cores = 2;
  split4.iterationSpace[2].cores = 2;
  OpSpec sliced4 = packed("csqint4wt", 3, 8, 128);
  sliced4.args[1].deviceSize[2] += 2;
  sliced4.args[1].deviceCoordinates[2].offset = 1;
  for (const OpSpec &spec : {split, sliced, split4, sliced4, matmulFp8(3, 128, 512, 2)}) {
    const SuperDsc dsc = emit(spec);
    for (size_t i = 0; i < spec.args.size(); ++i) {
      const TensorArg &arg = spec.args[i];
      const DscTensor &tensor = dsc.tensors[i];
      const DscLayout &layout = layoutOf(dsc, i);
      for (int64_t core = 0; core < dsc.cores; ++core) {
        // Points of the core's corner and of its far end.
        for (int64_t end : {0, 1, 7, 9, 65}) {
          int64_t byRule = tensor.startAddress[size_t(core)], stride = 128;
          std::map<std::string, int64_t> local, global;
          for (size_t d = 0; d < dsc.size.size(); ++d) {
            const auto &[label, count] = dsc.perCoreSize[d];
            const int64_t at = std::min(end, count - 1);
            local[label] = at;
            global[spec.iterationSpace[d].symbol] =
                *findDim(dsc.coreSlice[size_t(core)], label) * count + at;
          }
          for (const std::string &label : tensor.dimOrder) {
            int64_t lanes = 1;
            for (size_t p = 0; p < layout.stickDims.size(); ++p) {
              lanes *= layout.stickDims[p] == label ? layout.stickSizes[p] : 1;
            }
            const int64_t *gap = findDim(tensor.backGap, label);
            byRule += local[label] / lanes * stride;
            stride *= ceilDiv(*findDim(dsc.size, label) + (gap ? *gap : 0), lanes);
          }
          // From here on in bits.
          const int64_t elementBits = 1024 / numerics::elemsPerStick(tensor.format);
          byRule *= 8;
          int64_t inside = elementBits;
          std::map<std::string, int64_t> below;
          for (size_t p = 0; p < layout.stickDims.size(); ++p) {
            int64_t &part = below.emplace(layout.stickDims[p], 1).first->second;
            byRule += local[layout.stickDims[p]] / part % layout.stickSizes[p] * inside;
            part *= layout.stickSizes[p];
            inside *= layout.stickSizes[p];
          }
          int64_t element = 0;
          for (size_t j = 0; j < arg.deviceSize.size(); ++j) {
            const Coordinate &c = arg.deviceCoordinates[j];
            const int64_t value = c.kind == Coordinate::Kind::Constant ? 0 : global[c.symbol];
            const int64_t index = c.kind == Coordinate::Kind::Floor ? value / c.divisor
                                  : c.kind == Coordinate::Kind::Mod ? value / c.inner % c.divisor
                                                                    : value;
            element = element * arg.deviceSize[j] + index + c.offset;
          }
          ASSERT_EQ(byRule, arg.address * 8 + element * elementBits)
              << spec.op << " argument " << i << " core " << core << " at " << end;
        }
      }
    }
  }
}

TEST(QuantisedSticks, EmitterRefusesWhatBreaksTheRules) {
  struct Case {
    const char *text;
    OpSpec spec;
  };
  std::vector<Case> cases;
  const auto add = [&](const char *text, OpSpec spec, const std::function<void(OpSpec &)> &change) {
    change(spec);
    cases.push_back({text, std::move(spec)});
  };
  add("2 of K (k) inside 64 of N (n)", matmulFp8(4, 128, 128), [](OpSpec &s) {
    s.args[1].deviceSize = {1, 1, 128, 128};
    s.args[1].deviceCoordinates = {fixed(), Coordinate::floorDiv("n", 128), sym("k"),
                                   Coordinate::mod("n", 128)};
  });
  add("2 of K (k) inside 64 of N (n)", matmulFp8(4, 64, 128), [](OpSpec &s) {
    std::swap(s.args[1].deviceSize[2], s.args[1].deviceSize[3]);
    std::swap(s.args[1].deviceCoordinates[2], s.args[1].deviceCoordinates[3]);
  });
  add("it multiplies SEN143_FP8", matmulFp8(4, 64, 128),
      [](OpSpec &s) { s.args[1].deviceDtype = DataFormat::SenInt8; });
  add("it multiplies SENINT8", matmulFp8(4, 64, 128), [](OpSpec &s) { s.op = "batchmatmulint8"; });
  add("2 dimensions in its stick", matmulFp8(4, 64, 128), [](OpSpec &s) { s.op = "batchmatmul"; });
  add("give it the padded size", matmulFp8(4, 64, 128), [](OpSpec &s) {
    s.iterationSpace[2].range = 100;
    s.args[1].deviceSize[1] = 50;
  });
  add("2 dimensions in its stick", packed("qfp8wt", 3, 4, 64), [](OpSpec &s) {
    std::swap(s.args[0].deviceDtype, s.args[1].deviceDtype);
    std::swap(s.args[0].deviceSize, s.args[1].deviceSize);
    std::swap(s.args[0].deviceCoordinates, s.args[1].deviceCoordinates);
  });
  add("[8, 2, 8] with a partner", packed("qfp8wt", 3, 4, 64), [](OpSpec &s) { s.op = "qfp8mb"; });
  add("[64, 2] with a partner", packed("qfp8mb", 3, 4, 64), [](OpSpec &s) { s.op = "qfp8wt"; });
  add("of the input's stick alone", packed("qfp8mb", 3, 4, 64), [](OpSpec &s) { s.op = "qfp8ch"; });
  add("it converts SEN169_FP16 to SENINT8", packed("qfp8mb", 3, 4, 64),
      [](OpSpec &s) { s.op = "csqint8mb"; });
  add("[16, 2, 8] with a partner", packed("csqint4wt", 3, 4, 64),
      [](OpSpec &s) { s.op = "csqint4"; });
  add("[64, 4] with a partner", packed("csqint4", 3, 4, 128),
      [](OpSpec &s) { s.op = "csqint4wt"; });
  add("it converts SEN169_FP16 to SENINT8", packed("csqint4wt", 3, 4, 64),
      [](OpSpec &s) { s.op = "csqint8wt"; });
  add("it converts SEN169_FP16 to SENINT4", packed("csqint8mb", 3, 4, 64),
      [](OpSpec &s) { s.op = "csqint4"; });
  add("the output's stick must be [16, 2, 8]", packed("csqint4", 3, 4, 128), [](OpSpec &s) {
    s.args[1].deviceSize = {1, 2, 3, 8, 4, 8}; // Half of d, twice as much of o.
    s.args[1].deviceCoordinates[0] = tile("d");
    s.args[1].deviceCoordinates[1] = Coordinate::floorDiv("o", 4);
    s.args[1].deviceCoordinates[3].divisor = 8;
    s.args[1].deviceCoordinates[4].divisor = 4;
    s.iterationSpace[2].range = 64;
  });
  add("hold the partner dimension o", packed("csqint4", 3, 4, 128),
      [](OpSpec &s) { s.args[0].deviceCoordinates[3] = fixed(); });
  add("give it the padded size", packed("csqint4", 3, 4, 128),
      [](OpSpec &s) { // One stick of input for half a stick of output.
        s.args[0].deviceSize[2] = 1;
        s.iterationSpace[2].range = 64;
      });
  add("2 dimensions in its stick", packed("csqint4wt", 3, 4, 64), [](OpSpec &s) {
    s.op = "identity";
    s.constants.clear();
    s.args[0] = s.args[1];
    s.args[0].isInput = true;
    s.args[0].argIndex = 0;
  });
  add("hold the partner dimension o", packed("qfp8mb", 3, 4, 64),
      [](OpSpec &s) { s.args[0].deviceCoordinates[3] = fixed(); });
  add("2 dimensions in its stick", packed("qfp8wt", 3, 4, 64), [](OpSpec &s) {
    s.op = "identity";
    s.args[0] = s.args[1];
    s.args[0].isInput = true;
    s.args[0].argIndex = 0;
  });
  add("one value per stick", packed("qfp8wt", 3, 4, 64),
      [](OpSpec &s) { s.args[0].deviceCoordinates[2] = s.args[0].deviceCoordinates[5] = fixed(); });
  add("a conversion has one input", packed("qfp8wt", 3, 4, 64),
      [](OpSpec &s) { s.isReduction = true; });
  for (const Case &test : cases) {
    EXPECT_ERROR(emitSuperDsc(test.spec, 0).status(), 5001, test.text);
  }
}

TEST(QuantisedSticks, ReaderAndVerifierCheckTheStick) {
  const SuperDsc good = emit(packed("qfp8mb", 3, 4, 64));
  SuperDsc neighbours = good;
  neighbours.layouts[1].stickDims = {"out", "out", "x"};
  EXPECT_ERROR(verifySuperDsc(neighbours, arch::DeviceDesc()), 5003, "neighbours different");
  SuperDsc foreign = good;
  foreign.layouts[1].stickDims[1] = "in";
  EXPECT_ERROR(verifySuperDsc(foreign, arch::DeviceDesc()), 5003, "one of its dimensions");
  SuperDsc half = good;
  half.perCoreSize[1].second = half.size[1].second = 3;
  EXPECT_ERROR(verifySuperDsc(half, arch::DeviceDesc()), 5003, "not whole sticks of 2");
  std::string text = writeSuperDsc(good);
  const std::string sizes = "\"stickSize_\": [8, 2, 8]";
  ASSERT_NE(text.find(sizes), std::string::npos) << text;
  text.replace(text.find(sizes), sizes.size(), "\"stickSize_\": [1024, 1024, 1024]");
  EXPECT_ERROR(readSuperDsc(text).status(), 5002, "more than 1024 elements in a stick");
}

TEST(QuantisedSticks, JsonMatchesTheGoldenFiles) {
  OpSpec mb = packed("csqint8mb", 4, 4, 128);
  mb.iterationSpace[1].cores = 2;
  expectGolden("superdsc/csqint8mb-2-cores.json", writeSuperDsc(emit(mb)));
  OpSpec half = packed("csqint4", 3, 4, 256);
  half.iterationSpace[2].cores = 2;
  expectGolden("superdsc/csqint4-2-cores.json", writeSuperDsc(emit(half)));
  expectGolden("superdsc/batchmatmulfp8-ksplit.json",
               writeSuperDsc(emit(matmulFp8(8, 64, 256, 2))));
}
