//===- FuzzSuperDsc.cpp - any bytes into the SuperDSC reader --------------------------------===//
#include "spyre/Spec/SuperDsc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  static const spyre::arch::DeviceDesc device = *spyre::arch::DeviceDesc::preset("openspyre");
  auto dsc = spyre::spec::readSuperDsc(bytes);
  if (dsc.ok() && spyre::spec::verifySuperDsc(*dsc, device).ok()) {
    auto again = spyre::spec::readSuperDsc(spyre::spec::writeSuperDsc(*dsc));
    SPYRE_CHECK(again.ok(), "what was verified can be written and read");
  }
  return 0;
}
