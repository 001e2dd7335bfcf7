//===- BundlePlan.h - a bundle of any mode as a list of operations with numeric addresses ---===//
//
// Loops are unrolled and symbols replaced. An address that an argument of the bundle gives becomes
// a number too: every argument has a segment of its own behind those of the machine,
//
//     argument 0 + 512    ->    (segments + 0) * segmentBytes + 512
//
// so lowerings, which know addresses only, need not know symbols. Afterwards bindSymbols() turns
// the buffers that lie there into "symbol + 512".
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Program/Program.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/SpyreCode.h"

#include <optional>
#include <vector>

namespace spyre::backend {

struct BundlePlan {
  /// In the order in which they run; no address is symbolic.
  std::vector<spec::SuperDsc> operations;
  /// As spec::Bundle::arguments; argument i is symbol i of the program.
  std::vector<int64_t> arguments;
  bool nonTerminal = false;
  /// The machine with a segment more per argument: what the operations are lowered for.
  arch::DeviceDesc device;
  int64_t firstArgumentSegment = 0;
};

/// Reads, resolves and verifies. Errors: those of the readers, E5003, E5311.
Expected<BundlePlan> planBundle(const Artifacts &bundle, const arch::DeviceDesc &device);

/// Gives \p program its symbols and its buffers the real meaning of their addresses.
void bindSymbols(const BundlePlan &plan, program::Program &program);

/// What the runtime must write into the program, which is at \p programAddress, before a launch.
std::optional<spec::ProgramCorrection> correctionOf(const BundlePlan &plan, int64_t programAddress);

} // namespace spyre::backend
