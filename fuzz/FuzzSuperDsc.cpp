//===- FuzzSuperDsc.cpp - any bytes into the SuperDSC reader --------------------------------===//
#include "spyre/Spec/SuperDsc.h"

#include "FuzzInput.h"

using namespace spyre;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  auto dsc = spec::readSuperDsc(fuzz::inputBytes(data, size));
  if (!dsc.ok()) {
    fuzz::checkRefusal(dsc.status(), {5002});
    return 0;
  }
  if (Status status = spec::verifySuperDsc(*dsc, device); !status.ok()) {
    fuzz::checkRefusal(status, {5003});
    return 0;
  }
  const std::string text = spec::writeSuperDsc(*dsc);
  auto again = spec::readSuperDsc(text);
  SPYRE_CHECK(again.ok() && spec::writeSuperDsc(*again) == text,
              "what was verified can be written and read");
  return 0;
}
