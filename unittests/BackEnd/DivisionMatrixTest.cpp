//===- DivisionMatrixTest.cpp - each kind of operation under each kind of division ----------===//
//
// Every cell runs on the card twice, divided and on one core. The bits must be the same, but where
// a sum is divided along what it sums: there the order of additions is that of the slices (ADR
// 0012), and the bits are those of the evaluator under the same division. Cells that cannot exist
// are listed with the reason, and where the back end refuses them, that is looked at.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"

#include "ConversionSpecs.h"
#include "DividedRuns.h"
#include "GeneratorWindows.h"
#include "Specs.h"

#include <functional>

namespace spyre::backend::test {

namespace {

/// What is divided: two dimensions of the result, the one in its sticks, the one that is summed.
struct Division {
  const char *name;
  int64_t out = 1, otherOut = 1, stick = 1, reduced = 1;
  /// The last stick has 40 of its 64 elements (or 8 of 32).
  bool partial = false;

  int64_t cores() const { return out * otherOut * stick * reduced; }
};

const std::vector<Division> &divisions() {
  static const std::vector<Division> all{
      {.name = "no split"},
      {.name = "one output dim", .out = 4},
      {.name = "another output dim", .otherOut = 4},
      {.name = "two output dims", .out = 4, .otherOut = 2},
      {.name = "the stick dim", .stick = 4},
      {.name = "output and stick dim", .out = 2, .stick = 4},
      {.name = "the reduction dim", .reduced = 4},
      {.name = "output and reduction", .out = 4, .reduced = 4},
      {.name = "3 cores", .out = 3},
      {.name = "5 cores", .out = 5},
      {.name = "7 cores", .out = 7},
      {.name = "31 cores", .out = 31},
      {.name = "32 cores", .out = 32},
      {.name = "32 cores of two dims", .out = 8, .otherOut = 4},
      {.name = "31 slices of the reduction", .reduced = 31},
      {.name = "last stick partial", .out = 4, .partial = true},
      {.name = "last stick partial, sticks split", .stick = 3, .partial = true},
      {.name = "last stick partial, reduction split", .reduced = 3, .partial = true},
  };
  return all;
}

int64_t elements(int64_t cores) { return cores > 8 ? cores : 2 * cores; }
int64_t stickRange(const Division &division, int64_t cores, int64_t lanes = 64) {
  return std::max<int64_t>(cores, 2) * lanes - (division.partial ? 24 : 0);
}

/// All dimensions of \p division but the reduced one, by name a, b, c.
std::vector<spec::IterationDim> keptDims(const Division &division, int64_t lanes = 64) {
  return {{"a", elements(division.out), division.out},
          {"b", elements(division.otherOut), division.otherOut},
          {"c", stickRange(division, division.stick, lanes), division.stick}};
}

OpSpec pointwise(const Division &division) {
  const Shape all{{"a", "b", "c"}, "c"};
  return opOf("add", keptDims(division), {all, all, all});
}

OpSpec rowBroadcast(const Division &division) {
  const Shape all{{"a", "b", "c"}, "c"};
  return opOf("mul", keptDims(division), {all, {{"c"}, "c"}, all});
}

OpSpec columnBroadcast(const Division &division) {
  const Shape all{{"a", "b", "c"}, "c"};
  return opOf("sub", keptDims(division), {all, {{"a", "b"}, ""}, all});
}

OpSpec stickReduction(const std::string &op, const Division &division) {
  std::vector<spec::IterationDim> space = keptDims(division);
  space.back() = {"r", stickRange(division, division.reduced), division.reduced};
  return opOf(op, space, {{{"a", "b", "r"}, "r"}, {{"a", "b"}, ""}});
}

OpSpec nonStickReduction(const std::string &op, const Division &division) {
  std::vector<spec::IterationDim> space = keptDims(division);
  space.push_back({"r", 3 * division.reduced, division.reduced});
  return opOf(op, space, {{{"a", "r", "b", "c"}, "c"}, {{"a", "b", "c"}, "c"}});
}

/// Rows of B are padded to whole sticks of A.
void padRows(OpSpec &spec) {
  TensorArg &b = spec.args[1];
  for (size_t i = 0; i < b.deviceSize.size(); ++i) {
    if (b.deviceCoordinates[i].symbol == "k") {
      b.deviceSize[i] = roundUp(b.deviceSize[i], int64_t(64));
    }
  }
}

OpSpec matmul(const Division &division) {
  const int64_t nCores = division.stick * division.otherOut;
  OpSpec spec = opOf("batchmatmul",
                     {{"m", elements(division.out), division.out},
                      {"n", stickRange(division, nCores), nCores},
                      {"k", stickRange(division, division.reduced), division.reduced}},
                     {{{"m", "k"}, "k"}, {{"k", "n"}, "n"}, {{"m", "n"}, "n"}});
  padRows(spec);
  return spec;
}

OpSpec batchedMatmul(const Division &division) {
  OpSpec spec = opOf("batchmatmul",
                     {{"x", elements(division.out), division.out},
                      {"m", elements(division.otherOut), division.otherOut},
                      {"n", stickRange(division, division.stick), division.stick},
                      {"k", stickRange(division, division.reduced), division.reduced}},
                     {{{"x", "m", "k"}, "k"}, {{"x", "k", "n"}, "n"}, {{"x", "m", "n"}, "n"}});
  padRows(spec);
  return spec;
}

/// From sticks along c to sticks along d.
OpSpec restickify(const Division &division) {
  std::vector<spec::IterationDim> space = keptDims(division);
  space.push_back({"d", 128, 1});
  return opOf("ReStickifyOpHBM", space, {{{"a", "b", "d", "c"}, "c"}, {{"a", "b", "c", "d"}, "d"}});
}

OpSpec conversion(const Division &division) {
  std::vector<TensorArg> args;
  const int64_t rows = elements(division.out), columns = elements(division.otherOut);
  const int64_t sticks = ceilDiv(stickRange(division, division.stick), int64_t(64));
  for (DataFormat format : {DataFormat::Sen169Fp16, DataFormat::IeeeFp32}) {
    const int64_t lanes = numerics::elemsPerStick(format);
    args.push_back(argOf(format, {rows, columns, sticks * 64 / lanes, lanes},
                         {Coordinate::var("a"), Coordinate::var("b"),
                          Coordinate::floorDiv("c", lanes), Coordinate::mod("c", lanes)}));
  }
  return specOf("dl16tofp32", keptDims(division), std::move(args));
}

OpSpec window(const std::string &op, const Division &division) {
  WindowShape shape;
  shape.op = op;
  shape.batch = elements(division.out);
  shape.pixels = {elements(division.otherOut), 3};
  shape.channels = stickRange(division, division.stick);
  shape.inChannels = stickRange(division, division.reduced);
  shape.window = {2, 2};
  shape.cores = {{"b", division.out}, {"y", division.otherOut}, {"c", division.stick}};
  shape.cores.emplace_back("k", op == "conv2d" ? division.reduced : 1);
  shape.cores.emplace_back("ki", op == "conv2d" ? 1 : division.reduced);
  if (division.reduced > 1 && op != "conv2d") {
    shape.window = {division.reduced, 2};
  }
  return windowCase(shape).spec;
}

/// The largest 2 of r, per lane.
OpSpec topK(const Division &division) {
  std::vector<spec::IterationDim> space = keptDims(division);
  space.insert(space.begin(), {"k", 2, 1});
  space.push_back({"r", 6 * division.reduced, division.reduced});
  OpSpec spec =
      opOf("topkvalue", space, {{{"a", "r", "b", "c"}, "c"}, {{"a", "k", "b", "c"}, "c"}});
  spec.isReduction = true;
  return spec;
}

/// Rows of [50, b, c], one per entry of the index tensor [a].
OpSpec gather(const Division &division) {
  const int64_t entries = elements(division.out), columns = elements(division.otherOut);
  const int64_t sticks = ceilDiv(stickRange(division, division.stick), int64_t(64));
  TensorArg index = argOf(DataFormat::IeeeInt32, {1, 1, ceilDiv(entries, int64_t(32)), 32},
                          {Coordinate::constant(0), Coordinate::constant(0),
                           Coordinate::floorDiv("a", 32), Coordinate::mod("a", 32)});
  index.name = "i";
  auto rows = [&](int64_t count, const Coordinate &which) {
    return argOf(
        DataFormat::Sen169Fp16, {count, columns, sticks, 64},
        {which, Coordinate::var("b"), Coordinate::floorDiv("c", 64), Coordinate::mod("c", 64)});
  };
  return specOf("identity", keptDims(division),
                {index, rows(50, Coordinate::indirect("i")), rows(entries, Coordinate::var("a"))});
}

OpSpec scan(const Division &division) {
  std::vector<spec::IterationDim> space = keptDims(division, 32);
  const int64_t steps = 5 * division.reduced;
  space.push_back({"s", steps, division.reduced});
  const int64_t sticks = ceilDiv(space[2].range, int64_t(32));
  const TensorArg arg =
      argOf(DataFormat::IeeeFp32, {space[0].range, space[1].range, sticks, steps, 32},
            {Coordinate::var("a"), Coordinate::var("b"), Coordinate::floorDiv("c", 32),
             Coordinate::var("s"), Coordinate::mod("c", 32)});
  return specOf("x_cumsum", space, {arg, arg});
}

/// Why a kind of operation cannot be divided in some ways.
struct Impossible {
  /// What it would need.
  bool stick = false, reduced = false, partialStick = false;
  const char *reason = "";
  /// What the back end says to it; 0: there is no such operation to ask about.
  int code = 0;
};

struct OpKind {
  const char *name;
  std::function<OpSpec(const Division &)> make;
  /// Slices of what it sums change the order of additions.
  bool ordered = false;
  std::vector<Impossible> impossible = {};
};

const std::vector<OpKind> &opKinds() {
  using namespace std::placeholders;
  const Impossible nothingReduced{.reduced = true, .reason = "it reduces nothing"};
  const Impossible reducedStick{
      .stick = true,
      .reason = "its result has one value per stick: the stick dim is the reduced one"};
  static const std::vector<OpKind> all{
      {"pointwise", pointwise, false, {nothingReduced}},
      {"broadcast row", rowBroadcast, false, {nothingReduced}},
      {"broadcast column", columnBroadcast, false, {nothingReduced}},
      {"sum over the stick", std::bind(stickReduction, "sum", _1), true, {reducedStick}},
      {"max over the stick", std::bind(stickReduction, "max", _1), false, {reducedStick}},
      {"sum beside the stick", std::bind(nonStickReduction, "sum", _1), true},
      {"max beside the stick", std::bind(nonStickReduction, "max", _1), false},
      {"matmul", matmul, true},
      {"batched matmul", batchedMatmul, true},
      {"restickify",
       restickify,
       false,
       {nothingReduced,
        {.partialStick = true,
         .reason = "a padded tail has no memory on one side: the interface gives it one slice"}}},
      {"conversion", conversion, false, {nothingReduced}},
      {"convolution", std::bind(window, "conv2d", _1), true},
      {"max pooling",
       std::bind(window, "maxpoolfwd", _1),
       false,
       {{.reduced = true, .reason = "a window is not cut: pixels overlap", .code = 1302}}},
      {"average pooling",
       std::bind(window, "avgpoolfwd", _1),
       false,
       {{.reduced = true, .reason = "a window is not cut: pixels overlap", .code = 1302}}},
      {"top-k",
       topK,
       false,
       {{.reduced = true, .reason = "no exchange merges lists of largest values", .code = 5302}}},
      {"gather", gather, false, {nothingReduced}},
      {"running sum",
       scan,
       false,
       {{.reduced = true, .reason = "each sum needs the one before it", .code = 1302}}},
  };
  return all;
}

const Impossible *whyImpossible(const OpKind &kind, const Division &division) {
  for (const Impossible &why : kind.impossible) {
    if ((why.stick && division.stick > 1) || (why.reduced && division.reduced > 1) ||
        (why.partialStick && division.partial && division.stick > 1)) {
      return &why;
    }
  }
  return nullptr;
}

class DivisionMatrix : public DividedRuns {
protected:
  void checkRefused(const OpKind &kind, const Division &division, const Impossible &why) {
    Expected<program::Program> program = lowerAll({kind.make(division)}, device);
    ASSERT_FALSE(program.ok()) << "it exists after all: " << why.reason;
    EXPECT_EQ(program.status().code(), why.code) << program.status().message();
  }
};

} // namespace

TEST_F(DivisionMatrix, DividedIsWhatOneCoreComputes) {
  int ran = 0, impossible = 0;
  for (const OpKind &kind : opKinds()) {
    for (const Division &division : divisions()) {
      SCOPED_TRACE(fmt::format("{}, {}", kind.name, division.name));
      if (const Impossible *why = whyImpossible(kind, division)) {
        ++impossible;
        if (why->code != 0) {
          checkRefused(kind, division, *why);
        }
        continue;
      }
      runDivided(kind.make(division), division.cores(), !kind.ordered || division.reduced == 1);
      ++ran;
    }
  }
  // The table has no holes: a cell runs or has its reason.
  EXPECT_EQ(ran + impossible, int(opKinds().size() * divisions().size()));
  EXPECT_EQ(impossible, 47) << ran << " ran";
}

} // namespace spyre::backend::test
