//===- PublishedTimesTest.cpp - the preset's clock against a small copy of the rows ---------===//
//
// From OpSpec text to cycles. The whole table with all targets is what `make bench` prints; here
// are the rows that show each effect, with the limits of docs/timing.md.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Arch/TimingFields.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/CostModel/Fit.h"

#include "TimingSpecs.h"
#include "gtest/gtest.h"
#include "spyre-fit/Report.h"
#include "spyre-fit/RowPrograms.h"

#include <cmath>
#include <map>

namespace spyre::tools {
namespace {

using costmodel::RowKind;
using costmodel::TimingRow;

std::vector<TimingRow> smallCopy() {
  std::string path = std::string(SPYRE_SOURCE_DIR) + "/test/Inputs/timing-rows.csv";
  Expected<std::string> text = readFile(path);
  EXPECT_TRUE(text.ok());
  Expected<std::vector<TimingRow>> rows = costmodel::readTimingRows(*text);
  EXPECT_TRUE(rows.ok()) << rows.status().text();
  return *rows;
}

arch::DeviceDesc openspyre() { return *arch::DeviceDesc::preset("openspyre"); }

class PublishedTimes : public testing::Test {
protected:
  void SetUp() override {
    rows = smallCopy();
    Expected<RowPrograms> programs = RowPrograms::compile(rows, openspyre());
    ASSERT_TRUE(programs.ok()) << programs.status().text();
    Expected<std::vector<double>> times = programs->predict(openspyre().timing);
    ASSERT_TRUE(times.ok()) << times.status().text();
    predicted = *times;
    for (size_t i = 0; i < rows.size(); ++i) {
      at[rows[i].id] = predicted[i];
    }
    fastestDdr = programs->fastestDdrGbPerSecond();
  }

  std::vector<TimingRow> rows;
  std::vector<double> predicted;
  std::map<std::string, double> at;
  double fastestDdr = 0;
};

TEST_F(PublishedTimes, AreMetWithinTheirLimits) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind != RowKind::Rank) {
      double limit = rows[i].isRatio() ? 0.15 : 0.25;
      EXPECT_LE(std::abs(costmodel::relativeError(rows[i], predicted[i])), limit)
          << rows[i].id << " published " << rows[i].value << " clock " << predicted[i];
    }
  }
}

TEST_F(PublishedTimes, HaveThePublishedOrder) {
  EXPECT_GT(at["softmax-512x1024-1"], at["softmax-512x1024-2"]);
  EXPECT_GT(at["softmax-512x1024-2"], at["softmax-512x1024-3"]);
  EXPECT_GT(at["softmax-512x1024-3"], at["softmax-512x1024-4"]);
  // More work on more cores.
  EXPECT_LT(at["mm-1x4096x26624"], at["mm-1x4096x25600"]);
  // Prefill: what a split of the columns gains.
  EXPECT_GT(at["ratio-QO-prefill"], at["ratio-MLP-prefill"]);
  EXPECT_GT(at["ratio-MLP-prefill"], at["ratio-KV-prefill"]);
}

TEST_F(PublishedTimes, NeedNoMoreThanTheMemoryHas) {
  arch::Timing timing = openspyre().timing;
  EXPECT_GT(fastestDdr, 50);
  EXPECT_LE(fastestDdr, timing.ddrBytesPerCycle * timing.clockGhz);
}

TEST_F(PublishedTimes, AreReportedWithTargets) {
  std::string report = reportText(rows, predicted, openspyre(), fastestDdr);
  for (const char *part : {"rows of set fit", "rows of set holdout", "rows of set rank",
                           "law-add-512x1024", "hold-out, measured and law", "met",
                           "rank correlation per family of 4+ rows without softmax-small ("}) {
    EXPECT_NE(report.find(part), std::string::npos) << part << "\n" << report;
  }
}

/// Two parameters of the memory, from far off.
std::vector<double> fitted(const std::vector<TimingRow> &rows) {
  arch::DeviceDesc device = openspyre();
  Expected<RowPrograms> programs = RowPrograms::compile(rows, device);
  EXPECT_TRUE(programs.ok()) << programs.status().text();
  auto cost = [&](std::span<const double> values) -> Expected<double> {
    arch::Timing timing = device.timing;
    timing.ddrPortBytesPerCycle = values[0];
    timing.ddrTurnaroundCycles = values[1];
    SPYRE_ASSIGN_OR_RETURN(std::vector<double> times, programs->predict(timing));
    return costmodel::fitCost(rows, times);
  };
  costmodel::FitOptions coarse;
  coarse.smallestStep = 0.03;
  Expected<costmodel::FitResult> result =
      costmodel::fitParameters({{"port", 120, 1, 130}, {"turn", 1, 0.1, 1000}}, cost, coarse);
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result->values;
}

TEST(FitOfTheClock, FindsTheMemoryAgainAndIsDeterministic) {
  std::vector<TimingRow> rows = smallCopy();
  std::vector<double> first = fitted(rows);
  EXPECT_EQ(first, fitted(rows));
  arch::Timing preset = openspyre().timing;
  EXPECT_NEAR(first[0] / preset.ddrPortBytesPerCycle, 1, 0.25);
  EXPECT_NEAR(first[1] / preset.ddrTurnaroundCycles, 1, 0.5);
}

TEST(RowsWithoutPrograms, AreRefusedWithTheirLine) {
  for (const char *text : {"fft,8x64,", "mm,8x64,", "mm,8x64 @ 65x64,m2", "sum dim -1,8x63,",
                           "softmax dim 0; other,64x64,", "ring relayout,many,factor 2"}) {
    std::string op = std::string(text).substr(0, std::string(text).find(','));
    std::string rest = std::string(text).substr(op.size() + 1);
    TimingRow row;
    row.id = "r";
    row.line = 12;
    row.op = op;
    row.shape = rest.substr(0, rest.find(','));
    row.split = rest.substr(rest.find(',') + 1);
    Expected<bench::RowSpecs> specs = bench::specsOf(row);
    ASSERT_FALSE(specs.ok()) << text;
    EXPECT_EQ(specs.status().code(), 7035);
    EXPECT_NE(specs.status().text().find("line 12"), std::string::npos);
  }
}

} // namespace
} // namespace spyre::tools
