//===- FuzzModel.cpp - any bytes into the model.json reader ---------------------------------===//
#include "spyre/Spec/Model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  auto model = spyre::spec::readModel(bytes);
  if (model.ok() && spyre::spec::verifyModel(*model).ok()) {
    auto again = spyre::spec::readModel(spyre::spec::writeModel(*model));
    SPYRE_CHECK(again.ok() && *again == *model, "text round trip");
  }
  return 0;
}
