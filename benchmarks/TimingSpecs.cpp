//===- TimingSpecs.cpp - shapes and splits to OpSpecs ---------------------------------------===//
#include "TimingSpecs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

namespace spyre::bench {

using costmodel::TimingRow;
using spec::Coordinate;
using spec::OpSpec;
using spec::TensorArg;

using Ops = std::vector<OpSpec>;
using Splits = std::map<std::string, int64_t>;

static constexpr int64_t kLanes = 64;

//===- Building OpSpecs ---------------------------------------------------------------------===//

namespace {

/// A tensor over \p symbols (outermost first) with the stick along \p stick, or one value per
/// stick.
struct Shape {
  std::vector<std::string> symbols;
  std::string stick;
};

} // namespace

static TensorArg tensorOf(const OpSpec &spec, const Shape &shape, int64_t argument) {
  TensorArg arg;
  arg.argIndex = argument;
  arg.address = argument << 34;
  arg.deviceSize.assign(spec.iterationSpace.size() - shape.symbols.size(), 1);
  arg.deviceCoordinates.assign(arg.deviceSize.size(), Coordinate::constant(0));
  for (const std::string &symbol : shape.symbols) {
    auto dim =
        std::find_if(spec.iterationSpace.begin(), spec.iterationSpace.end(),
                     [&](const spec::IterationDim &other) { return other.symbol == symbol; });
    bool isStick = symbol == shape.stick;
    arg.deviceSize.push_back(isStick ? (dim->range + kLanes - 1) / kLanes : dim->range);
    arg.deviceCoordinates.push_back(isStick ? Coordinate::floorDiv(symbol, kLanes)
                                            : Coordinate::var(symbol));
  }
  arg.deviceSize.push_back(kLanes);
  arg.deviceCoordinates.push_back(shape.stick.empty() ? Coordinate::constant(0)
                                                      : Coordinate::mod(shape.stick, kLanes));
  return arg;
}

/// Argument i is the kernel's tensor i; the last one is written.
static OpSpec opOf(const std::string &op, std::vector<spec::IterationDim> space,
                   const std::vector<Shape> &shapes) {
  OpSpec spec;
  spec.op = op;
  spec.isReduction = op == "sum" || op == "max" || op == "batchmatmul";
  spec.iterationSpace = std::move(space);
  for (size_t i = 0; i < shapes.size(); ++i) {
    spec.args.push_back(tensorOf(spec, shapes[i], int64_t(i)));
  }
  spec.args.back().isInput = false;
  return spec;
}

static void moveToLx(TensorArg &arg, int64_t address) {
  arg.residency = spec::Residency::Lx;
  arg.argIndex = -1;
  arg.address = address;
}

//===- Reading a row ------------------------------------------------------------------------===//

static Status unknown(const TimingRow &row, const char *what, const std::string &text) {
  return error<7035>("line {}: row {}: {} '{}' has no OpSpecs; see TimingSpecs.cpp for those known",
                     row.line, row.id, what, text.substr(0, 64));
}

/// "512x1024" -> {512, 1024}; empty when it is none.
static std::vector<int64_t> extentsOf(const std::string &text) {
  std::vector<int64_t> extents;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, 'x');) {
    std::istringstream number(part);
    int64_t extent = 0;
    if (!(number >> extent) || extent < 1 || extent > (int64_t(1) << 20)) {
      return {};
    }
    extents.push_back(extent);
  }
  return extents;
}

/// "m2 n8" -> m: 2, n: 8.
static Splits splitsOf(const std::string &text) {
  Splits splits;
  std::istringstream stream(text);
  for (std::string part; stream >> part;) {
    splits[part.substr(0, 1)] = std::max(1, std::atoi(part.c_str() + 1));
  }
  return splits;
}

static int64_t splitOf(const Splits &splits, const char *dim) {
  auto found = splits.find(dim);
  return found == splits.end() ? 1 : found->second;
}

static std::pair<std::string, std::string> cutAt(const std::string &text,
                                                 const std::string &separator) {
  size_t place = text.find(separator);
  return place == std::string::npos
             ? std::pair(text, std::string())
             : std::pair(text.substr(0, place), text.substr(place + separator.size()));
}

//===- Matrix products ----------------------------------------------------------------------===//

struct Product {
  int64_t m = 0, k = 0, n = 0;
};

/// "4x1x4096 @ 4096x1024": dims before the last one of the first factor are rows.
static Product productOf(const std::string &shape) {
  auto [left, right] = cutAt(shape, " @ ");
  std::vector<int64_t> a = extentsOf(left), b = extentsOf(right);
  if (a.size() < 2 || b.size() != 2 || a.back() != b[0]) {
    return {};
  }
  Product product{1, b[0], b[1]};
  for (size_t i = 0; i + 1 < a.size(); ++i) {
    product.m *= a[i];
  }
  return product;
}

static OpSpec matmulOf(const Product &product, const Splits &splits) {
  return opOf("batchmatmul",
              {{"c0", product.m, splitOf(splits, "m")},
               {"c1", product.n, splitOf(splits, "n")},
               {"c2", product.k, splitOf(splits, "k")}},
              {{{"c2", "c0"}, "c2"}, {{"c1", "c2"}, "c1"}, {{"c1", "c0"}, "c1"}});
}

/// Rows [first, first + rows) of a product with more rows.
static OpSpec rowTile(const Product &product, int64_t first, int64_t rows, const Splits &splits) {
  OpSpec spec = matmulOf({rows, product.k, product.n}, splits);
  for (size_t arg : {size_t(0), size_t(2)}) {
    size_t dim = spec.args[arg].deviceSize.size() - 2;
    spec.args[arg].deviceSize[dim] = product.m;
    spec.args[arg].deviceCoordinates[dim].offset = first;
  }
  return spec;
}

/// Columns [first, first + columns) of a product with more columns.
static OpSpec columnTile(const Product &product, int64_t first, int64_t columns,
                         const Splits &splits) {
  OpSpec spec = matmulOf({product.m, product.k, columns}, splits);
  for (size_t arg : {size_t(1), size_t(2)}) {
    size_t dim = spec.args[arg].deviceSize.size() - 3;
    spec.args[arg].deviceSize[dim] = product.n / kLanes;
    spec.args[arg].deviceCoordinates[dim].offset = first / kLanes;
  }
  return spec;
}

/// Sums of one operation that a core keeps beside its operands: an eighth of LX in fp32.
static constexpr int64_t kMostResults = 65536;

/// One operation, or as few equal ones along n as it takes for a core to keep its sums.
static Ops productOps(const Product &product, const Splits &splits) {
  int64_t results = product.m / splitOf(splits, "m") * (product.n / splitOf(splits, "n"));
  int64_t sticks = product.n / kLanes / splitOf(splits, "n"), tiles = 1;
  while (tiles < sticks && (results / tiles > kMostResults || sticks % tiles != 0)) {
    ++tiles;
  }
  Ops ops;
  for (int64_t i = 0; i < tiles; ++i) {
    ops.push_back(columnTile(product, i * product.n / tiles, product.n / tiles, splits));
  }
  return ops;
}

static Expected<RowSpecs> matmulRow(const TimingRow &row) {
  Product product = productOf(row.shape);
  if (product.m == 0) {
    return unknown(row, "shape", row.shape);
  }
  RowSpecs specs;
  specs.lxPlannerBytes = 0; // Measured while the planner held nothing in LX.
  if (row.op == "mm in 8 row tiles") {
    constexpr int64_t kTiles = 8;
    Ops ops;
    for (int64_t i = 0; i < kTiles; ++i) {
      ops.push_back(rowTile(product, i * product.m / kTiles, product.m / kTiles,
                            {{"m", 8}, {"n", row.cores / 8}}));
    }
    specs.kernels.push_back(std::move(ops));
    return specs;
  }
  auto [first, second] = cutAt(row.split, " | ");
  specs.kernels.push_back(productOps(product, splitsOf(first)));
  if (row.isRatio()) {
    specs.kernels.push_back(productOps(product, splitsOf(second)));
  }
  return specs;
}

//===- Matrices of one operation ------------------------------------------------------------===//

namespace {

struct Matrix {
  int64_t rows = 0, columns = 0, cores = 1;

  /// Rows over the cores.
  std::vector<spec::IterationDim> space() const {
    return {{"c0", rows, cores}, {"c1", columns, 1}};
  }
};

} // namespace

static const Shape kFull{{"c1", "c0"}, "c1"};
static const Shape kRow{{"c1"}, "c1"};
static const Shape kColumn{{"c0"}, ""};

static Ops rowReduction(const Matrix &x) { return {opOf("sum", x.space(), {kFull, kColumn})}; }

/// Columns over the cores; what is left of them over the rows, whose sums are combined.
static OpSpec columnReduction(const std::string &op, const Matrix &x) {
  int64_t columns = std::min(x.cores, x.columns / kLanes);
  return opOf(op, {{"c1", x.columns, columns}, {"c0", x.rows, x.cores / columns}}, {kFull, kRow});
}

static Ops restickify(const Matrix &x) {
  int64_t rows = std::min(x.cores, x.rows / kLanes);
  return {opOf("ReStickifyOpHBM", {{"c0", x.rows, rows}, {"c1", x.columns, x.cores / rows}},
               {kFull, {{"c0", "c1"}, "c0"}})};
}

/// Both halves into one tensor, one after the other.
static Ops concatenation(const Matrix &x, bool alongRows) {
  Matrix half = x;
  (alongRows ? half.rows : half.columns) /= 2;
  Ops ops;
  for (int64_t i = 0; i < 2; ++i) {
    OpSpec op = opOf("identity", half.space(), {kFull, kFull});
    op.args[0].argIndex = i;
    op.args[0].address = i << 34;
    op.args[1].argIndex = 2;
    op.args[1].address = int64_t(2) << 34;
    size_t dim = op.args[1].deviceSize.size() - (alongRows ? 2 : 3);
    op.args[1].deviceCoordinates[dim].offset = i * op.args[1].deviceSize[dim];
    op.args[1].deviceSize[dim] *= 2;
    ops.push_back(std::move(op));
  }
  return ops;
}

static Expected<RowSpecs> matrixRow(const TimingRow &row, const Matrix &x) {
  const std::map<std::string, std::function<Ops()>> known = {
      {"sum dim -1", [&] { return rowReduction(x); }},
      {"sum dim 0", [&] { return Ops{columnReduction("sum", x)}; }},
      {"transpose copy", [&] { return restickify(x); }},
      {"one input, one output", [&] { return Ops{opOf("identity", x.space(), {kFull, kFull})}; }},
      {"two inputs, one output",
       [&] { return Ops{opOf("add", x.space(), {kFull, kFull, kFull})}; }},
      {"x + b[1,C]", [&] { return Ops{opOf("add", x.space(), {kFull, kRow, kFull})}; }},
      {"x + b[R,1]", [&] { return Ops{opOf("add", x.space(), {kFull, kColumn, kFull})}; }},
      {"cat dim 0 of two halves", [&] { return concatenation(x, true); }},
      {"cat dim 1 of two halves", [&] { return concatenation(x, false); }},
  };
  auto found = known.find(row.op);
  if (found == known.end()) {
    return unknown(row, "op", row.op);
  }
  return RowSpecs{{found->second()}, -1};
}

//===- Softmax ------------------------------------------------------------------------------===//

namespace {

/// Tensors of a softmax: x, its maximum, x - maximum, exponential, sum, result.
enum Tensor : int64_t { X, Maximum, Difference, Exponential, Sum, Result, Clone };

/// max, sub, exp, sum, div with some tensors in LX.
class Softmax {
public:
  /// \p alongRows: dim -1, rows over the cores; else dim 0, columns over the cores.
  Softmax(const Matrix &x, bool alongRows) : alongRows(alongRows) {
    space = alongRows
                ? x.space()
                : std::vector<spec::IterationDim>{{"c1", x.columns, x.cores}, {"c0", x.rows, 1}};
  }
  void keep(Tensor tensor, int64_t address) { inLx[tensor] = address; }
  Ops build() {
    Tensor from = X;
    if (inLx.contains(Clone)) {
      add("identity", {X, Clone});
      from = Clone;
    }
    add("max", {from, Maximum});
    add("sub", {from, Maximum, Difference});
    add("exp", {Difference, Exponential});
    add("sum", {Exponential, Sum});
    add("realdiv", {Exponential, Sum, Result});
    return std::move(ops);
  }

private:
  void add(const std::string &name, const std::vector<Tensor> &tensors) {
    std::vector<Shape> shapes;
    for (Tensor tensor : tensors) {
      bool isReduced = tensor == Maximum || tensor == Sum;
      shapes.push_back(!isReduced ? kFull : alongRows ? kColumn : kRow);
    }
    OpSpec op = opOf(name, space, shapes);
    for (size_t i = 0; i < tensors.size(); ++i) {
      op.args[i].argIndex = tensors[i];
      op.args[i].address = int64_t(tensors[i]) << 34;
      if (auto found = inLx.find(tensors[i]); found != inLx.end()) {
        moveToLx(op.args[i], found->second);
      }
    }
    ops.push_back(std::move(op));
  }

  bool alongRows;
  std::vector<spec::IterationDim> space;
  std::map<Tensor, int64_t> inLx;
  Ops ops;
};

} // namespace

/// Everything but input and result stays in LX; the exponential takes the place of the clone.
static RowSpecs largeSoftmax(const Matrix &x) {
  int64_t bytes = x.rows / x.cores * x.columns * 2, perRow = x.rows / x.cores * kLanes * 2;
  Softmax softmax(x, true);
  softmax.keep(Clone, 0);
  softmax.keep(Difference, bytes);
  softmax.keep(Exponential, 0);
  softmax.keep(Maximum, 2 * bytes);
  softmax.keep(Sum, 2 * bytes + perRow);
  return {{softmax.build()}, -1};
}

/// The published stages: more and more of the tensors in LX, those of full size in one slot.
static RowSpecs smallSoftmax(const Matrix &x, int stage) {
  int64_t bytes = x.columns / x.cores * x.rows * 2, perColumn = x.columns / x.cores * 2;
  Softmax softmax(x, false);
  if (stage >= 2) {
    softmax.keep(Maximum, bytes);
    softmax.keep(Sum, bytes + perColumn);
  }
  if (stage >= 3) {
    softmax.keep(Difference, 0);
    softmax.keep(Exponential, 0);
  }
  if (stage >= 4) {
    softmax.keep(Clone, 0);
  }
  return {{softmax.build()}, -1};
}

static Expected<RowSpecs> softmaxRow(const TimingRow &row, const Matrix &x) {
  static const std::map<std::string, int> kStages = {
      {"LX off", 1}, {"eligible max,sum", 2}, {"+ in-place exp,sub", 3}, {"+ clone", 4}};
  if (row.op == "softmax dim -1") {
    return largeSoftmax(x);
  }
  for (const auto &[text, stage] : kStages) {
    if (row.op.starts_with("softmax dim 0, " + text)) {
      return smallSoftmax(x, stage);
    }
  }
  return unknown(row, "op", row.op);
}

//===- Relayouts ----------------------------------------------------------------------------===//

/// A copy inside LX from {m: from, b: the rest of the cores} to {m: to, b}, neighbours of m on
/// neighbouring cores: m has \p runBytes of
/// contiguous sticks per core where it is cut finest.
static OpSpec relayout(int64_t bytes, int64_t runBytes, int64_t cores, int64_t from, int64_t to) {
  constexpr int64_t kStick = 128, kOuter = 32;
  int64_t m = runBytes / kStick * std::max(from, to);
  int64_t columns = bytes / (kOuter * m * kStick) * kLanes;
  OpSpec op = opOf("identity", {{"m", m, to}, {"b", kOuter, cores / to}, {"c", columns, 1}},
                   {{{"b", "c", "m"}, "c"}, {{"b", "c", "m"}, "c"}});
  moveToLx(op.args[0], 0);
  moveToLx(op.args[1], bytes / cores);
  op.args[0].lxDivision = {{"m", from}, {"b", cores / from}};
  return op;
}

static Expected<RowSpecs> relayoutRow(const TimingRow &row) {
  long long bytes = 0, perCore = 0, run = 0;
  int b = 0, m = 0, toB = 0, toM = 0, factor = 0;
  if (std::sscanf(row.shape.c_str(), "%lld B per core, runs of %lld B", &perCore, &run) == 2 &&
      std::sscanf(row.split.c_str(), "factor %d", &factor) == 1 && factor >= 2 && run >= 128) {
    return RowSpecs{{{relayout(perCore * row.cores, run, row.cores, factor / 2, factor)}}, -1};
  }
  // The published example has runs of 256 bytes.
  if (std::sscanf(row.shape.c_str(), "%lld B", &bytes) == 1 && bytes >= 128 &&
      std::sscanf(row.split.c_str(), "B%d M%d -> B%d M%d", &b, &m, &toB, &toM) == 4 && m > 0 &&
      toM > 0) {
    return RowSpecs{{{relayout(bytes, 256, row.cores, m, toM)}}, -1};
  }
  return unknown(row, "shape or split", row.shape + " " + row.split);
}

Expected<RowSpecs> specsOf(const TimingRow &row) {
  if (row.shape.find(" @ ") != std::string::npos) {
    return matmulRow(row);
  }
  if (row.op == "ring relayout") {
    return relayoutRow(row);
  }
  std::vector<int64_t> extents = extentsOf(row.shape);
  if (extents.size() != 2 || extents[0] < row.cores || extents[1] % kLanes != 0) {
    return unknown(row, "shape", row.shape);
  }
  Matrix matrix{extents[0], extents[1], row.cores};
  return row.op.starts_with("softmax") ? softmaxRow(row, matrix) : matrixRow(row, matrix);
}

} // namespace spyre::bench
