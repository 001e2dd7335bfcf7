//===- DividedRuns.h - one operation divided over cores, and on one core --------------------===//
#pragma once

#include "Generator.h"
#include "Harness.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <optional>

namespace spyre::backend::test {

class DividedRuns : public testing::Test {
protected:
  explicit DividedRuns(const char *preset = "openspyre") : device(presetDevice(preset)) {}

  struct Run {
    evaluator::Memory memory;
    spyre_sim_counters counters{};
    /// Of the phase with the most.
    int64_t cores = 0;
    size_t phases = 0;
  };

  std::optional<Run> runOnCard(const spec::OpSpec &spec, const evaluator::Memory &memory) {
    Expected<program::Program> program = lowerAll({spec}, device);
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program.ok()) {
      return std::nullopt;
    }
    Run run{memory, {}, 0, program->phases.size()};
    for (const program::Phase &phase : program->phases) {
      run.cores = std::max(run.cores, phase.cores);
    }
    Status ran = card.run(*program, run.memory, &spec);
    EXPECT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(*program);
    run.counters = card.counters;
    return ran.ok() ? std::optional(run) : std::nullopt;
  }

  static spec::OpSpec onOneCore(spec::OpSpec spec) {
    for (spec::IterationDim &dim : spec.iterationSpace) {
      dim.cores = 1;
      dim.uneven = false;
    }
    return spec;
  }

  /// What \p spec gives on its \p cores cores is what the evaluator says, by the same work as on
  /// one core; with \p sameBits it is what one core gives, too.
  void runDivided(const spec::OpSpec &spec, int64_t cores, bool sameBits) {
    Random random(uint64_t(cores) * 31 + 7);
    const evaluator::Memory memory = randomMemory(spec, random);
    std::optional<Run> divided = runOnCard(spec, memory);
    std::optional<Run> alone = runOnCard(onOneCore(spec), memory);
    ASSERT_TRUE(divided && alone);
    EXPECT_EQ(divided->cores, cores);
    EXPECT_EQ(alone->cores, 1);
    evaluator::Memory expected = memory;
    Status evaluated = evaluator::evaluate({spec}, expected);
    ASSERT_TRUE(evaluated.ok()) << evaluated.message();
    EXPECT_TRUE(divided->memory.arguments == expected.arguments) << "not what the evaluator says";
    if (sameBits) {
      EXPECT_TRUE(divided->memory.arguments == alone->memory.arguments)
          << "not the bits of one core";
    }
    EXPECT_EQ(divided->counters.pt_macs, alone->counters.pt_macs);
    EXPECT_EQ(divided->counters.sfp_lane_ops, alone->counters.sfp_lane_ops);
    EXPECT_EQ(divided->counters.ddr_write_bytes, alone->counters.ddr_write_bytes);
    EXPECT_GT(divided->counters.ddr_write_bytes, 0u);
    EXPECT_GT(divided->counters.sanitizer_checks, 0u);
  }

  arch::DeviceDesc device;
  Card card{device};
};

} // namespace spyre::backend::test
