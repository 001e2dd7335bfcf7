//===- OperationTimesTest.cpp - rooflines and waits of a program's operations ---------------===//
#include "spyre/Runtime/OperationTimes.h"

#include "spyre/Program/Program.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numeric>

namespace spyre::runtime {
namespace {

std::string programText(const std::string &phases) {
  Expected<program::Program> program = program::assemble("spyre-program 2\n" + phases);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? program::writeProgram(*program) : "";
}

const char *const kPhases = R"(buffer x ddr 0:0x0 bytes 65536 phases 0..0
buffer a lx 0x0 bytes 65536 phases 0..1
phase 0 "0_load" cores 1
  load SEN169_FP16 a[128*p5] <- x[128*p5] x 512
phase 1 "1_fill" cores 1
  fill SEN169_FP16 a[128*p5] pattern=0 x 512
)";

} // namespace

TEST(OperationTimes, SayWhatIsWaitedForAndHowNearThePeakItIs) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  Expected<std::vector<OperationTime>> times = operationTimes(programText(kPhases), device);
  ASSERT_TRUE(times.ok()) << times.status().message();
  ASSERT_EQ(times->size(), 2u);
  for (const OperationTime &time : *times) {
    EXPECT_EQ(std::accumulate(time.stallCycles.begin(), time.stallCycles.end(), uint64_t(0)),
              time.cycles);
    EXPECT_DOUBLE_EQ(time.nanoseconds, double(time.cycles) / device.timing.clockGhz);
  }
  const OperationTime &load = (*times)[0], &fill = (*times)[1];
  EXPECT_EQ(load.name, "0_load");
  EXPECT_EQ(load.ddrReadBytes, 512u * 128);
  EXPECT_STREQ(load.bound, "ddr");
  EXPECT_STREQ(load.mainReason(), "ddr");
  EXPECT_EQ(load.intensity, 0);
  EXPECT_DOUBLE_EQ(load.boundCycles, 512 * 128 / device.timing.ddrPeakBytesPerCycle);
  // One core gets a part of the memory's peak.
  EXPECT_LT(load.partOfBound(), 0.2);
  EXPECT_STREQ(fill.mainReason(), "sfp");
  EXPECT_STREQ(fill.bound, "none");
  EXPECT_EQ(fill.partOfBound(), 0);
}

TEST(OperationTimes, RefuseWhatIsNoProgram) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  Expected<std::vector<OperationTime>> times = operationTimes("no program", device);
  ASSERT_FALSE(times.ok());
  EXPECT_EQ(times.status().code(), 7006);
  times = operationTimes(programText(""), device);
  EXPECT_TRUE(!times.ok() || times->empty());
}

} // namespace spyre::runtime
