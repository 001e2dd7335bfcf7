//===- RolesTest.cpp - names, units and operands of instructions ----------------------------===//
#include "Program/ProgramBuilder.h"
#include "gtest/gtest.h"

#include <set>

namespace spyre::program {
namespace {

using numerics::DataFormat;
using test::at;
using test::ddrAt;
using test::PhaseBuilder;

Instruction last(const PhaseBuilder &phase) { return phase.phase.instructions.back(); }

TEST(Names, OpcodesAndUnits) {
  std::set<std::string> names;
  for (int opcode = int(Opcode::Load); opcode <= int(Opcode::Wait); ++opcode) {
    names.insert(opcodeName(Opcode(opcode)));
  }
  EXPECT_EQ(names.size(), 19u);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(opcodeName(Opcode::Load), "load");
  EXPECT_STREQ(opcodeName(Opcode::TopK), "topk");
  EXPECT_STREQ(opcodeName(Opcode::EndLoop), "endloop");
  EXPECT_STREQ(opcodeName(Opcode::Wait), "wait");
  EXPECT_STREQ(opcodeName(Opcode(0)), "unknown");
  EXPECT_STREQ(opcodeName(Opcode(20)), "unknown");
  EXPECT_STREQ(unitName(Unit::Matrix), "matrix");
  EXPECT_STREQ(unitName(Unit(5)), "unknown");
  EXPECT_EQ(unitOf(Opcode::Gather), Unit::Load);
  EXPECT_EQ(unitOf(Opcode::Scatter), Unit::Store);
  EXPECT_EQ(unitOf(Opcode::Matmul), Unit::Matrix);
  EXPECT_EQ(unitOf(Opcode::Exchange), Unit::Ring);
  EXPECT_EQ(unitOf(Opcode::Fill), Unit::Vector);
  EXPECT_EQ(unitOf(Opcode::Barrier), Unit::Vector);
}

TEST(Names, FunctionsHaveOneNameEachAndTheirInputs) {
  std::set<std::string> names;
  size_t known = 0;
  for (int function = 0; function < 256; ++function) {
    std::string name = functionName(Function(function));
    if (name != "unknown") {
      ++known;
      names.insert(name);
    }
  }
  EXPECT_EQ(known, 61u);
  EXPECT_EQ(names.size(), known);
  EXPECT_STREQ(functionName(Function::GreaterEqual), "greater-equal");
  EXPECT_STREQ(functionName(Function::LayerNormScale), "layer-norm-scale");
  EXPECT_STREQ(functionName(Function::TreeSum), "tree-sum");
  EXPECT_EQ(vectorInputs(Function::Mish), 1u);
  EXPECT_EQ(vectorInputs(Function::LeakyRelu), 2u);
  EXPECT_EQ(vectorInputs(Function::Softplus), 3u);
  EXPECT_EQ(vectorInputs(Function::LayerNormNorm), 5u);
  for (Function none : {Function::None, Function::Sum, Function::Lanes, Function::Nearest}) {
    EXPECT_EQ(vectorInputs(none), 0u);
  }
  EXPECT_TRUE(isTranscendental(Function::Exp));
  EXPECT_TRUE(isTranscendental(Function::Div));
  EXPECT_FALSE(isTranscendental(Function::Fma));
  EXPECT_FALSE(isTranscendental(Function(200)));
}

TEST(Roles, TheResultIsTheLastOperandButOfTopK) {
  Instruction topk = last(PhaseBuilder("p").topk(4, {}, at(0), at(256), test::number(0)));
  OperandRoles roles = operandRoles(topk);
  EXPECT_EQ(roles.count, 3u);
  EXPECT_EQ(roles.role[1], Role::LxState);
  EXPECT_EQ(roles.role[2], Role::Number);
  EXPECT_EQ(resultOperand(topk), 1u);
  EXPECT_EQ(pointBytes(topk, 0), 128);
  EXPECT_EQ(pointBytes(topk, 1), 2 * 4 * 256);
  EXPECT_EQ(pointBytes(topk, 2), 0);
  EXPECT_EQ(pointBytes(topk, 3), 0);
  Instruction gather = last(PhaseBuilder("p").gather({}, ddrAt(0, 0), at(0), at(128), 1, 128, 8));
  EXPECT_EQ(resultOperand(gather), 2u);
  EXPECT_EQ(operandRoles(gather).role[0], Role::DdrStick);
  EXPECT_EQ(pointBytes(gather, 1), 8);
  EXPECT_EQ(resultOperand(last(PhaseBuilder("p").barrier())), 0u);
  EXPECT_EQ(operandRoles(last(PhaseBuilder("p").barrier())).count, 0u);
}

TEST(Roles, VectorTakesItsInputsAndTheResult) {
  for (Function function :
       {Function::Neg, Function::Add, Function::Where, Function::LayerNormNorm}) {
    Instruction vector = last(PhaseBuilder("p").vector(function, {}, {}));
    OperandRoles roles = operandRoles(vector);
    EXPECT_EQ(roles.count, vectorInputs(function) + 1);
    EXPECT_EQ(roles.role[roles.count - 1], Role::LxStick);
  }
}

TEST(Roles, AccumulatorsAndBlocksOfB) {
  Instruction matmul = last(PhaseBuilder("p").matmul({}, at(0), at(0), at(0), 63));
  EXPECT_EQ(pointPlaces(matmul, 0), 1);
  EXPECT_EQ(pointPlaces(matmul, 1), 63);
  EXPECT_EQ(pointBytes(matmul, 1), 128);
  EXPECT_EQ(pointBytes(matmul, 2), kMatmulAccBytes);
  // Two rows of B share a stick of bytes; the accumulator stays 64 lanes.
  matmul.format = DataFormat::SenInt8;
  matmul.validLanes = 127;
  EXPECT_EQ(pointPlaces(matmul, 1), 64);
  EXPECT_EQ(pointBytes(matmul, 2), kMatmulAccBytes);
  Instruction sum = last(PhaseBuilder("p").accumulate(Function::Sum, {}, at(0), at(0), 64));
  EXPECT_EQ(pointBytes(sum, 1), 256);
  sum.format = DataFormat::IeeeInt32;
  EXPECT_EQ(pointBytes(sum, 1), 128);
}

TEST(Roles, ConvertHasSeveralSticksOnTheSideOfTheWideFormat) {
  auto convert = [](DataFormat from, DataFormat to) {
    return last(PhaseBuilder("p").convert(from, to, {}, at(0), at(0)));
  };
  Instruction widen = convert(DataFormat::Sen169Fp16, DataFormat::IeeeFp32);
  EXPECT_EQ(convertRatio(widen), 2);
  EXPECT_EQ(pointPlaces(widen, 0), 1);
  EXPECT_EQ(pointPlaces(widen, 1), 2);
  Instruction narrow = convert(DataFormat::IeeeInt64, DataFormat::SenInt8);
  EXPECT_EQ(convertRatio(narrow), 8);
  EXPECT_EQ(pointPlaces(narrow, 0), 8);
  EXPECT_EQ(pointPlaces(narrow, 1), 1);
  Instruction same = convert(DataFormat::IeeeFp16, DataFormat::Sen169Fp16);
  EXPECT_EQ(convertRatio(same), 1);
  EXPECT_EQ(operandRoles(same).role[0], Role::LxStick);
  EXPECT_EQ(operandRoles(same).role[1], Role::LxStick);
  EXPECT_EQ(convertRatio(convert(DataFormat::Invalid, DataFormat::IeeeFp32)), 1);
}

} // namespace
} // namespace spyre::program
