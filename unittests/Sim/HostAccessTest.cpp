//===- HostAccessTest.cpp - creation, DDR seen from the host, errors of the C interface -----===//
#include "Sim/SimFixture.h"

#include <thread>

namespace spyre::test {
namespace {

TEST(HostAccess, CreationChecksItsConfiguration) {
  const char *error = nullptr;
  EXPECT_EQ(spyre_sim_create(nullptr, &error), nullptr);
  expectFault(error, {"SPYRE-E7001: configuration", "config is NULL"});
  spyre_sim_config config{nullptr, 1, 1};
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

TEST(HostAccess, NullPointersAreErrorsNotCrashes) {
  TestSim sim;
  EXPECT_NE(spyre_sim_write(sim.sim, 0, nullptr, 1), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"E7001", "data is NULL"});
  EXPECT_NE(spyre_sim_read(sim.sim, 0, nullptr, 1), 0);
  EXPECT_NE(spyre_sim_read_lx(sim.sim, 0, 0, nullptr, 1), 0);
  EXPECT_NE(spyre_sim_launch(sim.sim, 0, 0, nullptr, 1), 0);
  EXPECT_NE(spyre_sim_launch(nullptr, 0, 0, nullptr, 0), 0);
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
