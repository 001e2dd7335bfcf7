//===- RelayoutTest.cpp - operands that come from other cores' LX ---------------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "GeneratorRelayout.h"
#include "Harness.h"
#include "Specs.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace spyre::backend::test {

static void expectSame(const RelayoutCase &testCase, Card &card, const arch::DeviceDesc &device) {
  Expected<program::Program> program = lowerAll(testCase.specs, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  evaluator::Memory expected = testCase.memory, actual = testCase.memory;
  Status evaluated = evaluator::evaluate(testCase.specs, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  Status ran = card.run(*program, actual);
  ASSERT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(*program);
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    ASSERT_TRUE(expected.arguments[i] == actual.arguments[i]) << "argument " << i << "\n"
                                                              << program::disassemble(*program);
  }
  EXPECT_GT(card.counters.sanitizer_checks, 0u);
}

namespace {

constexpr int64_t kLxAddress = 512;

/// [rows, columns] computed with one division and used with another one.
struct Relayout {
  int64_t rows = 16, columns = 256;
  /// Rows and columns over this many cores.
  std::pair<int64_t, int64_t> from = {4, 1}, to = {1, 4};
};

std::vector<OpSpec> specsOf(const Relayout &r) {
  const std::vector<Shape> shapes{{{"c1", "c0"}, "c1"}, {{"c1", "c0"}, "c1"}};
  OpSpec first =
      opOf("abs", {{"c0", r.rows, r.from.first}, {"c1", r.columns, r.from.second}}, shapes);
  OpSpec second = opOf("neg", {{"c0", r.rows, r.to.first}, {"c1", r.columns, r.to.second}}, shapes);
  moveToLx(first.args[1], kLxAddress);
  moveToLx(second.args[0], kLxAddress);
  second.args[0].lxDivision = {{"c0", r.from.first}, {"c1", r.from.second}};
  return {first, second};
}

Status runSpecs(const std::vector<spec::SuperDsc> &operations, const std::vector<OpSpec> &specs,
                Card &card, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(program::Program program, lowerSuperDscs(operations, device));
  SPYRE_RETURN_IF_ERROR(program::verifyProgram(program, device));
  Random random(9);
  evaluator::Memory memory = randomMemory(specs[0], random);
  memory.arguments.resize(2);
  memory.arguments[1].resize(memory.arguments[0].size());
  evaluator::Memory expected = memory;
  SPYRE_RETURN_IF_ERROR(evaluator::evaluate(specs, expected));
  SPYRE_RETURN_IF_ERROR(card.run(program, memory));
  return memory.arguments == expected.arguments ? Status::success() : Status(1, "other results");
}

std::vector<spec::SuperDsc> emitAll(const std::vector<OpSpec> &specs) {
  std::vector<spec::SuperDsc> operations;
  for (size_t i = 0; i < specs.size(); ++i) {
    Expected<spec::SuperDsc> dsc = throughJson(specs[i], int64_t(i));
    EXPECT_TRUE(dsc.ok()) << dsc.status().message();
    operations.push_back(*dsc);
  }
  return operations;
}

size_t exchangesIn(const program::Phase &phase) {
  return size_t(std::count_if(phase.instructions.begin(), phase.instructions.end(),
                              [](const auto &i) { return i.opcode == program::Opcode::Exchange; }));
}

} // namespace

// Each core gets its slice once, in as many rounds as it has owners.
TEST(Relayout, MovesEachPieceOnce) {
  struct Case {
    Relayout relayout;
    size_t rounds;
  };
  const Case cases[] = {
      {{16, 256, {4, 1}, {1, 4}}, 4}, // rows to columns: all to all
      {{16, 256, {1, 4}, {4, 1}}, 4}, {{16, 256, {4, 1}, {2, 2}}, 2},
      {{16, 256, {2, 2}, {4, 1}}, 2}, {{16, 256, {2, 1}, {4, 1}}, 1}, // 2 of 4 cores hold it
      {{16, 256, {1, 1}, {2, 2}}, 1}, {{16, 256, {2, 2}, {1, 4}}, 2},
  };
  for (const char *name : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(name);
    Card card(device);
    for (const Case &c : cases) {
      std::vector<OpSpec> specs = specsOf(c.relayout);
      SCOPED_TRACE(spec::writeOpSpecs(specs));
      std::vector<spec::SuperDsc> operations = emitAll(specs);
      Status status = runSpecs(operations, specs, card, device);
      EXPECT_TRUE(status.ok()) << status.text();
      EXPECT_EQ(card.counters.ring_bytes, uint64_t(c.relayout.rows * c.relayout.columns * 2));
      Expected<program::Program> program = lowerSuperDscs(operations, device);
      EXPECT_EQ(exchangesIn(program->phases[1]), c.rounds);
      EXPECT_GT(card.counters.sanitizer_checks, 0u);
    }
  }
}

TEST(Relayout, TheSameDivisionMovesNothing) {
  arch::DeviceDesc device = presetDevice("tiny");
  Card card(device);
  std::vector<OpSpec> specs = specsOf({16, 256, {2, 2}, {2, 2}});
  Status status = runSpecs(emitAll(specs), specs, card, device);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(card.counters.ring_bytes, 0u);
}

// 40 KB per core, of which the staging area of 16 KB has less than half.
TEST(Relayout, WhatDoesNotFitTheStagingAreaIsStreamed) {
  arch::DeviceDesc device = presetDevice("tiny");
  Card card(device);
  for (auto [from, to] :
       {std::pair(std::pair(4, 1), std::pair(1, 4)), std::pair(std::pair(1, 4), std::pair(4, 1)),
        std::pair(std::pair(2, 2), std::pair(4, 1))}) {
    Relayout relayout{320, 256, from, to};
    std::vector<OpSpec> specs = specsOf(relayout);
    std::vector<spec::SuperDsc> operations = emitAll(specs);
    Status status = runSpecs(operations, specs, card, device);
    EXPECT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(card.counters.ring_bytes, uint64_t(320 * 256 * 2));
    EXPECT_GT(exchangesIn(lowerSuperDscs(operations, device)->phases[1]), 4u);
  }
}

// Who holds what is said core by core: a rotation, or the same slice in two cores.
TEST(Relayout, OwnersMayBeAnyCores) {
  arch::DeviceDesc device = presetDevice("tiny");
  Card card(device);
  std::vector<OpSpec> specs = specsOf({16, 256, {4, 1}, {2, 1}});
  specs[1].args[0].lxDivision.clear();
  specs[1].iterationSpace[0].cores = 4;
  std::vector<spec::SuperDsc> operations = emitAll(specs);
  for (size_t core = 0; core < 4; ++core) {
    const auto rotated = int64_t((core + 1) % 4);
    for (auto &[dim, slice] : operations[1].coreSlice[core]) {
      slice = dim == "mb" ? rotated : slice;
    }
    operations[1].tensors[1].startAddress[core] = (int64_t(1) << 34) + rotated * 4 * 128;
    operations[1].tensors[0].ownerSlice.push_back({{"mb", int64_t(core)}, {"out", 0}});
  }
  ASSERT_TRUE(spec::verifySuperDsc(operations[1], device).ok());
  Status status = runSpecs(operations, specs, card, device);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(card.counters.ring_bytes, 16u * 256 * 2);
  // A wrong table is found when the device reads: core 1 does not have slice 2.
  std::swap(operations[1].tensors[0].ownerSlice[1], operations[1].tensors[0].ownerSlice[2]);
  status = runSpecs(operations, specs, card, device);
  EXPECT_NE(status.text().find("SPYRE-E7011"), std::string::npos) << status.text();
  // So is a read without the ring.
  operations[1].tensors[0].ownerSlice.clear();
  status = runSpecs(operations, specs, card, device);
  EXPECT_NE(status.text().find("SPYRE-E7011"), std::string::npos) << status.text();
}

TEST(Relayout, BesideAGather) {
  arch::DeviceDesc device = presetDevice("tiny");
  std::vector<OpSpec> specs = specsOf({64, 256, {1, 4}, {4, 1}});
  OpSpec &second = specs[1];
  second.op = "add";
  TensorArg index, table = second.args[0];
  index.name = "i";
  index.deviceDtype = numerics::DataFormat::IeeeInt32;
  index.deviceSize = {1, 2, 32};
  index.deviceCoordinates = {Coordinate::constant(0), Coordinate::floorDiv("c0", 32),
                             Coordinate::mod("c0", 32)};
  index.argIndex = 2;
  index.address = 2ll << 34;
  table.residency = Residency::Hbm;
  table.lxDivision.clear();
  table.argIndex = 3;
  table.address = 3ll << 34;
  table.deviceSize[1] = 30;
  table.deviceCoordinates[1] = Coordinate::indirect("i");
  second.args = {index, second.args[0], table, second.args[1]};
  Expected<program::Program> program = lowerAll(specs, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  Random random(2);
  evaluator::Memory memory = randomMemory(second, random);
  memory.arguments[0] = randomMemory(specs[0], random).arguments[0];
  evaluator::Memory expected = memory;
  ASSERT_TRUE(evaluator::evaluate(specs, expected).ok());
  Card card(device);
  Status ran = card.run(*program, memory);
  ASSERT_TRUE(ran.ok()) << ran.text() << program::disassemble(*program);
  EXPECT_EQ(memory.arguments, expected.arguments);
}

TEST(Relayout, RefusesWhatCannotBeMoved) {
  arch::DeviceDesc device = presetDevice("tiny");
  std::vector<OpSpec> specs = specsOf({});
  const std::vector<spec::SuperDsc> good = emitAll(specs);
  auto failure = [&](const std::function<void(spec::SuperDsc &)> &change) {
    std::vector<spec::SuperDsc> operations = good;
    change(operations[1]);
    return lowerSuperDscs(operations, device).status();
  };
  EXPECT_TRUE(failure([](spec::SuperDsc &) {}).ok());
  const std::vector<std::pair<const char *, std::function<void(spec::SuperDsc &)>>> changes{
      {"cannot work in place",
       [](spec::SuperDsc &d) {
         d.tensors[1].inLx = true;
         d.tensors[1].startAddress.assign(4, kLxAddress + 128);
       }},
      {"no core holds the piece",
       [](spec::SuperDsc &d) { d.tensors[0].ownerSlice[2] = d.tensors[0].ownerSlice[1]; }},
      {"not 3 slices", [](spec::SuperDsc &d) { d.tensors[0].ownerSlice[3] = {}; }},
      {"has gaps", [](spec::SuperDsc &d) { d.tensors[0].backGap = {{"mb", 2}}; }},
      {"one number must divide the other",
       [](spec::SuperDsc &d) {
         d.size = {{"mb", 12}, {"out", 256}};
         d.slices = {{"mb", 2}, {"out", 2}};
         d.perCoreSize = {{"mb", 6}, {"out", 128}};
         for (size_t core = 0; core < 4; ++core) {
           d.coreSlice[core] = {{"mb", int64_t(core % 2)}, {"out", int64_t(core / 2)}};
           d.tensors[0].ownerSlice[core] = {{"mb", int64_t(core % 3)}, {"out", 0}};
         }
       }},
  };
  for (const auto &[text, change] : changes) {
    Status status = failure(change);
    EXPECT_EQ(status.code(), 5302) << text << ": " << status.message();
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }
  // Room for one stick: the operand arrives, but the result has no tile.
  arch::DeviceDesc small = device;
  small.lxPlannerBytes = small.lxBytes - 128;
  Status status = lowerSuperDscs(good, small).status();
  EXPECT_EQ(status.code(), 5303) << status.message();
  OpSpec restickify = opOf("ReStickifyOpHBM", {{"c0", 128, 2}, {"c1", 128, 2}},
                           {{{"c1", "c0"}, "c1"}, {{"c0", "c1"}, "c0"}});
  moveToLx(restickify.args[0], 0);
  restickify.args[1].argIndex = 0;
  restickify.args[0].lxDivision = {{"c0", 4}};
  status = lowerAll({restickify}, device).status();
  EXPECT_EQ(status.code(), 5302) << status.message();
}

class DifferentialRelayout : public testing::TestWithParam<const char *> {};

// SPYRE_TEST_LONG=1 runs twenty times as many cases.
TEST_P(DifferentialRelayout, CardEqualsEvaluatorForAnyTwoDivisions) {
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  const uint64_t cases = std::getenv("SPYRE_TEST_LONG") ? 6000 : 140;
  uint64_t moved = 0;
  for (uint64_t seed = 0; seed < cases && !HasFailure(); ++seed) {
    Random random(seed * 7907 + 3);
    const std::string &name = relayoutCases()[seed % relayoutCases().size()];
    RelayoutCase testCase = randomRelayout(name, random, device, seed % 5 == 0 ? 6 : 1);
    SCOPED_TRACE(fmt::format("seed {} {} {}", seed, name, spec::writeOpSpecs(testCase.specs)));
    expectSame(testCase, card, device);
    moved += card.counters.ring_bytes > 0;
  }
  EXPECT_GT(moved, cases / 3);
}

INSTANTIATE_TEST_SUITE_P(Machines, DifferentialRelayout, testing::Values("openspyre", "tiny"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

} // namespace spyre::backend::test
