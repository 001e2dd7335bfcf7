//===- RunCommandTest.cpp - spyre-run from arguments to files -------------------------------===//
#include "spyre-run/RunCommand.h"

#include "spyre/Runtime/Npy.h"

#include "Runtime/TestModels.h"
#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <sstream>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

class RunCommandTest : public testing::Test {
protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    root = std::filesystem::path(testing::TempDir()) / ("spyre-run-" + name);
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
    writeModelDirectory(chainArtifacts(tinyDevice()));
    writeArray("x.npy", halfArray(testValues(1)));
    writeArray("y.npy", halfArray(testValues(2)));
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  std::string path(const std::string &name) const { return (root / name).string(); }
  void writeModelDirectory(const Artifacts &artifacts) {
    const Status status = writeToDirectory(artifacts, root / "model");
    ASSERT_TRUE(status.ok()) << status.message();
  }
  static NpyArray halfArray(const std::vector<uint16_t> &values) {
    return {"f2", kTestSize,
            std::string(reinterpret_cast<const char *>(values.data()), values.size() * 2)};
  }
  void writeArray(const std::string &name, const NpyArray &array) {
    const Status status = writeFile(path(name), writeNpy(array));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::vector<uint16_t> readHalves(const std::string &name) {
    Expected<std::string> bytes = readFile(path(name));
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    Expected<NpyArray> array = parseNpy(bytes.ok() ? *bytes : "");
    EXPECT_TRUE(array.ok()) << array.status().message();
    std::vector<uint16_t> values(kTestElements);
    if (array.ok() && array->data.size() == kTestElements * 2) {
      std::memcpy(values.data(), array->data.data(), array->data.size());
    }
    return values;
  }
  int run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "spyre-run");
    std::vector<const char *> argv;
    for (const std::string &argument : arguments) {
      argv.push_back(argument.c_str());
    }
    out.str("");
    err.str("");
    return tools::runCommand(int(argv.size()), argv.data(), out, err);
  }
  /// The arguments of a good run, with more behind them.
  int runModel(const std::vector<std::string> &more) {
    std::vector<std::string> arguments{path("model"), "--input", path("x.npy"), "--input",
                                       path("y.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  void expectError(int code) {
    EXPECT_NE(err.str().find("SPYRE-E" + std::to_string(code)), std::string::npos) << err.str();
  }

  std::filesystem::path root;
  std::ostringstream out, err;
};

TEST_F(RunCommandTest, ComputesAndWritesEveryOutput) {
  ASSERT_EQ(runModel({"--output", path("z.npy"), "--output", path("w.npy"), "--threads", "1"}), 0)
      << err.str();
  EXPECT_EQ(out.str(), "");
  const std::vector<uint16_t> x = testValues(1), y = testValues(2);
  const std::vector<uint16_t> z = readHalves("z.npy"), w = readHalves("w.npy");
  for (size_t i = 0; i < kTestElements; ++i) {
    ASSERT_EQ(valueAt(z, i), valueAt(x, i) + valueAt(y, i)) << i;
    ASSERT_EQ(valueAt(w, i), 2 * valueAt(x, i) + valueAt(y, i)) << i;
  }
}

TEST_F(RunCommandTest, CountersCoverTheRunsOnly) {
  ASSERT_EQ(runModel({"--counters", "--repeat", "3"}), 0) << err.str();
  EXPECT_NE(out.str().find("runs        3, launches 6"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("SFP         1,536 lane operations"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("device      tiny (sim driver)"), std::string::npos) << out.str();
}

TEST_F(RunCommandTest, TheNullDriverWritesZeros) {
  ASSERT_EQ(runModel({"--driver", "null", "-o", path("z.npy"), "-o", path("w.npy")}), 0)
      << err.str();
  EXPECT_EQ(readHalves("z.npy"), std::vector<uint16_t>(kTestElements, 0));
  EXPECT_EQ(runModel({"--driver", "other"}), 1);
  expectError(6101);
}

TEST_F(RunCommandTest, InputsMustFitTheModel) {
  EXPECT_EQ(run({path("model"), "--input", path("x.npy")}), 1);
  expectError(6302);
  writeArray("y.npy", {"f4", kTestSize, std::string(1024, '\0')});
  EXPECT_EQ(runModel({}), 1);
  expectError(6302);
  EXPECT_NE(err.str().find("input 1 ('y')"), std::string::npos) << err.str();
  EXPECT_NE(err.str().find("f2 [4, 64]"), std::string::npos) << err.str();
  EXPECT_NE(err.str().find("f4 [4, 64]"), std::string::npos) << err.str();
  writeArray("y.npy", {"f2", {64, 4}, std::string(512, '\0')});
  EXPECT_EQ(runModel({}), 1);
  expectError(6302);
  ASSERT_TRUE(writeFile(path("y.npy"), "nonsense").ok());
  EXPECT_EQ(runModel({}), 1);
  expectError(6301);
  std::filesystem::remove(path("y.npy"));
  EXPECT_EQ(runModel({}), 1);
  expectError(9001);
}

TEST_F(RunCommandTest, DtypeMustAgreeWithTheModel) {
  EXPECT_EQ(runModel({"--dtype", "float16", "--dtype", "float16"}), 0) << err.str();
  EXPECT_EQ(runModel({"--dtype", "y=float16"}), 0) << err.str();
  for (const char *wrong : {"bfloat16", "y=bfloat16", "nobody=float16"}) {
    EXPECT_EQ(runModel({"--dtype", wrong}), 1) << wrong;
    expectError(6303);
  }
  EXPECT_EQ(runModel({"--dtype", "half"}), 1);
  expectError(2002);
}

// numpy has no bfloat16: the bits travel as uint16, in and out.
TEST_F(RunCommandTest, Bfloat16TravelsAsUnsignedBits) {
  const arch::DeviceDesc desc = tinyDevice();
  spec::Model model = chainModel(desc);
  for (std::vector<spec::TensorDesc> *list : {&model.inputs, &model.outputs}) {
    for (spec::TensorDesc &tensor : *list) {
      tensor = tensorDesc(tensor.name, kTestSize, numerics::HostType::Bfloat16);
    }
  }
  Artifacts artifacts = chainArtifacts(desc);
  artifacts["model.json"] = spec::writeModel(model);
  writeModelDirectory(artifacts);
  EXPECT_EQ(runModel({}), 1) << "float16 files are not bfloat16";
  EXPECT_NE(err.str().find("view(torch.uint16)"), std::string::npos) << err.str();
  std::vector<uint16_t> one(kTestElements, numerics::floatToBfloat16(1.5f));
  NpyArray array = halfArray(one);
  array.type = "u2";
  writeArray("x.npy", array);
  writeArray("y.npy", array);
  ASSERT_EQ(runModel({"--dtype", "bfloat16", "-o", path("z.npy"), "-o", path("w.npy")}), 0)
      << err.str();
  EXPECT_EQ(readHalves("z.npy")[5], numerics::floatToBfloat16(3.0f));
}

TEST_F(RunCommandTest, AFailedRunLeavesOldFilesAlone) {
  ASSERT_TRUE(writeFile(path("z.npy"), "old").ok());
  EXPECT_EQ(runModel({"-o", path("z.npy"), "-o", path("missing/w.npy")}), 1);
  expectError(9003);
  EXPECT_EQ(*readFile(path("z.npy")), "old");
  Artifacts artifacts = chainArtifacts(tinyDevice());
  std::string &binary = artifacts["bundle_0/spyreCodeDir/init.bin"];
  binary.assign(binary.size(), '\x5a');
  writeModelDirectory(artifacts);
  EXPECT_EQ(runModel({"-o", path("z.npy"), "-o", path("w.npy")}), 1);
  EXPECT_EQ(*readFile(path("z.npy")), "old");
  EXPECT_FALSE(std::filesystem::exists(path("w.npy")));
  // model, x.npy, y.npy and z.npy: no temporary file stays behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root), {}), 4);
}

TEST_F(RunCommandTest, OutputsMustBeDistinctFiles) {
  for (const std::vector<std::string> &outputs : {std::vector<std::string>{path("z.npy")},
                                                  {path("z.npy"), path("z.npy")},
                                                  {path("z.npy"), path("model")}}) {
    std::vector<std::string> arguments;
    for (const std::string &output : outputs) {
      arguments.insert(arguments.end(), {"--output", output});
    }
    EXPECT_EQ(runModel(arguments), 1);
    expectError(6304);
  }
  EXPECT_FALSE(std::filesystem::exists(path("z.npy")));
}

TEST_F(RunCommandTest, TheDeviceIsThePresetOfTheModelUnlessGiven) {
  EXPECT_EQ(runModel({"--device", "tiny"}), 0) << err.str();
  EXPECT_EQ(runModel({"--device", "openspyre"}), 1);
  expectError(6201);
  arch::DeviceDesc custom = tinyDevice();
  custom.name = "custom";
  custom.cores = 2;
  writeModelDirectory(chainArtifacts(custom));
  EXPECT_EQ(runModel({}), 1);
  EXPECT_NE(err.str().find("--device"), std::string::npos) << err.str();
  ASSERT_TRUE(writeFile(path("custom.json"), custom.toJson()).ok());
  EXPECT_EQ(runModel({"--device", path("custom.json")}), 0) << err.str();
}

TEST_F(RunCommandTest, HelpNamesEveryOptionAndMistakesExitWithOne) {
  EXPECT_EQ(run({"--help"}), 0);
  for (const char *option : {"DIR", "--input", "--output", "--dtype", "--device", "--driver",
                             "--threads", "--repeat", "--counters", "Exit code"}) {
    EXPECT_NE(out.str().find(option), std::string::npos) << option;
  }
  EXPECT_EQ(run({}), 1);
  EXPECT_EQ(runModel({"--unknown"}), 1);
  EXPECT_EQ(runModel({"--repeat", "0"}), 1);
  EXPECT_EQ(runModel({"--threads", "many"}), 1);
  EXPECT_EQ(run({path("nowhere")}), 1);
  expectError(9004);
}

} // namespace
