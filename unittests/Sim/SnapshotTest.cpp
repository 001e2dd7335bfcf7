//===- SnapshotTest.cpp - going back to an earlier state, memory of a large device ----------===//
#include "Sim/SimFixture.h"

#include <fstream>
#include <memory>

namespace spyre::test {
namespace {

struct SnapshotDeleter {
  void operator()(spyre_sim_snapshot *snapshot) const { spyre_sim_snapshot_destroy(snapshot); }
};
using SnapshotPointer = std::unique_ptr<spyre_sim_snapshot, SnapshotDeleter>;

SnapshotPointer save(TestSim &sim) {
  SnapshotPointer snapshot(spyre_sim_save(sim.sim));
  EXPECT_NE(snapshot, nullptr);
  return snapshot;
}

constexpr const char *kKeep = R"(
    buffer kept lx 512 bytes 128 live-out
    buffer x ddr 0:0 bytes 128
    phase 0 "0_keep" cores 2
      load SEN169_FP16 kept[0] <- x[0]
    )";
/// Doubles what was kept and writes it to segment 1; core 1 to the second stick.
constexpr const char *kStep = R"(
    buffer kept lx 512 bytes 128 live-in live-out
    buffer y ddr 1:0 bytes 256
    phase 0 "0_step" cores 2
      table T0: 0 128
      vector.add IEEE_INT32 kept[0] <- kept[0], kept[0]
      store SEN169_FP16 y[T0] <- kept[0]
    )";

/// Bytes and errors of the launches after the snapshot.
std::vector<std::string> continueFrom(TestSim &sim) {
  std::vector<std::string> seen;
  for (int i = 0; i < 3; ++i) {
    seen.push_back(sim.launchText(kStep));
    std::vector<char> bytes = sim.read<char>(dram(1), 256);
    seen.emplace_back(bytes.begin(), bytes.end());
  }
  std::vector<char> padded(128);
  uint64_t none = 0;
  spyre_sim_read_sticks(sim.sim, dram(3), padded.data(), 128, &none);
  seen.emplace_back(spyre_sim_last_error(sim.sim));
  return seen;
}

void prepare(TestSim &sim) {
  sim.write(dram(0), std::vector<int32_t>(32, 3));
  uint64_t padding = 0xFF00;
  std::vector<uint8_t> stick(128, 1);
  ASSERT_EQ(spyre_sim_write_sticks(sim.sim, dram(3), stick.data(), 128, &padding), 0);
  ASSERT_EQ(sim.launchText(kKeep), "");
}

TEST(Snapshot, RestoresResultsAndFaultsAnyNumberOfTimes) {
  TestSim sim;
  prepare(sim);
  SnapshotPointer snapshot = save(sim);
  std::vector<std::string> expected = continueFrom(sim);
  EXPECT_EQ(sim.read<int32_t>(dram(1), 1)[0], 24);
  expectFault(expected.back(), {"E7012", "mask 0xff00"});
  for (int round = 0; round < 3; ++round) {
    // Everything that was there is changed first.
    sim.write(dram(1), std::vector<uint8_t>(4096, 0xEE));
    sim.write(dram(3), std::vector<uint8_t>(4096, 0xEE));
    ASSERT_EQ(sim.launch({PhaseBuilder("0_fill", 4).fill({512}, at(0, {128}), 0)}), "");
    sim.write(uint64_t(100) << 30, std::vector<uint8_t>(1, 1));
    ASSERT_EQ(spyre_sim_restore(sim.sim, snapshot.get()), 0);
    EXPECT_EQ(sim.read<uint8_t>(dram(1), 1)[0], 0);
    EXPECT_EQ(sim.read<uint8_t>(uint64_t(100) << 30, 1)[0], 0);
    EXPECT_EQ(continueFrom(sim), expected);
  }
}

TEST(Snapshot, RestoresOnAnotherDeviceThatDidOtherThings) {
  TestSim sim;
  prepare(sim);
  SnapshotPointer snapshot = save(sim);
  std::vector<std::string> expected = continueFrom(sim);
  TestSim other(3);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(other.launch({PhaseBuilder("0_fill", 4).fill({512}, at(0, {128}), 1)}), "");
  }
  ASSERT_EQ(spyre_sim_restore(other.sim, snapshot.get()), 0);
  EXPECT_EQ(continueFrom(other), expected);
  // What this device wrote itself is gone, as the sanitizer sees it.
  ASSERT_EQ(spyre_sim_restore(other.sim, snapshot.get()), 0);
  expectFault(other.launch({PhaseBuilder("0_read").vector(Function::Copy, {}, {at(0), at(0)})}),
              {"SPYRE-E7003"});
}

TEST(Snapshot, CountersAndTraceStay) {
  TestSim sim;
  prepare(sim);
  SnapshotPointer snapshot = save(sim);
  continueFrom(sim);
  ASSERT_EQ(spyre_sim_restore(sim.sim, snapshot.get()), 0);
  EXPECT_EQ(sim.counters().launches, 4u);
}

TEST(Snapshot, OtherDescriptionsAreRefused) {
  TestSim sim;
  SnapshotPointer snapshot = save(sim);
  SimOptions larger;
  larger.device.lxBytes *= 2;
  TestSim other(larger), plain(SimOptions{.sanitizer = false});
  EXPECT_NE(spyre_sim_restore(other.sim, snapshot.get()), 0);
  expectFault(spyre_sim_last_error(other.sim), {"SPYRE-E7001: configuration", "another device"});
  EXPECT_NE(spyre_sim_restore(plain.sim, snapshot.get()), 0);
  EXPECT_NE(spyre_sim_restore(sim.sim, nullptr), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"snapshot is NULL"});
  EXPECT_EQ(spyre_sim_save(nullptr), nullptr);
  spyre_sim_snapshot_destroy(nullptr);
}

// The random of the wipe is state, too.
TEST(Snapshot, WipesContinueTheSame) {
  TestSim sim(SimOptions{.vfMode = true, .wipeSeed = 5});
  SnapshotPointer snapshot = save(sim);
  auto wiped = [&](TestSim &device) {
    EXPECT_EQ(device.launch({PhaseBuilder("0_fill").fill({}, at(0), 0)}), "");
    return device.readLx<uint64_t>(2, 0, 1024);
  };
  std::vector<uint64_t> first = wiped(sim);
  EXPECT_NE(wiped(sim), first);
  TestSim other(SimOptions{.vfMode = true, .wipeSeed = 77});
  ASSERT_EQ(spyre_sim_restore(other.sim, snapshot.get()), 0);
  EXPECT_EQ(wiped(other), first);
}

// A host sanitizer has several bytes of its own for each byte of the program.
#ifdef __SANITIZE_THREAD__
constexpr int64_t kMostGrowthBytes = int64_t(2) << 30;
#else
// About 80 places are touched, and the host may commit 2 MiB for each.
constexpr int64_t kMostGrowthBytes = int64_t(400) << 20;
#endif

/// Resident bytes of this process.
int64_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST(Snapshot, ALargeDeviceCommitsWhatIsTouched) {
  int64_t before = residentBytes();
  TestSim sim(SimOptions{.device = *arch::DeviceDesc::preset("openspyre")});
  for (uint64_t gigabyte = 0; gigabyte < 112; gigabyte += 10) {
    sim.write(gigabyte << 30, std::vector<uint8_t>(1000, 1));
    // Reading commits nothing.
    EXPECT_EQ(sim.read<uint8_t>((gigabyte << 30) + (1 << 29), 1)[0], 0);
  }
  ASSERT_EQ(spyre_sim_copy(sim.sim, 0, uint64_t(55) << 30, 4096), 0);
  // One stick every 16 MiB over 1 GiB: what lies between is not touched.
  sim.segments[1].bytes = uint64_t(1) << 30;
  ASSERT_EQ(
      sim.launch(
          {PhaseBuilder("0_store").fill({}, at(0), 1).store({64}, at(0), ddrAt(1, 0, {16 << 20}))}),
      "");
  SnapshotPointer snapshot = save(sim);
  EXPECT_LT(residentBytes() - before, kMostGrowthBytes);
}

} // namespace
} // namespace spyre::test
