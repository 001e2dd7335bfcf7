//===- Tables.h - what the parts of this library know about opcodes and functions -----------===//
//
// One row per opcode and one per function. Names, verifier, text printer and text reader all look
// here, so that a field which is printed is also read, and one which is neither must be empty.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include <span>
#include <string_view>

namespace spyre::program {

/// Spellings of the fields an opcode has in text; a field without one has no meaning for the opcode
/// and keeps its default value.
struct FieldNames {
  const char *lanes = nullptr;
  const char *element = nullptr;
  const char *group = nullptr;
  const char *constant = nullptr;
  const char *parameter = nullptr;
  bool peers = false;
  bool only = false;
};

struct OpcodeRow {
  Opcode opcode;
  const char *name;
  Unit unit;
  /// Loop, EndLoop, Barrier, Signal, Wait: no format, no nest, no operands.
  bool isControl;
  FieldNames fields;
};

/// Opcodes a function belongs to, as bits.
using OpcodeSet = uint32_t;
constexpr OpcodeSet opcodeBit(Opcode opcode) { return OpcodeSet(1) << uint8_t(opcode); }

struct FunctionRow {
  Function function;
  const char *name;
  OpcodeSet opcodes;
  /// Of Vector.
  uint8_t inputs;
  bool isTranscendental;
  /// Exists for IeeeInt32 too.
  bool hasInteger;
  /// Exists for formats other than IeeeInt32; only one of them where lanes change their meaning.
  enum class Floats : uint8_t { All, None, Single } floats = Floats::All;
};

std::span<const OpcodeRow> opcodeRows();
std::span<const FunctionRow> functionRows();
/// Null when there is no such row.
const OpcodeRow *findOpcode(Opcode opcode);
const FunctionRow *findFunction(Function function);

/// The rule for names of buffers and symbols, and its characters.
bool isNameCharacter(char c);
bool isName(std::string_view text);

/// Bits of the offset in a virtual DDR address.
constexpr int kSegmentShift = 34;
constexpr uint8_t kLastFormat = uint8_t(numerics::DataFormat::Sen18fFp24);

} // namespace spyre::program
