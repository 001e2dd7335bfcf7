//===- OpTable.cpp - the framework operations the compiler knows ----------------------------===//
#include "spyre/Dialect/Graph/IR/OpTable.h"

#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include <algorithm>

namespace spyre::graph {

using numerics::HostType;

const std::vector<OpRow> &opTable() {
  static const std::vector<OpRow> table = {
      {"aten._unsafe_view.default", OpKind::View, 1, "", {"size"}},
      {"aten.add.Tensor", OpKind::Pointwise, 2, "add", {"alpha"}},
      {"aten.alias.default", OpKind::View, 1, "", {}},
      {"aten.amax.default", OpKind::Reduction, 1, "max", {"dim", "keepdim"}},
      {"aten.bmm.default", OpKind::Matmul, 2, "batchmatmul", {}},
      {"aten.clone.default", OpKind::Copy, 1, "", {}},
      {"aten.detach.default", OpKind::View, 1, "", {}},
      {"aten.exp.default", OpKind::Pointwise, 1, "exp", {}},
      {"aten.expand.default", OpKind::View, 1, "", {"size", "implicit"}},
      {"aten.mm.default", OpKind::Matmul, 2, "batchmatmul", {}},
      {"aten.mul.Tensor", OpKind::Pointwise, 2, "mul", {}},
      {"aten.permute.default", OpKind::View, 1, "", {"dims"}},
      {"aten.reshape.default", OpKind::View, 1, "", {"shape"}},
      {"aten.squeeze.dim", OpKind::View, 1, "", {"dim"}},
      {"aten.squeeze.dims", OpKind::View, 1, "", {"dim"}},
      {"aten.sum.default", OpKind::Reduction, 1, "sum", {"dtype"}},
      {"aten.sum.dim_IntList", OpKind::Reduction, 1, "sum", {"dim", "keepdim", "dtype"}},
      {"aten.t.default", OpKind::View, 1, "", {}},
      {"aten.transpose.int", OpKind::View, 1, "", {"dim0", "dim1"}},
      {"aten.unsqueeze.default", OpKind::View, 1, "", {"dim"}},
      {"aten.view.default", OpKind::View, 1, "", {"size"}},
      {"aten.where.self", OpKind::Pointwise, 3, "where3", {}},
  };
  return table;
}

const OpRow *findOp(const std::string &name) {
  const std::vector<OpRow> &table = opTable();
  auto it = std::lower_bound(table.begin(), table.end(), name,
                             [](const OpRow &row, const std::string &n) { return row.name < n; });
  return it != table.end() && it->name == name ? &*it : nullptr;
}

namespace {

using Shape = llvm::ArrayRef<int64_t>;

mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

std::string shapeText(Shape shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Status checkAttributes(CallOp call, const OpRow &row) {
  int scalars = 0;
  for (mlir::NamedAttribute attribute : call->getDiscardableAttrs()) {
    std::string name = attribute.getName().str();
    if (name.size() == 7 && name.rfind("scalar", 0) == 0 && row.kind == OpKind::Pointwise &&
        name[6] >= '0' && name[6] < '0' + row.tensorPositions) {
      if (!llvm::isa<mlir::FloatAttr, mlir::IntegerAttr>(attribute.getValue())) {
        return error<1005>("{}: attribute {} must be a number", row.name, name);
      }
      ++scalars;
      continue;
    }
    auto known = [&](const char *candidate) { return name == candidate; };
    if (std::none_of(row.attributes.begin(), row.attributes.end(), known)) {
      return error<1005>("{}: attribute '{}' is not known for this operation", row.name, name);
    }
  }
  if (int64_t(call.getOperands().size()) + scalars != row.tensorPositions) {
    return error<1005>("{}: {} tensor operands and {} scalars, {} positions expected", row.name,
                       call.getOperands().size(), scalars, row.tensorPositions);
  }
  if (call.getOperands().empty()) {
    return error<1005>("{}: at least one operand must be a tensor", row.name);
  }
  if (mlir::Attribute alpha = call->getDiscardableAttr("alpha")) {
    auto integer = llvm::dyn_cast<mlir::IntegerAttr>(alpha);
    auto number = llvm::dyn_cast<mlir::FloatAttr>(alpha);
    if (!(integer && integer.getInt() == 1) && !(number && number.getValueAsDouble() == 1.0)) {
      return error<1005>("{}: alpha other than 1 is not supported; multiply before adding",
                         row.name);
    }
  }
  return Status::success();
}

bool isComputeType(mlir::Type type) { return type.isF16() || type.isBF16() || type.isF32(); }

Status checkElementTypes(CallOp call, const OpRow &row) {
  mlir::Type result = typeOf(call.getResult()).getElementType();
  auto text = [](mlir::Type type) {
    std::string s;
    llvm::raw_string_ostream(s) << type;
    return s;
  };
  bool moves = row.kind == OpKind::View || row.kind == OpKind::Copy;
  if (!moves && !isComputeType(result)) {
    return error<1003>("{} on {} is not supported; compute in f16, bf16 or f32", row.name,
                       text(result));
  }
  if (row.kind == OpKind::Matmul && result.isF32()) {
    return error<1003>("{} on f32 is not supported; use f16 or bf16", row.name);
  }
  bool isWhere = std::string(row.deviceOp) == "where3";
  for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
    mlir::Type type = typeOf(operand).getElementType();
    bool isCondition = isWhere && index == 0 && !call->hasAttr("scalar0");
    if (isCondition) {
      if (!type.isInteger(1) || result.isF32()) {
        return error<1003>("{}: the condition must be i1 and the values f16 or bf16, got {} and {}",
                           row.name, text(type), text(result));
      }
      continue;
    }
    if (type != result) {
      return error<1003>("{}: operand {} has type {}, the result {}; convert before the operation",
                         row.name, index, text(type), text(result));
    }
  }
  if (isWhere && call->hasAttr("scalar0")) {
    return error<1005>("{}: the condition must be a tensor", row.name);
  }
  return Status::success();
}

Status checkBroadcast(CallOp call, const OpRow &row) {
  Shape result = typeOf(call.getResult()).getShape();
  for (mlir::Value operand : call.getOperands()) {
    Shape shape = typeOf(operand).getShape();
    bool fits = shape.size() <= result.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
      int64_t out = result[result.size() - 1 - i], in = shape[shape.size() - 1 - i];
      fits = in == out || in == 1;
    }
    if (!fits) {
      return error<1004>("{}: operand shape {} does not broadcast to {}", row.name,
                         shapeText(shape), shapeText(result));
    }
  }
  return Status::success();
}

Status checkMatmul(CallOp call, const OpRow &row) {
  Shape a = typeOf(call.getOperand(0)).getShape(), b = typeOf(call.getOperand(1)).getShape();
  Shape c = typeOf(call.getResult()).getShape();
  size_t rank = std::string(row.name) == "aten.mm.default" ? 2 : 3;
  bool fits = a.size() == rank && b.size() == rank && c.size() == rank &&
              a[rank - 1] == b[rank - 2] && c[rank - 2] == a[rank - 2] &&
              c[rank - 1] == b[rank - 1] && (rank == 2 || (a[0] == b[0] && a[0] == c[0]));
  if (!fits) {
    return error<1004>("{}: shapes {} x {} -> {} do not fit", row.name, shapeText(a), shapeText(b),
                       shapeText(c));
  }
  return Status::success();
}

/// Reduced dimensions: attribute "dim" (empty or absent means all), normalised and sorted.
Status checkReduction(CallOp call, const OpRow &row) {
  Shape in = typeOf(call.getOperand(0)).getShape();
  mlir::Attribute dim = call->getDiscardableAttr("dim");
  auto list = llvm::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(dim);
  if (dim && !list) {
    return error<1005>("{}: dim must be array<i64: ..>", row.name);
  }
  bool keep = false;
  if (mlir::Attribute attribute = call->getDiscardableAttr("keepdim")) {
    auto flag = llvm::dyn_cast<mlir::BoolAttr>(attribute);
    if (!flag) {
      return error<1005>("{}: keepdim must be a boolean", row.name);
    }
    keep = flag.getValue();
  }
  std::vector<bool> reduced(in.size(), !list || list.empty());
  for (int64_t entry : list ? list.asArrayRef() : llvm::ArrayRef<int64_t>()) {
    int64_t index = entry < 0 ? entry + int64_t(in.size()) : entry;
    if (in.empty() && (entry == 0 || entry == -1)) {
      continue;
    }
    if (index < 0 || index >= int64_t(in.size()) || reduced[index]) {
      return error<1004>("{}: dim {} is out of range or repeated for shape {}", row.name, entry,
                         shapeText(in));
    }
    reduced[index] = true;
  }
  std::vector<int64_t> expected;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!reduced[i]) {
      expected.push_back(in[i]);
    } else if (keep) {
      expected.push_back(1);
    }
  }
  if (Shape(expected) != typeOf(call.getResult()).getShape()) {
    return error<1004>("{}: result shape {} expected, got {}", row.name, shapeText(expected),
                       shapeText(typeOf(call.getResult()).getShape()));
  }
  return Status::success();
}

Status checkPermutation(CallOp call, const OpRow &row) {
  auto dims = llvm::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(call->getDiscardableAttr("dims"));
  Shape in = typeOf(call.getOperand(0)).getShape(), out = typeOf(call.getResult()).getShape();
  if (!dims || dims.size() != int64_t(in.size()) || out.size() != in.size()) {
    return error<1005>("{}: dims must have one entry per dimension", row.name);
  }
  std::vector<bool> seen(in.size(), false);
  for (size_t i = 0; i < in.size(); ++i) {
    int64_t d = dims[i] < 0 ? dims[i] + int64_t(in.size()) : dims[i];
    if (d < 0 || d >= int64_t(in.size()) || seen[d] || out[i] != in[d]) {
      return error<1004>("{}: dims [{}] do not map {} to {}", row.name,
                         fmt::join(dims.asArrayRef(), ", "), shapeText(in), shapeText(out));
    }
    seen[d] = true;
  }
  return Status::success();
}

Status checkTranspose(CallOp call, const OpRow &row) {
  Shape in = typeOf(call.getOperand(0)).getShape(), out = typeOf(call.getResult()).getShape();
  int64_t rank = in.size();
  int64_t first = 0, second = rank - 1;
  if (std::string(row.name) == "aten.transpose.int") {
    auto dim0 = llvm::dyn_cast_or_null<mlir::IntegerAttr>(call->getDiscardableAttr("dim0"));
    auto dim1 = llvm::dyn_cast_or_null<mlir::IntegerAttr>(call->getDiscardableAttr("dim1"));
    if (!dim0 || !dim1) {
      return error<1005>("{}: dim0 and dim1 must be integers", row.name);
    }
    first = dim0.getInt() < 0 ? dim0.getInt() + rank : dim0.getInt();
    second = dim1.getInt() < 0 ? dim1.getInt() + rank : dim1.getInt();
    if (rank > 0 && (first < 0 || first >= rank || second < 0 || second >= rank)) {
      return error<1004>("{}: dimensions {} and {} of rank {}", row.name, first, second, rank);
    }
  } else if (rank > 2) {
    return error<1004>("{}: rank {} is above 2", row.name, rank);
  }
  std::vector<int64_t> expected(in.begin(), in.end());
  if (rank > 1) {
    std::swap(expected[first], expected[second]);
  }
  if (Shape(expected) != out) {
    return error<1004>("{}: {} becomes {}, not {}", row.name, shapeText(in), shapeText(expected),
                       shapeText(out));
  }
  return Status::success();
}

Status checkView(CallOp call, const OpRow &row) {
  std::string name = row.name;
  if (name == "aten.permute.default") {
    return checkPermutation(call, row);
  }
  if (name == "aten.transpose.int" || name == "aten.t.default") {
    return checkTranspose(call, row);
  }
  if (name == "aten.expand.default") {
    return checkBroadcast(call, row);
  }
  // The rest keep the elements in row-major order: the result type says it all.
  if (typeOf(call.getOperand(0)).getNumElements() != typeOf(call.getResult()).getNumElements()) {
    return error<1004>("{}: {} elements cannot be viewed as shape {}", row.name,
                       typeOf(call.getOperand(0)).getNumElements(),
                       shapeText(typeOf(call.getResult()).getShape()));
  }
  return Status::success();
}

} // namespace

Status checkCall(CallOp call, const OpRow &row) {
  SPYRE_RETURN_IF_ERROR(checkAttributes(call, row));
  SPYRE_RETURN_IF_ERROR(checkElementTypes(call, row));
  switch (row.kind) {
  case OpKind::Pointwise:
    return checkBroadcast(call, row);
  case OpKind::Matmul:
    return checkMatmul(call, row);
  case OpKind::Reduction:
    return checkReduction(call, row);
  case OpKind::View:
    return checkView(call, row);
  case OpKind::Copy:
    return typeOf(call.getOperand(0)).getShape() == typeOf(call.getResult()).getShape()
               ? Status::success()
               : error<1004>("{}: a copy keeps the shape", row.name);
  }
  return Status::success();
}

} // namespace spyre::graph
