//===- ExpectSame.h - one operation on the card and in the evaluator ------------------------===//
#pragma once

#include "Generator.h"
#include "Harness.h"
#include "gtest/gtest.h"

namespace spyre::backend::test {

/// All memory is equal bit for bit afterwards, and the card has counted exactly the work the
/// operation asks for.
inline void expectSame(const RandomCase &testCase, Card &card, const arch::DeviceDesc &device) {
  Expected<program::Program> program = lowerAll({testCase.spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  evaluator::Memory expected = testCase.memory, actual = testCase.memory;
  Status evaluated = evaluator::evaluate({testCase.spec}, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  Status ran = card.run(*program, actual, &testCase.spec);
  ASSERT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(*program);
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    const std::vector<uint8_t> &want = expected.arguments[i], &got = actual.arguments[i];
    for (size_t at = 0; want != got && at < want.size(); ++at) {
      ASSERT_EQ(want[at], got[at]) << "argument " << i << " byte " << at << "\n"
                                   << program::disassemble(*program);
    }
  }
  EXPECT_EQ(card.counters.pt_macs, testCase.macs);
  EXPECT_EQ(card.counters.sfp_lane_ops, testCase.laneOps);
  EXPECT_GT(card.counters.sanitizer_checks, 0u);
}

} // namespace spyre::backend::test
