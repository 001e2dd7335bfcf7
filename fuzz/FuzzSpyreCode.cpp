//===- FuzzSpyreCode.cpp - any bytes into the spyrecode.json reader -------------------------===//
#include "spyre/Spec/SpyreCode.h"

#include "FuzzInput.h"

using namespace spyre;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto code = spec::readSpyreCode(fuzz::inputBytes(data, size));
  if (!code.ok()) {
    fuzz::checkRefusal(code.status(), {5201});
    return 0;
  }
  auto again = spec::readSpyreCode(spec::writeSpyreCode(*code));
  SPYRE_CHECK(again.ok() && *again == *code, "text round trip");
  return 0;
}
