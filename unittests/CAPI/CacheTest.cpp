//===- CacheTest.cpp - what the persistent cache keeps, refuses and forgets -----------------===//
#include "spyre/CAPI/Compiler.h"
#include "spyre/Pipelines/ArtifactCache.h"

#include "gtest/gtest.h"

#include <chrono>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace spyre {
namespace {

using pipelines::ArtifactCache;
using pipelines::CacheKey;

constexpr uint64_t kMegabyte = uint64_t(1) << 20;

class Cache : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() /
             fmt::format("spyre-cache-test-{}-{}", getpid(),
                         testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
  }
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(folder, ignored);
  }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> paths;
    for (const auto &item : fs::recursive_directory_iterator(folder)) {
      if (item.is_regular_file()) {
        paths.push_back(item.path());
      }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  fs::path folder;
};

std::string keyOf(const std::string &text) {
  CacheKey key;
  key.add("text", text);
  return key.text();
}

/// Bytes that no compression makes smaller.
std::string noise(size_t bytes, uint64_t seed) {
  std::string text(bytes, '\0');
  for (char &c : text) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    c = char(seed >> 56);
  }
  return text;
}

std::string graphText(double factor = 2.0) {
  capi::GraphBuilder builder;
  capi::TensorType type{numerics::HostType::Float16, {64, 128}, {128, 1}};
  auto x =
      builder.addInput("x", type, 0, *layout::DeviceLayout::makeDefault(type.size, type.dtype));
  builder.addOutput(builder.addCall("aten.mul.Tensor", {x}, {{"scalar1", factor}}, type, ""), type);
  return *builder.text();
}

capi::CompileOptions optionsFor(const fs::path &folder) {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.cacheDirectory = folder.string();
  return options;
}

TEST_F(Cache, GivesBackWhatWasStored) {
  ArtifactCache cache(folder, kMegabyte);
  const Artifacts artifacts = {
      {"empty", ""}, {"model.json", "{}"}, {"zero", std::string(3, '\0')}, {"x/y", noise(9999, 1)}};
  EXPECT_FALSE(cache.find(keyOf("a")));
  cache.store(keyOf("a"), artifacts);
  ASSERT_TRUE(cache.find(keyOf("a")));
  EXPECT_EQ(*cache.find(keyOf("a")), artifacts);
  EXPECT_FALSE(cache.find(keyOf("b")));
}

TEST_F(Cache, KeysOfDifferentPartsDiffer) {
  auto key = [](std::vector<std::pair<std::string, std::string>> parts) {
    CacheKey result;
    for (const auto &[name, bytes] : parts) {
      result.add(name, bytes);
    }
    return result.text();
  };
  EXPECT_EQ(key({{"a", "bc"}}), key({{"a", "bc"}}));
  EXPECT_NE(key({{"a", "bc"}}), key({{"ab", "c"}}));
  EXPECT_NE(key({{"a", "b"}, {"c", "d"}}), key({{"a", "bc"}, {"", "d"}}));
  EXPECT_NE(key({{"a", "b"}, {"c", "d"}}), key({{"c", "d"}, {"a", "b"}}));
  EXPECT_EQ(key({}).size(), 64u);
}

TEST_F(Cache, TruncatedEntriesAreMissesAndGo) {
  ArtifactCache cache(folder, kMegabyte);
  cache.store(keyOf("a"), {{"model.json", noise(200, 1)}});
  const fs::path path = entries().at(0);
  const std::string whole = *readFile(path);
  for (size_t size = 0; size < whole.size(); size += 7) {
    std::ofstream(path, std::ios::binary).write(whole.data(), std::streamsize(size));
    EXPECT_FALSE(cache.find(keyOf("a"))) << size;
    EXPECT_FALSE(fs::exists(path)) << size;
  }
  ASSERT_TRUE(writeFile(path, whole + "x").ok());
  EXPECT_FALSE(cache.find(keyOf("a")));
}

TEST_F(Cache, EveryFlippedBitIsAMiss) {
  ArtifactCache cache(folder, kMegabyte);
  cache.store(keyOf("a"), {{"model.json", noise(64, 1)}});
  const fs::path path = entries().at(0);
  const std::string whole = *readFile(path);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_TRUE(writeFile(path, damaged).ok());
    ASSERT_FALSE(cache.find(keyOf("a"))) << bit;
  }
  ASSERT_TRUE(writeFile(path, whole).ok());
  EXPECT_TRUE(cache.find(keyOf("a")));
}

TEST_F(Cache, AnEntryUnderAnotherNameIsAMiss) {
  ArtifactCache cache(folder, kMegabyte);
  cache.store(keyOf("a"), {{"model.json", "a"}});
  const fs::path first = entries().at(0);
  cache.store(keyOf("b"), {{"model.json", "b"}});
  for (const fs::path &path : entries()) {
    if (path != first) {
      fs::copy_file(first, path, fs::copy_options::overwrite_existing);
    }
  }
  EXPECT_FALSE(cache.find(keyOf("b")));
  EXPECT_EQ(cache.find(keyOf("a"))->at("model.json"), "a");
}

TEST_F(Cache, LongestUnusedGoesFirst) {
  ArtifactCache cache(folder, 35000);
  std::map<std::string, fs::path> paths;
  const auto now = fs::file_time_type::clock::now();
  int age = 10;
  for (const char *name : {"a", "b", "c"}) {
    std::vector<fs::path> before = paths.empty() ? std::vector<fs::path>() : entries();
    cache.store(keyOf(name), {{"model.json", noise(10000, uint64_t(name[0]))}});
    for (const fs::path &path : entries()) {
      if (std::find(before.begin(), before.end(), path) == before.end()) {
        paths[name] = path;
      }
    }
    fs::last_write_time(paths[name], now - std::chrono::minutes(age--));
  }
  EXPECT_TRUE(cache.find(keyOf("a"))); // used: now the youngest
  cache.store(keyOf("d"), {{"model.json", noise(10000, 7)}});
  EXPECT_FALSE(fs::exists(paths["b"]));
  for (const char *name : {"a", "c", "d"}) {
    EXPECT_TRUE(cache.find(keyOf(name))) << name;
  }
  cache.store(keyOf("e"), {{"model.json", noise(40000, 9)}});
  EXPECT_FALSE(cache.find(keyOf("e"))) << "larger than the whole cache";
}

TEST_F(Cache, OnlyOurFilesAreRemoved) {
  ArtifactCache cache(folder, 100);
  ASSERT_TRUE(fs::create_directories(folder / "v1" / "aa"));
  ASSERT_TRUE(writeFile(folder / "v1" / "aa" / "letter.txt", noise(5000, 1)).ok());
  const fs::path left = folder / "v1" / "aa" / "bb.spyre.tmp-1-0";
  const fs::path young = folder / "v1" / "aa" / "cc.spyre.tmp-1-0";
  ASSERT_TRUE(writeFile(left, "half").ok());
  ASSERT_TRUE(writeFile(young, "half").ok());
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.evict();
  EXPECT_TRUE(fs::exists(folder / "v1" / "aa" / "letter.txt"));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(Cache, AFolderThatCannotBeWrittenIsNoError) {
  ASSERT_TRUE(fs::create_directories(folder));
  ASSERT_TRUE(writeFile(folder / "file", "x").ok());
  for (const fs::path &bad : {folder / "file", fs::path("/proc/none"), fs::path("/dev/null")}) {
    capi::CompileOptions options = optionsFor(bad);
    for (int i = 0; i < 2; ++i) {
      auto result = capi::compileGraph(graphText(), options);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_FALSE(result->fromCache);
    }
  }
}

TEST_F(Cache, SecondCompilationHasTheSameBytes) {
  auto first = capi::compileGraph(graphText(), optionsFor(folder));
  auto second = capi::compileGraph(graphText(), optionsFor(folder));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(first->fromCache);
  EXPECT_TRUE(second->fromCache);
  EXPECT_EQ(first->artifacts, second->artifacts);
  EXPECT_EQ(first->decisionsJson, second->decisionsJson);
}

TEST_F(Cache, WhateverChangesTheResultIsAMiss) {
  const capi::CompileOptions base = optionsFor(folder);
  ASSERT_TRUE(capi::compileGraph(graphText(), base).ok());
  ASSERT_TRUE(capi::compileGraph(graphText(), base)->fromCache);
  EXPECT_FALSE(capi::compileGraph(graphText(3.0), base)->fromCache) << "graph";

  std::vector<capi::CompileOptions> changed(7, base);
  changed[0].cores = 4;
  changed[1].device.spanLimitBytes /= 2;
  changed[2].device = *arch::DeviceDesc::preset("tiny");
  changed[3].compileTo = "bundle";
  changed[4].keepPhases = true;
  changed[5].wholeGraphLayouts = false;
  changed[6].sharePool = false;
  for (size_t i = 0; i < changed.size(); ++i) {
    auto result = capi::compileGraph(graphText(), changed[i]);
    ASSERT_TRUE(result.ok()) << i << ": " << result.status().message();
    EXPECT_FALSE(result->fromCache) << i;
    EXPECT_TRUE(capi::compileGraph(graphText(), changed[i])->fromCache) << i;
  }
  capi::CompileOptions same = base;
  same.cores = same.device.cores;
  same.scratchDirectory = "/elsewhere";
  EXPECT_TRUE(capi::compileGraph(graphText(), same)->fromCache) << "all cores, said or not";
}

TEST_F(Cache, ABackEndCountsByItsContents) {
  // A stand-in that puts back what our own back end made of the same bundle.
  ASSERT_TRUE(fs::create_directories(folder));
  capi::CompileOptions options = optionsFor(folder / "cache");
  auto own = capi::compileGraph(graphText(), options);
  ASSERT_TRUE(own.ok());
  ASSERT_TRUE(writeToDirectory(own->artifacts, folder / "made").ok());
  const fs::path script = folder / "backend.sh";
  auto write = [&](const std::string &comment) {
    std::ofstream(script) << "#!/bin/sh\n# " << comment << "\ncp -r " << (folder / "made").string()
                          << "/bundle_0/spyreCodeDir \"$3\"\n";
    chmod(script.c_str(), 0755);
  };
  write("one");
  options.backEndCommand = script.string();
  options.scratchDirectory = folder.string();
  auto first = capi::compileGraph(graphText(), options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_FALSE(first->fromCache) << "another back end";
  EXPECT_TRUE(capi::compileGraph(graphText(), options)->fromCache);
  write("two");
  EXPECT_FALSE(capi::compileGraph(graphText(), options)->fromCache) << "a changed back end";
  options.backEndCommand = "sh " + script.string();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(capi::compileGraph(graphText(), options)->fromCache) << "found on the path";
  }
}

TEST_F(Cache, ErrorsAreNotKept) {
  capi::CompileOptions options = optionsFor(folder);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(capi::compileGraph("graph?", options).status().code(), 1001);
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(Cache, ProcessesShareAFolder) {
  constexpr int kProcesses = 4, kRounds = 40, kKeys = 5;
  const std::string data = noise(20000, 3);
  for (int p = 0; p < kProcesses; ++p) {
    if (fork() == 0) {
      // Every process stores, finds, damages and evicts; whatever is found must be right.
      ArtifactCache cache(folder, 45000);
      for (int round = 0; round < kRounds; ++round) {
        const std::string key = keyOf(std::to_string((round * (p + 1)) % kKeys));
        cache.store(key, {{"key", key}, {"data", data}});
        auto found = cache.find(key);
        if (found && ((*found)["key"] != key || (*found)["data"] != data)) {
          _exit(1);
        }
        if (p == 0 && round % 5 == 0) {
          std::ofstream(folder / "v1" / key.substr(0, 2) / (key.substr(2) + ".spyre")) << "bad";
        }
      }
      _exit(0);
    }
  }
  for (int p = 0; p < kProcesses; ++p) {
    int status = 0;
    wait(&status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

} // namespace
} // namespace spyre
