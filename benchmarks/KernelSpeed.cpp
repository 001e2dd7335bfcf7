//===- KernelSpeed.cpp - how fast the loops behind the simulated units run on this host -----===//
//
// One thread, operands in the nearest caches as in the simulator's batches. Counters: GFLOP/s of
// the matmul kernels (two per multiply-add) beside the host's peak, Gelem/s of conversions and
// functions, GB/s of two-byte DLFloat16 traffic. HostToDevice and Memcpy stream through 256 MB; run
// them with
// --benchmark_filter=Stream for the comparison.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Random.h"
#include "spyre/Numerics/Dl16Table.h"
#include "spyre/Numerics/Formats.h"
#include "spyre/Numerics/Functions.h"

#include "Sim/Kernels.h"
#include "Sim/MatmulKernel.h"
#include "benchmark/benchmark.h"

#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace spyre;
using namespace spyre::numerics;

constexpr int64_t kElems = 4096;
constexpr int64_t kStreamBytes = int64_t(256) << 20;

/// A cache line of floats, so that arrays of them start on one.
struct alignas(64) Line {
  float values[16];
};

class Floats {
public:
  explicit Floats(int64_t count) : lines(size_t(count + 15) / 16) {
    Random random(1);
    for (int64_t i = 0; i < count; ++i) {
      data()[i] = random.uniform(-3, 3);
    }
  }
  float *data() { return lines.data()->values; }

private:
  std::vector<Line> lines;
};

std::vector<uint16_t> dl16Values(uint64_t seed) {
  Random random(seed);
  std::vector<uint16_t> values(kElems);
  for (uint16_t &value : values) {
    value = floatToDl16(random.uniform(-3, 3));
  }
  return values;
}

void countRate(benchmark::State &state, const char *name, double perIteration) {
  state.counters[name] = benchmark::Counter(perIteration * double(state.iterations()) * 1e-9,
                                            benchmark::Counter::kIsRate);
}

//===- Matmul -------------------------------------------------------------------------------===//

void matmul(benchmark::State &state, sim::MatmulKernel kernel) {
  int64_t rows = state.range(0), depth = state.range(1);
  Floats a(rows * depth), b(depth * sim::kMatmulLanes), acc(rows * sim::kMatmulLanes);
  for (auto _ : state) {
    kernel(a.data(), depth, b.data(), acc.data(), sim::kMatmulLanes, rows, depth);
    benchmark::ClobberMemory();
  }
  countRate(state, "GFLOP/s", double(2 * rows * depth * sim::kMatmulLanes));
}

/// With both operands as the device holds them, converted each time.
void matmulFromDl16(benchmark::State &state) {
  constexpr int64_t kDepth = 64, kLanes = sim::kMatmulLanes;
  int64_t rows = state.range(0);
  std::vector<uint16_t> source(size_t(std::max(rows, kLanes) * kDepth), 0x3E12);
  Floats a(rows * kDepth), b(kDepth * kLanes), acc(rows * kLanes);
  for (auto _ : state) {
    deviceToFloat(DataFormat::Sen169Fp16, source.data(), b.data(), kDepth * kLanes);
    deviceToFloat(DataFormat::Sen169Fp16, source.data(), a.data(), rows * kDepth);
    sim::matmulRows(a.data(), kDepth, b.data(), acc.data(), kLanes, rows, kDepth);
    benchmark::ClobberMemory();
  }
  countRate(state, "GFLOP/s", double(2 * rows * kDepth * kLanes));
}
BENCHMARK(matmulFromDl16)->Name("MatmulFromDl16")->Arg(128)->Arg(512);

//===- Functions of the vector unit ---------------------------------------------------------===//

using Unary = void (*)(const float *, float *, int64_t);
using Sticks = void (*)(float *, const float *, int64_t, int64_t);

void floatFunction(benchmark::State &state, Unary function) {
  Floats in(kElems), out(kElems);
  for (auto _ : state) {
    function(in.data(), out.data(), kElems);
    benchmark::ClobberMemory();
  }
  countRate(state, "Gelem/s", double(kElems));
}

void dl16Function(benchmark::State &state, const Dl16Table &table) {
  std::vector<uint16_t> in = dl16Values(2), out(kElems);
  for (auto _ : state) {
    table.apply(in.data(), out.data(), kElems);
    benchmark::ClobberMemory();
  }
  countRate(state, "Gelem/s", double(kElems));
}

void sticks(benchmark::State &state, Sticks function) {
  Floats in(kElems), acc(64);
  for (auto _ : state) {
    function(acc.data(), in.data(), kElems / 64, 64);
    benchmark::ClobberMemory();
  }
  countRate(state, "Gelem/s", double(kElems));
}

/// Decode two operands, add, encode: what a Vector instruction does per batch.
void addDl16(benchmark::State &state) {
  constexpr DataFormat kFormat = DataFormat::Sen169Fp16;
  std::vector<uint16_t> a = dl16Values(3), b = dl16Values(4), out(kElems);
  Floats x(kElems), y(kElems);
  for (auto _ : state) {
    deviceToFloat(kFormat, a.data(), x.data(), kElems);
    deviceToFloat(kFormat, b.data(), y.data(), kElems);
    sim::addLanes(x.data(), y.data(), x.data(), kElems);
    floatToDevice(kFormat, x.data(), out.data(), kElems);
    benchmark::ClobberMemory();
  }
  countRate(state, "GB/s", double(3 * 2 * kElems));
}
BENCHMARK(addDl16)->Name("AddDl16");

//===- Conversions --------------------------------------------------------------------------===//

void decode(benchmark::State &state) {
  std::vector<uint16_t> in = dl16Values(5);
  Floats out(kElems);
  for (auto _ : state) {
    deviceToFloat(DataFormat::Sen169Fp16, in.data(), out.data(), kElems);
    benchmark::ClobberMemory();
  }
  countRate(state, "Gelem/s", double(kElems));
}
BENCHMARK(decode)->Name("Dl16ToFloat");

void encode(benchmark::State &state) {
  Floats in(kElems);
  std::vector<uint16_t> out(kElems);
  for (auto _ : state) {
    floatToDevice(DataFormat::Sen169Fp16, in.data(), out.data(), kElems);
    benchmark::ClobberMemory();
  }
  countRate(state, "Gelem/s", double(kElems));
}
BENCHMARK(encode)->Name("FloatToDl16");

using Conversion = void (*)(HostType, const void *, void *, int64_t);

void hostConversion(benchmark::State &state, Conversion convert, HostType type) {
  std::vector<uint16_t> in = dl16Values(6), out(kElems);
  for (auto _ : state) {
    convert(type, in.data(), out.data(), kElems);
    benchmark::ClobberMemory();
  }
  countRate(state, "Gelem/s", double(kElems));
}

/// 256 MB between main memory and main memory, cut evenly over the benchmark's threads.
void stream(benchmark::State &state, void (*move)(const uint8_t *, uint8_t *, int64_t)) {
  static const std::vector<uint8_t> from(size_t(kStreamBytes), 0x3C);
  static std::vector<uint8_t> to(size_t(kStreamBytes), 1);
  int64_t share = kStreamBytes / state.threads(), first = share * state.thread_index();
  for (auto _ : state) {
    move(from.data() + first, to.data() + first, share);
    benchmark::ClobberMemory();
  }
  // Google Benchmark divides by the time of all threads together.
  countRate(state, "GB/s", double(kStreamBytes));
}

void streamMemcpy(const uint8_t *from, uint8_t *to, int64_t bytes) {
  std::memcpy(to, from, size_t(bytes));
}
void streamToDevice(const uint8_t *from, uint8_t *to, int64_t bytes) {
  convertHostToDevice(HostType::Float16, from, to, bytes / 2);
}
void streamToHost(const uint8_t *from, uint8_t *to, int64_t bytes) {
  convertDeviceToHost(HostType::Float16, from, to, bytes / 2);
}
BENCHMARK_CAPTURE(stream, Memcpy, streamMemcpy)->Name("StreamMemcpy")->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(stream, ToDevice, streamToDevice)
    ->Name("StreamHalfToDevice")
    ->Threads(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(stream, ToHost, streamToHost)
    ->Name("StreamDeviceToHalf")
    ->Threads(2)
    ->UseRealTime();

//===- Registration of the families ---------------------------------------------------------===//

template <Unary kFunction>
void addFunction(const std::string &name) {
  benchmark::RegisterBenchmark((name + "/float").c_str(), floatFunction, kFunction);
  benchmark::RegisterBenchmark((name + "/dl16").c_str(), [](benchmark::State &state) {
    dl16Function(state, dl16Table<kFunction>());
  });
}

bool registerFamilies() {
  for (const sim::MatmulVariant &variant : sim::matmulVariants()) {
    std::string name = std::string("Matmul/") + variant.name;
    benchmark::RegisterBenchmark(name.c_str(), matmul, variant.run)
        ->Args({1, 64})
        ->Args({128, 64})
        ->Args({128, 128});
  }
  addFunction<expF32>("exp");
  addFunction<logF32>("log");
  addFunction<tanhF32>("tanh");
  addFunction<sigmoidF32>("sigmoid");
  addFunction<erfF32>("erf");
  addFunction<geluF32>("gelu");
  addFunction<siluF32>("silu");
  addFunction<mishF32>("mish");
  addFunction<rsqrtF32>("rsqrt");
  addFunction<sqrtF32>("sqrt");
  addFunction<reciprocalF32>("reciprocal");
  addFunction<sinF32>("sin");
  addFunction<cosF32>("cos");
  benchmark::RegisterBenchmark("sumSticks", sticks, sim::sumSticks);
  benchmark::RegisterBenchmark("maxSticks", sticks, sim::maxSticks);
  benchmark::RegisterBenchmark("sumSquaresSticks", sticks, sim::sumSquaresSticks);
  benchmark::RegisterBenchmark("absMaxSticks", sticks, sim::absMaxSticks);
  for (HostType type : {HostType::Float16, HostType::Bfloat16}) {
    std::string name = hostTypeName(type);
    benchmark::RegisterBenchmark((name + "ToDl16").c_str(), hostConversion, convertHostToDevice,
                                 type);
    benchmark::RegisterBenchmark(("dl16To" + name).c_str(), hostConversion, convertDeviceToHost,
                                 type);
  }
  return true;
}

const bool kRegistered = registerFamilies();

} // namespace
