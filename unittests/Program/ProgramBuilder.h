//===- ProgramBuilder.h - short spellings for device programs in tests ----------------------===//
//
//   PhaseBuilder phase("0_add", 2);
//   int32_t perCore = phase.table({0, 4096});
//   phase.loop(4)
//       .load({16}, ddrAt(0, 0, {128}).table(perCore).loops({2048}), at(0x1000, {128}))
//       .end();
//   Program program = programOf({phase});
//
// Counts and strides are written innermost last and may be shorter than kMaxLevels. A program
// starts with one buffer over all of LX and one over each DDR segment, so that offsets are
// addresses; more buffers come behind them and are named with in().
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include <algorithm>
#include <utility>

namespace spyre::test {

using program::Function;
using program::Instruction;
using program::Opcode;
using program::Unit;
using Counts = std::vector<int64_t>;

/// The buffers every test program begins with.
constexpr int32_t kLxBuffer = 0;
constexpr int32_t kDdrBuffers = 1;
constexpr int32_t kSegments = 8;
constexpr int32_t kFirstOwnBuffer = kDdrBuffers + kSegments;
constexpr int64_t kSegmentBytes = int64_t(1) << 34;
constexpr int64_t kTinyLxBytes = 64 << 10;

/// An operand under construction.
struct At : program::Operand {
  At &in(int32_t index) {
    buffer = index;
    return *this;
  }
  At &table(int32_t index) {
    coreTable = index;
    return *this;
  }
  At &slices(int32_t index) {
    sliceTable = index;
    return *this;
  }
  At &loops(const Counts &strides) {
    std::copy(strides.begin(), strides.end(), loopStride.begin());
    return *this;
  }
  At &splat(int8_t lane) {
    splatLane = lane;
    return *this;
  }
};

/// In LX.
inline At at(int64_t offset, const Counts &strides = {}) {
  At operand;
  operand.buffer = kLxBuffer;
  operand.offset = offset;
  std::copy(strides.begin(), strides.end(), operand.stride.end() - std::ptrdiff_t(strides.size()));
  return operand;
}

inline At ddrAt(int32_t segment, int64_t offset, const Counts &strides = {}) {
  return at(offset, strides).in(kDdrBuffers + segment);
}

/// fp32 bits, or an int32.
inline At constant(int64_t bits) {
  At operand;
  operand.kind = program::Operand::Kind::Constant;
  operand.offset = bits;
  return operand;
}

/// The numbers of TopK.
inline At number(int64_t first, const Counts &strides = {}) {
  At operand = at(first, strides).in(-1);
  operand.kind = program::Operand::Kind::Number;
  return operand;
}

inline Instruction instruction(Opcode opcode, Function function, const Counts &counts,
                               const std::vector<program::Operand> &operands) {
  Instruction result;
  result.opcode = opcode;
  result.function = function;
  result.operands = operands;
  std::copy(counts.begin(), counts.end(), result.counts.end() - std::ptrdiff_t(counts.size()));
  return result;
}

class PhaseBuilder {
public:
  explicit PhaseBuilder(std::string name, int64_t cores = 1, bool overlap = false) {
    phase.name = std::move(name);
    phase.cores = cores;
    phase.overlap = overlap;
  }
  int32_t table(std::vector<int64_t> offsets) {
    phase.coreTables.push_back(std::move(offsets));
    return int32_t(phase.coreTables.size()) - 1;
  }
  PhaseBuilder &add(Instruction added) {
    phase.instructions.push_back(added);
    return *this;
  }

  // These change the last instruction.
  PhaseBuilder &format(numerics::DataFormat format) {
    phase.instructions.back().format = format;
    return *this;
  }
  PhaseBuilder &only(int32_t table) {
    phase.instructions.back().onlyTable = table;
    return *this;
  }
  PhaseBuilder &peers(int32_t table) {
    phase.instructions.back().peerTable = table;
    return *this;
  }

  PhaseBuilder &load(const Counts &counts, At ddr, At lx) {
    return add(instruction(Opcode::Load, Function::None, counts, {ddr, lx}));
  }
  PhaseBuilder &store(const Counts &counts, At lx, At ddr) {
    return add(instruction(Opcode::Store, Function::None, counts, {lx, ddr}));
  }
  PhaseBuilder &gather(const Counts &counts, At ddr, At index, At lx, uint32_t bound,
                       int64_t stride = 128, uint16_t indexBytes = 4) {
    return addIndexed(Opcode::Gather, counts, {ddr, index, lx}, bound, stride, indexBytes);
  }
  PhaseBuilder &scatter(const Counts &counts, At lx, At index, At ddr, uint32_t bound,
                        int64_t stride = 128, uint16_t indexBytes = 4) {
    return addIndexed(Opcode::Scatter, counts, {lx, index, ddr}, bound, stride, indexBytes);
  }
  PhaseBuilder &pick(uint16_t elementBytes, const Counts &counts, At from, At index, At to,
                     uint32_t bound, int64_t stride) {
    return addIndexed(Opcode::Pick, counts, {from, index, to}, bound, stride, elementBytes);
  }
  PhaseBuilder &fill(const Counts &counts, At lx, uint32_t pattern) {
    Instruction fill = instruction(Opcode::Fill, Function::None, counts, {lx});
    fill.constant = pattern;
    return add(fill);
  }
  PhaseBuilder &vector(Function function, const Counts &counts, const std::vector<At> &operands) {
    return add(instruction(Opcode::Vector, function, counts, {operands.begin(), operands.end()}));
  }
  PhaseBuilder &accumulate(Function function, const Counts &counts, At in, At acc, uint16_t lanes,
                           uint32_t masked = 0) {
    Instruction added = instruction(Opcode::Accumulate, function, counts, {in, acc});
    added.validLanes = lanes;
    added.constant = masked;
    return add(added);
  }
  PhaseBuilder &matmul(const Counts &counts, At a, At b, At acc, uint16_t lanes = 64,
                       int64_t rowStride = 128) {
    Instruction added = instruction(Opcode::Matmul, Function::None, counts, {a, b, acc});
    added.validLanes = lanes;
    added.parameter = rowStride;
    return add(added);
  }
  PhaseBuilder &finish(Function function, const Counts &counts, At acc, At out,
                       uint32_t scale = program::kScaleOne) {
    Instruction added = instruction(Opcode::Finish, function, counts, {acc, out});
    added.constant = scale;
    return add(added);
  }
  PhaseBuilder &shuffle(uint16_t elementBytes, const Counts &counts, At from, At to) {
    Instruction added = instruction(Opcode::Shuffle, Function::None, counts, {from, to});
    added.elementBytes = elementBytes;
    return add(added);
  }
  PhaseBuilder &convert(numerics::DataFormat fromFormat, numerics::DataFormat toFormat,
                        const Counts &counts, At from, At to, int64_t stride = 128,
                        uint16_t group = 1, Function function = Function::Nearest) {
    Instruction added = instruction(Opcode::Convert, function, counts, {from, to});
    added.format = fromFormat;
    added.toFormat = toFormat;
    added.parameter = stride;
    added.group = group;
    return add(added);
  }
  PhaseBuilder &topk(int64_t k, const Counts &counts, At in, At state, At numbers) {
    Instruction added = instruction(Opcode::TopK, Function::None, counts, {in, state, numbers});
    added.parameter = k;
    return add(added);
  }
  PhaseBuilder &exchange(Function function, const Counts &counts, int32_t peerTable, At from,
                         At to) {
    Instruction added = instruction(Opcode::Exchange, function, counts, {from, to});
    added.format = numerics::DataFormat::IeeeFp32;
    added.peerTable = peerTable;
    return add(added);
  }
  PhaseBuilder &loop(int64_t trips) {
    Instruction added = instruction(Opcode::Loop, Function::None, {}, {});
    added.parameter = trips;
    return add(added);
  }
  PhaseBuilder &end() { return add(instruction(Opcode::EndLoop, Function::None, {}, {})); }
  PhaseBuilder &barrier() { return add(instruction(Opcode::Barrier, Function::None, {}, {})); }
  PhaseBuilder &signal(Unit unit, uint8_t token) { return addToken(Opcode::Signal, unit, token); }
  PhaseBuilder &wait(Unit unit, uint8_t token) { return addToken(Opcode::Wait, unit, token); }

  program::Phase phase;

private:
  PhaseBuilder &addIndexed(Opcode opcode, const Counts &counts,
                           const std::vector<program::Operand> &operands, uint32_t bound,
                           int64_t stride, uint16_t elementBytes) {
    Instruction added = instruction(opcode, Function::None, counts, operands);
    added.constant = bound;
    added.parameter = stride;
    added.elementBytes = elementBytes;
    return add(added);
  }
  PhaseBuilder &addToken(Opcode opcode, Unit unit, uint8_t token) {
    Instruction added = instruction(opcode, Function::None, {}, {});
    added.unit = unit;
    added.token = token;
    return add(added);
  }
};

inline program::Buffer lxBuffer(std::string name, int64_t base, int64_t bytes) {
  program::Buffer buffer;
  buffer.name = std::move(name);
  buffer.base = base;
  buffer.bytes = bytes;
  return buffer;
}

inline program::Buffer ddrBuffer(std::string name, int64_t base, int64_t bytes) {
  program::Buffer buffer = lxBuffer(std::move(name), base, bytes);
  buffer.space = program::Space::Ddr;
  return buffer;
}

/// The phases over the buffers of this file's head and \p own, whose indices start at
/// kFirstOwnBuffer.
inline program::Program programOf(const std::vector<PhaseBuilder> &phases,
                                  const std::vector<program::Buffer> &own = {},
                                  int64_t lxBytes = kTinyLxBytes) {
  program::Program program;
  program.buffers.push_back(lxBuffer("lx", 0, lxBytes));
  for (int32_t i = 0; i < kSegments; ++i) {
    program.buffers.push_back(
        ddrBuffer(fmt::format("segment{}", i), i * kSegmentBytes, kSegmentBytes));
  }
  for (program::Buffer &buffer : program.buffers) {
    buffer.lastPhase = std::max(int32_t(phases.size()), 1) - 1;
  }
  program.buffers.insert(program.buffers.end(), own.begin(), own.end());
  for (const PhaseBuilder &builder : phases) {
    program.phases.push_back(builder.phase);
  }
  return program;
}

} // namespace spyre::test
