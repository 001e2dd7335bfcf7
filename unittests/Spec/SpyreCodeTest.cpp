//===- SpyreCodeTest.cpp - spyrecode.json ---------------------------------------------------===//
#include "spyre/Spec/SpyreCode.h"

#include "SpecTestUtils.h"

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

SpyreCode exampleCode() {
  return {51200, {{"init.bin", kProgramOffsetBase + 2048, 32768}}, {kProgramOffsetBase + 2048}};
}

Status failureAfter(const std::string &from, const std::string &to) {
  std::string text = writeSpyreCode(exampleCode());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return readSpyreCode(text.replace(at, from.size(), to)).status();
}

} // namespace

TEST(SpyreCode, RoundTripsThroughTheGoldenFile) {
  const std::string text = writeSpyreCode(exampleCode());
  expectGolden("spyrecode/spyrecode.json", text);
  EXPECT_EQ(valueOf(readSpyreCode(text)), exampleCode());
}

TEST(SpyreCode, KeepsTheDocumentedTexts) {
  EXPECT_ERROR(failureAfter("\"dev_ptr\": \"120259086336\", ", ""), 5201,
               "InitTransfer command missing 'dev_ptr' property");
  EXPECT_ERROR(failureAfter("\"size\": \"51200\"", ""), 5201,
               "Allocate command missing 'size' property");
  EXPECT_ERROR(failureAfter("\"job_bin_ptr\": \"120259086336\"", "\"job_bin_ptr\": \"4096\""), 5201,
               "Device pointer 0x1000 is out of program segment bounds");
}

TEST(SpyreCode, IsStrict) {
  EXPECT_ERROR(readSpyreCode("").status(), 5201, "");
  EXPECT_ERROR(readSpyreCode("{}").status(), 5201, "JobPreparationPlan");
  EXPECT_ERROR(readSpyreCode(R"({"JobPreparationPlan": [], "JobExecPlan": []})").status(), 5201,
               "at least Allocate and one InitTransfer");
  EXPECT_ERROR(failureAfter("\"Allocate\"", "\"InitTransfer\""), 5201, "entry 0 must be Allocate");
  EXPECT_ERROR(failureAfter("\"51200\"", "51200"), 5201, "$.JobPreparationPlan[0].properties.size");
  EXPECT_ERROR(failureAfter("\"51200\"", "\"0x10\""), 5201, "size");
  EXPECT_ERROR(failureAfter("\"51200\"", "\"99999999999999\""), 5201, "size");
  EXPECT_ERROR(failureAfter("\"51200\"", "\"2048\""), 5201, "do not fit the allocation");
  EXPECT_ERROR(failureAfter("\"init.bin\"", "\"../init.bin\""), 5201, "plain file name");
  EXPECT_ERROR(failureAfter("\"size\": \"51200\"", "\"size\": \"51200\", \"more\": 1"), 5201,
               "more");
  EXPECT_ERROR(failureAfter("\"ComputeOnDevice\"", "\"ComputeOnHost\""), 5201,
               "program correction");
  EXPECT_ERROR(failureAfter("\"ComputeOnDevice\"", "\"Jump\""), 5201, "unknown command 'Jump'");
  EXPECT_ERROR(
      failureAfter("{\"job_bin_ptr\": \"120259086336\"}", "{\"job_bin_ptr\": \"120260000000\"}"),
      5201, "outside the allocation");
}

TEST(SpyreCode, RefusesTransfersThatOverlap) {
  const auto planOf = [](std::vector<InitTransfer> transfers) {
    return readSpyreCode(writeSpyreCode({51200, std::move(transfers), {kProgramOffsetBase + 2048}}))
        .status();
  };
  const int64_t base = kProgramOffsetBase;
  EXPECT_TRUE(planOf({{"b.bin", base + 2048, 1024}, {"a.bin", base, 2048}}).ok());
  EXPECT_TRUE(planOf({{"empty.bin", base + 128, 0}, {"a.bin", base, 2048}}).ok());
  EXPECT_ERROR(planOf({{"b.bin", base + 2047, 1024}, {"a.bin", base, 2048}}), 5201,
               "transfers of 'a.bin' and 'b.bin' overlap");
  EXPECT_ERROR(planOf({{"a.bin", base, 2048}, {"a.bin", base, 2048}}), 5201, "overlap");
}

TEST(SpyreCode, RefusesAbsurdTextBeforeItIsParsed) {
  EXPECT_ERROR(readSpyreCode(std::string((16 << 20) + 1, ' ')).status(), 5201, "the limit is");
}
