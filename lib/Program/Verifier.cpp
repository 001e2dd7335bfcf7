//===- Verifier.cpp - static checks of a device program against a machine -------------------===//
//
// Nothing here runs the program. This file walks the phases with their loops and bounds the work;
// VerifierFields.cpp and VerifierOperands.cpp check an instruction, VerifierBuffers.cpp the memory.
//===--------------------------------------------------------------------------------------------===//
#include "Verifier.h"

#include "Tables.h"

#include <algorithm>

namespace spyre::program {

/// Points of all instructions times their loops; more would not end in anybody's lifetime.
static constexpr int64_t kMaxWorkPoints = int64_t(1) << 48;

namespace {

/// Checks one phase; remembers where it is for the messages.
class PhaseVerifier {
public:
  PhaseVerifier(const Program &program, const Phase &phase, const arch::DeviceDesc &device)
      : phase(phase), device(device), scope{program, phase, device, {}} {}
  /// Adds the points of the phase to \p workPoints.
  Status run(int64_t &workPoints);

private:
  Status checkShape() const;
  Status checkInstruction(const Instruction &instruction, int64_t &workPoints);
  Status openLoop(const Instruction &instruction);
  Status closeLoop();
  Status addWork(const Instruction &instruction, int64_t &workPoints) const;

  /// The machine's counters are short: 16 bits, unless its description says otherwise.
  int64_t maxCount() const {
    const int64_t most = device.division.maxTripCount;
    return most > 0 ? most : INT64_MAX;
  }

  const Phase &phase;
  const arch::DeviceDesc &device;
  PhaseScope scope;
  size_t instructionIndex = 0;
  /// Index of the Loop instruction of each open loop.
  std::vector<size_t> loopStarts;
};

} // namespace

Status PhaseVerifier::run(int64_t &workPoints) {
  SPYRE_RETURN_IF_ERROR(checkShape().withContext(": "));
  // Text is made only for failures: programs are verified at each launch.
  auto located = [&](const Status &status, size_t index) {
    return status.withContext(fmt::format(" instruction {}: ", index));
  };
  for (instructionIndex = 0; instructionIndex < phase.instructions.size(); ++instructionIndex) {
    Status status = checkInstruction(phase.instructions[instructionIndex], workPoints);
    if (!status.ok()) {
      return located(status, instructionIndex);
    }
  }
  if (!loopStarts.empty()) {
    return located(error<5103>("loop without endloop"), loopStarts.back());
  }
  return Status::success();
}

Status PhaseVerifier::checkShape() const {
  if (phase.cores < 1 || phase.cores > device.cores) {
    return error<5103>("{} cores, but the device '{}' has {}", phase.cores, device.name,
                       device.cores);
  }
  for (size_t i = 0; i < phase.coreTables.size(); ++i) {
    if (phase.coreTables[i].size() != uint64_t(phase.cores)) {
      return error<5103>("core table {} has {} entries for {} cores", i, phase.coreTables[i].size(),
                         phase.cores);
    }
  }
  return Status::success();
}

Status PhaseVerifier::checkInstruction(const Instruction &instruction, int64_t &workPoints) {
  if (findOpcode(instruction.opcode) == nullptr) {
    return error<5103>("unknown opcode {}", uint8_t(instruction.opcode));
  }
  SPYRE_RETURN_IF_ERROR(checkFields(instruction, device));
  if (instruction.opcode == Opcode::Loop) {
    SPYRE_RETURN_IF_ERROR(openLoop(instruction));
  } else if (instruction.opcode == Opcode::EndLoop) {
    SPYRE_RETURN_IF_ERROR(closeLoop());
  } else {
    SPYRE_RETURN_IF_ERROR(addWork(instruction, workPoints));
  }
  SPYRE_RETURN_IF_ERROR(checkTables(scope, instruction));
  return checkOperands(scope, instruction);
}

Status PhaseVerifier::openLoop(const Instruction &instruction) {
  if (loopStarts.size() == kMaxLoops) {
    return error<5103>("loops are nested deeper than {}", kMaxLoops);
  }
  const int64_t most = std::min(maxCount(), kMaxWorkPoints - 1);
  if (instruction.parameter < 1 || instruction.parameter > most) {
    return error<5103>("loop count {} must be in 1..{}", instruction.parameter, most);
  }
  scope.trips.push_back(instruction.parameter);
  loopStarts.push_back(instructionIndex);
  return Status::success();
}

Status PhaseVerifier::closeLoop() {
  if (loopStarts.empty()) {
    return error<5103>("endloop without loop");
  }
  // An empty loop does nothing, possibly for a very long time.
  if (loopStarts.back() + 1 == instructionIndex) {
    return error<5103>("loop without a body");
  }
  scope.trips.pop_back();
  loopStarts.pop_back();
  return Status::success();
}

Status PhaseVerifier::addWork(const Instruction &instruction, int64_t &workPoints) const {
  Wide work = 1;
  for (int64_t count : instruction.counts) {
    if (count < 1 || count > maxCount()) {
      return error<5103>("count {} must be in 1..{}", count, maxCount());
    }
    work = std::min<Wide>(work * count, kMaxWorkPoints);
  }
  for (int64_t trip : scope.trips) {
    work = std::min<Wide>(work * trip, kMaxWorkPoints);
  }
  if (work + workPoints >= kMaxWorkPoints) {
    return error<5103>("the program runs {} points or more; counts or loops are wrong",
                       kMaxWorkPoints);
  }
  workPoints += int64_t(work);
  return Status::success();
}

Status verifyProgram(const Program &program, const arch::DeviceDesc &device) {
  if (device.stickBytes < 1 || device.segmentBytes < 1) {
    return error<5103>("the device '{}' has no sticks or no segments; load a valid description",
                       device.name);
  }
  SPYRE_RETURN_IF_ERROR(checkSymbols(program));
  SPYRE_RETURN_IF_ERROR(checkBuffers(program, device));
  int64_t workPoints = 0;
  for (size_t i = 0; i < program.phases.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(PhaseVerifier(program, program.phases[i], device)
                              .run(workPoints)
                              .withContext(fmt::format("phase {}", i)));
  }
  return Status::success();
}

} // namespace spyre::program
