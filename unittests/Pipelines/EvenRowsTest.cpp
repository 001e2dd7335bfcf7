//===- EvenRowsTest.cpp - rows that are padded or cut give the same bits --------------------===//
//
// Random graphs, in which every extent that a group of operations has is padded or cut, whether
// that pays or not. On one core nothing else changes: bits are those of the program as it was. On
// more, simulator (with its sanitizer) and evaluator agree, with and without scratchpads.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/CAPI/Compiler.h"
#include "spyre/Dialect/Loop/IR/Loop.h"
#include "spyre/Pipelines/Pipelines.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"

#include "CAPI/ModelRunner.h"
#include "CAPI/RandomGraph.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <set>

namespace spyre::testing {

namespace {

/// Graphs; SPYRE_TEST_LONG=1 runs fifty times as many.
uint64_t cases() { return std::getenv("SPYRE_TEST_LONG") ? 6000 : 120; }

struct Change {
  int64_t extent = 0, rows = 0, even = 0;
  bool columns = false;
};

struct Changed {
  std::string text;
  /// Operations before and after.
  size_t before = 0, after = 0;
};

class Rows {
public:
  Rows() {
    pipelines::registerPasses();
    mlir::DialectRegistry registry;
    pipelines::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  std::set<int64_t> extentsOf(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    std::set<int64_t> extents;
    module->walk([&](loop::ComputeOp op) {
      extents.insert(op.getExtents().begin(), op.getExtents().end());
    });
    return extents;
  }

  Changed apply(const std::string &text, const Change &change) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    Changed changed;
    module->walk([&](loop::ComputeOp) { ++changed.before; });
    mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName());
    const std::string pipeline =
        fmt::format("spyre-loop-even-rows{{extent={} rows={} even={} columns={}}}", change.extent,
                    change.rows, change.even, change.columns);
    EXPECT_TRUE(mlir::succeeded(mlir::parsePassPipeline(pipeline, manager)));
    EXPECT_TRUE(mlir::succeeded(manager.run(*module))) << pipeline << "\n" << text;
    module->walk([&](loop::ComputeOp) { ++changed.after; });
    llvm::raw_string_ostream(changed.text) << *module;
    return changed;
  }

private:
  mlir::MLIRContext context;
};

Expected<RunResult> compileAndRun(const std::string &text, const Graph &graph, int64_t cores,
                                  bool scratchpads) {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.cores = cores;
  options.padding = false;
  options.symbolicArguments = true;
  options.lx.enabled = scratchpads;
  SPYRE_ASSIGN_OR_RETURN(const capi::CompileResult compiled,
                         capi::compileFromPhase("layout", text, options));
  SPYRE_ASSIGN_OR_RETURN(RunResult run,
                         runOnSimulator(compiled.artifacts, options.device, graph.inputs, 1));
  SPYRE_ASSIGN_OR_RETURN(const auto expected, runOnEvaluator(compiled.artifacts, graph.inputs));
  EXPECT_EQ(run.deviceBytes, expected) << text;
  return run;
}

/// Padded, cut, and cut in sticks.
std::vector<Change> changesOf(int64_t extent) {
  constexpr int64_t kSticks = 128;
  std::vector<Change> changes;
  if (extent >= 3) {
    const int64_t even = extent * 2 / 3;
    changes = {{extent, 0, even}, {extent, extent + 3, even}};
  }
  if (extent > kSticks + 1) {
    changes.push_back({extent, 0, kSticks, true});
  }
  return changes;
}

/// Number of programs that were changed.
int64_t check(Rows &rows, const Graph &graph, uint64_t seed) {
  pipelines::Options options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  Expected<std::string> text = pipelines::runIrPhases(
      pipelines::Phase::Graph, pipelines::Phase::Layout, graphText(graph), options);
  EXPECT_TRUE(text.ok()) << text.status().message();
  Expected<RunResult> plain = compileAndRun(*text, graph, 1, false);
  EXPECT_TRUE(plain.ok()) << plain.status().message();
  int64_t count = 0;
  for (int64_t extent : rows.extentsOf(*text)) {
    for (const Change &change : changesOf(extent)) {
      const Changed changed = rows.apply(*text, change);
      if (changed.after == changed.before) {
        continue;
      }
      ++count;
      for (int64_t cores : {1, 7}) {
        Expected<RunResult> run = compileAndRun(changed.text, graph, cores, cores > 1);
        const bool isSame = run.ok() && (cores > 1 || run->deviceBytes == plain->deviceBytes);
        EXPECT_TRUE(isSame) << "seed " << seed << ", " << extent << " as " << change.rows << " or "
                            << change.even << (change.columns ? " columns, " : ", ") << cores
                            << " cores: " << run.status().message() << "\n"
                            << graphText(graph) << changed.text;
        if (!isSame) {
          return count;
        }
      }
    }
  }
  return count;
}

} // namespace

TEST(EvenRows, RandomGraphsKeepTheirBits) {
  Rows rows;
  int64_t changes = 0;
  for (uint64_t seed = 1; seed <= cases() && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    RandomGraphOptions options;
    options.steps = random.between(3, 9);
    options.whole = seed % 2 == 0;
    options.maxSize = seed % 3 == 0 ? 300 : options.maxSize;
    changes += check(rows, randomGraph(random, options), seed);
  }
  EXPECT_GT(changes, int64_t(cases())) << "groups are found in most graphs";
}

// Programs with many different operations are not divided ten times for the sake of a few rows.
TEST(EvenRows, TooManyDifferentOperationsTryNoChoice) {
  // Each operation has rows of another length, so none of their plans is shared.
  const auto triedOf = [](int64_t operations) {
    std::vector<std::string> inputs, calls, results, types;
    for (int64_t i = 1; i <= operations; ++i) {
      types.push_back(fmt::format("tensor<97x{}xf16>", 64 * i));
      inputs.push_back(fmt::format(
          "%x{0}: {1} {{graph.layout = {{device_size = array<i64: {0}, 97, 64>, format = "
          "\"SEN169_FP16\", stride_map = array<i64: 64, {2}, 1>}}, graph.name = \"x{0}\", "
          "graph.offset = 0 : i64, graph.stride = array<i64: {2}, 1>}}",
          i, types.back(), 64 * i));
      calls.push_back(fmt::format(
          "  %y{0} = graph.call \"aten.abs.default\"(%x{0}) : ({1}) -> {1}\n", i, types.back()));
      results.push_back(fmt::format("%y{}", i));
    }
    std::vector<std::string> resultTypes;
    for (int64_t i = 1; i <= operations; ++i) {
      resultTypes.push_back(
          fmt::format("{} {{graph.stride = array<i64: {}, 1>}}", types[size_t(i) - 1], 64 * i));
    }
    const std::string text =
        fmt::format("func.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n",
                    fmt::join(inputs, ", "), fmt::join(resultTypes, ", "), fmt::join(calls, ""),
                    fmt::join(results, ", "), fmt::join(types, ", "));
    capi::CompileOptions options;
    options.device = *arch::DeviceDesc::preset("openspyre");
    options.compileTo = "division";
    options.explainDivision = true;
    Expected<capi::CompileResult> compiled = capi::compileGraph(text, options);
    EXPECT_TRUE(compiled.ok()) << compiled.status().message();
    const std::string &trace = compiled->decisionsJson;
    size_t count = 0;
    for (size_t at = trace.find("\"choice\""); at != std::string::npos;
         at = trace.find("\"choice\"", at + 1)) {
      ++count;
    }
    EXPECT_EQ(trace.find("large-program") != std::string::npos, operations > 1000);
    return count;
  };
  EXPECT_EQ(triedOf(10), 1u);
  EXPECT_EQ(triedOf(1600), 0u);
}

} // namespace spyre::testing
