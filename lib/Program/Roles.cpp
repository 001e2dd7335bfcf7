//===- Roles.cpp - what an instruction's operands point at, and how much of it --------------===//
//
// The verifier, the simulator and the back end all ask here, so that they agree on every byte an
// instruction touches.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"

#include "Tables.h"

#include <algorithm>

namespace spyre::program {

static constexpr int64_t kStickBytes = 128;
static constexpr int64_t kPickIndexBytes = 4;

size_t vectorInputs(Function function) {
  const FunctionRow *row = findFunction(function);
  return row == nullptr ? 0 : row->inputs;
}

bool isTranscendental(Function function) {
  const FunctionRow *row = findFunction(function);
  return row != nullptr && row->isTranscendental;
}

Unit unitOf(Opcode opcode) {
  const OpcodeRow *row = findOpcode(opcode);
  return row == nullptr ? Unit::Vector : row->unit;
}

int64_t convertRatio(const Instruction &instruction) {
  int64_t from = numerics::elemsPerStick(instruction.format);
  int64_t to = numerics::elemsPerStick(instruction.toFormat);
  return from == 0 || to == 0 ? 1 : std::max(from / to, to / from);
}

/// The side of Convert with fewer elements per stick has the more sticks.
static OperandRoles convertRoles(const Instruction &instruction) {
  int64_t from = numerics::elemsPerStick(instruction.format);
  int64_t to = numerics::elemsPerStick(instruction.toFormat);
  return {{from < to ? Role::LxMatrix : Role::LxStick, from > to ? Role::LxMatrix : Role::LxStick},
          2};
}

static OperandRoles vectorRoles(Function function) {
  OperandRoles roles;
  roles.role.fill(Role::LxStick);
  roles.count = vectorInputs(function) + 1;
  return roles;
}

OperandRoles operandRoles(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Load:
    return {{Role::DdrStick, Role::LxStick}, 2};
  case Opcode::Store:
    return {{Role::LxStick, Role::DdrStick}, 2};
  case Opcode::Gather:
    return {{Role::DdrStick, Role::LxIndex, Role::LxStick}, 3};
  case Opcode::Scatter:
    return {{Role::LxStick, Role::LxIndex, Role::DdrStick}, 3};
  case Opcode::Fill:
    return {{Role::LxStick}, 1};
  case Opcode::Vector:
    return vectorRoles(instruction.function);
  case Opcode::Accumulate:
    return {{Role::LxStick, Role::LxAccumulator}, 2};
  case Opcode::Matmul:
    return {{Role::LxStick, Role::LxMatrix, Role::LxAccumulator}, 3};
  case Opcode::Finish:
    return {{Role::LxAccumulator, Role::LxStick}, 2};
  case Opcode::Shuffle:
    return {{Role::LxElement, Role::LxElement}, 2};
  case Opcode::Pick:
    return {{Role::LxElement, Role::LxIndex, Role::LxElement}, 3};
  case Opcode::Convert:
    return convertRoles(instruction);
  case Opcode::TopK:
    return {{Role::LxStick, Role::LxState, Role::Number}, 3};
  case Opcode::Exchange:
    return {{Role::LxStick, Role::LxStick}, 2};
  case Opcode::Loop:
  case Opcode::EndLoop:
  case Opcode::Barrier:
  case Opcode::Signal:
  case Opcode::Wait:
    break;
  }
  return {};
}

size_t resultOperand(const Instruction &instruction) {
  size_t last = std::max<size_t>(instruction.operands.size(), 1) - 1;
  return instruction.opcode == Opcode::TopK ? std::min<size_t>(last, 1) : last;
}

int64_t pointBytes(const Instruction &instruction, size_t index) {
  OperandRoles roles = operandRoles(instruction);
  if (index >= roles.count) {
    return 0;
  }
  switch (roles.role[index]) {
  case Role::DdrStick:
  case Role::LxStick:
  case Role::LxMatrix:
    return kStickBytes;
  case Role::LxAccumulator:
    return instruction.opcode == Opcode::Matmul ? kMatmulAccBytes : accBytes(instruction.format);
  case Role::LxElement:
    return instruction.elementBytes;
  case Role::LxIndex:
    return instruction.opcode == Opcode::Pick ? kPickIndexBytes : instruction.elementBytes;
  case Role::LxState:
    return 2 * std::clamp<int64_t>(instruction.parameter, 0, kMaxTopK) *
           accBytes(instruction.format);
  case Role::Number:
    break;
  }
  return 0;
}

int64_t pointPlaces(const Instruction &instruction, size_t index) {
  OperandRoles roles = operandRoles(instruction);
  if (index >= roles.count || roles.role[index] != Role::LxMatrix) {
    return 1;
  }
  if (instruction.opcode == Opcode::Convert) {
    return convertRatio(instruction);
  }
  // A stick holds two rows of B when an element is a byte.
  int64_t rowsPerStick = numerics::elemsPerStick(instruction.format) / kMatmulBlock;
  return ceilDiv(instruction.validLanes, std::max<int64_t>(rowsPerStick, 1));
}

} // namespace spyre::program
