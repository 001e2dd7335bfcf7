//===- SmiCommandTest.cpp - spyre-smi from arguments to text --------------------------------===//
#include "spyre-smi/SmiCommand.h"

#include "spyre/Base/Json.h"
#include "spyre/Runtime/CardState.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <sstream>
#include <unistd.h>

using namespace spyre;
using namespace spyre::runtime;

namespace {

class SmiCommand : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "smi-" + std::to_string(getpid());
    std::filesystem::remove_all(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  int run(std::vector<const char *> arguments) {
    arguments.insert(arguments.begin(), "spyre-smi");
    out.str("");
    err.str("");
    return tools::smiCommand(int(arguments.size()), arguments.data(), folder, out, err);
  }
  void publish(int card) {
    CardState state;
    describeThisProcess(state);
    state.card = card;
    state.mode = CardMode::Exclusive;
    state.activeBytes = 3 << 19;
    state.simulatedNs = 2'500'000;
    state.wallNs = 10'000'000;
    ASSERT_TRUE(publishState(stateFolder(folder), state));
  }
  bool printed(const std::string &part) { return out.str().find(part) != std::string::npos; }

  std::string folder;
  std::ostringstream out, err;
};

} // namespace

TEST_F(SmiCommand, NobodyUsesACard) {
  EXPECT_EQ(run({}), 0);
  EXPECT_TRUE(printed("No process reports")) << out.str();
  EXPECT_TRUE(printed("SPYRE_SMI=1"));
  EXPECT_FALSE(std::filesystem::exists(folder)) << "looking leaves no traces";
  EXPECT_EQ(run({"--json"}), 0);
  const Json document = Json::parse(out.str());
  EXPECT_EQ(document["processes"].size(), 0u);
  EXPECT_EQ(document["reports"], false);
}

TEST_F(SmiCommand, OnOffAndTheTable) {
  EXPECT_EQ(run({"--on"}), 0);
  publish(6);
  EXPECT_EQ(run({}), 0);
  EXPECT_TRUE(printed("   6  PF       " + std::to_string(getpid()))) << out.str();
  EXPECT_TRUE(printed("1.5 MiB")) << out.str();
  EXPECT_TRUE(printed("  25.00 ")) << out.str();
  EXPECT_TRUE(printed("2.500 ms")) << out.str();
  EXPECT_EQ(run({"--json"}), 0);
  const Json process = Json::parse(out.str())["processes"][0];
  EXPECT_EQ(process["card"], 6);
  EXPECT_EQ(process["pid"], int64_t(getpid()));
  EXPECT_EQ(process["busy_share"], 0.25);
  EXPECT_EQ(run({"--off"}), 0);
  EXPECT_EQ(run({}), 0);
  EXPECT_TRUE(printed("Reports are off"));
}

TEST_F(SmiCommand, LoopTakesSamples) {
  EXPECT_EQ(run({"--json", "--loop", "3", "--interval", "0"}), 0);
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(SmiCommand, WrongArgumentsAndHelp) {
  EXPECT_EQ(run({"--loop", "0"}), 1);
  EXPECT_EQ(run({"--on", "--off"}), 1);
  EXPECT_EQ(run({"--cards"}), 1);
  EXPECT_EQ(run({"--dir", "/proc/nowhere", "--on"}), 1);
  EXPECT_NE(err.str().find("SPYRE-E6145"), std::string::npos) << err.str();
  EXPECT_EQ(run({"--help"}), 0);
  for (const char *option : {"--json", "--loop", "--interval", "--on", "--off", "--dir"}) {
    EXPECT_TRUE(printed(option)) << option;
  }
}
