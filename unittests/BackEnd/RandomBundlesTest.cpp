//===- RandomBundlesTest.cpp - 5,000 bundles, from their bytes to the card ------------------===//
//
// Each bundle is written (bundle.mlir and JSON), compiled from these bytes, loaded from the bytes
// of the SpyreCode and run. All memory must be what the evaluator says, bit for bit, the sanitizer
// on. Every tenth is compiled again for a machine with another staging area, hence other tiles: its
// program differs, its results may not.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "GeneratorBundles.h"
#include "Harness.h"
#include "gtest/gtest.h"

#include <cstdlib>

namespace spyre::backend::test {

namespace {

Expected<program::Program> programOf(const RandomBundle &bundle, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(
      Artifacts files, spec::generateBundle(bundle.specs, {.symbolicArguments = bundle.symbolic}));
  SPYRE_ASSIGN_OR_RETURN(Artifacts code, compileBundle(files, device));
  SPYRE_ASSIGN_OR_RETURN(program::Program program,
                         program::readProgram(code.at("spyreCodeDir/init.bin")));
  const int64_t shift = bundle.memory.pool.empty() ? 0 : 1;
  for (program::Symbol &symbol : program.symbols) {
    SPYRE_ASSIGN_OR_RETURN(int64_t argument, spec::parseBundleArgument(symbol.name));
    symbol.value = argument == spec::kPoolArgument ? 0 : device.segmentBase(argument + shift);
  }
  return program;
}

struct Seen {
  int operations = 0, inLx = 0, symbolic = 0, retiled = 0;
};

class RandomBundles : public testing::TestWithParam<const char *> {
protected:
  void runOne(uint64_t seed) {
    Random random(seed * 104729 + 7);
    RandomBundle bundle = randomBundle(random, device);
    SCOPED_TRACE(fmt::format("seed {} {}", seed, spec::writeOpSpecs(bundle.specs)));
    Expected<program::Program> program = programOf(bundle, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    evaluator::Memory expected = bundle.memory;
    Status evaluated = evaluator::evaluate(bundle.specs, expected);
    ASSERT_TRUE(evaluated.ok()) << evaluated.message();
    expectRun(*program, bundle.memory, expected, card);
    if (seed % 10 == 0) {
      Expected<program::Program> retiled = programOf(bundle, other);
      ASSERT_TRUE(retiled.ok()) << retiled.status().message();
      seen.retiled += retiled->phases != program->phases;
      expectRun(*retiled, bundle.memory, expected, otherCard);
    }
    seen.operations += int(bundle.specs.size());
    seen.inLx += bundle.inLx;
    seen.symbolic += bundle.symbolic;
  }

  static void expectSameBytes(const std::string &name, const std::vector<uint8_t> &got,
                              const std::vector<uint8_t> &want, const program::Program &program) {
    for (size_t at = 0; got != want && at < want.size(); ++at) {
      ASSERT_EQ(got[at], want[at]) << name << ", byte " << at << "\n"
                                   << program::disassemble(program);
    }
  }

  static void expectRun(const program::Program &program, evaluator::Memory memory,
                        const evaluator::Memory &expected, Card &card) {
    Status ran = card.run(program, memory);
    ASSERT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(program);
    expectSameBytes("the pool", memory.pool, expected.pool, program);
    for (size_t i = 0; i < expected.arguments.size(); ++i) {
      expectSameBytes(fmt::format("argument {}", i), memory.arguments[i], expected.arguments[i],
                      program);
    }
    ASSERT_GT(card.counters.sanitizer_checks, 0u);
  }

  /// The same machine with another staging area: a small one has 16 KiB, the least that takes every
  /// operation.
  static arch::DeviceDesc withOtherStaging(arch::DeviceDesc device) {
    constexpr int64_t kSmallBytes = 16 << 10, kLargeBytes = 512 << 10;
    if (device.lxStagingBytes() > kSmallBytes) {
      device.lxPlannerBytes = device.lxBytes - kSmallBytes;
    } else {
      device.lxBytes = device.lxPlannerBytes + kLargeBytes;
    }
    return device;
  }

  arch::DeviceDesc device = presetDevice(GetParam());
  arch::DeviceDesc other = withOtherStaging(device);
  Card card{device}, otherCard{other};
  Seen seen;
};

} // namespace

TEST_P(RandomBundles, CardEqualsEvaluatorBitForBit) {
  const uint64_t count = std::getenv("SPYRE_TEST_LONG") ? 25'000 : 2'500;
  for (uint64_t seed = 0; seed < count && !HasFailure(); ++seed) {
    runOne(seed);
  }
  // The generator draws what it says.
  EXPECT_GT(seen.operations, int(count) * 2);
  EXPECT_GT(seen.inLx, int(count) / 4);
  EXPECT_GT(seen.symbolic, int(count) / 4);
  EXPECT_GT(seen.retiled, int(count) / 400);
}

INSTANTIATE_TEST_SUITE_P(Machines, RandomBundles, testing::Values("openspyre", "tiny"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

} // namespace spyre::backend::test
