//===- FuzzNpy.cpp - any bytes into the .npy parser -----------------------------------------===//
#include "spyre/Runtime/Npy.h"

#include "FuzzInput.h"

using namespace spyre;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto array = runtime::parseNpy(fuzz::inputBytes(data, size));
  if (!array.ok()) {
    fuzz::checkRefusal(array.status(), {6301});
    return 0;
  }
  auto again = runtime::parseNpy(runtime::writeNpy(*array));
  SPYRE_CHECK(again.ok() && again->type == array->type && again->shape == array->shape &&
                  again->data == array->data,
              "binary round trip");
  return 0;
}
