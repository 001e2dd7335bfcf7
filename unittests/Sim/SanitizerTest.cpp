//===- SanitizerTest.cpp - each fault of the sanitizer, and its closest program without one --===//
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

/// A program as text with words that make it faulty or not.
std::string with(std::string text, const std::string &from, const std::string &to) {
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

constexpr const char *kCopy = R"(
    buffer x ddr 0:0 bytes 256
    buffer a lx 0 bytes 256
    buffer b lx 256 bytes 256
    phase 0 "0_copy" cores 2
      load SEN169_FP16 a[0 + 128*p5] <- x[0 + 128*p5] x 2
      vector.copy SEN169_FP16 b[0] <- a[128]
    )";

TEST(Sanitizer, OperandsStayInTheirBuffers) {
  TestSim sim;
  EXPECT_EQ(sim.launchText(kCopy), "");
  expectFault(sim.launchText(with(kCopy, "a[128]", "a[256]")),
              {"SPYRE-E7009: outside-allocation: core 0 phase 0_copy instruction 1 (vector.copy) "
               "operand 0 (buffer a) reaches 0x100..0x180, but the buffer is 0x0..0x100"});
  expectFault(sim.launchText(with(kCopy, "x[0 + 128*p5] x 2",
                                  "x[128*p5] x 2\n      load "
                                  "SEN169_FP16 a[0] <- x[256]")),
              {"E7009", "instruction 1 (load)", "buffer x"});
  // In LX bytes there would be room: the rule is about the buffer, also without the sanitizer.
  TestSim plain(SimOptions{.sanitizer = false});
  expectFault(plain.launchText(with(kCopy, "b[0]", "b[256]")), {"E7009", "operand 1 (buffer b)"});
}

TEST(Sanitizer, IndicesStayInTheirBuffersAndBounds) {
  TestSim sim;
  sim.write(dram(1), std::vector<int32_t>(32, 5));
  std::string text = R"(
    buffer table ddr 0:0 bytes 768
    buffer index ddr 1:0 bytes 128
    buffer i lx 0 bytes 128
    buffer t lx 128 bytes 896
    phase 0 "0_gather" cores 1
      load SEN169_FP16 i[0] <- index[0]
      fill SEN169_FP16 t[0 + 128*p5] pattern=0 x 7
      gather SEN169_FP16 t[0] <- table[0], i[0] element=4 bound=6 stride=128
      pick SEN169_FP16 t[0] <- t[0], i[4] element=4 bound=6 stride=128
      scatter SEN169_FP16 table[0] <- t[0], i[8] element=4 bound=6 stride=128
    )";
  EXPECT_EQ(sim.launchText(text), "");
  expectFault(sim.launchText(with(text, "bound=6", "bound=5")),
              {"SPYRE-E7017: index-out-of-range: core 0 phase 0_gather instruction 2 (gather) "
               "operand 1 (buffer i) at LX 0x0 holds the index 5, which must be in 0..4"});
  expectFault(sim.launchText(with(text, "table[0], i[0]", "table[128], i[0]")),
              {"E7009", "(gather)", "buffer table", "index 5 leads"});
  expectFault(sim.launchText(with(text, "t[0], i[4]", "t[256], i[4]")),
              {"E7009", "(pick)", "buffer t", "index 5 leads"});
  expectFault(sim.launchText(with(text, "table[0] <- t[0], i[8]", "table[256] <- t[0], i[8]")),
              {"E7009", "(scatter)", "buffer table", "index 5 leads"});
  sim.write(dram(1), std::vector<int32_t>(32, -1));
  expectFault(sim.launchText(text), {"E7017", "(gather)", "index -1"});
}

constexpr const char *kTwoPhases = R"(
    buffer x ddr 0:0 bytes 128 phases 0..2
    buffer a lx 0 bytes 128 phases 0..1
    buffer b lx 128 bytes 128 phases 1..2
    phase 0 "0_load" cores 1
      load SEN169_FP16 a[0] <- x[0]
    phase 1 "1_neg" cores 1
      vector.neg SEN169_FP16 b[0] <- a[0]
    phase 2 "2_store" cores 1
      store SEN169_FP16 x[0] <- b[0]
    )";

TEST(Sanitizer, BuffersAreUsedInTheirLife) {
  TestSim sim;
  EXPECT_EQ(sim.launchText(kTwoPhases), "");
  expectFault(sim.launchText(with(kTwoPhases, "phases 1..2", "phases 1..1")),
              {"SPYRE-E7014: end-of-life: core 0 phase 2_store instruction 0 (store) operand 0 "
               "(buffer b) uses address 0x80 in phase 2",
               "phases 1..1"});
  expectFault(sim.launchText(with(kTwoPhases, "x[0] <- b[0]", "x[0] <- a[0]")),
              {"E7014", "buffer a"});
  expectFault(sim.launchText(with(kTwoPhases, "phases 0..2", "phases 1..2")),
              {"E7014", "phase 0_load", "buffer x"});
}

TEST(Sanitizer, LiveBuffersMustNotOverlap) {
  TestSim sim;
  std::string inPlace = with(kTwoPhases, "b lx 128", "b lx 0");
  expectFault(sim.launchText(inPlace),
              {"SPYRE-E7018: overlapping-buffers", "LX 0x0", "buffers a", "and b"});
  // In place: b begins where a ends. Or b begins after a is dead.
  EXPECT_EQ(sim.launchText(with(inPlace, "phases 1..2", "phases 1..2 in-place-of a")), "");
  EXPECT_NE(sim.launchText(with(with(inPlace, "phases 1..2", "phases 1..2 in-place-of a"),
                                "phases 0..1", "phases 0..2")),
            "");
  // Only on one core do they meet.
  std::string offsets =
      with(kTwoPhases, "bytes 128 phases 1..2", "bytes 128 phases 1..2 offsets 0 0 -128 0");
  expectFault(sim.launchText(offsets), {"E7018", "core 2"});
  EXPECT_EQ(sim.launchText(with(offsets, "-128", "128")), "");
}

TEST(Sanitizer, DataOfAnotherBufferIsForeign) {
  TestSim sim;
  // b takes the place of the dead a, and is read before it is written.
  std::string text = R"(
    buffer a lx 0 bytes 256 phases 0..0
    buffer b lx 0 bytes 256 phases 1..1
    phase 0 "0_a" cores 2
      fill SEN169_FP16 a[0 + 128*p5] pattern=1 x 2
    phase 1 "1_b" cores 2
      table T0: 1 0
      fill SEN169_FP16 b[0] pattern=1
      fill SEN169_FP16 b[128] pattern=1 only=T0
      vector.neg SEN169_FP16 b[0] <- b[128]
    )";
  expectFault(sim.launchText(text),
              {"SPYRE-E7010: foreign-read: core 1 phase 1_b instruction 2 (vector.neg) operand 0 "
               "(buffer b) at LX 0x80",
               "data of buffer a"});
  EXPECT_EQ(sim.launchText(with(text, "T0: 1 0", "T0: 1 1")), "");
}

TEST(Sanitizer, SlicesOfAnotherCoreAreNoticed) {
  TestSim sim;
  std::string text = R"(
    buffer x ddr 0:0 bytes 512 phases 0..1
    buffer a lx 0 bytes 128 phases 0..1
    buffer b lx 128 bytes 128 phases 0..1
    phase 0 "0_load" cores 4
      table T0: 0 128 256 384
      table T1: 0 1 2 3
      load SEN169_FP16 a[0 @ T1] <- x[T0]
    phase 1 "1_use" cores 4
      table T0: 0 1 2 3
      vector.neg SEN169_FP16 b[0] <- a[0 @ T0]
    )";
  EXPECT_EQ(sim.launchText(text), "");
  std::string other = with(text, "table T0: 0 1 2 3", "table T0: 0 1 3 2");
  expectFault(
      sim.launchText(other),
      {"SPYRE-E7011: other-core-data: core 2 phase 1_use instruction 0 (vector.neg) operand "
       "0 (buffer a) at LX 0x0",
       "slice 2", "expects slice 3"});
  // The ring brings the slices that this division needs.
  std::string moved = with(other, "vector.neg",
                           "table T1: 0 1 3 2\n      exchange.copy SEN169_FP16 a[0 @ T0] <- "
                           "a[0 @ T0] peers=T1\n      vector.neg");
  EXPECT_EQ(sim.launchText(moved), "");
  expectFault(sim.launchText(with(moved, "table T1: 0 1 3 2", "table T1: 0 1 2 3")),
              {"E7011", "core 2", "(exchange.copy)"});
  expectFault(sim.launchText(with(moved, "table T1: 0 1 3 2", "table T1: 0 1 0 2")),
              {"E7011", "core 2", "of core 0", "slice 0"});
}

// The stick of the result is the stick of the input under another name: the element must survive
// that the stick begins anew; a second element is no longer there.
TEST(Sanitizer, OneElementMovesInsideARenamedStick) {
  TestSim sim;
  std::string text = R"(
    buffer a lx 0 bytes 128 phases 0..1
    buffer b lx 0 bytes 128 phases 1..1 in-place-of a
    phase 0 "0_fill" cores 1
      fill SEN169_FP16 a[0] pattern=0x00010002
    phase 1 "1_move" cores 1
      shuffle SEN169_FP16 b[64] <- a[0] element=2
    )";
  ASSERT_EQ(sim.launchText(text), "");
  EXPECT_EQ(sim.readLx<uint16_t>(0, 64, 1)[0], 2u);
  std::string twice =
      with(text, "b[64] <- a[0] element=2", "b[0 + 2*p5] <- a[0 + 2*p5] element=2 x 2");
  expectFault(sim.launchText(twice), {"SPYRE-E7010", "(shuffle)", "data of buffer b"});
}

// Indices read and write DDR: cores race there as they do with loads and stores.
TEST(Sanitizer, IndirectTransfersRace) {
  TestSim sim;
  std::string text = R"(
    buffer x ddr 0:0 bytes 1024
    buffer i lx 0 bytes 128
    buffer t lx 128 bytes 128
    phase 0 "0_race" cores 2
      table T0: 0 512
      fill SEN169_FP16 i[0] pattern=2
      fill SEN169_FP16 t[0] pattern=2
      scatter SEN169_FP16 x[T0] <- t[0], i[0] element=4 bound=4 stride=128
      gather SEN169_FP16 t[0] <- x[T0], i[0] element=4 bound=4 stride=128
    )";
  EXPECT_EQ(sim.launchText(text), "");
  expectFault(sim.launchText(with(text, "x[T0] <- t[0], i[0]", "x[0] <- t[0], i[0]")),
              {"SPYRE-E7004: overlapping-write: core 0 phase 0_race instruction 2 (buffer x) and "
               "core 1",
               "physical DDR 0x100100"});
  expectFault(sim.launchText(with(text, "t[0] <- x[T0]", "t[0] <- x[0]")),
              {"SPYRE-E7005: missing-barrier: core 1 phase 0_race instruction 3 (buffer x)"});
  EXPECT_EQ(sim.launchText(with(text, "      gather", "      barrier\n      gather")), "");
}

// What was found in order once is not asked again at the same places; indices are data and are.
TEST(Sanitizer, IndicesThatMeetAreFoundInALaterLaunch) {
  TestSim sim;
  std::string text = R"(
    buffer x ddr 0:0 bytes 1024
    buffer index ddr 1:0 bytes 256
    buffer i lx 0 bytes 128
    buffer t lx 128 bytes 128
    phase 0 "0_race" cores 2
      table T0: 0 128
      load SEN169_FP16 i[0] <- index[T0]
      fill SEN169_FP16 t[0] pattern=2
      scatter SEN169_FP16 x[0] <- t[0], i[0] element=4 bound=8 stride=128
    )";
  sim.write(dram(1), std::vector<int32_t>(32, 3));
  sim.write(dram(1) + 128, std::vector<int32_t>(32, 4));
  EXPECT_EQ(sim.launchText(text), "");
  EXPECT_EQ(sim.launchText(text), "");
  sim.write(dram(1) + 128, std::vector<int32_t>(32, 3));
  expectFault(sim.launchText(text), {"SPYRE-E7004: overlapping-write: core 0 phase 0_race"});
}

TEST(Sanitizer, AProvenPhaseCountsTheSameChecks) {
  TestSim sim;
  std::vector<uint64_t> checks;
  for (int launch = 0; launch < 3; ++launch) {
    uint64_t before = sim.counters().sanitizer_checks;
    EXPECT_EQ(sim.launchText(kCopy), "");
    checks.push_back(sim.counters().sanitizer_checks - before);
  }
  EXPECT_GT(checks[0], 0u);
  EXPECT_EQ(checks, std::vector<uint64_t>(3, checks[0]));
}

/// Keeps data in LX for the next launch.
constexpr const char *kKeep = R"(
    buffer kept lx 512 bytes 256 live-out
    phase 0 "0_keep" cores 2
      fill SEN169_FP16 kept[0 + 128*p5] pattern=7 x 2
    )";
constexpr const char *kUse = R"(
    buffer other lx 0 bytes 128
    buffer kept lx 512 bytes 256 live-in
    phase 0 "0_use" cores 2
      vector.copy SEN169_FP16 other[0] <- kept[128]
    )";

TEST(Sanitizer, LxPersistsOnlyAsDeclared) {
  TestSim sim;
  expectFault(sim.launchText(kUse), {"SPYRE-E7013: wiped-read: core 0 phase 0_use instruction 0",
                                     "buffer kept", "LX 0x280", "no earlier launch"});
  ASSERT_EQ(sim.launchText(kKeep), "");
  EXPECT_EQ(sim.launchText(kUse), "");
  EXPECT_EQ(sim.launchText(kUse), "");
  EXPECT_EQ(sim.readLx<uint32_t>(1, 0, 1)[0], 7u);
  expectFault(sim.launchText(with(kUse, " live-in", "")), {"SPYRE-E7003: uninitialized-read"});
  expectFault(sim.launchText(with(kUse, "bytes 256", "bytes 384")), {"E7013"});
  // A launch that does not keep it overwrites it.
  ASSERT_EQ(sim.launchText(with(kKeep, " live-out", "")), "");
  expectFault(sim.launchText(kUse), {"E7013"});
}

// What an earlier launch of the same program left is not what this launch wrote.
TEST(Sanitizer, LiveOutIsNotLiveIn) {
  TestSim sim;
  ASSERT_EQ(sim.launchText(kKeep), "");
  std::string reader =
      with(kKeep, "kept[0 + 128*p5] pattern=7 x 2",
           "kept[0] pattern=7\n      vector.copy SEN169_FP16 kept[0] <- kept[128]");
  expectFault(sim.launchText(reader), {"SPYRE-E7003", "buffer kept", "LX 0x280"});
  ASSERT_EQ(sim.launchText(kKeep), "");
  EXPECT_EQ(sim.launchText(with(reader, "live-out", "live-out live-in")), "");
}

// One launch reads what lies there and leaves something else in its place for the next.
TEST(Sanitizer, APlaceMayComeInAndBeHandedOn) {
  constexpr const char *kHandOn = R"(
    buffer kept lx 512 bytes 256 phases 0..0 live-in
    buffer other lx 0 bytes 128 phases 0..0
    buffer kept.2 lx 512 bytes 256 phases 1..1 live-out
    phase 0 "0_use" cores 2
      vector.copy SEN169_FP16 other[0] <- kept[128]
    phase 1 "1_keep" cores 2
      fill SEN169_FP16 kept.2[0 + 128*p5] pattern=9 x 2
    )";
  TestSim sim;
  expectFault(sim.launchText(kHandOn), {"E7013"});
  ASSERT_EQ(sim.launchText(kKeep), "");
  ASSERT_EQ(sim.launchText(kHandOn), "");
  EXPECT_EQ(sim.readLx<uint32_t>(1, 0, 1)[0], 7u);
  ASSERT_EQ(sim.launchText(kUse), "");
  EXPECT_EQ(sim.readLx<uint32_t>(1, 0, 1)[0], 9u);
}

TEST(Sanitizer, DataOfTheHostCountsForLiveInOnly) {
  TestSim sim;
  std::vector<uint32_t> data(64, 9);
  for (uint32_t core = 0; core < 2; ++core) {
    ASSERT_EQ(spyre_sim_write_lx(sim.sim, core, 512, data.data(), 256), 0);
  }
  expectFault(sim.launchText(with(kUse, " live-in", "")), {"E7003"});
  EXPECT_EQ(sim.launchText(kUse), "");
  EXPECT_EQ(sim.readLx<uint32_t>(1, 0, 1)[0], 9u);
}

// The card is shared: LX is gone after a launch, unless the next one belongs to it.
TEST(Sanitizer, VfModeWipesBetweenBundles) {
  TestSim sim(SimOptions{.vfMode = true});
  ASSERT_EQ(sim.launchText(kKeep), "");
  EXPECT_NE(sim.readLx<uint32_t>(0, 512, 64), std::vector<uint32_t>(64, 7));
  expectFault(sim.launchText(kUse), {"SPYRE-E7013: wiped-read", "LX was wiped"});
  ASSERT_EQ(sim.launchText(kKeep, SPYRE_SIM_NON_TERMINAL), "");
  EXPECT_EQ(sim.launchText(kUse, SPYRE_SIM_NON_TERMINAL), "");
  EXPECT_EQ(sim.launchText(kUse), "");
  expectFault(sim.launchText(kUse), {"E7013"});
}

TEST(Sanitizer, TheSameWipeForTheSameSeed) {
  auto lxAfter = [](uint64_t seed, uint32_t threads) {
    TestSim sim(SimOptions{.threads = threads, .vfMode = true, .wipeSeed = seed});
    EXPECT_EQ(sim.launchText(kKeep), "");
    return sim.readLx<uint64_t>(3, 0, 8192);
  };
  EXPECT_EQ(lxAfter(1, 1), lxAfter(1, 3));
  EXPECT_NE(lxAfter(1, 1), lxAfter(2, 1));
}

} // namespace
} // namespace spyre::test
