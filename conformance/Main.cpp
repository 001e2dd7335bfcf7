//===- Main.cpp - chooses the driver and runs the suite -------------------------------------===//
#include "Conformance.h"

#include <cstdio>
#include <string_view>

namespace spyre::conformance {

namespace {

constexpr DriverTraits kDrivers[] = {{"sim", true}, {"null", false}};
const DriverTraits *chosenDriver = nullptr;

bool chooseDriver(std::string_view name) {
  for (const DriverTraits &driver : kDrivers) {
    if (name == driver.name) {
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
    std::fputs("usage: Conformance --driver=sim|null [gtest flags]\n", stderr);
    return 1;
  }
  return RUN_ALL_TESTS();
}
