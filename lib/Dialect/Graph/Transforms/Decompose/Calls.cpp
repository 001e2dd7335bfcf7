//===- Calls.cpp - see Calls.h --------------------------------------------------------------===//
#include "Calls.h"

#include <algorithm>

namespace spyre::graph {

mlir::Type elementOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

Expected<std::vector<int64_t>> broadcastShape(const std::vector<int64_t> &a,
                                              const std::vector<int64_t> &b) {
  const std::vector<int64_t> &longer = a.size() < b.size() ? b : a;
  const std::vector<int64_t> &shorter = a.size() < b.size() ? a : b;
  std::vector<int64_t> shape = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t &size = shape[shape.size() - 1 - i];
    const int64_t other = shorter[shorter.size() - 1 - i];
    if (size != other && size != 1 && other != 1) {
      return error<1004>("shapes [{}] and [{}] do not broadcast", fmt::join(a, ", "),
                         fmt::join(b, ", "));
    }
    size = std::max(size, other);
  }
  return shape;
}

mlir::Value Calls::call(const std::string &callee, const std::vector<mlir::Value> &operands,
                        const std::vector<int64_t> &shape, mlir::Type element,
                        const Attributes &attributes) {
  auto made = builder.create<CallOp>(location, mlir::RankedTensorType::get(shape, element), callee,
                                     operands);
  for (const auto &[name, value] : attributes) {
    made->setDiscardableAttr(name, value);
  }
  return made.getResult();
}

mlir::Value Calls::unary(const std::string &callee, mlir::Value x, const Attributes &attributes) {
  return call(callee, {x}, shapeOf(x), elementOf(x), attributes);
}

mlir::Value Calls::binary(const std::string &callee, mlir::Value x, mlir::Value y) {
  Expected<std::vector<int64_t>> shape = broadcastShape(shapeOf(x), shapeOf(y));
  SPYRE_CHECK(shape.ok(), "decompositions check what they combine");
  return call(callee, {x, y}, *shape, elementOf(x));
}

mlir::Value Calls::scalar(const std::string &callee, mlir::Value x, double number) {
  return unary(callee, x, {{"other", builder.getF64FloatAttr(number)}});
}

mlir::Value Calls::convert(mlir::Value x, mlir::Type element) {
  return elementOf(x) == element
             ? x
             : call("prims.convert_element_type.default", {x}, shapeOf(x), element);
}

mlir::Value Calls::fill(mlir::Value like, double number) {
  return call("aten.full.default", {}, shapeOf(like), elementOf(like),
              {{"fill_value", builder.getF64FloatAttr(number)}});
}

mlir::Value Calls::reduce(const std::string &callee, mlir::Value x, int64_t dim) {
  std::vector<int64_t> shape = shapeOf(x);
  shape[size_t(dim)] = 1;
  return call(
      callee, {x}, shape, elementOf(x),
      {{"dim", builder.getDenseI64ArrayAttr({dim})}, {"keepdim", builder.getBoolAttr(true)}});
}

mlir::Value Calls::transpose(mlir::Value x, int64_t dim0, int64_t dim1) {
  std::vector<int64_t> shape = shapeOf(x);
  std::swap(shape[size_t(dim0)], shape[size_t(dim1)]);
  return call(
      "aten.transpose.int", {x}, shape, elementOf(x),
      {{"dim0", builder.getI64IntegerAttr(dim0)}, {"dim1", builder.getI64IntegerAttr(dim1)}});
}

mlir::Value Calls::reshape(mlir::Value x, const std::vector<int64_t> &shape) {
  return shape == shapeOf(x) ? x
                             : call("aten.view.default", {x}, shape, elementOf(x),
                                    {{"size", builder.getDenseI64ArrayAttr(shape)}});
}

mlir::Value Calls::expand(mlir::Value x, const std::vector<int64_t> &shape) {
  return shape == shapeOf(x) ? x
                             : call("aten.expand.default", {x}, shape, elementOf(x),
                                    {{"size", builder.getDenseI64ArrayAttr(shape)}});
}

mlir::Value Calls::slice(mlir::Value x, int64_t dim, int64_t start, int64_t end) {
  std::vector<int64_t> shape = shapeOf(x);
  shape[size_t(dim)] = end - start;
  return call("aten.slice.Tensor", {x}, shape, elementOf(x),
              {{"dim", builder.getI64IntegerAttr(dim)},
               {"start", builder.getI64IntegerAttr(start)},
               {"end", builder.getI64IntegerAttr(end)}});
}

mlir::Value Calls::cat(const std::vector<mlir::Value> &pieces, int64_t dim) {
  std::vector<int64_t> shape = shapeOf(pieces.front());
  shape[size_t(dim)] = 0;
  for (mlir::Value piece : pieces) {
    shape[size_t(dim)] += shapeOf(piece)[size_t(dim)];
  }
  return call("aten.cat.default", pieces, shape, elementOf(pieces.front()),
              {{"dim", builder.getI64IntegerAttr(dim)}});
}

mlir::Value Calls::where(mlir::Value condition, mlir::Value x, mlir::Value y) {
  Expected<std::vector<int64_t>> values = broadcastShape(shapeOf(x), shapeOf(y));
  SPYRE_CHECK(values.ok(), "decompositions check what they combine");
  Expected<std::vector<int64_t>> shape = broadcastShape(*values, shapeOf(condition));
  SPYRE_CHECK(shape.ok(), "decompositions check what they combine");
  return call("aten.where.self", {condition, x, y}, *shape, elementOf(x));
}

Expected<mlir::Value> Calls::matmul(mlir::Value a, mlir::Value b) {
  std::vector<int64_t> left = shapeOf(a), right = shapeOf(b);
  if (left.empty() || right.empty()) {
    return error<1004>("matmul of a scalar; multiply instead");
  }
  const bool addsRow = left.size() == 1, addsColumn = right.size() == 1;
  if (addsRow) {
    left.insert(left.begin(), 1);
  }
  if (addsColumn) {
    right.push_back(1);
  }
  if (left.back() != right[right.size() - 2]) {
    return error<1004>("matmul of [{}] and [{}]", fmt::join(left, ", "), fmt::join(right, ", "));
  }
  SPYRE_ASSIGN_OR_RETURN(
      std::vector<int64_t> batch,
      broadcastShape({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2}));
  auto withBatch = [&](const std::vector<int64_t> &matrix) {
    std::vector<int64_t> shape = batch;
    shape.insert(shape.end(), matrix.end() - 2, matrix.end());
    return shape;
  };
  std::vector<int64_t> result = withBatch({left[left.size() - 2], right.back()});
  mlir::Value product =
      call("spyre.batched_matmul.default",
           {expand(reshape(a, left), withBatch(left)), expand(reshape(b, right), withBatch(right))},
           result, elementOf(a));
  if (addsColumn) {
    result.pop_back();
  }
  if (addsRow) {
    result.erase(result.end() - (addsColumn ? 1 : 2));
  }
  return reshape(product, result);
}

} // namespace spyre::graph
