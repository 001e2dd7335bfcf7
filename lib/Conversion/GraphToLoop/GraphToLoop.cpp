//===- GraphToLoop.cpp - graph IR to loop IR ------------------------------------------------===//
#include "spyre/Conversion/GraphToLoop/GraphToLoop.h"

#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Graph/Transforms/Passes.h"
#include "spyre/Dialect/Loop/IR/Conversions.h"
#include "spyre/Dialect/Utils/Attributes.h"
#include "spyre/Numerics/Ranges.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/DenseMap.h"

#include "Gather.h"
#include "LoopBuilder.h"
#include "Rearrange.h"
#include "View.h"

#include <algorithm>
#include <numeric>

namespace spyre {
namespace {

using graph::CallOp;
using graph::OpKind;
using graph::shapeOf;
using views::View;

/// Strides that give each element its own place, or row-major ones: an expanded result is returned
/// dense.
std::vector<int64_t> denseStrides(const std::vector<int64_t> &shape,
                                  llvm::ArrayRef<int64_t> wanted) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] > wanted[b]; });
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    size_t dim = order[i];
    if (shape[dim] != 1 && wanted[dim] != expected) {
      return rowMajorStrides(shape);
    }
    expected *= shape[dim];
  }
  return dialect::toVector(wanted);
}

/// What a tensor of \p type holds of \p number. The device rounds once more, and tensors that
/// come from the framework were rounded in the same two steps. Beyond the type's range the number
/// stays: the device's is wider, and infinities saturate there.
double inType(double number, mlir::Type type) {
  auto element = llvm::dyn_cast<mlir::FloatType>(type);
  if (!element) {
    return number;
  }
  llvm::APFloat value(number);
  bool losesInfo = false;
  value.convert(element.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  if (!value.isFinite()) {
    return number;
  }
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

/// \p number, at most the largest of \p type that reads back finite where the type has it.
double finiteIn(double number, mlir::Type type) {
  Expected<numerics::HostType> host = dialect::hostTypeOf(type);
  if (!host.ok() || !numerics::isFiniteIn(*host, number)) {
    return number;
  }
  const double largest = numerics::largestFinite(*host);
  return std::clamp(number, -largest, largest);
}

/// Removes calls that no result needs; calls have no side effects.
void eraseDeadCalls(mlir::func::FuncOp main) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front()))) {
    if (llvm::isa<CallOp, graph::HostOp>(op) && op.use_empty()) {
      op.erase();
    }
  }
}

/// Walks the calls of a verified graph once and builds the loop module beside it.
class Converter {
public:
  Converter(mlir::func::FuncOp source, mlir::func::FuncOp target) : source(source), loops(target) {}

  void run() {
    for (unsigned i = 0; i < source.getNumArguments(); ++i) {
      addInput(i);
    }
    for (mlir::Operation &op : source.getBody().front()) {
      if (auto call = llvm::dyn_cast<CallOp>(op)) {
        values[call.getResult()] = convert(call);
      } else if (auto host = llvm::dyn_cast<graph::HostOp>(op)) {
        convertHost(host);
      } else {
        addOutputs(llvm::cast<mlir::func::ReturnOp>(op));
      }
    }
    loops.keepOnHost();
  }

private:
  void addInput(unsigned i) {
    mlir::BlockArgument argument = source.getArgument(i);
    auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
    loops.setLocation(source.getLoc());
    auto offset = source.getArgAttrOfType<mlir::IntegerAttr>(i, "graph.offset");
    int64_t buffer = loops.addInput(
        source.getArgAttrOfType<mlir::StringAttr>(i, "graph.name").str(), i, shapeOf(argument),
        type.getElementType(),
        dialect::toVector(
            source.getArgAttrOfType<mlir::DenseI64ArrayAttr>(i, "graph.stride").asArrayRef()),
        offset ? offset.getInt() : 0,
        source.getArgAttrOfType<mlir::DictionaryAttr>(i, "graph.layout"));
    if (mlir::Attribute dims = source.getArgAttr(i, "graph.dims")) {
      loops.nameDims(buffer, dims);
    }
    if (mlir::Attribute sizes = source.getArgAttr(i, "graph.sizes")) {
      loops.tellSizes(buffer, sizes);
    }
    values[argument] = View::whole(buffer, shapeOf(argument));
  }

  View convert(CallOp call) {
    loops.setLocation(call.getLoc());
    const graph::OpRow &row = *graph::findOp(call.getCallee().str());
    LoopBuilder::Because reason(loops, "asked-for: " + call.getCallee().str());
    switch (row.kind) {
    case OpKind::Pointwise:
      return pointwise(call, row);
    case OpKind::Reduction:
      return reduction(call, row);
    case OpKind::Matmul:
      return loops.addMatmul(row.deviceOp, operand(call, 0), operand(call, 1),
                             shapeOf(call.getResult()), typeOf(call.getResult()));
    case OpKind::View:
      return view(call);
    case OpKind::Copy:
      return copy(call);
    case OpKind::Rearrange:
      return flip(call);
    case OpKind::TopK:
      return topK(call, row);
    case OpKind::Gather:
      return gather(call);
    case OpKind::Cat:
      return cat(call);
    case OpKind::Scatter:
      return scatter(call);
    case OpKind::Fill:
      return fill(call, row);
    case OpKind::Composite:
      break;
    }
    llvm_unreachable("composites are decomposed before");
  }

  void convertHost(graph::HostOp call) {
    loops.setLocation(call.getLoc());
    std::vector<View> operands;
    for (mlir::Value operand : call.getOperands()) {
      operands.push_back(values[operand]);
    }
    std::vector<View> results = loops.addHost(call, operands);
    for (auto [result, view] : llvm::zip(call.getValues(), results)) {
      values[result] = view;
    }
  }

  const View &operand(CallOp call, unsigned index) { return values[call.getOperand(index)]; }

  static mlir::Type typeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  }

  static LoopBuilder::Constants constantsOf(CallOp call, const graph::OpRow &row) {
    LoopBuilder::Constants constants;
    for (const graph::OpConstant &constant : row.constants) {
      const double value =
          finiteIn(graph::numberAttribute(call, constant.attribute, constant.otherwise),
                   typeOf(call.getResult()));
      // Constants are finite in every format; what is beyond all numbers is beyond the largest.
      constants.emplace_back(constant.name, std::clamp(value, -graph::kLargest, graph::kLargest));
    }
    return constants;
  }

  View pointwise(CallOp call, const graph::OpRow &row) {
    std::vector<int64_t> shape = shapeOf(call.getResult());
    // A number has the type of the tensors it meets.
    mlir::Type type = typeOf(call.getOperands().back());
    const bool compares = row.types == graph::TypeRule::Compare;
    auto number = [&](const std::string &name) {
      const double given = graph::numberAttribute(call, name.c_str(), 0);
      return loops.addConstant(compares ? inType(given, type) : given, type);
    };
    std::vector<View> operands;
    unsigned next = 0;
    for (int position = 0; position < row.tensorPositions; ++position) {
      std::string name = fmt::format("scalar{}", position);
      if (row.scalar && position + 1 == row.tensorPositions) {
        name = row.scalar;
      }
      View value = call->hasAttr(name) ? View::whole(number(name), {}) : operand(call, next++);
      operands.push_back(views::broadcast(value, shape));
    }
    return compute(row.deviceOp, operands, shape, typeOf(call.getResult()), constantsOf(call, row));
  }

  /// All tensors of an operation have one format, so truth values beside fp32 are fp32, and beside
  /// integers they are integers.
  View compute(const std::string &callee, std::vector<View> operands,
               const std::vector<int64_t> &shape, mlir::Type type,
               const LoopBuilder::Constants &constants) {
    mlir::Type wide = loops.elementType(operands.back().buffer);
    const bool isWide = wide.isF32() || isWord(wide);
    for (View &operand : operands) {
      mlir::Type from = loops.elementType(operand.buffer);
      if (isWide && from != wide) {
        operand = converted(operand, shape, wide);
      }
    }
    if (!isWide || type.isF32() || isWord(type)) {
      return loops.addPointwise(callee, operands, shape, type, constants);
    }
    View result = loops.addPointwise(callee, operands, shape, wide, constants);
    return converted(result, shape, type);
  }

  static bool isWord(mlir::Type type) {
    return type.isInteger(32) || type.isInteger(64) || graph::isByte(type);
  }

  /// Stored as the 16 bits of the device.
  static bool isHalf(mlir::Type type) { return type.isF16() || type.isBF16() || type.isInteger(1); }

  /// The same numbers in another type; truth values are 1 and 0. Every type has neighbours it is
  /// converted to at once: 8 bits and 16 bits, 16 bits (also of integers) and fp32, fp32 and
  /// integers of 32 bits.
  View converted(const View &value, const std::vector<int64_t> &shape, mlir::Type to) {
    mlir::Type from = loops.elementType(value.buffer);
    mlir::Type half = mlir::Float16Type::get(to.getContext());
    mlir::Type single = mlir::Float32Type::get(to.getContext());
    auto through = [&](mlir::Type type) {
      return converted(converted(value, shape, type), shape, to);
    };
    if (from == to) {
      return value;
    }
    if ((isWord(from) && isWord(to)) || (isHalf(from) && isHalf(to))) {
      return copiedAs(value, shape, to);
    }
    if (loop::findConversion(from, to)) {
      return loops.addPointwise(loop::kConvert, {value}, shape, to);
    }
    if (isWord(from)) {
      return to.isF32() ? loops.addPointwise("x_int32tofp32", {value}, shape, single)
                        : through(single);
    }
    if (isWord(to)) {
      return from.isF32() ? loops.addPointwise("x_fp32toint32", {value}, shape, to)
                          : through(single);
    }
    const bool isByte = loop::findConversion(from, half) && !from.isF32();
    return through(isByte || from.isF32() ? half : single);
  }

  /// For types that are stored alike.
  View copiedAs(const View &value, const std::vector<int64_t> &shape, mlir::Type to) {
    View result = loops.addBuffer(shape, to);
    loops.addCopy(value, result);
    return result;
  }

  /// Several reduced dimensions become a sequence, highest first, and the one with the sticks last:
  /// what is left of a stick is one element, in a stick of its own.
  View reduction(CallOp call, const graph::OpRow &row) {
    View value = operand(call, 0);
    const auto rank = int64_t(value.dims.size());
    std::vector<int64_t> list = graph::listAttribute(call, "dim");
    const bool isPair = std::string(row.deviceOp) == "exx2";
    std::vector<bool> reduced(size_t(rank), list.empty() && !isPair);
    if (isPair) {
      reduced.back() = true;
    }
    for (int64_t dim : list) {
      if (rank > 0) {
        reduced[size_t(dim < 0 ? dim + rank : dim)] = true;
      }
    }
    const int64_t stick = loops.stickDimOf(value);
    int64_t last = stick;
    for (int64_t dim = rank; dim-- > 0;) {
      if (reduced[size_t(dim)] && dim != last) {
        value = reduceOne(call, row, value, dim);
        last -= dim < last ? 1 : 0;
      }
    }
    if (last >= 0 && reduced[size_t(stick)]) {
      value = reduceOne(call, row, value, last);
    }
    return loops.reshape(value, shapeOf(call.getResult()));
  }

  View reduceOne(CallOp call, const graph::OpRow &row, const View &value, int64_t dim) {
    const int64_t extent = views::extentOf(value.dims[size_t(dim)]);
    const std::string op = row.deviceOp;
    if (extent == 1 && op != "exx2") {
      return views::dropDim(value, dim);
    }
    LoopBuilder::Constants constants = constantsOf(call, row);
    if (op == "mean") {
      constants.emplace_back("scaling_factor", 1.0 / double(extent));
    }
    return loops.addReduction(op, value, dim, typeOf(call.getResult()), constants);
  }

  /// A conversion to a truth value asks for what is not zero.
  View copy(CallOp call) {
    mlir::Type from = typeOf(call.getOperand(0)), to = typeOf(call.getResult());
    std::vector<int64_t> shape = shapeOf(call.getResult());
    if (from == to) {
      return loops.materialize(operand(call, 0));
    }
    if (to.isInteger(1)) {
      const bool isStored = graph::isSmallInteger(from) || from.isFloat8E4M3FN();
      mlir::Type type = isStored ? mlir::Float32Type::get(to.getContext()) : from;
      View value = isStored ? converted(operand(call, 0), shape, type) : operand(call, 0);
      return compute("notequal", {value, number(0, type, shape)}, shape, to, {});
    }
    if (graph::isSmallInteger(to) && !holds(to, from)) {
      return converted(wrapped(operand(call, 0), shape, to), shape, to);
    }
    return converted(operand(call, 0), shape, to);
  }

  /// All numbers of a type are numbers of the small integers \p type.
  static bool holds(mlir::Type type, mlir::Type from) {
    return from.isInteger(1) || (from.isInteger(8) && type.isInteger(16));
  }

  View number(double value, mlir::Type type, const std::vector<int64_t> &shape) {
    return views::broadcast(View::whole(loops.addConstant(value, type), {}), shape);
  }

  /// The low bits of numbers as integers of 32 bits, in the range of \p type.
  View wrapped(const View &value, const std::vector<int64_t> &shape, mlir::Type type) {
    mlir::Type word = mlir::IntegerType::get(type.getContext(), 32);
    if (graph::isByte(type)) {
      const View low = number(255, word, shape);
      return loops.addPointwise("x_bitand", {converted(value, shape, word), low}, shape, word);
    }
    const View bits = number(32 - double(type.getIntOrFloatBitWidth()), word, shape);
    View high =
        loops.addPointwise("x_shiftleft", {converted(value, shape, word), bits}, shape, word);
    return loops.addPointwise("x_shiftright", {high, bits}, shape, word);
  }

  View topK(CallOp call, const graph::OpRow &row) {
    const View &value = operand(call, 0);
    const int64_t dim = graph::dimAttribute(call, "dim", -1, int64_t(value.dims.size()));
    return loops.addTopK(row.deviceOp, value, dim, graph::intAttribute(call, "k", 1),
                         typeOf(call.getResult()));
  }

  View gather(CallOp call) {
    std::vector<View> operands;
    for (mlir::Value operand : call.getOperands()) {
      operands.push_back(values[operand]);
    }
    return gathers.convert(call, operands);
  }

  View cat(CallOp call) {
    std::vector<int64_t> shape = shapeOf(call.getResult());
    const int64_t dim = graph::dimAttribute(call, "dim", 0, int64_t(shape.size()));
    View result = loops.addBuffer(shape, typeOf(call.getResult()));
    int64_t start = 0;
    for (mlir::Value piece : call.getOperands()) {
      const int64_t extent = shapeOf(piece)[size_t(dim)];
      std::optional<View> part = views::slice(result, dim, start, extent, 1);
      SPYRE_CHECK(part.has_value(), "a whole buffer can be sliced");
      loops.addCopy(values[piece], *part);
      start += extent;
    }
    return result;
  }

  /// All of the first operand, then the part over it. Where the first is an input that gets the
  /// result, spyre-loop-elide-copy-back leaves only the part.
  View scatter(CallOp call) {
    View result = loops.materialize(operand(call, 0));
    const int64_t dim = graph::dimAttribute(call, "dim", 0, int64_t(result.dims.size()));
    const graph::Slice range = graph::sliceOf(call, views::extentOf(result.dims[size_t(dim)]));
    std::optional<View> part = views::slice(result, dim, range.start, range.extent, 1);
    SPYRE_CHECK(part.has_value(), "a whole buffer can be sliced");
    const bool drops = call.getCallee() == "aten.select_scatter.default";
    loops.addCopy(operand(call, 1), drops ? views::dropDim(*part, dim) : *part);
    return result;
  }

  /// One number, read everywhere.
  View fill(CallOp call, const graph::OpRow &row) {
    const graph::OpConstant &constant = row.constants.front();
    mlir::Type type = typeOf(call.getResult());
    const double value =
        inType(graph::numberAttribute(call, constant.attribute, constant.otherwise), type);
    return views::broadcast(View::whole(loops.addConstant(value, type), {}),
                            shapeOf(call.getResult()));
  }

  View view(CallOp call) {
    const View &value = operand(call, 0);
    const std::string name = call.getCallee().str();
    const auto rank = int64_t(value.dims.size());
    if (name == "aten.permute.default") {
      std::vector<int64_t> order = graph::listAttribute(call, "dims");
      for (int64_t &dim : order) {
        dim = dim < 0 ? dim + rank : dim;
      }
      return views::permute(value, order);
    }
    if (name == "aten.t.default" || name == "aten.transpose.int") {
      return transpose(call, value);
    }
    if (name == "aten.expand.default") {
      return views::broadcast(value, shapeOf(call.getResult()));
    }
    if (graph::isSlice(name)) {
      return slice(call, value);
    }
    if (name == "aten.unfold.default") {
      return unfoldDim(loops, value, graph::dimAttribute(call, "dimension", 0, rank),
                       graph::intAttribute(call, "size", 1), graph::intAttribute(call, "step", 1));
    }
    if (name == "aten.diagonal.default") {
      return diagonalOf(loops, value, graph::dimAttribute(call, "dim1", 0, rank),
                        graph::dimAttribute(call, "dim2", 1, rank),
                        graph::intAttribute(call, "offset", 0));
    }
    if (name == "aten.as_strided.default") {
      return stridedView(loops, value, graph::listAttribute(call, "size"),
                         graph::listAttribute(call, "stride"),
                         graph::intAttribute(call, "storage_offset", 0));
    }
    return loops.reshape(value, shapeOf(call.getResult()));
  }

  static View transpose(CallOp call, const View &value) {
    const auto rank = int64_t(value.dims.size());
    std::vector<int64_t> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), int64_t(0));
    if (rank > 1) {
      std::swap(order[size_t(graph::dimAttribute(call, "dim0", 0, rank))],
                order[size_t(graph::dimAttribute(call, "dim1", 1, rank))]);
    }
    return views::permute(value, order);
  }

  View slice(CallOp call, const View &value) {
    const std::string name = call.getCallee().str();
    const int64_t dim = graph::dimAttribute(call, "dim", 0, int64_t(value.dims.size()));
    const graph::Slice part = graph::sliceOf(call, views::extentOf(value.dims[size_t(dim)]));
    View result = loops.slice(value, dim, part.start, part.extent, part.step);
    const bool drops = name == "aten.select.int" || name == "aten.unbind.int";
    return drops ? views::dropDim(result, dim) : result;
  }

  View flip(CallOp call) {
    View value = operand(call, 0);
    const auto rank = int64_t(value.dims.size());
    for (int64_t dim : graph::listAttribute(call, "dims")) {
      value = flipDim(loops, value, dim < 0 ? dim + rank : dim);
    }
    return value.buffer == operand(call, 0).buffer ? loops.materialize(value) : value;
  }

  void addOutputs(mlir::func::ReturnOp op) {
    loops.setLocation(op.getLoc());
    int64_t outputs = 0;
    std::vector<Mutation> mutations;
    for (auto [i, value] : llvm::enumerate(op.getOperands())) {
      if (auto target = source.getResultAttrOfType<mlir::IntegerAttr>(i, "graph.mutates")) {
        mutations.push_back({values[source.getArgument(unsigned(target.getInt()))], values[value]});
        continue;
      }
      std::vector<int64_t> shape = shapeOf(value);
      auto stride = source.getResultAttrOfType<mlir::DenseI64ArrayAttr>(i, "graph.stride");
      loops.addOutput(values[value], outputs++, shape, denseStrides(shape, stride.asArrayRef()),
                      source.getResultAttr(i, "graph.layout"));
    }
    storeMutations(std::move(mutations));
  }

  struct Mutation {
    View target, contents;
  };

  /// Last of all, so that nothing reads an argument after it got new contents: contents that are
  /// read from such an argument are copied first.
  void storeMutations(std::vector<Mutation> mutations) {
    auto isTarget = [&](const View &view) {
      return llvm::any_of(mutations, [&](const Mutation &mutation) {
        return mutation.target.buffer == view.buffer;
      });
    };
    llvm::erase_if(mutations, [](const Mutation &mutation) {
      return mutation.contents.buffer == mutation.target.buffer &&
             mutation.contents.isWhole(mutation.target.shape());
    });
    for (Mutation &mutation : mutations) {
      if (isTarget(mutation.contents)) {
        mutation.contents = loops.materialize(mutation.contents);
      }
    }
    for (const Mutation &mutation : mutations) {
      loops.addCopy(mutation.contents, mutation.target);
    }
  }

  mlir::func::FuncOp source;
  LoopBuilder loops;
  GatherCalls gathers{loops};
  llvm::DenseMap<mlir::Value, View> values;
};

struct GraphToLoop : mlir::PassWrapper<GraphToLoop, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GraphToLoop)
  llvm::StringRef getArgument() const override { return "spyre-graph-to-loop"; }
  llvm::StringRef getDescription() const override {
    return "Turns calls into loop nests and views into index maps (requires "
           "spyre-graph-decompose).";
  }
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<loop::LoopDialect, mlir::func::FuncDialect>();
  }
  void runOnOperation() override {
    // What a decomposition or a user's pass made is checked like what was captured.
    if (mlir::failed(graph::verifyGraph(getOperation()))) {
      return signalPassFailure();
    }
    mlir::func::FuncOp source = graph::findMain(getOperation());
    eraseDeadCalls(source);
    for (CallOp call : source.getOps<CallOp>()) {
      if (graph::findOp(call.getCallee().str())->kind == OpKind::Composite) {
        (void)dialect::report(call, error<1007>("'{}' is no single operation of the device; run "
                                                "spyre-graph-decompose first",
                                                call.getCallee().str()));
        return signalPassFailure();
      }
    }
    mlir::OpBuilder builder(source);
    builder.setInsertionPointAfter(source);
    auto target = builder.create<mlir::func::FuncOp>(source.getLoc(), "main",
                                                     builder.getFunctionType({}, {}));
    Converter(source, target).run();
    source.erase();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createGraphToLoopPass() { return std::make_unique<GraphToLoop>(); }
void registerGraphToLoopPass() { mlir::registerPass(createGraphToLoopPass); }

} // namespace spyre
