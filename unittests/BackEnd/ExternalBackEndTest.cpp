//===- ExternalBackEndTest.cpp - another program in the place of our back end ---------------===//
#include "spyre/BackEnd/ExternalBackEnd.h"

#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "Generator.h"
#include "Harness.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <unistd.h>

namespace spyre::backend::test {

namespace fs = std::filesystem;

class External : public testing::Test {
protected:
  void SetUp() override {
    directory = fs::temp_directory_path() / fmt::format("spyre-external-test-{}", getpid());
    fs::remove_all(directory);
    fs::create_directories(directory / "scratch");
    Random random(5);
    Expected<Artifacts> files =
        spec::generateBundle({randomCase("add", random, presetDevice("tiny"), false).spec});
    ASSERT_TRUE(files.ok());
    bundle = *files;
  }
  void TearDown() override { fs::remove_all(directory); }

  /// A back end that is a shell script; what it is given is "--bundle -d DIR".
  std::string script(const std::string &body) {
    fs::path path = directory / "backend.sh";
    EXPECT_TRUE(writeFile(path, "#!/bin/sh\n" + body + "\n").ok());
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  Expected<Artifacts> compileWith(const std::string &command) {
    return compileBundle(bundle, ExternalBackEnd{command, directory / "scratch"});
  }
  void expectFault(const std::string &command, const std::string &part) {
    Expected<Artifacts> code = compileWith(command);
    EXPECT_EQ(code.status().code(), 5312) << code.status().message();
    EXPECT_NE(code.status().message().find(part), std::string::npos) << code.status().message();
    EXPECT_TRUE(fs::is_empty(directory / "scratch"));
  }

  fs::path directory;
  Artifacts bundle;
};

TEST_F(External, OurOwnToolGivesWhatTheLibraryGives) {
  Expected<Artifacts> code = compileWith(std::string(SPYRE_BACKEND_TOOL) + "   --device\ttiny");
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(*code, *compileBundle(bundle, presetDevice("tiny")));
  EXPECT_TRUE(fs::is_empty(directory / "scratch"));
}

TEST_F(External, AStandInGetsTheBundleAndItsResultComesBack) {
  ASSERT_TRUE(
      writeToDirectory(subArtifacts(*compileBundle(bundle, presetDevice("tiny")), "spyreCodeDir/"),
                       directory / "prepared")
          .ok());
  Expected<Artifacts> code =
      compileWith(script("test \"$1 $2\" = \"--bundle -d\" && test -f \"$3/bundle.mlir\" && "
                         "test -f \"$3/sdsc_0.json\" && cp -r '" +
                         (directory / "prepared").string() +
                         "' \"$3/spyreCodeDir\" && echo more > \"$3/spyreCodeDir/note.txt\""));
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(code->at("spyreCodeDir/note.txt"), "more\n");
  EXPECT_EQ(code->size(), 3u);
}

TEST_F(External, FaultsOfTheCommandAreNumbered) {
  expectFault("", "is empty");
  expectFault("  ", "is empty");
  expectFault((directory / "missing").string(), "cannot start");
  expectFault(script("echo too hot >&2; exit 3"), "gave exit code 3; it printed:\ntoo hot");
  expectFault(script("exit 1"), "it printed nothing");
  expectFault(script("kill -9 $$"), "was ended by signal 9");
  expectFault(script("exit 0"), "left no spyreCodeDir/spyrecode.json");
  expectFault(script("mkdir $3/spyreCodeDir; echo x > $3/spyreCodeDir/spyrecode.json"),
              "cannot be read");
  Expected<Artifacts> code = compileBundle(bundle, ExternalBackEnd{"true", directory / "nowhere"});
  EXPECT_EQ(code.status().code(), 5312) << code.status().message();
}

TEST_F(External, AMissingBinaryIsNoticed) {
  ASSERT_TRUE(
      writeFile(directory / "plan.json",
                compileBundle(bundle, presetDevice("tiny"))->at("spyreCodeDir/spyrecode.json"))
          .ok());
  expectFault(script("mkdir $3/spyreCodeDir; cp " + (directory / "plan.json").string() +
                     " $3/spyreCodeDir/spyrecode.json"),
              "left no 'init.bin'");
}

// The command is words, not a shell's line.
TEST_F(External, NothingIsExpanded) {
  std::string command = script("echo \"$1\"; exit 4");
  expectFault(command + " $(touch " + (directory / "scratch").string() + "/x)", "$(touch");
}

} // namespace spyre::backend::test
