//===- LoopToSpec.h - planned loop IR to OpSpecs and the model ------------------------------===//
//
// The end of MLIR: each operation becomes an OpSpec in device coordinates, operations are grouped
// into bundles, and model.json says how to run them. With baked addresses a bundle has at most six
// call tensors, five beside a pool: one address segment per tensor. With symbolic ones it ends at a
// CPU step only, or where its readers take no more (8,192 operations), which the trace then says.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Decision.h"
#include "spyre/Solver/Placement/LxPlan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <optional>

namespace spyre {

struct EmitSpecsOptions {
  /// The bundles will be made with symbolic arguments (Spec/Bundle.h).
  bool symbolicArguments = false;
  /// What buffers with an address in LX may take of it.
  int64_t lxCapacityBytes = 0;
  /// How the emitter numbers cores of a matmul (spec::EmitOptions).
  bool kFastCores = true;
  /// Where to put the tensors that stay in LX over the end of a bundle, by the names the planner
  /// knows them by; or null.
  std::vector<std::string> *acrossBundles = nullptr;
  DecisionTrace *trace = nullptr;
  /// Record the division of each operation, of so many cores.
  bool explain = false;
  int64_t cores = 32;
};

/// Call tensors of one bundle: with baked addresses a segment each, beside that of a pool and one
/// that stays free.
int64_t bundleTensors(const arch::DeviceDesc &device, bool symbolicArguments, bool hasPool);

/// "model.json" and "bundle_<i>/op_spec.txt". Errors: E1202 (not a loop module), E1203 (an access
/// the device cannot express), E1204 (inputs or outputs are not numbered 0..n-1), E1205 (not
/// planned: splits or pool offsets are missing), E3101 (addresses in LX that do not fit the
/// operations), E3141 (loops whose operations are apart, or too many for a bundle), and those of
/// layouts and OpSpecs.
Expected<Artifacts> emitSpecs(mlir::ModuleOp module, const arch::DeviceDesc &device,
                              const EmitSpecsOptions &options = {});

struct PlanLxOptions {
  solver::placement::LxOptions lx;
  int64_t capacityBytes = 1625344;
  int64_t cores = 32;
  bool kFastCores = true;
  /// Set where divisions are the planner's own choice: it may then divide neighbours alike.
  std::optional<arch::DeviceDesc> device = std::nullopt;
  /// Memory one core may touch of a tensor.
  int64_t spanLimitBytes = int64_t(256) << 20;
  DecisionTrace *trace = nullptr;
  /// Where to put the placement problem as JSON, or null.
  std::string *problem = nullptr;
};

/// spyre-loop-plan-lx.
/// Requires: splits (spyre-loop-work-distribution).
/// May change: splits, where neighbours that divide alike are cheaper together (LxOptions).
/// Ensures: temps that stay in LX have `lx_address`, a multiple of 128 and the same on every core;
/// those alive together do not overlap, except where a result takes the place of an operand that
/// dies; inputs and outputs have copies where that saves more than it costs.
/// Deterministic. Linear in operations but for the solver, which has limits in decisions.
std::unique_ptr<mlir::Pass> createPlanLxPass(const PlanLxOptions &options);
void registerPlanLxPass();

/// What the divided operations of a module take, with all that can stay in \p options' capacity
/// and divisions as createPlanLxPass() would choose them. Nothing is changed. Needs the device.
Expected<double> predictNanoseconds(mlir::ModuleOp module, const PlanLxOptions &options);

} // namespace spyre
