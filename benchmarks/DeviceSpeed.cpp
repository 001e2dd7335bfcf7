//===- DeviceSpeed.cpp - how fast the simulated device runs on this host --------------------===//
//
//     DeviceSpeed [--threads N] > results.json
//
// Whole operations on 32 simulated cores, DDR to DDR, median of five, without and with the
// sanitizer; beside them what the host's memory can do (memcpy on as many threads). Peers that
// need Python (OpenBLAS, torch) run in benchmarks/peers.py; scripts/bench.py puts both into a
// table.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Json.h"
#include "spyre/Base/Random.h"
#include "spyre/Base/ThreadPool.h"
#include "spyre/Program/Program.h"
#include "spyre/Runtime/Executable.h"
#include "spyre/Sim/SpyreSim.h"

#include "DevicePrograms.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

namespace {

using namespace spyre;

constexpr int kRuns = 5;
constexpr uint64_t kSegmentShift = 34;
constexpr int kProgramSegment = 7;
constexpr uint64_t kMappedBytes = uint64_t(1) << 30;
constexpr uint64_t kStick = 128;

double seconds(const std::function<void()> &body) {
  auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// After one run that pays for page faults and caches.
double median(const std::function<void()> &body) {
  body();
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    times.push_back(seconds(body));
  }
  std::sort(times.begin(), times.end());
  return times[kRuns / 2];
}

[[noreturn]] void die(const std::string &message) {
  std::fprintf(stderr, "DeviceSpeed: %s\n", message.c_str());
  std::exit(1);
}

class BenchDevice {
public:
  BenchDevice(uint32_t threads, bool sanitizer) {
    std::string json = arch::DeviceDesc::preset("openspyre")->toJson();
    spyre_sim_config config{};
    config.device_json = json.c_str();
    config.threads = threads;
    config.sanitizer = sanitizer ? 1 : 0;
    sim = spyre_sim_create(&config, nullptr);
    for (size_t i = 0; i < segments.size(); ++i) {
      segments[i] = {i * kMappedBytes, kMappedBytes};
    }
  }
  ~BenchDevice() { spyre_sim_destroy(sim); }
  BenchDevice(const BenchDevice &) = delete;
  BenchDevice &operator=(const BenchDevice &) = delete;

  /// Small numbers of both signs, DLFloat16.
  void fill(uint64_t segment, uint64_t sticks) {
    Random random(segment + 1);
    std::vector<uint16_t> values(sticks * 64);
    for (uint16_t &value : values) {
      value = numerics::floatToDl16(random.uniform(-2, 2));
    }
    spyre_sim_write(sim, segment * kMappedBytes, values.data(), values.size() * 2);
  }
  void load(const std::string &bytes) {
    programBytes = bytes.size();
    spyre_sim_write(sim, kProgramSegment * kMappedBytes, bytes.data(), bytes.size());
  }
  void launch() {
    if (spyre_sim_launch(sim, uint64_t(kProgramSegment) << kSegmentShift, programBytes,
                         segments.data(), uint32_t(segments.size()), 0) != 0) {
      die(spyre_sim_last_error(sim));
    }
  }

private:
  spyre_sim *sim = nullptr;
  std::array<spyre_sim_segment, 8> segments{};
  uint64_t programBytes = 0;
};

std::string assembled(const std::string &text) {
  Expected<program::Program> program = program::assemble(text);
  if (!program.ok()) {
    die(program.status().message());
  }
  return program::writeProgram(*program);
}

double timeProgram(uint32_t threads, bool sanitizer, const std::string &text,
                   const std::vector<uint64_t> &inputSticks) {
  BenchDevice device(threads, sanitizer);
  for (size_t i = 0; i < inputSticks.size(); ++i) {
    device.fill(i, inputSticks[i]);
  }
  device.load(assembled(text));
  return median([&] { device.launch(); });
}

void addProgram(Json &rows, const char *name, uint32_t threads, const std::string &text,
                const std::vector<uint64_t> &inputSticks) {
  std::fprintf(stderr, "  %s\n", name);
  rows[name] = {{"seconds", timeProgram(threads, false, text, inputSticks)},
                {"sanitized_seconds", timeProgram(threads, true, text, inputSticks)}};
}

/// Time of one memcpy of \p bytes, cut over the threads.
double timeMemcpy(uint32_t threads, uint64_t bytes) {
  ThreadPool pool(threads);
  std::vector<uint8_t> from(bytes, 1), to(bytes, 2);
  return median([&] {
    pool.parallelFor(threads, [&](size_t i) {
      uint64_t piece = bytes / threads;
      std::memcpy(to.data() + i * piece, from.data() + i * piece, piece);
    });
  });
}

/// Host to device of a tensor of float16, with conversion and layout, through the runtime.
double timeUpload(uint32_t threads, int64_t rows, int64_t columns) {
  runtime::DriverOptions options;
  options.threads = threads;
  options.sanitizer = false;
  auto driver = runtime::createDriver("sim", *arch::DeviceDesc::preset("openspyre"), options);
  if (!driver.ok()) {
    die(driver.status().message());
  }
  auto device = runtime::Device::create(*std::move(driver));
  spec::TensorDesc desc;
  desc.name = "x";
  desc.dtype = numerics::HostType::Float16;
  desc.size = {rows, columns};
  desc.stride = {columns, 1};
  desc.layout = *layout::DeviceLayout::makeDefault(desc.size, desc.dtype);
  auto buffer = device->allocate(uint64_t(desc.layout.bytes()));
  std::vector<uint16_t> host(size_t(rows * columns), 0x3C00);
  layout::HostTensorRef tensor{host.data(), desc.dtype, desc.size, desc.stride};
  return median([&] {
    Status status = runtime::uploadTensor(*buffer, desc, tensor);
    if (!status.ok()) {
      die(status.message());
    }
  });
}

/// One operation on 64 sticks, decoded before.
double timeLaunch(uint32_t threads) {
  constexpr int kLaunches = 2000;
  BenchDevice device(threads, false);
  device.fill(0, 8192);
  device.fill(1, 8192);
  std::string text = "spyre-program 2\n"
                     "buffer a ddr 0:0x0 bytes 8192 phases 0..0\n"
                     "buffer out ddr 1:0x0 bytes 8192 phases 0..0\n"
                     "buffer a.lx lx 0x0 bytes 256 phases 0..0\n"
                     "phase 0 \"0_exp\" cores 32\n  table T0:";
  for (int core = 0; core < 32; ++core) {
    text += " " + std::to_string(core * 256);
  }
  text += "\n  load SEN169_FP16 a.lx[128*p5] <- a[T0 + 128*p5] x 2\n"
          "  vector.exp SEN169_FP16 a.lx[128*p5] <- a.lx[128*p5] x 2\n"
          "  store SEN169_FP16 out[T0 + 128*p5] <- a.lx[128*p5] x 2\n";
  device.load(assembled(text));
  return median([&] {
           for (int i = 0; i < kLaunches; ++i) {
             device.launch();
           }
         }) /
         kLaunches;
}

/// From a file to the first launch: read, copy to the device, decode, verify, plan, run.
double timeLoad(uint32_t threads) {
  BenchDevice device(threads, false);
  device.fill(0, 8192);
  int generation = 0;
  auto path = std::filesystem::temp_directory_path() / "spyre-device-speed.bin";
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    // A new name each time, so that the device has never seen the program.
    std::string text = bench::unaryProgram("exp", 32 * 256);
    text.replace(text.find("0_exp"), 5, std::to_string(generation++) + "_exp");
    if (!writeFile(path, assembled(text)).ok()) {
      die("cannot write " + path.string());
    }
    times.push_back(seconds([&] {
      device.load(*readFile(path));
      device.launch();
    }));
  }
  std::filesystem::remove(path);
  std::sort(times.begin(), times.end());
  return times[kRuns / 2];
}

Json measure(uint32_t threads) {
  constexpr uint64_t kMatrixSticks = 4096 * 64, kTensorSticks = (uint64_t(64) << 20) / kStick;
  Json rows = Json::object();
  addProgram(rows, "matmul_1024", threads, bench::matmulProgram(1024, 1024, 1024), {16384, 16384});
  addProgram(rows, "add_64MB", threads, bench::pointwiseProgram("add", kTensorSticks),
             {kTensorSticks, kTensorSticks});
  addProgram(rows, "mul_64MB", threads, bench::pointwiseProgram("mul", kTensorSticks),
             {kTensorSticks, kTensorSticks});
  addProgram(rows, "exp_4096", threads, bench::unaryProgram("exp", kMatrixSticks), {kMatrixSticks});
  addProgram(rows, "layernorm_4096", threads, bench::layerNormProgram(4096, 4096),
             {kMatrixSticks, 64, 64});
  addProgram(rows, "softmax_4096", threads, bench::softmaxProgram(4096, 4096), {kMatrixSticks});
  addProgram(rows, "restickify_4096", threads, bench::restickifyProgram(4096, 4096),
             {kMatrixSticks});
  std::fprintf(stderr, "  transfers and launches\n");
  rows["memcpy_64MB"] = {{"seconds", timeMemcpy(threads, uint64_t(64) << 20)}};
  rows["memcpy_256MB"] = {{"seconds", timeMemcpy(threads, uint64_t(256) << 20)}};
  rows["h2d_256MB"] = {{"seconds", timeUpload(threads, 8192, 16384)}};
  rows["launch"] = {{"seconds", timeLaunch(threads)}};
  rows["load"] = {{"seconds", timeLoad(threads)}};
  return rows;
}

} // namespace

int main(int argc, char **argv) {
  uint32_t threads = 2;
  if (argc == 3 && std::string(argv[1]) == "--threads") {
    threads = uint32_t(std::clamp(std::atoi(argv[2]), 1, 256));
  } else if (argc != 1) {
    die("usage: DeviceSpeed [--threads N]");
  }
  Json result = {{"threads", threads}, {"rows", measure(threads)}};
  std::printf("%s\n", result.dump(1).c_str());
  return 0;
}
