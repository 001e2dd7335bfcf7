//===- FuzzOpSpec.cpp - any bytes into the OpSpec parser ------------------------------------===//
#include "spyre/Spec/OpSpec.h"
#include "spyre/Spec/SuperDsc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  auto specs = spyre::spec::parseOpSpecs(bytes);
  if (specs.ok()) {
    auto again = spyre::spec::parseOpSpecs(spyre::spec::writeOpSpecs(*specs));
    SPYRE_CHECK(again.ok() && *again == *specs, "text round trip");
    for (const spyre::spec::OpSpec &spec : *specs) {
      if (spyre::spec::verifyOpSpec(spec).ok()) {
        (void)spyre::spec::emitSuperDsc(spec, 0);
      }
    }
  }
  return 0;
}
