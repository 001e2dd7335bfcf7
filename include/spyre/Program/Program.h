//===- Program.h - the device program: what the back end emits and the device executes ------===//
//
// A program is a list of phases over a list of buffers; a phase is one operation of a bundle. All
// cores of a phase run the same instruction stream (SPMD); what differs per core is a few small
// tables. A barrier ends each phase: what a phase stored is visible to the next.
//
// Every operand of a unit is in LX. Load, Store, Gather and Scatter alone see DDR, and they move
// whole 128-byte sticks between DDR and the core's own LX. Exchange alone sees another core's LX.
// No instruction does a whole tensor operation: a unit works on one stick (or one 64-row tile) per
// operand at a time, stepped through a small nest.
//
// Address of an operand at loop indices i_0.. (enclosing Loop instructions, outermost first) and
// nest indices p_0.. (the instruction's own counts, outermost first):
//
//     buffer.base + buffer.coreOffset[core] + symbol value            where the buffer starts
//       + offset + coreTables[coreTable][core]
//       + sum_j i_j * loopStride[j] + sum_l p_l * stride[l]           (bytes)
//
// What one point does (the result is the last operand, of TopK the second; "acc" is a run of fp32
// lanes, one per lane of a stick of `format`, accBytes() long; for IeeeInt32 lanes and accumulators
// are int32, wrap):
//
//   Load        lx(1)  <- ddr(0)                 one stick. With `peers`: cores whose entry is the
//                                                same leader read the same sticks; DDR is read once
//                                                and the ring delivers it to all of them
//   Store       ddr(1) <- lx(0)                  one stick
//   Gather      lx(2)  <- ddr(0 + n * parameter) one stick; n is the integer (elementBytes 4 or 8)
//                                                at lx(1), 0 <= n < constant
//   Scatter     ddr(2 + n * parameter) <- lx(0)  the same; points ascending, the last one stays
//   Fill        lx(0)  <- `constant`            32-bit pattern over the stick
//   Vector      lx(last) <- fn(inputs...)        lane-wise in fp32, one rounding to `format`; an
//                                                input may be a constant or one lane for all lanes
//   Accumulate  acc(1) <- fn(acc, lx(0))         lane-wise; lanes >= validLanes of the stick take
//                                                the fp32 value `constant`
//   Matmul      acc(2) <- acc + A(0) x B(1)      A stick: the k-values of one row; B: sticks at
//                                                operand 1 + r * parameter; for each n < 64:
//                                                acc[n] = fma(A[k], B[k][n], acc[n]), k ascending,
//                                                k < validLanes. 16-bit: 64 k, stick r is row r.
//                                                8-bit: 128 k, stick r holds rows 2r and 2r + 1,
//                                                lanes alternating; int8 accumulates in int32
//   Finish      lx(1)  <- acc(0)                 Lanes: each lane; Tree*: halving tree over the
//                                                lanes (lane i with lane i + n/2, ...), result in
//                                                all lanes; then times the fp32 value `constant`,
//                                                rounded once to `format`
//   Shuffle     lx(1)  <- lx(0)                  one element of elementBytes
//   Pick        lx(2)  <- lx(0 + n * parameter)  one element of elementBytes; n is the int32 at
//                                                lx(1), 0 <= n < constant
//   Convert     lx(1)  <- lx(0)                  `format` to `toFormat` through fp32. One stick of
//                                                the format with more lanes against r of the
//                                                other, `parameter` bytes apart: stick j has lane
//                                                groups j, j + r, ... of `group` lanes
//   TopK        state(1) <- state, lx(0)         lane-wise the `parameter` largest so far: k values
//                                                (acc), k int32 numbers (acc; below 0: no value);
//                                                a point's is operand 2, which is no address. NaN
//                                                is the largest; the earlier of equal values is
//                                                first
//   Exchange    lx(1)  <- peer's lx(0)           the peer is peers[core], -1: the core only serves.
//                                                Operand 0 has the peer's buffer offset, but core
//                                                and slice table of the receiver. All cores arrive,
//                                                all read, then all write. Copy: one stick; Sum,
//                                                Max, Min: 32 fp32 lanes, fn(own, peer's)
//   Loop n / EndLoop                             counted loop, at most kMaxLoops deep
//   Barrier                                      all units of all cores have finished
//   Signal u t / Wait u t                        see below
//
// Time. Each core has five units, each with a queue. A phase without `overlap` runs its
// instructions one after the other. With it, an instruction waits only for earlier ones of its own
// unit, and order between units is written down: unit u passes Wait(u, t) when token t was
// signalled once more than it was waited for; Signal(u, t) happens when unit u has done all before
// it. The results are those of program order, and a program whose tokens do not force that order is
// faulty. A Wait comes after its Signal in program order.
//
// `only`: a core whose entry is 0 skips the instruction. Buffers tell the device (and its
// sanitizer) what belongs together: every memory operand stays inside its buffer. DDR addresses are
// virtual: (segment << 34) | offset; the launch maps segments to memory. A symbol is a number that
// is written into the program's binary before a launch (symbolValueOffset).
//
// Binary and text form: docs/program-format.md. All readers are total: any bytes give a program or
// an error.
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

/// Of the bytes, and of the text.
constexpr uint32_t kFormatVersion = 3, kTextVersion = 2;
constexpr size_t kMaxLevels = 6;
constexpr size_t kMaxLoops = 4;
constexpr size_t kMaxOperands = 6;
constexpr uint8_t kMaxTokens = 32;
constexpr int64_t kMaxTopK = 64;
/// Of a phase; readers refuse more, so that a few bytes per instruction cannot take all memory.
constexpr size_t kMaxInstructions = size_t(1) << 18;
/// Different constants of a phase, 0 aside: an instruction names them with 16 bits.
constexpr size_t kMaxConstants = 65'535;
/// Lanes of a Matmul result, and rows of B in 16-bit formats.
constexpr int64_t kMatmulBlock = 64;
/// Value of a symbol nobody has set.
constexpr int64_t kUnsetSymbol = INT64_MIN;

enum class Opcode : uint8_t {
  Load = 1,
  Store = 2,
  Gather = 3,
  Scatter = 4,
  Fill = 5,
  Vector = 6,
  Accumulate = 7,
  Matmul = 8,
  Finish = 9,
  Shuffle = 10,
  Pick = 11,
  Convert = 12,
  TopK = 13,
  Exchange = 14,
  Loop = 15,
  EndLoop = 16,
  Barrier = 17,
  Signal = 18,
  Wait = 19,
};

/// Sub-function of Vector, Accumulate, Finish, Convert and Exchange.
enum class Function : uint8_t {
  None = 0,
  // Vector; also Exchange.
  Copy = 1,
  // Vector, one input.
  Neg = 2,
  Abs = 3,
  Floor = 4,
  Sqrt = 5,
  Rsqrt = 6,
  Exp = 7,
  Log = 8,
  Reciprocal = 9,
  Sigmoid = 10,
  Tanh = 11,
  Erf = 12,
  Sin = 13,
  Cos = 14,
  Relu = 15,
  Relu6 = 16,
  Gelu = 17,
  Silu = 18,
  Mish = 19,
  FromInteger = 28, ///< IeeeFp32: the lanes of the input are int32
  ToInteger = 29,   ///< IeeeInt32: the lanes of the input are fp32; cut, saturating, NaN gives 0
  // Vector, two inputs.
  Add = 32,
  Sub = 33,
  Mul = 34,
  Div = 35,
  Maximum = 36,
  Minimum = 37,
  Equal = 38,
  NotEqual = 39,
  GreaterEqual = 40,
  Greater = 41,
  LessEqual = 42,
  Less = 43,
  LeakyRelu = 44, ///< x, slope below zero
  // Vector on IeeeInt32 lanes only, two inputs. Shifts by 32 and more give 0, or -1 of a negative
  // number shifted right; a division by 0 gives 0, its remainder the dividend.
  And = 48,
  Or = 49,
  Xor = 50,
  ShiftLeft = 51,
  ShiftRight = 52, ///< copies the sign
  FloorDiv = 53,
  TruncDiv = 54,
  FloorMod = 55, ///< has the sign of the divisor
  TruncMod = 56, ///< has the sign of the dividend
  // Vector, three inputs.
  Where = 64,          ///< in 0 != 0 ? in 1 : in 2
  Fma = 65,            ///< in 0 * in 1 + in 2, fused
  Clip = 66,           ///< x, low, high
  Softplus = 67,       ///< x, beta, threshold
  LayerNormScale = 68, ///< mean, mean of squares, eps
  // Vector, five inputs.
  LayerNormNorm = 80, ///< x, mean, scale, weight, bias
  // Accumulate; also Exchange (but SumSquares, AbsMax).
  Sum = 96,
  Max = 97,
  Min = 98,
  SumSquares = 99,
  AbsMax = 100,
  // Finish.
  Lanes = 112,
  TreeSum = 113,
  TreeMax = 114,
  TreeMin = 115,
  // Convert, when the result is an integer.
  Nearest = 128,
  Truncate = 129,
};

/// The queues of a core.
enum class Unit : uint8_t { Load = 0, Store = 1, Matrix = 2, Vector = 3, Ring = 4 };
constexpr size_t kUnits = 5;

enum class Space : uint8_t { Lx = 0, Ddr = 1 };

/// A piece of memory that belongs together: a tensor in DDR, a tensor or a tile in LX.
struct Buffer {
  /// [A-Za-z0-9_.-]+, unique; for text, traces and faults.
  std::string name;
  Space space = Space::Lx;
  /// LX address, or virtual DDR address.
  int64_t base = 0;
  int64_t bytes = 0;
  /// Added to base, or -1. DDR only.
  int32_t symbol = -1;
  /// Added to base per core; empty when all cores have the same address.
  std::vector<int64_t> coreOffset;
  /// Phases in which the contents are used.
  int32_t firstPhase = 0, lastPhase = 0;
  /// LX: contents come from an earlier launch / are for a later one.
  bool liveIn = false, liveOut = false;
  /// LX: another buffer that this one may overlap in the phase where that one dies, or -1.
  int32_t inPlaceOf = -1;

  bool operator==(const Buffer &) const = default;
};

struct Symbol {
  std::string name;
  int64_t value = kUnsetSymbol;

  bool operator==(const Symbol &) const = default;
};

struct Operand {
  enum class Kind : uint8_t {
    Memory = 0,
    /// Vector inputs: fp32 bits (int32 for IeeeInt32) in `offset`.
    Constant = 1,
    /// TopK: the address expression itself is the number.
    Number = 2,
  };
  Kind kind = Kind::Memory;
  /// Vector inputs: this lane is used for all lanes, or -1.
  int8_t splatLane = -1;
  /// Index into Program::buffers.
  int32_t buffer = -1;
  /// Index into Phase::coreTables, or -1.
  int32_t coreTable = -1;
  /// LX: index of the table that says which slice of the tensor each core means, or -1. A core that
  /// finds another slice in its LX reads another core's data.
  int32_t sliceTable = -1;
  int64_t offset = 0;
  std::array<int64_t, kMaxLoops> loopStride{};
  std::array<int64_t, kMaxLevels> stride{};

  bool operator==(const Operand &) const = default;
};

/// An input of a Vector with the same \p bits in every lane.
inline Operand constantOperand(uint32_t bits) {
  Operand operand;
  operand.kind = Operand::Kind::Constant;
  operand.offset = bits;
  return operand;
}

struct Instruction {
  Opcode opcode = Opcode::Fill;
  Function function = Function::None;
  /// Of the elements; Convert: of its input.
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  /// Convert only.
  numerics::DataFormat toFormat = numerics::DataFormat::Sen169Fp16;
  /// Signal, Wait.
  Unit unit = Unit::Load;
  uint8_t token = 0;
  /// Accumulate, Matmul: lanes of the input stick that hold data.
  uint16_t validLanes = 0;
  /// Shuffle, Pick: 1, 2 or 4. Gather, Scatter: of the index, 4 or 8.
  uint16_t elementBytes = 0;
  /// Convert: 1 or 8.
  uint16_t group = 0;
  /// Fill: pattern. Accumulate: value of masked lanes. Finish: scale. Gather, Scatter, Pick: bound.
  /// In the bytes of a program it is in the table of its phase: immediates have 16 bits.
  uint32_t constant = 0;
  /// Index into Phase::coreTables, or -1. Load, Exchange: peers; any but control: only.
  int32_t peerTable = -1, onlyTable = -1;
  /// Loop: trip count. Matmul, Gather, Scatter, Pick, Convert: byte stride. TopK: k.
  int64_t parameter = 0;
  std::array<int64_t, kMaxLevels> counts{1, 1, 1, 1, 1, 1};
  /// At most kMaxOperands. On the heap: most instructions of a phase are control and have none.
  std::vector<Operand> operands;

  bool operator==(const Instruction &) const = default;
  int64_t points() const {
    int64_t product = 1;
    for (int64_t count : counts) {
      product *= count;
    }
    return product;
  }
};

constexpr uint32_t kScaleOne = 0x3F800000;

/// Bytes of the fp32 accumulator that belongs to one stick of \p format (64 lanes for Matmul of any
/// format).
inline int64_t accBytes(numerics::DataFormat format) { return numerics::elemsPerStick(format) * 4; }
constexpr int64_t kMatmulAccBytes = kMatmulBlock * 4;

struct Phase {
  /// "0_add": for traces and faults, never for semantics.
  std::string name;
  /// Cores 0..cores-1 take part.
  int64_t cores = 1;
  /// Units run on their own, ordered by tokens.
  bool overlap = false;
  std::vector<std::vector<int64_t>> coreTables;
  std::vector<Instruction> instructions;

  bool operator==(const Phase &) const = default;
};

struct Program {
  std::vector<Symbol> symbols;
  std::vector<Buffer> buffers;
  std::vector<Phase> phases;

  bool operator==(const Program &) const = default;
};

const char *opcodeName(Opcode opcode);
const char *functionName(Function function);
const char *unitName(Unit unit);
/// Inputs of a Vector function; 0 when it is none.
size_t vectorInputs(Function function);
/// True for functions that cost DeviceDesc's transcendental factor.
bool isTranscendental(Function function);
/// Queue an instruction goes to; control instructions have none and give Vector.
Unit unitOf(Opcode opcode);

/// What an operand points at.
enum class Role : uint8_t {
  DdrStick,
  LxStick,
  /// A run of fp32 lanes: accBytes(format), kMatmulAccBytes, or 32 lanes for Exchange.
  LxAccumulator,
  /// The B sticks of Matmul, the several sticks of Convert: `parameter` apart.
  LxMatrix,
  LxElement,
  /// An integer in LX.
  LxIndex,
  /// TopK's values and numbers.
  LxState,
  Number,
};
struct OperandRoles {
  std::array<Role, kMaxOperands> role{};
  size_t count = 0;
};
/// Roles of the operands an instruction must have.
OperandRoles operandRoles(const Instruction &instruction);
/// Index of the operand that is written: the last one, but operand 1 for TopK. Accumulate, Matmul,
/// TopK and a combining Exchange read it too.
size_t resultOperand(const Instruction &instruction);
/// Bytes one point touches at one address of operand \p index, and for LxMatrix the number of such
/// places (1 for all others).
int64_t pointBytes(const Instruction &instruction, size_t index);
int64_t pointPlaces(const Instruction &instruction, size_t index);
/// Sticks of the wide side for one of the narrow side; 1 for formats of equal width.
int64_t convertRatio(const Instruction &instruction);

/// Little-endian binary, starts with "SPYP" and the version.
std::string writeProgram(const Program &program);
/// Errors: E5101 (not a program, wrong version), E5102 (truncated or inconsistent). The bytes may
/// be followed by padding zeros (programs live in stick-aligned memory).
Expected<Program> readProgram(const std::string &bytes);
/// Where the 64-bit value of symbol \p index is in the binary.
uint64_t symbolValueOffset(size_t index);

/// Checks the program against the machine without running it: opcodes, operands, formats, loop
/// nesting, table sizes and entries (peers are cores of the phase or -1), functions that fit,
/// counts > 0, no stride on a level of count 1, alignment of every address and stride, buffer
/// names, buffers and the whole reach of every operand inside LX or one segment. What an execution
/// decides (operands inside their buffers, lives, overlaps, tokens, indices) is left to the device.
/// Error: E5103 with phase and index.
Status verifyProgram(const Program &program, const arch::DeviceDesc &device);

/// Text that assemble() reads back to the same program (if it passes verifyProgram; any other
/// program prints too). One line per instruction.
std::string disassemble(const Program &program);
/// Error: E5104 with line and column.
Expected<Program> assemble(const std::string &text);

} // namespace spyre::program
