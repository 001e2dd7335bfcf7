//===- Selections.cpp - the largest and smallest elements, and where they are ---------------===//
//
// Values of one element per column are reductions, which work along sticks, too; places and lists
// are the device's topk. The smallest are the largest of the negated elements, which is exact.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/OpTable.h"

#include "Calls.h"

#include <algorithm>

namespace spyre::graph {

using mlir::Value;

namespace {

/// What is searched: at least one dimension, and elements the device compares.
struct Searched {
  Value x;
  int64_t dim = 0;
  /// The operand has truth values, of which the device keeps numbers.
  bool isTruth = false;
};

} // namespace

/// An attribute of another type is no attribute that is missing.
static Status checkTypes(CallOp call) {
  for (const char *name : {"dim", "k", "result"}) {
    mlir::Attribute given = call->getDiscardableAttr(name);
    if (given && !llvm::isa<mlir::IntegerAttr>(given)) {
      return error<1005>("{}: {} must be an integer", call.getCallee().str(), name);
    }
  }
  for (const char *name : {"largest", "sorted", "keepdim"}) {
    mlir::Attribute given = call->getDiscardableAttr(name);
    if (given && !llvm::isa<mlir::BoolAttr>(given)) {
      return error<1005>("{}: {} must be true or false", call.getCallee().str(), name);
    }
  }
  return Status::success();
}

static Expected<Searched> searchedBy(CallOp call, Calls &calls, int64_t otherwise) {
  SPYRE_RETURN_IF_ERROR(checkTypes(call));
  Searched searched{call.getOperand(0)};
  if (rankOf(searched.x) == 0) {
    searched.x = calls.reshape(searched.x, {1});
  }
  if (elementOf(searched.x).isInteger(1)) {
    searched.x = calls.convert(searched.x, calls.builder.getF16Type());
    searched.isTruth = true;
  }
  const int64_t rank = rankOf(searched.x);
  searched.dim = dimAttribute(call, "dim", otherwise, rank);
  if (searched.dim < 0 || searched.dim >= rank) {
    return error<1004>("{}: dimension {} of rank {}", call.getCallee().str(), searched.dim, rank);
  }
  return searched;
}

static Value topK(Calls &calls, const char *callee, Value x, int64_t dim, int64_t k,
                  mlir::Type type) {
  std::vector<int64_t> shape = shapeOf(x);
  shape[size_t(dim)] = k;
  return calls.call(
      callee, {x}, shape, type,
      {{"k", calls.builder.getI64IntegerAttr(k)}, {"dim", calls.builder.getI64IntegerAttr(dim)}});
}

static Value placesOf(Calls &calls, const Searched &searched, bool largest, int64_t k) {
  Value x = largest ? searched.x : calls.unary("aten.neg.default", searched.x);
  return topK(calls, "spyre.topkindex.default", x, searched.dim, k, calls.builder.getI64Type());
}

static Value valuesOf(Calls &calls, const Searched &searched, bool largest, int64_t k) {
  Value values;
  if (k == 1) {
    values =
        calls.reduce(largest ? "aten.amax.default" : "aten.amin.default", searched.x, searched.dim);
  } else {
    Value x = largest ? searched.x : calls.unary("aten.neg.default", searched.x);
    values = topK(calls, "spyre.topkvalue.default", x, searched.dim, k, elementOf(searched.x));
    values = largest ? values : calls.unary("aten.neg.default", values);
  }
  return searched.isTruth ? calls.convert(values, calls.builder.getI1Type()) : values;
}

static int64_t elementsOf(Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements();
}

/// The dimension that was searched, \p dim, is kept or dropped; one element has any shape.
static Expected<Value> inShapeOf(CallOp call, Calls &calls, Value value, int64_t dim) {
  const std::vector<int64_t> wanted = shapeOf(call.getResult()), kept = shapeOf(value);
  std::vector<int64_t> dropped = kept;
  dropped.erase(dropped.begin() + dim);
  const bool isOne = elementsOf(value) == 1 && elementsOf(call.getResult()) == 1;
  const bool isDropped = kept[size_t(dim)] == 1 && wanted == dropped;
  if (!isOne && !isDropped && wanted != kept) {
    return error<1004>("{}: result shape [{}] for [{}]", call.getCallee().str(),
                       fmt::join(wanted, ", "), fmt::join(shapeOf(value), ", "));
  }
  return calls.reshape(value, wanted);
}

/// Result 0 of a call with two has the values, result 1 their places.
static Expected<Value> select(CallOp call, Calls &calls, bool largest, int64_t k) {
  const int64_t result = intAttribute(call, "result", 0);
  if (result != 0 && result != 1) {
    return error<1005>("{}: result {}; there are values (0) and places (1)", call.getCallee().str(),
                       result);
  }
  SPYRE_ASSIGN_OR_RETURN(Searched searched, searchedBy(call, calls, -1));
  const int64_t size = shapeOf(searched.x)[size_t(searched.dim)];
  if (k < 1 || k > size) {
    return error<1004>("{}: {} of {} elements", call.getCallee().str(), k, size);
  }
  return inShapeOf(call, calls,
                   result == 0 ? valuesOf(calls, searched, largest, k)
                               : placesOf(calls, searched, largest, k),
                   searched.dim);
}

static Expected<Value> topElements(CallOp call, Calls &calls) {
  return select(call, calls, flagAttribute(call, "largest", true), intAttribute(call, "k", 1));
}

/// Without a dimension: of all elements in row-major order.
static Expected<Value> placeOfExtreme(CallOp call, Calls &calls, bool largest) {
  SPYRE_ASSIGN_OR_RETURN(Searched searched, searchedBy(call, calls, 0));
  if (!call->hasAttr("dim")) {
    searched.x = calls.reshape(searched.x, {elementsOf(searched.x)});
  }
  return inShapeOf(call, calls, placesOf(calls, searched, largest, 1), searched.dim);
}

std::vector<NamedDecomposition> selectionDecompositions() {
  auto extremes = [](bool largest) {
    return [largest](CallOp call, Calls &calls) { return select(call, calls, largest, 1); };
  };
  auto places = [](bool largest) {
    return [largest](CallOp call, Calls &calls) { return placeOfExtreme(call, calls, largest); };
  };
  return {{"aten.argmax.default", places(true)},
          {"aten.argmin.default", places(false)},
          {"aten.max.dim", extremes(true)},
          {"aten.min.dim", extremes(false)},
          {"aten.topk.default", topElements}};
}

} // namespace spyre::graph
