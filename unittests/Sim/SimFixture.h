//===- SimFixture.h - a small device with mapped segments, driven through the C interface ----===//
//
// Segment i is mapped to 1 MiB at physical address (i + 1) MiB; ddr(i, offset) is the virtual
// address and dram(i, offset) the physical one. Programs come from ProgramBuilder.h or as text; in
// text, DDR buffers of segment i are written "ddr i:offset".
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Random.h"
#include "spyre/Numerics/Formats.h"
#include "spyre/Sim/SpyreSim.h"

#include "Program/ProgramBuilder.h"
#include "Support/SanitizerGuard.h"
#include "gtest/gtest.h"

#include <array>
#include <cstring>

namespace spyre::test {

constexpr uint64_t kMappedBytes = 1 << 20;
constexpr int kProgramSegment = 7;

inline int64_t ddr(int64_t segment, int64_t offset = 0) { return segment * kSegmentBytes + offset; }
inline uint64_t dram(uint64_t segment, uint64_t offset = 0) {
  return (segment + 1) * kMappedBytes + offset;
}

struct SimOptions {
  uint32_t threads = 1;
  bool sanitizer = true;
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  bool vfMode = false;
  uint64_t wipeSeed = 1;
};

/// A clock that is easy to follow: only what a test sets takes time.
inline arch::Timing plainTiming() {
  arch::Timing timing;
  timing.lxBytesPerCycle = 1e9;
  timing.ptFillBytesPerCycle = 1e9;
  return timing;
}

/// A level of count 1 has no stride; tests with a variable count need not care.
inline program::Program withoutIdleStrides(program::Program program) {
  for (program::Phase &phase : program.phases) {
    for (Instruction &instruction : phase.instructions) {
      for (program::Operand &operand : instruction.operands) {
        for (size_t level = 0; level < program::kMaxLevels; ++level) {
          operand.stride[level] *= instruction.counts[level] > 1;
        }
      }
    }
  }
  return program;
}

class TestSim {
public:
  explicit TestSim(const SimOptions &options) : sanitizer(options.sanitizer) {
    std::string json = options.device.toJson();
    spyre_sim_config config{json.c_str(), options.threads, options.sanitizer ? 1 : 0,
                            options.vfMode ? 1 : 0, options.wipeSeed};
    const char *error = nullptr;
    sim = spyre_sim_create(&config, &error);
    EXPECT_NE(sim, nullptr) << (error != nullptr ? error : "");
    for (size_t i = 0; i < segments.size(); ++i) {
      segments[i] = {dram(i), kMappedBytes};
    }
  }
  explicit TestSim(uint32_t threads = 1) : TestSim(SimOptions{.threads = threads}) {}
  ~TestSim() { spyre_sim_destroy(sim); }
  TestSim(const TestSim &) = delete;
  TestSim &operator=(const TestSim &) = delete;

  /// The error text, empty on success.
  std::string launchBytes(const std::string &bytes, uint32_t flags = 0) {
    EXPECT_EQ(spyre_sim_write(sim, dram(kProgramSegment), bytes.data(), bytes.size()), 0);
    expectUnsanitizedLaunches(sanitizer ? 0 : 1);
    int failed = spyre_sim_launch(sim, uint64_t(ddr(kProgramSegment)), bytes.size(),
                                  segments.data(), uint32_t(segments.size()), flags);
    std::string error = spyre_sim_last_error(sim);
    EXPECT_EQ(failed == 0, error.empty());
    return error;
  }
  std::string launch(const program::Program &program, uint32_t flags = 0) {
    return launchBytes(program::writeProgram(program), flags);
  }
  std::string launch(const std::vector<PhaseBuilder> &phases, uint32_t flags = 0) {
    return launch(withoutIdleStrides(programOf(phases)), flags);
  }
  std::string launchText(const std::string &text, uint32_t flags = 0) {
    Expected<program::Program> program = program::assemble("spyre-program 2\n" + text);
    EXPECT_TRUE(program.ok()) << program.status().message();
    return program.ok() ? launch(*program, flags) : "no program";
  }

  template <typename T>
  void write(uint64_t address, const std::vector<T> &values) {
    EXPECT_EQ(spyre_sim_write(sim, address, values.data(), values.size() * sizeof(T)), 0);
  }
  template <typename T>
  std::vector<T> read(uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(spyre_sim_read(sim, address, values.data(), count * sizeof(T)), 0);
    return values;
  }
  template <typename T>
  std::vector<T> readLx(uint32_t core, uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(spyre_sim_read_lx(sim, core, address, values.data(), count * sizeof(T)), 0);
    return values;
  }
  spyre_sim_counters counters() {
    spyre_sim_counters counters;
    spyre_sim_get_counters(sim, &counters);
    return counters;
  }
  std::vector<spyre_sim_event> trace() {
    std::vector<spyre_sim_event> events(spyre_sim_get_trace(sim, nullptr, 0));
    spyre_sim_get_trace(sim, events.data(), events.size());
    return events;
  }

  spyre_sim *sim = nullptr;
  bool sanitizer = true;
  std::array<spyre_sim_segment, 8> segments{};
};

/// DLFloat16 bits of small random numbers; every fifth is special (zeros, extremes, NaN).
inline std::vector<uint16_t> randomDl16(Random &random, size_t count, bool specials = true) {
  constexpr std::array<uint16_t, 8> kSpecials{0x0000, 0x8000, 0x7FFE, 0xFFFE,
                                              0x7FFF, 0xFFFF, 0x0001, 0x3E00};
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values) {
    value = specials && random.below(5) == 0 ? kSpecials[random.below(kSpecials.size())]
                                             : numerics::floatToDl16(random.uniform(-4, 4));
  }
  return values;
}

/// Any bytes.
template <typename T>
std::vector<T> randomBits(Random &random, size_t count) {
  std::vector<T> values(count);
  for (T &value : values) {
    value = T(random.next());
  }
  return values;
}

inline std::vector<float> toFloats(const std::vector<uint16_t> &values) {
  std::vector<float> floats;
  for (uint16_t value : values) {
    floats.push_back(numerics::dl16ToFloat(value));
  }
  return floats;
}

inline void expectFault(const std::string &error, const std::vector<std::string> &words) {
  for (const std::string &word : words) {
    EXPECT_NE(error.find(word), std::string::npos) << "'" << word << "' is not in: " << error;
  }
}

} // namespace spyre::test
