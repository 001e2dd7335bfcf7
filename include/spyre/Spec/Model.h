//===- Model.h - model.json: everything the runtime needs to execute a compiled graph -------===//
//
// Inputs and outputs with host geometry and device layout, constants, pool bytes, and the ordered
// steps. The plug-in, spyre-run and C++ users execute only this. Buffers are named; a step binds
// names to the kernel's tensor arguments in order (argument i is mapped to segment i, or i + 1 when
// the pool takes segment 0).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Layout/DeviceLayout.h"

#include <string>
#include <vector>

namespace spyre::spec {

struct TensorDesc {
  std::string name;
  numerics::HostType dtype = numerics::HostType::Float16;
  std::vector<int64_t> size;
  std::vector<int64_t> stride; ///< host strides the layout is built with, elements
  int64_t offset = 0;          ///< host storage offset, elements
  layout::DeviceLayout layout;
  bool operator==(const TensorDesc &) const = default;
};

/// A scalar the kernels read as a one-stick tensor.
struct ConstantDesc {
  TensorDesc tensor;
  double value = 0;
  bool operator==(const ConstantDesc &) const = default;
};

struct BundleStep {
  std::string directory; ///< "bundle_0"
  bool usesPool = false;
  std::vector<std::string> arguments; ///< buffer names, kernel argument order
  bool operator==(const BundleStep &) const = default;
};

struct Model {
  int version = 1;
  std::string deviceName;
  std::string deviceHash;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  std::vector<ConstantDesc> constants;
  int64_t poolBytes = 0;
  std::vector<BundleStep> steps;
  bool operator==(const Model &) const = default;
};

std::string writeModel(const Model &model);
/// Errors: E6001 with the JSON path.
Expected<Model> readModel(const std::string &text);
/// Names unique and known, sizes and layouts sound, pool aligned. Error: E6002.
Status verifyModel(const Model &model);

} // namespace spyre::spec
