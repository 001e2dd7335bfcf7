//===- TimingRowsTest.cpp - the strict reader of published times ----------------------------===//
#include "spyre/CostModel/TimingRows.h"

#include "spyre/Base/Artifacts.h"

#include "gtest/gtest.h"

namespace spyre::costmodel {
namespace {

const std::string kHeader = "id,family,op,shape,split,cores,kind,value,unit,set,source\n";
const std::string kGood = "a,f,\"x, y\",8x64,m2,32,law,1.5,us,fit,\"said \"\"so\"\"\"\n";

void expectError(const std::string &text, int code, const std::string &word) {
  Expected<std::vector<TimingRow>> rows = readTimingRows(text);
  ASSERT_FALSE(rows.ok()) << text;
  EXPECT_EQ(rows.status().code(), code) << rows.status().text();
  EXPECT_NE(rows.status().text().find(word), std::string::npos) << rows.status().text();
}

/// The good row with column \p index replaced.
std::string withField(size_t index, const std::string &value) {
  std::vector<std::string> fields{"b",   "f",   "op", "8x64", "m2", "32",
                                  "law", "1.5", "us", "fit",  "src"};
  fields[index] = value;
  std::string line;
  for (const std::string &field : fields) {
    line += (&field == fields.data() ? "" : ",") + field;
  }
  return kHeader + kGood + line + "\n";
}

TEST(TimingRows, ReadsWhatIsThere) {
  Expected<std::vector<TimingRow>> rows =
      readTimingRows(kHeader + kGood + "b,f,op,8x64,,4,ratio,2,x,holdout,s\r\n");
  ASSERT_TRUE(rows.ok()) << rows.status().text();
  ASSERT_EQ(rows->size(), 2u);
  const TimingRow &row = rows->front();
  EXPECT_EQ(row.id, "a");
  EXPECT_EQ(row.op, "x, y");
  EXPECT_EQ(row.source, "said \"so\"");
  EXPECT_EQ(row.cores, 32);
  EXPECT_EQ(row.kind, RowKind::Law);
  EXPECT_EQ(row.value, 1.5);
  EXPECT_EQ(row.set, RowSet::Fit);
  EXPECT_EQ(row.line, 2u);
  EXPECT_TRUE(rows->back().isRatio());
  EXPECT_EQ(rows->back().set, RowSet::Holdout);
  EXPECT_TRUE(readTimingRows(kHeader)->empty());
}

TEST(TimingRows, RefusesOtherColumns) {
  expectError("", 7030, "empty");
  expectError("id,family\n", 7030, "'op' is missing");
  expectError("id,family,op,shape,split,cores,kind,value,unit,set,source,extra\n", 7030, "extra");
  expectError("id,family,op,shape,split,cores,type,value,unit,set,source\n", 7030, "'type'");
}

TEST(TimingRows, NamesTheLineOfABadRow) {
  expectError(kHeader + kGood + "b,f,op\n", 7031, "line 3");
  expectError(kHeader + "\"a,f\n", 7031, "line 2");
  expectError(kHeader + kGood + kGood, 7034, "line 3");
  for (const char *value : {"", "-1", "0", "nan", "inf", "1e300", "1.5us", "0x10"}) {
    expectError(withField(7, value), 7032, "line 3: value");
  }
  for (const char *cores : {"", "-4", "0", "1.5", "100000"}) {
    expectError(withField(5, cores), 7032, "line 3: cores");
  }
  expectError(withField(6, "guess"), 7033, "line 3: kind");
  expectError(withField(8, "ms"), 7033, "line 3: unit");
  expectError(withField(8, "x"), 7033, "line 3: unit");
  expectError(withField(9, "train"), 7033, "line 3: set");
  expectError(withField(9, "rank"), 7033, "line 3");
  expectError(withField(1, ""), 7032, "line 3");
  expectError(withField(0, "../b"), 7032, "line 3: id");
}

TEST(TimingRows, ReadsThePublishedOnes) {
  std::string path = std::string(SPYRE_SOURCE_DIR) + "/benchmarks/timing/rows.csv";
  Expected<std::vector<TimingRow>> rows = readTimingRows(*readFile(path));
  ASSERT_TRUE(rows.ok()) << rows.status().text();
  EXPECT_EQ(rows->size(), 71u);
}

} // namespace
} // namespace spyre::costmodel
