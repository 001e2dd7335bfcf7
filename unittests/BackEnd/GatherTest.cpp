//===- GatherTest.cpp - rows chosen by indices, from OpSpec to the device -------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "ExpectSame.h"
#include "GeneratorGather.h"
#include "Specs.h"

#include <cstdlib>
#include <cstring>
#include <functional>

namespace spyre::backend::test {

namespace {

/// A table of `rows` x `hidden` by indices over `entries` (outermost first); which of them are
/// outermost in the memory of table and output is a choice of the test.
struct Embedding {
  int64_t rows = 100, hidden = 128;
  /// Range and cores of each.
  std::vector<std::pair<int64_t, int64_t>> entries = {};
  int64_t hiddenCores = 1;
  bool hiddenOutside = true;
  std::string op = "identity";
};

std::string entryName(size_t i) { return fmt::format("c{}", i); }

TensorArg indexOf(const Embedding &e) {
  TensorArg arg;
  arg.name = "arg0_1";
  arg.deviceDtype = numerics::DataFormat::IeeeInt32;
  arg.deviceSize = {1};
  arg.deviceCoordinates = {Coordinate::constant(0)};
  const size_t last = e.entries.size() - 1;
  // As a host tensor of these entries is laid out: the sticks of the last one outermost.
  arg.deviceSize.push_back((e.entries[last].first + 31) / 32);
  arg.deviceCoordinates.push_back(Coordinate::floorDiv(entryName(last), 32));
  for (size_t i = 0; i < last; ++i) {
    arg.deviceSize.push_back(e.entries[i].first);
    arg.deviceCoordinates.push_back(Coordinate::var(entryName(i)));
  }
  arg.deviceSize.push_back(32);
  arg.deviceCoordinates.push_back(Coordinate::mod(entryName(last), 32));
  return arg;
}

OpSpec specOf(const Embedding &e) {
  OpSpec spec;
  spec.op = e.op;
  for (size_t i = 0; i < e.entries.size(); ++i) {
    spec.iterationSpace.push_back({entryName(i), e.entries[i].first, e.entries[i].second});
  }
  const std::string hidden = entryName(e.entries.size());
  spec.iterationSpace.push_back({hidden, e.hidden, e.hiddenCores});
  TensorArg value, output;
  auto add = [&](TensorArg &arg, int64_t size, const Coordinate &coordinate) {
    arg.deviceSize.push_back(size);
    arg.deviceCoordinates.push_back(coordinate);
  };
  const Coordinate tile = Coordinate::floorDiv(hidden, 64);
  const int64_t sticks = (e.hidden + 63) / 64;
  add(value, e.hiddenOutside ? sticks : e.rows,
      e.hiddenOutside ? tile : Coordinate::indirect("arg0_1"));
  add(value, e.hiddenOutside ? e.rows : sticks,
      e.hiddenOutside ? Coordinate::indirect("arg0_1") : tile);
  if (e.hiddenOutside) {
    add(output, sticks, tile);
  }
  for (size_t i = 0; i < e.entries.size(); ++i) {
    add(output, e.entries[i].first, Coordinate::var(entryName(i)));
  }
  if (!e.hiddenOutside) {
    add(output, sticks, tile);
  }
  for (TensorArg *arg : {&value, &output}) {
    add(*arg, 64, Coordinate::mod(hidden, 64));
  }
  output.isInput = false;
  spec.args = {indexOf(e), value, output};
  for (size_t i = 0; i < spec.args.size(); ++i) {
    TensorArg &arg = spec.args[i];
    arg.argIndex = int64_t(i);
    arg.address = int64_t(i) << 34;
    while (arg.deviceSize.size() < spec.args[0].deviceSize.size() ||
           arg.deviceSize.size() < output.deviceSize.size()) {
      arg.deviceSize.insert(arg.deviceSize.begin(), 1);
      arg.deviceCoordinates.insert(arg.deviceCoordinates.begin(), Coordinate::constant(0));
    }
  }
  return spec;
}

void expectSameSpec(const OpSpec &spec, const arch::DeviceDesc &device, Card &card,
                    uint64_t laneOps) {
  SCOPED_TRACE(spec::writeOpSpecs({spec}));
  Random random(17);
  RandomCase testCase{spec, randomMemory(spec, random), 0, laneOps};
  expectSame(testCase, card, device);
}

} // namespace

TEST(Gather, EmbeddingsOnAnyNumberOfCores) {
  for (const char *name : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(name);
    Card card(device);
    for (int64_t cores : {1, 3, 4, 32}) {
      for (int64_t perCore : {1, 5, 10, 20, 31, 32, 64}) {
        for (bool outside : {true, false}) {
          Embedding e{.rows = 70, .hidden = 100, .hiddenOutside = outside};
          int64_t used = std::min(cores, device.cores);
          e.entries = {{used * perCore, used}};
          expectSameSpec(specOf(e), device, card, 0);
          // Two rows of entries; the batch is split, then the tokens.
          e.entries = {{2, 1}, {used * perCore, used}};
          expectSameSpec(specOf(e), device, card, 0);
          e.entries = {{used, used}, {perCore, 1}};
          e.op = "gelufwd";
          expectSameSpec(specOf(e), device, card, uint64_t(used * perCore * 128));
        }
      }
    }
    // Rows in pieces: the hidden dimension is split.
    Embedding wide{.rows = 9, .hidden = 256, .entries = {{40, 1}}, .hiddenCores = 4};
    expectSameSpec(specOf(wide), device, card, 0);
  }
}

// More indices than the staging area holds, also inside a stick of them, and a rest behind them.
TEST(Gather, ManyIndicesComeInChunks) {
  arch::DeviceDesc tiny = presetDevice("tiny");
  Card card(tiny);
  for (bool outside : {true, false}) {
    for (int64_t hidden : {64, 192}) {
      for (int64_t entries : {992, 1000, 2015, 2500}) {
        Embedding e{.rows = 300, .hidden = hidden, .hiddenOutside = outside};
        e.entries = {{entries, 1}};
        expectSameSpec(specOf(e), tiny, card, 0);
        // Each core begins in another lane.
        e.entries = {{4, 4}, {entries / 4, 1}};
        expectSameSpec(specOf(e), tiny, card, 0);
        e.op = "abs";
        e.entries = {{4, 2}, {entries / 4, 1}};
        expectSameSpec(specOf(e), tiny, card, uint64_t(entries / 4 * 4 * hidden));
      }
    }
  }
}

TEST(Gather, ReadsEachIndexStickAndEachChosenRowOnce) {
  Embedding e{.rows = 500, .hidden = 256, .entries = {{96, 3}}};
  arch::DeviceDesc device = presetDevice("openspyre");
  Card card(device);
  expectSameSpec(specOf(e), device, card, 0);
  EXPECT_EQ(card.counters.ddr_read_bytes, 3u * 128 + 96 * 4 * 128);
  EXPECT_EQ(card.counters.ddr_write_bytes, 96u * 4 * 128);
}

TEST(Gather, SuperDscSaysWhatTheInterfaceSays) {
  Embedding e{.rows = 100, .hidden = 128, .entries = {{64, 2}}};
  Expected<spec::SuperDsc> dsc = spec::emitSuperDsc(specOf(e), 0);
  ASSERT_TRUE(dsc.ok()) << dsc.status().message();
  const std::string text = spec::writeSuperDsc(*dsc);
  for (const char *part :
       {"\"inputLabeledDs\": [\"Tensor1-idx1\"]",
        "\"indirectAccessIndexLabeledDs\": [\"Tensor0-idx0\"]",
        "\"indirectAllocType_\": \"index_tensor\"", "\"indexTensorType_\": \"index\"",
        "\"relatedIndirectAccessAlloc_\": \"allocate-Tensor1_hbm\"",
        "\"indirectAllocType_\": \"value_tensor\"", "\"maxDimSizes_\": [1, -1]",
        "\"dsType_\": \"KERNEL_IDX\", \"scale_\": [1, 1], \"wordLength\": 4, \"dataFormat_\": "
        "\"SENUINT32\", \"memOrg_\": {\"hbm\": {\"isPresent\": 1}}",
        "\"backGapCore_\": {\"mb\": {\"-1\": \"36\"}}",
        "\"KERNEL_IDX\": {\"layoutDimOrder_\": [\"mb\", \"out\"], \"stickDimOrder_\": [\"mb\"], "
        "\"stickSize_\": [32]}"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(dsc->format, numerics::DataFormat::Sen169Fp16);
  EXPECT_EQ(dsc->tensors[0].startAddress, (std::vector<int64_t>{0, 128}));
  // No part of the table belongs to a core.
  EXPECT_EQ(dsc->tensors[1].startAddress, (std::vector<int64_t>{1ll << 34, 1ll << 34}));
  Expected<spec::SuperDsc> again = spec::readSuperDsc(text);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *dsc);
  EXPECT_EQ(spec::writeSuperDsc(*again), text);
}

// Other front ends advance the table by the rows of a core's slice, although indices choose them.
TEST(Gather, CoreOffsetsAlongTheIndexedDimensionAreIgnored) {
  Embedding e{.rows = 100, .hidden = 256, .entries = {{64, 2}}, .hiddenCores = 2};
  arch::DeviceDesc device = presetDevice("tiny");
  Expected<spec::SuperDsc> own = throughJson(specOf(e), 0);
  ASSERT_TRUE(own.ok()) << own.status().message();
  spec::SuperDsc foreign = *own;
  for (size_t core = 0; core < 4; ++core) {
    foreign.tensors[1].startAddress[core] +=
        *spec::findDim(foreign.coreSlice[core], "mb") * 32 * 128;
  }
  ASSERT_NE(foreign, *own);
  Expected<program::Program> ours = lowerSuperDscs({*own}, device);
  Expected<program::Program> theirs = lowerSuperDscs({foreign}, device);
  ASSERT_TRUE(ours.ok() && theirs.ok());
  EXPECT_EQ(*ours, *theirs);
}

TEST(Gather, IndicesAndResultsMayBeInLx) {
  for (const char *name : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(name);
    Embedding e{.rows = 50, .hidden = 128, .entries = {{2, 2}, {40, 1}}};
    OpSpec gather = specOf(e);
    OpSpec copy;
    copy.op = "identity";
    copy.iterationSpace = {{"c0", 2, 2}, {"c1", 40, 1}};
    TensorArg words = gather.args[0];
    words.name.clear();
    words.argIndex = 0;
    words.address = 0;
    TensorArg inLx = words;
    moveToLx(inLx, 1024);
    inLx.isInput = false;
    copy.args = {words, inLx};
    moveToLx(gather.args[0], 1024);
    OpSpec second = opOf("abs", {{"c0", 2, 2}, {"c1", 40, 1}, {"c2", 128, 1}},
                         {{{"c2", "c0", "c1"}, "c2"}, {{"c2", "c0", "c1"}, "c2"}});
    moveToLx(gather.args[2], 4096);
    moveToLx(second.args[0], 4096);
    second.args[1].argIndex = 2;
    second.args[1].address = 2ll << 34;
    Random random(3);
    evaluator::Memory memory = randomMemory(specOf(e), random), expected = memory;
    // In memory the sticks of tokens are outermost: one batch after the other in LX.
    std::vector<OpSpec> specs{copy, gather, second};
    Status evaluated = evaluator::evaluate(specs, expected);
    ASSERT_TRUE(evaluated.ok()) << evaluated.message();
    Expected<program::Program> program = lowerAll(specs, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    Card card(device);
    evaluator::Memory actual = memory;
    Status ran = card.run(*program, actual);
    ASSERT_TRUE(ran.ok()) << ran.text() << program::disassemble(*program);
    EXPECT_EQ(actual.arguments, expected.arguments);
    EXPECT_NE(actual.arguments[2], memory.arguments[2]);
  }
}

// Two tables by the same indices, of which two cores share a stick; addresses are symbols.
TEST(Gather, WorksInBundlesOfBothModes) {
  arch::DeviceDesc device = presetDevice("tiny");
  OpSpec spec = specOf({.rows = 30, .hidden = 128, .entries = {{20, 2}}, .op = "add"});
  spec.args.insert(spec.args.begin() + 2, spec.args[1]);
  for (size_t i = 0; i < spec.args.size(); ++i) {
    spec.args[i].argIndex = int64_t(i);
    spec.args[i].address = int64_t(i) << 34;
  }
  Random random(5);
  evaluator::Memory memory = randomMemory(spec, random), expected = memory;
  ASSERT_TRUE(evaluator::evaluate({spec}, expected).ok());
  for (bool symbolic : {false, true}) {
    Expected<Artifacts> bundle = spec::generateBundle({spec}, {.symbolicArguments = symbolic});
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    Expected<Artifacts> code = compileBundle(*bundle, device);
    ASSERT_TRUE(code.ok()) << code.status().message();
    program::Program program = *program::readProgram(code->at("spyreCodeDir/init.bin"));
    EXPECT_EQ(program.symbols.size(), symbolic ? 4u : 0u);
    for (program::Symbol &symbol : program.symbols) {
      symbol.value = std::stoll(symbol.name.substr(4)) << 34;
    }
    Card card(device);
    evaluator::Memory actual = memory;
    Status ran = card.run(program, actual);
    ASSERT_TRUE(ran.ok()) << ran.text();
    EXPECT_EQ(actual.arguments, expected.arguments) << symbolic;
  }
}

TEST(Gather, AnIndexOutOfRangeIsTheDevicesFault) {
  Embedding e{.rows = 50, .hidden = 64, .entries = {{64, 2}}};
  arch::DeviceDesc device = presetDevice("tiny");
  Expected<program::Program> program = lowerAll({specOf(e)}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  for (int32_t wrong : {50, -1}) {
    Random random(1);
    evaluator::Memory memory = randomMemory(specOf(e), random);
    std::memcpy(memory.arguments[0].data() + 40 * 4, &wrong, 4);
    Card card(device);
    Status status = card.run(*program, memory);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.text().find("core 1"), std::string::npos) << status.text();
    EXPECT_NE(status.text().find("0_identity.idx0"), std::string::npos) << status.text();
    EXPECT_NE(status.text().find("SPYRE-E7"), std::string::npos) << status.text();
    Status evaluated = evaluator::evaluate({specOf(e)}, memory);
    EXPECT_EQ(evaluated.code(), 1402) << evaluated.message();
  }
}

TEST(Gather, RefusesWhatCannotBeLowered) {
  Embedding e{.rows = 50, .hidden = 64, .entries = {{64, 2}}};
  arch::DeviceDesc device = presetDevice("tiny");
  const spec::SuperDsc good = *throughJson(specOf(e), 0);
  auto failure = [&](const std::function<void(spec::SuperDsc &)> &change) {
    spec::SuperDsc dsc = good;
    change(dsc);
    return lowerSuperDscs({dsc}, device).status();
  };
  EXPECT_TRUE(failure([](spec::SuperDsc &) {}).ok());
  using spec::DscTensor;
  const std::vector<std::pair<const char *, std::function<void(spec::SuperDsc &)>>> changes{
      {"address", [](spec::SuperDsc &d) { d.tensors[0].holdsAddresses = true; }},
      {"scatter",
       [](spec::SuperDsc &d) {
         d.tensors[2].indirection = DscTensor::Indirection::Value;
         d.tensors[2].indirectPartner = 0;
       }},
      {"gathered from LX",
       [](spec::SuperDsc &d) {
         d.tensors[1].inLx = true;
         d.tensors[1].startAddress = {0, 0};
       }},
      {"along no dimension", [](spec::SuperDsc &d) { d.tensors[1].indirectDims.clear(); }},
      {"do not name each other", [](spec::SuperDsc &d) { d.tensors[0].indirectPartner = 2; }},
      {"SENUINT32",
       [](spec::SuperDsc &d) { d.tensors[0].format = numerics::DataFormat::Sen169Fp16; }},
      {"give a multiple of 4", [](spec::SuperDsc &d) { d.tensors[0].startAddress[1] += 2; }},
      {"rows along", [](spec::SuperDsc &d) { d.tensors[1].backGap = {{"mb", -64}}; }},
      {"element-wise",
       [](spec::SuperDsc &d) {
         d.op = "sum";
         d.inputs = {1, 2};
       }},
  };
  for (const auto &[text, change] : changes) {
    Status status = failure(change);
    EXPECT_EQ(status.code(), 5302) << text << ": " << status.message();
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }
}

class DifferentialGather : public testing::TestWithParam<const char *> {};

// SPYRE_TEST_LONG=1 runs twenty times as many cases.
TEST_P(DifferentialGather, CardEqualsEvaluatorBitForBit) {
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  const int cases = std::getenv("SPYRE_TEST_LONG") ? 6000 : 300;
  for (int seed = 0; seed < cases && !HasFailure(); ++seed) {
    Random random(uint64_t(seed) * 104729 + 5);
    const char *op = seed % 2 == 0 ? "gather" : "gather.pointwise";
    RandomCase testCase = randomCase(op, random, device, false);
    SCOPED_TRACE(fmt::format("seed {} {}", seed, spec::writeOpSpecs({testCase.spec})));
    expectSame(testCase, card, device);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, DifferentialGather, testing::Values("openspyre", "tiny"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

} // namespace spyre::backend::test
