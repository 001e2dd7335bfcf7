//===- FuzzNpy.cpp - any bytes into the .npy parser -----------------------------------------===//
#include "spyre/Runtime/Npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  auto array = spyre::runtime::parseNpy(bytes);
  if (array.ok()) {
    auto again = spyre::runtime::parseNpy(spyre::runtime::writeNpy(*array));
    SPYRE_CHECK(again.ok() && again->data == array->data, "binary round trip");
  }
  return 0;
}
