//===- ExampleTest.cpp - the worked example of the interface, end to end --------------------===//
//
// x and y are fp16 [8, 64] in segments 0 and 1, rows split over two cores, the sum stays in LX at
// address 256 of each core: four rows, bytes 256..767 [spec: codegen-and-backend 2.11].
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Artifacts.h"

#include "Harness.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>

namespace spyre::backend::test {

using spec::Coordinate;

static spec::TensorArg rows(int64_t argument, spec::Residency residency, int64_t address) {
  spec::TensorArg arg;
  arg.argIndex = argument;
  arg.deviceSize = {1, 8, 64};
  arg.deviceCoordinates = {Coordinate::floorDiv("c1", 64), Coordinate::var("c0"),
                           Coordinate::mod("c1", 64)};
  arg.residency = residency;
  arg.address = address;
  return arg;
}

static spec::OpSpec addOnTwoCores(bool resultInLx) {
  spec::OpSpec add;
  add.op = "add";
  add.iterationSpace = {{"c0", 8, 2}, {"c1", 64, 1}};
  add.args = {rows(0, spec::Residency::Hbm, 0), rows(1, spec::Residency::Hbm, 0x400000000),
              resultInLx ? rows(-1, spec::Residency::Lx, 256)
                         : rows(2, spec::Residency::Hbm, 0x800000000)};
  add.args.back().isInput = false;
  return add;
}

/// Row r of the tensor holds r * 64 + lane, times \p factor.
static std::vector<uint8_t> numbered(float factor) {
  std::vector<uint8_t> bytes(8 * 128);
  for (size_t i = 0; i < 8 * 64; ++i) {
    uint16_t bits = numerics::floatToDl16(float(i) * factor);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }
  return bytes;
}

TEST(ExampleA, LeavesEachCoresRowsInItsOwnLx) {
  for (const char *name : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(name);
    Expected<program::Program> program = lowerAll({addOnTwoCores(true)}, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    Card card(device);
    evaluator::Memory memory{{numbered(0.25f), numbered(0.5f)}, {}};
    Status status = card.run(*program, memory);
    ASSERT_TRUE(status.ok()) << status.text();
    std::vector<uint8_t> sum = numbered(0.75f);
    for (uint32_t core = 0; core < 2; ++core) {
      std::vector<uint8_t> expected(sum.begin() + core * 512, sum.begin() + core * 512 + 512);
      EXPECT_EQ(card.readLx(core, 256, 512), expected) << name << " core " << core;
    }
    EXPECT_EQ(card.counters.ddr_read_bytes, 2u * 8 * 128);
    EXPECT_EQ(card.counters.ddr_write_bytes, 0u);
    EXPECT_EQ(card.counters.sfp_lane_ops, 8u * 64);
  }
}

// The text is the promise to people who read programs: one stream for both cores, one table of core
// offsets, one load per operand.
TEST(GoldenProgram, AddOnTwoCoresIsUnchanged) {
  Expected<program::Program> program = lowerAll({addOnTwoCores(false)}, presetDevice("openspyre"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  const char *path = SPYRE_SOURCE_DIR "/golden/program/add-2-cores.txt";
  if (std::getenv("SPYRE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(writeFile(path, program::disassemble(*program)).ok());
  }
  Expected<std::string> golden = readFile(path);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  EXPECT_EQ(program::disassemble(*program), *golden);
}

} // namespace spyre::backend::test
