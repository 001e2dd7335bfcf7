//===- DecisionTest.cpp - the decision trace ------------------------------------------------===//
#include "spyre/Base/Decision.h"

#include "spyre/Base/Json.h"

#include "gtest/gtest.h"

namespace spyre {
namespace {

TEST(DecisionTrace, WritesOneObjectPerDecisionInOrder) {
  DecisionTrace trace;
  trace.record("work-division", "add_0", Decision::yes("divides", "{} rows over {} cores", 64, 32));
  trace.record("lx-planning", "buf \"1\"", Decision::no("too-large", "{} bytes", 3000000));
  EXPECT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.toJson(),
            "[\n"
            "{\"stage\":\"work-division\",\"subject\":\"add_0\",\"taken\":true,"
            "\"reason\":\"divides\",\"detail\":\"64 rows over 32 cores\"},\n"
            "{\"stage\":\"lx-planning\",\"subject\":\"buf \\\"1\\\"\",\"taken\":false,"
            "\"reason\":\"too-large\",\"detail\":\"3000000 bytes\"}\n"
            "]\n");
}

TEST(DecisionTrace, IsValidJsonForAnyBytes) {
  EXPECT_EQ(DecisionTrace().toJson(), "[]\n");
  DecisionTrace trace;
  trace.record("stage", "\xFF\xFE", Decision::no("odd", "{}", "\n\t"));
  Expected<Json> parsed = parseJson(trace.toJson());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ((*parsed)[0]["detail"], "\n\t");
}

} // namespace
} // namespace spyre
