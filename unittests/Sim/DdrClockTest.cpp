//===- DdrClockTest.cpp - what memory, ring and array cost, one effect at a time ------------===//
//
// Programs of a few instructions on 32 cores; only the rate under test is finite.
//===--------------------------------------------------------------------------------------------===//
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

constexpr int64_t kCores = 32;

arch::DeviceDesc plainDevice() {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  device.timing = plainTiming();
  device.timing.ddrLatencyCycles = 0;
  device.timing.barrierCycles = 0;
  device.timing.launchOverheadCycles = 0;
  device.timing.sfpLanesPerCycle = 1e9;
  return device;
}

/// Entry c of a table is c * step.
int32_t steps(PhaseBuilder &phase, int64_t step, int64_t cores) {
  std::vector<int64_t> table;
  for (int64_t core = 0; core < cores; ++core) {
    table.push_back(core * step);
  }
  return phase.table(table);
}

uint64_t cyclesOf(const arch::DeviceDesc &device, const PhaseBuilder &phase) {
  TestSim sim(SimOptions{.device = device});
  EXPECT_EQ(sim.launch({phase}), "");
  return sim.counters().cycles;
}

/// Each of \p cores cores loads 8 sticks of its own.
PhaseBuilder loads(int64_t cores) {
  PhaseBuilder phase("0_load", cores);
  phase.load({8}, ddrAt(0, 0, {128}).table(steps(phase, 1024, cores)), at(0, {128}));
  return phase;
}

// 1024 bytes per core: a core is limited to 8 bytes per cycle, 16 cores of a port to 64, all to
// 100.
TEST(DdrClock, TheNarrowestOfCorePortAndChipDecides) {
  arch::DeviceDesc device = plainDevice();
  device.timing.ddrCoreBytesPerCycle = 8;
  device.timing.ddrPortBytesPerCycle = 64;
  device.timing.ddrBytesPerCycle = 100;
  EXPECT_EQ(cyclesOf(device, loads(1)), 128u);
  EXPECT_EQ(cyclesOf(device, loads(8)), 128u);
  EXPECT_EQ(cyclesOf(device, loads(12)), 192u);
  EXPECT_EQ(cyclesOf(device, loads(16)), 256u);
  // The second port has room, the first one is as full as before.
  EXPECT_EQ(cyclesOf(device, loads(20)), 256u);
  EXPECT_EQ(cyclesOf(device, loads(32)), 328u); // 32768 / 100
}

TEST(DdrClock, MoreCoresShareOneRate) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  uint64_t before = 0;
  for (int64_t cores : {1, 2, 4, 8, 16, 32}) {
    uint64_t cycles = cyclesOf(device, loads(cores));
    EXPECT_GE(cycles, before) << cores;
    before = cycles;
  }
}

TEST(DdrClock, StreamsCostAPartOfTheRate) {
  arch::DeviceDesc device = plainDevice();
  device.timing.ddrBytesPerCycle = 128;
  EXPECT_EQ(cyclesOf(device, loads(32)), 256u);
  device.timing.ddrStreamLoss = 0.01;
  EXPECT_EQ(cyclesOf(device, loads(1)), 8u);
  EXPECT_EQ(cyclesOf(device, loads(32)), 336u); // 256 * 1.31
}

/// 64 sticks on one core, in runs of \p run sticks with as many left out between them.
PhaseBuilder runsOf(int64_t run) {
  PhaseBuilder phase("0_runs");
  phase.load({64 / run, run}, ddrAt(0, 0, {2 * run * 128, 128}), at(0, {run * 128, 128}));
  return phase;
}

TEST(DdrClock, ShortRunsTakeMoreRequests) {
  arch::DeviceDesc device = plainDevice();
  device.timing.ddrBytesPerCycle = 128;
  device.timing.ddrRequestCycles = 4;
  EXPECT_EQ(cyclesOf(device, runsOf(1)), 256u); // 64 requests
  EXPECT_EQ(cyclesOf(device, runsOf(2)), 128u);
  EXPECT_EQ(cyclesOf(device, runsOf(4)), 64u); // as long as the bytes
  EXPECT_EQ(cyclesOf(device, runsOf(32)), 64u);
}

/// One core; 64 sticks loaded or stored in tiles of 8.
PhaseBuilder traffic(bool reads, bool writes, bool overlap = false) {
  PhaseBuilder phase("0_traffic", 1, overlap);
  phase.fill({64}, at(0x4000, {128}), 0);
  phase.signal(Unit::Vector, 0).wait(Unit::Store, 0);
  for (int64_t tile = 0; tile < 8; ++tile) {
    if (reads) {
      phase.load({8}, ddrAt(0, tile * 1024, {128}), at(tile * 1024, {128}));
    }
    if (writes) {
      phase.store({8}, at(0x4000 + tile * 1024, {128}), ddrAt(1, tile * 1024, {128}));
    }
  }
  return phase;
}

TEST(DdrClock, ReadingAndWritingInTurnTurnsTheBus) {
  arch::DeviceDesc device = plainDevice();
  device.timing.ddrBytesPerCycle = 128;
  device.timing.ddrTurnaroundCycles = 32; // per 4096 bytes: 8 for a tile
  for (bool overlap : {false, true}) {
    uint64_t read = cyclesOf(device, traffic(true, false, overlap));
    uint64_t write = cyclesOf(device, traffic(false, true, overlap));
    EXPECT_EQ(cyclesOf(device, traffic(true, true, overlap)), read + write - 1 + 8 * 8);
  }
  // The bus is idle while one core waits for its own requests: turning it costs nothing.
  device.timing.ddrCoreBytesPerCycle = 8;
  uint64_t read = cyclesOf(device, traffic(true, false));
  EXPECT_EQ(cyclesOf(device, traffic(true, true)),
            read + cyclesOf(device, traffic(false, true)) - 1);
}

// A barrier lets the bus come to rest.
TEST(DdrClock, ABarrierSeparatesReadingFromWriting) {
  arch::DeviceDesc device = plainDevice();
  device.timing.ddrBytesPerCycle = 128;
  PhaseBuilder phase("0_rest");
  phase.load({8}, ddrAt(0, 0, {128}), at(0, {128}))
      .barrier()
      .store({8}, at(0, {128}), ddrAt(1, 0, {128}));
  uint64_t without = cyclesOf(device, phase);
  device.timing.ddrTurnaroundCycles = 32;
  EXPECT_EQ(cyclesOf(device, phase), without);
}

/// 32 cores need the same 64 sticks, and read them in groups of \p members.
PhaseBuilder shared(int64_t members) {
  PhaseBuilder phase("0_shared", kCores);
  std::vector<int64_t> leaders;
  for (int64_t core = 0; core < kCores; ++core) {
    leaders.push_back(core / members * members);
  }
  int32_t table = phase.table(leaders);
  phase.load({64}, ddrAt(0, 0, {128}), at(0, {128}));
  if (members > 1) {
    phase.peers(table);
  }
  return phase;
}

TEST(DdrClock, OneReadForAGroupIsCheaperThanOneForEach) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  uint64_t before = UINT64_MAX;
  for (int64_t members : {1, 2, 4, 8, 16, 32}) {
    uint64_t cycles = cyclesOf(device, shared(members));
    EXPECT_LT(cycles, before) << members;
    before = cycles;
  }
  // Members ask in turn: a group is faster than one core could be.
  device.timing = plainTiming();
  device.timing.ddrCoreBytesPerCycle = 8;
  EXPECT_GT(cyclesOf(device, shared(1)), cyclesOf(device, shared(8)));
}

//===- Ring ---------------------------------------------------------------------------------===//

/// All cores get 16 sticks in runs of \p run from the core \p distance above them, or all from 0.
PhaseBuilder exchangeOf(int64_t distance, int64_t run = 16, bool fromOne = false) {
  PhaseBuilder phase("0_ring", kCores);
  std::vector<int64_t> peers;
  for (int64_t core = 0; core < kCores; ++core) {
    peers.push_back(fromOne ? 0 : (core + distance) % kCores);
  }
  int32_t table = phase.table(peers);
  phase.fill({64}, at(0, {128}), 0)
      .exchange(Function::Copy, {16 / run, run}, table, at(0, {2 * run * 128, 128}),
                at(0x4000, {run * 128, 128}));
  return phase;
}

TEST(RingClock, TransfersThatShareLinksTakeTurns) {
  arch::DeviceDesc device = plainDevice();
  device.timing.ringBytesPerCycle = 128;
  uint64_t fill = 1;
  EXPECT_EQ(cyclesOf(device, exchangeOf(1)), fill + 16);
  // Every link carries the transfers of three cores.
  EXPECT_EQ(cyclesOf(device, exchangeOf(3)), fill + 3 * 16);
  // The other way round is shorter.
  EXPECT_EQ(cyclesOf(device, exchangeOf(29)), fill + 3 * 16);
  EXPECT_EQ(cyclesOf(device, exchangeOf(0)), fill + 0);
  // 16 cores are reached upwards, 15 downwards.
  EXPECT_EQ(cyclesOf(device, exchangeOf(0, 16, true)), fill + 16 * 16);
}

TEST(RingClock, HopsAndRunsTakeTime) {
  arch::DeviceDesc device = plainDevice();
  device.timing.ringBytesPerCycle = 1e9;
  uint64_t none = cyclesOf(device, exchangeOf(1));
  device.timing.ringHopCycles = 10;
  EXPECT_EQ(cyclesOf(device, exchangeOf(1)), none + 10);
  EXPECT_EQ(cyclesOf(device, exchangeOf(5)), none + 50);
  device.timing.ringHopCycles = 0;
  device.timing.ringRunCycles = 4;
  EXPECT_NEAR(double(cyclesOf(device, exchangeOf(1, 16))), double(none + 4), 1);
  EXPECT_NEAR(double(cyclesOf(device, exchangeOf(1, 2))), double(none + 8 * 4), 1);
  EXPECT_NEAR(double(cyclesOf(device, exchangeOf(5, 2))), double(none + 8 * 5 * 4), 1);
}

//===- Units --------------------------------------------------------------------------------===//

/// 2 blocks of weights for \p rows rows each.
PhaseBuilder product(int64_t rows) {
  PhaseBuilder phase("0_matmul");
  phase.fill({512}, at(0, {128}), 0)
      .matmul({2, rows}, at(0x4000, {0, 128}), at(0, {0x2000, 0}), at(0x8000, {rows * 256, 256}),
              64);
  return phase;
}

// A block has 8192 bytes; a row streams past it in 4 cycles.
TEST(UnitClock, FewRowsWaitForTheArrayToFill) {
  arch::DeviceDesc device = plainDevice();
  device.timing.ptMacsPerCycle = 1024;
  uint64_t fill = 1;
  EXPECT_NEAR(double(cyclesOf(device, product(16))), double(fill + 2 * 64), 1);
  device.timing.ptFillBytesPerCycle = 64; // 128 cycles
  EXPECT_EQ(cyclesOf(device, product(16)), fill + 128 + 128 + 64);
  EXPECT_EQ(cyclesOf(device, product(32)), fill + 128 + 128 + 128);
  EXPECT_EQ(cyclesOf(device, product(64)), fill + 128 + 256 + 256);
}

TEST(UnitClock, OperandsComeFromLxAtItsRate) {
  arch::DeviceDesc device = plainDevice();
  device.timing.lxBytesPerCycle = 128;
  PhaseBuilder phase("0_add");
  phase.fill({8}, at(0, {128}), 0)
      .vector(Function::Add, {8}, {at(0, {128}), at(0, {128}), at(0x1000, {128})});
  EXPECT_EQ(cyclesOf(device, phase), 8u + 24u);
}

TEST(UnitClock, ClassesOfFunctionsHaveTheirOwnRates) {
  arch::DeviceDesc device = plainDevice();
  device.timing.sfpLanesPerCycle = 64;
  device.timing.sfpTranscendentalFactor = 10;
  device.timing.sfpReductionFactor = 3;
  device.timing.moveElementsPerCycle = 16;
  auto cycles = [&](auto add) {
    PhaseBuilder phase("0_one");
    phase.fill({8}, at(0, {128}), 0);
    add(phase);
    return cyclesOf(device, phase) - 8;
  };
  EXPECT_EQ(cycles([](PhaseBuilder &phase) {
              phase.vector(Function::Neg, {4}, {at(0, {128}), at(0x1000, {128})});
            }),
            4u);
  EXPECT_EQ(cycles([](PhaseBuilder &phase) {
              phase.vector(Function::Exp, {4}, {at(0, {128}), at(0x1000, {128})});
            }),
            40u);
  EXPECT_EQ(cycles([](PhaseBuilder &phase) {
              phase.accumulate(Function::Sum, {4}, at(512, {128}), at(0), 64);
            }),
            12u);
  EXPECT_EQ(
      cycles([](PhaseBuilder &phase) { phase.shuffle(2, {64}, at(0, {2}), at(0x2000, {2})); }), 4u);
}

TEST(Overheads, AreThoseOfLaunchBundleAndPhases) {
  arch::DeviceDesc device = plainDevice();
  device.timing.launchOverheadCycles = 1000;
  device.timing.bundleOverheadCycles = 100;
  device.timing.phaseOverheadCycles = 10;
  device.timing.barrierCycles = 1;
  TestSim sim(SimOptions{.device = device});
  ASSERT_EQ(sim.launch({PhaseBuilder("0_a"), PhaseBuilder("1_b")}), "");
  EXPECT_EQ(sim.counters().cycles, 1000u + 100 + 2 * 11);
}

} // namespace
} // namespace spyre::test
