//===- GraphToLoop.cpp - graph IR to loop IR ------------------------------------------------===//
#include "spyre/Conversion/GraphToLoop/GraphToLoop.h"

#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Graph/Transforms/Passes.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "llvm/ADT/DenseMap.h"

#include "LoopBuilder.h"
#include "View.h"

#include <algorithm>

namespace spyre {
namespace {

using graph::CallOp;
using graph::OpKind;
using views::View;

std::vector<int64_t> shapeOf(mlir::Value value) {
  return dialect::toVector(llvm::cast<mlir::RankedTensorType>(value.getType()).getShape());
}

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

/// Removes calls that no result needs; calls have no side effects.
void eraseDeadCalls(mlir::func::FuncOp main) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front()))) {
    if (llvm::isa<CallOp>(op) && op.use_empty()) {
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
      } else {
        addOutputs(llvm::cast<mlir::func::ReturnOp>(op));
      }
    }
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
    values[argument] = View::whole(buffer, shapeOf(argument));
  }

  View convert(CallOp call) {
    loops.setLocation(call.getLoc());
    const graph::OpRow &row = *graph::findOp(call.getCallee().str());
    switch (row.kind) {
    case OpKind::Pointwise:
      return pointwise(call, row);
    case OpKind::Reduction:
      return reduction(call, row);
    case OpKind::Matmul:
      return matmul(call, row);
    case OpKind::View:
      return view(call);
    case OpKind::Copy:
      return loops.materialize(values[call.getOperand(0)]);
    }
    llvm_unreachable("all kinds are listed");
  }

  View pointwise(CallOp call, const graph::OpRow &row) {
    std::vector<int64_t> shape = shapeOf(call.getResult());
    mlir::Type type =
        llvm::cast<mlir::RankedTensorType>(call.getResult().getType()).getElementType();
    std::vector<View> operands;
    unsigned next = 0;
    for (int position = 0; position < row.tensorPositions; ++position) {
      mlir::Attribute scalar = call->getDiscardableAttr(fmt::format("scalar{}", position));
      View operand = scalar ? View::whole(loops.addConstant(numberOf(scalar), type), {})
                            : values[call.getOperand(next++)];
      operands.push_back(views::broadcast(operand, shape));
    }
    return loops.addPointwise(row.deviceOp, operands, shape, type);
  }

  static double numberOf(mlir::Attribute attribute) {
    if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
      return double(integer.getInt());
    }
    return llvm::cast<mlir::FloatAttr>(attribute).getValueAsDouble();
  }

  /// Several reduced dimensions become a sequence, highest first.
  View reduction(CallOp call, const graph::OpRow &row) {
    View value = values[call.getOperand(0)];
    mlir::Type type =
        llvm::cast<mlir::RankedTensorType>(call.getResult().getType()).getElementType();
    int64_t rank = value.dims.size();
    std::vector<bool> reduced(rank, true);
    auto list = llvm::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(call->getDiscardableAttr("dim"));
    if (list && !list.empty()) {
      reduced.assign(rank, false);
      for (int64_t dim : list.asArrayRef()) {
        if (rank > 0) {
          reduced[dim < 0 ? dim + rank : dim] = true;
        }
      }
    }
    for (int64_t dim = rank; dim-- > 0;) {
      if (reduced[dim]) {
        value = views::extentOf(value.dims[size_t(dim)]) == 1
                    ? views::dropDim(value, dim)
                    : loops.addReduction(row.deviceOp, value, dim, type);
      }
    }
    std::optional<View> result = views::reshape(value, shapeOf(call.getResult()));
    SPYRE_CHECK(result.has_value(), "adding dimensions of size 1 never cuts an atom");
    return *result;
  }

  View matmul(CallOp call, const graph::OpRow &row) {
    mlir::Type type =
        llvm::cast<mlir::RankedTensorType>(call.getResult().getType()).getElementType();
    return loops.addMatmul(row.deviceOp, values[call.getOperand(0)], values[call.getOperand(1)],
                           shapeOf(call.getResult()), type);
  }

  View view(CallOp call) {
    View value = values[call.getOperand(0)];
    llvm::StringRef name = call.getCallee();
    int64_t rank = value.dims.size();
    std::vector<int64_t> order(rank);
    for (int64_t i = 0; i < rank; ++i) {
      order[i] = i;
    }
    if (name == "aten.permute.default") {
      auto dims = llvm::cast<mlir::DenseI64ArrayAttr>(call->getDiscardableAttr("dims"));
      for (int64_t i = 0; i < rank; ++i) {
        order[i] = dims[i] < 0 ? dims[i] + rank : dims[i];
      }
      return views::permute(value, order);
    }
    if (name == "aten.t.default" || name == "aten.transpose.int") {
      auto dimension = [&](const char *key, int64_t fallback) {
        auto attribute = llvm::dyn_cast_or_null<mlir::IntegerAttr>(call->getDiscardableAttr(key));
        int64_t dim = attribute ? attribute.getInt() : fallback;
        return dim < 0 ? dim + rank : dim;
      };
      if (rank > 1) {
        std::swap(order[dimension("dim0", 0)], order[dimension("dim1", 1)]);
      }
      return views::permute(value, order);
    }
    std::vector<int64_t> shape = shapeOf(call.getResult());
    if (name == "aten.expand.default") {
      return views::broadcast(value, shape);
    }
    return loops.reshape(value, shape);
  }

  void addOutputs(mlir::func::ReturnOp op) {
    for (auto [i, value] : llvm::enumerate(op.getOperands())) {
      loops.setLocation(op.getLoc());
      std::vector<int64_t> shape = shapeOf(value);
      auto stride = source.getResultAttrOfType<mlir::DenseI64ArrayAttr>(i, "graph.stride");
      loops.addOutput(values[value], i, shape, denseStrides(shape, stride.asArrayRef()));
    }
  }

  mlir::func::FuncOp source;
  LoopBuilder loops;
  llvm::DenseMap<mlir::Value, View> values;
};

struct GraphToLoop : mlir::PassWrapper<GraphToLoop, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GraphToLoop)
  llvm::StringRef getArgument() const override { return "spyre-graph-to-loop"; }
  llvm::StringRef getDescription() const override {
    return "Turns calls into loop nests and views into index maps (requires spyre-graph-verify).";
  }
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<loop::LoopDialect, mlir::func::FuncDialect>();
  }
  void runOnOperation() override {
    mlir::func::FuncOp source = graph::findMain(getOperation());
    if (!source) {
      (void)dialect::report(getOperation(),
                            error<1006>("a graph module holds one func.func @main"));
      return signalPassFailure();
    }
    eraseDeadCalls(source);
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
