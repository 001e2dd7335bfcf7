//===- SanitizerGuard.cpp - see SanitizerGuard.h --------------------------------------------===//
//
// Linked into every test program that links the simulator (cmake/AddSpyre.cmake).
//===--------------------------------------------------------------------------------------------===//
#include "Support/SanitizerGuard.h"

#include "spyre/Sim/SpyreSim.h"

#include "gtest/gtest.h"

#include <atomic>

namespace spyre::test {

namespace {

std::atomic<uint64_t> expectedLaunches = 0;

class SanitizerGuard final : public testing::Environment {
public:
  void TearDown() override {
    EXPECT_EQ(spyre_sim_unsanitized_launches(), expectedLaunches.load())
        << "a simulator ran without the sanitizer; switch it on";
  }
};

// gtest owns it.
[[maybe_unused]] const testing::Environment *const kGuard =
    testing::AddGlobalTestEnvironment(new SanitizerGuard);

} // namespace

void expectUnsanitizedLaunches(uint64_t count) { expectedLaunches += count; }

} // namespace spyre::test
