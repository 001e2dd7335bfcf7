//===- LoopToSpec.h - planned loop IR to OpSpecs and the model ------------------------------===//
//
// The end of MLIR: each operation becomes an OpSpec in device coordinates, operations are grouped
// into bundles, and model.json says how to run them. With baked addresses a bundle has at most six
// call tensors, five beside a pool: one address segment per tensor. With symbolic ones it ends at a
// CPU step only.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Artifacts.h"

#include "mlir/IR/BuiltinOps.h"

namespace spyre {

struct EmitSpecsOptions {
  /// The bundles will be made with symbolic arguments (Spec/Bundle.h).
  bool symbolicArguments = false;
  /// How the emitter numbers cores of a matmul (spec::EmitOptions).
  bool kFastCores = true;
};

/// "model.json" and "bundle_<i>/op_spec.txt". Errors: E1202 (not a loop module), E1203 (an access
/// the device cannot express), E1204 (inputs or outputs are not numbered 0..n-1), E1205 (not
/// planned: splits or pool offsets are missing), and those of layouts and OpSpecs.
Expected<Artifacts> emitSpecs(mlir::ModuleOp module, const arch::DeviceDesc &device,
                              const EmitSpecsOptions &options = {});

} // namespace spyre
