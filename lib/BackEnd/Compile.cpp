//===- Compile.cpp - a whole bundle to SpyreCode --------------------------------------------===//
//
// One program with one phase per SuperDSC; a phase ends with a barrier, so bundle order is kept.
// The program is checked against the machine before it leaves: what fails there is our fault, not
// the bundle's, and must never reach a device.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Base/Math.h"
#include "spyre/Spec/SpyreCode.h"

#include "BundlePlan.h"
#include "Geometry.h"

namespace spyre::backend {

/// The segment's first stick stays free, so that no program has the address the segment has.
static constexpr int64_t kProgramOffset = kStickBytes;

static Artifacts packSpyreCode(std::string bytes, const BundlePlan &plan) {
  bytes.resize(size_t(roundUp(int64_t(bytes.size()), kStickBytes)), '\0');
  spec::SpyreCode code;
  int64_t address = spec::kProgramOffsetBase + kProgramOffset;
  code.allocateBytes = kProgramOffset + int64_t(bytes.size());
  code.transfers.push_back({"init.bin", address, int64_t(bytes.size())});
  code.jobs.push_back(address);
  code.nonTerminal = plan.nonTerminal;
  code.correction = correctionOf(plan, address);
  Artifacts artifacts;
  artifacts["spyreCodeDir/spyrecode.json"] = spec::writeSpyreCode(code);
  artifacts["spyreCodeDir/init.bin"] = std::move(bytes);
  return artifacts;
}

Expected<Artifacts> compileBundle(const Artifacts &bundle, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(BundlePlan plan, planBundle(bundle, device));
  SPYRE_ASSIGN_OR_RETURN(program::Program program, lowerSuperDscs(plan.operations, plan.device));
  bindSymbols(plan, program);
  if (Status status = program::verifyProgram(program, device); !status.ok()) {
    return error<5305>(
        "the back end made a program the machine refuses: {}; this is a fault of the "
        "back end, please report it with the bundle",
        status.message());
  }
  return packSpyreCode(program::writeProgram(program), plan);
}

} // namespace spyre::backend
