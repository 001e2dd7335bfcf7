//===- BundleModesTest.cpp - symbolic and looped bundles give what baked ones give ----------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/SpyreCode.h"

#include "Harness.h"
#include "gtest/gtest.h"

#include <cstring>
#include <functional>

namespace spyre::backend::test {

namespace {

using spec::AddressExpr;
using spec::Coordinate;

constexpr int64_t kSegment = int64_t(1) << 34;
constexpr int64_t kRows = 8;
constexpr size_t kTensorBytes = size_t(kRows) * 128;

spec::TensorArg rows(int64_t argument, bool isInput, spec::Residency residency, int64_t address) {
  spec::TensorArg arg;
  arg.isInput = isInput;
  arg.argIndex = residency == spec::Residency::Hbm ? argument : -1;
  arg.deviceSize = {1, kRows, 64};
  arg.deviceCoordinates = {Coordinate::floorDiv("c1", 64), Coordinate::var("c0"),
                           Coordinate::mod("c1", 64)};
  arg.residency = residency;
  arg.address = address;
  return arg;
}

spec::OpSpec add(const spec::TensorArg &x, const spec::TensorArg &y, const spec::TensorArg &z) {
  spec::OpSpec spec;
  spec.op = "add";
  spec.iterationSpace = {{"c0", kRows, 2}, {"c1", 64, 1}};
  spec.args = {x, y, z};
  return spec;
}

spec::TensorArg input(int64_t argument) {
  return rows(argument, true, spec::Residency::Hbm, argument % 6 * kSegment);
}
spec::TensorArg output(int64_t argument) {
  return rows(argument, false, spec::Residency::Hbm, argument % 6 * kSegment);
}

/// Element i of tensor t is (i % 8) * (t + 1).
std::string numbered(size_t tensor) {
  std::string bytes(kTensorBytes, '\0');
  for (size_t i = 0; i < kTensorBytes / 2; ++i) {
    uint16_t bits = numerics::floatToDl16(float(i % 8) * float(tensor + 1));
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }
  return bytes;
}

/// One segment with the tensors one behind the other.
evaluator::Memory oneSegment(const std::string &bytes) {
  evaluator::Memory memory;
  memory.arguments = {{bytes.begin(), bytes.end()}};
  return memory;
}

std::string tensorOf(const evaluator::Memory &memory, size_t index) {
  auto begin = memory.arguments.at(0).begin() + int64_t(index * kTensorBytes);
  return {begin, begin + int64_t(kTensorBytes)};
}

Artifacts compiled(const Artifacts &bundle, const arch::DeviceDesc &device) {
  Expected<Artifacts> code = compileBundle(bundle, device);
  EXPECT_TRUE(code.ok()) << code.status().message();
  return code.ok() ? *code : Artifacts{};
}

program::Program programOf(const Artifacts &code) {
  Expected<program::Program> program = program::readProgram(code.at("spyreCodeDir/init.bin"));
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *program : program::Program{};
}

Artifacts symbolicBundle(const std::vector<spec::OpSpec> &specs) {
  Expected<Artifacts> bundle = spec::generateBundle(specs, {.symbolicArguments = true});
  EXPECT_TRUE(bundle.ok()) << bundle.status().message();
  return bundle.ok() ? *bundle : Artifacts{};
}

Status failureOf(const spec::Bundle &bundle, const Artifacts &files) {
  Artifacts changed = files;
  changed["bundle.mlir"] = spec::writeBundleMlir(bundle);
  return compileBundle(changed, presetDevice("tiny")).status();
}

} // namespace

TEST(BundleModes, SymbolsAreTheArgumentsAndTheirSlots) {
  arch::DeviceDesc device = presetDevice("tiny");
  spec::TensorArg pool = rows(-1, false, spec::Residency::Pool, 1024);
  spec::TensorArg poolRead = pool;
  poolRead.isInput = true;
  Artifacts code = compiled(
      symbolicBundle({add(input(1), input(2), pool), add(poolRead, input(1), output(3))}), device);
  program::Program program = programOf(code);
  std::vector<std::string> names;
  for (const program::Symbol &symbol : program.symbols) {
    EXPECT_EQ(symbol.value, program::kUnsetSymbol);
    names.push_back(symbol.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"pool", "arg_1", "arg_2", "arg_3"}));
  for (const program::Buffer &buffer : program.buffers) {
    EXPECT_EQ(buffer.symbol >= 0, buffer.space == program::Space::Ddr) << buffer.name;
    if (buffer.name == "0_add.out") {
      EXPECT_EQ(buffer.symbol, 0);
      EXPECT_EQ(buffer.base, 1024);
    }
  }
  Expected<spec::SpyreCode> plan = spec::readSpyreCode(code.at("spyreCodeDir/spyrecode.json"));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_TRUE(plan->correction.has_value());
  EXPECT_EQ(plan->correction->devicePointer,
            plan->jobs[0] + int64_t(program::symbolValueOffset(0)));
  EXPECT_EQ(plan->correction->sizeBytes, 32);
  ASSERT_EQ(plan->correction->slots.size(), 4u);
  EXPECT_EQ(plan->correction->slots[0], (spec::ProgramCorrection::Slot{0, spec::kPoolArgument}));
  EXPECT_EQ(plan->correction->slots[3], (spec::ProgramCorrection::Slot{24, 3}));
  EXPECT_FALSE(plan->nonTerminal);
}

// Nine tensors are more than a launch has segments; they lie in one, at offsets of no pattern.
TEST(BundleModes, ManyTensorsShareASegment) {
  for (const char *name : {"tiny", "openspyre"}) {
    arch::DeviceDesc device = presetDevice(name);
    std::vector<spec::OpSpec> specs = {add(input(0), input(1), output(8))};
    for (int64_t i = 2; i < 8; ++i) {
      specs.push_back(add(input(8), input(i), output(8)));
    }
    program::Program program = programOf(compiled(symbolicBundle(specs), device));
    ASSERT_EQ(program.symbols.size(), 9u);
    std::string bytes;
    for (size_t place = 0; place < 9; ++place) {
      bytes += place == 8 ? std::string(kTensorBytes, '\0') : numbered(place);
    }
    // Parameters come in the order of first use, places in that of the tensors.
    for (program::Symbol &symbol : program.symbols) {
      int64_t place = std::stoll(symbol.name.substr(4));
      symbol.value = 2 * kSegment + place * int64_t(kTensorBytes);
    }
    evaluator::Memory memory;
    memory.arguments.assign(2, std::vector<uint8_t>(128));
    memory.arguments.emplace_back(bytes.begin(), bytes.end());
    Card card(device);
    Status status = card.run(program, memory);
    ASSERT_TRUE(status.ok()) << status.message();
    auto begin = memory.arguments[2].begin() + 8 * int64_t(kTensorBytes);
    std::string sum(begin, begin + int64_t(kTensorBytes));
    EXPECT_EQ(sum, numbered(35)) << name; // 1 + 2 + ... + 8 = 36 times
  }
}

// A loop over blocks of two rows computes what one operation over all rows does.
TEST(BundleModes, LoopsAdvanceAddresses) {
  arch::DeviceDesc device = presetDevice("tiny");
  spec::OpSpec block = add(input(0), input(1), output(2));
  block.iterationSpace[0].range = 2;
  for (spec::TensorArg &arg : block.args) {
    arg.deviceSize = {1, 2, 64};
  }
  Artifacts bundle = symbolicBundle({block});
  Expected<spec::BundleContents> contents = spec::readBundle(bundle);
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  spec::Bundle looped = contents->bundle;
  spec::BundleNode loop;
  loop.isLoop = true;
  loop.count = kRows / 2;
  loop.body = looped.body;
  for (AddressExpr &operand : loop.body[0].execute.operands) {
    operand.strides = {{0, 256}};
  }
  looped.body = {loop};
  looped.nonTerminal = true;
  bundle["bundle.mlir"] = spec::writeBundleMlir(looped);
  Artifacts code = compiled(bundle, device);
  EXPECT_TRUE(spec::readSpyreCode(code.at("spyreCodeDir/spyrecode.json"))->nonTerminal);
  program::Program program = programOf(code);
  ASSERT_EQ(program.phases.size(), 4u);
  EXPECT_EQ(program.phases[3].name, "0_add");
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    program.symbols[i].value = int64_t(i * kTensorBytes);
  }
  evaluator::Memory memory =
      oneSegment(numbered(0) + numbered(1) + std::string(kTensorBytes, '\0'));
  Card card(device);
  Status status = card.run(program, memory);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(tensorOf(memory, 2), numbered(2));
}

// Operands without an argument are addresses; the program needs no symbol then.
TEST(BundleModes, PlainConstantsAreBakedAddresses) {
  arch::DeviceDesc device = presetDevice("tiny");
  std::vector<spec::OpSpec> specs = {add(input(0), input(1), output(2))};
  Artifacts bundle = symbolicBundle(specs);
  spec::Bundle plain = spec::readBundle(bundle)->bundle;
  for (AddressExpr &operand : plain.body[0].execute.operands) {
    operand.constant += int64_t(operand.arguments[0]) * kSegment;
    operand.arguments.clear();
  }
  plain.arguments.clear();
  bundle["bundle.mlir"] = spec::writeBundleMlir(plain);
  EXPECT_EQ(compiled(bundle, device), compiled(*spec::generateBundle(specs), device));
}

TEST(BundleModes, WhatCannotBeResolvedIsSaid) {
  Artifacts files = symbolicBundle({add(input(0), input(1), output(2))});
  const spec::Bundle good = spec::readBundle(files)->bundle;
  ASSERT_TRUE(failureOf(good, files).ok());
  struct Case {
    const char *part;
    std::function<void(spec::Bundle &, spec::BundleExecute &)> change;
  };
  const std::vector<Case> cases = {
      {"sdsc_0.json: Tensor0 starts at symbol -1, which is not in",
       [](spec::Bundle &, spec::BundleExecute &e) { e.symbolIds[0] = -77; }},
      {"symbol -1: its address is the sum of 2 arguments",
       [](spec::Bundle &, spec::BundleExecute &e) { e.operands[0].arguments = {0, 1}; }},
      {"outside of its argument",
       [](spec::Bundle &, spec::BundleExecute &e) { e.operands[0].constant = kSegment; }},
      {"outside of its argument",
       [](spec::Bundle &, spec::BundleExecute &e) { e.operands[0].constant = -128; }},
      {"outside of the data segments",
       [](spec::Bundle &, spec::BundleExecute &e) { e.operands[0] = {7 * kSegment, {}, {}}; }},
  };
  for (const Case &c : cases) {
    spec::Bundle bundle = good;
    c.change(bundle, bundle.body[0].execute);
    Status status = failureOf(bundle, files);
    EXPECT_EQ(status.code(), 5311) << status.message();
    EXPECT_NE(status.message().find(c.part), std::string::npos) << status.message();
  }
  // Two cores of one tensor in different arguments: no table of offsets can say that.
  spec::Bundle torn = good;
  torn.body[0].execute.operands[1].arguments = {2};
  EXPECT_FALSE(failureOf(torn, files).ok());
  // Misaligned, and beyond the end of its segment.
  spec::Bundle crooked = good;
  crooked.body[0].execute.operands[0].constant = 64;
  EXPECT_EQ(failureOf(crooked, files).code(), 5003);
  spec::Bundle late = good;
  late.body[0].execute.operands[0].constant = kSegment - 128;
  EXPECT_FALSE(failureOf(late, files).ok());
}

TEST(BundleModes, IndirectAccessOfOtherTensorsIsRefused) {
  Artifacts files = *spec::generateBundle({add(input(0), input(1), output(2))});
  Expected<spec::SuperDsc> dsc = spec::readSuperDsc(files["sdsc_0.json"]);
  dsc->tensors[0].indirection = spec::DscTensor::Indirection::Index;
  dsc->tensors[1].indirection = spec::DscTensor::Indirection::Value;
  dsc->tensors[0].indirectPartner = 1;
  dsc->tensors[1].indirectPartner = 0;
  dsc->indexTensors = {0};
  files["sdsc_0.json"] = spec::writeSuperDsc(*dsc);
  Status status = compileBundle(files, presetDevice("tiny")).status();
  EXPECT_EQ(status.code(), 5302) << status.message();
}

} // namespace spyre::backend::test
