//===- VerifierFields.cpp - static checks of the fields of one instruction ------------------===//
#include "Tables.h"
#include "Verifier.h"

namespace spyre::program {

using numerics::DataFormat;

static bool isIntegerFormat(DataFormat format) {
  switch (format) {
  case DataFormat::SenInt2:
  case DataFormat::SenInt4:
  case DataFormat::SenInt8:
  case DataFormat::SenInt16:
  case DataFormat::IeeeInt64:
  case DataFormat::IeeeInt32:
  case DataFormat::SenUint32:
  case DataFormat::SenUint2:
    return true;
  default:
    return false;
  }
}

static Status checkFunction(const Instruction &instruction) {
  const FunctionRow *row = findFunction(instruction.function);
  if (row == nullptr || (row->opcodes & opcodeBit(instruction.opcode)) == 0) {
    return error<5103>("{} has no function '{}' ({})", opcodeName(instruction.opcode),
                       functionName(instruction.function), uint8_t(instruction.function));
  }
  bool computes = instruction.opcode == Opcode::Vector ||
                  instruction.opcode == Opcode::Accumulate || instruction.opcode == Opcode::Finish;
  if (computes && instruction.format == DataFormat::IeeeInt32 && !row->hasInteger) {
    return error<5103>("{}.{} does not exist for IEEE_INT32", opcodeName(instruction.opcode),
                       row->name);
  }
  using Floats = FunctionRow::Floats;
  bool isHalf = instruction.format == DataFormat::Sen169Fp16;
  if (computes && instruction.format != DataFormat::IeeeInt32 &&
      (row->floats == Floats::None || (row->floats == Floats::Single && isHalf))) {
    return error<5103>("{}.{} does not exist for {}", opcodeName(instruction.opcode), row->name,
                       numerics::formatName(instruction.format));
  }
  if (instruction.function == Function::Truncate && !isIntegerFormat(instruction.toFormat)) {
    return error<5103>("convert.truncate gives integers, not {}; use nearest",
                       numerics::formatName(instruction.toFormat));
  }
  return Status::success();
}

static Status checkConvertFormats(const Instruction &instruction) {
  int64_t from = numerics::elemsPerStick(instruction.format);
  int64_t to = numerics::elemsPerStick(instruction.toFormat);
  if (from == 0 || to == 0) {
    return error<5103>("convert: {} has no stick width",
                       numerics::formatName(from == 0 ? instruction.format : instruction.toFormat));
  }
  // All widths are powers of two, so the ratio is exact.
  if (int64_t ratio = convertRatio(instruction); ratio > 8) {
    return error<5103>("convert: the widths of {} and {} differ {} times, at most 8 are possible",
                       numerics::formatName(instruction.format),
                       numerics::formatName(instruction.toFormat), ratio);
  }
  return Status::success();
}

static Status checkFormat(const Instruction &instruction) {
  DataFormat format = instruction.format;
  for (DataFormat given : {format, instruction.toFormat}) {
    if (uint8_t(given) > kLastFormat) {
      return error<5103>("unknown format {}", uint8_t(given));
    }
  }
  const char *name = opcodeName(instruction.opcode);
  bool isFloat = format == DataFormat::Sen169Fp16 || format == DataFormat::IeeeFp32;
  bool isCombining =
      instruction.opcode == Opcode::Exchange && instruction.function != Function::Copy;
  switch (instruction.opcode) {
  case Opcode::Vector:
  case Opcode::Accumulate:
  case Opcode::Finish:
  case Opcode::Exchange:
    if (!isFloat && format != DataFormat::IeeeInt32 &&
        (isCombining || instruction.opcode != Opcode::Exchange)) {
      return error<5103>("{} computes in SEN169_FP16, IEEE_FP32 or IEEE_INT32, not in {}", name,
                         numerics::formatName(format));
    }
    return Status::success();
  case Opcode::Matmul:
    if (format != DataFormat::Sen169Fp16 && format != DataFormat::Sen143Fp8 &&
        format != DataFormat::Sen152Fp8 && format != DataFormat::SenInt8) {
      return error<5103>("matmul multiplies SEN169_FP16, SEN143_FP8, SEN152_FP8 or SENINT8, not {}",
                         numerics::formatName(format));
    }
    return Status::success();
  case Opcode::TopK:
    if (!isFloat) {
      return error<5103>("topk compares SEN169_FP16 or IEEE_FP32, not {}",
                         numerics::formatName(format));
    }
    return Status::success();
  case Opcode::Convert:
    return checkConvertFormats(instruction);
  default:
    return Status::success();
  }
}

/// Fields an opcode does not have: text and people do not see them, so they must say nothing.
static Status checkUnused(const Instruction &instruction) {
  const OpcodeRow &row = *findOpcode(instruction.opcode);
  const Instruction defaults;
  bool isToken = row.opcode == Opcode::Signal || row.opcode == Opcode::Wait;
  struct Field {
    const char *name;
    bool exists, isDefault;
  };
  const Field fields[] = {
      {"valid lanes", row.fields.lanes != nullptr, instruction.validLanes == 0},
      {"element bytes", row.fields.element != nullptr, instruction.elementBytes == 0},
      {"group", row.fields.group != nullptr, instruction.group == 0},
      {"constant", row.fields.constant != nullptr, instruction.constant == 0},
      {"parameter", row.fields.parameter != nullptr, instruction.parameter == 0},
      {"peer table", row.fields.peers, instruction.peerTable == -1},
      {"only table", row.fields.only, instruction.onlyTable == -1},
      {"format", !row.isControl, instruction.format == defaults.format},
      {"counts", !row.isControl, instruction.counts == defaults.counts},
      {"target format", row.opcode == Opcode::Convert, instruction.toFormat == defaults.toFormat},
      {"unit", isToken, instruction.unit == defaults.unit},
      {"token", isToken, instruction.token == 0},
  };
  for (const Field &field : fields) {
    if (!field.exists && !field.isDefault) {
      return error<5103>("{} has no {}; leave it at its default", row.name, field.name);
    }
  }
  return Status::success();
}

static Status checkElement(const Instruction &instruction) {
  uint16_t bytes = instruction.elementBytes;
  switch (instruction.opcode) {
  case Opcode::Gather:
  case Opcode::Scatter:
    if (bytes != 4 && bytes != 8) {
      return error<5103>("{} takes indices of 4 or 8 bytes, not {}", opcodeName(instruction.opcode),
                         bytes);
    }
    return Status::success();
  case Opcode::Shuffle:
  case Opcode::Pick:
    if (bytes != 1 && bytes != 2 && bytes != 4) {
      return error<5103>("{} moves elements of 1, 2 or 4 bytes, not {}",
                         opcodeName(instruction.opcode), bytes);
    }
    return Status::success();
  default:
    return Status::success();
  }
}

static Status checkParameter(const Instruction &instruction, const arch::DeviceDesc &device) {
  int64_t unit = 1;
  switch (instruction.opcode) {
  case Opcode::Matmul:
  case Opcode::Gather:
  case Opcode::Scatter:
  case Opcode::Convert:
    unit = device.stickBytes;
    break;
  case Opcode::Pick:
    unit = instruction.elementBytes;
    break;
  case Opcode::TopK:
    if (instruction.parameter < 1 || instruction.parameter > kMaxTopK) {
      return error<5103>("topk keeps 1..{} values, not {}", kMaxTopK, instruction.parameter);
    }
    break;
  default:
    break;
  }
  if (instruction.parameter % unit != 0) {
    return error<5103>("{} {} is not a multiple of {}",
                       findOpcode(instruction.opcode)->fields.parameter, instruction.parameter,
                       unit);
  }
  return Status::success();
}

static Status checkImmediate(const Instruction &instruction) {
  const char *name = findOpcode(instruction.opcode)->fields.constant;
  if (name != nullptr && std::string_view(name) == "bound" && instruction.constant == 0) {
    return error<5103>("the bound of {} must be at least 1", opcodeName(instruction.opcode));
  }
  if (instruction.opcode == Opcode::Finish && instruction.format == DataFormat::IeeeInt32 &&
      instruction.constant != kScaleOne) {
    return error<5103>("finish of IEEE_INT32 has no scale; the constant must be {:#x} (1.0)",
                       kScaleOne);
  }
  return Status::success();
}

static Status checkLanes(const Instruction &instruction) {
  int64_t lanes = numerics::elemsPerStick(instruction.format);
  if (findOpcode(instruction.opcode)->fields.lanes != nullptr &&
      (instruction.validLanes < 1 || instruction.validLanes > lanes)) {
    return error<5103>("{} valid lanes must be in 1..{}", instruction.validLanes, lanes);
  }
  // Every stick has at least 16 lanes, so both groups divide it.
  if (instruction.opcode == Opcode::Convert && instruction.group != 1 && instruction.group != 8) {
    return error<5103>("convert takes groups of 1 or 8 lanes, not {}", instruction.group);
  }
  return Status::success();
}

static Status checkToken(const Instruction &instruction) {
  if (instruction.opcode != Opcode::Signal && instruction.opcode != Opcode::Wait) {
    return Status::success();
  }
  if (size_t(instruction.unit) >= kUnits) {
    return error<5103>("unknown unit {}", uint8_t(instruction.unit));
  }
  if (instruction.token >= kMaxTokens) {
    return error<5103>("token {} must be below {}", instruction.token, kMaxTokens);
  }
  return Status::success();
}

Status checkFields(const Instruction &instruction, const arch::DeviceDesc &device) {
  SPYRE_RETURN_IF_ERROR(checkFormat(instruction));
  SPYRE_RETURN_IF_ERROR(checkFunction(instruction));
  SPYRE_RETURN_IF_ERROR(checkUnused(instruction));
  SPYRE_RETURN_IF_ERROR(checkElement(instruction));
  SPYRE_RETURN_IF_ERROR(checkParameter(instruction, device));
  SPYRE_RETURN_IF_ERROR(checkImmediate(instruction));
  SPYRE_RETURN_IF_ERROR(checkLanes(instruction));
  return checkToken(instruction);
}

} // namespace spyre::program
