//===- CompilerTest.cpp - phases, errors and determinism of the compiler interface ----------===//
#include "spyre/Base/Json.h"
#include "spyre/Base/Random.h"

#include "ModelRunner.h"
#include "RandomGraph.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace spyre;
using namespace spyre::testing;

namespace {

capi::CompileOptions openSpyre() {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  return options;
}

Graph seeded(uint64_t seed) {
  Random random(seed);
  return randomGraph(random, {});
}

} // namespace

TEST(Compiler, EveryTextPhaseContinuesToTheSameBytes) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::string text = graphText(seeded(seed));
    capi::CompileOptions options = openSpyre();
    Artifacts whole = capi::compileGraph(text, options)->artifacts;
    options.keepPhases = true;
    Artifacts kept = capi::compileGraph(text, options)->artifacts;
    EXPECT_EQ(std::erase_if(kept, [](auto &file) { return file.first.starts_with("phases/"); }),
              4u);
    EXPECT_EQ(kept, whole);
    options.keepPhases = false;
    for (const char *phase : {"loop", "layout", "division"}) {
      options.compileTo = phase;
      Artifacts stopped = capi::compileGraph(text, options)->artifacts;
      ASSERT_EQ(stopped.size(), 1u);
      options.compileTo = "code";
      auto resumed = capi::compileFromPhase(phase, stopped.begin()->second, options);
      ASSERT_TRUE(resumed.ok()) << resumed.status().message();
      EXPECT_EQ(resumed->artifacts, whole) << phase;
    }
    for (const char *phase : {"opspec", "bundle"}) {
      options.compileTo = phase;
      Artifacts stopped = capi::compileGraph(text, options)->artifacts;
      options.compileTo = "code";
      auto resumed = capi::compileFromArtifacts(phase, stopped, options);
      ASSERT_TRUE(resumed.ok()) << resumed.status().message();
      EXPECT_EQ(resumed->artifacts, whole) << phase;
    }
  }
}

TEST(Compiler, UnknownOperationsAreReportedTogether) {
  capi::GraphBuilder builder;
  capi::TensorType type{numerics::HostType::Float16, {4}, {1}};
  auto x = builder.addInput("x", type, 0, *layout::DeviceLayout::makeDefault({4}, type.dtype));
  auto a = builder.addCall("aten.sin.default", {x}, {}, type, "");
  auto b = builder.addCall("aten.cos.default", {a}, {}, type, "");
  auto c = builder.addCall("aten.sin.default", {b}, {}, type, "");
  builder.addOutput(c, type);
  auto result = capi::compileGraph(*builder.text(), openSpyre());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), 1002);
  EXPECT_NE(result.status().text().find("aten.cos.default (1x), aten.sin.default (2x)"),
            std::string::npos)
      << result.status().message();
}

TEST(Compiler, TypesAndRanksWithoutSupportAreNamed) {
  auto compileExp = [](numerics::HostType dtype, std::vector<int64_t> size) {
    capi::GraphBuilder builder;
    std::vector<int64_t> stride(size.size(), 1);
    capi::TensorType type{dtype, size, stride};
    layout::DeviceLayout layout{{1, numerics::elemsPerStick(numerics::deviceFormat(dtype))},
                                {-1, -1},
                                numerics::deviceFormat(dtype)};
    auto x = builder.addInput("x", type, 0, layout);
    builder.addOutput(builder.addCall("aten.exp.default", {x}, {}, type, ""), type);
    return capi::compileGraph(*builder.text(), openSpyre()).status();
  };
  EXPECT_EQ(compileExp(numerics::HostType::Int64, {1}).code(), 1003);
  EXPECT_EQ(compileExp(numerics::HostType::Float16, std::vector<int64_t>(9, 1)).code(), 1004);
  EXPECT_EQ(compileExp(numerics::HostType::Float16, {0}).code(), 1004);
}

TEST(Compiler, TooManyCoresAreRefused) {
  capi::CompileOptions options = openSpyre();
  options.cores = 33;
  EXPECT_EQ(capi::compileGraph(graphText(seeded(1)), options).status().code(), 3061);
}

// Hints, names and sizes are an entry of the text or an error, never left out.
TEST(Compiler, MalformedHintsNamesAndSizesAreRefused) {
  const capi::TensorType type{numerics::HostType::Float16, {4, 64}, {64, 1}};
  const auto layout = *layout::DeviceLayout::makeDefault(type.size, type.dtype);
  auto textOf = [&](const std::string &input, const std::string &location) {
    capi::GraphBuilder builder;
    auto x = builder.addInput(input, type, 0, layout);
    builder.addOutput(builder.addCall("aten.exp.default", {x}, {}, type, location), type);
    return builder.text();
  };
  for (const char *hints : {"work_div=m", "work_div=m:four", "work_div=m:4@", "work_div=:4",
                            "tiles=m:4@x", "work_div=m:99999999999999999", "named_dims=m:4,n:",
                            "named_dims=:4", "colour=red", "aten.exp.default"}) {
    const Expected<std::string> text = textOf("x", std::string("model.py:1|") + hints);
    EXPECT_EQ(text.status().code(), 1008) << hints;
  }
  for (const char *known : {"m:four", "m", ":4", "m:2*n", "sizes=0:1", "sizes=0:1:x"}) {
    EXPECT_EQ(textOf(std::string("x|") + known, "").status().code(), 1008) << known;
  }
  const Expected<std::string> text =
      textOf("x|m:2*n:2,k:64|sizes=0:2:8", "model.py:1|work_div=m:2@0,k:1|tiles=n:2@1|"
                                           "named_dims=m:2*n:2,k:64");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->find("graph.sizes = [array<i64: 0, 2, 8>]"), std::string::npos) << *text;
  EXPECT_NE(text->find("work_div = [[\"m\", 2 : i64, 0 : i64], [\"k\", 1 : i64, 0 : i64]]"),
            std::string::npos)
      << *text;
}

// Elements in the order of a conversion are not read as if they were in order.
TEST(Compiler, ArrangedInputsAreRefused) {
  const capi::TensorType type{numerics::HostType::Float32, {4, 64}, {64, 1}};
  const auto layout = layout::DeviceLayout::makeDefault(type.size, type.dtype)
                          ->withElementArrangement(layout::ElementArrangement::Dl16ToFp32);
  capi::GraphBuilder builder;
  auto x = builder.addInput("x", type, 0, layout);
  builder.addOutput(builder.addCall("aten.exp.default", {x}, {}, type, ""), type);
  const Status status = capi::compileGraph(*builder.text(), openSpyre()).status();
  EXPECT_EQ(status.code(), 2009) << status.message();
  EXPECT_NE(status.text().find("DL16_TO_FP32"), std::string::npos);
}

TEST(Compiler, ErrorsNameTheLineOfTheProgram) {
  const capi::TensorType type{numerics::HostType::Float16, {128, 64}, {64, 1}};
  capi::GraphBuilder builder;
  auto x = builder.addInput("x|m:128,n:64", type, 0,
                            *layout::DeviceLayout::makeDefault(type.size, type.dtype));
  builder.addOutput(
      builder.addCall("aten.exp.default", {x}, {}, type, "model.py:12|work_div=m:5@0"), type);
  const Status status = capi::compileGraph(*builder.text(), openSpyre()).status();
  EXPECT_EQ(status.code(), 3067) << status.message();
  EXPECT_EQ(status.text().find("model.py:12: 'exp':"), 0u) << status.text();
}

// Rows that cores cannot share are padded or cut in a large program as in a small one.
TEST(Compiler, ManyEqualOperationsGetTheRowsOfOne) {
  auto rowsOf = [&](int64_t pairs) {
    const capi::TensorType type{numerics::HostType::Float16, {997, 512}, {512, 1}};
    capi::GraphBuilder builder;
    auto value =
        builder.addInput("x", type, 0, *layout::DeviceLayout::makeDefault(type.size, type.dtype));
    for (int64_t i = 0; i < pairs; ++i) {
      value = builder.addCall("aten.exp.default", {value}, {}, type, "");
      value = builder.addCall("aten.neg.default", {value}, {}, type, "");
    }
    builder.addOutput(value, type);
    capi::CompileOptions options = openSpyre();
    options.compileTo = "division";
    auto result = capi::compileGraph(*builder.text(), options);
    EXPECT_TRUE(result.ok()) << result.status().message();
    std::string reasons;
    const Expected<Json> decisions = parseJson(result->decisionsJson);
    for (const Json &entry : *decisions) {
      if (entry["stage"] == "even-rows") {
        reasons += entry["reason"].get<std::string>() + " ";
      }
    }
    return reasons;
  };
  for (int64_t pairs : {2, 800}) {
    const std::string reasons = rowsOf(pairs);
    EXPECT_TRUE(reasons == "padded " || reasons == "cut ") << pairs << ": " << reasons;
  }
}

TEST(Compiler, DamagedTextGivesErrorsNotCrashes) {
  capi::CompileOptions options = openSpyre();
  uint64_t refused = 0, accepted = 0;
  uint64_t cases = std::getenv("SPYRE_TEST_LONG") ? 20000 : 400;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    Random random(seed);
    std::string phase = "graph", text = graphText(seeded(seed % 20));
    if (seed % 2) {
      phase = "division";
      options.compileTo = phase;
      text = capi::compileGraph(text, options)->artifacts.begin()->second;
      options.compileTo = "code";
    }
    // Half of the cases change one character, which often leaves a graph that compiles.
    bool gentle = seed % 4 < 2;
    for (uint64_t n = gentle ? 1 : random.between(1, 3); n > 0; --n) {
      size_t at = random.below(text.size());
      switch (gentle ? 0 : random.below(4)) {
      case 0:
        text[at] = char(random.between(32, 126));
        break;
      case 1:
        text.erase(at, random.between(1, 20));
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size()), random.between(1, 30)));
        break;
      default:
        text.insert(at, std::to_string(random.next()));
      }
    }
    auto result = capi::compileFromPhase(phase, text, options);
    (result.ok() ? accepted : refused) += 1;
    if (!result.ok()) {
      EXPECT_GE(result.status().code(), 1000) << text;
    }
  }
  EXPECT_GT(refused, cases / 2);
  EXPECT_GT(accepted, cases / 100);
}

TEST(Compiler, LongGraphsAreCutIntoBundles) {
  capi::GraphBuilder builder;
  capi::TensorType type{numerics::HostType::Float16, {4}, {1}};
  auto x = builder.addInput("x", type, 0, *layout::DeviceLayout::makeDefault({4}, type.dtype));
  for (int i = 0; i < 8193; ++i) {
    x = builder.addCall("aten.exp.default", {x}, {}, type, "");
  }
  builder.addOutput(x, type);
  capi::CompileOptions options = openSpyre();
  options.compileTo = "bundle";
  auto result = capi::compileGraph(*builder.text(), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->artifacts.count("bundle_0/sdsc_8191.json"));
  EXPECT_TRUE(result->artifacts.count("bundle_1/sdsc_0.json"));
  EXPECT_FALSE(result->artifacts.count("bundle_1/sdsc_1.json"));
}

TEST(Compiler, HostileNestingAndBytecodeAreRefusedBeforeParsing) {
  std::string deep(1000, '(');
  EXPECT_EQ(capi::compileGraph(deep, openSpyre()).status().code(), 1001);
  EXPECT_EQ(capi::compileGraph("ML\xefR\x01", openSpyre()).status().code(), 1001);
  EXPECT_EQ(capi::compileGraph(std::string("a\0b", 3), openSpyre()).status().code(), 1001);
}

TEST(Compiler, CountersEqualTheAnalyticCountOfTheGraph) {
  capi::GraphBuilder builder;
  auto type = [](std::vector<int64_t> size) {
    return capi::TensorType{numerics::HostType::Float16, size,
                            size.size() == 2 ? std::vector<int64_t>{size[1], 1}
                                             : std::vector<int64_t>{1}};
  };
  auto input = [&](const char *name, std::vector<int64_t> size) {
    return builder.addInput(name, type(size), 0,
                            *layout::DeviceLayout::makeDefault(size, numerics::HostType::Float16));
  };
  auto x = input("x", {55, 67}), y = input("y", {67, 130});
  auto mm = builder.addCall("aten.mm.default", {x, y}, {}, type({55, 130}), "model.py:3");
  auto exp = builder.addCall("aten.exp.default", {mm}, {}, type({55, 130}), "model.py:3");
  auto sum =
      builder.addCall("aten.sum.dim_IntList", {exp},
                      {{"dim", std::vector<int64_t>{0}}, {"keepdim", false}}, type({130}), "");
  builder.addOutput(sum, type({130}));
  std::vector<HostTensor> inputs = {{{55, 67}, std::vector<float>(55 * 67, 0.0f)},
                                    {{67, 130}, std::vector<float>(67 * 130, 1.0f)}};
  for (int64_t cores : {1, 4, 32}) {
    capi::CompileOptions options = openSpyre();
    options.cores = cores;
    auto compiled = capi::compileGraph(*builder.text(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    auto run = runOnSimulator(compiled->artifacts, options.device, inputs);
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_EQ(run->counters.ptMacs, 55u * 192 * 128);
    EXPECT_EQ(run->counters.sfpLaneOps, 2u * 55 * 192);
    EXPECT_EQ(run->counters.launches, 1u);
    EXPECT_GT(run->counters.sanitizerChecks, 0u);
    for (float value : run->outputs[0].values) {
      EXPECT_EQ(value, 55.0f);
    }
  }
}

// MLIR's parser writes to freed memory for such texts when they have an error further on.
TEST(Compiler, ValuesUsedOutsideOfTheirFunctionAreRefusedBeforeMlirSeesThem) {
  const std::string use =
      "    loop.host \"aten.sort\" ins(%h1 : memref<4xf64>) outs(%h1 : memref<4xf64>)\n";
  const std::string definition =
      "  func.func @main() {\n    %h1 = loop.buffer \"h1\" \"host\" stride [1] : memref<4xf64>\n"
      "    loop.host broken\n    return\n  }\n";
  const std::string texts[] = {
      use + "module {\n" + definition + "}\n", "module {\n" + use + definition + "}\n",
      "module {\n  func.func @other() {\n" + use + "    return\n  }\n" + definition + "}\n"};
  for (const std::string &text : texts) {
    auto result = capi::compileFromPhase("loop", text, openSpyre());
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), 1001);
    EXPECT_NE(result.status().message().find("'%h1' is used before it is defined"),
              std::string::npos)
        << result.status().message();
  }
}
