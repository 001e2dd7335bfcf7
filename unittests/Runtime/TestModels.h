//===- TestModels.h - compiled models made by hand ------------------------------------------===//
//
// Artifact sets as the compiler would write them, without the compiler: model.json from structs,
// one program per bundle from TestPrograms.h. All tensors are float16 [4, 64], four sticks.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Math.h"
#include "spyre/Runtime/Executable.h"
#include "spyre/Spec/Model.h"
#include "spyre/Spec/SpyreCode.h"

#include "Runtime/TestPrograms.h"
#include "gtest/gtest.h"

namespace spyre::test {

inline const std::vector<int64_t> kTestSize{4, 64};
constexpr int64_t kTestSticks = 4;
constexpr size_t kTestElements = 256;

inline arch::DeviceDesc tinyDevice() {
  Expected<arch::DeviceDesc> desc = arch::DeviceDesc::preset("tiny");
  SPYRE_CHECK(desc.ok(), "the preset exists");
  return *desc;
}

inline spec::TensorDesc tensorDesc(const std::string &name,
                                   const std::vector<int64_t> &size = kTestSize,
                                   numerics::HostType type = numerics::HostType::Float16) {
  Expected<layout::DeviceLayout> layout = layout::DeviceLayout::makeDefault(size, type);
  SPYRE_CHECK(layout.ok(), "the test's layouts are sound");
  return {name, type, size, rowMajorStrides(size), 0, *layout};
}

/// "<directory>/spyreCodeDir/..." with one program after \p leadingBytes of other data.
inline void addBundle(Artifacts &artifacts, const std::string &directory,
                      const program::Program &program, int64_t leadingBytes = 0) {
  std::string binary = program::writeProgram(program);
  binary.resize(size_t(roundUp(int64_t(binary.size()), 128)));
  spec::SpyreCode code;
  code.allocateBytes = leadingBytes + int64_t(binary.size()) + 256;
  const int64_t pointer = spec::kProgramOffsetBase + leadingBytes;
  code.transfers = {{"init.bin", pointer, int64_t(binary.size())}};
  code.jobs = {pointer};
  artifacts[directory + "/spyreCodeDir/init.bin"] = binary;
  artifacts[directory + "/spyreCodeDir/spyrecode.json"] = spec::writeSpyreCode(code);
}

/// z = x + y; w = z + x with the same bundle.
inline spec::Model chainModel(const arch::DeviceDesc &device) {
  spec::Model model;
  model.deviceName = device.name;
  model.deviceHash = device.hash();
  model.inputs = {tensorDesc("x"), tensorDesc("y")};
  model.outputs = {tensorDesc("z"), tensorDesc("w")};
  model.steps = {spec::BundleStep{"bundle_0", false, {"x", "y", "z"}},
                 spec::BundleStep{"bundle_0", false, {"z", "x", "w"}}};
  return model;
}

inline Artifacts chainArtifacts(const arch::DeviceDesc &device) {
  Artifacts artifacts;
  artifacts["model.json"] = spec::writeModel(chainModel(device));
  addBundle(artifacts, "bundle_0", addProgram(device, {0, 1, 2, kTestSticks, false}));
  return artifacts;
}

/// pool = x + y; z = pool + c, c a constant.
inline Artifacts poolArtifacts(const arch::DeviceDesc &device, double constant) {
  spec::Model model = chainModel(device);
  model.outputs = {tensorDesc("z")};
  model.constants = {{tensorDesc("c", {1}), constant}};
  model.poolBytes = kTestSticks * device.stickBytes;
  model.steps = {spec::BundleStep{"bundle_0", true, {"x", "y"}},
                 spec::BundleStep{"bundle_1", true, {"c", "z"}}};
  Artifacts artifacts;
  artifacts["model.json"] = spec::writeModel(model);
  addBundle(artifacts, "bundle_0", addProgram(device, {1, 2, 0, kTestSticks, false}), 512);
  addBundle(artifacts, "bundle_1", addProgram(device, {0, 1, 2, kTestSticks, true}));
  return artifacts;
}

/// Multiples of 1/4, so that sums of a few are exact on the device.
inline std::vector<uint16_t> testValues(int seed) {
  std::vector<uint16_t> values;
  for (size_t i = 0; i < kTestElements; ++i) {
    values.push_back(numerics::floatToHalf(float(int(i * 13 + size_t(seed) * 7) % 64) * 0.25f));
  }
  return values;
}

inline float valueAt(const std::vector<uint16_t> &values, size_t i) {
  return numerics::halfToFloat(values[i]);
}

} // namespace spyre::test
