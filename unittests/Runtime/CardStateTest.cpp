//===- CardStateTest.cpp - what processes say about their cards -----------------------------===//
#include "spyre/Runtime/CardState.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace spyre;
using namespace spyre::runtime;

namespace {

class CardStates : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "states-" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  CardState stateOf(int card) {
    CardState state;
    describeThisProcess(state);
    state.card = card;
    state.mode = CardMode::Shared;
    state.machine = "tiny";
    state.activeBytes = 4096;
    state.ptMacs = 50;
    state.cycles = 10;
    state.ptMacsPerCycle = 20;
    state.simulatedNs = 1000;
    state.wallNs = 4000;
    return state;
  }
  size_t fileCount() {
    return size_t(std::distance(std::filesystem::directory_iterator(folder),
                                std::filesystem::directory_iterator()));
  }
  std::string folder;
};

} // namespace

TEST_F(CardStates, AreReadAsTheyWereWritten) {
  ASSERT_TRUE(publishState(folder, stateOf(5)));
  ASSERT_TRUE(publishState(folder, stateOf(1)));
  const std::vector<CardState> states = readStates(folder);
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0].card, 1);
  EXPECT_EQ(states[1].toJson(), stateOf(5).toJson());
  EXPECT_DOUBLE_EQ(states[1].busyShare(), 0.25);
  EXPECT_DOUBLE_EQ(states[1].ptUtilisation(), 0.25);
  EXPECT_GT(states[1].processStart, 0);
  EXPECT_FALSE(states[1].processName.empty());
  EXPECT_EQ(fileCount(), 2u) << "no drafts are left";
}

TEST_F(CardStates, GoWhenWithdrawn) {
  ASSERT_TRUE(publishState(folder, stateOf(0)));
  withdrawState(folder, 0, getpid());
  EXPECT_TRUE(readStates(folder).empty());
  EXPECT_EQ(fileCount(), 0u);
}

TEST_F(CardStates, OfDeadProcessesAreIgnoredAndRemoved) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  CardState dead = stateOf(0);
  dead.process = child;
  ASSERT_TRUE(publishState(folder, dead));
  CardState reused = stateOf(1);
  ++reused.processStart; // this process's number, but of one that started at another time
  ASSERT_TRUE(publishState(folder, reused));
  EXPECT_TRUE(readStates(folder).empty());
  EXPECT_EQ(fileCount(), 0u);
}

TEST_F(CardStates, MalformedFilesAreIgnored) {
  for (const char *text : {"", "{", "[]", "{\"card\": 99}", "{\"card\": \"x\"}"}) {
    std::ofstream(folder + "/card0.1.json") << text;
    EXPECT_TRUE(readStates(folder).empty()) << text;
  }
  Expected<CardState> state = CardState::fromJson(stateOf(0).toJson());
  ASSERT_TRUE(state.ok());
  std::string text = stateOf(0).toJson();
  text.replace(text.find("\"VF\""), 4, "\"XF\"");
  EXPECT_EQ(CardState::fromJson(text).status().code(), 6148);
  EXPECT_TRUE(readStates(folder + "/none").empty());
  EXPECT_FALSE(publishState(folder + "/none", stateOf(0)));
}
