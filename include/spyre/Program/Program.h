//===- Program.h - the device program: what the back end emits and the device executes ------===//
//
// A program is a list of phases; a phase is one operation of a bundle. All cores of a phase run the
// same instruction stream (SPMD); what differs per core is a small table of address offsets. A
// barrier ends each phase: what a phase stored is visible to the next.
//
// Every operand of a unit is in LX. The only instructions that see DDR are Load and Store, and they
// move whole 128-byte sticks between DDR and the core's own LX.
//
// Address of an operand at loop indices i_0.. (enclosing Loop instructions, outermost first):
//
//     base + coreTables[coreTable][core] + sum_j i_j * loopStride[j]          (bytes)
//
// and an instruction walks a nest of kMaxLevels counts (outermost first, unused levels have count
// 1), operand address + sum_l n_l * stride[l]. At each point it works on one stick per operand:
//
//   Load        lx(op 1)  <- ddr(op 0)                  one stick
//   Store       ddr(op 1) <- lx(op 0)                   one stick
//   Fill        lx(op 0)  <- 32-bit pattern `immediate` repeated over the stick
//   Vector      lx(out)   <- fn(lx(in 0), ...)          lane-wise in fp32, one rounding to
//   `format`;
//                                                       the inputs are ops 0.., out is the last op;
//                                                       an input with splat reads lane 0 for all
//                                                       lanes
//   Accumulate  acc(op 1) <- fn(acc, lx(op 0))          lane-wise in fp32; acc holds elemsPerStick
//   fp32
//                                                       values (accBytes()); lanes >= validLanes of
//                                                       the stick take the value `immediate` (fp32
//                                                       bits)
//   Matmul      acc(op 2) <- acc + A(op 0) x B(op 1)    A stick: 64 k-values of one row; B: 64
//   sticks,
//                                                       row k at op 1 + k * bRowStride, 64 n-values
//                                                       each; for each n: acc[n] = fma(A[k],
//                                                       B[k][n], acc[n]), k ascending, k <
//                                                       validLanes
//   Finish      lx(op 1)  <- acc(op 0)                  fn Lanes: round each lane to `format`;
//                                                       fn TreeSum/TreeMax: halving tree over the
//                                                       lanes (lane i with lane i + n/2, ...),
//                                                       result in all lanes
//   Shuffle     lx(op 1)  <- lx(op 0)                   moves single elements of elementBytes;
//   strides
//                                                       and addresses are element aligned
//   Loop n / EndLoop                                    counted loop, at most kMaxLoops deep
//
// Addresses in DDR are virtual: (segment << 34) | offset; the launch maps segments to memory.
// Binary form: docs/program-format.md. All readers are total: any bytes give a program or an error.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Status.h"
#include "spyre/Numerics/Formats.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace spyre::program {

constexpr uint32_t kFormatVersion = 1;
constexpr size_t kMaxLevels = 4;
constexpr size_t kMaxLoops = 4;
constexpr size_t kMaxOperands = 4;
/// k-values per A stick and rows per B block of one Matmul point.
constexpr int64_t kMatmulBlock = 64;

enum class Opcode : uint8_t {
  Load = 1,
  Store = 2,
  Fill = 3,
  Vector = 4,
  Accumulate = 5,
  Matmul = 6,
  Finish = 7,
  Shuffle = 8,
  Loop = 9,
  EndLoop = 10,
};

/// Sub-function of Vector, Accumulate and Finish.
enum class Function : uint8_t {
  None = 0,
  // Vector
  Copy = 1,
  Add = 2,
  Mul = 3,
  Exp = 4,
  Where = 5, ///< in 0 != 0 ? in 1 : in 2
  // Accumulate
  Sum = 32,
  Max = 33,
  // Finish
  Lanes = 48,
  TreeSum = 49,
  TreeMax = 50,
};

struct Operand {
  int64_t base = 0;
  /// Index into Phase::coreTables, or -1.
  int32_t coreTable = -1;
  /// Vector inputs only: lane 0 is used for all lanes.
  bool splat = false;
  std::array<int64_t, kMaxLoops> loopStride{};
  std::array<int64_t, kMaxLevels> stride{};

  bool operator==(const Operand &) const = default;
};

struct Instruction {
  Opcode opcode = Opcode::Fill;
  Function function = Function::None;
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  uint8_t operandCount = 0;
  /// Accumulate, Matmul: lanes of the input stick that hold data.
  uint16_t validLanes = 0;
  /// Shuffle: 1, 2 or 4.
  uint16_t elementBytes = 0;
  /// Fill: pattern. Accumulate: fp32 bits of the value of masked lanes.
  uint32_t immediate = 0;
  /// Loop: trip count. Matmul: byte stride of B's rows.
  int64_t parameter = 0;
  std::array<int64_t, kMaxLevels> counts{1, 1, 1, 1};
  std::array<Operand, kMaxOperands> operands{};

  bool operator==(const Instruction &) const = default;
  int64_t points() const { return counts[0] * counts[1] * counts[2] * counts[3]; }
};

/// Bytes of the fp32 accumulator that belongs to one stick of \p format.
inline int64_t accBytes(numerics::DataFormat format) { return numerics::elemsPerStick(format) * 4; }

struct Phase {
  /// "0_add": for traces and faults, never for semantics.
  std::string name;
  /// Cores 0..cores-1 take part.
  int64_t cores = 1;
  std::vector<std::vector<int64_t>> coreTables;
  std::vector<Instruction> instructions;

  bool operator==(const Phase &) const = default;
};

struct Program {
  std::vector<Phase> phases;

  bool operator==(const Program &) const = default;
};

const char *opcodeName(Opcode opcode);
const char *functionName(Function function);

/// Little-endian binary, starts with "SPYP" and the version.
std::string writeProgram(const Program &program);
/// Errors: E5101 (not a program, wrong version), E5102 (truncated or inconsistent). The bytes may
/// be followed by padding zeros (programs live in stick-aligned memory).
Expected<Program> readProgram(const std::string &bytes);

/// Checks the program against the machine without running it: opcodes, operand counts, loop
/// nesting, table sizes, functions that fit the opcode, counts > 0, stick alignment of every
/// address and stride, LX ranges inside lxBytes, DDR ranges inside one segment. Error: E5103 with
/// phase and index.
Status verifyProgram(const Program &program, const arch::DeviceDesc &device);

/// One line per instruction; for people and tests.
std::string disassemble(const Program &program);

} // namespace spyre::program
