//===- FuzzBundleMlir.cpp - any bytes into the bundle.mlir parser ---------------------------===//
#include "spyre/Spec/Bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  auto bundle = spyre::spec::parseBundleMlir(bytes);
  if (bundle.ok()) {
    auto again = spyre::spec::parseBundleMlir(spyre::spec::writeBundleMlir(*bundle));
    SPYRE_CHECK(again.ok() && *again == *bundle, "text round trip");
  }
  return 0;
}
