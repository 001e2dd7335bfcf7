//===- Conformance.h - what the conformance tests share -------------------------------------===//
//
// The suite asserts what every driver must hold. Drivers that keep and compute data ("computes")
// are held to their results as well; the null driver is not. A new driver adds one line to
// Main.cpp's table and one to CMakeLists.txt.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/Device.h"
#include "spyre/Runtime/Faults.h"

#include "Runtime/TestPrograms.h"
#include "gtest/gtest.h"

namespace spyre::conformance {

struct DriverTraits {
  const char *name;
  /// Memory keeps what is written and programs run.
  bool computes;
  /// Inside the driver that can fail on request, and is never told to.
  bool withFaults = false;
};

/// The driver under test, chosen by --driver.
const DriverTraits &traits();

class ConformanceTest : public testing::Test {
protected:
  void SetUp() override {
    Expected<arch::DeviceDesc> preset = arch::DeviceDesc::preset("tiny");
    ASSERT_TRUE(preset.ok()) << preset.status().message();
    desc = *preset;
    device = runtime::Device::create(makeDriver());
  }
  std::unique_ptr<runtime::Driver> makeDriver() const {
    runtime::DriverOptions options;
    options.threads = 2;
    Expected<std::unique_ptr<runtime::Driver>> driver =
        runtime::createDriver(traits().name, desc, options);
    SPYRE_CHECK(driver.ok(), "the driver under test can be created");
    if (traits().withFaults) {
      return runtime::createFaultDriver(*std::move(driver),
                                        std::make_shared<runtime::FaultInjector>());
    }
    return *std::move(driver);
  }
  /// A buffer that holds the program of \p spec.
  runtime::BufferRef loadAdd(const test::AddSpec &spec) {
    const std::string bytes = program::writeProgram(test::addProgram(desc, spec));
    runtime::BufferRef buffer = *device->allocate(bytes.size());
    const Status copied = device->copyToDevice(buffer, 0, bytes.data(), bytes.size());
    EXPECT_TRUE(copied.ok()) << copied.message();
    programBytes = bytes.size();
    return buffer;
  }
  /// A buffer of whole sticks with the same fp16 value in every lane.
  runtime::BufferRef filled(float value, uint64_t sticks = 1) {
    const std::vector<uint16_t> lanes(sticks * 64, numerics::floatToDl16(value));
    runtime::BufferRef buffer = *device->allocate(lanes.size() * 2);
    const Status copied = device->copyToDevice(buffer, 0, lanes.data(), lanes.size() * 2);
    EXPECT_TRUE(copied.ok()) << copied.message();
    return buffer;
  }
  float lane(const runtime::BufferRef &buffer, uint64_t index) {
    uint16_t bits = 0;
    const Status copied = device->copyToHost(buffer, index * 2, &bits, 2);
    EXPECT_TRUE(copied.ok()) << copied.message();
    return numerics::dl16ToFloat(bits);
  }

  arch::DeviceDesc desc;
  std::shared_ptr<runtime::Device> device;
  uint64_t programBytes = 0;
};

} // namespace spyre::conformance
