//===- UnevenTest.cpp - slices of two sizes, from the OpSpec to the card --------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Base/Math.h"
#include "spyre/Spec/Bundle.h"

#include "ConversionSpecs.h"
#include "DividedRuns.h"
#include "Specs.h"

#include <functional>

namespace spyre::backend::test {

namespace {

/// \p pieces elements or sticks of a symbol over \p cores; its range in elements.
struct Cut {
  int64_t pieces = 2, cores = 1;

  bool uneven() const { return pieces % cores != 0; }
  spec::IterationDim elements(const std::string &symbol) const {
    return {symbol, pieces, cores, uneven()};
  }
  /// The last stick has 40 elements.
  spec::IterationDim sticks(const std::string &symbol, int64_t lanes = 64) const {
    return {symbol, pieces * lanes - 24, cores, uneven()};
  }
};

OpSpec addOf(const Cut &rows, const Cut &columns) {
  const Shape all{{"a", "c"}, "c"};
  return opOf("add", {rows.elements("a"), columns.sticks("c")}, {all, all, all});
}

OpSpec broadcastOf(const Cut &rows, const Cut &columns) {
  return opOf("mul", {rows.elements("a"), columns.sticks("c")},
              {{{"a"}, ""}, {{"c"}, "c"}, {{"a", "c"}, "c"}});
}

OpSpec stickSumOf(const Cut &rows, const Cut &reduced) {
  return opOf("sum", {rows.elements("a"), reduced.sticks("r")}, {{{"a", "r"}, "r"}, {{"a"}, ""}});
}

OpSpec rowSumOf(const Cut &rows, const Cut &columns) {
  return opOf("sum", {rows.elements("a"), columns.sticks("c"), {"r", 6, 2}},
              {{{"a", "r", "c"}, "c"}, {{"a", "c"}, "c"}});
}

OpSpec matmulOf(const Cut &rows, const Cut &columns, int64_t kCores) {
  OpSpec spec =
      opOf("batchmatmul", {rows.elements("m"), columns.sticks("n"), {"k", 4 * 64, kCores}},
           {{{"m", "k"}, "k"}, {{"k", "n"}, "n"}, {{"m", "n"}, "n"}});
  return spec;
}

OpSpec restickifyOf(const Cut &rows, const Cut &sticks) {
  spec::IterationDim c = sticks.sticks("c");
  c.range = sticks.pieces * 64;
  return opOf("ReStickifyOpHBM", {rows.elements("a"), c, {"d", 128, 1}},
              {{{"a", "d", "c"}, "c"}, {{"a", "c", "d"}, "d"}});
}

OpSpec conversionOf(const Cut &rows, const Cut &columns) {
  std::vector<TensorArg> args;
  for (DataFormat format : {DataFormat::Sen169Fp16, DataFormat::IeeeFp32}) {
    const int64_t lanes = numerics::elemsPerStick(format);
    args.push_back(argOf(
        format, {rows.pieces, columns.pieces * 64 / lanes, lanes},
        {Coordinate::var("a"), Coordinate::floorDiv("c", lanes), Coordinate::mod("c", lanes)}));
  }
  return specOf("dl16tofp32", {rows.elements("a"), columns.sticks("c")}, std::move(args));
}

OpSpec topKOf(const Cut &rows, const Cut &columns) {
  OpSpec spec =
      opOf("topkvalue", {{"k", 2, 1}, rows.elements("a"), columns.sticks("c"), {"r", 7, 1}},
           {{{"a", "r", "c"}, "c"}, {{"a", "k", "c"}, "c"}});
  spec.isReduction = true;
  return spec;
}

OpSpec scanOf(const Cut &rows, const Cut &columns) {
  const TensorArg arg = argOf(DataFormat::IeeeFp32, {rows.pieces, columns.pieces, 5, 32},
                              {Coordinate::var("a"), Coordinate::floorDiv("c", 32),
                               Coordinate::var("s"), Coordinate::mod("c", 32)});
  return specOf("x_cumsum", {rows.elements("a"), columns.sticks("c", 32), {"s", 5, 1}}, {arg, arg});
}

int64_t coresOf(const OpSpec &spec) {
  int64_t cores = 1;
  for (const spec::IterationDim &dim : spec.iterationSpace) {
    cores *= dim.cores;
  }
  return cores;
}

class Uneven : public DividedRuns {
protected:
  /// Two phases: what all cores do, and what the first ones have left.
  void expectRun(const OpSpec &spec, int64_t coresWithMore, bool sameBits = true) {
    SCOPED_TRACE(spec::writeOpSpecs({spec}));
    Expected<program::Program> program = lowerAll({spec}, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    ASSERT_EQ(program->phases.size(), 2u);
    EXPECT_EQ(program->phases[0].cores, coresOf(spec));
    EXPECT_EQ(program->phases[1].cores, coresWithMore);
    runDivided(spec, coresOf(spec), sameBits);
  }
};

Status verdictOn(const OpSpec &spec) {
  return lowerAll({spec}, presetDevice("openspyre")).status();
}

/// On one line, without what indents the others.
std::string packed(const std::string &json) {
  std::string text;
  bool isIndent = false;
  for (char c : json) {
    isIndent = c == '\n' || (isIndent && c == ' ');
    if (!isIndent) {
      text += c;
    }
  }
  return text;
}

SuperDsc unevenDsc() { return dscOf(addOf({37, 32}, {2, 1})); }

} // namespace

TEST_F(Uneven, RowsOfPrimeAndOtherNumbers) {
  expectRun(addOf({37, 32}, {2, 1}), 5);
  expectRun(addOf({97, 32}, {2, 1}), 1);
  expectRun(addOf({8193, 32}, {1, 1}), 1);
  expectRun(addOf({8193, 31}, {1, 1}), 9);
  expectRun(addOf({33, 32}, {1, 1}), 1);
  expectRun(addOf({63, 32}, {1, 1}), 31);
}

TEST_F(Uneven, SticksWithAPartialLastOne) {
  expectRun(addOf({3, 1}, {37, 32}), 5);
  expectRun(addOf({2, 1}, {97, 32}), 1);
  expectRun(addOf({37, 5}, {6, 3}), 6);
  expectRun(addOf({6, 3}, {37, 5}), 6);
}

TEST_F(Uneven, EveryKindThatHasIndependentSlices) {
  expectRun(broadcastOf({37, 32}, {2, 1}), 5);
  expectRun(broadcastOf({4, 2}, {37, 16}), 10);
  expectRun(stickSumOf({97, 32}, {3, 1}), 1);
  expectRun(rowSumOf({37, 8}, {2, 1}), 10, /*sameBits=*/false);
  expectRun(rowSumOf({3, 1}, {37, 16}), 10, /*sameBits=*/false);
  expectRun(matmulOf({37, 32}, {2, 1}, 1), 5);
  expectRun(matmulOf({37, 7}, {4, 2}, 1), 4);
  expectRun(matmulOf({4, 1}, {37, 8}, 4), 20, /*sameBits=*/false);
  expectRun(restickifyOf({37, 32}, {2, 1}), 5);
  expectRun(restickifyOf({2, 1}, {11, 4}), 3);
  expectRun(conversionOf({37, 32}, {2, 1}), 5);
  expectRun(conversionOf({2, 1}, {37, 32}), 5);
  expectRun(topKOf({37, 32}, {1, 1}), 5);
  expectRun(topKOf({1, 1}, {37, 32}), 5);
  expectRun(scanOf({37, 32}, {2, 1}), 5);
}

TEST_F(Uneven, SplitSumsAddInTheOrderOfTheirSlices) {
  // Evenly divided along what it sums, unevenly along rows: the cohorts stay whole.
  expectRun(stickSumOf({7, 5}, {4, 4}), 8, /*sameBits=*/false);
}

TEST_F(Uneven, FewerCoresWaitForOneThatDoesAll) {
  Random random(3);
  for (int64_t rows : {37, 97, 8193}) {
    const OpSpec uneven = addOf({rows, 32}, {1, 1});
    const evaluator::Memory memory = randomMemory(uneven, random);
    std::optional<Run> many = runOnCard(uneven, memory), one = runOnCard(onOneCore(uneven), memory);
    ASSERT_TRUE(many && one);
    EXPECT_LT(many->counters.cycles, one->counters.cycles) << rows;
  }
}

TEST_F(Uneven, BundlesHaveTwoEntriesAndRunWithSymbolicArguments) {
  const OpSpec spec = addOf({37, 32}, {2, 1});
  Expected<Artifacts> bundle = spec::generateBundle({spec}, {.symbolicArguments = true});
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  Expected<Artifacts> code = compileBundle(*bundle, device);
  ASSERT_TRUE(code.ok()) << code.status().message();
  Expected<program::Program> program = program::readProgram(code->at("spyreCodeDir/init.bin"));
  ASSERT_TRUE(program.ok());
  for (program::Symbol &symbol : program->symbols) {
    symbol.value = device.segmentBase(*spec::parseBundleArgument(symbol.name));
  }
  Random random(5);
  evaluator::Memory memory = randomMemory(spec, random), expected = memory;
  ASSERT_TRUE(evaluator::evaluate({spec}, expected).ok());
  Status ran = card.run(*program, memory, &spec);
  ASSERT_TRUE(ran.ok()) << ran.text();
  EXPECT_TRUE(memory.arguments == expected.arguments);
}

//===- The text and the JSON ----------------------------------------------------------------===//

TEST_F(Uneven, IsWrittenAndReadBack) {
  const OpSpec spec = addOf({37, 32}, {2, 1});
  const std::string opSpec = spec::writeOpSpecs({spec});
  EXPECT_NE(opSpec.find("(sympify('37'), 32, 'uneven')"), std::string::npos) << opSpec;
  Expected<std::vector<OpSpec>> read = spec::parseOpSpecs(opSpec);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->front(), spec);

  Expected<SuperDsc> emitted = spec::emitSuperDsc(spec, 0);
  ASSERT_TRUE(emitted.ok()) << emitted.status().message();
  EXPECT_EQ(emitted->uneven, (spec::DscUneven{"mb", 5, 1}));
  const std::string json = spec::writeSuperDsc(*emitted), text = packed(json);
  Expected<SuperDsc> again = spec::readSuperDsc(json);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *emitted);
  EXPECT_EQ(spec::writeSuperDsc(*again), json);
  // Core 4 has two rows, core 5 one; each entry knows its cores.
  EXPECT_NE(text.find("\"4\": 0,\"5\": 1"), std::string::npos);
  EXPECT_NE(text.find("\"coreIdsUsed_\": [0, 1, 2, 3, 4]"), std::string::npos);
  EXPECT_NE(text.find("\"numCoresUsed_\": 27"), std::string::npos);
}

TEST_F(Uneven, EvenDivisionsAreWrittenAsEver) {
  const std::string text = packed(spec::writeSuperDsc(dscOf(addOf({32, 32}, {2, 1}))));
  EXPECT_NE(text.find("\"31\": 0"), std::string::npos);
  EXPECT_EQ(text.find("\"31\": 1"), std::string::npos);
  EXPECT_EQ(spec::writeOpSpecs({addOf({32, 32}, {2, 1})}).find("uneven"), std::string::npos);
}

TEST_F(Uneven, WhatHasNoUnevenFormIsRefused) {
  // The reduced symbol.
  OpSpec reduced = stickSumOf({4, 1}, {37, 32});
  EXPECT_EQ(verdictOn(reduced).code(), 1302);
  // Two symbols at once.
  EXPECT_EQ(verdictOn(addOf({7, 4}, {7, 4})).code(), 1302);
  // In truth even; fewer pieces than cores.
  OpSpec even = addOf({32, 32}, {2, 1});
  even.iterationSpace[0].uneven = true;
  EXPECT_EQ(verdictOn(even).code(), 1302);
  EXPECT_EQ(verdictOn(addOf({31, 32}, {2, 1})).code(), 1302);
  // Slices of two sizes do not fit the LX of one.
  OpSpec inLx = addOf({37, 32}, {2, 1});
  moveToLx(inLx.args[0], 0);
  Status status = verdictOn(inLx);
  EXPECT_EQ(status.code(), 1302);
  EXPECT_NE(status.text().find("is in LX"), std::string::npos) << status.text();
  // Not called uneven.
  OpSpec silent = addOf({37, 32}, {2, 1});
  silent.iterationSpace[0].uneven = false;
  EXPECT_EQ(verdictOn(silent).code(), 1302);
}

TEST_F(Uneven, SuperDscsOfOthersAreChecked) {
  struct Case {
    const char *part;
    std::function<void(SuperDsc &)> change;
  };
  const std::vector<Case> cases = {
      {"is not 4 slices of 2 and 28 of 1", [](SuperDsc &d) { d.uneven.largeSlices = 4; }},
      {"is not 32 slices of 2 and 0 of 1", [](SuperDsc &d) { d.uneven.largeSlices = 32; }},
      {"slices of 2 and 27 of 2", [](SuperDsc &d) { d.uneven.smallSize = 2; }},
      {"of 0", [](SuperDsc &d) { d.uneven.smallSize = 0; }},
      {"size 37 is not 32 slices of 2", [](SuperDsc &d) { d.uneven.dim = "x"; }},
      {"is in LX", [](SuperDsc &d) { d.tensors[1].inLx = true; }},
  };
  ASSERT_TRUE(spec::verifySuperDsc(unevenDsc(), device).ok());
  for (const Case &c : cases) {
    SuperDsc dsc = unevenDsc();
    c.change(dsc);
    Status status = spec::verifySuperDsc(dsc, device);
    EXPECT_EQ(status.code(), 5003) << c.part;
    EXPECT_NE(status.message().find(c.part), std::string::npos) << status.message();
    EXPECT_FALSE(lowerSuperDscs({dsc}, device).ok());
  }
}

TEST_F(Uneven, LargeSlicesBelongToTheFirstCores) {
  SuperDsc dsc = unevenDsc();
  std::swap(dsc.coreSlice[0], dsc.coreSlice[31]);
  for (spec::DscTensor &tensor : dsc.tensors) {
    std::swap(tensor.startAddress[0], tensor.startAddress[31]);
  }
  // The interface can say that, and it is read back; the machine's phases cannot.
  Expected<SuperDsc> read = spec::readSuperDsc(spec::writeSuperDsc(dsc));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, dsc);
  Status status = lowerSuperDscs({dsc}, device).status();
  EXPECT_EQ(status.code(), 5320) << status.message();
}

TEST_F(Uneven, EntriesThatSayDifferentThingsAreRefused) {
  const std::string good = packed(spec::writeSuperDsc(unevenDsc()));
  auto changed = [&](const std::string &from, const std::string &to, bool last) {
    std::string text = good;
    const size_t at = last ? text.rfind(from) : text.find(from);
    SPYRE_CHECK(at != std::string::npos, "the text is in the file");
    return text.replace(at, from.size(), to);
  };
  const std::string wrong[] = {
      changed("\"4\": 0,\"5\": 1", "\"4\": 1,\"5\": 1", false),
      changed("\"5\": 1", "\"5\": 2", false),
      changed("\"mb_\": 37", "\"mb_\": 38", true),
      changed("\"opFuncName\": \"add\"", "\"opFuncName\": \"sub\"", true),
      changed("SEN169_FP16", "IEEE_FP16", true),
      changed("\"coreIdsUsed_\": [0, 1, 2, 3, 4]", "\"coreIdsUsed_\": [0, 1, 2, 3, 5]", false),
  };
  ASSERT_TRUE(spec::readSuperDsc(good).ok());
  for (const std::string &text : wrong) {
    Expected<SuperDsc> read = spec::readSuperDsc(text);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().code(), 5002) << read.status().message();
  }
}

} // namespace spyre::backend::test
