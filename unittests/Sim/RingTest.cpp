//===- RingTest.cpp - exchanges between cores and loads that serve several of them ----------===//
#include "spyre/Numerics/Functions.h"

#include "Sim/SimFixture.h"

#include <bit>

namespace spyre::test {
namespace {

using numerics::DataFormat;

/// Core c has the sticks [c][stick] of segment 0 at LX 0.
struct FourCores {
  static constexpr int64_t kSticks = 6;
  std::vector<uint32_t> data;
  PhaseBuilder phase{"0_ring", 4};
  FourCores(TestSim &sim, Random &random, bool floats) : data(4 * kSticks * 32) {
    for (uint32_t &lane : data) {
      lane = floats ? std::bit_cast<uint32_t>(random.uniform(-3, 3)) : uint32_t(random.next());
    }
    sim.write(dram(0), data);
    int32_t own = phase.table({0, kSticks * 128, 2 * kSticks * 128, 3 * kSticks * 128});
    phase.load({kSticks}, ddrAt(0, 0, {128}).table(own), at(0, {128}));
  }
  uint32_t &lane(std::vector<uint32_t> &of, int64_t core, int64_t stick, int64_t i) const {
    return of[size_t((core * kSticks + stick) * 32 + i)];
  }
  void expectLx(TestSim &sim, const std::vector<uint32_t> &expected) const {
    for (uint32_t core = 0; core < 4; ++core) {
      std::vector<uint32_t> own(expected.begin() + core * kSticks * 32,
                                expected.begin() + (core + 1) * kSticks * 32);
      ASSERT_EQ(sim.readLx<uint32_t>(core, 0, own.size()), own) << "core " << core;
    }
  }
};

// All read before any writes: cores may change places in the same sticks.
TEST(Ring, CopyPermutesInPlaceForAnyPeers) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    TestSim sim(uint32_t(1 + round % 3));
    FourCores cores(sim, random, false);
    std::vector<int64_t> peers;
    for (int core = 0; core < 4; ++core) {
      peers.push_back(random.between(-1, 3));
    }
    int64_t from = random.between(0, 3), to = random.between(0, 3), count = random.between(1, 3);
    int32_t table = cores.phase.table(peers);
    cores.phase.exchange(Function::Copy, {count}, table, at(from * 128, {128}),
                         at(to * 128, {128}));
    ASSERT_EQ(sim.launch({cores.phase}), "");
    std::vector<uint32_t> expected = cores.data;
    uint64_t receivers = 0;
    for (int64_t core = 0; core < 4; ++core) {
      receivers += peers[size_t(core)] >= 0;
      for (int64_t i = 0; peers[size_t(core)] >= 0 && i < count * 32; ++i) {
        cores.lane(expected, core, to, i) = cores.lane(cores.data, peers[size_t(core)], from, i);
      }
    }
    cores.expectLx(sim, expected);
    spyre_sim_counters counters = sim.counters();
    EXPECT_EQ(counters.ring_bytes, receivers * uint64_t(count) * 128);
    EXPECT_EQ(counters.instructions, 8u);
  }
}

TEST(Ring, CombinesOwnWithPeers) {
  Random random(2);
  for (Function function : {Function::Sum, Function::Max, Function::Min}) {
    for (DataFormat format : {DataFormat::IeeeFp32, DataFormat::IeeeInt32}) {
      TestSim sim(2);
      bool isFloat = format == DataFormat::IeeeFp32;
      FourCores cores(sim, random, isFloat);
      std::vector<int64_t> peers{2, 0, -1, 1};
      int32_t table = cores.phase.table(peers);
      cores.phase.exchange(function, {3}, table, at(128, {128}), at(256, {128})).format(format);
      ASSERT_EQ(sim.launch({cores.phase}), "");
      std::vector<uint32_t> expected = cores.data;
      for (int64_t core = 0; core < 4; ++core) {
        for (int64_t i = 0; peers[size_t(core)] >= 0 && i < 3 * 32; ++i) {
          uint32_t &own = cores.lane(expected, core, 2, i);
          uint32_t peer = cores.lane(cores.data, peers[size_t(core)], 1, i);
          float a = std::bit_cast<float>(own), b = std::bit_cast<float>(peer);
          auto x = int32_t(own), y = int32_t(peer);
          if (isFloat) {
            own = std::bit_cast<uint32_t>(function == Function::Sum   ? numerics::addF32(a, b)
                                          : function == Function::Max ? numerics::maxF32(a, b)
                                                                      : numerics::minF32(a, b));
          } else {
            own = function == Function::Sum   ? own + peer
                  : function == Function::Max ? uint32_t(std::max(x, y))
                                              : uint32_t(std::min(x, y));
          }
        }
      }
      cores.expectLx(sim, expected);
    }
  }
}

// A split reduction: core c adds core c-1's partial sum to its own, slices ascending.
TEST(Ring, ChainAddsSlicesInOrder) {
  TestSim sim;
  Random random(3);
  FourCores cores(sim, random, true);
  for (int64_t step = 1; step < 4; ++step) {
    std::vector<int64_t> peers(4, -1);
    peers[size_t(step)] = step - 1;
    int32_t table = cores.phase.table(peers);
    cores.phase.exchange(Function::Sum, {}, table, at(0), at(0));
  }
  ASSERT_EQ(sim.launch({cores.phase}), "");
  for (int64_t i = 0; i < 32; ++i) {
    float sum = std::bit_cast<float>(cores.lane(cores.data, 0, 0, i));
    for (int64_t core = 1; core < 4; ++core) {
      sum = numerics::addF32(std::bit_cast<float>(cores.lane(cores.data, core, 0, i)), sum);
    }
    EXPECT_EQ(sim.readLx<float>(3, uint64_t(i) * 4, 1)[0], sum);
  }
}

// Buffers start elsewhere on each core: the peer's data is at the peer's place.
TEST(Ring, PeersHaveTheirOwnAddresses) {
  TestSim sim;
  ASSERT_EQ(sim.launchText(R"(
    buffer a lx 0 bytes 256 offsets 0 1024
    buffer b lx 4096 bytes 256 offsets 512 0
    phase 0 "0_ring" cores 2
      table T0: 1 0
      table T1: 1 0
      table T2: 0 1
      fill SEN169_FP16 a[0 + 128*p5] pattern=1 only=T1 x 2
      fill SEN169_FP16 a[0 + 128*p5] pattern=2 only=T2 x 2
      exchange.copy SEN169_FP16 b[0 + 128*p5] <- a[0 + 128*p5] peers=T0 x 2
    )"),
            "");
  EXPECT_EQ(sim.readLx<uint32_t>(0, 4096 + 512, 64), std::vector<uint32_t>(64, 2));
  EXPECT_EQ(sim.readLx<uint32_t>(1, 4096, 64), std::vector<uint32_t>(64, 1));
}

arch::DeviceDesc clockedDevice() {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  device.timing = plainTiming();
  device.timing.ddrBytesPerCycle = 64;
  device.timing.ddrLatencyCycles = 100;
  device.timing.sfpLanesPerCycle = 64;
  device.timing.ringBytesPerCycle = 32;
  device.timing.barrierCycles = 10;
  device.timing.launchOverheadCycles = 50;
  return device;
}

TEST(Ring, MulticastReadsDdrOncePerLeader) {
  TestSim sim(SimOptions{.device = clockedDevice()});
  Random random(4);
  std::vector<uint32_t> data = randomBits<uint32_t>(random, 8 * 32);
  sim.write(dram(0), data);
  PhaseBuilder phase("0_multicast", 4);
  int32_t leaders = phase.table({0, 0, 2, 2}), rows = phase.table({0, 0, 512, 512});
  phase.load({4}, ddrAt(0, 0, {128}).table(rows), at(0, {128})).peers(leaders);
  ASSERT_EQ(sim.launch({phase}), "");
  for (uint32_t core = 0; core < 4; ++core) {
    EXPECT_EQ(
        sim.readLx<uint32_t>(core, 0, 128),
        std::vector<uint32_t>(data.begin() + core / 2 * 128, data.begin() + core / 2 * 128 + 128));
  }
  spyre_sim_counters counters = sim.counters();
  EXPECT_EQ(counters.ddr_read_bytes, 2u * 512u);
  EXPECT_EQ(counters.ring_bytes, 2u * 512u);
  EXPECT_EQ(counters.lx_write_bytes, 4u * 512u);
  // Two leaders share DDR: 512 * 2 / 64 = 16 cycles; the ring takes 512 / 32 = 16.
  EXPECT_EQ(counters.cycles, 50u + 16u + 100u + 10u);
}

// `only` decides who uses DDR: one core alone gets the whole rate.
TEST(Ring, CoresThatSkipDoNotShareTheRate) {
  TestSim sim(SimOptions{.device = clockedDevice()});
  PhaseBuilder phase("0_store", 4);
  int32_t first = phase.table({0, 0, 1, 0});
  phase.fill({4}, at(0, {128}), 0).store({4}, at(0, {128}), ddrAt(0, 0, {128})).only(first);
  ASSERT_EQ(sim.launch({phase}), "");
  EXPECT_EQ(sim.counters().ddr_write_bytes, 512u);
  EXPECT_EQ(sim.counters().instructions, 4u + 1u);
  EXPECT_EQ(sim.counters().cycles, 50u + 4u + 512u / 64u + 100u + 10u);
}

/// One of two cores arrives 20 cycles later at the ring.
std::vector<std::array<uint64_t, 4>> eventsOfMeeting(int64_t slowCore) {
  TestSim sim(SimOptions{.device = clockedDevice()});
  PhaseBuilder phase("0_meet", 2, true);
  int32_t peers = phase.table({1, 0}), slow = phase.table({slowCore == 0, slowCore == 1});
  phase
      .fill({}, at(0), 1)               // 1 cycle
      .fill({20}, at(0x1000, {128}), 0) // 20 more on the slow core
      .only(slow)
      .signal(Unit::Vector, 0)
      .wait(Unit::Ring, 0)
      .exchange(Function::Copy, {}, peers, at(0), at(128)) // 21..25 on both
      .fill({2}, at(0x4000, {128}), 0)                     // 1..3, on the slow core 21..23
      .signal(Unit::Ring, 1)
      .wait(Unit::Vector, 1)
      .vector(Function::Neg, {}, {at(128), at(256)}); // 25..26
  spyre_sim_trace(sim.sim, 100);
  EXPECT_EQ(sim.launch({phase}), "");
  EXPECT_EQ(sim.counters().cycles, 50u + 26u + 10u);
  std::vector<std::array<uint64_t, 4>> found;
  for (const spyre_sim_event &event : sim.trace()) {
    found.push_back({event.core, event.instruction, event.start_cycle, event.end_cycle});
  }
  return found;
}

// The ring waits for the last core; the others' vector units go on meanwhile.
TEST(Ring, RendezvousTakesTheLatestCore) {
  for (uint64_t slow : {0, 1}) {
    std::vector<std::array<uint64_t, 4>> expected;
    for (uint64_t core : {0, 1}) {
      if (core == slow) {
        expected.insert(expected.end(), {{core, 0, 50, 51},
                                         {core, 1, 51, 71},
                                         {core, 4, 71, 75},
                                         {core, 5, 71, 73},
                                         {core, 8, 75, 76}});
      } else {
        expected.insert(
            expected.end(),
            {{core, 0, 50, 51}, {core, 5, 51, 53}, {core, 4, 71, 75}, {core, 8, 75, 76}});
      }
    }
    EXPECT_EQ(eventsOfMeeting(int64_t(slow)), expected);
  }
}

} // namespace
} // namespace spyre::test
