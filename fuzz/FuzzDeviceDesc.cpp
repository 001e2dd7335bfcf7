//===- FuzzDeviceDesc.cpp - any bytes into the device description reader --------------------===//
#include "spyre/Arch/DeviceDesc.h"

#include "FuzzInput.h"

using namespace spyre;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string bytes = fuzz::inputBytes(data, size);
  auto desc = arch::DeviceDesc::fromJson(bytes);
  if (!desc.ok()) {
    fuzz::checkRefusal(desc.status(), {9201});
  } else {
    auto again = arch::DeviceDesc::fromJson(desc->toJson());
    SPYRE_CHECK(again.ok() && *again == *desc, "text round trip");
    SPYRE_CHECK(again->hash() == desc->hash(), "equal machines have equal hashes");
    SPYRE_CHECK(desc->lxStagingBegin() >= 0 && desc->lxStagingBytes() >= 0, "LX is divided");
  }
  const std::string firstLine = bytes.substr(0, bytes.find('\n'));
  if (auto preset = arch::DeviceDesc::preset(firstLine); !preset.ok()) {
    SPYRE_CHECK(preset.status().code() == 9202, "a refusal has a number of its format");
  }
  return 0;
}
