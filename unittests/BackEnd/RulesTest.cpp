//===- RulesTest.cpp - what the back end refuses, and that nothing gets past it -------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "Generator.h"
#include "Harness.h"
#include "gtest/gtest.h"

namespace spyre::backend::test {

using spec::SuperDsc;

static SuperDsc sampleOf(const std::string &op, uint64_t seed = 5) {
  Random random(seed);
  RandomCase sample = randomCase(op, random, presetDevice("tiny"), false);
  Expected<SuperDsc> dsc = throughJson(sample.spec, 0);
  SPYRE_CHECK(dsc.ok(), "generated operations can be emitted");
  return *dsc;
}

/// add of fp16 [8, 128], rows over two cores.
static SuperDsc plainAdd() {
  spec::OpSpec spec;
  spec.op = "add";
  spec.iterationSpace = {{"c0", 8, 2}, {"c1", 128, 1}};
  for (int64_t i = 0; i < 3; ++i) {
    spec::TensorArg arg;
    arg.isInput = i < 2;
    arg.argIndex = i;
    arg.address = i << 34;
    arg.deviceSize = {2, 8, 64};
    arg.deviceCoordinates = {spec::Coordinate::floorDiv("c1", 64), spec::Coordinate::var("c0"),
                             spec::Coordinate::mod("c1", 64)};
    spec.args.push_back(arg);
  }
  Expected<SuperDsc> dsc = throughJson(spec, 0);
  SPYRE_CHECK(dsc.ok(), "the plain add can be emitted");
  return *dsc;
}

static void expectError(const SuperDsc &dsc, const arch::DeviceDesc &device, int code,
                        const std::string &part) {
  Expected<program::Program> program = lowerSuperDscs({dsc}, device);
  ASSERT_FALSE(program.ok()) << "expected E" << code << " with '" << part << "'";
  EXPECT_EQ(program.status().code(), code) << program.status().message();
  EXPECT_NE(program.status().text().find(part), std::string::npos) << program.status().message();
}

static void expectError(const SuperDsc &dsc, int code, const std::string &part) {
  expectError(dsc, presetDevice("openspyre"), code, part);
}

TEST(Refuses, OperationsWithoutALowering) {
  SuperDsc dsc = plainAdd();
  dsc.op = "matmul";
  expectError(dsc, 5301, "is documented, not lowered yet");
  for (const char *name : {"fnms", "batchnormfwd", "batchmatmulint4"}) {
    dsc.op = name;
    expectError(dsc, 5301, "is known, undocumented");
  }
  for (const char *name : {"argmax", "", "Add"}) {
    dsc.op = name;
    expectError(dsc, 5301, "is unknown");
  }
}

TEST(Refuses, DifferentSticks) {
  SuperDsc dsc = plainAdd();
  dsc.size[0].second = dsc.perCoreSize[0].second = 128;
  dsc.slices[0].second = dsc.cores = 1;
  for (spec::DscTensor &tensor : dsc.tensors) {
    tensor.startAddress.resize(1);
  }
  dsc.layouts.push_back({"KERNEL", {"mb", "out"}, {"mb"}, {64}});
  dsc.tensors[1].layout = "KERNEL";
  expectError(dsc, 5302, "same stick dimension");
}

TEST(Refuses, UnknownDimensionsAndWrongOperands) {
  SuperDsc unknown = plainAdd();
  unknown.tensors[0].dimOrder = {"mb", "zz"};
  expectError(unknown, 5302, "'zz'");
  SuperDsc dropped = plainAdd();
  dropped.tensors[2].scale = {{"mb", -1}, {"out", 1}};
  expectError(dropped, 5302, "only a reduction may drop");
  SuperDsc lonely = plainAdd();
  lonely.inputs = {0};
  expectError(lonely, 5302, "1 inputs, the operation takes 2");
  SuperDsc partial = plainAdd();
  partial.size[1].second = partial.perCoreSize[1].second = 100;
  expectError(partial, 5302, "not whole sticks");
}

TEST(Refuses, FormatsItCannotCompute) {
  SuperDsc mixed = plainAdd();
  mixed.tensors[1].format = numerics::DataFormat::IeeeFp32;
  expectError(mixed, 5302, "convert first");
  SuperDsc matmul = sampleOf("batchmatmul");
  for (spec::DscTensor &tensor : matmul.tensors) {
    tensor.format = numerics::DataFormat::IeeeFp32;
  }
  expectError(matmul, 5302, "IEEE_FP32 is not lowered");
}

TEST(Refuses, AddressesOutsideTheTensorsMemory) {
  SuperDsc program = plainAdd();
  program.tensors[0].startAddress = {int64_t(7) << 34, (int64_t(7) << 34) + 512};
  expectError(program, 5302, "outside of the data segments");
  SuperDsc twoSegments = plainAdd();
  twoSegments.tensors[0].startAddress[1] = int64_t(1) << 34;
  expectError(twoSegments, 5302, "the same on all cores");
  SuperDsc lx = plainAdd();
  lx.tensors[2].inLx = true;
  int64_t begin = presetDevice("openspyre").lxStagingBegin();
  lx.tensors[2].startAddress = {begin - 4 * 128, begin - 4 * 128};
  expectError(lx, 5302, "the planner's part of LX");
}

TEST(Refuses, MasksItCannotHonour) {
  SuperDsc dsc = plainAdd();
  dsc.masking = {{"out", {100, 28}}};
  expectError(dsc, 5302, "only a reduced stick dimension");
  SuperDsc sum = sampleOf("sum");
  int64_t size = *spec::findDim(sum.size, "out");
  sum.masking = {{"out", {size - 1, 1}}};
  sum.constants.clear();
  expectError(sum, 5302, "samv-maskvalue");
  sum.masking = {{"out", {0, size}}};
  expectError(sum, 5302, "tail of less than one stick");
}

TEST(Refuses, AStagingAreaWithoutRoomForOneStep) {
  arch::DeviceDesc device = presetDevice("tiny");
  device.lxPlannerBytes = device.lxBytes - 256;
  expectError(plainAdd(), device, 5303, "needs 384 bytes of staging area, the machine has 256");
  expectError(sampleOf("max"), device, 5303, "machine has 256");
  expectError(sampleOf("batchmatmul"), device, 5303, "machine has 256");
  // A restickify moves its blocks in parts, down to one stick on each side.
  device.lxPlannerBytes = device.lxBytes - 128;
  expectError(sampleOf("ReStickifyOpHBM"), device, 5303, "machine has 128");
}

TEST(Refuses, ProgramsThatWouldBeTooLong) {
  arch::DeviceDesc device = presetDevice("openspyre");
  device.lxPlannerBytes = device.lxBytes - 3 * 128;
  device.spanLimitBytes = int64_t(1) << 34;
  spec::OpSpec spec;
  spec.op = "add";
  spec.iterationSpace = {{"c0", 90000, 1}, {"c1", 2, 1}, {"c2", 2, 1},
                         {"c3", 2, 1},     {"c4", 2, 1}, {"c5", 64, 1}};
  for (int64_t i = 0; i < 3; ++i) {
    spec::TensorArg arg;
    arg.isInput = i < 2;
    arg.argIndex = i;
    arg.address = i << 34;
    arg.deviceSize = {1, 90000, 2, 2, 2, 2, 64};
    arg.deviceCoordinates = {spec::Coordinate::floorDiv("c5", 64)};
    for (int dim : {0, 1, 2, 3, 4}) {
      // The inputs have the small dimensions the other way round, so nothing joins.
      int from = i < 2 && dim > 0 ? 5 - dim : dim;
      arg.deviceCoordinates.push_back(spec::Coordinate::var("c" + std::to_string(from)));
    }
    arg.deviceCoordinates.push_back(spec::Coordinate::mod("c5", 64));
    spec.args.push_back(arg);
  }
  Expected<SuperDsc> dsc = throughJson(spec, 0);
  ASSERT_TRUE(dsc.ok()) << dsc.status().message();
  expectError(*dsc, device, 5303, "instructions");
}

TEST(Refuses, SpansBeyondTheLimit) {
  arch::DeviceDesc device = presetDevice("openspyre");
  // A core touches 4 rows of each of 2 stick columns: from stick 0 to stick 8 + 3.
  device.spanLimitBytes = 12 * 128;
  ASSERT_TRUE(lowerSuperDscs({plainAdd()}, device).ok());
  device.spanLimitBytes = 11 * 128;
  expectError(plainAdd(), device, 5304, "touches 1536 bytes");
}

/// Overwrites one number somewhere in \p dsc.
static void mutate(SuperDsc &dsc, Random &random) {
  static constexpr int64_t kValues[] = {
      -2,        -1,       0, 1, 2, 63, 64, 65, 128, 4096, int64_t(1) << 34, int64_t(1) << 40,
      INT64_MAX, INT64_MIN};
  int64_t value = kValues[random.below(std::size(kValues))];
  auto any = [&](auto &list) -> auto & { return list[random.below(list.size())]; };
  spec::DscTensor &tensor = any(dsc.tensors);
  switch (random.below(14)) {
  case 0:
    dsc.cores = value;
    break;
  case 1:
    any(dsc.size).second = value;
    break;
  case 2:
    any(dsc.perCoreSize).second = value;
    break;
  case 3:
    any(dsc.slices).second = value;
    break;
  case 4:
    any(tensor.startAddress) = value;
    break;
  case 5:
    tensor.backGap.push_back({any(dsc.size).first, value});
    break;
  case 6:
    any(tensor.scale).second = value;
    break;
  case 7:
    any(tensor.dimOrder) = any(dsc.size).first;
    break;
  case 8:
    tensor.dimOrder.pop_back();
    break;
  case 9:
    dsc.masking = {{any(dsc.size).first, {value, kValues[random.below(std::size(kValues))]}}};
    break;
  case 10:
    dsc.output = value;
    break;
  case 11:
    tensor.inLx = !tensor.inLx;
    break;
  case 12:
    any(dsc.layouts).stickDims = {any(dsc.size).first};
    break;
  default:
    // A consistent change of size, so that deeper code sees it.
    size_t dim = random.below(dsc.size.size());
    int64_t slices = dsc.slices[dim].second;
    dsc.perCoreSize[dim].second = random.between(1, 5) * (random.below(2) ? 64 : 1);
    // An earlier change may have made the slices any number: unsigned products wrap.
    dsc.size[dim].second = int64_t(uint64_t(dsc.perCoreSize[dim].second) * uint64_t(slices));
    break;
  }
}

// Whatever a bundle says, the answer is a program the machine accepts or an error of the back end.
TEST(Refuses, NothingThatBecomesAnInvalidProgram) {
  arch::DeviceDesc device = presetDevice("tiny");
  size_t lowered = 0;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    Random random(seed);
    const std::string &op = generatedOps()[seed % generatedOps().size()];
    RandomCase sample = randomSpec(op, random, device, false);
    Expected<SuperDsc> dsc = spec::emitSuperDsc(sample.spec, 0);
    ASSERT_TRUE(dsc.ok()) << dsc.status().message();
    for (uint64_t i = random.between(1, 3); i > 0 && !dsc->tensors.empty(); --i) {
      bool usable = true;
      for (const spec::DscTensor &tensor : dsc->tensors) {
        usable = usable && !tensor.dimOrder.empty() && !tensor.scale.empty();
      }
      if (usable) {
        mutate(*dsc, random);
      }
    }
    Expected<program::Program> program = lowerSuperDscs({*dsc}, device);
    if (!program.ok()) {
      EXPECT_GE(program.status().code(), 5301);
      EXPECT_LE(program.status().code(), 5304);
      continue;
    }
    ++lowered;
    Status status = program::verifyProgram(*program, device);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
  }
  EXPECT_GT(lowered, 500u);
}

} // namespace spyre::backend::test
