//===- ContainmentTest.cpp - which buffers a bad index costs --------------------------------===//
#include "spyre/Program/Facts.h"
#include "spyre/Runtime/Device.h"
#include "spyre/Runtime/JobPlan.h"

#include "gtest/gtest.h"

using namespace spyre;
using namespace spyre::runtime;

namespace spyre::test {
namespace {

// early[0] = table[0] in phase 0, out[0] = table[index] in phase 1, late[0] = table[0] in phase 2.
constexpr const char *kProgram = R"(spyre-program 2
buffer table ddr 0:0x0 bytes 1024 phases 0..2
buffer index ddr 1:0x0 bytes 128 phases 1..1
buffer early ddr 2:0x0 bytes 128 phases 0..0
buffer out ddr 3:0x0 bytes 128 phases 1..1
buffer late ddr 4:0x0 bytes 128 phases 2..2
buffer tile lx 0x0 bytes 128 phases 0..2
buffer index.tile lx 0x80 bytes 128 phases 1..1
phase 0 "0_early" cores 1
  load SEN169_FP16 tile[0] <- table[0]
  store SEN169_FP16 early[0] <- tile[0]
phase 1 "1_gather" cores 1
  load IEEE_INT32 index.tile[0] <- index[0]
  gather SEN169_FP16 tile[0] <- table[0], index.tile[0] element=4 bound=8 stride=128
  store SEN169_FP16 out[0] <- tile[0]
phase 2 "2_late" cores 1
  load SEN169_FP16 tile[0] <- table[0]
  store SEN169_FP16 late[0] <- tile[0]
)";

class ContainedIndex : public testing::Test {
protected:
  void SetUp() override {
    const arch::DeviceDesc desc = *arch::DeviceDesc::preset("tiny");
    DriverOptions options;
    options.threads = 2;
    device = Device::create(*createDriver("sim", desc, options));
    const Expected<program::Program> assembled = program::assemble(kProgram);
    ASSERT_TRUE(assembled.ok()) << assembled.status().message();
    EXPECT_TRUE(program::readsIndices(*assembled));
    const std::string bytes = program::writeProgram(*assembled);
    program = filled(bytes);
    programBytes = bytes.size();
    table = filled(std::string(1024, 't'));
    early = filled(std::string(128, 'e'));
    out = filled(std::string(128, 'o'));
    late = filled(std::string(128, 'l'));
    fresh = *device->allocate(128);
  }
  BufferRef filled(const std::string &bytes) {
    BufferRef buffer = *device->allocate(bytes.size());
    EXPECT_TRUE(device->copyToDevice(buffer, 0, bytes.data(), bytes.size()).ok());
    return buffer;
  }
  Status launch(int32_t index, const BufferRef &lateTarget) {
    std::string bytes(128, '\0');
    std::memcpy(bytes.data(), &index, sizeof(index));
    return device->launch(program, 0, programBytes, {table, filled(bytes), early, out, lateTarget});
  }
  std::string read(const BufferRef &buffer) {
    char byte = 0;
    const Status status = device->copyToHost(buffer, 0, &byte, 1);
    return status.ok() ? std::string(1, byte) : std::to_string(status.code());
  }

  std::shared_ptr<Device> device;
  uint64_t programBytes = 0;
  BufferRef program, table, early, out, late, fresh;
};

TEST_F(ContainedIndex, CostsWhatWasReachedAndKeepsTheRest) {
  EXPECT_EQ(launch(8, late).code(), 7017);
  EXPECT_EQ(read(table), "t");
  EXPECT_EQ(read(early), "7017") << "it may hold the new contents or the old";
  EXPECT_EQ(read(out), "7017");
  EXPECT_EQ(read(late), "l") << "the program had not reached it, and the caller was told";
  EXPECT_EQ(launch(7, late).code(), 0);
  EXPECT_EQ(read(late), "t");
}

TEST_F(ContainedIndex, LosesResultsThatHeldNothing) {
  EXPECT_EQ(launch(-1, fresh).code(), 7017);
  EXPECT_EQ(read(fresh), "7017");
}

TEST_F(ContainedIndex, ALaunchThatReadsPoisonIsSkipped) {
  ASSERT_EQ(launch(8, late).code(), 7017);
  const uint64_t before = device->counters().launches;
  std::swap(table, out);
  const Status skipped = launch(0, fresh);
  EXPECT_EQ(skipped.code(), 7017);
  EXPECT_NE(skipped.text().find("holds the index 8"), std::string::npos) << skipped.text();
  EXPECT_EQ(device->counters().launches, before);
  EXPECT_EQ(read(fresh), "7017");
  EXPECT_EQ(read(out), "t") << "nothing was written";
}

TEST(ProgramWork, CountsWhatIsExecuted) {
  const auto steps = [](const std::string &body, const std::string &cores) {
    return program::stepsOf(*program::assemble("spyre-program 2\nbuffer x lx 0x0 bytes 128 phases "
                                               "0..0\nphase 0 \"0_fill\" cores " +
                                               cores + "\n" + body));
  };
  const std::string fill = "  fill IEEE_INT32 x[0] pattern=0\n";
  EXPECT_EQ(steps(fill, "1"), 2);
  EXPECT_EQ(steps(fill, "4"), 8);
  EXPECT_EQ(steps("  loop 10\n" + fill + "  endloop\n", "1"), 2 + 10 * 2 + 2);
}

// A loop over all that a legal program of hours needs passes; two more levels do not.
TEST(ProgramWork, OnlyAbsurdProgramsAreRefused) {
  const auto nested = [](int levels) {
    std::string text = "spyre-program 2\nbuffer x lx 0x0 bytes 128 phases 0..0\n"
                       "phase 0 \"0_fill\" cores 1\n";
    for (int i = 0; i < levels; ++i) {
      text += "  loop 65535\n";
    }
    text += "  fill IEEE_INT32 x[0] pattern=0\n";
    for (int i = 0; i < levels; ++i) {
      text += "  endloop\n";
    }
    return program::checkWork(*program::assemble(text)).code();
  };
  EXPECT_EQ(nested(2), 0);
  EXPECT_EQ(nested(3), 7019);
  EXPECT_EQ(nested(4), 7019);
}

TEST(ProgramWork, AProgramThatTakesTooLongIsRefusedWhenItIsLoaded) {
  const auto device = Device::create(*createDriver("null", *arch::DeviceDesc::preset("tiny")));
  std::string text = "spyre-program 2\nbuffer x lx 0x0 bytes 128 phases 0..0\n"
                     "phase 0 \"0_fill\" cores 1\n";
  text += "  loop 65535\n  loop 65535\n  loop 65535\n  loop 65535\n";
  text += "  fill IEEE_INT32 x[0] pattern=0\n  endloop\n  endloop\n  endloop\n  endloop\n";
  const std::string bytes = program::writeProgram(*program::assemble(text));
  spec::SpyreCode code;
  code.allocateBytes = int64_t(bytes.size());
  code.transfers = {{"init.bin", spec::kProgramOffsetBase, int64_t(bytes.size())}};
  code.jobs = {spec::kProgramOffsetBase};
  const Artifacts files = {{"spyrecode.json", spec::writeSpyreCode(code)}, {"init.bin", bytes}};
  EXPECT_EQ(JobPlan::prepare(*device, files).status().code(), 7019);
}

} // namespace
} // namespace spyre::test
