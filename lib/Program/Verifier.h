//===- Verifier.h - the parts of verifyProgram ----------------------------------------------===//
//
// Each part returns E5103 with the broken rule; the caller adds phase and instruction.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include <algorithm>

namespace spyre::program {

/// Sums and products of addresses: no 64-bit input can overflow them.
__extension__ using Wide = __int128;

/// First byte and one past the last byte.
struct Extent {
  Wide begin = 0;
  Wide end = 0;
  void widen(int64_t stride, int64_t count) {
    Wide reach = Wide(stride) * (count - 1);
    begin += std::min<Wide>(reach, 0);
    end += std::max<Wide>(reach, 0);
  }
};

/// Where an instruction stands.
struct PhaseScope {
  const Program &program;
  const Phase &phase;
  const arch::DeviceDesc &device;
  /// Trip counts of the open loops, outermost first.
  std::vector<int64_t> trips;
};

/// Names and values of symbols, places and lives of buffers.
Status checkSymbols(const Program &program);
Status checkBuffers(const Program &program, const arch::DeviceDesc &device);
/// Base of the buffer; with its symbol, if that has a value.
Wide bufferStart(const Program &program, const Buffer &buffer);
/// LX: inside LX. DDR: inside one segment. The caller puts the subject before the message.
Status checkPlace(const arch::DeviceDesc &device, Space space, const Extent &extent);

/// Everything of an instruction but tables and operands. The opcode is known.
Status checkFields(const Instruction &instruction, const arch::DeviceDesc &device);

/// Peers and predicate of an instruction.
Status checkTables(const PhaseScope &scope, const Instruction &instruction);
Status checkOperands(const PhaseScope &scope, const Instruction &instruction);

} // namespace spyre::program
