//===- BackEnd.h - bundle -> device program -> SpyreCode ------------------------------------===//
//
// Reads a bundle (ours or anyone's), verifies it, and lowers each SuperDSC to one phase of a device
// program: load sticks from DDR to the staging part of LX, compute, store. Working sets larger than
// the staging area are streamed in tiles.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Program/Program.h"
#include "spyre/Spec/SuperDsc.h"

#include <vector>

namespace spyre::backend {

/// A program with one phase per SuperDSC, in their order. Errors: E5301 (op known but undocumented
/// or unknown), E5302 (a rule of the op is broken), E5303 (staging area too small), E5304 (span
/// limit).
Expected<program::Program> lowerSuperDscs(const std::vector<spec::SuperDsc> &operations,
                                          const arch::DeviceDesc &device);

/// "bundle.mlir" + "sdsc_*.json" -> "spyreCodeDir/spyrecode.json" + "spyreCodeDir/init.bin".
Expected<Artifacts> compileBundle(const Artifacts &bundle, const arch::DeviceDesc &device);

} // namespace spyre::backend
