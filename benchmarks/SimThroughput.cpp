//===- SimThroughput.cpp - how fast the simulated units run on this host --------------------===//
//
// One core on one host thread, operands in LX, the sanitizer on as in all tests. Counters: GMAC/s
// of Matmul, GB/s of LX traffic of Vector, GB/s of DDR traffic of Load and Store.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Program/Program.h"
#include "spyre/Sim/SpyreSim.h"

#include "benchmark/benchmark.h"

#include <vector>

namespace {

using spyre::program::Function;
using spyre::program::Instruction;
using spyre::program::Opcode;
using spyre::program::Operand;

constexpr int64_t kStick = 128;
constexpr uint64_t kProgramBase = uint64_t(7) << 34;
constexpr uint64_t kProgramPhysical = uint64_t(1) << 30;
constexpr uint64_t kMappedBytes = uint64_t(64) << 20;

constexpr int32_t kLx = 0, kDdr = 1;
constexpr int64_t kLxBytes = int64_t(1) << 20;

/// In LX, which is one buffer of these programs.
Operand at(int64_t offset, int64_t inner = 0, int64_t middle = 0, int64_t outer = 0) {
  Operand operand;
  operand.buffer = kLx;
  operand.offset = offset;
  operand.stride = {0, 0, 0, outer, middle, inner};
  return operand;
}

Instruction make(Opcode opcode, Function function, std::array<int64_t, 3> counts,
                 const std::vector<Operand> &operands) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.function = function;
  instruction.operands = operands;
  for (size_t i = 0; i < counts.size(); ++i) {
    size_t level = spyre::program::kMaxLevels - counts.size() + i;
    instruction.counts[level] = counts[i];
    for (Operand &operand : instruction.operands) {
      operand.stride[level] *= counts[i] > 1;
    }
  }
  return instruction;
}

spyre::program::Program programOf(std::vector<Instruction> instructions) {
  using spyre::program::Buffer;
  using spyre::program::Space;
  spyre::program::Program program;
  program.buffers.resize(2);
  program.buffers[kLx].name = "lx";
  program.buffers[kLx].bytes = kLxBytes;
  program.buffers[kDdr].name = "ddr";
  program.buffers[kDdr].space = Space::Ddr;
  program.buffers[kDdr].bytes = int64_t(kMappedBytes);
  spyre::program::Phase phase;
  phase.name = "bench";
  phase.instructions = std::move(instructions);
  program.phases.push_back(std::move(phase));
  return program;
}

Instruction fill(int64_t sticks) {
  Instruction instruction = make(Opcode::Fill, Function::None, {1, 1, sticks}, {at(0, kStick)});
  instruction.constant = 0x3E003E00;
  return instruction;
}

std::vector<Instruction> repeated(int64_t trips, const Instruction &body) {
  Instruction loop = make(Opcode::Loop, Function::None, {1, 1, 1}, {});
  loop.parameter = trips;
  return {fill(8192), loop, body, make(Opcode::EndLoop, Function::None, {1, 1, 1}, {})};
}

/// Launches \p instructions per iteration; returns the counters of one launch.
spyre_sim_counters launchRepeatedly(benchmark::State &state,
                                    std::vector<Instruction> instructions) {
  std::string device = spyre::arch::DeviceDesc::preset("spyre")->toJson();
  spyre_sim_config config{};
  config.device_json = device.c_str();
  config.threads = 1;
  config.sanitizer = 1;
  spyre_sim *sim = spyre_sim_create(&config, nullptr);
  std::string bytes = spyre::program::writeProgram(programOf(std::move(instructions)));
  std::vector<spyre_sim_segment> segments(8);
  segments[0] = {0, kMappedBytes};
  segments[7] = {kProgramPhysical, kMappedBytes};
  spyre_sim_write(sim, kProgramPhysical, bytes.data(), bytes.size());
  for (auto _ : state) {
    if (spyre_sim_launch(sim, kProgramBase, bytes.size(), segments.data(), 8, 0) != 0) {
      state.SkipWithError(spyre_sim_last_error(sim));
      break;
    }
  }
  spyre_sim_counters counters{};
  spyre_sim_get_counters(sim, &counters);
  spyre_sim_destroy(sim);
  return counters;
}

void setRate(benchmark::State &state, const char *name, uint64_t total) {
  state.counters[name] = benchmark::Counter(double(total) * 1e-9, benchmark::Counter::kIsRate);
}

/// range(0) rows use each block of B; K = 256, N = 256.
void matmulRate(benchmark::State &state) {
  int64_t rows = state.range(0);
  constexpr int64_t kBlocks = 4, nBlocks = 4;
  // Levels rows, n, k: the accumulators follow B in LX.
  Instruction matmul =
      make(Opcode::Matmul, Function::None, {rows, nBlocks, kBlocks},
           {at(0, kStick, 0, kBlocks * kStick), at(0x40000, 64 * kStick, kBlocks * 64 * kStick),
            at(0x80000, 0, 256, nBlocks * 256)});
  matmul.validLanes = 64;
  matmul.parameter = kStick;
  spyre_sim_counters counters = launchRepeatedly(state, repeated(1024 / rows, matmul));
  setRate(state, "GMAC/s", counters.pt_macs);
}
BENCHMARK(matmulRate)->Arg(1)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

void vectorRate(benchmark::State &state, Function function, bool splat) {
  constexpr int64_t kSticks = 2048;
  std::vector<Operand> operands{at(0, kStick)};
  if (function != Function::Copy && function != Function::Exp) {
    operands.push_back(at(0x40000, kStick));
    operands.back().splatLane = splat ? 0 : -1;
  }
  operands.push_back(at(0x80000, kStick));
  Instruction body = make(Opcode::Vector, function, {1, 1, kSticks}, operands);
  spyre_sim_counters counters = launchRepeatedly(state, repeated(64, body));
  setRate(state, "LX GB/s", counters.lx_read_bytes + counters.lx_write_bytes);
}
BENCHMARK_CAPTURE(vectorRate, copy, Function::Copy, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(vectorRate, add, Function::Add, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(vectorRate, addSplat, Function::Add, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(vectorRate, exp, Function::Exp, false)->Unit(benchmark::kMillisecond);

void accumulateRate(benchmark::State &state, Function function) {
  Instruction body = make(Opcode::Accumulate, function, {1, 1, 2048}, {at(0, kStick), at(0x80000)});
  body.validLanes = 64;
  spyre_sim_counters counters = launchRepeatedly(state, repeated(64, body));
  setRate(state, "GLane/s", counters.sfp_lane_ops);
}
BENCHMARK_CAPTURE(accumulateRate, sum, Function::Sum)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(accumulateRate, max, Function::Max)->Unit(benchmark::kMillisecond);

/// Transposes of 64 x 64 elements of two bytes.
void shuffleRate(benchmark::State &state) {
  Instruction body = make(Opcode::Shuffle, Function::None, {16, 64, 64},
                          {at(0, 2, kStick, 64 * kStick), at(0x80000, kStick, 2, 64 * kStick)});
  body.elementBytes = 2;
  spyre_sim_counters counters = launchRepeatedly(state, repeated(16, body));
  setRate(state, "GElem/s", counters.lx_write_bytes / 2);
}
BENCHMARK(shuffleRate)->Unit(benchmark::kMillisecond);

/// range(0) sticks in a row, then a gap of as many.
void loadRate(benchmark::State &state) {
  int64_t run = state.range(0);
  Operand ddr = at(0, kStick, 2 * run * kStick);
  ddr.buffer = kDdr;
  Instruction body =
      make(Opcode::Load, Function::None, {1, 4096 / run, run}, {ddr, at(0, kStick, run * kStick)});
  spyre_sim_counters counters = launchRepeatedly(state, repeated(64, body));
  setRate(state, "DDR GB/s", counters.ddr_read_bytes);
}
BENCHMARK(loadRate)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);

} // namespace
