//===- Kernels.h - operations priced by the calibrated cost model ---------------------------===//
//
// A division problem says how tensors lie in memory; with a few words on what is computed it is a
// kernel of the cost model, the same one the back end makes of the emitted operation. So a
// candidate has the price the committed plan will have.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CostModel/Kernel.h"
#include "spyre/Solver/Division/Cost.h"

#include <optional>

namespace spyre::solver::division {

/// What a problem does not say of an operation.
struct KernelTraits {
  /// StickReduction stands for both kinds of reductions: layouts tell them apart.
  costmodel::KernelClass kernelClass = costmodel::KernelClass::Pointwise;
  bool transcendental = false;
  /// The one input holds two values per stick, which are two operands.
  bool readsPairs = false;
  /// A reduction that leaves values as lanes of one stick, and how many.
  bool makesPairs = false;
  int64_t values = 1;
  /// A conversion that multiplies and shifts.
  bool scaled = false;
  /// A topk whose results are numbers.
  bool wantsIndex = false;
  /// Partners of a split reduction of a matmul have consecutive cores; of another one.
  bool kFastCores = true, fastReduction = false;
};

/// What follows from the kind alone; nothing where the cost model has no such kernel.
std::optional<KernelTraits> traitsOf(const Op &op);

/// Dims of the kernel are those of the operation, in their order, then dims of one slice that
/// layouts need. Nothing where a layout is none of a kernel's.
std::optional<costmodel::Kernel> kernelOf(const Op &op, const KernelTraits &traits);

/// Prices without the launch, which is the same for all candidates. Where an operation is no kernel
/// the device's rates answer. A candidate the back end refuses costs infinity.
class KernelCosts : public CostModel {
public:
  /// \p traits are those of all operations asked for; nothing: what their kinds say.
  explicit KernelCosts(const arch::DeviceDesc &device,
                       std::optional<KernelTraits> traits = std::nullopt)
      : device(device), traits(std::move(traits)) {}

  void price(const Op &op, const Units &units, const Candidates &candidates,
             std::span<double> ns) const override;
  std::optional<CheapestCandidate> cheapest(const Op &op, const Units &units,
                                            const Candidates &candidates, double slack,
                                            size_t documented) const override;
  const char *name() const override { return "calibrated"; }

private:
  const arch::DeviceDesc &device;
  std::optional<KernelTraits> traits;
};

} // namespace spyre::solver::division
