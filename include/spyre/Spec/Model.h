//===- Model.h - model.json: everything the runtime needs to execute a compiled graph -------===//
//
// Inputs and outputs with host geometry and device layout, constants, pool bytes, and the ordered
// steps. The plug-in, spyre-run and C++ users execute only this. Buffers are named; a step binds
// names to the kernel's tensor arguments in order (argument i is mapped to segment i, or i + 1 when
// the pool takes segment 0).
//
// What the device cannot compute is a CPU step. Buffers such a step reads or writes are not part of
// the pool: the steps allocate and free them. A value the device cannot hold passes between CPU
// steps as a host value.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Layout/DeviceLayout.h"

#include <string>
#include <variant>
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
  /// The next bundle reads what this one leaves in LX: no CPU step may stand between them.
  bool nonTerminal = false;
  bool operator==(const BundleStep &) const = default;
};

/// One call of the framework, on the host.
struct CpuStep {
  std::string callee;
  int64_t node = 0; ///< number the caller gave the call; it knows what to run
  /// Which of the call's results are the outputs; empty: the result is one tensor.
  std::vector<int64_t> results;
  std::vector<std::string> inputs, outputs; ///< buffers and host values
  int64_t gate = 1;                         ///< which of the five gates refused it
  std::string reason;
  std::string location; ///< "model.py:12" or empty
  bool operator==(const CpuStep &) const = default;
};

/// Memory for one of Model::buffers, from here until it is freed.
struct AllocateStep {
  std::string buffer;
  bool operator==(const AllocateStep &) const = default;
};
struct FreeStep {
  std::string buffer;
  bool operator==(const FreeStep &) const = default;
};

using ModelStep = std::variant<BundleStep, CpuStep, AllocateStep, FreeStep>;

/// A value that only CPU steps see; type and size are for people.
struct HostValue {
  std::string name;
  std::string dtype;
  std::vector<int64_t> size;
  bool operator==(const HostValue &) const = default;
};

constexpr int64_t kGates = 5;

struct Model {
  int version = 1;
  std::string deviceName;
  std::string deviceHash;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  std::vector<ConstantDesc> constants;
  /// Intermediates with memory of their own.
  std::vector<TensorDesc> buffers;
  std::vector<HostValue> hostValues;
  int64_t poolBytes = 0;
  std::vector<ModelStep> steps;
  bool operator==(const Model &) const = default;
};

std::string writeModel(const Model &model);
/// Errors: E6001 with the JSON path.
Expected<Model> readModel(const std::string &text);
/// Names unique and known, sizes and layouts sound, pool aligned; buffers are used only while they
/// are allocated and all freed at the end, host values only after they were made. Error: E6002.
Status verifyModel(const Model &model);

/// The CPU steps, in order.
std::vector<CpuStep> cpuSteps(const Model &model);
/// For those who cannot run CPU steps. Error: E6206, naming all of them.
Status refuseCpuSteps(const Model &model);
/// One line per step, for people.
std::string describeStep(const ModelStep &step);
std::string describeSteps(const Model &model);

} // namespace spyre::spec
