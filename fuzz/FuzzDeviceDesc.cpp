//===- FuzzDeviceDesc.cpp - any bytes into the device description reader --------------------===//
#include "spyre/Arch/DeviceDesc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  auto desc = spyre::arch::DeviceDesc::fromJson(bytes);
  if (desc.ok()) {
    auto again = spyre::arch::DeviceDesc::fromJson(desc->toJson());
    SPYRE_CHECK(again.ok() && *again == *desc, "text round trip");
  }
  return 0;
}
