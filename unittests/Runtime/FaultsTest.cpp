//===- FaultsTest.cpp - faults hit the operation they are meant for -------------------------===//
#include "spyre/Runtime/Faults.h"

#include "gtest/gtest.h"

using namespace spyre;
using namespace spyre::runtime;

namespace {

class Faults : public testing::Test {
protected:
  void SetUp() override {
    const arch::DeviceDesc desc = *arch::DeviceDesc::load("tiny");
    injector = std::make_shared<FaultInjector>();
    driver = createFaultDriver(*createDriver("null", desc), injector);
    segments.resize(size_t(desc.programSegment()) + 1);
    segments.back() = {0, 128};
    programAddress = uint64_t(desc.segmentBase(desc.programSegment()));
  }
  Status launch() { return driver->launch(programAddress, 128, segments, 0); }
  Status copy() { return driver->write(0, bytes, sizeof bytes); }

  std::shared_ptr<FaultInjector> injector;
  std::unique_ptr<Driver> driver;
  std::vector<SegmentBinding> segments;
  uint64_t programAddress = 0;
  char bytes[128] = {};
};

} // namespace

TEST_F(Faults, NoneUnlessArmed) {
  EXPECT_TRUE(launch().ok());
  EXPECT_TRUE(copy().ok());
  EXPECT_FALSE(injector->armed());
  EXPECT_STREQ(driver->name(), "null");
}

TEST_F(Faults, HitTheOperationAfterTheGivenNumberAndNoOther) {
  EXPECT_TRUE(launch().ok());
  injector->arm({FaultKind::Timeout, FaultTarget::Launch, 2, {}});
  EXPECT_TRUE(launch().ok());
  EXPECT_TRUE(copy().ok()) << "copies are not counted";
  EXPECT_TRUE(launch().ok());
  const Status status = launch();
  EXPECT_EQ(status.code(), 6151);
  EXPECT_NE(status.message().find("timeout in launch 4"), std::string::npos) << status.message();
  EXPECT_TRUE(launch().ok()) << "a fault is used up";
  EXPECT_EQ(driver->counters().launches, 4u) << "the launch that failed did not reach the card";
}

TEST_F(Faults, CodesAndAddresses) {
  struct Case {
    const char *kind;
    int code;
    const char *text;
  };
  for (const Case &one :
       {Case{"page_fault_fetch", 6150, "page_fault_fetch at address 0xabc0"},
        Case{"page_fault_store", 6150, "page_fault_store at address 0xabc0"},
        Case{"timeout", 6151, "timeout"}, Case{"core_unavailable", 6152, "core_unavailable"},
        Case{"dma_crc", 6153, "dma_crc in copy"}, Case{"ecc", 6154, "ecc at address 0xabc0"}}) {
    const FaultKind kind = *parseFaultKind(one.kind);
    EXPECT_STREQ(faultKindName(kind), one.kind);
    injector->arm({kind, *parseFaultTarget("", kind), 0, 0xabc0});
    const Status first = copy(), second = launch();
    const Status &status = first.ok() ? second : first;
    EXPECT_EQ(status.code(), one.code);
    EXPECT_NE(status.message().find(one.text), std::string::npos) << status.message();
    EXPECT_NE(first.ok(), second.ok()) << "exactly one of the two failed";
  }
}

TEST_F(Faults, EveryCopyIsACopy) {
  auto fails = [&](auto operation) {
    injector->arm({FaultKind::DmaCrc, FaultTarget::Copy, 0, {}});
    return operation().code() == 6153;
  };
  EXPECT_TRUE(fails([&] { return driver->write(0, bytes, 128); }));
  EXPECT_TRUE(fails([&] { return driver->read(0, bytes, 128); }));
  EXPECT_TRUE(fails([&] { return driver->writeSticks(0, bytes, 128, nullptr); }));
  EXPECT_TRUE(fails([&] { return driver->readSticks(0, bytes, 128, nullptr); }));
  EXPECT_TRUE(fails([&] { return driver->copy(0, 128, 128); }));
  EXPECT_TRUE(driver->discard(0, 128).ok());
  injector->arm({FaultKind::DmaCrc, FaultTarget::Copy, 0, {}});
  injector->disarm();
  EXPECT_TRUE(copy().ok());
}

TEST_F(Faults, UnknownNamesAreListed) {
  EXPECT_EQ(parseFaultKind("fire").status().code(), 6147);
  EXPECT_NE(parseFaultKind("fire").status().message().find("core_unavailable"), std::string::npos);
  EXPECT_EQ(parseFaultTarget("discard", FaultKind::Ecc).status().code(), 6147);
}
