//===- LxEndsTest.cpp - where the free part of LX begins in each phase ----------------------===//
#include "spyre/Base/Random.h"

#include "BackEnd/DoubleBuffer.h"
#include "gtest/gtest.h"

#include <algorithm>

namespace spyre::backend {
namespace {

/// The rule, phase by phase.
int64_t endOf(const std::vector<program::Buffer> &buffers, int32_t phase,
              const arch::DeviceDesc &device) {
  int64_t end = device.lxStagingBegin();
  for (const program::Buffer &buffer : buffers) {
    if (buffer.space == program::Space::Lx && buffer.firstPhase <= phase &&
        phase <= buffer.lastPhase) {
      int64_t offset = 0;
      for (int64_t core : buffer.coreOffset) {
        offset = std::max(offset, core);
      }
      end = std::max(end, buffer.base + offset + buffer.bytes);
    }
  }
  return end;
}

TEST(LxEnds, AreBehindAllThatIsAlive) {
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const auto phases = int32_t(1 + random.below(20));
    std::vector<program::Buffer> buffers(random.below(40));
    for (program::Buffer &buffer : buffers) {
      buffer.space = random.below(4) == 0 ? program::Space::Ddr : program::Space::Lx;
      buffer.base = device.lxStagingBegin() + 128 * (int64_t(random.below(60)) - 20);
      buffer.bytes = 128 * int64_t(1 + random.below(10));
      buffer.firstPhase = int32_t(random.below(uint64_t(phases)));
      buffer.lastPhase =
          buffer.firstPhase + int32_t(random.below(uint64_t(phases - buffer.firstPhase)));
      if (random.below(3) == 0) {
        buffer.coreOffset = {0, 128 * int64_t(random.below(9)), 0, 128};
      }
    }
    const std::vector<int64_t> ends = lxEnds(buffers, size_t(phases), device);
    ASSERT_EQ(ends.size(), size_t(phases));
    for (int32_t phase = 0; phase < phases; ++phase) {
      EXPECT_EQ(ends[size_t(phase)], endOf(buffers, phase, device)) << round << " " << phase;
    }
  }
}

} // namespace
} // namespace spyre::backend
