//===- VerifierTest.cpp - each rule of the machine, kept and broken -------------------------===//
//
// "tiny" has 4 cores, 64 KiB of LX and 8 segments of 16 GiB. Each test breaks one rule of an else
// correct phase and looks for the words of that rule.
//===--------------------------------------------------------------------------------------------===//
#include "Program/ProgramBuilder.h"
#include "gtest/gtest.h"

#include <functional>

namespace spyre::program {
namespace {

using test::at;
using test::PhaseBuilder;
using test::programOf;

constexpr int64_t kLxBytes = 64 << 10;
constexpr int64_t kSegment = int64_t(1) << 34;

Status verify(const PhaseBuilder &phase) {
  return verifyProgram(programOf({phase}), *arch::DeviceDesc::preset("tiny"));
}

void expectFault(const PhaseBuilder &phase, const std::string &words) {
  Status status = verify(phase);
  EXPECT_EQ(status.code(), 5103) << words;
  EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
}

PhaseBuilder changed(PhaseBuilder phase, const std::function<void(Instruction &)> &change) {
  change(phase.phase.instructions.back());
  return phase;
}

PhaseBuilder goodLoad() { return PhaseBuilder("p").load({4}, at(0, {128}), at(0, {128})); }

TEST(Verifier, AcceptsAnEmptyProgramAndAGoodPhase) {
  EXPECT_TRUE(verifyProgram({}, *arch::DeviceDesc::preset("tiny")).ok());
  EXPECT_TRUE(verify(goodLoad()).ok());
}

TEST(Verifier, ChecksCoresAndTables) {
  expectFault(PhaseBuilder("p", 0), "0 cores");
  expectFault(PhaseBuilder("p", 5), "5 cores");
  PhaseBuilder wrongSize("p", 2);
  wrongSize.table({0, 128, 256});
  expectFault(wrongSize, "core table 0 has 3 entries for 2 cores");
  expectFault(PhaseBuilder("p").load({}, at(0).table(0), at(0)), "core table 0 of 0");
  expectFault(PhaseBuilder("p").load({}, at(0).table(-2), at(0)), "core table -2");
}

TEST(Verifier, ChecksOpcodesFunctionsAndOperandCounts) {
  expectFault(changed(goodLoad(), [](auto &i) { i.opcode = Opcode(11); }), "unknown opcode 11");
  expectFault(changed(goodLoad(), [](auto &i) { i.opcode = Opcode(0); }), "unknown opcode 0");
  expectFault(changed(goodLoad(), [](auto &i) { i.function = Function::Add; }), "no function");
  expectFault(changed(goodLoad(), [](auto &i) { i.operandCount = 1; }), "takes 2 operands");
  expectFault(changed(goodLoad(), [](auto &i) { i.operands[2].base = 128; }), "operand 2 is set");
  expectFault(PhaseBuilder("p").vector(Function::Sum, {}, {at(0), at(0)}), "no function 'sum'");
  expectFault(PhaseBuilder("p").vector(Function::Where, {}, {at(0), at(0), at(0)}),
              "takes 4 operands");
  expectFault(PhaseBuilder("p").accumulate(Function::Add, {}, at(0), at(256), 64), "no function");
  expectFault(PhaseBuilder("p").finish(Function::Sum, {}, at(0), at(256)), "no function");
}

TEST(Verifier, ChecksFormats) {
  using numerics::DataFormat;
  PhaseBuilder copy = PhaseBuilder("p").vector(Function::Copy, {}, {at(0), at(128)});
  EXPECT_TRUE(verify(copy.format(DataFormat::IeeeFp32)).ok());
  expectFault(copy.format(DataFormat::IeeeInt32), "not in IEEE_INT32");
  expectFault(copy.format(DataFormat(19)), "unknown format 19");
  expectFault(PhaseBuilder("p").loop(2).format(DataFormat(200)), "unknown format 200");
  EXPECT_TRUE(verify(goodLoad().format(DataFormat::IeeeInt32)).ok());
  PhaseBuilder matmul = PhaseBuilder("p").matmul({}, at(0), at(128), at(0x4000));
  EXPECT_TRUE(verify(matmul).ok());
  expectFault(matmul.format(DataFormat::IeeeFp32), "matmul multiplies SEN169_FP16");
}

TEST(Verifier, ChecksCountsLanesAndElements) {
  expectFault(PhaseBuilder("p").load({0}, at(0), at(0)), "count 0");
  expectFault(PhaseBuilder("p").load({-1}, at(0), at(0)), "count -1");
  for (uint16_t lanes : {0, 65}) {
    expectFault(PhaseBuilder("p").accumulate(Function::Sum, {}, at(0), at(256), lanes),
                "valid lanes must be in 1..64");
    expectFault(PhaseBuilder("p").matmul({}, at(0), at(128), at(0x4000), lanes), "valid lanes");
  }
  expectFault(PhaseBuilder("p")
                  .accumulate(Function::Sum, {}, at(0), at(256), 33)
                  .format(numerics::DataFormat::IeeeFp32),
              "1..32");
  expectFault(PhaseBuilder("p").shuffle(3, {}, at(0), at(256)), "1, 2 or 4 bytes, not 3");
  expectFault(PhaseBuilder("p").load({}, at(0), at(0).asSplat()), "may not be splat");
  expectFault(PhaseBuilder("p").vector(Function::Copy, {}, {at(0), at(128).asSplat()}),
              "operand 1 may not be splat");
}

TEST(Verifier, ChecksLoopNesting) {
  auto nested = [](int depth) {
    PhaseBuilder phase("p");
    for (int i = 0; i < depth; ++i) {
      phase.loop(2);
    }
    phase.load({}, at(0), at(0));
    for (int i = 0; i < depth; ++i) {
      phase.end();
    }
    return phase;
  };
  EXPECT_TRUE(verify(nested(4)).ok());
  expectFault(nested(5), "nested deeper than 4");
  expectFault(PhaseBuilder("p").loop(2).load({}, at(0), at(0)), "loop without endloop");
  expectFault(goodLoad().end(), "endloop without loop");
  expectFault(PhaseBuilder("p").loop(2).end(), "loop without a body");
  expectFault(PhaseBuilder("p").loop(0).load({}, at(0), at(0)).end(), "loop count 0");
  expectFault(PhaseBuilder("p").loop(2).load({}, at(0).loops({0, 128}), at(0)).end(),
              "stride for loop 1");
}

TEST(Verifier, ChecksAlignment) {
  expectFault(PhaseBuilder("p").load({}, at(64), at(0)), "64 is not a multiple of 128");
  expectFault(PhaseBuilder("p").load({}, at(0), at(2)), "2 is not a multiple of 128");
  expectFault(PhaseBuilder("p").load({2}, at(0, {130}), at(0, {128})), "130 is not a multiple");
  expectFault(PhaseBuilder("p").loop(2).load({}, at(0).loops({100}), at(0)).end(), "100 is not");
  PhaseBuilder table("p");
  table.load({}, at(0).table(table.table({96})), at(0));
  expectFault(table, "96 is not a multiple of 128");
  expectFault(PhaseBuilder("p").matmul({}, at(0), at(128), at(0x4000), 64, 100), "row stride 100");
  EXPECT_TRUE(verify(PhaseBuilder("p").shuffle(2, {4}, at(2, {6}), at(130, {2}))).ok());
  expectFault(PhaseBuilder("p").shuffle(4, {4}, at(2, {4}), at(128, {4})),
              "2 is not a multiple of 4");
}

TEST(Verifier, ChecksTheReachInLx) {
  constexpr int64_t kLast = kLxBytes - 128;
  EXPECT_TRUE(verify(PhaseBuilder("p").fill({}, at(kLast), 0)).ok());
  expectFault(PhaseBuilder("p").fill({}, at(kLxBytes), 0), "but LX has 65536");
  expectFault(PhaseBuilder("p").fill({}, at(-128), 0), "reaches LX bytes -128..0");
  // Levels, in both directions.
  EXPECT_TRUE(verify(PhaseBuilder("p").fill({512}, at(0, {128}), 0)).ok());
  expectFault(PhaseBuilder("p").fill({513}, at(0, {128}), 0), "reaches LX bytes 0..65664");
  EXPECT_TRUE(verify(PhaseBuilder("p").fill({512}, at(kLast, {-128}), 0)).ok());
  expectFault(PhaseBuilder("p").fill({513}, at(kLast, {-128}), 0), "reaches LX bytes -128");
  // Loops.
  EXPECT_TRUE(
      verify(PhaseBuilder("p").loop(2).fill({}, at(kLast - 128).loops({128}), 0).end()).ok());
  expectFault(PhaseBuilder("p").loop(3).fill({}, at(kLast - 128).loops({128}), 0).end(), "reaches");
  // Accumulators have two sticks, B blocks 64 rows, of which the valid ones count.
  expectFault(PhaseBuilder("p").finish(Function::Lanes, {}, at(kLast), at(0)), "operand 0 reaches");
  EXPECT_TRUE(
      verify(PhaseBuilder("p").matmul({}, at(0), at(kLxBytes - 63 * 128), at(256), 63)).ok());
  expectFault(PhaseBuilder("p").matmul({}, at(0), at(kLxBytes - 63 * 128), at(256)), "operand 1");
  expectFault(PhaseBuilder("p").matmul({}, at(0), at(0), at(256), 64, -128), "operand 1 reaches");
  EXPECT_TRUE(verify(PhaseBuilder("p").shuffle(2, {}, at(0), at(kLxBytes - 2))).ok());
  expectFault(PhaseBuilder("p").shuffle(2, {2}, at(0), at(kLxBytes - 2, {2})), "operand 1 reaches");
  // Core tables: only the last core leaves.
  PhaseBuilder table("p", 3);
  table.fill({}, at(0).table(table.table({0, 128, kLxBytes})), 0);
  expectFault(table, "reaches LX bytes 0..65664");
}

TEST(Verifier, ChecksThatDdrRangesStayInOneSegment) {
  auto load = [](int64_t base, int64_t count) {
    return PhaseBuilder("p").load({count}, at(base, {128}), at(0, {0}));
  };
  EXPECT_TRUE(verify(load(kSegment - 128, 1)).ok());
  expectFault(load(kSegment - 128, 2), "not inside one of 8 segments");
  EXPECT_TRUE(verify(load(8 * kSegment - 128, 1)).ok());
  expectFault(load(8 * kSegment, 1), "not inside one");
  expectFault(load(-128, 1), "not inside one");
  PhaseBuilder table("p", 2);
  table.load({}, at(0).table(table.table({0, kSegment})), at(0));
  expectFault(table, "not inside one");
}

TEST(Verifier, SurvivesNumbersThatOverflow) {
  constexpr int64_t kHuge = INT64_MAX / 128 * 128;
  expectFault(PhaseBuilder("p").fill({2}, at(kHuge, {kHuge}), 0), "reaches LX");
  expectFault(PhaseBuilder("p").fill({2}, at(-kHuge, {-kHuge}), 0), "reaches LX");
  expectFault(PhaseBuilder("p").load({2, 2}, at(kHuge, {kHuge, kHuge}), at(0)), "reaches DDR");
  expectFault(PhaseBuilder("p").fill({INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, at(0), 0),
              "points or more");
  // Four steps of 2^62 come back to zero in 64 bits.
  expectFault(PhaseBuilder("p").fill({5}, at(0, {int64_t(1) << 62}), 0), "reaches LX");
  // The stride of a level with one point is never used.
  EXPECT_TRUE(verify(PhaseBuilder("p").fill({1}, at(0, {kHuge}), 0)).ok());
}

TEST(Verifier, BoundsTheWork) {
  constexpr int64_t kMany = int64_t(1) << 24;
  EXPECT_TRUE(verify(PhaseBuilder("p").loop(kMany).fill({kMany - 1}, at(0), 0).end()).ok());
  expectFault(PhaseBuilder("p").loop(kMany).fill({kMany}, at(0), 0).end(), "points or more");
  expectFault(PhaseBuilder("p").loop(int64_t(1) << 48).fill({}, at(0), 0).end(), "loop count");
  // The sum counts, not each instruction alone.
  expectFault(
      PhaseBuilder("p").loop(kMany).fill({kMany / 2}, at(0), 0).fill({kMany / 2}, at(0), 0).end(),
      "instruction 2: the program runs");
}

} // namespace
} // namespace spyre::program
