//===- VerifierTest.cpp - each rule of phases and instructions, kept and broken -------------===//
//
// "tiny" has 4 cores, 64 KiB of LX and 8 segments of 16 GiB. Each test breaks one rule of an else
// correct phase and looks for the words of that rule.
//===--------------------------------------------------------------------------------------------===//
#include "Program/ProgramBuilder.h"
#include "gtest/gtest.h"

#include <functional>

namespace spyre::program {
namespace {

using numerics::DataFormat;
using test::at;
using test::constant;
using test::ddrAt;
using test::number;
using test::PhaseBuilder;
using test::programOf;

constexpr int64_t kLxBytes = test::kTinyLxBytes;
constexpr int64_t kSegment = test::kSegmentBytes;

/// A machine that counts as far as anybody likes: so a test reaches the rule it is about.
Status verify(const PhaseBuilder &phase, const std::vector<Buffer> &own = {}) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  device.division.maxTripCount = 0;
  return verifyProgram(programOf({phase}, own), device);
}

void expectGood(const PhaseBuilder &phase, const std::vector<Buffer> &own = {}) {
  Status status = verify(phase, own);
  EXPECT_TRUE(status.ok()) << status.text();
}

void expectFault(const PhaseBuilder &phase, const std::string &words,
                 const std::vector<Buffer> &own = {}) {
  Status status = verify(phase, own);
  EXPECT_EQ(status.code(), 5103) << words;
  EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
}

PhaseBuilder changed(PhaseBuilder phase, const std::function<void(Instruction &)> &change) {
  change(phase.phase.instructions.back());
  return phase;
}

/// A phase of one correct instruction.
PhaseBuilder one() { return PhaseBuilder("p"); }
PhaseBuilder goodLoad() { return one().load({4}, ddrAt(0, 0, {128}), at(0, {128})); }
PhaseBuilder goodFill() { return one().fill({}, at(0), 0); }
PhaseBuilder goodMatmul() { return one().matmul({}, at(0), at(128), at(0x4000)); }
PhaseBuilder goodGather() { return one().gather({}, ddrAt(0, 0), at(0), at(128), 10); }
PhaseBuilder goodScatter() { return one().scatter({}, at(128), at(0), ddrAt(0, 0), 10); }
PhaseBuilder goodPick() { return one().pick(2, {}, at(0), at(128), at(256), 10, 2); }
PhaseBuilder goodTopk() { return one().topk(4, {}, at(0), at(1024), number(0)); }
PhaseBuilder goodConvert() {
  return one().convert(DataFormat::Sen169Fp16, DataFormat::IeeeFp32, {}, at(0), at(1024));
}
PhaseBuilder goodVector() { return one().vector(Function::Add, {}, {at(0), at(128), at(256)}); }
PhaseBuilder goodExchange() {
  PhaseBuilder phase("p", 2);
  int32_t peers = phase.table({1, -1});
  return phase.exchange(Function::Sum, {}, peers, at(0), at(128));
}

TEST(Verifier, AcceptsGoodPhases) {
  for (const PhaseBuilder &phase :
       {goodLoad(), goodFill(), goodMatmul(), goodGather(), goodScatter(), goodPick(), goodTopk(),
        goodConvert(), goodVector(), goodExchange(), one().barrier(),
        one().signal(Unit::Ring, 31).wait(Unit::Load, 31)}) {
    expectGood(phase);
  }
  arch::DeviceDesc none;
  none.stickBytes = 0;
  EXPECT_EQ(verifyProgram({}, none).code(), 5103);
}

TEST(Verifier, SaysWhere) {
  Program program = programOf({goodLoad(), goodFill().fill({}, at(64), 0)});
  Status status = verifyProgram(program, *arch::DeviceDesc::preset("tiny"));
  EXPECT_TRUE(status.text().starts_with("phase 1 instruction 1: operand 0")) << status.text();
}

TEST(Verifier, ChecksCoresAndTables) {
  expectFault(PhaseBuilder("p", 0), "phase 0: 0 cores");
  expectFault(PhaseBuilder("p", 5), "5 cores");
  PhaseBuilder wrongSize("p", 2);
  wrongSize.table({0, 128, 256});
  expectFault(wrongSize, "core table 0 has 3 entries for 2 cores");
  expectFault(one().load({}, ddrAt(0, 0).table(0), at(0)), "operand 0 core table 0 of 0");
  expectFault(one().load({}, ddrAt(0, 0).table(-2), at(0)), "core table -2");
  expectFault(one().load({}, ddrAt(0, 0), at(0).slices(0)), "operand 1 core table 0 of 0");
  expectFault(goodFill().only(0), "core table 0 of 0");
  expectFault(goodLoad().peers(3), "core table 3 of 0");
  PhaseBuilder slices("p");
  int32_t table = slices.table({5});
  expectGood(PhaseBuilder(slices).fill({}, at(0).slices(table), 0));
  expectFault(PhaseBuilder(slices).load({}, ddrAt(0, 0).slices(table), at(0)), "slices");
  expectFault(PhaseBuilder(slices).topk(1, {}, at(0), at(512), number(0).slices(table)), "slices");
}

TEST(Verifier, ChecksOpcodesFunctionsAndOperandCounts) {
  expectFault(changed(goodLoad(), [](auto &i) { i.opcode = Opcode(20); }), "unknown opcode 20");
  expectFault(changed(goodLoad(), [](auto &i) { i.opcode = Opcode(0); }), "unknown opcode 0");
  expectFault(changed(goodLoad(), [](auto &i) { i.function = Function::Add; }), "no function");
  expectFault(changed(goodLoad(), [](auto &i) { i.operands.resize(1); }), "takes 2 operands");
  expectFault(changed(goodLoad(), [](auto &i) { i.operands.resize(3); }),
              "takes 2 operands, not 3");
  expectFault(one().vector(Function::Sum, {}, {at(0), at(0)}), "no function 'sum'");
  expectFault(one().vector(Function(200), {}, {at(0), at(0)}), "no function 'unknown' (200)");
  expectFault(one().vector(Function::Where, {}, {at(0), at(0), at(0)}), "takes 4 operands");
  expectFault(one().vector(Function::None, {}, {at(0)}), "no function 'none'");
  expectFault(one().accumulate(Function::Add, {}, at(0), at(256), 64), "no function");
  expectFault(one().finish(Function::Sum, {}, at(0), at(256)), "no function");
  expectFault(changed(goodConvert(), [](auto &i) { i.function = Function::None; }), "no function");
  expectFault(changed(goodExchange(), [](auto &i) { i.function = Function::SumSquares; }),
              "exchange has no function 'sum-squares'");
  expectFault(changed(one().barrier(), [](auto &i) { i.operands.resize(1); }), "takes 0 operands");
}

TEST(Verifier, ChecksFormatsOfTheLanes) {
  PhaseBuilder copy = one().vector(Function::Copy, {}, {at(0), at(128)});
  expectGood(copy.format(DataFormat::IeeeFp32));
  expectGood(copy.format(DataFormat::IeeeInt32));
  expectFault(copy.format(DataFormat::SenInt8), "not in SENINT8");
  expectFault(copy.format(DataFormat(19)), "unknown format 19");
  expectFault(goodLoad().format(DataFormat(200)), "unknown format 200");
  expectGood(goodLoad().format(DataFormat::IeeeInt64));
  auto int32 = [](PhaseBuilder phase) { return phase.format(DataFormat::IeeeInt32); };
  expectFault(int32(one().vector(Function::Exp, {}, {at(0), at(128)})), "vector.exp does not");
  expectFault(int32(one().vector(Function::Div, {}, {at(0), at(0), at(128)})), "vector.div");
  expectGood(int32(one().vector(Function::LessEqual, {}, {at(0), at(0), at(128)})));
  expectGood(int32(one().accumulate(Function::Min, {}, at(0), at(128), 32)));
  expectFault(int32(one().accumulate(Function::AbsMax, {}, at(0), at(128), 32)), "abs-max does");
  expectGood(int32(one().finish(Function::TreeMin, {}, at(0), at(128))));
  expectFault(int32(one().finish(Function::Lanes, {}, at(0), at(128), 0x40000000)), "no scale");
  expectGood(one().finish(Function::Lanes, {}, at(0), at(256), 0x40000000));
  expectFault(goodExchange().format(DataFormat::SenInt8), "exchange computes in");
  expectGood(changed(goodExchange().format(DataFormat::SenInt8),
                     [](auto &i) { i.function = Function::Copy; }));
}

TEST(Verifier, ChecksFormatsOfMatmulTopkAndConvert) {
  for (DataFormat format : {DataFormat::Sen143Fp8, DataFormat::Sen152Fp8, DataFormat::SenInt8}) {
    expectGood(goodMatmul().format(format));
  }
  expectFault(goodMatmul().format(DataFormat::IeeeFp32), "matmul multiplies");
  expectGood(goodTopk().format(DataFormat::IeeeFp32));
  expectFault(goodTopk().format(DataFormat::IeeeInt32), "topk compares");
  auto convert = [](DataFormat from, DataFormat to, Function function = Function::Nearest) {
    return one().convert(from, to, {}, at(0), at(4096), 128, 8, function);
  };
  expectGood(convert(DataFormat::IeeeInt64, DataFormat::SenInt8));
  expectGood(convert(DataFormat::SenInt4, DataFormat::IeeeInt32));
  expectGood(convert(DataFormat::Bfloat16, DataFormat::Bool));
  expectFault(convert(DataFormat::SenInt4, DataFormat::IeeeInt64), "differ 16 times");
  expectFault(convert(DataFormat::Sen153Fp9, DataFormat::IeeeFp32), "SEN153_FP9 has no stick");
  expectFault(convert(DataFormat::IeeeFp32, DataFormat::Invalid), "INVALID has no stick");
  expectFault(convert(DataFormat::IeeeFp32, DataFormat(77)), "unknown format 77");
  expectGood(convert(DataFormat::IeeeFp32, DataFormat::IeeeInt32, Function::Truncate));
  expectGood(convert(DataFormat::IeeeFp32, DataFormat::SenUint2, Function::Nearest)
                 .format(DataFormat::SenInt8));
  expectFault(convert(DataFormat::IeeeFp32, DataFormat::Sen169Fp16, Function::Truncate),
              "convert.truncate gives integers");
  auto vector = [](Function function, DataFormat format) {
    return one().vector(function, {}, {at(0), at(128)}).format(format);
  };
  expectGood(vector(Function::FromInteger, DataFormat::IeeeFp32));
  expectGood(vector(Function::ToInteger, DataFormat::IeeeInt32));
  expectFault(vector(Function::FromInteger, DataFormat::IeeeInt32), "exist for IEEE_INT32");
  expectFault(vector(Function::FromInteger, DataFormat::Sen169Fp16), "exist for SEN169_FP16");
  expectFault(vector(Function::ToInteger, DataFormat::IeeeFp32), "exist for IEEE_FP32");
}

TEST(Verifier, RefusesFieldsWithoutMeaning) {
  auto refused = [](const PhaseBuilder &phase, const std::string &words, auto change) {
    expectFault(changed(phase, change), words);
  };
  refused(goodLoad(), "load has no valid lanes", [](auto &i) { i.validLanes = 1; });
  refused(goodLoad(), "load has no element bytes", [](auto &i) { i.elementBytes = 1; });
  refused(goodLoad(), "load has no group", [](auto &i) { i.group = 1; });
  refused(goodLoad(), "load has no constant", [](auto &i) { i.constant = 1; });
  refused(goodLoad(), "load has no parameter", [](auto &i) { i.parameter = 1; });
  refused(goodLoad(), "no target format", [](auto &i) { i.toFormat = DataFormat::IeeeFp32; });
  refused(goodLoad(), "load has no unit", [](auto &i) { i.unit = Unit::Ring; });
  refused(goodLoad(), "load has no token", [](auto &i) { i.token = 1; });
  refused(goodFill(), "fill has no peer table", [](auto &i) { i.peerTable = 0; });
  PhaseBuilder exchange = goodExchange();
  int32_t table = exchange.table({1, 1});
  expectFault(exchange.only(table), "exchange has no only table");
  for (const PhaseBuilder &control : {one().loop(2), one().end(), one().barrier(),
                                      one().signal(Unit::Load, 0), one().wait(Unit::Load, 0)}) {
    refused(control, "no only table", [](auto &i) { i.onlyTable = 0; });
    refused(control, "no format", [](auto &i) { i.format = DataFormat::IeeeFp32; });
    refused(control, "no counts", [](auto &i) { i.counts[5] = 2; });
  }
  refused(one().end(), "endloop has no parameter", [](auto &i) { i.parameter = 1; });
}

TEST(Verifier, ChecksTokens) {
  expectFault(one().signal(Unit::Load, kMaxTokens), "token 32 must be below 32");
  expectFault(one().wait(Unit::Load, 255), "token 255");
  expectFault(one().wait(Unit(5), 0), "unknown unit 5");
}

TEST(Verifier, ChecksCountsAndLanes) {
  expectFault(one().load({0}, ddrAt(0, 0), at(0)), "count 0");
  expectFault(one().load({-1}, ddrAt(0, 0), at(0)), "count -1");
  for (uint16_t lanes : {0, 65}) {
    expectFault(one().accumulate(Function::Sum, {}, at(0), at(256), lanes),
                "valid lanes must be in 1..64");
    expectFault(one().matmul({}, at(0), at(128), at(0x4000), lanes), "valid lanes");
  }
  expectFault(one().accumulate(Function::Sum, {}, at(0), at(256), 33).format(DataFormat::IeeeFp32),
              "1..32");
  expectGood(one().matmul({}, at(0), at(128), at(0x4000), 128).format(DataFormat::SenInt8));
  expectFault(one().matmul({}, at(0), at(128), at(0x4000), 129).format(DataFormat::SenInt8),
              "1..128");
}

TEST(Verifier, ChecksElementsIndicesAndParameters) {
  expectFault(one().shuffle(3, {}, at(0), at(256)), "shuffle moves elements of 1, 2 or 4 bytes");
  expectFault(one().pick(8, {}, at(0), at(128), at(256), 10, 8), "pick moves elements");
  expectFault(one().gather({}, ddrAt(0, 0), at(0), at(128), 10, 128, 2), "indices of 4 or 8");
  expectFault(one().scatter({}, at(128), at(0), ddrAt(0, 0), 10, 128, 1), "indices of 4 or 8");
  for (const PhaseBuilder &indexed : {goodGather(), goodScatter(), goodPick()}) {
    expectFault(changed(indexed, [](auto &i) { i.constant = 0; }), "bound of");
  }
  expectFault(changed(goodGather(), [](auto &i) { i.parameter = 64; }), "stride 64 is not");
  expectFault(changed(goodScatter(), [](auto &i) { i.parameter = 4; }), "stride 4 is not");
  expectFault(changed(goodPick(), [](auto &i) { i.parameter = 3; }), "multiple of 2");
  expectFault(changed(goodConvert(), [](auto &i) { i.parameter = 100; }), "stride 100 is not");
  expectFault(changed(goodMatmul(), [](auto &i) { i.parameter = 100; }), "rowstride 100 is not");
  expectFault(changed(goodConvert(), [](auto &i) { i.group = 4; }),
              "groups of 1 or 8 lanes, not 4");
  expectFault(changed(goodTopk(), [](auto &i) { i.parameter = 0; }), "topk keeps 1..64");
  expectFault(changed(goodTopk(), [](auto &i) { i.parameter = 65; }), "topk keeps 1..64");
}

TEST(Verifier, ChecksKindsOfOperands) {
  auto copy = [](test::At in) { return one().vector(Function::Copy, {}, {in, at(128)}); };
  expectGood(copy(constant(0xffffffff)));
  expectFault(copy(constant(int64_t(1) << 32)), "not 32 bits");
  expectFault(copy(constant(-1)), "not 32 bits");
  expectGood(copy(constant(UINT32_MAX)).format(DataFormat::IeeeInt32));
  expectFault(copy(constant(UINT32_MAX + int64_t(1))), "not 32 bits");
  expectFault(copy(constant(0).in(0)), "names 0");
  expectFault(copy(constant(0).loops({128})), "no tables and strides");
  expectFault(copy(constant(0).table(0)), "no tables and strides");
  expectFault(copy(constant(0).slices(0)), "no tables and strides");
  expectFault(changed(copy(constant(0)), [](auto &i) { i.operands[0].stride[5] = 1; }),
              "no tables and strides");
  expectFault(copy(constant(0).splat(0)), "may not be splat");
  expectFault(copy(number(0)), "operand 0 may not be a number");
  expectFault(one().vector(Function::Copy, {}, {at(0), constant(0)}), "may not be a constant");
  expectFault(one().store({}, constant(0), ddrAt(0, 0)), "may not be a constant");
  expectFault(one().topk(1, {}, at(0), at(512), at(0)), "operand 2 is memory");
  expectFault(one().topk(1, {}, at(0), at(512), number(0).in(0)), "names 0");
  expectFault(changed(goodFill(), [](auto &i) { i.operands[0].kind = Operand::Kind(3); }),
              "unknown kind 3");
}

TEST(Verifier, ChecksSplats) {
  auto copy = [](int8_t lane) {
    return one().vector(Function::Copy, {}, {at(0).splat(lane), at(128)});
  };
  expectGood(copy(63));
  expectFault(copy(64), "splats lane 64, but a stick has 64");
  expectFault(copy(32).format(DataFormat::IeeeFp32), "a stick has 32");
  expectFault(copy(-2), "splats lane -2");
  expectFault(one().load({}, ddrAt(0, 0), at(0).splat(0)), "may not be splat");
  expectFault(one().vector(Function::Copy, {}, {at(0), at(128).splat(1)}),
              "operand 1 may not be splat");
}

TEST(Verifier, ChecksBuffersOfOperands) {
  expectFault(one().fill({}, at(0).in(-1), 0), "operand 0 uses buffer -1 of 9");
  expectFault(one().fill({}, at(0).in(9), 0), "uses buffer 9 of 9");
  expectFault(one().load({}, at(0), at(0)), "operand 0 must be in DDR, but buffer 'lx' is in LX");
  expectFault(one().store({}, at(0), at(0)), "operand 1 must be in DDR");
  expectFault(one().fill({}, ddrAt(0, 0), 0), "must be in LX, but buffer 'segment0' is in DDR");
  expectFault(one().gather({}, ddrAt(0, 0), ddrAt(0, 0), at(0), 1), "operand 1 must be in LX");
  Buffer own = test::lxBuffer("own", 0, 128);
  own.coreOffset = {0, 128};
  PhaseBuilder two("p", 2), three("p", 3);
  expectGood(two.fill({}, at(0).in(test::kFirstOwnBuffer), 0), {own});
  expectFault(three.fill({}, at(0).in(test::kFirstOwnBuffer), 0), "for 2 of 3 cores", {own});
}

TEST(Verifier, ChecksLoopNesting) {
  auto nested = [](int depth) {
    PhaseBuilder phase("p");
    for (int i = 0; i < depth; ++i) {
      phase.loop(2);
    }
    phase.fill({}, at(0), 0);
    for (int i = 0; i < depth; ++i) {
      phase.end();
    }
    return phase;
  };
  expectGood(nested(4));
  expectFault(nested(5), "nested deeper than 4");
  expectFault(one().loop(2).fill({}, at(0), 0), "instruction 0: loop without endloop");
  expectFault(goodLoad().end(), "endloop without loop");
  expectFault(one().loop(2).end(), "loop without a body");
  expectFault(one().loop(0).fill({}, at(0), 0).end(), "loop count 0");
  expectFault(one().loop(2).fill({}, at(0).loops({0, 128}), 0).end(), "stride for loop 1");
}

TEST(Verifier, LoopsAndLevelsCountAsFarAsTheMachine) {
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  auto textOf = [&](const PhaseBuilder &phase) {
    return verifyProgram(programOf({phase}), device).text();
  };
  EXPECT_EQ(textOf(one().loop(65535).fill({65535}, at(0), 0).end()), "");
  EXPECT_NE(textOf(one().loop(65536).fill({}, at(0), 0).end())
                .find("loop count 65536 must be in 1..65535"),
            std::string::npos);
  EXPECT_NE(textOf(one().load({65536}, ddrAt(0, 0), at(0)))
                .find("instruction 0: count 65536 must be in 1..65535"),
            std::string::npos);
}

TEST(Verifier, RefusesStridesOfLevelsWithOnePoint) {
  expectFault(one().fill({1}, at(0, {128}), 0), "operand 0 has a stride for level 5");
  expectFault(one().fill({1, 2}, at(0, {128, 128}), 0), "stride for level 4");
  expectFault(one().topk(1, {1}, at(0), at(512), number(0, {1})), "operand 2 has a stride");
}

TEST(Verifier, ChecksAlignment) {
  expectFault(one().load({}, ddrAt(0, 64), at(0)), "64 that is not a multiple of 128");
  expectFault(one().load({}, ddrAt(0, 0), at(2)), "2 that is not a multiple of 128");
  expectFault(one().load({2}, ddrAt(0, 0, {130}), at(0, {128})), "130 that is not a multiple");
  expectFault(one().loop(2).load({}, ddrAt(0, 0).loops({100}), at(0)).end(), "100 that is not");
  PhaseBuilder table("p");
  table.load({}, ddrAt(0, 0).table(table.table({96})), at(0));
  expectFault(table, "96 that is not a multiple of 128");
  expectGood(one().shuffle(2, {4}, at(2, {6}), at(130, {2})));
  expectFault(one().shuffle(4, {4}, at(2, {4}), at(128, {4})), "2 that is not a multiple of 4");
  expectGood(one().gather({2}, ddrAt(0, 0), at(4, {4}), at(128), 10));
  expectFault(one().gather({}, ddrAt(0, 0), at(4), at(128), 10, 128, 8),
              "4 that is not a multiple");
  expectFault(one().pick(1, {}, at(1), at(2), at(3), 10, 1),
              "operand 1 has an address or stride 2");
  expectGood(one().pick(1, {}, at(1), at(4), at(3), 10, 1));
  // Numbers are no addresses.
  expectGood(one().topk(1, {2}, at(0), at(512), number(3, {5})));
}

TEST(Verifier, ChecksTheReachInLx) {
  constexpr int64_t kLast = kLxBytes - 128;
  expectGood(one().fill({}, at(kLast), 0));
  expectFault(one().fill({}, at(kLxBytes), 0), "but LX has 65536");
  expectFault(one().fill({}, at(-128), 0), "reaches LX bytes -128..0");
  // Levels, in both directions.
  expectGood(one().fill({512}, at(0, {128}), 0));
  expectFault(one().fill({513}, at(0, {128}), 0), "reaches LX bytes 0..65664");
  expectGood(one().fill({512}, at(kLast, {-128}), 0));
  expectFault(one().fill({513}, at(kLast, {-128}), 0), "reaches LX bytes -128");
  // Loops.
  expectGood(one().loop(2).fill({}, at(kLast - 128).loops({128}), 0).end());
  expectFault(one().loop(3).fill({}, at(kLast - 128).loops({128}), 0).end(), "reaches");
  // Several sticks per point.
  expectFault(one().finish(Function::Lanes, {}, at(kLast), at(0)), "operand 0 reaches");
  expectGood(one().matmul({}, at(0), at(kLxBytes - 63 * 128), at(256), 63));
  expectFault(one().matmul({}, at(0), at(kLxBytes - 63 * 128), at(256)), "operand 1");
  expectFault(one().matmul({}, at(0), at(0), at(256), 64, -128), "operand 1 reaches");
  expectGood(one().topk(4, {}, at(0), at(kLxBytes - 2048), number(0)));
  expectFault(one().topk(5, {}, at(0), at(kLxBytes - 2048), number(0)), "operand 1 reaches");
  expectFault(changed(goodConvert(), [](auto &i) { i.parameter = kLxBytes; }), "operand 1 reaches");
  expectGood(one().shuffle(2, {}, at(0), at(kLxBytes - 2)));
  expectFault(one().shuffle(2, {2}, at(0), at(kLxBytes - 2, {2})), "operand 1 reaches");
  // As far as an index may lead.
  expectGood(one().pick(2, {}, at(kLxBytes - 20), at(0), at(4), 10, 2));
  expectFault(one().pick(2, {}, at(kLxBytes - 20), at(0), at(4), 11, 2), "operand 0 reaches");
}

TEST(Verifier, ChecksTheReachOfEachCore) {
  PhaseBuilder table("p", 3);
  int32_t offsets = table.table({0, 128, kLxBytes});
  int32_t only = table.table({1, 1, 0});
  expectFault(PhaseBuilder(table).fill({}, at(0).table(offsets), 0), "reaches LX bytes 0..65664");
  // The core that leaves does not run it.
  expectGood(PhaseBuilder(table).fill({}, at(0).table(offsets), 0).only(only));
  // Offsets of the buffer and of the table are added core by core.
  Buffer own = test::lxBuffer("own", 0, 128);
  own.coreOffset = {kLxBytes - 128, 0, 0};
  PhaseBuilder both("p", 3);
  int32_t opposite = both.table({0, 0, kLxBytes - 128});
  int32_t same = both.table({128, 0, 0});
  expectGood(PhaseBuilder(both).fill({}, at(0).in(test::kFirstOwnBuffer).table(opposite), 0),
             {own});
  expectFault(PhaseBuilder(both).fill({}, at(0).in(test::kFirstOwnBuffer).table(same), 0),
              "reaches LX", {own});
}

TEST(Verifier, ChecksThatDdrRangesStayInOneSegment) {
  auto load = [](int32_t segment, int64_t offset, int64_t count) {
    return count == 1 ? one().load({}, ddrAt(segment, offset), at(0))
                      : one().load({count}, ddrAt(segment, offset, {128}), at(0));
  };
  expectGood(load(0, kSegment - 128, 1));
  expectFault(load(0, kSegment - 128, 2), "not inside one of 8 segments");
  expectGood(load(7, kSegment - 128, 1));
  expectFault(load(7, kSegment, 1), "not inside one");
  expectFault(load(0, -128, 1), "not inside one");
  PhaseBuilder table("p", 2);
  table.load({}, ddrAt(0, 0).table(table.table({0, kSegment})), at(0));
  expectFault(table, "not inside one");
  expectGood(one().gather({}, ddrAt(0, kSegment - 1280), at(0), at(128), 10));
  expectFault(one().gather({}, ddrAt(0, kSegment - 1280), at(0), at(128), 11), "operand 0 reaches");
  expectFault(one().scatter({}, at(128), at(0), ddrAt(0, 0), 2, -128), "operand 2 reaches");
}

TEST(Verifier, ChecksNumbers) {
  PhaseBuilder phase("p", 2);
  int32_t table = phase.table({0, 2});
  auto topk = [&](test::At numbers) {
    return PhaseBuilder(phase).topk(1, {2}, at(0), at(512), numbers);
  };
  expectGood(topk(number(INT32_MAX - 2).table(table)));
  expectFault(topk(number(INT32_MAX - 1).table(table)), "not 32-bit integers");
  expectFault(topk(number(INT32_MIN, {-1})), "not 32-bit integers");
}

TEST(Verifier, ChecksPredicates) {
  PhaseBuilder phase("p", 2);
  int32_t good = phase.table({0, 1}), bad = phase.table({0, 2});
  expectGood(PhaseBuilder(phase).fill({}, at(0), 0).only(good));
  expectFault(PhaseBuilder(phase).fill({}, at(0), 0).only(bad), "entry 2 of the predicate");
}

TEST(Verifier, ChecksPeersOfExchange) {
  auto exchange = [](const std::vector<int64_t> &peers) {
    PhaseBuilder phase("p", int64_t(peers.size()));
    int32_t table = phase.table(peers);
    return phase.exchange(Function::Copy, {}, table, at(0), at(128));
  };
  expectGood(exchange({1, 0, -1}));
  expectFault(exchange({1, 2}), "peer 2 is none of the 2 cores");
  expectFault(exchange({-2, 0}), "peer -2");
  expectFault(goodExchange().peers(-1), "exchange needs a table of peers");
}

// The ring keeps all of it until every core has read.
TEST(Verifier, ChecksTheSizeOfExchange) {
  auto exchange = [](int64_t times) {
    PhaseBuilder phase("p", 2);
    int32_t peers = phase.table({1, 0});
    return phase.exchange(Function::Copy, {times, 2}, peers, at(0, {0, 128}), at(0, {0, 128}));
  };
  constexpr int64_t kMost = kLxBytes / 128 / 2;
  expectGood(exchange(kMost));
  expectFault(exchange(kMost + 1), "exchange moves 514 sticks, but LX has 512");
  expectFault(exchange(int64_t(1) << 40), "exchange moves");
}

TEST(Verifier, ChecksLeadersOfLoad) {
  PhaseBuilder phase("p", 4);
  int32_t pairs = phase.table({0, 0, 2, 2}), chain = phase.table({0, 0, 1, 3});
  int32_t none = phase.table({0, -1, 2, 3});
  int32_t offsets = phase.table({128, 128, 0, 0}), differing = phase.table({0, 128, 0, 0});
  int32_t allButLeader = phase.table({0, 1, 1, 1}), allButFollower = phase.table({1, 0, 1, 1});
  auto load = [&](int32_t leaders, int32_t table = -1) {
    return PhaseBuilder(phase).load({}, ddrAt(0, 0).table(table), at(0)).peers(leaders);
  };
  expectGood(load(pairs));
  expectGood(load(pairs, offsets));
  expectFault(load(pairs, differing), "core 1 loads with core 0, but their DDR addresses differ");
  expectFault(load(chain), "core 2 loads with core 1, which is not its own leader");
  expectFault(load(none), "core 1 loads with core -1");
  expectGood(load(pairs).only(allButFollower));
  expectFault(load(pairs, 1000), "core table 1000 of");
  expectFault(load(pairs).only(allButLeader), "core 1 loads with core 0, which skips");
}

TEST(Verifier, SurvivesNumbersThatOverflow) {
  constexpr int64_t kHuge = INT64_MAX / 128 * 128;
  expectFault(one().fill({2}, at(kHuge, {kHuge}), 0), "reaches LX");
  expectFault(one().fill({2}, at(-kHuge, {-kHuge}), 0), "reaches LX");
  expectFault(one().load({2, 2}, ddrAt(7, kHuge, {kHuge, kHuge}), at(0)), "reaches DDR");
  expectFault(one().fill({INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, at(0), 0), "points or more");
  // Four steps of 2^62 come back to zero in 64 bits.
  expectFault(one().fill({5}, at(0, {int64_t(1) << 62}), 0), "reaches LX");
  expectFault(one().gather({}, ddrAt(0, 0), at(0), at(128), UINT32_MAX, kHuge), "reaches DDR");
  expectFault(one().topk(1, {2}, at(0), at(512), number(INT64_MAX, {INT64_MAX})), "32-bit");
}

TEST(Verifier, BoundsTheWork) {
  constexpr int64_t kMany = int64_t(1) << 24;
  expectGood(one().loop(kMany).fill({kMany - 1}, at(0), 0).end());
  expectFault(one().loop(kMany).fill({kMany}, at(0), 0).end(), "points or more");
  expectFault(one().loop(int64_t(1) << 48).fill({}, at(0), 0).end(), "loop count");
  // The sum counts, not each instruction alone; and what has no points counts once.
  expectFault(one().loop(kMany).fill({kMany / 2}, at(0), 0).fill({kMany / 2}, at(0), 0).end(),
              "instruction 2: the program runs");
  expectFault(one().loop(kMany).loop(kMany).barrier().end().end(), "points or more");
}

} // namespace
} // namespace spyre::program
