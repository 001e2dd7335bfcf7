//===- IndirectTest.cpp - index tensors and divisions in LX: text, rules, SuperDSC ----------===//
#include "SpecTestUtils.h"

#include <functional>

namespace spyre::spec::test {

/// x[i] of the reference: x [128, 256], i [3, 192] [spec: front-end 4.5].
static OpSpec gatherExample() {
  OpSpec spec = makeSpec(
      "identity", {{"c0", 3, 1}, {"c1", 192, 2}, {"c2", 256, 1}},
      {tensor({1, 6, 3, 32},
              {fixed(), Coordinate::floorDiv("c1", 32), sym("c0"), Coordinate::mod("c1", 32)}),
       tensor({1, 4, 128, 64}, {fixed(), tile("c2"), Coordinate::indirect("i"), lane("c2")}),
       tensor({192, 4, 3, 64}, {sym("c1"), tile("c2"), sym("c0"), lane("c2")})});
  spec.args[0].deviceDtype = numerics::DataFormat::IeeeInt32;
  spec.args[0].name = "i";
  return spec;
}

/// Example A with its first input in LX, by columns of rows that the op does not have.
static OpSpec divisionExample() {
  OpSpec spec = exampleA();
  spec.iterationSpace = {{"c0", 8, 2}, {"c1", 128, 1}};
  for (TensorArg &arg : spec.args) {
    arg.deviceSize[0] = 2;
  }
  spec.args[0].residency = Residency::Lx;
  spec.args[0].argIndex = -1;
  spec.args[0].address = 2048;
  spec.args[0].lxDivision = {{"c1", 2}};
  return spec;
}

TEST(Indirect, TextRoundTrips) {
  const std::vector<OpSpec> specs{gatherExample(), divisionExample()};
  const std::string text = writeOpSpecs(specs);
  EXPECT_NE(text.find("sympify('floor(c2/64)'), IndirectAccess('i'), sympify('Mod(c2, 64)')]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("allocation={'hbm': 0}, name='i',)"), std::string::npos) << text;
  EXPECT_NE(text.find("stride_map=[64, 64, 1], lx_division={sympify('c1'): 2},)"),
            std::string::npos)
      << text;
  EXPECT_EQ(valueOf(parseOpSpecs(text)), specs);
  // An expression is one with and without sympify; nothing but a name may be inside.
  std::string wrapped = text;
  wrapped.replace(wrapped.find("IndirectAccess('i')"), 19, "sympify(\"IndirectAccess('i')\")");
  EXPECT_EQ(valueOf(parseOpSpecs(wrapped)), specs);
  for (const char *wrong : {"IndirectAccess(i)", "IndirectAccess()", "IndirectAccess('i'",
                            "c0 + IndirectAccess('i')", "-IndirectAccess('i')"}) {
    std::string broken = text;
    broken.replace(broken.find("IndirectAccess('i')"), 19, wrong);
    EXPECT_ERROR(parseOpSpecs(broken).status(), 1301, "expected");
  }
}

TEST(Indirect, MatchesTheGoldenFiles) {
  expectGolden("opspec/indirect.txt", writeOpSpecs({gatherExample(), divisionExample()}));
  expectGolden("superdsc/gather.json", writeSuperDsc(valueOf(emitSuperDsc(gatherExample(), 0))));
  expectGolden("superdsc/lx-division.json",
               writeSuperDsc(valueOf(emitSuperDsc(divisionExample(), 1))));
}

TEST(Indirect, EveryRuleOfIndicesIsChecked) {
  const std::vector<std::pair<const char *, std::function<void(OpSpec &)>>> cases{
      {"scatter", [](OpSpec &s) { s.args[2].deviceCoordinates[2] = Coordinate::indirect("i"); }},
      {"no argument has the name", [](OpSpec &s) { s.args[0].name.clear(); }},
      {"index tensors come first", [](OpSpec &s) { std::swap(s.args[0], s.args[1]); }},
      {"index tensors come first", [](OpSpec &s) { s.args[0].name = std::string(65, 'i'); }},
      {"IEEE_INT32 or SENUINT32",
       [](OpSpec &s) { s.args[0].deviceDtype = numerics::DataFormat::IeeeFp32; }},
      {"not chosen by indices themselves",
       [](OpSpec &s) { s.args[0].deviceCoordinates[2] = Coordinate::indirect("i"); }},
      {"remove the index tensor",
       [](OpSpec &s) { s.args[1].deviceCoordinates[2] = Coordinate::constant(0); }},
      {"two indirect coordinates",
       [](OpSpec &s) { s.args[1].deviceCoordinates[0] = Coordinate::indirect("i"); }},
      {"must be Mod(symbol, 64) or 0",
       [](OpSpec &s) { s.args[1].deviceCoordinates[3] = Coordinate::indirect("i"); }},
      {"reaches outside", [](OpSpec &s) { s.args[1].deviceCoordinates[2].offset = 1; }},
      {"neither whole sticks of 32 nor", [](OpSpec &s) { s.iterationSpace[1].cores = 4; }},
      {"3 cores do not divide its 2 elements",
       [](OpSpec &s) { s.iterationSpace[0] = {"c0", 2, 3}; }},
  };
  ASSERT_TRUE(verifyOpSpec(gatherExample()).ok()) << verifyOpSpec(gatherExample()).message();
  for (const auto &[text, change] : cases) {
    OpSpec spec = gatherExample();
    change(spec);
    EXPECT_ERROR(verifyOpSpec(spec), 1302, text);
    EXPECT_FALSE(emitSuperDsc(spec, 0).ok()) << text;
  }
}

TEST(Indirect, EmitsSeveralDimensionsOfIndices) {
  const SuperDsc dsc = valueOf(emitSuperDsc(gatherExample(), 0));
  // mb = c0, x = c1: the table has 128 rows, all along the inner dimension of its indices.
  EXPECT_EQ(dsc.tensors[0].dimOrder, (std::vector<std::string>{"mb", "x", "out"}));
  EXPECT_EQ(dsc.tensors[1].dimOrder, (std::vector<std::string>{"mb", "x", "out"}));
  EXPECT_EQ(dsc.tensors[1].indirectDims, (std::vector<std::string>{"mb", "x"}));
  EXPECT_EQ(dsc.tensors[1].backGap, (DimMap<int64_t>{{"mb", 125}, {"x", -191}}));
  EXPECT_EQ(dsc.tensors[0].backGap, DimMap<int64_t>());
  EXPECT_EQ(dsc.tensors[0].startAddress, (std::vector<int64_t>{0, 3 * 3 * 128}));
  EXPECT_EQ(dsc.indexTensors, std::vector<int64_t>{0});
  EXPECT_EQ(dsc.inputs, std::vector<int64_t>{1});
  const std::string text = writeSuperDsc(dsc);
  EXPECT_EQ(valueOf(readSuperDsc(text)), dsc);
  EXPECT_EQ(writeSuperDsc(valueOf(readSuperDsc(text))), text);
  EXPECT_TRUE(verifySuperDsc(dsc, arch::DeviceDesc()).ok());
}

TEST(Indirect, EachTensorGetsItsOwnIndices) {
  OpSpec spec = gatherExample();
  spec.op = "add";
  spec.args.insert(spec.args.begin() + 2, spec.args[1]);
  const SuperDsc dsc = valueOf(emitSuperDsc(spec, 0));
  ASSERT_EQ(dsc.tensors.size(), 5u);
  EXPECT_EQ(dsc.indexTensors, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(dsc.tensors[0].startAddress, dsc.tensors[1].startAddress);
  EXPECT_EQ(dsc.tensors[2].indirectPartner + dsc.tensors[3].indirectPartner, 1);
  EXPECT_TRUE(verifySuperDsc(dsc, arch::DeviceDesc()).ok());
  EXPECT_EQ(valueOf(readSuperDsc(writeSuperDsc(dsc))), dsc);
}

TEST(Indirect, RefusesWhatTheInterfaceCannotSay) {
  const auto failure = [](const std::function<void(OpSpec &)> &change) {
    OpSpec spec = gatherExample();
    change(spec);
    return emitSuperDsc(spec, 0).status();
  };
  EXPECT_ERROR(failure([](OpSpec &s) {
                 s.args[1].deviceCoordinates[0] = sym("c0");
                 s.args[1].deviceSize[0] = 3;
               }),
               5001, "a symbol of its own that its indices have");
  EXPECT_ERROR(failure([](OpSpec &s) {
                 s.args[1].deviceCoordinates = {fixed(), fixed(), Coordinate::indirect("i"),
                                                fixed()};
                 s.args[0].deviceCoordinates = {Coordinate::floorDiv("c2", 32), fixed(), sym("c0"),
                                                Coordinate::mod("c2", 32)};
                 s.args[0].deviceSize = {8, 1, 3, 32};
               }),
               5001, "changes along the stick c2");
  EXPECT_ERROR(failure([](OpSpec &s) {
                 s.isReduction = true;
                 s.op = "sum";
               }),
               5001, "only element-wise operations and copies");
}

TEST(Division, BecomesTheOwnersOfTheAllocateNode) {
  const SuperDsc dsc = valueOf(emitSuperDsc(divisionExample(), 0));
  ASSERT_EQ(dsc.tensors[0].ownerSlice.size(), 2u);
  EXPECT_EQ(dsc.tensors[0].ownerSlice[1], (DimMap<int64_t>{{"mb", 0}, {"out", 1}}));
  EXPECT_EQ(slicesOf(dsc, dsc.tensors[0], "mb"), 1);
  EXPECT_EQ(slicesOf(dsc, dsc.tensors[0], "out"), 2);
  EXPECT_EQ(slicesOf(dsc, dsc.tensors[1], "mb"), 2);
  const std::string text = writeSuperDsc(dsc);
  EXPECT_EQ(valueOf(readSuperDsc(text)), dsc);
  EXPECT_EQ(writeSuperDsc(valueOf(readSuperDsc(text))), text);
  EXPECT_TRUE(verifySuperDsc(dsc, arch::DeviceDesc()).ok());
  // The operation's own division is said once.
  OpSpec same = divisionExample(), plain = divisionExample();
  same.args[0].lxDivision = {{"c0", 2}};
  plain.args[0].lxDivision.clear();
  EXPECT_EQ(writeSuperDsc(valueOf(emitSuperDsc(same, 0))),
            writeSuperDsc(valueOf(emitSuperDsc(plain, 0))));
  // Fewer slices than cores: the others hold nothing.
  OpSpec fewer = divisionExample();
  fewer.args[0].lxDivision = {{"c0", 1}};
  EXPECT_EQ(valueOf(emitSuperDsc(fewer, 0)).tensors[0].ownerSlice[1], DimMap<int64_t>());
}

TEST(Division, EveryRuleIsChecked) {
  const std::vector<std::pair<const char *, std::function<void(OpSpec &)>>> specCases{
      {"no input in LX", [](OpSpec &s) { s.args[1].lxDivision = {{"c0", 2}}; }},
      {"no input in LX", [](OpSpec &s) { s.args[2].lxDivision = {{"c0", 2}}; }},
      {"names 'c1' twice", [](OpSpec &s) { s.args[0].lxDivision = {{"c1", 1}, {"c1", 1}}; }},
      {"names 'c7'", [](OpSpec &s) { s.args[0].lxDivision = {{"c7", 1}}; }},
      {"must divide its 2 sticks", [](OpSpec &s) { s.args[0].lxDivision = {{"c1", 3}}; }},
      {"one number the other",
       [](OpSpec &s) {
         s.iterationSpace[0] = {"c0", 6, 2};
         s.args[0].lxDivision = {{"c0", 3}};
       }},
      {"lie in 4 cores", [](OpSpec &s) { s.args[0].lxDivision = {{"c0", 4}}; }},
  };
  for (const auto &[text, change] : specCases) {
    OpSpec spec = divisionExample();
    change(spec);
    EXPECT_ERROR(verifyOpSpec(spec), 1302, text);
  }
  const std::vector<std::pair<const char *, std::function<void(SuperDsc &)>>> cases{
      {"only an input in LX",
       [](SuperDsc &d) { d.tensors[1].ownerSlice = d.tensors[0].ownerSlice; }},
      {"only an input in LX",
       [](SuperDsc &d) { d.tensors[2].ownerSlice = d.tensors[0].ownerSlice; }},
      {"for 1 of 2 cores", [](SuperDsc &d) { d.tensors[0].ownerSlice.pop_back(); }},
      {"in no core's LX", [](SuperDsc &d) { d.tensors[0].ownerSlice[0] = {}; }},
      {"name all or none", [](SuperDsc &d) { d.tensors[0].ownerSlice[0] = {{"mb", 0}}; }},
      {"more slices than the 2 cores",
       [](SuperDsc &d) { d.tensors[0].ownerSlice[1] = {{"mb", 3}, {"out", 1}}; }},
      {"not 3 slices of equal size",
       [](SuperDsc &d) { d.tensors[0].ownerSlice[1] = {{"mb", 2}, {"out", 0}}; }},
  };
  for (const auto &[text, change] : cases) {
    SuperDsc dsc = valueOf(emitSuperDsc(divisionExample(), 0));
    change(dsc);
    EXPECT_ERROR(verifySuperDsc(dsc, arch::DeviceDesc()), 5003, text);
  }
}

} // namespace spyre::spec::test
