//===- VerifierBuffersTest.cpp - the rules of symbols and buffers, kept and broken ----------===//
//
// "tiny" has 4 cores, 64 KiB of LX and 8 segments of 16 GiB.
//===--------------------------------------------------------------------------------------------===//
#include "Program/ProgramBuilder.h"
#include "gtest/gtest.h"

#include <functional>

namespace spyre::program {
namespace {

using test::kSegmentBytes;
using test::kTinyLxBytes;

/// Buffers 0 "lx" and 1 "ddr", symbol 0 "s" without a value, two empty phases.
Program base() {
  Program program;
  program.symbols = {{"s", kUnsetSymbol}};
  program.buffers = {test::lxBuffer("lx", 0, 1024), test::ddrBuffer("ddr", 0, 4096)};
  program.phases.resize(2);
  return program;
}

Status verify(const Program &program) {
  return verifyProgram(program, *arch::DeviceDesc::preset("tiny"));
}

Status changed(const std::function<void(Program &)> &change) {
  Program program = base();
  change(program);
  return verify(program);
}

void expectFault(const std::string &words, const std::function<void(Program &)> &change) {
  Status status = changed(change);
  EXPECT_EQ(status.code(), 5103) << words;
  EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
}

void expectGood(const std::function<void(Program &)> &change) {
  Status status = changed(change);
  EXPECT_TRUE(status.ok()) << status.text();
}

TEST(VerifierBuffers, AcceptsTheBase) {
  EXPECT_TRUE(verify({}).ok());
  EXPECT_TRUE(verify(base()).ok());
}

TEST(VerifierBuffers, ChecksNames) {
  expectFault("symbol 0: a name is", [](Program &p) { p.symbols[0].name = ""; });
  expectFault("symbol 0: a name is", [](Program &p) { p.symbols[0].name = "a b"; });
  expectFault("symbol 1: the name 's'", [](Program &p) { p.symbols.push_back({"s", 0}); });
  expectFault("buffer 1: a name is", [](Program &p) { p.buffers[1].name = "x[0]"; });
  expectFault("buffer 1: a name is", [](Program &p) { p.buffers[1].name = "\x1b"; });
  expectFault("buffer 1: the name 'lx'", [](Program &p) { p.buffers[1].name = "lx"; });
  expectGood([](Program &p) { p.buffers[1].name = "A-z_0.9"; });
  // A symbol and a buffer may share one.
  expectGood([](Program &p) { p.buffers[1].name = "s"; });
}

TEST(VerifierBuffers, ChecksSpaces) {
  expectFault("unknown space 2", [](Program &p) { p.buffers[0].space = Space(2); });
  expectFault("buffer 0 'lx': an LX buffer has no symbol",
              [](Program &p) { p.buffers[0].symbol = 0; });
  expectGood([](Program &p) { p.buffers[1].symbol = 0; });
  expectFault("symbol 1 of 1", [](Program &p) { p.buffers[1].symbol = 1; });
  expectFault("symbol -2 of 1", [](Program &p) { p.buffers[1].symbol = -2; });
  expectFault("no core offsets", [](Program &p) { p.buffers[1].coreOffset = {0, 0, 0, 0}; });
  expectFault("for LX buffers", [](Program &p) { p.buffers[1].liveIn = true; });
  expectFault("for LX buffers", [](Program &p) { p.buffers[1].liveOut = true; });
  expectFault("for LX buffers", [](Program &p) { p.buffers[1].inPlaceOf = 0; });
}

TEST(VerifierBuffers, ChecksInPlace) {
  auto third = [](int32_t inPlaceOf) {
    return [inPlaceOf](Program &p) {
      p.buffers.push_back(test::lxBuffer("third", 0, 128));
      p.buffers.back().inPlaceOf = inPlaceOf;
    };
  };
  expectGood(third(0));
  expectFault("buffer 2 'third': in place of 1, which is no earlier LX buffer", third(1));
  expectFault("in place of 2", third(2));
  expectFault("in place of -2", third(-2));
  expectFault("in place of 3", third(3));
}

TEST(VerifierBuffers, ChecksPlacesInLx) {
  expectFault("base 64 is not a multiple of 128", [](Program &p) { p.buffers[0].base = 64; });
  expectFault("0 bytes must be", [](Program &p) { p.buffers[0].bytes = 0; });
  expectFault("-128 bytes must be", [](Program &p) { p.buffers[0].bytes = -128; });
  expectFault("100 bytes must be", [](Program &p) { p.buffers[0].bytes = 100; });
  expectGood([](Program &p) { p.buffers[0].bytes = kTinyLxBytes; });
  expectFault("reaches LX bytes 0..65664", [](Program &p) { p.buffers[0].bytes = 65664; });
  expectFault("reaches LX bytes -128", [](Program &p) { p.buffers[0].base = -128; });
  expectFault("reaches LX", [](Program &p) { p.buffers[0].bytes = INT64_MAX / 128 * 128; });
}

TEST(VerifierBuffers, ChecksCoreOffsets) {
  expectGood([](Program &p) { p.buffers[0].coreOffset = {0, 1024, 2048, 4096}; });
  expectFault("core offsets for 5 cores",
              [](Program &p) { p.buffers[0].coreOffset = {0, 0, 0, 0, 0}; });
  expectFault("core offset 64 is not", [](Program &p) { p.buffers[0].coreOffset = {0, 64}; });
  expectFault("reaches LX bytes 0..", [](Program &p) { p.buffers[0].coreOffset = {0, 65536}; });
  expectFault("reaches LX bytes -128", [](Program &p) { p.buffers[0].coreOffset = {0, -128}; });
}

TEST(VerifierBuffers, ChecksPlacesInDdr) {
  expectGood([](Program &p) { p.buffers[1].base = kSegmentBytes - 4096; });
  expectFault("not inside one of 8 segments",
              [](Program &p) { p.buffers[1].base = kSegmentBytes - 2048; });
  expectGood([](Program &p) { p.buffers[1].base = 8 * kSegmentBytes - 4096; });
  expectFault("not inside one", [](Program &p) { p.buffers[1].base = 8 * kSegmentBytes; });
  expectFault("not inside one", [](Program &p) { p.buffers[1].base = -4096; });
  expectFault("base 2 is not", [](Program &p) { p.buffers[1].base = 2; });
}

// The base of a symbolic buffer is an offset; once the value is known, the sum is checked.
TEST(VerifierBuffers, AddsTheValuesOfSymbols) {
  auto symbolic = [](int64_t value) {
    return [value](Program &p) {
      p.symbols[0].value = value;
      p.buffers[1].base = 128;
      p.buffers[1].symbol = 0;
    };
  };
  expectGood(symbolic(kUnsetSymbol));
  expectGood(symbolic(3 * kSegmentBytes));
  expectGood(symbolic(-128));
  expectFault("base 192 is not", symbolic(64));
  expectFault("not inside one", symbolic(-256));
  expectFault("not inside one", symbolic(kSegmentBytes - 256));
  expectFault("not inside one", symbolic(INT64_MAX / 128 * 128));
}

TEST(VerifierBuffers, ChecksLives) {
  expectGood([](Program &p) { p.buffers[0].lastPhase = 1; });
  expectFault("phases 0..2 of 2", [](Program &p) { p.buffers[0].lastPhase = 2; });
  expectFault("phases -1..0 of 2", [](Program &p) { p.buffers[0].firstPhase = -1; });
  expectFault("phases 1..0 of 2", [](Program &p) { p.buffers[1].firstPhase = 1; });
  expectFault("phases 0..0 of 0", [](Program &p) { p.phases.clear(); });
}

} // namespace
} // namespace spyre::program
