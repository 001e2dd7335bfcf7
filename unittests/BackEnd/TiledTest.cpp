//===- TiledTest.cpp - operations in tiles, from the planner to the card --------------------===//
//
// A tile is a view of the whole tensor: its sticks keep their physical distances, and each trip of
// the loops moves the start addresses. Loops that stay loops in bundle.mlir and loops that are
// unrolled must give the bits of the operation in one piece.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Base/Math.h"
#include "spyre/Solver/Division/Build.h"
#include "spyre/Solver/Division/Divide.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/LoopSpec.h"

#include "ConversionSpecs.h"
#include "Specs.h"

namespace spyre::backend::test {

namespace {

namespace division = solver::division;

struct Mode {
  const char *name;
  spec::BundleOptions options;
};

std::vector<Mode> modes() {
  return {{"baked, unrolled", {.symbolicArguments = false, .unrollLoops = true}},
          {"symbolic, unrolled", {.symbolicArguments = true, .unrollLoops = true}},
          {"symbolic, loops", {.symbolicArguments = true, .unrollLoops = false}}};
}

/// From the bytes of the bundle to those of the program.
Expected<program::Program> programOf(const spec::Kernel &kernel, const spec::BundleOptions &options,
                                     const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(Artifacts files, spec::generateBundle(kernel, options));
  const bool hasLoop = std::any_of(kernel.begin(), kernel.end(), [](const spec::SpecNode &node) {
    return node.kind == spec::SpecNode::Kind::Loop;
  });
  const bool keepsLoop = files.at("bundle.mlir").find("scf.for") != std::string::npos;
  EXPECT_EQ(keepsLoop, hasLoop && !options.unrollLoops);
  SPYRE_ASSIGN_OR_RETURN(Artifacts code, compileBundle(files, device));
  SPYRE_ASSIGN_OR_RETURN(program::Program program,
                         program::readProgram(code.at("spyreCodeDir/init.bin")));
  for (program::Symbol &symbol : program.symbols) {
    SPYRE_ASSIGN_OR_RETURN(int64_t argument, spec::parseBundleArgument(symbol.name));
    symbol.value = device.segmentBase(argument);
  }
  return program;
}

/// \p spec in one piece and in the tiles of \p kernel, on \p device, have the same bits.
void expectTilesAreTheWhole(const OpSpec &spec, const spec::Kernel &kernel,
                            const arch::DeviceDesc &device, size_t trips) {
  Random random(trips);
  const evaluator::Memory start = randomMemory(spec, random);
  evaluator::Memory whole = start;
  const arch::DeviceDesc large = presetDevice("openspyre");
  Card whereItFits(large);
  Expected<program::Program> untiled = lowerAll({spec}, large);
  ASSERT_TRUE(untiled.ok()) << untiled.status().message();
  Status ran = whereItFits.run(*untiled, whole, &spec);
  ASSERT_TRUE(ran.ok()) << ran.text();
  ASSERT_FALSE(whole.arguments == start.arguments);
  Card card(device);
  for (const Mode &mode : modes()) {
    SCOPED_TRACE(mode.name);
    Expected<program::Program> program = programOf(kernel, mode.options, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_EQ(program->phases.size(), trips);
    evaluator::Memory tiled = start;
    ran = card.run(*program, tiled, &spec);
    ASSERT_TRUE(ran.ok()) << ran.text();
    EXPECT_TRUE(tiled.arguments == whole.arguments);
    EXPECT_EQ(card.counters.sfp_lane_ops, whereItFits.counters.sfp_lane_ops);
    EXPECT_EQ(card.counters.pt_macs, whereItFits.counters.pt_macs);
    EXPECT_EQ(card.counters.ddr_write_bytes, whereItFits.counters.ddr_write_bytes);
  }
}

struct Tiles {
  std::string symbol;
  int64_t count;
  /// Cores that share one tile.
  int64_t cores = 1;
};

/// \p spec in loops, the first of \p tiles outermost.
spec::Kernel inTiles(OpSpec spec, const std::vector<Tiles> &tiles) {
  for (const Tiles &level : tiles) {
    for (spec::IterationDim &dim : spec.iterationSpace) {
      if (dim.symbol == level.symbol) {
        dim.range /= level.count;
        dim.cores = level.cores;
      }
    }
    spec.tiledSymbols.push_back(level.symbol);
  }
  spec::SpecNode node = spec::SpecNode::of(spec);
  for (size_t i = tiles.size(); i-- > 0;) {
    node = spec::SpecNode::loop(tiles[i].count, {tiles[i].symbol}, {std::move(node)});
  }
  return {std::move(node)};
}

} // namespace

TEST(Tiled, RowsAndColumnsOfSeveralSticks) {
  const arch::DeviceDesc device = presetDevice("openspyre");
  const Shape all{{"a", "c"}, "c"};
  const OpSpec add = opOf("add", {{"a", 32, 1}, {"c", 512, 1}}, {all, all, all});
  expectTilesAreTheWhole(add, inTiles(add, {{"a", 4, 2}}), device, 4);
  expectTilesAreTheWhole(add, inTiles(add, {{"c", 2, 4}}), device, 2);
  expectTilesAreTheWhole(add, inTiles(add, {{"a", 2, 4}, {"c", 4, 2}}), device, 8);
  expectTilesAreTheWhole(add, inTiles(add, {{"c", 4, 2}, {"a", 4, 1}}), device, 16);
  // Sticks outermost: the columns of a tile are far apart.
  const Shape columns{{"c", "a"}, "c"};
  const OpSpec far = opOf("mul", {{"a", 32, 1}, {"c", 512, 1}}, {columns, {{"c"}, "c"}, all});
  expectTilesAreTheWhole(far, inTiles(far, {{"a", 2, 4}, {"c", 4, 2}}), device, 8);
}

TEST(Tiled, OtherKindsOfOperations) {
  const arch::DeviceDesc device = presetDevice("openspyre");
  const OpSpec sum = opOf("sum", {{"a", 24, 1}, {"b", 4, 1}, {"r", 200, 1}},
                          {{{"b", "r", "a"}, "r"}, {{"b", "a"}, ""}});
  expectTilesAreTheWhole(sum, inTiles(sum, {{"a", 3, 4}, {"b", 2, 1}}), device, 6);
  const OpSpec rows = opOf("max", {{"c", 384, 1}, {"r", 10, 1}}, {{{"c", "r"}, "c"}, {{"c"}, "c"}});
  expectTilesAreTheWhole(rows, inTiles(rows, {{"c", 3, 2}}), device, 3);
  const OpSpec product = opOf("batchmatmul", {{"m", 24, 1}, {"n", 512, 1}, {"k", 128, 1}},
                              {{{"k", "m"}, "k"}, {{"n", "k"}, "n"}, {{"n", "m"}, "n"}});
  expectTilesAreTheWhole(product, inTiles(product, {{"m", 3, 2}}), device, 3);
  expectTilesAreTheWhole(product, inTiles(product, {{"n", 4, 2}}), device, 4);
  expectTilesAreTheWhole(product, inTiles(product, {{"n", 2, 4}, {"m", 2, 3}}), device, 4);
  const OpSpec turn = opOf("ReStickifyOpHBM", {{"a", 256, 1}, {"c", 384, 1}},
                           {{{"c", "a"}, "c"}, {{"a", "c"}, "a"}});
  expectTilesAreTheWhole(turn, inTiles(turn, {{"a", 2, 2}}), device, 2);
  expectTilesAreTheWhole(turn, inTiles(turn, {{"c", 3, 2}, {"a", 2, 1}}), device, 6);
}

namespace {

/// Room for one stick of each tensor: as many trips as sticks.
arch::DeviceDesc withLittleRoom(int64_t maxTripCount) {
  arch::DeviceDesc device = presetDevice("openspyre");
  device.lxPlannerBytes = device.lxBytes - 3 * 128;
  device.division.maxTripCount = maxTripCount;
  return device;
}

OpSpec addOfSticks(int64_t sticks) {
  const Shape all{{"c"}, "c"};
  return opOf("add", {{"c", sticks * 64, 1}}, {all, all, all});
}

} // namespace

// Counters of the machine have 16 bits: a longer loop is several.
TEST(Tiled, LoopsCountNoFurtherThanTheMachine) {
  for (int64_t most : {65535, 999, 0}) {
    Expected<program::Program> program = lowerAll({addOfSticks(70'000)}, withLittleRoom(most));
    ASSERT_TRUE(program.ok()) << program.status().message();
    int64_t longest = 0, trips = 0;
    for (const program::Instruction &instruction : program->phases[0].instructions) {
      if (instruction.opcode == program::Opcode::Loop) {
        longest = std::max(longest, instruction.parameter);
        trips += instruction.parameter;
      }
    }
    EXPECT_EQ(trips, 70'000);
    EXPECT_EQ(longest, most > 0 ? most : 70'000);
  }
}

TEST(Tiled, SeveralLoopsDoWhatOneDoes) {
  const OpSpec add = addOfSticks(2'500);
  const arch::DeviceDesc device = withLittleRoom(999);
  Expected<program::Program> program = lowerAll({add}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  Random random(1);
  evaluator::Memory memory = randomMemory(add, random), expected = memory;
  ASSERT_TRUE(evaluator::evaluate({add}, expected).ok());
  Card card(device);
  Status ran = card.run(*program, memory, &add);
  ASSERT_TRUE(ran.ok()) << ran.text();
  EXPECT_TRUE(memory.arguments == expected.arguments);
  EXPECT_EQ(card.counters.sfp_lane_ops, 2'500u * 64);
}

//===- Shapes no division fits --------------------------------------------------------------===//

namespace {

/// The planner's operation as an OpSpec on one core. Coordinates have one variable each.
OpSpec specOfOp(const division::Op &op, const std::string &name) {
  OpSpec spec;
  spec.op = name;
  for (const division::Dim &dim : op.dims) {
    spec.iterationSpace.push_back({dim.name, dim.extent, 1});
  }
  for (const division::Tensor &tensor : op.tensors) {
    TensorArg arg;
    arg.isInput = !tensor.output;
    arg.argIndex = int64_t(spec.args.size());
    arg.address = arg.argIndex << 34;
    arg.deviceSize = tensor.deviceSize;
    for (size_t d = 0; d < tensor.deviceSize.size(); ++d) {
      const division::Coordinate &from = tensor.coordinates[d];
      if (from.terms.empty()) {
        arg.deviceCoordinates.push_back(Coordinate::constant(0));
        continue;
      }
      const division::Term &term = from.terms.front();
      const std::string &symbol = op.dims[size_t(term.dim)].name;
      arg.deviceCoordinates.push_back(
          d + 1 == tensor.deviceSize.size() ? Coordinate::mod(symbol, tensor.elemsPerStick())
          : term.divisor > 1                ? Coordinate::floorDiv(symbol, term.divisor)
                                            : Coordinate::var(symbol));
    }
    spec.args.push_back(std::move(arg));
  }
  return spec;
}

/// What the planner says about tiles, as loops; what is left over stands beside them.
spec::Kernel kernelOf(const OpSpec &whole, const division::TilingPlan &plan, size_t &trips) {
  spec::Kernel kernel;
  trips = 0;
  for (const division::TiledPart &part : plan.parts) {
    OpSpec spec = whole;
    std::vector<Tiles> levels;
    for (size_t d = 0; d < spec.iterationSpace.size(); ++d) {
      spec::IterationDim &dim = spec.iterationSpace[d];
      dim.range = part.tileExtent[d] * part.tiles[d];
      dim.cores = part.plan.splits[d];
      for (TensorArg &arg : spec.args) {
        for (Coordinate &coordinate : arg.deviceCoordinates) {
          if (coordinate.symbol == dim.symbol && coordinate.kind != Coordinate::Kind::Mod) {
            coordinate.offset += part.first[d] / coordinate.divisor;
          }
        }
      }
      if (part.tiles[d] > 1) {
        levels.push_back({dim.symbol, part.tiles[d], dim.cores});
      }
    }
    trips += size_t(part.trips());
    for (spec::SpecNode &node : inTiles(spec, levels)) {
      kernel.push_back(std::move(node));
    }
  }
  return kernel;
}

struct Scaled {
  const char *original;
  division::Op op;
  const char *opName;
  /// As many times smaller as the extents.
  int64_t spanLimitBytes;
};

} // namespace

// The published failures, at a size that runs: divisors, cores and limit have the same relations.
TEST(Tiled, PublishedFailuresRunInTiles) {
  const std::vector<Scaled> cases = {
      {"restickify [131072, 5120]", division::makeRestickify(std::vector<int64_t>{2048, 1280}, 0),
       "ReStickifyOpHBM", 1 << 20},
      {"restickify [262144, 3840]", division::makeRestickify(std::vector<int64_t>{2048, 1920}, 0),
       "ReStickifyOpHBM", 1 << 20},
      {"pointwise [32, 8192, 17408]", division::makePointwise(std::vector<int64_t>{2, 64, 1088}),
       "abs", 8 << 10},
      {"pointwise [32, 8193, 1740]", division::makePointwise(std::vector<int64_t>{2, 111, 220}),
       "abs", 32 << 10},
  };
  for (const Scaled &scaled : cases) {
    SCOPED_TRACE(scaled.original);
    arch::DeviceDesc device = presetDevice("openspyre");
    device.spanLimitBytes = scaled.spanLimitBytes;
    Expected<division::Outcome> outcome = division::divide(
        scaled.op, device, {.cores = 32, .padding = false}, division::DeviceRates(device));
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    EXPECT_EQ(outcome->verdict.code(), 3065);
    EXPECT_NE(outcome->verdict.text().find("no even division without padding exists"),
              std::string::npos);
    ASSERT_TRUE(outcome->tiling.has_value());
    const OpSpec whole = specOfOp(scaled.op, scaled.opName);
    // In one piece the back end refuses it: the span is that of the machine, not of the planner.
    Expected<program::Program> untiled = lowerAll({whole}, device);
    ASSERT_FALSE(untiled.ok());
    EXPECT_EQ(untiled.status().code(), 5304) << untiled.status().message();
    size_t trips = 0;
    const spec::Kernel kernel = kernelOf(whole, *outcome->tiling, trips);
    EXPECT_GT(trips, 1u);
    expectTilesAreTheWhole(whole, kernel, device, trips);
  }
}

} // namespace spyre::backend::test
