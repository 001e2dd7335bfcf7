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

/// One kernel, then a conversion and a sort on the host; the sort's second result is not used.
inline Model modelWithCpuSteps() {
  Model model = exampleModel();
  model.buffers = {exampleTensor("t0", {512, 240})};
  model.hostValues = {{"h0", "f64", {512, 240}}, {"t1", "i64", {512, 240}}};
  CpuStep convert{"aten.double.default", 3, {}, {"t0"}, {"h0"}, 3, "f64", ""};
  CpuStep sort{"aten.sort.default", 7, {0, 1}, {"h0"}, {"out0", "t1"}, 1, "not in the op table",
               "model.py:12"};
  model.steps = {AllocateStep{"t0"}, BundleStep{"bundle_0", true, {"arg0", "half", "t0"}}, convert,
                 FreeStep{"t0"}, sort};
  return model;
}

} // namespace spyre::spec::test
