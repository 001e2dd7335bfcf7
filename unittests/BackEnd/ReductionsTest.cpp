//===- ReductionsTest.cpp - reductions, their splits and top-k against the evaluator --------===//
//
// Every case runs on the simulated card and in the evaluator; all memory must be equal bit for bit,
// no padding may reach a result, and the card must have counted exactly the work: lanes, products,
// ring bytes of the combine, and each output stick stored once. The cores get their slices in a
// random order: nothing but coreIdToWkSlice_ says who shares an output.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "GeneratorReductions.h"
#include "Harness.h"
#include "Specs.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

namespace spyre::backend::test {

using numerics::DataFormat;
using spec::SuperDsc;

/// Core i becomes core order[i].
static void renumberCores(SuperDsc &dsc, const std::vector<size_t> &order) {
  SuperDsc before = dsc;
  for (size_t core = 0; core < order.size(); ++core) {
    dsc.coreSlice[order[core]] = before.coreSlice[core];
    for (size_t i = 0; i < dsc.tensors.size(); ++i) {
      dsc.tensors[i].startAddress[order[core]] = before.tensors[i].startAddress[core];
    }
  }
}

static std::vector<size_t> randomOrder(size_t count, Random &random) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t(0));
  for (size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  return order;
}

static Expected<program::Program> lowerRenumbered(const OpSpec &spec,
                                                  const arch::DeviceDesc &device, Random &random) {
  SPYRE_ASSIGN_OR_RETURN(SuperDsc dsc, spec::emitSuperDsc(spec, 0));
  if (random.below(2) == 0) {
    renumberCores(dsc, randomOrder(size_t(dsc.cores), random));
  }
  SPYRE_ASSIGN_OR_RETURN(dsc, spec::readSuperDsc(spec::writeSuperDsc(dsc)));
  SPYRE_RETURN_IF_ERROR(spec::verifySuperDsc(dsc, device));
  SPYRE_ASSIGN_OR_RETURN(program::Program program, lowerSuperDscs({dsc}, device));
  SPYRE_RETURN_IF_ERROR(program::verifyProgram(program, device));
  return program;
}

static bool hasMulticast(const program::Program &program) {
  const auto &instructions = program.phases[0].instructions;
  return std::any_of(instructions.begin(), instructions.end(), [](const auto &instruction) {
    return instruction.opcode == program::Opcode::Load && instruction.peerTable >= 0;
  });
}

static void expectSameReduction(const ReductionCase &testCase, Card &card,
                                const program::Program &program) {
  const RandomCase &base = testCase.base;
  evaluator::Memory expected = base.memory, actual = base.memory;
  Status evaluated = evaluator::evaluate({base.spec}, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  Status ran = card.run(program, actual, &base.spec);
  ASSERT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(program);
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    const std::vector<uint8_t> &want = expected.arguments[i], &got = actual.arguments[i];
    for (size_t at = 0; want != got && at < want.size(); ++at) {
      ASSERT_EQ(want[at], got[at]) << "argument " << i << " byte " << at << "\n"
                                   << program::disassemble(program);
    }
  }
  EXPECT_EQ(card.counters.pt_macs, base.macs);
  EXPECT_EQ(card.counters.sfp_lane_ops, base.laneOps);
  // Operands that cores share come over the ring too.
  EXPECT_GE(card.counters.ring_bytes, testCase.ringBytes);
  if (!hasMulticast(program)) {
    EXPECT_EQ(card.counters.ring_bytes, testCase.ringBytes);
  }
  EXPECT_EQ(card.counters.ddr_write_bytes, testCase.storedBytes);
  EXPECT_GT(card.counters.sanitizer_checks, 0u);
}

class DifferentialReductions : public testing::TestWithParam<const char *> {
protected:
  /// Every case once, with all numbers of cores and ends of sticks. Counts those that were split.
  void runAll(uint64_t round) {
    constexpr StickEnd kEnds[] = {StickEnd::Aligned, StickEnd::Unaligned, StickEnd::Shortest,
                                  StickEnd::OneLane};
    uint64_t seed = round * 100003;
    for (const std::string &name : reductionCases()) {
      for (int64_t cores : {1, 3, 7, 32}) {
        for (StickEnd end : kEnds) {
          runOne({name, std::min(cores, device.cores), end}, ++seed);
          if (HasFailure()) {
            return;
          }
        }
      }
    }
  }

  int64_t splits = 0;

private:
  void runOne(const ReductionRequest &request, uint64_t seed) {
    Random random(seed * 6151);
    ReductionCase testCase = randomReduction(request, random);
    SCOPED_TRACE(fmt::format("seed {} {}", seed, spec::writeOpSpecs({testCase.base.spec})));
    Expected<program::Program> program = lowerRenumbered(testCase.base.spec, device, random);
    ASSERT_TRUE(program.ok()) << program.status().message();
    expectSameReduction(testCase, card, *program);
    splits += testCase.slices > 1;
  }

  arch::DeviceDesc device = presetDevice(GetParam());
  Card card{device};
};

// SPYRE_TEST_LONG=1 runs twenty times as many cases.
TEST_P(DifferentialReductions, CardEqualsEvaluatorForEveryDivision) {
  uint64_t rounds = std::getenv("SPYRE_TEST_LONG") ? 40 : 2;
  for (uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
    runAll(round);
  }
  EXPECT_GT(splits, 200);
}

INSTANTIATE_TEST_SUITE_P(Machines, DifferentialReductions, testing::Values("openspyre", "tiny"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

// x fp16 [16, 128] in the pool, weight [128, 64] in segment 1, result [16, 64] in segment 2, K
// split over two cores [spec: codegen-and-backend 2.12].
TEST(ExampleB, AddsTheTwoHalvesOfKAndStoresOnce) {
  OpSpec spec = opOf("batchmatmul", {{"c0", 16, 1}, {"c1", 64, 1}, {"c2", 128, 2}},
                     {{{"c2", "c0"}, "c2"}, {{"c1", "c2"}, "c1"}, {{"c1", "c0"}, "c1"}});
  moveToPool(spec.args[0], 0);
  spec.args[1].argIndex = 0;
  spec.args[2].argIndex = 1;
  Expected<SuperDsc> dsc = throughJson(spec, 1);
  ASSERT_TRUE(dsc.ok()) << dsc.status().message();
  EXPECT_EQ(dsc->tensors[0].startAddress, (std::vector<int64_t>{0, 2048}));
  EXPECT_EQ(dsc->tensors[1].startAddress, (std::vector<int64_t>{17179869184, 17179877376}));
  EXPECT_EQ(dsc->tensors[2].startAddress, (std::vector<int64_t>{34359738368, 34359738368}));
  Random random(4);
  evaluator::Memory memory;
  for (auto [buffer, bytes] : {std::pair(&memory.pool, 2 * 16 * 128),
                               std::pair(&memory.arguments.emplace_back(), 128 * 128)}) {
    buffer->resize(size_t(bytes));
    for (size_t at = 0; at < buffer->size(); at += 2) {
      uint16_t bits = numerics::floatToDl16(random.uniform(-1, 1));
      std::memcpy(buffer->data() + at, &bits, 2);
    }
  }
  memory.arguments.emplace_back(2048);
  evaluator::Memory expected = memory;
  ASSERT_TRUE(evaluator::evaluate({spec}, expected).ok());
  for (const char *name : {"openspyre", "tiny"}) {
    Expected<program::Program> program = lowerAll({spec}, presetDevice(name));
    ASSERT_TRUE(program.ok()) << program.status().message();
    evaluator::Memory actual = memory;
    Card card(presetDevice(name));
    Status ran = card.run(*program, actual);
    ASSERT_TRUE(ran.ok()) << ran.text();
    EXPECT_EQ(actual.arguments, expected.arguments) << name;
    EXPECT_NE(actual.arguments[1], memory.arguments[1]);
    EXPECT_EQ(card.counters.ddr_write_bytes, 2048u);
    EXPECT_EQ(card.counters.ring_bytes, 16u * 256);
    EXPECT_EQ(card.counters.pt_macs, 16u * 64 * 128);
  }
}

/// fp16 sticks that hold one value each.
static std::vector<uint8_t> sticksOf(const std::vector<float> &rows) {
  std::vector<uint8_t> bytes(rows.size() * 128);
  for (size_t at = 0; at < bytes.size(); at += 2) {
    uint16_t bits = numerics::floatToDl16(rows[at / 128]);
    std::memcpy(bytes.data() + at, &bits, 2);
  }
  return bytes;
}

// sum over rows split over two cores into LX: core 0 has slice 0, so its LX has the result.
TEST(SplitReductions, LeaveAnLxResultWithTheRoot) {
  OpSpec spec = opOf("sum", {{"c1", 64, 1}, {"c0", 4, 2}}, {{{"c1", "c0"}, "c1"}, {{"c1"}, "c1"}});
  moveToLx(spec.args[1], 512);
  evaluator::Memory memory{{sticksOf({1, 2, 4, 8})}, {}};
  arch::DeviceDesc device = presetDevice("tiny");
  Expected<program::Program> program = lowerAll({spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  Card card(device);
  Status ran = card.run(*program, memory);
  ASSERT_TRUE(ran.ok()) << ran.text();
  uint16_t sum = 0;
  std::memcpy(&sum, card.readLx(0, 512 + 2 * 63, 2).data(), 2);
  EXPECT_EQ(numerics::dl16ToFloat(sum), 15.0f);
  std::memcpy(&sum, card.readLx(1, 512 + 2 * 63, 2).data(), 2);
  EXPECT_NE(numerics::dl16ToFloat(sum), 15.0f);
}

// x * x -> LX, cut along the stick; then the sum along the stick of what each core has there.
TEST(SplitReductions, TakeSlicesThatAreInLx) {
  std::vector<spec::IterationDim> space{{"c0", 3, 1}, {"c1", 256, 4}};
  Shape full{{"c1", "c0"}, "c1"};
  OpSpec produce = opOf("mul", space, {full, full, full});
  OpSpec reduce = opOf("sum", space, {full, {{"c0"}, ""}});
  produce.args[1].argIndex = 0;
  produce.args[1].address = 0;
  moveToLx(produce.args[2], 1024);
  moveToLx(reduce.args[0], 1024);
  for (const char *name : {"openspyre", "tiny"}) {
    Expected<program::Program> program = lowerAll({produce, reduce}, presetDevice(name));
    ASSERT_TRUE(program.ok()) << program.status().message();
    evaluator::Memory memory{{sticksOf({1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}), sticksOf({0, 0, 0})},
                             {}};
    Card card(presetDevice(name));
    Status ran = card.run(*program, memory);
    ASSERT_TRUE(ran.ok()) << ran.text();
    EXPECT_EQ(memory.arguments[1], sticksOf({256, 1024, 2304})) << name;
    EXPECT_EQ(card.counters.ring_bytes, 3u * 3 * 256);
    EXPECT_EQ(card.counters.ddr_read_bytes, 2u * 12 * 128);
  }
}

static void expectRefused(const SuperDsc &dsc, const std::string &part) {
  Expected<program::Program> program = lowerSuperDscs({dsc}, presetDevice("tiny"));
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), 5302) << program.status().message();
  EXPECT_NE(program.status().text().find(part), std::string::npos) << program.status().message();
}

TEST(SplitReductions, RefuseCohortsThatDoNotFit) {
  OpSpec spec = opOf("sum", {{"c1", 64, 1}, {"c0", 4, 2}}, {{{"c1", "c0"}, "c1"}, {{"c1"}, "c1"}});
  Expected<SuperDsc> good = throughJson(spec, 0);
  ASSERT_TRUE(good.ok()) << good.status().message();
  ASSERT_TRUE(lowerSuperDscs({*good}, presetDevice("tiny")).ok());
  SuperDsc twice = *good;
  twice.coreSlice[1] = twice.coreSlice[0];
  expectRefused(twice, "or that of another core");
  SuperDsc few = *good;
  few.coreSlice.pop_back();
  expectRefused(few, "core 1 has no slice");
  SuperDsc apart = *good;
  apart.tensors[1].startAddress[1] += 128;
  expectRefused(apart, "at different addresses");
}

/// exx2 of one row [64] of fp16.
static OpSpec pairSpec(const char *op) {
  OpSpec spec = opOf(op, {{"c0", 1, 1}, {"c1", 40, 1}}, {{{"c1", "c0"}, "c1"}, {{"c0"}, ""}});
  spec.isReduction = true;
  spec.constants = {{"exx2scale", 1.0 / 32}, {"useZeroMean", 0}};
  return spec;
}

TEST(Exx2, WritesThePairToLanes0And1AndZeroToTheOthers) {
  for (const char *op : {"exx2", "exx2_zeromean"}) {
    OpSpec spec = pairSpec(op);
    evaluator::Memory memory{{std::vector<uint8_t>(128), std::vector<uint8_t>(128, 0x55)}, {}};
    for (size_t lane = 0; lane < 64; ++lane) {
      uint16_t bits = numerics::floatToDl16(lane < 40 ? 2.0f : 77.0f);
      std::memcpy(memory.arguments[0].data() + 2 * lane, &bits, 2);
    }
    Expected<program::Program> program = lowerAll({spec}, presetDevice("tiny"));
    ASSERT_TRUE(program.ok()) << program.status().message();
    Card card(presetDevice("tiny"));
    Status ran = card.run(*program, memory, &spec);
    ASSERT_TRUE(ran.ok()) << ran.text();
    for (size_t lane = 0; lane < 64; ++lane) {
      uint16_t bits = 0;
      std::memcpy(&bits, memory.arguments[1].data() + 2 * lane, 2);
      float mean = std::string(op) == "exx2" ? 2.5f : 0.0f;
      EXPECT_EQ(numerics::dl16ToFloat(bits), lane == 0 ? mean : lane == 1 ? 5.0f : 0.0f) << lane;
    }
  }
}

TEST(Exx2, NeedsItsScaleAndAStick) {
  Expected<SuperDsc> dsc = throughJson(pairSpec("exx2"), 0);
  ASSERT_TRUE(dsc.ok()) << dsc.status().message();
  dsc->constants.clear();
  expectRefused(*dsc, "'exx2scale'");
  OpSpec beside =
      opOf("exx2", {{"c0", 64, 1}, {"c1", 4, 1}}, {{{"c0", "c1"}, "c0"}, {{"c0"}, "c0"}});
  beside.isReduction = true;
  Expected<SuperDsc> refused = spec::emitSuperDsc(beside, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), 5001);
}

/// The \p k largest of \p rows rows of one fp32 stick.
static OpSpec topSpec(const char *op, int64_t rows, int64_t k) {
  OpSpec spec;
  spec.op = op;
  spec.isReduction = true;
  spec.iterationSpace = {{"k", k, 1}, {"c", 32, 1}, {"r", rows, 1}};
  for (int64_t i = 0; i < 2; ++i) {
    TensorArg arg;
    arg.isInput = i == 0;
    arg.argIndex = i;
    arg.address = i << 34;
    arg.deviceDtype =
        i == 1 && spec.op == "topkindex" ? DataFormat::IeeeInt32 : DataFormat::IeeeFp32;
    arg.deviceSize = {1, i == 0 ? rows : k, 32};
    arg.deviceCoordinates = {Coordinate::floorDiv("c", 32), Coordinate::var(i == 0 ? "r" : "k"),
                             Coordinate::mod("c", 32)};
    spec.args.push_back(arg);
  }
  return spec;
}

/// Lane 0 of the k results for a column of \p values.
static std::vector<uint32_t> topOf(const char *op, const std::vector<float> &values, int64_t k) {
  OpSpec spec = topSpec(op, int64_t(values.size()), k);
  evaluator::Memory memory{
      {std::vector<uint8_t>(values.size() * 128), std::vector<uint8_t>(size_t(k) * 128)}, {}};
  for (size_t row = 0; row < values.size(); ++row) {
    for (size_t lane = 0; lane < 32; ++lane) {
      std::memcpy(memory.arguments[0].data() + 128 * row + 4 * lane, &values[row], 4);
    }
  }
  evaluator::Memory expected = memory;
  Status evaluated = evaluator::evaluate({spec}, expected);
  EXPECT_TRUE(evaluated.ok()) << evaluated.message();
  Expected<program::Program> program = lowerAll({spec}, presetDevice("openspyre"));
  EXPECT_TRUE(program.ok()) << program.status().message();
  Card card(presetDevice("openspyre"));
  Status ran = program.ok() ? card.run(*program, memory, &spec) : program.status();
  EXPECT_TRUE(ran.ok()) << ran.text();
  EXPECT_EQ(memory.arguments, expected.arguments);
  std::vector<uint32_t> found(static_cast<size_t>(k));
  for (size_t rank = 0; rank < found.size(); ++rank) {
    std::memcpy(&found[rank], memory.arguments[1].data() + 128 * rank, 4);
  }
  return found;
}

TEST(TopK, TakesLowerIndicesFirstAndNanAsTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values{3, 7, -1, 7, nan, 7, 8};
  EXPECT_EQ(topOf("topkindex", values, 5), (std::vector<uint32_t>{4, 6, 1, 3, 5}));
  std::vector<uint32_t> best = topOf("topkvalue", values, 3);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(best[0])));
  EXPECT_EQ(std::bit_cast<float>(best[1]), 8);
  EXPECT_EQ(std::bit_cast<float>(best[2]), 7);
}

// The lists of the device start with -inf, which an element of -inf does not displace.
TEST(TopK, MinusInfinityHasItsOwnIndex) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(topOf("topkindex", {1, -inf, -inf, 2}, 4), (std::vector<uint32_t>{3, 0, 1, 2}));
  EXPECT_EQ(topOf("topkindex", {-inf, -inf}, 1), std::vector<uint32_t>{0});
  const float lowest = std::numeric_limits<float>::lowest();
  EXPECT_EQ(topOf("topkindex", {-inf, lowest, -inf}, 3), (std::vector<uint32_t>{1, 0, 2}));
  EXPECT_EQ(topOf("topkindex", {lowest, -inf, lowest}, 2), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(std::bit_cast<float>(topOf("topkvalue", {-inf, 1, -inf}, 3)[2]), -inf);
}

TEST(TopK, GoesUpToTheLimitOfTheDevice) {
  std::vector<float> values;
  for (int i = 0; i < 100; ++i) {
    values.push_back(float(i * 37 % 100));
  }
  std::vector<uint32_t> best = topOf("topkvalue", values, 64);
  for (size_t rank = 0; rank < best.size(); ++rank) {
    EXPECT_EQ(std::bit_cast<float>(best[rank]), float(99 - int(rank)));
  }
  Expected<SuperDsc> more = throughJson(topSpec("topkvalue", 100, 65), 0);
  ASSERT_TRUE(more.ok()) << more.status().message();
  expectRefused(*more, "k is at most 64");
  Expected<SuperDsc> tooMany = throughJson(topSpec("topkvalue", 4, 5), 0);
  ASSERT_TRUE(tooMany.ok()) << tooMany.status().message();
  expectRefused(*tooMany, "the 5 largest of 4");
}

TEST(TopK, RefusesWhatItCannotDo) {
  OpSpec split = topSpec("topkvalue", 8, 2);
  split.iterationSpace[2].cores = 2;
  Expected<SuperDsc> dsc = throughJson(split, 0);
  ASSERT_TRUE(dsc.ok()) << dsc.status().message();
  expectRefused(*dsc, "a core finds all k of all elements");
  OpSpec floats = topSpec("topkindex", 8, 2);
  floats.args[1].deviceDtype = DataFormat::IeeeFp32;
  dsc = throughJson(floats, 0);
  ASSERT_TRUE(dsc.ok()) << dsc.status().message();
  expectRefused(*dsc, "indices in IEEE_INT32");
  evaluator::Memory memory{{std::vector<uint8_t>(1024), std::vector<uint8_t>(256)}, {}};
  EXPECT_EQ(evaluator::evaluate({floats}, memory).code(), 1401);
  OpSpec other = topSpec("topkvalue", 32, 2);
  other.args[0].deviceSize = {1, 32, 32};
  other.args[0].deviceCoordinates = {Coordinate::floorDiv("r", 32), Coordinate::var("c"),
                                     Coordinate::mod("r", 32)};
  Expected<SuperDsc> refused = spec::emitSuperDsc(other, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), 5001) << refused.status().message();
}

TEST(TopK, WritesItsResultIntoLx) {
  OpSpec spec = topSpec("topkindex", 3, 2);
  spec.args[0].deviceDtype = DataFormat::Sen169Fp16;
  spec.args[0].deviceSize = {1, 3, 64};
  spec.args[0].deviceCoordinates = {Coordinate::floorDiv("c", 64), Coordinate::var("r"),
                                    Coordinate::mod("c", 64)};
  spec.args[1].deviceSize = {2, 2, 32};
  moveToLx(spec.args[1], 256);
  evaluator::Memory memory{{sticksOf({1, 5, 3})}, {}};
  arch::DeviceDesc device = presetDevice("tiny");
  Expected<program::Program> program = lowerAll({spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  Card card(device);
  Status ran = card.run(*program, memory);
  ASSERT_TRUE(ran.ok()) << ran.text();
  // Two sticks of int32 for each of the two results, one half of the lanes after the other.
  std::vector<uint8_t> lists = card.readLx(0, 256, 4 * 128);
  for (size_t i = 0; i < 4 * 32; ++i) {
    int32_t index = -1;
    std::memcpy(&index, lists.data() + 4 * i, 4);
    EXPECT_EQ(index, i / 32 % 2 == 0 ? 1 : 2) << i;
  }
}

// k = mb, kept = x, reduced = out; two layouts, no dimension of the other tensor, one input [spec:
// codegen-and-backend 2.9].
TEST(TopK, IsEmittedWithItsOwnDimensionsOnly) {
  Expected<SuperDsc> dsc = throughJson(topSpec("topkindex", 8, 2), 3);
  ASSERT_TRUE(dsc.ok()) << dsc.status().message();
  EXPECT_EQ(dsc->op, "topkindex");
  EXPECT_EQ(dsc->inputs, std::vector<int64_t>{0});
  ASSERT_EQ(dsc->layouts.size(), 2u);
  EXPECT_EQ(dsc->layouts[0].dimOrder, (std::vector<std::string>{"out", "x"}));
  EXPECT_EQ(dsc->layouts[1].dimOrder, (std::vector<std::string>{"mb", "x"}));
  EXPECT_EQ(dsc->layouts[1].stickDims, std::vector<std::string>{"x"});
  EXPECT_EQ(dsc->tensors[1].format, DataFormat::IeeeInt32);
  EXPECT_EQ(dsc->format, DataFormat::IeeeFp32);
  EXPECT_TRUE(dsc->constants.empty());
}

/// Changes one number of \p dsc that has to do with the division or the reduction.
static void damage(SuperDsc &dsc, Random &random) {
  static constexpr int64_t kValues[] = {-2, -1, 0, 1, 2, 3, 4, 7, 32, 63, 64, 65, INT64_MAX};
  int64_t value = kValues[random.below(std::size(kValues))];
  auto any = [&](auto &list) -> auto & { return list[random.below(list.size())]; };
  switch (random.below(9)) {
  case 0:
    any(any(dsc.coreSlice)).second = value;
    break;
  case 1:
    any(dsc.coreSlice) = any(dsc.coreSlice);
    break;
  case 2:
    dsc.coreSlice.pop_back();
    break;
  case 3:
    std::swap(any(any(dsc.coreSlice)).first, any(any(dsc.coreSlice)).first);
    break;
  case 4:
    dsc.masking = {{any(dsc.size).first, {value, kValues[random.below(std::size(kValues))]}}};
    break;
  case 5:
    any(dsc.tensors).format = DataFormat(random.below(20));
    break;
  case 6:
    any(any(dsc.tensors).scale).second = value;
    break;
  case 7:
    dsc.constants.clear();
    break;
  default:
    // Slices change hands between dimensions, sizes follow.
    auto &from = any(dsc.slices), &to = any(dsc.slices);
    std::swap(from.second, to.second);
    for (size_t i = 0; i < dsc.size.size(); ++i) {
      dsc.size[i].second = dsc.perCoreSize[i].second * dsc.slices[i].second;
    }
    break;
  }
}

TEST(SplitReductions, NothingDamagedBecomesAnInvalidProgram) {
  arch::DeviceDesc device = presetDevice("tiny");
  size_t lowered = 0, refused = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const std::string &name = reductionCases()[seed % reductionCases().size()];
    ReductionCase sample =
        randomReduction({name, random.between(1, 4), StickEnd::Unaligned}, random);
    Expected<SuperDsc> dsc = spec::emitSuperDsc(sample.base.spec, 0);
    ASSERT_TRUE(dsc.ok()) << dsc.status().message();
    for (int64_t i = random.between(1, 2); i > 0 && !dsc->coreSlice.empty(); --i) {
      damage(*dsc, random);
    }
    Expected<program::Program> program = lowerSuperDscs({*dsc}, device);
    if (!program.ok()) {
      EXPECT_GE(program.status().code(), 5301);
      EXPECT_LE(program.status().code(), 5304);
      ++refused;
      continue;
    }
    ++lowered;
    Status status = program::verifyProgram(*program, device);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
  }
  EXPECT_GT(lowered, 300u);
  EXPECT_GT(refused, 300u);
}

} // namespace spyre::backend::test
