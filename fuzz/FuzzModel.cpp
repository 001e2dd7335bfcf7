//===- FuzzModel.cpp - any bytes into the model.json reader ---------------------------------===//
#include "spyre/Spec/Model.h"

#include "FuzzInput.h"

using namespace spyre;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto model = spec::readModel(fuzz::inputBytes(data, size));
  if (!model.ok()) {
    fuzz::checkRefusal(model.status(), {6001});
    return 0;
  }
  auto again = spec::readModel(spec::writeModel(*model));
  SPYRE_CHECK(again.ok() && again->constants.size() == model->constants.size(), "text round trip");
  for (size_t i = 0; i < model->constants.size(); ++i) {
    fuzz::dropSharedNan(model->constants[i].value, again->constants[i].value);
  }
  SPYRE_CHECK(*again == *model, "text round trip");
  if (Status status = spec::verifyModel(*model); !status.ok()) {
    fuzz::checkRefusal(status, {6002});
  }
  return 0;
}
