//===- FuzzSpyreCode.cpp - any bytes into the spyrecode.json reader -------------------------===//
#include "spyre/Spec/SpyreCode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  auto code = spyre::spec::readSpyreCode(bytes);
  if (code.ok()) {
    auto again = spyre::spec::readSpyreCode(spyre::spec::writeSpyreCode(*code));
    SPYRE_CHECK(again.ok() && *again == *code, "text round trip");
  }
  return 0;
}
