//===- Geometry.h - a SuperDSC read as per-core boxes and byte strides ----------------------===//
//
// The address rule [spec: codegen-and-backend 2.8] is applied here and nowhere else. What comes out
// is free of gaps, scales and labels: each tensor has, per dimension it holds, the number of steps
// a core takes and the byte distance of one step. A step is a stick along the tensor's own stick
// dimension and an element along all others; a stick of several dimensions (docs/adr/0019) is one
// step along each of them.
//
// Example: fp16 [96, 192] stored as three stick columns of 96 sticks, order [mb, out], stick out,
// rows split over 4 cores: mb has 24 steps of 128 bytes, out 3 steps of 96 * 128 bytes.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Status.h"
#include "spyre/Spec/Windows.h"

#include "Arrival.h"
#include "OpTable.h"

#include <memory>
#include <string>
#include <vector>

namespace spyre::backend {

/// Load and Store move sticks of this size; formats count their lanes by it.
constexpr int64_t kStickBytes = 128;

/// How one tensor of the operation lies in memory, seen from one core.
struct TensorMap {
  struct Dim {
    std::string name;
    int64_t steps = 1;
    int64_t strideBytes = 0;
  };

  size_t index = 0;
  /// "in0", "out"
  std::string role;
  bool isOutput = false;
  /// In the LX of the core that uses it.
  bool inLx = false;
  /// In the LX of other cores: how it comes from there. Then the dims have the steps of an owner.
  std::shared_ptr<const Arrival> arrival;
  /// The dimension with most of the lanes.
  std::string stickDim;
  int64_t lanes = 0;
  /// The stick from its inner to its outer part: dimension and elements.
  std::vector<std::pair<std::string, int64_t>> stick;
  /// One value per stick: lane 0 on read, all lanes on write.
  bool sparse = false;
  std::vector<int64_t> startAddress;
  /// LX only, per core: where its slice begins in the whole tensor, in sticks of the tensor's own
  /// order. Depends on nothing but the tensor and its division, so that all operations that mean
  /// the same slices have the same numbers, however they name or join dimensions.
  std::vector<int64_t> sliceBegin;
  /// Dimensions the tensor holds; broadcast and reduced ones are left out.
  std::vector<Dim> dims;
  /// Indirect access: rows this far apart, of which Kernel::indices[indices] chooses; -1 for none.
  int64_t rows = 1, rowBytes = 0;
  int indices = -1;

  const Dim *find(const std::string &name) const;
  bool holds(const std::string &name) const { return find(name) != nullptr; }
  /// Elements of \p name in one stick, those of a step; 1 when it is not in the stick.
  int64_t stepElements(const std::string &name) const;
  /// 0 for dimensions the tensor does not hold.
  int64_t strideBytes(const std::string &name) const;
  /// From the first to the last byte one core touches.
  int64_t spanBytes() const;
};

/// Steps along a dimension that is counted in sticks: all whole but the last one, of which only
/// \p tailLanes lanes hold data (0: no such stick).
struct StickSteps {
  int64_t count = 1;
  int64_t tailLanes = 0;
};

struct IndexMap;

/// One operation, checked and ready to be lowered.
struct Kernel {
  const spec::SuperDsc *dsc = nullptr;
  const arch::DeviceDesc *device = nullptr;
  OpInfo op{};
  /// "0_add"
  std::string name;
  /// Of all tensors (but the indices of a topk), or of the output where the operation is one that
  /// has different formats: conversions and 8-bit matmuls.
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  std::vector<TensorMap> inputs;
  TensorMap output;
  /// Strides and dilations of a window op (LowerConv.cpp, LowerPool.cpp).
  spec::WindowSteps windows;
  /// Of indirectly accessed inputs (Indirect.h).
  std::vector<std::shared_ptr<const IndexMap>> indices;

  bool isWindowOp() const {
    return op.opClass == OpClass::Convolution || op.opClass == OpClass::Window;
  }
  int64_t lanes() const { return numerics::elemsPerStick(format); }
  int64_t perCore(const std::string &dim) const;
  int64_t slices(const std::string &dim) const;
  /// Steps of the reduced stick dimension \p dim with its masked tail. Error: E5302.
  Expected<StickSteps> maskedSteps(const std::string &dim) const {
    return maskedSteps(dim, lanes());
  }
  /// The same in sticks of \p lanes elements.
  Expected<StickSteps> maskedSteps(const std::string &dim, int64_t lanes) const;
  /// Refuses masks on any dimension but \p dim. Error: E5302.
  Status checkMaskedOnly(const std::string &dim) const;
};

/// Counts a dimension of \p extent steps per core in TensorMap::sliceBegin; \p wholeSticks is the
/// size of the dimensions inside of it and grows.
void addSlices(const Kernel &kernel, const std::string &dim, int64_t extent, uint64_t &wholeSticks,
               TensorMap &map);

/// Errors: E5301, E5302, E5304, E5307.
Expected<Kernel> analyse(const spec::SuperDsc &dsc, const arch::DeviceDesc &device);

} // namespace spyre::backend
