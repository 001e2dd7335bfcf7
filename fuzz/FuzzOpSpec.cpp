//===- FuzzOpSpec.cpp - any bytes into the OpSpec parser ------------------------------------===//
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/OpSpec.h"
#include "spyre/Spec/SuperDsc.h"

#include "FuzzInput.h"

using namespace spyre;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto kernel = spec::parseKernel(fuzz::inputBytes(data, size));
  if (!kernel.ok()) {
    fuzz::checkRefusal(kernel.status(), {1301});
    return 0;
  }
  if (auto bundle =
          spec::generateBundle(*kernel, {.symbolicArguments = true, .unrollLoops = false});
      !bundle.ok()) {
    fuzz::checkRefusal(bundle.status(), {1302, 1303, 5001});
  }
  auto specs = spec::parseOpSpecs(spec::writeKernel(*kernel));
  if (!specs.ok()) { // loops
    fuzz::checkRefusal(specs.status(), {1301});
    return 0;
  }
  auto again = spec::parseOpSpecs(spec::writeOpSpecs(*specs));
  SPYRE_CHECK(again.ok() && again->size() == specs->size(), "text round trip");
  for (size_t i = 0; i < specs->size(); ++i) {
    auto &constants = (*specs)[i].constants;
    auto &read = (*again)[i].constants;
    SPYRE_CHECK(read.size() == constants.size(), "text round trip");
    for (size_t j = 0; j < constants.size(); ++j) {
      fuzz::dropSharedNan(constants[j].second, read[j].second);
    }
  }
  SPYRE_CHECK(*again == *specs, "text round trip");
  for (const spec::OpSpec &op : *specs) {
    if (Status status = spec::verifyOpSpec(op); !status.ok()) {
      fuzz::checkRefusal(status, {1302});
      return 0;
    }
  }
  (void)spec::generateBundle(*specs);
  return 0;
}
