//===- Memory.cpp - allocation and copies ---------------------------------------------------===//
#include "Conformance.h"

#include <cstring>

using namespace spyre;
using namespace spyre::runtime;

namespace spyre::conformance {

using Memory = ConformanceTest;

TEST_F(Memory, TheDeviceIsTheOneAskedFor) {
  EXPECT_STREQ(device->driverName(), traits().name);
  EXPECT_EQ(device->desc(), desc);
}

TEST_F(Memory, AllocationsAreWholeAlignedSticksAndNeverAddressZero) {
  for (uint64_t bytes : {0u, 1u, 127u, 128u, 129u, 5000u}) {
    BufferRef buffer = *device->allocate(bytes);
    EXPECT_EQ(buffer->physicalAddress() % 128, 0u);
    EXPECT_NE(buffer->physicalAddress(), 0u);
    EXPECT_EQ(buffer->bytes() % 128, 0u);
    EXPECT_GE(buffer->bytes(), std::max<uint64_t>(bytes, 1));
    EXPECT_LT(buffer->bytes(), bytes + 129);
  }
  EXPECT_EQ(device->memoryStats().allocatedNow(), 0u);
}

TEST_F(Memory, LiveBuffersAreDisjointAndFreedMemoryComesBack) {
  BufferRef first = *device->allocate(1000), second = *device->allocate(1000);
  EXPECT_GE(second->physicalAddress(), first->physicalAddress() + first->bytes());
  const uint64_t address = first->physicalAddress();
  first.reset();
  EXPECT_EQ((*device->allocate(1000))->physicalAddress(), address);
}

TEST_F(Memory, FillsRepeatAStickAndKeepWhatIsMasked) {
  constexpr uint64_t kSticks = 700; // more than one block of the default implementation
  BufferRef buffer = *device->allocate(kSticks * 128);
  StickFill fill;
  fill.value.fill(0x5A);
  fill.mask.fill(0xFF);
  EXPECT_EQ(device->fillSticks(buffer, 0, kSticks, fill, nullptr).code(), 0);
  fill.value.fill(0xC3);
  std::fill(fill.mask.begin() + 2, fill.mask.end(), uint8_t(0));
  EXPECT_EQ(device->fillSticks(buffer, 128, 2, fill, nullptr).code(), 0);
  EXPECT_EQ(device->fillSticks(buffer, 128, 0, fill, nullptr).code(), 0);
  EXPECT_EQ(device->fillSticks(buffer, 128, kSticks, fill, nullptr).code(), 6103);
  std::vector<uint8_t> bytes(kSticks * 128);
  EXPECT_EQ(device->copyToHost(buffer, 0, bytes.data(), bytes.size()).code(), 0);
  for (uint64_t i = 0; traits().computes && i < bytes.size(); ++i) {
    const bool isMasked = (i / 128 == 1 || i / 128 == 2) && i % 128 < 2;
    ASSERT_EQ(bytes[i], isMasked ? 0xC3 : 0x5A) << "byte " << i;
  }
}

// All regions but that of programs; the first lacks the stick at address 0.
TEST_F(Memory, AllOfTheMemoryCanBeUsedAndNotMore) {
  const uint64_t segment = uint64_t(desc.segmentBytes);
  const uint64_t tensorRegions = uint64_t(desc.ddrBytes) / segment - 1;
  {
    std::vector<BufferRef> all;
    for (uint64_t i = 0; i < tensorRegions; ++i) {
      Expected<BufferRef> region =
          device->allocate(i + 1 < tensorRegions ? segment : segment - 128);
      ASSERT_TRUE(region.ok()) << region.status().message();
      EXPECT_EQ(device->copyToDevice(*region, (*region)->bytes() - 1, "x", 1).code(), 0);
      all.push_back(*region);
    }
    Expected<BufferRef> more = device->allocate(1);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.status().code(), 6102);
    EXPECT_NE(more.status().text().find("region 6 (programs): 0 of"), std::string::npos)
        << more.status().text();
    EXPECT_TRUE(device->allocate(1, MemoryKind::Program).ok());
    EXPECT_EQ(device->memoryStats().numOoms, 1);
  }
  for (uint64_t bytes : {segment + 1, uint64_t(desc.ddrBytes), UINT64_MAX - 1, UINT64_MAX}) {
    Expected<BufferRef> refused = device->allocate(bytes);
    ASSERT_FALSE(refused.ok()) << bytes;
    EXPECT_EQ(refused.status().code(), 6111);
  }
  EXPECT_EQ(device->memoryStats().numOomRejections, 4);
  EXPECT_TRUE(device->allocate(segment).ok()) << "a refused request takes nothing";
}

TEST_F(Memory, CopiesStayInsideTheBuffer) {
  BufferRef buffer = *device->allocate(256);
  std::vector<char> data(1024);
  const auto toDevice = [&](uint64_t offset, uint64_t bytes) {
    return device->copyToDevice(buffer, offset, data.data(), bytes).code();
  };
  const auto toHost = [&](uint64_t offset, uint64_t bytes) {
    return device->copyToHost(buffer, offset, data.data(), bytes).code();
  };
  for (auto [offset, bytes] : {std::pair<uint64_t, uint64_t>{0, 256}, {256, 0}, {255, 1}}) {
    EXPECT_EQ(toDevice(offset, bytes), 0);
    EXPECT_EQ(toHost(offset, bytes), 0);
  }
  for (auto [offset, bytes] : {std::pair<uint64_t, uint64_t>{0, 257},
                               {256, 1},
                               {257, 0},
                               {1, UINT64_MAX},
                               {UINT64_MAX, 1},
                               {UINT64_MAX, UINT64_MAX}}) {
    EXPECT_EQ(toDevice(offset, bytes), 6103) << offset << ' ' << bytes;
    EXPECT_EQ(toHost(offset, bytes), 6103) << offset << ' ' << bytes;
  }
  EXPECT_EQ(device->copyOnDevice(buffer, *device->allocate(128), 256).code(), 6103);
  EXPECT_EQ(device->copyToDevice(nullptr, 0, data.data(), 1).code(), 6105);
  EXPECT_EQ(device->copyToHost(buffer, 0, nullptr, 1).code(), 6105);
}

// The driver itself refuses addresses outside its memory: nothing relies on the allocator alone.
TEST_F(Memory, DriversRefuseAddressesOutsideTheirMemory) {
  std::unique_ptr<Driver> driver = makeDriver();
  const uint64_t end = uint64_t(desc.ddrBytes);
  char data[256] = {};
  EXPECT_TRUE(driver->write(end - 128, data, 128).ok());
  EXPECT_TRUE(driver->read(end - 128, data, 128).ok());
  EXPECT_TRUE(driver->discard(end - 128, 128).ok());
  for (auto [address, bytes] :
       {std::pair<uint64_t, uint64_t>{end, 1}, {end - 128, 256}, {UINT64_MAX - 64, 128}}) {
    EXPECT_FALSE(driver->write(address, data, bytes).ok()) << address;
    EXPECT_FALSE(driver->read(address, data, bytes).ok()) << address;
    EXPECT_FALSE(driver->discard(address, bytes).ok()) << address;
    EXPECT_FALSE(driver->writeSticks(address, data, bytes, nullptr).ok()) << address;
    EXPECT_FALSE(driver->readSticks(address, data, bytes, nullptr).ok()) << address;
    EXPECT_FALSE(driver->copy(0, address, bytes).ok()) << address;
    EXPECT_FALSE(driver->copy(address, 0, bytes).ok()) << address;
  }
}

TEST_F(Memory, FreshMemoryReadsAsZero) {
  std::vector<char> ones(4096, 1);
  for (int round = 0; round < 2; ++round) {
    BufferRef buffer = *device->allocate(ones.size());
    std::vector<char> data(ones.size(), 7);
    ASSERT_TRUE(device->copyToHost(buffer, 0, data.data(), data.size()).ok());
    EXPECT_EQ(data, std::vector<char>(ones.size(), 0)) << "round " << round;
    ASSERT_TRUE(device->copyToDevice(buffer, 0, ones.data(), ones.size()).ok());
  }
}

// Discarding one buffer leaves its neighbours alone, also inside one page of the host.
TEST_F(Memory, DataComesBackAsWritten) {
  std::vector<unsigned char> data((3 << 20) + 77);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<unsigned char>(i * 31 + i / 777);
  }
  BufferRef before = filled(1), buffer = *device->allocate(data.size() + 5), after = filled(2);
  BufferRef copy = *device->allocate(data.size() + 5);
  ASSERT_TRUE(device->copyToDevice(buffer, 5, data.data(), data.size()).ok());
  ASSERT_TRUE(device->copyOnDevice(buffer, copy, data.size() + 5).ok());
  buffer.reset();
  std::vector<unsigned char> back(data.size());
  ASSERT_TRUE(device->copyToHost(copy, 5, back.data(), back.size()).ok());
  if (traits().computes) {
    EXPECT_EQ(back, data);
    EXPECT_EQ(lane(before, 63), 1.0f);
    EXPECT_EQ(lane(after, 0), 2.0f);
  }
}

// A driver that follows padding finds it where a reader expects data; any other accepts all.
TEST_F(Memory, SticksComeBackWithTheirPadding) {
  std::unique_ptr<Driver> driver = makeDriver();
  std::vector<unsigned char> data(3 * 128), back(data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<unsigned char>(i * 7);
  }
  const uint64_t padding[] = {0, ~uint64_t(0) << 48, 0};
  const uint64_t less[] = {0, ~uint64_t(0) << 49, 0};
  const bool accepts = !driver->wantsPadding();
  EXPECT_EQ(driver->wantsPadding(), traits().computes) << "the suite runs with the sanitizer on";
  ASSERT_TRUE(driver->writeSticks(1024, data.data(), data.size(), padding).ok());
  const Status status = driver->readSticks(1024, back.data(), back.size(), padding);
  ASSERT_TRUE(status.ok()) << status.message();
  if (traits().computes) {
    EXPECT_EQ(back, data);
  }
  EXPECT_EQ(driver->readSticks(1024, back.data(), back.size(), less).ok(), accepts);
  EXPECT_EQ(driver->readSticks(1024, back.data(), back.size(), nullptr).ok(), accepts);
  EXPECT_TRUE(driver->read(1024, back.data(), back.size()).ok()) << "plain bytes are just bytes";
  ASSERT_TRUE(driver->copy(1024, 4096, data.size()).ok());
  EXPECT_TRUE(driver->readSticks(4096, back.data(), back.size(), padding).ok());
  EXPECT_EQ(driver->readSticks(4096, back.data(), back.size(), nullptr).ok(), accepts);
  ASSERT_TRUE(driver->write(1024, data.data(), data.size()).ok());
  EXPECT_TRUE(driver->readSticks(1024, back.data(), back.size(), nullptr).ok());
}

} // namespace spyre::conformance
