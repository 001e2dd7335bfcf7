//===- Verifier.cpp - static checks of a device program against a machine -------------------===//
//
// Nothing here runs the program. The lowest and highest address of an operand follow from its base,
// the extremes of its core table and, per loop and level, 0 or stride * (count - 1): addresses are
// affine, so the extremes are at corners and checking them checks every address in between. Sums
// are formed in 128 bits, where no 64-bit input can overflow them.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Program/Program.h"

#include <algorithm>
#include <optional>

namespace spyre::program {

/// Points of all instructions times their loops; more would not end in anybody's lifetime.
static constexpr int64_t kMaxWorkPoints = int64_t(1) << 48;
static constexpr uint8_t kLastFormat = uint8_t(numerics::DataFormat::Sen18fFp24);

namespace {

__extension__ using Wide = __int128;

/// What an operand points at, hence how many bytes a point touches and how they are aligned.
enum class Role { DdrStick, LxStick, LxAccumulator, LxMatrix, LxElement };

struct Roles {
  std::array<Role, kMaxOperands> role{};
  size_t count = 0;
};

/// First byte and one past the last byte, over all cores, loops and levels.
struct Extent {
  Wide begin = 0;
  Wide end = 0;
  void widen(int64_t stride, int64_t count) {
    Wide reach = Wide(stride) * (count - 1);
    begin += std::min<Wide>(reach, 0);
    end += std::max<Wide>(reach, 0);
  }
};

/// Checks one phase; remembers where it is for the messages.
class PhaseVerifier {
public:
  PhaseVerifier(const Phase &phase, size_t phaseIndex, const arch::DeviceDesc &device)
      : phase(phase), phaseIndex(phaseIndex), device(device) {}
  Status run(int64_t &workPoints);

private:
  Status checkShape() const;
  Status checkInstruction(const Instruction &instruction, int64_t &workPoints);
  Status openLoop(const Instruction &instruction);
  Status closeLoop();
  Status checkFunction(const Instruction &instruction) const;
  Status checkFormat(const Instruction &instruction) const;
  Status checkFields(const Instruction &instruction) const;
  Status addWork(const Instruction &instruction, int64_t &workPoints) const;
  Status checkOperands(const Instruction &instruction, const Roles &roles) const;
  Status checkAlignment(const Instruction &instruction, size_t index, Role role) const;
  Status checkRange(const Instruction &instruction, size_t index, Role role) const;
  Extent extentOf(const Instruction &instruction, const Operand &operand, Role role) const;

  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...args) const {
    return error<5103>("phase {} instruction {}: {}", phaseIndex, instructionIndex,
                       fmt::format(format, std::forward<Args>(args)...));
  }

  const Phase &phase;
  size_t phaseIndex;
  const arch::DeviceDesc &device;
  size_t instructionIndex = 0;
  /// Trip counts of the open loops, outermost first, and the index of each Loop instruction.
  std::vector<int64_t> trips;
  std::vector<size_t> loopStarts;
};

} // namespace

/// Vector functions by their number of inputs; nullopt when \p function is none of them.
static std::optional<size_t> vectorInputs(Function function) {
  switch (function) {
  case Function::Copy:
  case Function::Exp:
    return 1;
  case Function::Add:
  case Function::Mul:
    return 2;
  case Function::Where:
    return 3;
  default:
    return std::nullopt;
  }
}

static Roles rolesOf(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Load:
    return {{Role::DdrStick, Role::LxStick}, 2};
  case Opcode::Store:
    return {{Role::LxStick, Role::DdrStick}, 2};
  case Opcode::Fill:
    return {{Role::LxStick}, 1};
  case Opcode::Vector:
    return {{Role::LxStick, Role::LxStick, Role::LxStick, Role::LxStick},
            vectorInputs(instruction.function).value_or(0) + 1};
  case Opcode::Accumulate:
    return {{Role::LxStick, Role::LxAccumulator}, 2};
  case Opcode::Matmul:
    return {{Role::LxStick, Role::LxMatrix, Role::LxAccumulator}, 3};
  case Opcode::Finish:
    return {{Role::LxAccumulator, Role::LxStick}, 2};
  case Opcode::Shuffle:
    return {{Role::LxElement, Role::LxElement}, 2};
  case Opcode::Loop:
  case Opcode::EndLoop:
    break;
  }
  return {};
}

static bool functionFits(Opcode opcode, Function function) {
  switch (opcode) {
  case Opcode::Vector:
    return vectorInputs(function).has_value();
  case Opcode::Accumulate:
    return function == Function::Sum || function == Function::Max;
  case Opcode::Finish:
    return function == Function::Lanes || function == Function::TreeSum ||
           function == Function::TreeMax;
  default:
    return function == Function::None;
  }
}

Status PhaseVerifier::run(int64_t &workPoints) {
  SPYRE_RETURN_IF_ERROR(checkShape());
  for (instructionIndex = 0; instructionIndex < phase.instructions.size(); ++instructionIndex) {
    SPYRE_RETURN_IF_ERROR(checkInstruction(phase.instructions[instructionIndex], workPoints));
  }
  if (!trips.empty()) {
    instructionIndex = loopStarts.back();
    return fault("loop without endloop");
  }
  return Status::success();
}

Status PhaseVerifier::checkShape() const {
  if (phase.cores < 1 || phase.cores > device.cores) {
    return error<5103>("phase {}: {} cores, but the device '{}' has {}", phaseIndex, phase.cores,
                       device.name, device.cores);
  }
  for (size_t i = 0; i < phase.coreTables.size(); ++i) {
    if (phase.coreTables[i].size() != uint64_t(phase.cores)) {
      return error<5103>("phase {}: core table {} has {} entries for {} cores", phaseIndex, i,
                         phase.coreTables[i].size(), phase.cores);
    }
  }
  return Status::success();
}

Status PhaseVerifier::checkInstruction(const Instruction &instruction, int64_t &workPoints) {
  uint8_t opcode = uint8_t(instruction.opcode);
  if (opcode < uint8_t(Opcode::Load) || opcode > uint8_t(Opcode::EndLoop)) {
    return fault("unknown opcode {}", opcode);
  }
  SPYRE_RETURN_IF_ERROR(checkFunction(instruction));
  SPYRE_RETURN_IF_ERROR(checkFormat(instruction));
  Roles roles = rolesOf(instruction);
  if (instruction.operandCount != roles.count) {
    return fault("{} takes {} operands, not {}", opcodeName(instruction.opcode), roles.count,
                 instruction.operandCount);
  }
  if (instruction.opcode == Opcode::Loop) {
    return openLoop(instruction);
  }
  if (instruction.opcode == Opcode::EndLoop) {
    return closeLoop();
  }
  SPYRE_RETURN_IF_ERROR(checkFields(instruction));
  SPYRE_RETURN_IF_ERROR(addWork(instruction, workPoints));
  return checkOperands(instruction, roles);
}

Status PhaseVerifier::openLoop(const Instruction &instruction) {
  if (trips.size() == kMaxLoops) {
    return fault("loops are nested deeper than {}", kMaxLoops);
  }
  if (instruction.parameter < 1 || instruction.parameter >= kMaxWorkPoints) {
    return fault("loop count {} must be in 1..{}", instruction.parameter, kMaxWorkPoints - 1);
  }
  trips.push_back(instruction.parameter);
  loopStarts.push_back(instructionIndex);
  return Status::success();
}

Status PhaseVerifier::closeLoop() {
  if (trips.empty()) {
    return fault("endloop without loop");
  }
  // An empty loop does nothing, possibly for a very long time.
  if (loopStarts.back() + 1 == instructionIndex) {
    return fault("loop without a body");
  }
  trips.pop_back();
  loopStarts.pop_back();
  return Status::success();
}

Status PhaseVerifier::checkFunction(const Instruction &instruction) const {
  if (!functionFits(instruction.opcode, instruction.function)) {
    return fault("{} has no function '{}' ({})", opcodeName(instruction.opcode),
                 functionName(instruction.function), uint8_t(instruction.function));
  }
  return Status::success();
}

Status PhaseVerifier::checkFormat(const Instruction &instruction) const {
  using numerics::DataFormat;
  DataFormat format = instruction.format;
  if (uint8_t(format) > kLastFormat) {
    return fault("unknown format {}", uint8_t(format));
  }
  bool isFloat = format == DataFormat::Sen169Fp16 || format == DataFormat::IeeeFp32;
  switch (instruction.opcode) {
  case Opcode::Vector:
  case Opcode::Accumulate:
  case Opcode::Finish:
    if (!isFloat) {
      return fault("{} computes in SEN169_FP16 or IEEE_FP32, not in {}",
                   opcodeName(instruction.opcode), numerics::formatName(format));
    }
    break;
  case Opcode::Matmul:
    if (format != DataFormat::Sen169Fp16) {
      return fault("matmul multiplies SEN169_FP16, not {}", numerics::formatName(format));
    }
    break;
  default:
    break;
  }
  return Status::success();
}

Status PhaseVerifier::checkFields(const Instruction &instruction) const {
  if (instruction.opcode == Opcode::Accumulate || instruction.opcode == Opcode::Matmul) {
    int64_t lanes = numerics::elemsPerStick(instruction.format);
    if (instruction.validLanes < 1 || instruction.validLanes > lanes) {
      return fault("{} valid lanes must be in 1..{}", instruction.validLanes, lanes);
    }
  }
  if (instruction.opcode == Opcode::Shuffle && instruction.elementBytes != 1 &&
      instruction.elementBytes != 2 && instruction.elementBytes != 4) {
    return fault("shuffle moves elements of 1, 2 or 4 bytes, not {}", instruction.elementBytes);
  }
  if (instruction.opcode == Opcode::Matmul && instruction.parameter % device.stickBytes != 0) {
    return fault("row stride {} of B is not a multiple of the {}-byte stick", instruction.parameter,
                 device.stickBytes);
  }
  return Status::success();
}

Status PhaseVerifier::addWork(const Instruction &instruction, int64_t &workPoints) const {
  Wide work = 1;
  for (int64_t count : instruction.counts) {
    if (count < 1) {
      return fault("count {} must be at least 1", count);
    }
    work = std::min<Wide>(work * count, kMaxWorkPoints);
  }
  for (int64_t trip : trips) {
    work = std::min<Wide>(work * trip, kMaxWorkPoints);
  }
  if (work + workPoints >= kMaxWorkPoints) {
    return fault("the program runs {} points or more; counts or loops are wrong", kMaxWorkPoints);
  }
  workPoints += int64_t(work);
  return Status::success();
}

Status PhaseVerifier::checkOperands(const Instruction &instruction, const Roles &roles) const {
  for (size_t i = roles.count; i < kMaxOperands; ++i) {
    if (instruction.operands[i] != Operand()) {
      return fault("operand {} is set but {} takes {}", i, opcodeName(instruction.opcode),
                   roles.count);
    }
  }
  for (size_t i = 0; i < roles.count; ++i) {
    const Operand &operand = instruction.operands[i];
    bool isVectorInput = instruction.opcode == Opcode::Vector && i + 1 < roles.count;
    if (operand.splat && !isVectorInput) {
      return fault("operand {} may not be splat; only inputs of vector are", i);
    }
    if (operand.coreTable < -1 || operand.coreTable >= int64_t(phase.coreTables.size())) {
      return fault("operand {} uses core table {} of {}", i, operand.coreTable,
                   phase.coreTables.size());
    }
    for (size_t loop = trips.size(); loop < kMaxLoops; ++loop) {
      if (operand.loopStride[loop] != 0) {
        return fault("operand {} has a stride for loop {}, but {} are open", i, loop, trips.size());
      }
    }
    SPYRE_RETURN_IF_ERROR(checkAlignment(instruction, i, roles.role[i]));
    SPYRE_RETURN_IF_ERROR(checkRange(instruction, i, roles.role[i]));
  }
  return Status::success();
}

Status PhaseVerifier::checkAlignment(const Instruction &instruction, size_t index,
                                     Role role) const {
  const Operand &operand = instruction.operands[index];
  int64_t alignment = role == Role::LxElement ? instruction.elementBytes : device.stickBytes;
  auto misaligned = [alignment](int64_t term) { return term % alignment != 0; };
  auto check = [&](const auto &terms) {
    auto found = std::find_if(terms.begin(), terms.end(), misaligned);
    return found == terms.end() ? Status::success()
                                : fault("operand {}: address or stride {} is not a multiple of {}",
                                        index, *found, alignment);
  };
  SPYRE_RETURN_IF_ERROR(check(std::array{operand.base}));
  SPYRE_RETURN_IF_ERROR(check(operand.loopStride));
  SPYRE_RETURN_IF_ERROR(check(operand.stride));
  return operand.coreTable < 0 ? Status::success()
                               : check(phase.coreTables[size_t(operand.coreTable)]);
}

Extent PhaseVerifier::extentOf(const Instruction &instruction, const Operand &operand,
                               Role role) const {
  int64_t pointBytes = device.stickBytes;
  if (role == Role::LxAccumulator) {
    pointBytes = accBytes(instruction.format);
  } else if (role == Role::LxElement) {
    pointBytes = instruction.elementBytes;
  }
  Extent extent{operand.base, Wide(operand.base) + pointBytes};
  if (operand.coreTable >= 0) {
    const std::vector<int64_t> &table = phase.coreTables[size_t(operand.coreTable)];
    auto [low, high] = std::minmax_element(table.begin(), table.end());
    extent.begin += *low;
    extent.end += *high;
  }
  for (size_t i = 0; i < trips.size(); ++i) {
    extent.widen(operand.loopStride[i], trips[i]);
  }
  for (size_t i = 0; i < kMaxLevels; ++i) {
    extent.widen(operand.stride[i], instruction.counts[i]);
  }
  if (role == Role::LxMatrix) {
    extent.widen(instruction.parameter, instruction.validLanes);
  }
  return extent;
}

/// For messages; a bound outside 64 bits is shown as the nearest number inside.
static int64_t clamped(Wide value) {
  return int64_t(std::clamp<Wide>(value, INT64_MIN, INT64_MAX));
}

Status PhaseVerifier::checkRange(const Instruction &instruction, size_t index, Role role) const {
  Extent extent = extentOf(instruction, instruction.operands[index], role);
  if (role != Role::DdrStick) {
    if (extent.begin < 0 || extent.end > device.lxBytes) {
      return fault("operand {} reaches LX bytes {}..{}, but LX has {}", index,
                   clamped(extent.begin), clamped(extent.end), device.lxBytes);
    }
    return Status::success();
  }
  Wide segment = extent.begin / device.segmentBytes;
  if (extent.begin < 0 || segment >= device.segments ||
      extent.end > (segment + 1) * device.segmentBytes) {
    return fault("operand {} reaches DDR bytes {}..{}, not inside one of {} segments of {} bytes",
                 index, clamped(extent.begin), clamped(extent.end), device.segments,
                 device.segmentBytes);
  }
  return Status::success();
}

Status verifyProgram(const Program &program, const arch::DeviceDesc &device) {
  if (device.stickBytes < 1 || device.segmentBytes < 1) {
    return error<5103>("the device '{}' has no sticks or no segments; load a valid description",
                       device.name);
  }
  int64_t workPoints = 0;
  for (size_t i = 0; i < program.phases.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(PhaseVerifier(program.phases[i], i, device).run(workPoints));
  }
  return Status::success();
}

} // namespace spyre::program
