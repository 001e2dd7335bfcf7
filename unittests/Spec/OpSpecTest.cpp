//===- OpSpecTest.cpp - text form and invariants of OpSpecs ---------------------------------===//
#include "spyre/Spec/LoopSpec.h"

#include "SpecTestUtils.h"

#include <cmath>
#include <functional>

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

TEST(OpSpecText, ExamplesMatchTheGoldenFile) {
  expectGolden("opspec/examples.txt", writeOpSpecs({exampleA(), exampleB()}));
}

TEST(OpSpecText, PrintsCoordinatesAsSympyDoes) {
  EXPECT_EQ(Coordinate::constant(5).toString(), "5");
  EXPECT_EQ(sym("c0").toString(), "c0");
  EXPECT_EQ(sym("c0", 64).toString(), "c0 + 64");
  EXPECT_EQ(sym("c0", -3).toString(), "c0 - 3");
  EXPECT_EQ(tile("c1", 2).toString(), "floor(c1/64) + 2");
  EXPECT_EQ(lane("c1").toString(), "Mod(c1, 64)");
}

TEST(OpSpecText, RoundTripsConstantsWithTheShortestText) {
  OpSpec spec = exampleA();
  spec.constants = {{"scaling_factor", 0.01}, {"eps", 1e-5}, {"one", 1.0}, {"third", 1.0 / 3.0},
                    {"big", 1e300},           {"neg", -2.5}, {"it's", 4}};
  const std::string text = writeOpSpecs({spec});
  EXPECT_NE(text.find("op_info={'constants': {'scaling_factor': 0.01, 'eps': 1e-05, 'one': 1.0"),
            std::string::npos)
      << text;
  EXPECT_EQ(valueOf(parseOpSpecs(text)), std::vector<OpSpec>{spec});
}

// People edit the text: blanks, line breaks, comments, bare expressions, trailing commas are free.
TEST(OpSpecText, AcceptsHandEdits) {
  const char *text = R"([ # one op
    OpSpec(args=[
      TensorArg(is_input=True,arg_index=0,device_dtype=DataFormats.SEN169_FP16,
        device_size=[1, 8, 64,], device_coordinates=[2 + floor(c1/64) - 1, c0 + 1 + 2, Mod(c1,64)],
        allocation={"pool": 128,}, stride_map=None, per_tile_fixed=False, name=None),
      TensorArg(allocation={'lx': 256}, is_input=False, device_dtype=IEEE_FP32,
        device_size=[1, 8, 32], device_coordinates=[0, sympify('c0'), Mod(c1, 32)])],
      op="exp", tiled_symbols=[],
      iteration_space={c0: (8, 2), sympify( 'c1' ): (sympify('64'), 1,)})
    ,])";
  const std::vector<OpSpec> specs = valueOf(parseOpSpecs(text));
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].op, "exp");
  EXPECT_EQ(specs[0].iterationSpace[1], (IterationDim{"c1", 64, 1}));
  const TensorArg &in = specs[0].args[0];
  EXPECT_EQ(in.residency, Residency::Pool);
  EXPECT_EQ(in.deviceCoordinates,
            (std::vector<Coordinate>{tile("c1", 1), sym("c0", 3), lane("c1")}));
  EXPECT_EQ(specs[0].args[1].residency, Residency::Lx);
  EXPECT_EQ(specs[0].args[1].argIndex, -1);
  EXPECT_EQ(specs[0].args[1].deviceDtype, numerics::DataFormat::IeeeFp32);
}

TEST(OpSpecText, EmptyListIsNoOps) { EXPECT_TRUE(valueOf(parseOpSpecs("[]")).empty()); }

TEST(OpSpecText, ErrorsSayLineAndColumn) {
  const auto failure = [](const std::string &text) { return parseOpSpecs(text).status(); };
  EXPECT_ERROR(failure(""), 1301, "line 1, column 1: expected '[', found end of text");
  EXPECT_ERROR(failure("[\n  Opspec()]"), 1301, "line 2, column 3: expected 'OpSpec'");
  EXPECT_ERROR(failure("[OpSpec(op='a')]"), 1301, "without 'iteration_space'");
  EXPECT_ERROR(failure("[OpSpec(op='a', op='b')]"), 1301, "given twice");
  EXPECT_ERROR(failure("[OpSpec(opp='a')]"), 1301, "OpSpec has no field 'opp'");
  EXPECT_ERROR(failure("[OpSpec(op='a)]"), 1301, "not closed");
  EXPECT_ERROR(failure("[] x"), 1301, "expected end of text");
  EXPECT_ERROR(failure("[$]"), 1301, "byte 0x24");
  const std::string good = writeOpSpecs({exampleA()});
  const auto replaced = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return failure(text);
  };
  EXPECT_ERROR(replaced("sympify('c0')", "sympify('c0 c1')"), 1301, "expected end of text");
  EXPECT_ERROR(replaced("'floor(c1/64)'", "'floor(c1/64) + c0'"), 1301, "one symbol");
  EXPECT_ERROR(replaced("'8'", "'99999999999999999999'"), 1301, "64 bits");
  EXPECT_ERROR(replaced("'hbm'", "'ddr'"), 1301, "'hbm', 'pool' or 'lx'");
  EXPECT_ERROR(replaced("SEN169_FP16", "FP16"), 1301, "device format");
  EXPECT_ERROR(replaced("is_input=True", "is_input=1"), 1301, "True or False");
  EXPECT_ERROR(replaced("op_info={}", "op_info={'k': 1}"), 1301, "'constants'");
}

TEST(OpSpecVerifier, AcceptsTheExamples) {
  EXPECT_TRUE(verifyOpSpec(exampleA()).ok()) << verifyOpSpec(exampleA()).message();
  EXPECT_TRUE(verifyOpSpec(exampleB()).ok()) << verifyOpSpec(exampleB()).message();
}

TEST(OpSpecVerifier, AcceptsAnOpOnScalars) {
  const OpSpec spec =
      makeSpec("add", {},
               {tensor({1, 64}, {fixed(), fixed()}), tensor({1, 64}, {fixed(), fixed()}),
                tensor({1, 64}, {fixed(), fixed()})});
  EXPECT_TRUE(verifyOpSpec(spec).ok()) << verifyOpSpec(spec).message();
}

// One change to a valid op per rule; each must be refused with a text that names the rule.
TEST(OpSpecVerifier, EveryRuleIsChecked) {
  struct Case {
    const char *text;
    std::function<void(OpSpec &)> change;
  };
  const std::vector<Case> cases = {
      {"op name", [](OpSpec &s) { s.op = ""; }},
      {"op name", [](OpSpec &s) { s.op = "a/b"; }},
      {"at least one input", [](OpSpec &s) { s.args.erase(s.args.begin(), s.args.begin() + 2); }},
      {"iteration symbols", [](OpSpec &s) { s.iterationSpace.resize(9); }},
      {"appears twice", [](OpSpec &s) { s.iterationSpace[1].symbol = "c0"; }},
      {"range 0", [](OpSpec &s) { s.iterationSpace[0].range = 0; }},
      {"split over 0 cores", [](OpSpec &s) { s.iterationSpace[0].cores = 0; }},
      {"3 cores do not divide its 8 elements", [](OpSpec &s) { s.iterationSpace[0].cores = 3; }},
      {"2 cores do not divide its 1 sticks", [](OpSpec &s) { s.iterationSpace[1].cores = 2; }},
      {"exactly the last argument is the output", [](OpSpec &s) { s.args[0].isInput = false; }},
      {"exactly the last argument is the output", [](OpSpec &s) { s.args[2].isInput = true; }},
      {"rank of the first", [](OpSpec &s) { s.args[1].deviceSize = {8, 64}; }},
      {"rank of the first", [](OpSpec &s) { s.args[1].deviceCoordinates.pop_back(); }},
      {"stride_map", [](OpSpec &s) { s.args[1].strideMap = {1}; }},
      {"elements of a stick", [](OpSpec &s) { s.args[0].deviceSize[2] = 32; }},
      {"is not positive or above", [](OpSpec &s) { s.args[0].deviceSize[0] = 0; }},
      {"is not positive or above", [](OpSpec &s) { s.args[0].deviceSize[0] = INT64_MAX; }},
      {"format SENINT2 is not one of 4 to 64 bits",
       [](OpSpec &s) { s.args[0].deviceDtype = numerics::DataFormat::SenInt2; }},
      {"format SEN153_FP9 is not one of 4 to 64 bits",
       [](OpSpec &s) { s.args[0].deviceDtype = numerics::DataFormat::Sen153Fp9; }},
      {"it must be the 256 elements of a stick",
       [](OpSpec &s) { s.args[0].deviceDtype = numerics::DataFormat::SenInt4; }},
      {"not a multiple of 128", [](OpSpec &s) { s.args[0].address = 64; }},
      {"not a multiple of 128", [](OpSpec &s) { s.args[0].address = -128; }},
      {"arg_index", [](OpSpec &s) { s.args[0].argIndex = -1; }},
      {"arg_index", [](OpSpec &s) { s.args[2].argIndex = 2; }},
      {"must be Mod(symbol, 64) or 0",
       [](OpSpec &s) { s.args[0].deviceCoordinates[2] = fixed(1); }},
      {"must be Mod(symbol, 64) or 0",
       [](OpSpec &s) { s.args[0].deviceCoordinates[2] = Coordinate::mod("c1", 32); }},
      {"must be Mod(symbol, 64) or 0",
       [](OpSpec &s) { s.args[0].deviceCoordinates[2] = lane("c7"); }},
      {"neither a constant", [](OpSpec &s) { s.args[0].deviceCoordinates[1] = sym("c7"); }},
      {"neither a constant", [](OpSpec &s) { s.args[0].deviceCoordinates[0] = sym("c1"); }},
      {"neither a constant", [](OpSpec &s) { s.args[0].deviceCoordinates[1] = tile("c0"); }},
      {"neither a constant", [](OpSpec &s) { s.args[0].deviceCoordinates[1] = lane("c0"); }},
      {"two outer coordinates",
       [](OpSpec &s) {
         s.args[0].deviceCoordinates = {sym("c0"), sym("c0"), lane("c1")};
         s.args[0].deviceSize = {8, 8, 64};
       }},
      {"outside the device size", [](OpSpec &s) { s.args[0].deviceCoordinates[1] = sym("c0", 1); }},
      {"outside the device size",
       [](OpSpec &s) { s.args[0].deviceCoordinates[1] = sym("c0", -1); }},
      {"outside the device size", [](OpSpec &s) { s.args[0].deviceCoordinates[1] = fixed(8); }},
      {"covers more than one stick",
       [](OpSpec &s) {
         s.iterationSpace[1].range = 65;
         s.args[0].deviceCoordinates[0] = fixed();
       }},
      {"not in the output", [](OpSpec &s) { s.args[2].deviceCoordinates[1] = fixed(); }},
      {"finite", [](OpSpec &s) { s.constants = {{"x", INFINITY}}; }},
      {"a matmul is a reduction", [](OpSpec &s) { s.op = "batchmatmul"; }},
      {"in no coordinate",
       [](OpSpec &s) {
         s.iterationSpace.push_back({"c2", 4, 1});
         s.isReduction = true;
       }},
  };
  for (const Case &c : cases) {
    OpSpec spec = exampleA();
    c.change(spec);
    EXPECT_ERROR(verifyOpSpec(spec), 1302, c.text);
    EXPECT_FALSE(emitSuperDsc(spec, 0).ok()) << c.text;
  }
}

TEST(OpSpecText, LimitsWordsBeforeTheyTakeTheMemory) {
  // 4 MiB of text, which would be 64 MiB of names.
  std::string text = "[LoopSpec(count=2, tiled_symbols=[";
  for (int i = 0; i < 2 << 20; ++i) {
    text += "a,";
  }
  EXPECT_ERROR(parseKernel(text + "], body=[])]").status(), 1301, "words; split the text");
}

TEST(OpSpecText, FaultsAreThoseThatStandFirst) {
  EXPECT_ERROR(parseOpSpecs("[OpSpec(op=7, $").status(), 1301, "line 1, column 12: expected");
  EXPECT_ERROR(parseOpSpecs("[OpSpec(op='add', $ 7").status(), 1301,
               "line 1, column 19: byte 0x24 starts no word");
  EXPECT_ERROR(parseOpSpecs("[] $").status(), 1301, "column 4: byte 0x24 starts no word");
  EXPECT_ERROR(parseOpSpecs("[OpSpec(op='add").status(), 1301, "the string is not closed");
}
