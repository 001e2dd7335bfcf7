//===- HostileTest.cpp - damaged SuperDSCs of gathers and relayouts -------------------------===//
//
// Files are mutated as bytes by the fuzzers; almost all of those are refused by the reader. Here
// fields of good SuperDSCs change after they were read, so that the lowering sees them: it refuses
// with a number or makes a program the machine accepts, whatever the fields say.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "Generator.h"
#include "GeneratorRelayout.h"
#include "Harness.h"
#include "gtest/gtest.h"

#include <cstdlib>

namespace spyre::backend::test {

using spec::DimMap;
using spec::DscTensor;
using spec::SuperDsc;

namespace {

class Damage {
public:
  Damage(SuperDsc &dsc, Random &random) : dsc(dsc), random(random) {}

  void once() {
    DscTensor &tensor = dsc.tensors[random.below(dsc.tensors.size())];
    switch (random.below(14)) {
    case 0:
      return change(tensor.startAddress);
    case 1:
      tensor.indirectPartner = random.between(-2, int64_t(dsc.tensors.size()));
      return;
    case 2:
      tensor.indirection = DscTensor::Indirection(random.below(3));
      return;
    case 3:
      tensor.indirectDims = {anyDim()};
      return;
    case 4:
      tensor.indirectDims.push_back(anyDim());
      return;
    case 5:
      tensor.backGap.emplace_back(anyDim(), anyNumber());
      return;
    case 6:
      return changeMap(tensor.scale);
    case 7:
      if (!tensor.dimOrder.empty()) {
        tensor.dimOrder[random.below(tensor.dimOrder.size())] = anyDim();
      }
      return;
    case 8:
      tensor.inLx = !tensor.inLx;
      return;
    case 9:
      tensor.ownerSlice.resize(random.below(6));
      return changeOwners(tensor);
    case 10:
      return changeOwners(tensor);
    case 11:
      return changeMap(chance() ? dsc.slices : chance() ? dsc.size : dsc.perCoreSize);
    case 12:
      if (!dsc.coreSlice.empty()) {
        changeMap(dsc.coreSlice[random.below(dsc.coreSlice.size())]);
      }
      return;
    default:
      dsc.coreSlice.resize(random.below(dsc.coreSlice.size() + 2));
    }
  }

private:
  bool chance() { return random.below(2) == 0; }
  std::string anyDim() {
    return random.below(8) == 0 ? "none" : dsc.size[random.below(dsc.size.size())].first;
  }
  int64_t anyNumber() {
    static constexpr int64_t kNumbers[] = {
        0, 1, -1, 2, 3, 32, 64, 127, 128, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN, -(1 << 20)};
    return kNumbers[random.below(14)];
  }
  void change(std::vector<int64_t> &numbers) {
    if (!numbers.empty()) {
      int64_t &number = numbers[random.below(numbers.size())];
      number = chance() ? anyNumber() : number ^ (int64_t(1) << random.below(40));
    }
  }
  void changeMap(DimMap<int64_t> &map) {
    if (!map.empty()) {
      map[random.below(map.size())].second = anyNumber();
    }
  }
  void changeOwners(DscTensor &tensor) {
    if (!tensor.ownerSlice.empty()) {
      auto &owned = tensor.ownerSlice[random.below(tensor.ownerSlice.size())];
      owned.emplace_back(anyDim(), random.between(0, 5));
      changeMap(owned);
    }
  }

  SuperDsc &dsc;
  Random &random;
};

} // namespace

TEST(Hostile, DamagedFieldsAreRefusedOrLowered) {
  arch::DeviceDesc device = presetDevice("tiny");
  const uint64_t cases = std::getenv("SPYRE_TEST_LONG") ? 6000 : 500;
  uint64_t lowered = 0, refused = 0;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    Random random(seed * 31 + 7);
    const auto &cases = relayoutCases();
    spec::OpSpec spec =
        seed % 2 == 0
            ? randomSpec("gather.pointwise", random, device, false).spec
            : randomRelayout(cases[seed / 2 % cases.size()], random, device, 1).specs.back();
    Expected<SuperDsc> dsc = throughJson(spec, 0);
    ASSERT_TRUE(dsc.ok()) << dsc.status().message();
    for (uint64_t times = random.between(1, 2); times > 0; --times) {
      Damage(*dsc, random).once();
    }
    Status verified = spec::verifySuperDsc(*dsc, device);
    ASSERT_TRUE(verified.ok() || verified.code() == 5003) << verified.message();
    Expected<program::Program> program = lowerSuperDscs({*dsc}, device);
    if (!program.ok()) {
      ASSERT_EQ(program.status().code() / 100, 53) << program.status().message();
      ++refused;
      continue;
    }
    ++lowered;
    Status accepted = program::verifyProgram(*program, device);
    ASSERT_TRUE(accepted.ok() || !verified.ok())
        << "seed " << seed << " " << accepted.message() << program::disassemble(*program);
  }
  EXPECT_GT(lowered, cases / 10);
  EXPECT_GT(refused, cases / 10);
}

} // namespace spyre::backend::test
