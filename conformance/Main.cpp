//===- Main.cpp - chooses the driver and runs the suite -------------------------------------===//
#include "Conformance.h"

#include <cstdio>
#include <string_view>
#include <utility>

namespace spyre::conformance {

namespace {

/// By the name of the flag.
constexpr std::pair<std::string_view, DriverTraits> kDrivers[] = {
    {"sim", {"sim", true}}, {"null", {"null", false}}, {"faults", {"sim", true, true}}};
const DriverTraits *chosenDriver = nullptr;

bool chooseDriver(std::string_view name) {
  for (const auto &[flag, driver] : kDrivers) {
    if (name == flag) {
      chosenDriver = &driver;
    }
  }
  return chosenDriver != nullptr;
}

} // namespace

const DriverTraits &traits() { return *chosenDriver; }

} // namespace spyre::conformance

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kFlag = "--driver=";
  const std::string_view argument = argc == 2 ? argv[1] : "";
  if (argument.substr(0, kFlag.size()) != kFlag ||
      !spyre::conformance::chooseDriver(argument.substr(kFlag.size()))) {
    std::fputs("usage: Conformance --driver=sim|null|faults [gtest flags]\n", stderr);
    return 1;
  }
  return RUN_ALL_TESTS();
}
