//===- ArtifactsTest.cpp - files are whole or absent ----------------------------------------===//
#include "spyre/Base/Artifacts.h"

#include "gtest/gtest.h"

#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace spyre {
namespace {

class ArtifactsTest : public testing::Test {
protected:
  void SetUp() override {
    const auto *info = testing::UnitTest::GetInstance()->current_test_info();
    root =
        fs::path(testing::TempDir()) / fmt::format("spyre-artifacts-{}-{}", info->name(), getpid());
    fs::remove_all(root);
    fs::create_directories(root);
  }
  void TearDown() override { fs::remove_all(root); }

  size_t entries() const {
    return size_t(std::distance(fs::directory_iterator(root), fs::directory_iterator()));
  }

  fs::path root;
};

TEST_F(ArtifactsTest, FileRoundTripsAndLeavesNoTemporary) {
  std::string bytes("a\0b\xFF\n", 5);
  ASSERT_TRUE(writeFile(root / "x", "old").ok());
  ASSERT_TRUE(writeFile(root / "x", bytes).ok());
  EXPECT_EQ(*readFile(root / "x"), bytes);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ArtifactsTest, FileErrorsAreNumbered) {
  EXPECT_EQ(readFile(root / "missing").status().code(), 9001);
  EXPECT_EQ(readFile(root).status().code(), 9001);
  ASSERT_TRUE(writeFile(root / "x", "12345").ok());
  EXPECT_TRUE(readFile(root / "x", 5).ok());
  EXPECT_EQ(readFile(root / "x", 4).status().code(), 9002);
  EXPECT_EQ(writeFile(root / "no" / "x", "1").code(), 9003);
  EXPECT_EQ(writeFile(root, "1").code(), 9003);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ArtifactsTest, PipesAndLinksAreWrittenAndNotReplaced) {
  // A pipe of our own stands for devices: a fault here must not harm the machine.
  ASSERT_EQ(mkfifo((root / "pipe").c_str(), 0600), 0);
  int reader = open((root / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(writeFile(root / "pipe", "abc").ok());
  EXPECT_TRUE(fs::is_fifo(root / "pipe"));
  char bytes[4] = {};
  EXPECT_EQ(read(reader, bytes, 3), 3);
  EXPECT_STREQ(bytes, "abc");
  close(reader);
  EXPECT_EQ(writeToDirectory({{"model.json", "{}"}}, root / "pipe").code(), 9004);
  EXPECT_TRUE(fs::is_fifo(root / "pipe"));

  ASSERT_TRUE(writeFile(root / "real", "old").ok());
  fs::create_symlink("real", root / "link");
  EXPECT_TRUE(writeFile(root / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(root / "link"));
  EXPECT_EQ(*readFile(root / "real"), "new");
}

TEST_F(ArtifactsTest, DirectoryRoundTrips) {
  Artifacts artifacts = {{"model.json", "{}"}, {"bundle_0/sdsc_0.json", "[]"}, {"a/b/c", ""}};
  ASSERT_TRUE(writeToDirectory(artifacts, root / "out").ok());
  EXPECT_EQ(*readDirectory(root / "out"), artifacts);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ArtifactsTest, OwnDirectoryIsReplacedAsAWhole) {
  for (const char *marker : {"model.json", "bundle.mlir", "spyrecode.json"}) {
    fs::path out = root / fmt::format("out-{}", marker);
    ASSERT_TRUE(writeToDirectory({{marker, "1"}, {"old", "1"}}, out).ok());
    Artifacts fresh = {{"new", "2"}, {marker, "2"}};
    // A trailing slash names the same directory.
    ASSERT_TRUE(writeToDirectory(fresh, fs::path(out.string() + "/")).ok());
    EXPECT_EQ(*readDirectory(out), fresh);
  }
  EXPECT_EQ(entries(), 3u);
}

TEST_F(ArtifactsTest, ForeignDirectoryIsRefused) {
  fs::create_directories(root / "home");
  std::ofstream(root / "home" / "letter.txt") << "dear";
  EXPECT_EQ(writeToDirectory({{"model.json", "{}"}}, root / "home").code(), 9005);
  EXPECT_EQ(*readFile(root / "home" / "letter.txt"), "dear");
  EXPECT_EQ(writeToDirectory({{"model.json", "{}"}}, root / "home" / "letter.txt").code(), 9004);
  EXPECT_EQ(readDirectory(root / "home" / "letter.txt").status().code(), 9004);
  EXPECT_EQ(entries(), 1u);
  // An empty one is free to take, and so is one whose parents do not exist yet.
  fs::create_directories(root / "empty");
  EXPECT_TRUE(writeToDirectory({{"f", "1"}}, root / "empty").ok());
  EXPECT_TRUE(writeToDirectory({{"f", "1"}}, root / "p" / "q").ok());
}

TEST_F(ArtifactsTest, PathsThatLeaveTheDirectoryAreRefused) {
  const std::string refused[] = {"",     "/etc/x", "../x", "a/../../x",
                                 "a/..", "./x",    "a/b/", std::string("a\0b", 3)};
  for (const std::string &path : refused) {
    EXPECT_EQ(writeToDirectory({{path, "1"}}, root / "out").code(), 9003) << path;
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(ArtifactsTest, FailureKeepsTheOldDirectory) {
  Artifacts old = {{"model.json", "1"}};
  ASSERT_TRUE(writeToDirectory(old, root / "out").ok());
  // "a" cannot be a file and a directory.
  EXPECT_EQ(writeToDirectory({{"a", "1"}, {"a/b", "2"}}, root / "out").code(), 9003);
  EXPECT_EQ(*readDirectory(root / "out"), old);
  EXPECT_EQ(entries(), 1u);
}

TEST(Artifacts, SubsetsAndLookups) {
  Artifacts artifacts = {{"bundle_0/a", "1"}, {"bundle_0/b/c", "2"}, {"bundle_01/a", "3"}};
  EXPECT_EQ(subArtifacts(artifacts, "bundle_0/"), (Artifacts{{"a", "1"}, {"b/c", "2"}}));
  EXPECT_EQ(*findArtifact(artifacts, "bundle_01/a"), "3");
  Status status = findArtifact(artifacts, "model.json").status();
  EXPECT_EQ(status.code(), 9006);
  EXPECT_NE(status.text().find("model.json"), std::string::npos);
}

TEST(Artifacts, HashIsFnv1a) {
  EXPECT_EQ(contentHash(""), "cbf29ce484222325");
  EXPECT_EQ(contentHash("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(contentHash("foobar"), "85944171f73967e8");
}

} // namespace
} // namespace spyre
