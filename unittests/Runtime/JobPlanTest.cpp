//===- JobPlanTest.cpp - preparing, binding and launching one kernel ------------------------===//
#include "spyre/Runtime/JobPlan.h"

#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "Runtime/TestModels.h"
#include "gtest/gtest.h"

#include <thread>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

using spec::Coordinate;
using Kind = JobPlan::StepKind;

spec::TensorArg tensorArg(int64_t argument, bool isInput) {
  spec::TensorArg arg;
  arg.isInput = isInput;
  arg.argIndex = argument;
  arg.deviceSize = {1, 4, 64};
  arg.deviceCoordinates = {Coordinate::floorDiv("c1", 64), Coordinate::var("c0"),
                           Coordinate::mod("c1", 64)};
  arg.residency = spec::Residency::Hbm;
  arg.address = argument << 34;
  return arg;
}

class JobPlanTest : public testing::Test {
protected:
  void SetUp() override { device = Device::create(*createDriver("sim", desc, {.threads = 1})); }
  /// z = x + y
  Artifacts addKernel(bool symbolic) {
    spec::OpSpec add;
    add.op = "add";
    add.iterationSpace = {{"c0", 4, 2}, {"c1", 64, 1}};
    add.args = {tensorArg(0, true), tensorArg(1, true), tensorArg(2, false)};
    Expected<Artifacts> code =
        backend::compileBundle(*spec::generateBundle({add}, {.symbolicArguments = symbolic}), desc);
    EXPECT_TRUE(code.ok()) << code.status().message();
    return subArtifacts(*code, "spyreCodeDir/");
  }
  std::shared_ptr<JobPlan> prepare(const Artifacts &code) {
    Expected<std::shared_ptr<JobPlan>> plan = JobPlan::prepare(*device, code);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? *plan : nullptr;
  }
  static layout::HostTensorRef host(std::vector<uint16_t> &values) {
    return {values.data(), numerics::HostType::Float16, kTestSize, rowMajorStrides(kTestSize)};
  }
  BufferRef upload(int seed) {
    BufferRef buffer = *device->allocate(512);
    std::vector<uint16_t> values = testValues(seed);
    EXPECT_TRUE(uploadTensor(buffer, tensorDesc("t"), host(values)).ok());
    return buffer;
  }
  float sumAt(const BufferRef &buffer, size_t i) {
    std::vector<uint16_t> values(kTestElements);
    Status status = downloadTensor(buffer, tensorDesc("t"), host(values));
    EXPECT_TRUE(status.ok()) << status.message();
    return valueAt(values, i);
  }

  arch::DeviceDesc desc = tinyDevice();
  std::shared_ptr<Device> device;
};

TEST_F(JobPlanTest, StepsOfABakedAndOfASymbolicKernel) {
  std::shared_ptr<JobPlan> baked = prepare(addKernel(false));
  EXPECT_EQ(baked->steps(), std::vector<Kind>{Kind::Compute});
  EXPECT_GT(baked->allocationBytes(), 0u);
  std::shared_ptr<JobPlan> symbolic = prepare(addKernel(true));
  EXPECT_EQ(symbolic->steps(),
            (std::vector<Kind>{Kind::HostCompute, Kind::HostToDevice, Kind::Compute}));
  EXPECT_STREQ(JobPlan::stepName(*symbolic->step(1)), "H2D");
  EXPECT_EQ(symbolic->step(3).status().code(), 6207);
  EXPECT_EQ(symbolic->step(-1).status().code(), 6207);
}

TEST_F(JobPlanTest, LaunchesThatAreBoundBeforeOneRunsKeepTheirOwnAddresses) {
  std::shared_ptr<JobPlan> plan = prepare(addKernel(true));
  std::vector<BufferRef> results;
  std::vector<BoundLaunch> launches;
  for (int i = 0; i < 5; ++i) {
    results.push_back(*device->allocate(512));
    launches.push_back(*plan->bind({upload(i), upload(i + 1), results.back()}, nullptr, 0));
  }
  EXPECT_EQ(plan->hostBuffers(), 5u);
  for (size_t i = launches.size(); i-- > 0;) {
    Status status = launches[i].run();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(sumAt(results[size_t(i)], 17),
              valueAt(testValues(i), 17) + valueAt(testValues(i + 1), 17));
  }
}

TEST_F(JobPlanTest, HostBuffersAreUsedAgainOnceTheirLaunchIsGone) {
  std::shared_ptr<JobPlan> plan = prepare(addKernel(true));
  BufferRef x = upload(1), y = upload(2), z = *device->allocate(512);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(plan->bind({x, y, z}, nullptr, 3)->run().ok());
  }
  EXPECT_EQ(plan->hostBuffers(), 1u);
}

// The buffers are given back on the worker and filled again on this thread.
TEST_F(JobPlanTest, QueuedLaunchesGiveTheirBuffersBack) {
  std::shared_ptr<JobPlan> plan = prepare(addKernel(true));
  std::vector<BufferRef> inputs = {upload(0), upload(1), upload(2), upload(3)};
  std::vector<BufferRef> results;
  for (size_t i = 0; i < 200; ++i) {
    results.push_back(*device->allocate(512));
    Operation operation;
    operation.body = [launch = *plan->bind({inputs[i % 3], inputs[i % 3 + 1], results[i]}, nullptr,
                                           1)](OperationContext &) { return launch.run(); };
    ASSERT_TRUE(device->streams().submit(1, std::move(operation)).ok());
  }
  ASSERT_TRUE(device->streams().synchronize(1).ok());
  for (size_t i = 0; i < results.size(); ++i) {
    const int first = int(i % 3);
    ASSERT_EQ(sumAt(results[i], 5),
              valueAt(testValues(first), 5) + valueAt(testValues(first + 1), 5))
        << i;
  }
}

TEST_F(JobPlanTest, OnePlanOnSeveralThreads) {
  std::shared_ptr<JobPlan> plan = prepare(addKernel(true));
  std::vector<BufferRef> results(4);
  std::vector<std::thread> threads;
  std::vector<BufferRef> inputs = {upload(0), upload(1), upload(2), upload(3), upload(4)};
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = *device->allocate(512);
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_TRUE(
            plan->bind({inputs[i], inputs[i + 1], results[i]}, nullptr, uint32_t(i))->run().ok());
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(sumAt(results[size_t(i)], 40),
              valueAt(testValues(i), 40) + valueAt(testValues(i + 1), 40));
  }
}

TEST_F(JobPlanTest, ForeignCorrectionsAreShownButNotLaunched) {
  Artifacts code = addKernel(true);
  std::string &text = code["spyrecode.json"];
  text.replace(text.find("\"correction\""), 12, "\"vdci\"");
  std::shared_ptr<JobPlan> plan = prepare(code);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps().size(), 3u);
  EXPECT_EQ(plan->bind({upload(0), upload(1), upload(2)}, nullptr, 0).status().code(), 6204);
}

TEST_F(JobPlanTest, RefusesArgumentsTheProgramCannotHave) {
  std::shared_ptr<JobPlan> plan = prepare(addKernel(true));
  EXPECT_EQ(plan->bind({upload(0), upload(1)}, nullptr, 0).status().code(), 6204);
  EXPECT_EQ(plan->bind({upload(0), nullptr, upload(1)}, nullptr, 0).status().code(), 6105);
  std::shared_ptr<Device> other = Device::create(*createDriver("null", desc, {}));
  EXPECT_EQ(plan->bind({upload(0), upload(1), *other->allocate(512)}, nullptr, 0).status().code(),
            6105);
  EXPECT_EQ(JobPlan::prepare(*device, {}).status().code(), 6202);
}

} // namespace
