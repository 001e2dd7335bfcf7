//===- HostAccessTest.cpp - creation, DDR seen from the host, errors of the C interface -----===//
#include "Sim/SimFixture.h"

#include <thread>

namespace spyre::test {
namespace {

TEST(HostAccess, CreationChecksItsConfiguration) {
  const char *error = nullptr;
  EXPECT_EQ(spyre_sim_create(nullptr, &error), nullptr);
  expectFault(error, {"SPYRE-E7001: configuration", "config is NULL"});
  spyre_sim_config config{nullptr, 1, 1, 0, 0};
  EXPECT_EQ(spyre_sim_create(&config, &error), nullptr);
  expectFault(error, {"E7001", "device_json"});
  config.device_json = "{}";
  EXPECT_EQ(spyre_sim_create(&config, &error), nullptr);
  expectFault(error, {"E7001", "SPYRE-E9201"});
  EXPECT_EQ(spyre_sim_create(&config, nullptr), nullptr);
}

TEST(HostAccess, DdrIsZeroUntilWrittenAndAfterDiscard) {
  TestSim sim;
  constexpr uint64_t kFar = uint64_t(100) << 30;
  EXPECT_EQ(sim.read<uint8_t>(kFar, 3), (std::vector<uint8_t>{0, 0, 0}));
  // Five host pages and odd borders: whole pages and the parts around them become zero.
  std::vector<uint8_t> data(5 * 4096, 0xAB);
  sim.write(kFar, data);
  ASSERT_EQ(spyre_sim_discard(sim.sim, kFar + 100, 4 * 4096), 0);
  std::fill(data.begin() + 100, data.begin() + 100 + 4 * 4096, uint8_t(0));
  EXPECT_EQ(sim.read<uint8_t>(kFar, data.size()), data);
  // Inside one page.
  ASSERT_EQ(spyre_sim_discard(sim.sim, kFar + 10, 20), 0);
  std::fill(data.begin() + 10, data.begin() + 30, uint8_t(0));
  EXPECT_EQ(sim.read<uint8_t>(kFar, data.size()), data);
}

TEST(HostAccess, RefusesAddressesOutsideTheDevice) {
  TestSim sim;
  auto ddrBytes = uint64_t(arch::DeviceDesc::preset("tiny")->ddrBytes);
  char byte = 0;
  EXPECT_EQ(spyre_sim_write(sim.sim, ddrBytes - 1, &byte, 1), 0);
  EXPECT_EQ(spyre_sim_read(sim.sim, ddrBytes, &byte, 0), 0);
  EXPECT_NE(spyre_sim_write(sim.sim, ddrBytes, &byte, 1), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"SPYRE-E7002: out-of-bounds", "physical DDR"});
  EXPECT_NE(spyre_sim_read(sim.sim, UINT64_MAX, &byte, UINT64_MAX), 0);
  EXPECT_NE(spyre_sim_discard(sim.sim, 1, UINT64_MAX), 0);
  EXPECT_NE(spyre_sim_read_lx(sim.sim, 4, 0, &byte, 1), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"E7002", "core 4 of 4"});
  EXPECT_NE(spyre_sim_read_lx(sim.sim, 3, 64 << 10, &byte, 1), 0);
  EXPECT_NE(spyre_sim_read_lx(sim.sim, 3, UINT64_MAX, &byte, 2), 0);
  EXPECT_EQ(spyre_sim_read_lx(sim.sim, 3, (64 << 10) - 1, &byte, 1), 0);
}

TEST(HostAccess, CopiesInsideDdr) {
  TestSim sim;
  Random random(1);
  // Large enough for several threads, with odd borders.
  std::vector<uint8_t> data = randomBits<uint8_t>(random, (6 << 20) + 77);
  sim.write(1001, data);
  ASSERT_EQ(spyre_sim_copy(sim.sim, 1001, uint64_t(50) << 30, data.size()), 0);
  EXPECT_EQ(sim.read<uint8_t>(uint64_t(50) << 30, data.size()), data);
  EXPECT_EQ(spyre_sim_copy(sim.sim, 1001, 1001, data.size()), 0);
  EXPECT_EQ(spyre_sim_copy(sim.sim, 1001, 1001 + data.size(), data.size()), 0);
  EXPECT_EQ(spyre_sim_copy(sim.sim, 0, 64, 0), 0);
  EXPECT_NE(spyre_sim_copy(sim.sim, 1001, 1000 + data.size(), data.size()), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"SPYRE-E7002", "overlap"});
  EXPECT_NE(spyre_sim_copy(sim.sim, 0, UINT64_MAX - 10, 11), 0);
  EXPECT_NE(spyre_sim_copy(sim.sim, UINT64_MAX - 10, 0, 11), 0);
}

TEST(HostAccess, PaddingComesInWholeSticks) {
  TestSim sim;
  std::vector<uint8_t> data(256);
  std::array<uint64_t, 2> padding{};
  EXPECT_EQ(spyre_sim_write_sticks(sim.sim, 128, data.data(), 256, padding.data()), 0);
  EXPECT_EQ(spyre_sim_write_sticks(sim.sim, 128, data.data(), 256, nullptr), 0);
  EXPECT_EQ(spyre_sim_read_sticks(sim.sim, 128, data.data(), 256, nullptr), 0);
  EXPECT_EQ(spyre_sim_read_sticks(sim.sim, 128, data.data(), 0, nullptr), 0);
  EXPECT_NE(spyre_sim_write_sticks(sim.sim, 64, data.data(), 128, padding.data()), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"SPYRE-E7002", "not whole sticks"});
  EXPECT_NE(spyre_sim_write_sticks(sim.sim, 128, data.data(), 130, padding.data()), 0);
  EXPECT_NE(spyre_sim_read_sticks(sim.sim, 64, data.data(), 128, padding.data()), 0);
  EXPECT_NE(spyre_sim_read_sticks(sim.sim, 0, nullptr, 128, padding.data()), 0);
  EXPECT_NE(spyre_sim_write_sticks(sim.sim, 0, nullptr, 128, padding.data()), 0);
  EXPECT_NE(spyre_sim_read_sticks(sim.sim, ~uint64_t(127), data.data(), 128, nullptr), 0);
}

// A snapshot takes 256 KiB at a time: discarding less must not lose what is around.
TEST(HostAccess, DiscardLeavesNeighboursAlone) {
  TestSim sim;
  sim.write(0, std::vector<uint8_t>(1 << 20, 5));
  ASSERT_EQ(spyre_sim_discard(sim.sim, 1000, (1 << 19) + 1), 0);
  spyre_sim_snapshot *snapshot = spyre_sim_save(sim.sim);
  sim.write(0, std::vector<uint8_t>(1 << 20, 6));
  ASSERT_EQ(spyre_sim_restore(sim.sim, snapshot), 0);
  spyre_sim_snapshot_destroy(snapshot);
  std::vector<uint8_t> expected(1 << 20, 5);
  std::fill_n(expected.begin() + 1000, (1 << 19) + 1, uint8_t(0));
  EXPECT_EQ(sim.read<uint8_t>(0, 1 << 20), expected);
}

TEST(HostAccess, LxIsWrittenPerCore) {
  TestSim sim;
  std::vector<uint8_t> data(100, 3);
  ASSERT_EQ(spyre_sim_write_lx(sim.sim, 2, 60, data.data(), 100), 0);
  EXPECT_EQ(sim.readLx<uint8_t>(2, 60, 100), data);
  EXPECT_EQ(sim.readLx<uint8_t>(1, 60, 100), std::vector<uint8_t>(100));
  EXPECT_NE(spyre_sim_write_lx(sim.sim, 4, 0, data.data(), 1), 0);
  EXPECT_NE(spyre_sim_write_lx(sim.sim, 0, kTinyLxBytes, data.data(), 1), 0);
  EXPECT_NE(spyre_sim_write_lx(sim.sim, 0, 0, nullptr, 1), 0);
  EXPECT_EQ(spyre_sim_write_lx(sim.sim, 0, kTinyLxBytes, data.data(), 0), 0);
}

TEST(HostAccess, NullPointersAreErrorsNotCrashes) {
  TestSim sim;
  EXPECT_NE(spyre_sim_write(sim.sim, 0, nullptr, 1), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"E7001", "data is NULL"});
  EXPECT_NE(spyre_sim_read(sim.sim, 0, nullptr, 1), 0);
  EXPECT_NE(spyre_sim_read_lx(sim.sim, 0, 0, nullptr, 1), 0);
  EXPECT_NE(spyre_sim_launch(sim.sim, 0, 0, nullptr, 1, 0), 0);
  EXPECT_NE(spyre_sim_launch(nullptr, 0, 0, nullptr, 0, 0), 0);
  EXPECT_STREQ(spyre_sim_last_error(nullptr), "");
  spyre_sim_get_counters(nullptr, nullptr);
  spyre_sim_get_counters(sim.sim, nullptr);
  spyre_sim_reset_counters(nullptr);
  spyre_sim_destroy(nullptr);
}

TEST(HostAccess, ErrorsAreKeptPerDeviceAndThreadAndClearedBySuccess) {
  TestSim first, second;
  char byte = 0;
  EXPECT_NE(spyre_sim_write(first.sim, UINT64_MAX, &byte, 1), 0);
  EXPECT_EQ(spyre_sim_write(second.sim, 0, &byte, 1), 0);
  EXPECT_STREQ(spyre_sim_last_error(second.sim), "");
  std::thread([&] {
    EXPECT_EQ(spyre_sim_write(first.sim, 0, &byte, 1), 0);
    EXPECT_STREQ(spyre_sim_last_error(first.sim), "");
  }).join();
  EXPECT_STRNE(spyre_sim_last_error(first.sim), "");
  EXPECT_EQ(spyre_sim_write(first.sim, 0, &byte, 1), 0);
  EXPECT_STREQ(spyre_sim_last_error(first.sim), "");
}

} // namespace
} // namespace spyre::test
