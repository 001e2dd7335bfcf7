//===- FileTest.cpp - problem files and reports ---------------------------------------------===//
#include "spyre/Base/Artifacts.h"
#include "spyre/Solver/Division/ProblemFile.h"
#include "spyre/Solver/Division/Report.h"

#include "Support.h"

namespace spyre::solver::division {
namespace {

using namespace test;

const char *const kMatmul = R"({"version": 1, "ops": [{"name": "mm", "kind": "matmul",
  "dims": [{"name": "m", "extent": 64}, {"name": "n", "extent": 1024},
           {"name": "k", "extent": 512, "reduced": true}],
  "tensors": [{"name": "x", "shape": ["m", "k"]}, {"name": "w", "shape": ["k", "n"]},
              {"name": "y", "shape": ["m", "n"], "output": true}]}]})";

std::string replaced(std::string from, const std::string &to) {
  std::string text = kMatmul;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

int faultOf(const std::string &text) { return readProblem(text).status().code(); }

TEST(DivisionFile, ShapesGetDefaultLayouts) {
  Expected<std::vector<Op>> ops = readProblem(kMatmul);
  ASSERT_TRUE(ops.ok()) << ops.status().message();
  const Op built = makeMatmul(0, 64, 1024, 512);
  ASSERT_EQ(ops->size(), 1u);
  for (size_t t = 0; t < 3; ++t) {
    EXPECT_EQ((*ops)[0].tensors[t].deviceSize, built.tensors[t].deviceSize);
    EXPECT_EQ((*ops)[0].tensors[t].index, built.tensors[t].index);
  }
  EXPECT_EQ(divided((*ops)[0], {}).plan, divided(built, {}).plan);
}

TEST(DivisionFile, WrittenOperationsAreReadBack) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Op op = randomOp(seed, 4096);
    const std::string text = writeProblem({op});
    Expected<std::vector<Op>> read = readProblem(text);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(writeProblem(*read), text);
    Expected<Outcome> first = tryDivide(op, {}), second = tryDivide((*read)[0], {});
    ASSERT_EQ(first.ok(), second.ok());
    EXPECT_TRUE(!first.ok() || first->plan == second->plan);
  }
}

TEST(DivisionFile, FaultsHaveNumbers) {
  EXPECT_EQ(faultOf(kMatmul), 0);
  EXPECT_EQ(faultOf(""), 3073);
  EXPECT_EQ(faultOf("[]"), 3073);
  EXPECT_EQ(faultOf("{\"version\": 2, \"ops\": []}"), 3073);
  EXPECT_EQ(faultOf(replaced("\"kind\"", "\"kine\"")), 3073);
  EXPECT_EQ(faultOf(replaced("matmul", "mutmal")), 3073);
  EXPECT_EQ(faultOf(replaced("\"extent\": 64", "\"extent\": 0")), 3073);
  EXPECT_EQ(faultOf(replaced("\"extent\": 64", "\"extent\": \"64\"")), 3073);
  EXPECT_EQ(faultOf(replaced("\"extent\": 64", "\"extent\": 64, \"role\": \"king\"")), 3073);
  EXPECT_EQ(faultOf(replaced("[\"m\", \"k\"]", "[\"m\", \"z\"]")), 3073);
  EXPECT_EQ(faultOf(replaced("[\"m\", \"k\"]", "[\"m\", \"m\"]")), 3060);
  EXPECT_EQ(faultOf(replaced("[\"m\", \"k\"]", "[\"m\", \"k\"], \"order\": [0, 0]")), 3060);
  EXPECT_EQ(faultOf(replaced("[\"m\", \"k\"]", "[\"m\", \"k\"], \"order\": [-1]")), 3060);
  EXPECT_EQ(faultOf(replaced("[\"m\", \"k\"]", "[\"m\", \"k\"], \"elemsPerStick\": 100")), 3060);
  EXPECT_EQ(faultOf(replaced("\"shape\": [\"m\", \"k\"]", "\"output\": false")), 3073);
  EXPECT_EQ(faultOf(replaced(", \"output\": true", "")), 3060);
  for (const char *hint : {"0", "-2", "true", "\"4\"", "2.5", "null", "1e30"}) {
    EXPECT_EQ(
        faultOf(replaced("\"extent\": 64", fmt::format("\"extent\": 64, \"hint\": {}", hint))),
        3066)
        << hint;
  }
}

TEST(DivisionFile, ReportsTellWhatAndWhy) {
  const arch::DeviceDesc device = machine();
  const DeviceRates costs(device);
  Options options{.explain = true};
  Expected<Outcome> outcome = divide(makeMatmul(0, 1, 25600, 4096), device, options, costs);
  ASSERT_TRUE(outcome.ok());
  const ReportContext context{device, options, costs.name(), 3};
  const std::string text = reportText(*outcome, context);
  EXPECT_NE(text.find("because    cheapest"), std::string::npos) << text;
  EXPECT_NE(text.find("more\n"), std::string::npos) << text;
  const Json json = reportJson(*outcome, context);
  EXPECT_EQ(json["plan"]["numCoresUsed_"], 32);
  EXPECT_EQ(json["plan"]["coreIdToWkSlice_"].size(), 32u);
  EXPECT_EQ(json["candidates"].size(), 3u);
  EXPECT_EQ(json["verdict"]["code"], 0);
}

TEST(DivisionFile, ReportsOfTiledOperationsHaveTheProof) {
  const arch::DeviceDesc device = machine();
  const DeviceRates costs(device);
  const Options options;
  Expected<Outcome> outcome = divide(restickify({131072, 5120}, 0), device, options, costs);
  ASSERT_TRUE(outcome.ok());
  const ReportContext context{device, options, costs.name(), 3};
  const Json json = reportJson(*outcome, context);
  EXPECT_EQ(json["verdict"]["code"], 3065);
  EXPECT_EQ(json["proof"]["needed"]["c0"], 8);
  EXPECT_TRUE(json["tiling"][0]["advanceBytes"].contains("in"));
  EXPECT_NE(reportText(*outcome, context).find("because    tiled"), std::string::npos)
      << reportText(*outcome, context);
}

} // namespace
} // namespace spyre::solver::division
