//===- CardsTest.cpp - which cards there are, and who may open them -------------------------===//
#include "spyre/Runtime/Cards.h"

#include "gtest/gtest.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace spyre;
using namespace spyre::runtime;

namespace {

using Cards = std::vector<int>;

Cards cardsOf(const CardVariables &variables) {
  Expected<CardList> list = enumerateCards(variables);
  EXPECT_TRUE(list.ok()) << list.status().message();
  return list.ok() ? list->cards : Cards{-1};
}

Cards visible(const std::string &worldSize, const std::string &devices) {
  return cardsOf({"", worldSize, devices, ""});
}

std::string faultOf(const CardVariables &variables, int code) {
  const Expected<CardList> list = enumerateCards(variables);
  EXPECT_FALSE(list.ok());
  EXPECT_EQ(list.status().code(), code);
  return list.status().message();
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A folder that goes with the test.
class CardLocks : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "cards-" + std::to_string(getpid());
    std::filesystem::remove_all(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string messageOf(int card, CardMode mode) {
    const Expected<CardLock> lock = CardLock::acquire(folder, card, mode);
    return lock.ok() ? "" : lock.status().message();
  }
  std::string folder;
};

} // namespace

TEST(Cards, EightUnlessToldOtherwise) {
  const Cards all = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(visible("", ""), all);
  EXPECT_EQ(visible("8", ""), all);
  EXPECT_EQ(visible("", " "), all);
}

TEST(Cards, WorldSizeLimitsTheCards) {
  EXPECT_EQ(visible("1", ""), Cards({0}));
  EXPECT_EQ(visible("3", ""), Cards({0, 1, 2}));
  EXPECT_EQ(cardsOf({"MOCK", "2", "", ""}), Cards({0, 1}));
}

TEST(Cards, DevicesKeepOrderAndDropWhatIsNotThere) {
  EXPECT_EQ(visible("", "0"), Cards({0}));
  EXPECT_EQ(visible("", "0,1"), Cards({0, 1}));
  EXPECT_EQ(visible("", "0,1,1"), Cards({0, 1}));
  EXPECT_EQ(visible("", "1,0"), Cards({1, 0}));
  EXPECT_EQ(visible("", "0, 9"), Cards({0}));
  EXPECT_EQ(visible("", " 7 ,\t2"), Cards({7, 2}));
  EXPECT_EQ(visible("", "8,99999999999999999999"), Cards());
  EXPECT_EQ(visible("2", "0"), Cards({0}));
  EXPECT_EQ(visible("2", "0,1"), Cards({0, 1}));
  EXPECT_EQ(visible("2", "1,2"), Cards({1}));
}

TEST(Cards, MalformedVariablesAreNamed) {
  for (const char *devices : {"-1", "0,-1", "a", "0,,1", "0,1,", ",", "1.0", "0 1", "+1", "0x1"}) {
    const std::string text = faultOf({"", "", devices, ""}, 6142);
    EXPECT_TRUE(contains(text, "SPYRE_DEVICES")) << text;
    EXPECT_TRUE(contains(text, devices)) << text;
  }
  for (const char *size : {"0", "-1", "x", "2x", "1.5", "1,2", "9", "12", "99999999999999999999"}) {
    EXPECT_TRUE(contains(faultOf({"", size, "", ""}, 6141), "AIU_WORLD_SIZE"));
    EXPECT_TRUE(contains(faultOf({"MOCK", size, "0", ""}, 6141), "AIU_WORLD_SIZE"));
  }
  for (const char *mode : {"pf", "GPU", "PF,VF", "1"}) {
    EXPECT_TRUE(contains(faultOf({mode, "", "", ""}, 6140), "FLEX_DEVICE"));
  }
}

TEST(Cards, ModesAreNamed) {
  EXPECT_EQ(enumerateCards({"", "", "", ""})->mode, CardMode::Private);
  EXPECT_EQ(enumerateCards({"MOCK", "", "", ""})->mode, CardMode::Private);
  EXPECT_EQ(enumerateCards({"PF", "", "", ""})->mode, CardMode::Exclusive);
  EXPECT_EQ(enumerateCards({"VF", "", "", ""})->mode, CardMode::Shared);
  EXPECT_STREQ(cardModeName(CardMode::Exclusive), "PF");
  EXPECT_STREQ(cardModeName(CardMode::Shared), "VF");
}

TEST(Cards, LocalRankIsTheDefaultDevice) {
  auto rank = [](const char *text) { return defaultDeviceIndex({"", "", "", text}, 2); };
  EXPECT_EQ(*rank(""), 0);
  EXPECT_EQ(*rank("0"), 0);
  EXPECT_EQ(*rank("1"), 1);
  for (const char *text : {"2", "300", "99999999999999999999"}) {
    EXPECT_EQ(rank(text).status().code(), 6143);
    EXPECT_TRUE(contains(rank(text).status().message(),
                         std::string("Device index out of bounds. logical_device_id=") + text +
                             ", number of visible devices=2"));
  }
  for (const char *text : {"-1", "one", "0x1"}) {
    EXPECT_EQ(rank(text).status().code(), 6143);
    EXPECT_TRUE(contains(rank(text).status().message(), "LOCAL_RANK"));
  }
}

TEST(Cards, FolderIsTheUsersOwn) {
  EXPECT_EQ(cardFolder("/a", "/run/user/7", "/tmp", 7), "/a");
  EXPECT_EQ(cardFolder("", "/run/user/7", "/tmp", 7), "/run/user/7/openspyre");
  EXPECT_EQ(cardFolder("", "", "/tmp", 7), "/tmp/openspyre-7");
}

TEST_F(CardLocks, PrivateCardsNeedNone) {
  const Expected<CardLock> lock = CardLock::acquire(folder, 0, CardMode::Private);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(lock->held());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(CardLocks, OneOwnerInExclusiveMode) {
  Expected<CardLock> lock = CardLock::acquire(folder, 3, CardMode::Exclusive);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  for (CardMode mode : {CardMode::Exclusive, CardMode::Shared}) {
    const std::string text = messageOf(3, mode);
    EXPECT_TRUE(contains(text, "SPYRE-E6144: device busy: card 3 is in use by process " +
                                   std::to_string(getpid())))
        << text;
  }
  EXPECT_EQ(messageOf(2, CardMode::Exclusive), "");
  *lock = CardLock();
  EXPECT_EQ(messageOf(3, CardMode::Exclusive), "");
}

TEST_F(CardLocks, ManyOwnersInSharedMode) {
  Expected<CardLock> first = CardLock::acquire(folder, 0, CardMode::Shared);
  Expected<CardLock> second = CardLock::acquire(folder, 0, CardMode::Shared);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(contains(messageOf(0, CardMode::Exclusive), "SPYRE-E6144"));
  *first = CardLock();
  EXPECT_TRUE(contains(messageOf(0, CardMode::Exclusive), "SPYRE-E6144"));
  *second = CardLock();
  EXPECT_EQ(messageOf(0, CardMode::Exclusive), "");
}

TEST_F(CardLocks, ADeadOwnersCardIsFree) {
  int ready[2] = {};
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Expected<CardLock> lock = CardLock::acquire(folder, 0, CardMode::Exclusive);
    const char answer = lock.ok() ? 'y' : 'n';
    (void)!write(ready[1], &answer, 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const std::string text = messageOf(0, CardMode::Exclusive);
  EXPECT_TRUE(contains(text, "process " + std::to_string(child))) << text;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(messageOf(0, CardMode::Exclusive), "");
  close(ready[0]);
  close(ready[1]);
}

TEST_F(CardLocks, AbandoningInAChildLeavesTheParentsLock) {
  Expected<CardLock> lock = CardLock::acquire(folder, 0, CardMode::Exclusive);
  ASSERT_TRUE(lock.ok());
  const pid_t child = fork();
  if (child == 0) {
    lock->abandon();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(contains(messageOf(0, CardMode::Exclusive), "SPYRE-E6144"));
}

TEST_F(CardLocks, FolderThatIsNoFolderIsAnError) {
  EXPECT_TRUE(contains(prepareCardFolder("/proc/nowhere").message(), "SPYRE-E6145"));
  EXPECT_TRUE(contains(prepareCardFolder("/proc/version").message(), "SPYRE-E6145"));
  ASSERT_TRUE(prepareCardFolder(folder).ok());
  const std::string link = folder + "/link";
  std::filesystem::create_directory_symlink("/tmp", link);
  EXPECT_TRUE(contains(prepareCardFolder(link).message(), "SPYRE-E6145"));
}
