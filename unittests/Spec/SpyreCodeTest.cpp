//===- SpyreCodeTest.cpp - spyrecode.json ---------------------------------------------------===//
#include "spyre/Spec/SpyreCode.h"

#include "spyre/Spec/Bundle.h"

#include "SpecTestUtils.h"

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

SpyreCode exampleCode() {
  SpyreCode code;
  code.allocateBytes = 51200;
  code.transfers = {{"init.bin", kProgramOffsetBase + 2048, 32768}};
  code.jobs = {kProgramOffsetBase + 2048};
  return code;
}

/// The same with two addresses at the start of the segment.
SpyreCode correctedCode() {
  SpyreCode code = exampleCode();
  code.nonTerminal = true;
  code.correction = {2048, kProgramOffsetBase, {{0, kPoolArgument}, {2040, 3}}};
  return code;
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
               "ComputeOnHost command missing 'ihandle' property");
  EXPECT_ERROR(failureAfter("\"ComputeOnDevice\"", "\"Jump\""), 5201,
               "Step ordering violation at step 0: command 'Jump'");
  EXPECT_ERROR(
      failureAfter("{\"job_bin_ptr\": \"120259086336\"}", "{\"job_bin_ptr\": \"120260000000\"}"),
      5201, "outside the allocation");
}

TEST(SpyreCode, RefusesTransfersThatOverlap) {
  const auto planOf = [](std::vector<InitTransfer> transfers) {
    SpyreCode code = exampleCode();
    code.transfers = std::move(transfers);
    return readSpyreCode(writeSpyreCode(code)).status();
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

TEST(SpyreCode, CorrectionRoundTripsThroughTheGoldenFile) {
  const std::string text = writeSpyreCode(correctedCode());
  expectGolden("spyrecode/correction.json", text);
  EXPECT_EQ(valueOf(readSpyreCode(text)), correctedCode());
}

TEST(SpyreCode, EveryRuleOfACorrectionIsChecked) {
  const auto failure = [](const std::string &from, const std::string &to) {
    std::string text = writeSpyreCode(correctedCode());
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return readSpyreCode(text.replace(at, from.size(), to)).status();
  };
  EXPECT_ERROR(failure("\"ihandle\": \"\"", "\"ihandle\": \"T9\""), 5201,
               "ihandle 'T9' not found in pinned buffer map");
  EXPECT_ERROR(failure("[\"2\"]", "\"2\""), 5201, "ComputeOnHost 'ishape' must be an array");
  EXPECT_ERROR(failure("[\"2\"]", "[2]"), 5201, "'ishape' elements must be strings");
  EXPECT_ERROR(failure("\"ohandle\": \"T1\"", "\"ohandle\": \"\""), 5201, "ohandle is empty");
  EXPECT_ERROR(failure("\"ohandle\": \"T1\",", ""), 5201,
               "ComputeOnHost command missing 'ohandle' property");
  EXPECT_ERROR(failure("\"size\": \"2048\"", "\"size\": \"99999999999\""), 5201, "more than");
  EXPECT_ERROR(failure("\"offset\": \"2040\"", "\"offset\": \"2048\""), 5201, "of 2048 bytes");
  EXPECT_ERROR(failure("\"offset\": \"2040\"", "\"offset\": \"2036\""), 5201, "of 2048 bytes");
  EXPECT_ERROR(failure("\"offset\": \"2040\"", "\"offset\": \"0\""), 5201, "of its own");
  EXPECT_ERROR(failure("\"arg_3\"", "\"arg_x\""), 5201, "no argument of a bundle");
  EXPECT_ERROR(failure("\"dirn\": \"false\"", "\"dirn\": \"true\""), 5201, "to the device");
  EXPECT_ERROR(failure("\"host_handle\": \"T1\"", "\"host_handle\": \"T2\""), 5201, "'T2'");
  EXPECT_ERROR(failure("\"120259084288\"", "\"120259135000\""), 5201, "the allocation has");
  EXPECT_ERROR(failure("\"DataTransfer\"", "\"ComputeOnDevice\""), 5201,
               "Step ordering violation at step 1");
  EXPECT_ERROR(failure("\"true\"", "\"maybe\""), 5201, "neither");
  SpyreCode jobless = correctedCode();
  jobless.jobs.clear();
  EXPECT_ERROR(readSpyreCode(writeSpyreCode(jobless)).status(), 5201, "Incomplete step sequence");
}

// It can be shown by tools; that it cannot be launched is the runtime's to say.
TEST(SpyreCode, ForeignCorrectionMetadataIsRead) {
  std::string text = writeSpyreCode(correctedCode());
  text.replace(text.find("\"correction\""), 12, "\"vdci\"");
  Expected<SpyreCode> code = readSpyreCode(text);
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_TRUE(code->correction->isForeign);
  EXPECT_TRUE(code->correction->slots.empty());
  EXPECT_EQ(*readSpyreCode(writeSpyreCode(*code)), *code);
}
