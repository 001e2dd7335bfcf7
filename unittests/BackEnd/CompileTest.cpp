//===- CompileTest.cpp - bundle to SpyreCode, in the library and on the command line --------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/SpyreCode.h"

#include "Generator.h"
#include "Harness.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace spyre::backend::test {

namespace fs = std::filesystem;

static Artifacts bundleOf(const std::vector<std::string> &ops) {
  arch::DeviceDesc device = presetDevice("tiny");
  std::vector<spec::OpSpec> specs;
  for (const std::string &op : ops) {
    Random random(11);
    specs.push_back(randomCase(op, random, device, false).spec);
  }
  Expected<Artifacts> bundle = spec::generateBundle(specs);
  SPYRE_CHECK(bundle.ok(), "generated operations can be bundled");
  return *bundle;
}

TEST(CompileBundle, MakesOneProgramWithOnePhasePerOperation) {
  arch::DeviceDesc device = presetDevice("tiny");
  Expected<Artifacts> code = compileBundle(bundleOf({"add", "sum", "batchmatmul"}), device);
  ASSERT_TRUE(code.ok()) << code.status().message();
  ASSERT_EQ(code->size(), 2u);
  const std::string &binary = code->at("spyreCodeDir/init.bin");
  EXPECT_EQ(binary.size() % 128, 0u);
  Expected<program::Program> program = program::readProgram(binary);
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_EQ(program->phases.size(), 3u);
  EXPECT_EQ(program->phases[0].name, "0_add");
  EXPECT_EQ(program->phases[2].name, "2_batchmatmul");
  EXPECT_TRUE(program::verifyProgram(*program, device).ok());

  Expected<spec::SpyreCode> json = spec::readSpyreCode(code->at("spyreCodeDir/spyrecode.json"));
  ASSERT_TRUE(json.ok()) << json.status().message();
  int64_t address = spec::kProgramOffsetBase + 128;
  EXPECT_EQ(json->allocateBytes, int64_t(128 + binary.size()));
  ASSERT_EQ(json->transfers.size(), 1u);
  EXPECT_EQ(json->transfers[0], (spec::InitTransfer{"init.bin", address, int64_t(binary.size())}));
  EXPECT_EQ(json->jobs, std::vector<int64_t>{address});
}

TEST(CompileBundle, GivesTheSameBytesEachTime) {
  arch::DeviceDesc device = presetDevice("openspyre");
  Artifacts bundle = bundleOf(generatedOps());
  Expected<Artifacts> first = compileBundle(bundle, device);
  Expected<Artifacts> second = compileBundle(bundle, device);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*first, *second);
}

TEST(CompileBundle, RefusesBrokenBundles) {
  arch::DeviceDesc device = presetDevice("tiny");
  EXPECT_FALSE(compileBundle({}, device).ok());
  Artifacts missing = bundleOf({"add", "mul"});
  missing.erase("sdsc_1.json");
  EXPECT_FALSE(compileBundle(missing, device).ok());
  Artifacts garbled = bundleOf({"add"});
  garbled["sdsc_0.json"] = "{\"0_add\": 5}";
  EXPECT_FALSE(compileBundle(garbled, device).ok());
  Artifacts unknown = bundleOf({"exp"});
  std::string &text = unknown["sdsc_0.json"];
  for (size_t at = text.find("exp\""); at != std::string::npos; at = text.find("exp\"")) {
    text.replace(at, 4, "xyz\"");
  }
  Expected<Artifacts> code = compileBundle(unknown, device);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), 5301) << code.status().message();
}

//===- The program ------------------------------------------------------------------------===//

class Tool : public testing::Test {
protected:
  void SetUp() override {
    directory = fs::temp_directory_path() / fmt::format("spyre-backend-test-{}", getpid());
    fs::remove_all(directory);
    fs::create_directories(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  /// Exit code; standard error goes to a file beside the bundle.
  int run(const std::string &arguments) {
    std::string command = fmt::format("'{}' {} >/dev/null 2>'{}'", SPYRE_BACKEND_TOOL, arguments,
                                      (directory / "stderr.txt").string());
    int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string errors() { return *readFile(directory / "stderr.txt"); }
  void write(const Artifacts &files) {
    for (const auto &[name, contents] : files) {
      ASSERT_TRUE(writeFile(directory / name, contents).ok());
    }
  }

  fs::path directory;
};

TEST_F(Tool, WritesAndReplacesSpyreCodeDir) {
  std::string options = fmt::format("--bundle -d '{}' --device tiny", directory.string());
  for (const char *op : {"add", "sum"}) {
    Artifacts bundle = bundleOf({op});
    write(bundle);
    ASSERT_EQ(run(options), 0) << errors();
    Expected<Artifacts> expected = compileBundle(bundle, presetDevice("tiny"));
    Expected<Artifacts> written = readDirectory(directory / "spyreCodeDir");
    ASSERT_TRUE(expected.ok() && written.ok());
    EXPECT_EQ(*written, subArtifacts(*expected, "spyreCodeDir/"));
  }
  EXPECT_FALSE(fs::exists(directory / ".spyreCodeDir.new"));
}

TEST_F(Tool, ReportsFaultsWithCodeAndLeavesTheOldResult) {
  std::string options = fmt::format("--bundle -d '{}'", directory.string());
  write(bundleOf({"add"}));
  ASSERT_EQ(run(options), 0) << errors();
  std::string before = *readFile(directory / "spyreCodeDir" / "init.bin");
  ASSERT_TRUE(writeFile(directory / "sdsc_0.json", "{}").ok());
  EXPECT_EQ(run(options), 1);
  EXPECT_NE(errors().find("SPYRE-E"), std::string::npos) << errors();
  EXPECT_EQ(*readFile(directory / "spyreCodeDir" / "init.bin"), before);
}

TEST_F(Tool, ChecksItsOptions) {
  EXPECT_EQ(run("--help"), 0);
  EXPECT_EQ(run(""), 1);
  EXPECT_EQ(run("--bundle -d"), 1);
  EXPECT_EQ(run("--bundle -d /nonexistent/directory"), 1);
  EXPECT_EQ(run(fmt::format("--bundle -d '{}' --device huge", directory.string())), 1);
  EXPECT_NE(errors().find("SPYRE-E9202"), std::string::npos) << errors();
  EXPECT_EQ(run("--verbose"), 1);
  EXPECT_NE(errors().find("SPYRE-E5306"), std::string::npos) << errors();
}

} // namespace spyre::backend::test
