//===- DeviceDescTest.cpp - presets and the strict reader of machine files ------------------===//
#include "spyre/Arch/DeviceDesc.h"

#include "spyre/Arch/LxBudget.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Json.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <unistd.h>

namespace spyre::arch {
namespace {

DeviceDesc preset(const std::string &name) {
  Expected<DeviceDesc> desc = DeviceDesc::preset(name);
  EXPECT_TRUE(desc.ok()) << desc.status().message();
  return *desc;
}

TEST(DeviceDesc, SpyreHasTheDocumentedNumbers) {
  DeviceDesc desc = preset("spyre");
  EXPECT_EQ(desc.cores, 32);
  EXPECT_EQ(desc.lxBytes, 2097152);
  EXPECT_EQ(desc.lxPlannerBytes, 1677721);
  EXPECT_EQ(desc.spanLimitBytes, 268435456);
  EXPECT_EQ(desc.segmentBase(6), 0x1800000000);
  EXPECT_EQ(desc.programSegment(), 7);
  EXPECT_EQ(desc.segmentBase(desc.programSegment()), 0x1C00000000);
  // 1677721 rounded up to a stick.
  EXPECT_EQ(desc.lxStagingBegin(), 1677824);
  EXPECT_EQ(desc.lxStagingBytes(), 2097152 - 1677824);
  EXPECT_TRUE(desc.extensions.empty());
}

TEST(DeviceDesc, OurOwnMachinesListTheirExtensions) {
  const std::vector<std::string> wanted{
      "x_bitand",     "x_bitor",       "x_bitxor",      "x_cumsum",      "x_floordiv",
      "x_floormod",   "x_fp32toint16", "x_fp32toint32", "x_int16tofp32", "x_int32tofp32",
      "x_int8todl16", "x_shiftleft",   "x_shiftright",  "x_truncdiv",    "x_truncmod"};
  EXPECT_EQ(preset("openspyre").extensions, wanted);
  EXPECT_EQ(preset("tiny").extensions, preset("openspyre").extensions);
}

TEST(DeviceDesc, TinyIsSmallWithTheSameClock) {
  DeviceDesc tiny = preset("tiny");
  EXPECT_EQ(tiny.cores, 4);
  EXPECT_EQ(tiny.lxBytes, 65536);
  EXPECT_EQ(tiny.lxPlannerBytes, 49152);
  EXPECT_EQ(tiny.spanLimitBytes, 1 << 20);
  EXPECT_EQ(tiny.timing, preset("spyre").timing);
}

TEST(DeviceDesc, JsonRoundTripsAndHashIdentifies) {
  std::vector<std::string> hashes;
  for (const char *name : {"spyre", "openspyre", "tiny"}) {
    DeviceDesc desc = preset(name);
    Expected<DeviceDesc> read = DeviceDesc::fromJson(desc.toJson());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, desc);
    EXPECT_EQ(read->toJson(), desc.toJson());
    EXPECT_EQ(read->hash(), desc.hash());
    hashes.push_back(desc.hash());
  }
  EXPECT_NE(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], hashes[2]);
  DeviceDesc faster = preset("spyre");
  faster.timing.ddrLatencyCycles += 0.125;
  EXPECT_NE(faster.hash(), hashes[0]);
}

/// The preset's file with one field replaced.
std::string withField(const std::string &pointer, const Json &value) {
  Json json = *parseJson(preset("spyre").toJson());
  json[Json::json_pointer(pointer)] = value;
  return json.dump();
}

TEST(DeviceDesc, ReaderRefusesEachFieldOutOfRange) {
  const std::pair<const char *, Json> faults[] = {
      {"/version", 2},
      {"/version", "1"},
      {"/name", ""},
      {"/name", std::string(65, 'n')},
      {"/cores", 0},
      {"/cores", 1025},
      {"/cores", 1.5},
      {"/coreletsPerCore", 0},
      {"/stickBytes", 64},
      {"/stickBytes", 256},
      {"/lxBytes", 129},
      {"/lxBytes", 0},
      {"/lxBytes", 256 << 20}, // 32 cores have 8 GiB
      {"/lxPlannerBytes", -1},
      {"/lxPlannerBytes", 2097153},
      {"/spanLimitBytes", 0},
      {"/ddrBytes", -5},
      {"/ddrBytes", INT64_MAX},
      {"/segments", 7},
      {"/segmentBytes", 100},
      {"/segmentBytes", 1000},
      {"/extensions", 3},
      {"/extensions", {"gather"}},
      {"/timing", 1},
      {"/extensions", {"x_a", "x_a"}},
      {"/timing/clockGhz", 0},
      {"/timing/clockGhz", "fast"},
      {"/timing/clockGhz", -1},
      {"/timing/clockGhz", 101},
      {"/timing/ddrBytesPerCycle", 137}, // above the peak
      {"/timing/ddrCoreBytesPerCycle", 137},
      {"/timing/ddrStreamLoss", -0.1},
      {"/ddrCoresPerPort", 0},
      {"/timing/ddrBytesPerCycle", 1e13},
      {"/timing/typo", 1},
      {"/timing/barrierCycles", -1},
      {"/typo", 1},
  };
  for (const auto &[pointer, value] : faults) {
    Expected<DeviceDesc> desc = DeviceDesc::fromJson(withField(pointer, value));
    EXPECT_FALSE(desc.ok()) << pointer << " " << value;
    EXPECT_EQ(desc.status().code(), 9201) << pointer << " " << value;
  }
  EXPECT_EQ(DeviceDesc::fromJson("{").status().code(), 9201);
  EXPECT_EQ(DeviceDesc::fromJson("[]").status().code(), 9201);
}

TEST(DeviceDesc, ReaderAcceptsTheLimits) {
  EXPECT_TRUE(DeviceDesc::fromJson(withField("/cores", 1024)).ok());
  EXPECT_TRUE(DeviceDesc::fromJson(withField("/lxPlannerBytes", 2097152)).ok());
  EXPECT_TRUE(DeviceDesc::fromJson(withField("/timing/barrierCycles", 0)).ok());
  EXPECT_TRUE(DeviceDesc::fromJson(withField("/extensions", {"x_a", "x_b"})).ok());
}

TEST(DeviceDesc, ReaderRefusesEachMissingField) {
  // The documented machine: rules that are not lifted are not written.
  Json json = *parseJson(preset("spyre").toJson());
  for (const auto &[key, value] : json.items()) {
    Json without = json;
    without.erase(key);
    Status status = DeviceDesc::fromJson(without.dump()).status();
    EXPECT_EQ(status.code(), 9201) << key;
    EXPECT_NE(status.text().find(key), std::string::npos) << status.text();
  }
}

TEST(DeviceDesc, ErrorsNameTheLine) {
  std::string text = preset("tiny").toJson();
  auto lineWith = [&](const std::string &part) {
    return fmt::format(
        "line {}: ", 1 + std::count(text.begin(), text.begin() + ptrdiff_t(text.find(part)), '\n'));
  };
  auto expectLine = [&](const std::string &old, const std::string &replaced) {
    std::string expected = lineWith(old);
    std::string changed = text;
    changed.replace(changed.find(old), old.size(), replaced);
    Status status = DeviceDesc::fromJson(changed).status();
    EXPECT_EQ(status.code(), 9201);
    EXPECT_NE(status.text().find(expected), std::string::npos) << expected << status.text();
  };
  expectLine("\"barrierCycles\"", "\"barierCycles\"");
  expectLine("\"clockGhz\": 1.5", "\"clockGhz\": -1.5");
  expectLine("\"clockGhz\": 1.5", "\"clockGhz\": 1500");
  expectLine("\"cores\": 4", "\"cores\": 0");
}

TEST(DeviceDesc, LoadTakesAPresetOrAFile) {
  EXPECT_EQ(*DeviceDesc::load("tiny"), preset("tiny"));
  std::string path = fmt::format("{}/spyre-desc-{}.json", testing::TempDir(), getpid());
  ASSERT_TRUE(writeFile(path, withField("/cores", 16)).ok());
  Expected<DeviceDesc> desc = DeviceDesc::load(path);
  ASSERT_TRUE(desc.ok()) << desc.status().message();
  EXPECT_EQ(desc->cores, 16);
  ASSERT_TRUE(writeFile(path, "{}").ok());
  EXPECT_EQ(DeviceDesc::load(path).status().code(), 9201);
  std::filesystem::remove(path);
  Status status = DeviceDesc::load("sypre").status();
  EXPECT_EQ(status.code(), 9202);
  EXPECT_NE(status.text().find("spyre, openspyre, tiny"), std::string::npos);
  EXPECT_EQ(DeviceDesc::preset("").status().code(), 9202);
}

TEST(DeviceDesc, RefusesAbsurdTextBeforeItIsParsed) {
  Status status = DeviceDesc::fromJson(std::string((1 << 20) + 1, '[')).status();
  EXPECT_EQ(status.code(), 9201);
  EXPECT_NE(status.text().find("the limit is 1048576"), std::string::npos) << status.message();
}

// [spec: scratchpad 1]
TEST(DeviceDesc, PlannedBytesAreTheDocumentedOnes) {
  const DeviceDesc device = *DeviceDesc::preset("spyre");
  EXPECT_EQ(device.lxPlannerBytes, 1'677'721);
  EXPECT_EQ(plannedLxBytes(device), 1'625'344);
  EXPECT_EQ(plannedLxBytes(device, 0.0), 2'031'616);
  EXPECT_EQ(plannedLxBytes(device, 0.1), 1'828'480);
  EXPECT_EQ(plannedLxBytes(device, 0.5), 1'015'808);
  EXPECT_EQ(plannedLxBytes(device, 1.0), 0);
  // The border of a smaller machine is its own.
  const DeviceDesc tiny = *DeviceDesc::preset("tiny");
  EXPECT_EQ(plannedLxBytes(tiny), tiny.lxPlannerBytes);
}

} // namespace
} // namespace spyre::arch
