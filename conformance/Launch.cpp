//===- Launch.cpp - programs, segments, counters --------------------------------------------===//
#include "Conformance.h"

using namespace spyre;
using namespace spyre::runtime;

namespace spyre::conformance {

using Launch = ConformanceTest;

namespace {

std::vector<uint64_t> asList(const DeviceCounters &counters) {
  return {counters.launches,    counters.ddrReadBytes,   counters.ddrWriteBytes,
          counters.lxReadBytes, counters.lxWriteBytes,   counters.ringBytes,
          counters.ptMacs,      counters.sfpLaneOps,     counters.cycles,
          counters.nanoseconds, counters.sanitizerChecks};
}

} // namespace

TEST_F(Launch, RunsAProgramOnBoundSegments) {
  BufferRef program = loadAdd({0, 1, 2, 2, false});
  BufferRef left = filled(1.5f, 2), right = filled(2.25f, 2), out = *device->allocate(256);
  const Status status = device->launch(program, 0, programBytes, {left, right, out});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(device->counters().launches, 1u);
  if (traits().computes) {
    EXPECT_EQ(lane(out, 0), 3.75f);
    EXPECT_EQ(lane(out, 127), 3.75f);
    EXPECT_EQ(device->counters().ddrReadBytes, 4u * 128);
    EXPECT_EQ(device->counters().ddrWriteBytes, 2u * 128);
    EXPECT_EQ(device->counters().sfpLaneOps, 2u * 64);
    EXPECT_GT(device->counters().cycles, 0u);
    EXPECT_GT(device->counters().nanoseconds, 0u);
    EXPECT_GT(device->counters().sanitizerChecks, 0u) << "the suite runs with the sanitizer on";
  }
}

TEST_F(Launch, SegmentsMayBeUnmappedOrShareABuffer) {
  BufferRef program = loadAdd({2, 4, 6, 1, false});
  BufferRef in = filled(4), out = *device->allocate(128);
  const Status status =
      device->launch(program, 0, programBytes, {nullptr, nullptr, in, nullptr, in, nullptr, out});
  ASSERT_TRUE(status.ok()) << status.message();
  if (traits().computes) {
    EXPECT_EQ(lane(out, 9), 8.0f);
  }
}

TEST_F(Launch, ProgramsMayLieAnywhereInTheirBuffer) {
  const std::string bytes = program::writeProgram(test::addProgram(desc, {0, 0, 1, 1, false}));
  BufferRef program = *device->allocate(bytes.size() + 1024);
  ASSERT_TRUE(device->copyToDevice(program, 1024, bytes.data(), bytes.size()).ok());
  BufferRef in = filled(3), out = *device->allocate(128);
  const Status status = device->launch(program, 1024, bytes.size(), {in, out});
  ASSERT_TRUE(status.ok()) << status.message();
  if (traits().computes) {
    EXPECT_EQ(lane(out, 1), 6.0f);
  }
}

TEST_F(Launch, RefusesALaunchWithoutAProgram) {
  BufferRef program = loadAdd({0, 0, 1, 1, false});
  EXPECT_EQ(device->launch(nullptr, 0, 128, {}).code(), 6104);
  EXPECT_EQ(device->launch(program, 0, 0, {}).code(), 6104);
  EXPECT_EQ(device->launch(program, 0, program->bytes() + 1, {}).code(), 6103);
  EXPECT_EQ(device->launch(program, UINT64_MAX, 128, {}).code(), 6103);
  EXPECT_EQ(device->counters().launches, 0u);
}

TEST_F(Launch, DriversRefuseAnUnboundProgramSegment) {
  std::unique_ptr<Driver> driver = makeDriver();
  const std::string bytes = program::writeProgram(test::addProgram(desc, {0, 0, 1, 1, false}));
  ASSERT_TRUE(driver->write(1024, bytes.data(), bytes.size()).ok());
  const uint64_t base = uint64_t(desc.segmentBase(desc.programSegment()));
  std::vector<SegmentBinding> segments(size_t(desc.segments));
  EXPECT_FALSE(driver->launch(base, bytes.size(), {}).ok());
  EXPECT_FALSE(driver->launch(base, bytes.size(), segments).ok());
  segments.back() = {1024, 128};
  EXPECT_FALSE(driver->launch(base, bytes.size(), segments).ok()) << "bound, but too short";
  segments.back() = {1024, 65536};
  EXPECT_FALSE(driver->launch(base + 65536, bytes.size(), segments).ok());
  EXPECT_FALSE(driver->launch(UINT64_MAX - 64, bytes.size(), segments).ok());
  EXPECT_EQ(driver->counters().launches, 0u);
}

TEST_F(Launch, RefusesMoreSegmentsThanTheMachineHas) {
  BufferRef program = loadAdd({0, 0, 1, 1, false}), tensor = filled(1);
  std::vector<BufferRef> segments(size_t(desc.segments), tensor);
  EXPECT_EQ(device->launch(program, 0, programBytes, segments).code(), 6105);
}

TEST_F(Launch, CountersOnlyGrowAndResetToZero) {
  BufferRef program = loadAdd({0, 0, 1, 1, false});
  BufferRef in = filled(1), out = *device->allocate(128);
  std::vector<uint64_t> last = asList(device->counters());
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(device->launch(program, 0, programBytes, {in, out}).ok());
    const std::vector<uint64_t> now = asList(device->counters());
    EXPECT_EQ(now[0], round);
    for (size_t i = 0; i < now.size(); ++i) {
      EXPECT_GE(now[i], last[i]) << "counter " << i;
    }
    last = now;
  }
  device->resetCounters();
  EXPECT_EQ(asList(device->counters()), std::vector<uint64_t>(last.size(), 0));
}

// A bad program fails its launch and nothing else; a driver that runs nothing accepts it.
TEST_F(Launch, ABadProgramLeavesTheDeviceUsable) {
  BufferRef good = loadAdd({0, 1, 2, 1, false});
  BufferRef in = filled(1), out = *device->allocate(128);
  BufferRef bad = *device->allocate(programBytes);
  const bool accepts = !traits().computes;
  EXPECT_EQ(device->launch(bad, 0, programBytes, {in, in, out}).ok(), accepts) << "all zeros";
  const std::string noise(programBytes, '\x5a');
  ASSERT_TRUE(device->copyToDevice(bad, 0, noise.data(), noise.size()).ok());
  const Status status = device->launch(bad, 0, programBytes, {in, in, out});
  EXPECT_EQ(status.ok(), accepts);
  EXPECT_EQ(status.text().empty(), accepts);
  EXPECT_EQ(device->launch(good, 0, programBytes, {in, nullptr, out}).ok(), accepts) << "unmapped";
  ASSERT_TRUE(device->launch(good, 0, programBytes, {in, in, out}).ok());
  if (traits().computes) {
    EXPECT_EQ(lane(out, 0), 2.0f);
  }
}

} // namespace spyre::conformance
