//===- CorrectionTest.cpp - programs that learn their addresses at launch -------------------===//
//
// Symbolic bundles from OpSpec to result: the back end leaves slots, the runtime fills them.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "FakeDriver.h"
#include "Runtime/TestModels.h"
#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

using spec::Coordinate;

/// All tensors are float16 [4, 64]. Where they lie is not for the program to know, so all say 0.
spec::TensorArg tensorArg(int64_t argument, bool isInput, spec::Residency residency, int64_t at) {
  spec::TensorArg arg;
  arg.isInput = isInput;
  arg.argIndex = residency == spec::Residency::Hbm ? argument : -1;
  arg.deviceSize = {1, 4, 64};
  arg.deviceCoordinates = {Coordinate::floorDiv("c1", 64), Coordinate::var("c0"),
                           Coordinate::mod("c1", 64)};
  arg.residency = residency;
  arg.address = at;
  return arg;
}
spec::TensorArg in(int64_t argument) {
  return tensorArg(argument, true, spec::Residency::Hbm, argument % 7 << 34);
}
spec::TensorArg out(int64_t argument) {
  return tensorArg(argument, false, spec::Residency::Hbm, argument % 7 << 34);
}
spec::TensorArg lx(bool isInput) { return tensorArg(-1, isInput, spec::Residency::Lx, 256); }
spec::TensorArg pool(bool isInput) { return tensorArg(-1, isInput, spec::Residency::Pool, 512); }

spec::OpSpec operation(const char *op, std::vector<spec::TensorArg> args) {
  spec::OpSpec spec;
  spec.op = op;
  spec.iterationSpace = {{"c0", 4, 2}, {"c1", 64, 1}};
  spec.args = std::move(args);
  return spec;
}

class CorrectionTest : public testing::Test {
protected:
  void SetUp() override { open({}); }

  void open(DriverOptions options) {
    options.threads = 2;
    Expected<std::unique_ptr<Driver>> driver = createDriver("sim", desc, options);
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    device = Device::create(*std::move(driver));
  }
  void addSymbolic(const std::string &directory, const std::vector<spec::OpSpec> &specs,
                   bool nonTerminal = false) {
    Expected<Artifacts> bundle = spec::generateBundle(specs, {.symbolicArguments = true});
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    spec::Bundle contents = spec::readBundle(*bundle)->bundle;
    contents.nonTerminal = nonTerminal;
    (*bundle)["bundle.mlir"] = spec::writeBundleMlir(contents);
    Expected<Artifacts> code = backend::compileBundle(*bundle, desc);
    ASSERT_TRUE(code.ok()) << code.status().message();
    for (const auto &[name, text] : *code) {
      artifacts[directory + "/" + name] = text;
    }
  }
  spec::Model modelOf(size_t inputs) {
    spec::Model model;
    model.deviceName = desc.name;
    model.deviceHash = desc.hash();
    for (size_t i = 0; i < inputs; ++i) {
      model.inputs.push_back(tensorDesc(fmt::format("x{}", i)));
    }
    model.outputs = {tensorDesc("y")};
    return model;
  }
  Expected<std::shared_ptr<Executable>> load(const spec::Model &model) {
    artifacts["model.json"] = spec::writeModel(model);
    return Executable::load(device, artifacts);
  }
  BufferRef upload(std::vector<uint16_t> values) {
    BufferRef buffer = *device->allocate(512);
    EXPECT_TRUE(uploadTensor(buffer, tensorDesc("t"), host(values)).ok());
    return buffer;
  }
  std::vector<uint16_t> download(const BufferRef &buffer) {
    std::vector<uint16_t> values(kTestElements);
    Status status = downloadTensor(buffer, tensorDesc("t"), host(values));
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }
  static layout::HostTensorRef host(std::vector<uint16_t> &values) {
    return {values.data(), numerics::HostType::Float16, kTestSize, rowMajorStrides(kTestSize)};
  }

  arch::DeviceDesc desc = tinyDevice();
  std::shared_ptr<Device> device;
  Artifacts artifacts;
};

TEST_F(CorrectionTest, TheSameProgramRunsOnOtherTensors) {
  addSymbolic("bundle_0", {operation("add", {in(0), in(1), pool(false)}),
                           operation("sub", {pool(true), in(2), out(3)})});
  spec::Model model = modelOf(3);
  model.poolBytes = 1024;
  model.steps = {spec::BundleStep{"bundle_0", true, {"x0", "x1", "x2", "y"}},
                 spec::BundleStep{"bundle_0", true, {"y", "x1", "x0", "y"}}};
  auto executable = load(model);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  for (int round = 0; round < 2; ++round) {
    std::vector<uint16_t> a = testValues(round), b = testValues(3), c = testValues(5);
    BufferRef y = *device->allocate(512);
    Status status = (*executable)->run({upload(a), upload(b), upload(c)}, {y});
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<uint16_t> result = download(y);
    for (size_t i = 0; i < kTestElements; ++i) {
      float first = valueAt(a, i) + valueAt(b, i) - valueAt(c, i);
      ASSERT_EQ(valueAt(result, i), first + valueAt(b, i) - valueAt(a, i)) << i;
    }
  }
}

// Nine tensors and a pool, and a launch has seven data segments.
TEST_F(CorrectionTest, MoreTensorsThanSegments) {
  std::vector<spec::OpSpec> specs = {operation("add", {in(0), in(1), pool(false)})};
  for (int64_t i = 2; i < 7; ++i) {
    specs.push_back(operation("add", {pool(true), in(i), pool(false)}));
  }
  specs.push_back(operation("add", {pool(true), in(7), out(8)}));
  addSymbolic("bundle_0", specs);
  spec::Model model = modelOf(8);
  model.poolBytes = 1024;
  model.steps = {
      spec::BundleStep{"bundle_0", true, {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "y"}}};
  auto executable = load(model);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  std::vector<std::vector<uint16_t>> values;
  std::vector<BufferRef> inputs, between;
  for (int i = 0; i < 8; ++i) {
    values.push_back(testValues(i));
    between.push_back(*device->allocate(uint64_t(128 + 640 * (i % 3))));
    inputs.push_back(upload(values.back()));
  }
  std::swap(inputs[1], inputs[6]);
  std::swap(values[1], values[6]);
  BufferRef y = *device->allocate(512);
  Status status = (*executable)->run(inputs, {y});
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<uint16_t> result = download(y);
  for (size_t i = 0; i < kTestElements; ++i) {
    float sum = 0;
    for (const std::vector<uint16_t> &input : values) {
      sum += valueAt(input, i);
    }
    ASSERT_EQ(valueAt(result, i), sum) << i;
  }
}

// On a shared card LX survives a bundle that says so.
TEST_F(CorrectionTest, NonTerminalBundlesKeepLx) {
  for (bool nonTerminal : {true, false}) {
    DriverOptions options;
    options.sharedCard = true;
    options.wipeSeed = 3;
    open(options);
    addSymbolic("bundle_0", {operation("neg", {in(0), lx(false)})}, nonTerminal);
    addSymbolic("bundle_1", {operation("neg", {lx(true), out(0)})});
    spec::Model model = modelOf(1);
    model.steps = {spec::BundleStep{"bundle_0", false, {"x0"}},
                   spec::BundleStep{"bundle_1", false, {"y"}}};
    auto executable = load(model);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    std::vector<uint16_t> x = testValues(1);
    BufferRef y = *device->allocate(512);
    Status status = (*executable)->run({upload(x)}, {y});
    EXPECT_EQ(status.ok(), nonTerminal) << status.message();
    if (nonTerminal) {
      EXPECT_EQ(download(y), x);
    }
  }
}

// Another thread's launches, after which LX is wiped, do not come between two bundles that hand on
// data in LX: neither of runs without a stream nor of runs on one.
TEST_F(CorrectionTest, NonTerminalBundlesAreNotSeparatedByOtherThreads) {
  DriverOptions options;
  options.sharedCard = true;
  options.wipeSeed = 3;
  open(options);
  addSymbolic("bundle_0", {operation("neg", {in(0), lx(false)})}, /*nonTerminal=*/true);
  addSymbolic("bundle_1", {operation("neg", {lx(true), out(0)})});
  addSymbolic("other", {operation("neg", {in(0), out(1)})});
  spec::Model model = modelOf(1), other = modelOf(1);
  model.steps = {spec::BundleStep{"bundle_0", false, {"x0"}, true},
                 spec::BundleStep{"bundle_1", false, {"y"}}};
  other.steps = {spec::BundleStep{"other", false, {"x0", "y"}}};
  auto kept = load(model), contender = load(other);
  ASSERT_TRUE(kept.ok() && contender.ok()) << kept.status().message();
  const std::vector<uint16_t> x = testValues(1);
  const BufferRef input = upload(x), own = upload(x), otherOutput = *device->allocate(512);
  std::atomic<bool> isDone{false};
  std::atomic<int> rounds{0};
  std::thread thread([&] {
    while (!isDone) {
      const Status status = (*contender)->run({own}, {otherOutput});
      ASSERT_TRUE(status.ok()) << status.message();
      ++rounds;
    }
  });
  Status status = Status::success();
  constexpr StreamId stream = kFirstLowStream;
  for (int i = 0; status.ok() && (i < 200 || rounds < 50); ++i) {
    BufferRef y = *device->allocate(512);
    if (i % 2 == 0) {
      status = (*kept)->run({input}, {y});
    } else {
      status = (*kept)->submit(stream, {input}, {y});
      status = status.ok() ? device->streams().synchronize(stream) : status;
    }
    if (status.ok()) {
      ASSERT_EQ(download(y), x) << i;
    }
  }
  isDone = true;
  thread.join();
  EXPECT_TRUE(status.ok()) << status.message();
}

// The same in slow motion: the other launch asks while the first of the two runs, and comes third.
TEST_F(CorrectionTest, ALaunchThatAsksInBetweenComesBehind) {
  for (const std::optional<StreamId> stream : {std::optional<StreamId>(), {kFirstLowStream}}) {
    FakeState state;
    device = makeDevice(state);
    desc = device->desc();
    addSymbolic("bundle_0", {operation("neg", {in(0), lx(false)})}, /*nonTerminal=*/true);
    addSymbolic("bundle_1", {operation("neg", {lx(true), out(0)})});
    addSymbolic("other", {operation("neg", {in(0), out(1)})});
    spec::Model model = modelOf(1), other = modelOf(1);
    model.steps = {spec::BundleStep{"bundle_0", false, {"x0"}, true},
                   spec::BundleStep{"bundle_1", false, {"y"}}};
    other.steps = {spec::BundleStep{"other", false, {"x0", "y"}}};
    auto kept = load(model), contender = load(other);
    ASSERT_TRUE(kept.ok() && contender.ok()) << kept.status().message();
    const BufferRef x = *device->allocate(512), y = *device->allocate(512);
    std::thread thread;
    state.onLaunch = [&] {
      if (state.launches.size() == 1) {
        thread = std::thread([&] { EXPECT_TRUE((*contender)->run({x}, {y}).ok()); });
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    };
    if (stream) {
      EXPECT_TRUE((*kept)->submit(*stream, {x}, {y}).ok());
      EXPECT_TRUE(device->streams().synchronize(*stream).ok());
    } else {
      EXPECT_TRUE((*kept)->run({x}, {y}).ok());
    }
    thread.join();
    const std::vector<uint32_t> flags = {kNonTerminalLaunch, 0, 0};
    EXPECT_EQ(state.launchFlags, flags);
    ASSERT_EQ(state.launches.size(), 3u);

    size_t bound = 0;
    for (const SegmentBinding &segment : state.launches[1]) {
      bound += segment.bytes > 0 ? 1 : 0;
    }
    EXPECT_EQ(bound, 2u) << "one tensor and the program: the second of the two bundles";
    device = nullptr;
  }
}

TEST_F(CorrectionTest, StepsMustHaveWhatTheProgramWants) {
  addSymbolic("bundle_0", {operation("add", {in(0), in(1), pool(false)}),
                           operation("add", {pool(true), in(1), out(2)})});
  spec::Model model = modelOf(2);
  model.poolBytes = 1024;
  model.steps = {spec::BundleStep{"bundle_0", true, {"x0", "x1"}}};
  auto executable = load(model);
  EXPECT_EQ(executable.status().code(), 6204) << executable.status().message();
  EXPECT_NE(executable.status().message().find("arg_2"), std::string::npos);
  model.steps = {spec::BundleStep{"bundle_0", false, {"x0", "x1", "y"}}};
  executable = load(model);
  EXPECT_EQ(executable.status().code(), 6204) << executable.status().message();
  EXPECT_NE(executable.status().message().find("pool"), std::string::npos);
}

} // namespace
