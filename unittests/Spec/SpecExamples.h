//===- SpecExamples.h - a model for tests: one kernel with a pool, an input, a constant -----===//
#pragma once

#include "spyre/Spec/Model.h"

#include "SpecTestUtils.h"

namespace spyre::spec::test {

inline TensorDesc exampleTensor(const char *name, std::vector<int64_t> size) {
  TensorDesc tensor;
  tensor.name = name;
  tensor.size = std::move(size);
  tensor.stride.assign(tensor.size.size(), 1);
  for (size_t i = tensor.size.size(); i-- > 1;) {
    tensor.stride[i - 1] = tensor.stride[i] * tensor.size[i];
  }
  tensor.layout = valueOf(layout::DeviceLayout::makeDefault(tensor.size, tensor.dtype));
  return tensor;
}

inline Model exampleModel() {
  Model model;
  model.deviceName = "openspyre";
  model.deviceHash = "0123456789abcdef";
  model.inputs = {exampleTensor("arg0", {512, 240}), exampleTensor("arg1", {240})};
  model.outputs = {exampleTensor("out0", {512, 240})};
  model.constants = {{exampleTensor("half", {}), 0.5}};
  model.poolBytes = 4096;
  model.steps = {BundleStep{"bundle_0", true, {"arg0", "arg1", "half", "out0"}}};
  return model;
}

} // namespace spyre::spec::test
