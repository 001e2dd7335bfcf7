//===- ExecutableTest.cpp - compiled models from load to result -----------------------------===//
#include "spyre/Runtime/Executable.h"

#include "spyre/Base/Log.h"

#include "Runtime/TestModels.h"
#include "gtest/gtest.h"

#include <functional>
#include <thread>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

class ExecutableTest : public testing::Test {
protected:
  void SetUp() override {
    Expected<std::unique_ptr<Driver>> driver = createDriver("sim", desc, {2, true});
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    device = Device::create(*std::move(driver));
  }
  std::shared_ptr<Executable> load(const Artifacts &artifacts) {
    Expected<std::shared_ptr<Executable>> executable = Executable::load(device, artifacts);
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    return executable.ok() ? *executable : nullptr;
  }
  void expectRefused(const Artifacts &artifacts, int code, const std::string &part) {
    Expected<std::shared_ptr<Executable>> executable = Executable::load(device, artifacts);
    ASSERT_FALSE(executable.ok()) << part;
    EXPECT_EQ(executable.status().code(), code) << executable.status().message();
    EXPECT_NE(executable.status().text().find(part), std::string::npos)
        << executable.status().message();
  }
  BufferRef upload(std::vector<uint16_t> values) {
    BufferRef buffer = *device->allocate(512);
    const Status status = uploadTensor(buffer, tensorDesc("t"), host(values));
    EXPECT_TRUE(status.ok()) << status.message();
    return buffer;
  }
  std::vector<uint16_t> download(const BufferRef &buffer) {
    std::vector<uint16_t> values(kTestElements);
    const Status status = downloadTensor(buffer, tensorDesc("t"), host(values));
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }
  static layout::HostTensorRef host(std::vector<uint16_t> &values) {
    return {values.data(), numerics::HostType::Float16, kTestSize, rowMajorStrides(kTestSize)};
  }

  arch::DeviceDesc desc = tinyDevice();
  std::shared_ptr<Device> device;
};

TEST_F(ExecutableTest, RunsStepsInOrder) {
  auto executable = load(chainArtifacts(desc));
  ASSERT_TRUE(executable);
  const std::vector<uint16_t> x = testValues(1), y = testValues(2);
  BufferRef z = *device->allocate(512), w = *device->allocate(512);
  const Status status = executable->run({upload(x), upload(y)}, {z, w});
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<uint16_t> zValues = download(z), wValues = download(w);
  for (size_t i = 0; i < kTestElements; ++i) {
    ASSERT_EQ(valueAt(zValues, i), valueAt(x, i) + valueAt(y, i)) << i;
    ASSERT_EQ(valueAt(wValues, i), 2 * valueAt(x, i) + valueAt(y, i)) << i;
  }
  EXPECT_EQ(device->counters().launches, 2u);
  EXPECT_EQ(device->counters().sfpLaneOps, 2 * kTestElements);
}

/// t = x + y; u = host(t); w = u + x, with memory for t and u between the steps.
Artifacts hostArtifacts(const arch::DeviceDesc &desc) {
  spec::Model model = chainModel(desc);
  model.outputs = {tensorDesc("w")};
  model.buffers = {tensorDesc("t"), tensorDesc("u")};
  model.steps = {
      spec::AllocateStep{"t"}, spec::BundleStep{"bundle_0", false, {"x", "y", "t"}},
      spec::AllocateStep{"u"}, spec::CpuStep{"twice", 4, {}, {"t"}, {"u"}, 1, "unknown", ""},
      spec::FreeStep{"t"},     spec::BundleStep{"bundle_0", false, {"u", "x", "w"}},
      spec::FreeStep{"u"}};
  Artifacts artifacts = chainArtifacts(desc);
  artifacts["model.json"] = spec::writeModel(model);
  return artifacts;
}

TEST_F(ExecutableTest, CpuStepsRunBetweenLaunches) {
  auto executable = load(hostArtifacts(desc));
  ASSERT_TRUE(executable);
  const std::vector<uint16_t> x = testValues(1), y = testValues(2);
  BufferRef xs = upload(x), ys = upload(y), w = *device->allocate(512);
  const uint64_t before = device->memoryStats().allocationsNow();
  int depth = 0;
  std::function<Status(const spec::CpuStep &, const BufferLookup &)> twice =
      [&](const spec::CpuStep &step, const BufferLookup &bufferOf) {
        EXPECT_EQ(step.node, 4);
        EXPECT_FALSE(bufferOf("nobody"));
        std::vector<uint16_t> values = download(bufferOf("t"));
        for (uint16_t &value : values) {
          value = numerics::floatToHalf(2 * numerics::halfToFloat(value));
        }
        // What runs on the host may come back here.
        if (depth++ == 0) {
          const Status nested = executable->run({xs, ys}, {*device->allocate(512)}, twice);
          EXPECT_TRUE(nested.ok()) << nested.message();
        }
        return uploadTensor(bufferOf("u"), tensorDesc("u"), host(values));
      };
  const Status status = executable->run({xs, ys}, {w}, twice);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<uint16_t> values = download(w);
  for (size_t i = 0; i < kTestElements; ++i) {
    ASSERT_EQ(valueAt(values, i), 3 * valueAt(x, i) + 2 * valueAt(y, i)) << i;
  }
  EXPECT_EQ(depth, 2);
  EXPECT_EQ(device->memoryStats().allocationsNow(), before);
}

TEST_F(ExecutableTest, CpuStepsNeedSomebodyToRunThem) {
  auto executable = load(hostArtifacts(desc));
  ASSERT_TRUE(executable);
  BufferRef x = upload(testValues(1)), y = upload(testValues(2)), w = *device->allocate(512);
  Status status = executable->run({x, y}, {w});
  EXPECT_EQ(status.code(), 6206);
  EXPECT_NE(status.text().find("twice (1x)"), std::string::npos) << status.message();
  EXPECT_EQ(device->counters().launches, 0u);
  // A failed step ends the run and leaves no memory behind.
  const uint64_t before = device->memoryStats().allocationsNow();
  status = executable->run(
      {x, y}, {w}, [](const spec::CpuStep &, const BufferLookup &) { return error<6515>("no"); });
  EXPECT_EQ(status.code(), 6515);
  EXPECT_NE(status.text().find("CPU step 'twice'"), std::string::npos) << status.message();
  EXPECT_EQ(device->memoryStats().allocationsNow(), before);
}

TEST_F(ExecutableTest, StepsOfOneDirectoryShareOneProgram) {
  const uint64_t before = device->memoryStats().allocationsNow();
  auto executable = load(chainArtifacts(desc));
  EXPECT_EQ(device->memoryStats().allocationsNow(), before + 1);
  executable.reset();
  EXPECT_EQ(device->memoryStats().allocationsNow(), before);
}

TEST_F(ExecutableTest, PoolTakesSegmentZeroAndIsKept) {
  auto executable = load(poolArtifacts(desc, 3.5));
  ASSERT_TRUE(executable);
  const uint64_t loaded = device->memoryStats().allocationsNow();
  const std::vector<uint16_t> x = testValues(3), y = testValues(4);
  BufferRef xBuffer = upload(x), yBuffer = upload(y), z = *device->allocate(512);
  for (int round = 0; round < 2; ++round) {
    const Status status = executable->run({xBuffer, yBuffer}, {z});
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<uint16_t> zValues = download(z);
    for (size_t i = 0; i < kTestElements; ++i) {
      ASSERT_EQ(valueAt(zValues, i), valueAt(x, i) + valueAt(y, i) + 3.5f) << i;
    }
    EXPECT_EQ(device->memoryStats().allocationsNow(), loaded + 3) << "three tensors";
    const MemoryStats kept = device->memoryStats(MemoryKind::Temporary);
    EXPECT_EQ(kept.active[kAllPools].current, 1) << "the pool, for the next run";
    EXPECT_EQ(kept.allocatedBytes[kAllPools].peak, executable->model().poolBytes);
  }
  executable->releaseTemporaries();
  EXPECT_EQ(device->memoryStats(MemoryKind::Temporary).active[kAllPools].current, 0);
  ASSERT_TRUE(executable->run({xBuffer, yBuffer}, {z}).ok()) << "it is allocated again";
  executable.reset();
  EXPECT_EQ(device->memoryStats(MemoryKind::Temporary).active[kAllPools].current, 0);
}

TEST_F(ExecutableTest, TemporariesCountWithTheTensorsUnderTheNameOfTheProgram) {
  auto executable = Executable::load(device, poolArtifacts(desc, 3.5), "graph_7");
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  BufferRef x = upload(testValues(3)), y = upload(testValues(4)), z = *device->allocate(512);
  const auto pool = uint64_t((*executable)->model().poolBytes);
  const uint64_t tensors = device->dataMemoryStats().allocatedNow();
  device->resetPeakMemoryStats();
  ASSERT_TRUE((*executable)->run({x, y}, {z}).ok());
  const MemoryStats stats = device->dataMemoryStats();
  EXPECT_EQ(stats.allocatedNow(), tensors);
  EXPECT_EQ(uint64_t(stats.allocatedBytes[kAllPools].peak), tensors + pool);
  std::map<std::string, uint64_t> bytesOf;
  for (const ChunkInfo &chunk : device->memorySnapshot().chunks) {
    for (const BlockInfo &block : chunk.blocks) {
      if (block.program && chunk.kind == MemoryKind::Temporary) {
        bytesOf[*block.program] += block.bytes;
      }
    }
  }
  EXPECT_EQ(bytesOf, (std::map<std::string, uint64_t>{{"graph_7", pool}}));
  EXPECT_NE(device->memorySummary().find("temporaries of 'graph_7': 512 bytes"), std::string::npos)
      << device->memorySummary();

  std::vector<BufferRef> all;
  for (;;) {
    Expected<BufferRef> more = device->allocate(uint64_t(desc.segmentBytes) / 2);
    if (!more.ok()) {
      EXPECT_EQ(more.status().code(), 6102);
      EXPECT_NE(more.status().text().find("temporaries of 'graph_7': 512 bytes"), std::string::npos)
          << more.status().message();
      break;
    }
    all.push_back(*std::move(more));
  }
}

TEST_F(ExecutableTest, WhatAnEmptyDeviceCannotHoldIsRefusedBeforeAnythingIsAllocated) {
  const auto refusal = [&](const std::function<void(spec::Model &)> &change) {
    Artifacts artifacts = poolArtifacts(desc, 3.5);
    spec::Model model = *spec::readModel(artifacts["model.json"]);
    change(model);
    artifacts["model.json"] = spec::writeModel(model);
    return Executable::load(device, artifacts, "graph_7").status();
  };
  const int64_t before = device->memoryStats().allocation[kAllPools].allocated;
  const Status pool = refusal([&](spec::Model &m) { m.poolBytes = desc.segmentBytes + 128; });
  EXPECT_EQ(pool.code(), 6111) << pool.message();
  EXPECT_NE(pool.text().find("temporaries of 'graph_7'"), std::string::npos) << pool.message();
  const Status tensor = refusal([&](spec::Model &m) {
    m.outputs[0].layout.deviceSize[0] = desc.segmentBytes / desc.stickBytes + 1;
  });
  EXPECT_EQ(tensor.code(), 6111) << tensor.message();
  const Status all = refusal([&](spec::Model &m) {
    for (int64_t bytes = 0; bytes <= desc.ddrBytes; bytes += desc.segmentBytes) {
      spec::TensorDesc large = m.outputs[0];
      large.name = fmt::format("large{}", bytes);
      large.layout.deviceSize[0] =
          desc.segmentBytes * large.layout.deviceSize[0] / large.layout.bytes();
      m.outputs.push_back(large);
    }
  });
  EXPECT_EQ(all.code(), 6102) << all.message();
  EXPECT_NE(all.text().find("at the same time"), std::string::npos) << all.message();
  EXPECT_EQ(device->memoryStats().allocation[kAllPools].allocated, before);
  EXPECT_EQ(device->memoryStats().numOomRejections, 3);
}

TEST_F(ExecutableTest, TwoInputsMayBeOneBuffer) {
  auto executable = load(chainArtifacts(desc));
  ASSERT_TRUE(executable);
  const std::vector<uint16_t> x = testValues(5);
  BufferRef xBuffer = upload(x), z = *device->allocate(512), w = *device->allocate(512);
  ASSERT_TRUE(executable->run({xBuffer, xBuffer}, {z, w}).ok());
  EXPECT_EQ(valueAt(download(z), 17), 2 * valueAt(x, 17));
}

TEST_F(ExecutableTest, ChecksTheBuffersOfARun) {
  auto executable = load(chainArtifacts(desc));
  ASSERT_TRUE(executable);
  BufferRef good = *device->allocate(512), small = *device->allocate(128);
  EXPECT_EQ(executable->run({good}, {good, good}).code(), 6203);
  EXPECT_EQ(executable->run({good, good}, {good}).code(), 6203);
  EXPECT_EQ(executable->run({good, nullptr}, {good, good}).code(), 6203);
  EXPECT_EQ(executable->run({good, good}, {small, good}).code(), 6203);
  auto other = Device::create(*createDriver("null", desc));
  EXPECT_EQ(executable->run({*other->allocate(512), good}, {good, good}).code(), 6203);
  EXPECT_EQ(device->counters().launches, 0u);
}

TEST_F(ExecutableTest, RefusesAModelForAnotherMachine) {
  arch::DeviceDesc other = desc;
  other.cores = 2;
  expectRefused(chainArtifacts(other), 6201, other.hash());
  expectRefused(chainArtifacts(other), 6201, desc.hash());
}

TEST_F(ExecutableTest, RefusesDamagedArtifacts) {
  const Artifacts good = chainArtifacts(desc);
  const std::string code = "bundle_0/spyreCodeDir/spyrecode.json";
  const std::string binary = "bundle_0/spyreCodeDir/init.bin";
  Artifacts artifacts = good;
  artifacts.erase("model.json");
  expectRefused(artifacts, 9006, "model.json");
  artifacts = good;
  artifacts["model.json"] = "{";
  EXPECT_FALSE(Executable::load(device, artifacts).ok());
  artifacts = good;
  artifacts.erase(code);
  expectRefused(artifacts, 6202, "spyrecode.json not found");
  artifacts = good;
  artifacts[code] = "[]";
  EXPECT_FALSE(Executable::load(device, artifacts).ok());
  artifacts = good;
  artifacts.erase(binary);
  expectRefused(artifacts, 6202, "init.bin");
  artifacts = good;
  artifacts[binary] += '\0';
  expectRefused(artifacts, 6202, "build the bundle again");
  EXPECT_EQ(device->memoryStats().allocationsNow(), 0u) << "a failed load gives its memory back";
}

TEST_F(ExecutableTest, RefusesPlansThatLeaveTheAllocation) {
  const std::string path = "bundle_0/spyreCodeDir/spyrecode.json";
  Artifacts artifacts = chainArtifacts(desc);
  const spec::SpyreCode good = *spec::readSpyreCode(artifacts[path]);
  auto withCode = [&](const std::function<void(spec::SpyreCode &)> &change) {
    spec::SpyreCode code = good;
    change(code);
    artifacts[path] = spec::writeSpyreCode(code);
    return artifacts;
  };
  expectRefused(withCode([](spec::SpyreCode &code) { code.allocateBytes = 128; }), 5201,
                "do not fit the allocation of 128 bytes");
  expectRefused(withCode([](spec::SpyreCode &code) { code.transfers[0].devicePointer += 512; }),
                5201, "do not fit the allocation");
  expectRefused(
      withCode([](spec::SpyreCode &code) { code.jobs[0] += code.transfers[0].sizeBytes; }), 6204,
      "no transfer puts a program");
  expectRefused(withCode([](spec::SpyreCode &code) { code.jobs.clear(); }), 6204, "starts no job");
}

TEST_F(ExecutableTest, ReportsThatTheProgramDoesNotFitIntoMemory) {
  desc.ddrBytes = 2048; // tensors alone would fit
  SetUp();
  expectRefused(chainArtifacts(desc), 6102, "bundle_0/spyreCodeDir/: out of device memory");
}

TEST_F(ExecutableTest, RefusesMoreArgumentsThanSegments) {
  spec::Model model = chainModel(desc);
  std::get<spec::BundleStep>(model.steps[0]).arguments = {"x", "y", "x", "y", "x", "y", "x", "z"};
  Artifacts artifacts = chainArtifacts(desc);
  artifacts["model.json"] = spec::writeModel(model);
  expectRefused(artifacts, 6105, "has 8 tensors but the machine has 7 data segments");
}

/// A bundle of two jobs that lie next to each other in one binary.
static void addTwoJobs(Artifacts &artifacts, const program::Program &firstJob,
                       const program::Program &secondJob) {
  std::string first = program::writeProgram(firstJob);
  first.resize(size_t(roundUp(int64_t(first.size()), 128)));
  const std::string second = program::writeProgram(secondJob);
  spec::SpyreCode code;
  const int64_t base = spec::kProgramOffsetBase;
  code.allocateBytes = int64_t(first.size() + second.size());
  code.transfers = {{"init.bin", base, code.allocateBytes}};
  code.jobs = {base, base + int64_t(first.size())};
  artifacts["bundle_0/spyreCodeDir/init.bin"] = first + second;
  artifacts["bundle_0/spyreCodeDir/spyrecode.json"] = spec::writeSpyreCode(code);
}

// Each ends where the next begins.
TEST_F(ExecutableTest, AdjacentJobsAreCutAtTheNextJob) {
  spec::Model model = chainModel(desc);
  model.outputs.pop_back();
  model.steps.pop_back();
  Artifacts artifacts;
  artifacts["model.json"] = spec::writeModel(model);
  addTwoJobs(artifacts, addProgram(desc, {0, 1, 2, kTestSticks, false}),
             addProgram(desc, {2, 0, 2, kTestSticks, false}));
  auto executable = load(artifacts);
  ASSERT_TRUE(executable);
  const std::vector<uint16_t> x = testValues(6), y = testValues(7);
  BufferRef z = *device->allocate(512);
  const Status status = executable->run({upload(x), upload(y)}, {z});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(device->counters().launches, 2u);
  EXPECT_EQ(valueAt(download(z), 33), 2 * valueAt(x, 33) + valueAt(y, 33));
}

// On a shared card LX survives from job to job of a bundle and not from bundle to bundle.
TEST_F(ExecutableTest, LxIsKeptInsideABundleOnly) {
  DriverOptions options;
  options.sharedCard = true;
  options.wipeSeed = 5;
  device = Device::create(*createDriver("sim", desc, options));
  const program::Program keep = handOverProgram(desc, kTestSticks, false);
  const program::Program take = handOverProgram(desc, kTestSticks, true);
  spec::Model model = chainModel(desc);
  model.inputs.pop_back();
  model.outputs.pop_back();
  model.steps = {spec::BundleStep{"bundle_0", false, {"x", "z"}}};
  Artifacts artifacts;
  artifacts["model.json"] = spec::writeModel(model);
  addTwoJobs(artifacts, keep, take);
  auto executable = load(artifacts);
  ASSERT_TRUE(executable);
  const std::vector<uint16_t> x = testValues(8);
  BufferRef xBuffer = upload(x), z = *device->allocate(512);
  const Status status = executable->run({xBuffer}, {z});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(download(z), x);

  model.steps.push_back(spec::BundleStep{"bundle_1", false, {"x", "z"}});
  artifacts["model.json"] = spec::writeModel(model);
  addBundle(artifacts, "bundle_0", keep);
  addBundle(artifacts, "bundle_1", take);
  executable = load(artifacts);
  ASSERT_TRUE(executable);
  const Status lost = executable->run({xBuffer}, {z});
  ASSERT_FALSE(lost.ok());
  EXPECT_NE(lost.text().find("lx.256"), std::string::npos) << lost.message();
}

TEST_F(ExecutableTest, AFaultNamesTheStep) {
  Artifacts artifacts = chainArtifacts(desc);
  std::string &binary = artifacts["bundle_0/spyreCodeDir/init.bin"];
  binary.assign(binary.size(), '\x5a');
  auto executable = load(artifacts);
  ASSERT_TRUE(executable);
  BufferRef buffer = upload(testValues(1));
  const Status status = executable->run({buffer, buffer}, {buffer, buffer});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.text().find("step 'bundle_0': "), 0u) << status.message();
}

TEST_F(ExecutableTest, TransfersCheckTypeSizeAndStrides) {
  std::vector<uint16_t> values = testValues(1);
  BufferRef buffer = *device->allocate(512);
  layout::HostTensorRef tensor = host(values);
  EXPECT_EQ(uploadTensor(nullptr, tensorDesc("t"), tensor).code(), 6105);
  EXPECT_EQ(uploadTensor(*device->allocate(128), tensorDesc("t"), tensor).code(), 6203);
  tensor.type = numerics::HostType::Bfloat16;
  EXPECT_EQ(uploadTensor(buffer, tensorDesc("t"), tensor).code(), 6203);
  tensor = host(values);
  tensor.size = {64, 4};
  EXPECT_EQ(downloadTensor(buffer, tensorDesc("t"), tensor).code(), 6203);
  tensor = host(values);
  tensor.stride = {1};
  EXPECT_EQ(downloadTensor(buffer, tensorDesc("t"), tensor).code(), 6203);
}

// A transposed host tensor lands where its indices say, not where its memory lies.
TEST_F(ExecutableTest, HostStridesMayDifferFromTheModel) {
  const std::vector<uint16_t> rowMajor = testValues(9);
  std::vector<uint16_t> columnMajor(kTestElements);
  for (size_t row = 0; row < 4; ++row) {
    for (size_t column = 0; column < 64; ++column) {
      columnMajor[column * 4 + row] = rowMajor[row * 64 + column];
    }
  }
  BufferRef buffer = *device->allocate(512);
  const layout::HostTensorRef tensor{
      columnMajor.data(), numerics::HostType::Float16, kTestSize, {1, 4}};
  ASSERT_TRUE(uploadTensor(buffer, tensorDesc("t"), tensor).ok());
  EXPECT_EQ(download(buffer), rowMajor);
}

TEST_F(ExecutableTest, ConstantsOfEveryTypeAreEncodedOrRefused) {
  using numerics::HostType;
  for (HostType type : {HostType::Float16, HostType::Bfloat16, HostType::Float32, HostType::Bool,
                        HostType::Int32, HostType::Int64}) {
    spec::Model model = chainModel(desc);
    model.constants = {{tensorDesc("c", {1}, type), 1e300}};
    Artifacts artifacts = chainArtifacts(desc);
    artifacts["model.json"] = spec::writeModel(model);
    EXPECT_TRUE(load(artifacts)) << numerics::hostTypeName(type);
  }
  spec::Model model = chainModel(desc);
  model.constants = {{tensorDesc("c", {1}, HostType::Float8E4m3fn), 1}};
  Artifacts artifacts = chainArtifacts(desc);
  artifacts["model.json"] = spec::writeModel(model);
  expectRefused(artifacts, 6205, "float8_e4m3fn");
  model.constants = {{tensorDesc("c", {1024, 1024}), 1}};
  artifacts["model.json"] = spec::writeModel(model);
  EXPECT_FALSE(Executable::load(device, artifacts).ok());
}

// Runs of one executable share its pool; they must not see each other's intermediate values. Each
// launch logs a line: giving way there lets the other threads come between two steps.
TEST_F(ExecutableTest, ConcurrentRunsDoNotMix) {
  setLogSink([](LogLevel, const std::string &) {
    for (int i = 0; i < 100; ++i) {
      std::this_thread::yield();
    }
  });
  setLogLevel(LogLevel::Debug);
  auto executable = load(poolArtifacts(desc, 1));
  ASSERT_TRUE(executable);
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      const std::vector<uint16_t> x = testValues(id), y = testValues(id + 10);
      BufferRef xBuffer = upload(x), yBuffer = upload(y);
      for (int round = 0; round < 8; ++round) {
        BufferRef z = *device->allocate(512);
        const Status status = executable->run({xBuffer, yBuffer}, {z});
        ASSERT_TRUE(status.ok()) << status.message();
        const std::vector<uint16_t> zValues = download(z);
        for (size_t i = 0; i < kTestElements; ++i) {
          ASSERT_EQ(valueAt(zValues, i), valueAt(x, i) + valueAt(y, i) + 1) << id << ' ' << i;
        }
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  setLogLevel(LogLevel::Off);
  setLogSink(nullptr);
}

// The pool is the executable's own memory: runs that wait in different streams must not share it.
TEST_F(ExecutableTest, QueuedRunsOfSeveralStreamsDoNotShareAPool) {
  auto executable = load(poolArtifacts(desc, 1.5));
  ASSERT_TRUE(executable);
  std::vector<BufferRef> results;
  for (int i = 0; i < 12; ++i) {
    results.push_back(*device->allocate(512));
    const Status status = executable->submit(
        StreamId(i % 4), {upload(testValues(i)), upload(testValues(3))}, {results.back()});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(device->streams().synchronizeAll().ok());
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(valueAt(download(results[size_t(i)]), 9),
              valueAt(testValues(i), 9) + valueAt(testValues(3), 9) + 1.5f);
  }
}

TEST_F(ExecutableTest, EvictedProgramsAreLoadedAgain) {
  auto executable = load(poolArtifacts(desc, 1.5));
  ASSERT_TRUE(executable);
  const std::vector<uint16_t> x = testValues(1), y = testValues(2);
  BufferRef a = upload(x), b = upload(y), z = *device->allocate(512);
  const uint64_t before = device->memoryStats().allocatedNow();
  ASSERT_TRUE(executable->submit(0, {a, b}, {z}).ok());
  executable->evict();
  ASSERT_TRUE(device->streams().synchronize(0).ok()) << "what was queued keeps its program";
  EXPECT_LT(device->memoryStats().allocatedNow(), before);
  ASSERT_TRUE(executable->run({a, b}, {z}).ok());
  EXPECT_EQ(valueAt(download(z), 77), valueAt(x, 77) + valueAt(y, 77) + 1.5f);
}

TEST_F(ExecutableTest, ProgramsComeBackAfterAReset) {
  auto executable = load(poolArtifacts(desc, 1.5));
  ASSERT_TRUE(executable);
  const std::vector<uint16_t> x = testValues(1), y = testValues(2);
  for (int round = 0; round < 2; ++round) {
    BufferRef a = upload(x), b = upload(y), z = *device->allocate(512);
    ASSERT_TRUE(executable->run({a, b}, {z}).ok()) << round;
    EXPECT_EQ(valueAt(download(z), 77), valueAt(x, 77) + valueAt(y, 77) + 1.5f);
    ASSERT_TRUE(device->reset().ok());
  }
}

} // namespace
