//===- ControlBlocksTest.cpp - the stream a launch gives a card -----------------------------===//
#include "spyre/Runtime/ControlBlocks.h"

#include "Runtime/TestModels.h"
#include "gtest/gtest.h"

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

using Kind = ControlBlock::Kind;

class ControlBlocksTest : public testing::Test {
protected:
  void SetUp() override {
    device = Device::create(recordControlBlocks(*createDriver("sim", desc, {.threads = 1}), log));
  }
  std::vector<Kind> kinds() const {
    std::vector<Kind> result;
    for (const ControlBlock &block : log->blocks()) {
      // When memory is given back is the allocator's affair.
      if (block.kind != Kind::Discard) {
        result.push_back(block.kind);
      }
    }
    return result;
  }
  arch::DeviceDesc desc = tinyDevice();
  std::shared_ptr<ControlBlockLog> log = std::make_shared<ControlBlockLog>();
  std::shared_ptr<Device> device;
};

// The example of docs/runtime/launch.md.
TEST_F(ControlBlocksTest, LoadingAndRunningAModel) {
  log->keep(100);
  auto executable = Executable::load(device, chainArtifacts(desc));
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ(kinds(), std::vector<Kind>{Kind::Write}) << "one program for both steps";
  BufferRef x = *device->allocate(512), y = *device->allocate(512);
  BufferRef z = *device->allocate(512), w = *device->allocate(512);
  std::string sticks(512, '\0');
  ASSERT_TRUE(device->copyToDevice(x, 0, sticks.data(), sticks.size()).ok());
  ASSERT_TRUE(device->copyToDevice(y, 0, sticks.data(), sticks.size()).ok());
  log->keep(100);
  ASSERT_TRUE((*executable)->run({x, y}, {z, w}).ok());
  ASSERT_EQ(kinds(), (std::vector<Kind>{Kind::Launch, Kind::Launch}));
  const std::vector<ControlBlock> blocks = log->blocks();
  EXPECT_EQ(blocks[0].sequence, 1u);
  EXPECT_EQ(blocks[1].sequence, 2u);
  EXPECT_EQ(blocks[0].segments[0].physicalBase, x->physicalAddress());
  EXPECT_EQ(blocks[1].segments[0].physicalBase, z->physicalAddress());
  EXPECT_NE(toString(blocks[0]).find("1 launch 0x1c00000000"), std::string::npos)
      << toString(blocks[0]);
}

TEST_F(ControlBlocksTest, OnlyTheNewestAreKeptAndOnlyWhenAsked) {
  BufferRef buffer = *device->allocate(512);
  std::string sticks(128, '\0');
  ASSERT_TRUE(device->copyToDevice(buffer, 0, sticks.data(), 128).ok());
  EXPECT_TRUE(log->blocks().empty());
  log->keep(2);
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(device->copyToDevice(buffer, i * 128, sticks.data(), 128).ok());
  }
  ASSERT_EQ(log->blocks().size(), 2u);
  EXPECT_EQ(log->blocks()[0].sequence, 3u);
  log->keep(0);
  EXPECT_TRUE(log->blocks().empty());
}

TEST_F(ControlBlocksTest, ABlockTheCardRefusesSaysSo) {
  log->keep(10);
  BufferRef buffer = *device->allocate(512);
  std::string sticks(512, '\1');
  ASSERT_TRUE(device->copyToDevice(buffer, 0, sticks.data(), 512).ok());
  EXPECT_FALSE(device->launch(buffer, 0, 512, {}).ok()) << "no program";
  ASSERT_EQ(log->blocks().size(), 2u);
  EXPECT_NE(log->blocks()[1].failure, 0);
  EXPECT_NE(toString(log->blocks()[1]).find("failed with SPYRE-E"), std::string::npos);
}

} // namespace
