//===- OpChecks.cpp - a call against its row ------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/Gathers.h"
#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Graph/IR/SliceCopies.h"
#include "spyre/Dialect/Graph/IR/TopK.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include <algorithm>
#include <cmath>

namespace spyre::graph {

int64_t intAttribute(CallOp call, const char *name, int64_t otherwise) {
  auto attribute = llvm::dyn_cast_or_null<mlir::IntegerAttr>(call->getDiscardableAttr(name));
  return attribute ? attribute.getInt() : otherwise;
}

double numberAttribute(CallOp call, const char *name, double otherwise) {
  mlir::Attribute attribute = call->getDiscardableAttr(name);
  if (auto flag = llvm::dyn_cast_or_null<mlir::BoolAttr>(attribute)) {
    return flag.getValue() ? 1.0 : 0.0;
  }
  if (auto integer = llvm::dyn_cast_or_null<mlir::IntegerAttr>(attribute)) {
    return double(integer.getInt());
  }
  auto number = llvm::dyn_cast_or_null<mlir::FloatAttr>(attribute);
  return number ? number.getValueAsDouble() : otherwise;
}

bool flagAttribute(CallOp call, const char *name, bool otherwise) {
  auto attribute = llvm::dyn_cast_or_null<mlir::BoolAttr>(call->getDiscardableAttr(name));
  return attribute ? attribute.getValue() : otherwise;
}

std::vector<int64_t> listAttribute(CallOp call, const char *name) {
  mlir::Attribute attribute = call->getDiscardableAttr(name);
  if (auto list = llvm::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(attribute)) {
    return dialect::toVector(list.asArrayRef());
  }
  auto integer = llvm::dyn_cast_or_null<mlir::IntegerAttr>(attribute);
  return integer ? std::vector<int64_t>{integer.getInt()} : std::vector<int64_t>{};
}

int64_t dimAttribute(CallOp call, const char *name, int64_t otherwise, int64_t rank) {
  const int64_t dim = intAttribute(call, name, otherwise);
  return dim < 0 ? dim + rank : dim;
}

bool isSlice(const std::string &name) {
  return name == "aten.slice.Tensor" || name == "aten.select.int" ||
         name == "aten.narrow.default" || name == "aten.split_with_sizes.default" ||
         name == "aten.split.Tensor" || name == "aten.chunk.default" || name == "aten.unbind.int";
}

Slice sliceOf(CallOp call, int64_t size) {
  const std::string name = call.getCallee().str();
  // A number beyond the dimension is beyond every piece of it.
  const int64_t result = std::clamp<int64_t>(intAttribute(call, "result", 0), -1, size);
  if (result < 0) {
    return {};
  }
  auto wrapped = [&](int64_t index) { return index < 0 ? index + size : index; };
  if (name == "aten.select.int" || name == "aten.select_scatter.default") {
    return {wrapped(intAttribute(call, "index", 0)), 1, 1};
  }
  if (name == "aten.unbind.int") {
    return {result, 1, 1};
  }
  if (name == "aten.narrow.default") {
    return {wrapped(intAttribute(call, "start", 0)), intAttribute(call, "length", 0), 1};
  }
  if (name == "aten.split_with_sizes.default") {
    const std::vector<int64_t> sizes = listAttribute(call, "split_sizes");
    int64_t start = 0;
    for (int64_t i = 0; i < result && i < int64_t(sizes.size()); ++i) {
      start += std::clamp<int64_t>(sizes[size_t(i)], 0, size);
    }
    return {start, result >= 0 && result < int64_t(sizes.size()) ? sizes[size_t(result)] : 0, 1};
  }
  if (name == "aten.split.Tensor" || name == "aten.chunk.default") {
    const int64_t chunks = std::max<int64_t>(intAttribute(call, "chunks", 1), 1);
    const int64_t piece = name == "aten.split.Tensor"
                              ? std::clamp<int64_t>(intAttribute(call, "split_size", 0), 0, size)
                              : (size - 1) / chunks + 1;
    return {result * piece, std::min(piece, size - result * piece), 1};
  }
  const int64_t step = std::min<int64_t>(intAttribute(call, "step", 1), size);
  const int64_t start = std::clamp<int64_t>(wrapped(intAttribute(call, "start", 0)), 0, size);
  const int64_t end = std::clamp<int64_t>(wrapped(intAttribute(call, "end", size)), 0, size);
  return {start, step < 1 ? 0 : (end - start + step - 1) / step, step};
}

namespace {

using Shape = llvm::ArrayRef<int64_t>;

mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

std::string shapeText(Shape shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

bool isNumber(mlir::Attribute attribute) {
  return llvm::isa_and_present<mlir::FloatAttr, mlir::IntegerAttr>(attribute);
}

/// "scalar1": a number in tensor position 1.
bool isScalarPosition(const std::string &name, const OpRow &row) {
  return name.size() == 7 && name.rfind("scalar", 0) == 0 && row.kind == OpKind::Pointwise &&
         name[6] >= '0' && name[6] < '0' + row.tensorPositions;
}

Status checkAttributes(CallOp call, const OpRow &row) {
  int scalars = 0;
  for (mlir::NamedAttribute attribute : call->getDiscardableAttrs()) {
    const std::string name = attribute.getName().str();
    const bool isPosition = isScalarPosition(name, row);
    const bool isScalar = isPosition || (row.scalar && name == row.scalar);
    auto known = [&](const char *candidate) { return name == candidate; };
    if (isScalar && !isNumber(attribute.getValue())) {
      return error<1005>("{}: attribute {} must be a number", row.name, name);
    }
    if (!isPosition && std::none_of(row.attributes.begin(), row.attributes.end(), known)) {
      return error<1005>("{}: attribute '{}' is not known for this operation", row.name, name);
    }
    scalars += isScalar;
  }
  for (const OpConstant &constant : row.constants) {
    mlir::Attribute given = call->getDiscardableAttr(constant.attribute);
    // Tensors may be filled with NaN; operations take no such constants.
    const bool mayBeNan = row.kind == OpKind::Fill;
    if (given && (!isNumber(given) ||
                  (!mayBeNan && std::isnan(numberAttribute(call, constant.attribute, 0))))) {
      return error<1005>("{}: attribute {} must be a number", row.name, constant.attribute);
    }
  }
  const auto operands = int64_t(call.getOperands().size());
  if (row.tensorPositions >= 0 && operands + scalars != row.tensorPositions) {
    return error<1005>("{}: {} tensor operands and {} scalars, {} positions expected", row.name,
                       operands, scalars, row.tensorPositions);
  }
  if (operands == 0 && row.tensorPositions != 0) {
    return error<1005>("{}: at least one operand must be a tensor", row.name);
  }
  if (call->hasAttr("alpha") && row.kind == OpKind::Pointwise &&
      numberAttribute(call, "alpha", 0) != 1.0) {
    return error<1005>("{}: alpha other than 1 is not supported; multiply before adding", row.name);
  }
  return Status::success();
}

bool isHalf(mlir::Type type) { return type.isF16() || type.isBF16(); }

/// Types of which the device has the low 32 bits (docs/adr/0059).
bool isWord(mlir::Type type) { return type.isInteger(32) || type.isInteger(64); }

bool isFloat(mlir::Type type) { return isHalf(type) || type.isF32(); }

/// Integers the device computes with: those of 8 and 16 bits in 32 (docs/adr/0072).
bool isWhole(mlir::Type type) { return isWord(type) || isSmallInteger(type); }

/// Types the device converts into each other.
bool isConvertible(mlir::Type type) { return isFloat(type) || isWhole(type) || type.isInteger(1); }

/// Types that are the same numbers in another one; fp8 is not computed with.
bool isCastable(mlir::Type type) { return isConvertible(type) || type.isFloat8E4M3FN(); }

/// Integers are not made of floats: the framework would have asked for a float.
bool fitsInteger(mlir::Type operand, mlir::Type result) {
  return isWhole(result) && (isWhole(operand) || operand.isInteger(1));
}

/// Types of one operand and of the result.
bool fitsRule(TypeRule rule, mlir::Type operand, mlir::Type result, size_t index) {
  switch (rule) {
  case TypeRule::Float:
    return isFloat(result) && isConvertible(operand);
  case TypeRule::Number:
    return (isFloat(result) && isConvertible(operand)) || fitsInteger(operand, result);
  case TypeRule::Integer:
    return fitsInteger(operand, result);
  case TypeRule::Product:
    return (isFloat(result) || isWhole(result)) && operand == result;
  case TypeRule::Compare:
    return result.isInteger(1) && isConvertible(operand);
  case TypeRule::Logical:
    return result.isInteger(1) && operand.isInteger(1);
  case TypeRule::Where:
    return index == 0 ? operand.isInteger(1) && (isFloat(result) || isWhole(result))
                      : (isFloat(result) && isConvertible(operand)) || fitsInteger(operand, result);
  case TypeRule::Any:
    return operand == result;
  case TypeRule::Indexed:
    return index == 0 ? operand == result : operand.isInteger(32) || operand.isInteger(64);
  case TypeRule::Place:
    return result.isInteger(64) && (isHalf(operand) || operand.isF32());
  case TypeRule::Cast:
    return operand == result || (isCastable(operand) && isCastable(result));
  case TypeRule::Free:
    return true;
  }
  return false;
}

/// A number beside integers is one of 32 bits, beside truth values 0 or 1: what is beyond them the
/// device does not have.
Status checkIntegerScalars(CallOp call, const OpRow &row) {
  if (call.getOperands().empty() || isFloat(typeOf(call.getResult()).getElementType())) {
    return Status::success();
  }
  const mlir::Type beside = typeOf(call.getOperands().back()).getElementType();
  const bool isTruth = beside.isInteger(1) && row.types == TypeRule::Compare;
  if (!isWhole(beside) && !isTruth) {
    return Status::success();
  }
  const int64_t bits = std::min<int64_t>(beside.getIntOrFloatBitWidth(), 32);
  const bool isSigned = !isTruth && !isByte(beside);
  const double lowest = isSigned ? -std::ldexp(1, int(bits) - 1) : 0;
  const double highest = isTruth ? 1 : std::ldexp(1, int(bits) - (isSigned ? 1 : 0)) - 1;
  for (mlir::NamedAttribute attribute : call->getDiscardableAttrs()) {
    const std::string name = attribute.getName().str();
    if (!isScalarPosition(name, row) && !(row.scalar && name == row.scalar)) {
      continue;
    }
    const double number = numberAttribute(call, name.c_str(), 0);
    const bool isWhole = std::floor(number) == number;
    if (isWhole && number >= lowest && number <= highest) {
      continue;
    }
    if (isTruth) {
      return error<1005>("{}: {} is no truth value; convert the tensor with .to() first", row.name,
                         number);
    }
    return error<1005>("{}: {} is no integer of {} bits, which the device has of {}; run it on the "
                       "CPU",
                       row.name, number, bits, typeText(beside));
  }
  return Status::success();
}

/// What the row takes, and how to come there.
std::string advice(TypeRule rule) {
  const llvm::StringRef text = ruleText(rule);
  return text.contains(".to(") ? text.str() : text.str() + "; convert with .to() first";
}

Status checkElementTypes(CallOp call, const OpRow &row) {
  mlir::Type result = typeOf(call.getResult()).getElementType();
  if (row.types == TypeRule::Where && call->hasAttr("scalar0")) {
    return error<1005>("{}: the condition must be a tensor", row.name);
  }
  SPYRE_RETURN_IF_ERROR(checkIntegerScalars(call, row));
  for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
    mlir::Type type = typeOf(operand).getElementType();
    if (!fitsRule(row.types, type, result, index)) {
      const std::string types = type == result
                                    ? typeText(type)
                                    : fmt::format("{} to {}", typeText(type), typeText(result));
      return error<1003>("{} on {} is not supported (operand {}); {}", row.name, types, index,
                         advice(row.types));
    }
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

/// The result of exx2 has two numbers in each element, which nothing but its layout knows.
Status checkPair(CallOp call, const OpRow &row) {
  if (row.deviceOp != std::string_view("layernormscale")) {
    return Status::success();
  }
  auto pair = call.getOperand(0).getDefiningOp<CallOp>();
  if (!pair || pair.getCallee() != "spyre.exx2.default") {
    return error<1004>("{}: the operand is not the result of spyre.exx2 in the same graph; "
                       "call both in one function",
                       row.name);
  }
  return Status::success();
}

Status checkMatmul(CallOp call, const OpRow &row) {
  Shape a = typeOf(call.getOperand(0)).getShape(), b = typeOf(call.getOperand(1)).getShape();
  Shape c = typeOf(call.getResult()).getShape();
  const std::string name = row.name;
  const size_t rank = name == "aten.mm.default" ? 2 : name == "aten.bmm.default" ? 3 : c.size();
  bool fits = rank >= 2 && a.size() == rank && b.size() == rank && c.size() == rank &&
              a[rank - 1] == b[rank - 2] && c[rank - 2] == a[rank - 2] &&
              c[rank - 1] == b[rank - 1];
  for (size_t d = 0; fits && d + 2 < rank; ++d) {
    fits = a[d] == c[d] && b[d] == c[d];
  }
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
  if (std::string(row.deviceOp) == "exx2") { // the last dimension, kept
    std::vector<int64_t> expected(in.begin(), in.end());
    if (expected.empty() || expected.back() == 1) {
      return error<1004>("{}: the statistics of one element are known without it", row.name);
    }
    expected.back() = 1;
    if (Shape(expected) != typeOf(call.getResult()).getShape()) {
      return error<1004>("{}: result shape {} expected", row.name, shapeText(expected));
    }
    return Status::success();
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

/// Elements a slice takes, by the framework's rules for starts and ends beyond the dimension.
Status checkSlice(CallOp call, const OpRow &row) {
  Shape in = typeOf(call.getOperand(0)).getShape(), out = typeOf(call.getResult()).getShape();
  const auto rank = int64_t(in.size());
  const std::string name = row.name;
  const int64_t dim =
      dimAttribute(call, name == "aten.unfold.default" ? "dimension" : "dim", 0, rank);
  if (dim < 0 || dim >= rank) {
    return error<1004>("{}: dimension {} of rank {}", row.name, dim, rank);
  }
  std::vector<int64_t> expected(in.begin(), in.end());
  const int64_t size = in[size_t(dim)];
  const Slice slice = sliceOf(call, size);
  const bool drops = name == "aten.select.int" || name == "aten.unbind.int";
  if (slice.start < 0 || slice.extent < 1 || slice.extent > size || slice.step < 1 ||
      slice.start > size - 1 - (slice.extent - 1) * slice.step) {
    return error<1004>("{}: {} elements from {} every {} of a dimension of size {}; empty slices "
                       "and ones beyond the end run on the CPU",
                       row.name, slice.extent, slice.start, slice.step, size);
  }
  expected[size_t(dim)] = slice.extent;
  if (drops) {
    expected.erase(expected.begin() + dim);
  }
  if (Shape(expected) != out) {
    return error<1004>("{}: {} becomes {}, not {}", row.name, shapeText(in), shapeText(expected),
                       shapeText(out));
  }
  return Status::success();
}

Status checkUnfold(CallOp call, const OpRow &row) {
  Shape in = typeOf(call.getOperand(0)).getShape(), out = typeOf(call.getResult()).getShape();
  const auto rank = int64_t(in.size());
  const int64_t dim = dimAttribute(call, "dimension", 0, rank);
  const int64_t size = intAttribute(call, "size", 0), step = intAttribute(call, "step", 0);
  if (dim < 0 || dim >= rank || size < 1 || step < 1 || size > in[size_t(dim)]) {
    return error<1004>("{}: windows of {} every {} along dimension {} of {}", row.name, size, step,
                       dim, shapeText(in));
  }
  std::vector<int64_t> expected(in.begin(), in.end());
  expected[size_t(dim)] = (in[size_t(dim)] - size) / step + 1;
  expected.push_back(size);
  return Shape(expected) == out ? Status::success()
                                : error<1004>("{}: {} becomes {}, not {}", row.name, shapeText(in),
                                              shapeText(expected), shapeText(out));
}

Status checkDiagonal(CallOp call, const OpRow &row) {
  Shape in = typeOf(call.getOperand(0)).getShape(), out = typeOf(call.getResult()).getShape();
  const auto rank = int64_t(in.size());
  const int64_t dim1 = dimAttribute(call, "dim1", 0, rank);
  const int64_t dim2 = dimAttribute(call, "dim2", 1, rank);
  if (dim1 < 0 || dim2 < 0 || dim1 >= rank || dim2 >= rank || dim1 == dim2) {
    return error<1004>("{}: dimensions {} and {} of rank {}", row.name, dim1, dim2, rank);
  }
  const int64_t rows = in[size_t(dim1)], columns = in[size_t(dim2)];
  const int64_t offset = std::clamp(intAttribute(call, "offset", 0), -rows, columns);
  std::vector<int64_t> expected;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dim1 && d != dim2) {
      expected.push_back(in[size_t(d)]);
    }
  }
  expected.push_back(
      std::min(rows + std::min<int64_t>(offset, 0), columns - std::max<int64_t>(offset, 0)));
  return expected.back() > 0 && Shape(expected) == out
             ? Status::success()
             : error<1004>("{}: {} becomes {}, not {}", row.name, shapeText(in),
                           shapeText(expected), shapeText(out));
}

/// The elements must be those of the operand in row-major order.
Status checkStrided(CallOp call, const OpRow &row) {
  const std::vector<int64_t> size = listAttribute(call, "size"),
                             stride = listAttribute(call, "stride");
  const int64_t elements = typeOf(call.getOperand(0)).getNumElements();
  const int64_t offset = intAttribute(call, "storage_offset", 0);
  bool fits = size.size() == stride.size() && Shape(size) == typeOf(call.getResult()).getShape() &&
              offset >= 0 && offset < elements;
  int64_t last = offset;
  for (size_t d = 0; fits && d < size.size(); ++d) {
    fits = stride[d] >= 0 && (size[d] == 1 || stride[d] <= elements);
    last += fits && size[d] > 1 ? (size[d] - 1) * stride[d] : 0; // both at most 2^38
    fits = fits && last < elements;
  }
  return fits ? Status::success()
              : error<1004>("{}: sizes [{}] with strides [{}] from {} leave the {} elements",
                            row.name, fmt::join(size, ", "), fmt::join(stride, ", "), offset,
                            elements);
}

Status checkFlip(CallOp call, const OpRow &row) {
  Shape in = typeOf(call.getOperand(0)).getShape();
  const auto rank = int64_t(in.size());
  std::vector<bool> seen(in.size(), false);
  for (int64_t entry : listAttribute(call, "dims")) {
    const int64_t dim = entry < 0 ? entry + rank : entry;
    if (dim < 0 || dim >= rank || seen[size_t(dim)]) {
      return error<1004>("{}: dimension {} of rank {}", row.name, entry, rank);
    }
    seen[size_t(dim)] = true;
  }
  return in == typeOf(call.getResult()).getShape()
             ? Status::success()
             : error<1004>("{}: a flip keeps the shape", row.name);
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
  if (isSlice(name)) {
    return checkSlice(call, row);
  }
  if (name == "aten.diagonal.default") {
    return checkDiagonal(call, row);
  }
  if (name == "aten.as_strided.default") {
    return checkStrided(call, row);
  }
  if (name == "aten.unfold.default") {
    return checkUnfold(call, row);
  }
  // The rest keep the elements in row-major order: the result type says it all.
  if (typeOf(call.getOperand(0)).getNumElements() != typeOf(call.getResult()).getNumElements()) {
    return error<1004>("{}: {} elements cannot be viewed as shape {}", row.name,
                       typeOf(call.getOperand(0)).getNumElements(),
                       shapeText(typeOf(call.getResult()).getShape()));
  }
  return Status::success();
}

Status checkCat(CallOp call, const OpRow &row) {
  Shape out = typeOf(call.getResult()).getShape();
  const auto rank = int64_t(out.size());
  const int64_t dim = dimAttribute(call, "dim", 0, rank);
  int64_t total = 0;
  bool fits = dim >= 0 && dim < rank;
  for (mlir::Value operand : call.getOperands()) {
    Shape shape = typeOf(operand).getShape();
    fits = fits && shape.size() == out.size();
    for (int64_t d = 0; fits && d < rank; ++d) {
      fits = d == dim || shape[size_t(d)] == out[size_t(d)];
    }
    total += fits ? shape[size_t(dim)] : 0;
  }
  return fits && total == out[size_t(dim)]
             ? Status::success()
             : error<1004>("{}: the operands do not make {} along dimension {}", row.name,
                           shapeText(out), dim);
}

/// The part is one that a slice could read, without gaps.
Status checkScatter(CallOp call, const OpRow &row) {
  Shape into = typeOf(call.getOperand(0)).getShape(), part = typeOf(call.getOperand(1)).getShape();
  const auto rank = int64_t(into.size());
  const int64_t dim = dimAttribute(call, "dim", 0, rank);
  if (dim < 0 || dim >= rank) {
    return error<1004>("{}: dimension {} of rank {}", row.name, dim, rank);
  }
  std::vector<int64_t> expected(into.begin(), into.end());
  const int64_t size = into[size_t(dim)];
  const Slice slice = sliceOf(call, size);
  expected[size_t(dim)] = slice.extent;
  if (std::string(row.name) == "aten.select_scatter.default") {
    expected.erase(expected.begin() + dim);
  }
  const bool fits = slice.step == 1 && slice.start >= 0 && slice.extent >= 1 &&
                    slice.extent <= size && slice.start <= size - slice.extent &&
                    Shape(expected) == part && into == typeOf(call.getResult()).getShape();
  return fits ? Status::success()
              : error<1004>("{}: {} is no part of {} along dimension {} from {} every {}; empty "
                            "parts and parts with gaps run on the CPU",
                            row.name, shapeText(part), shapeText(into), dim, slice.start,
                            slice.step);
}

/// What would take more copies of slices than is sensible.
Status checkCopies(CallOp call) {
  const std::string name = call.getCallee().str();
  int64_t copies = 0;
  if (name == "aten.flip.default") {
    const std::vector<int64_t> shape = shapeOf(call.getOperand(0));
    for (int64_t dim : listAttribute(call, "dims")) {
      copies += flipCopies(shape[size_t(dim < 0 ? dim + int64_t(shape.size()) : dim)]);
    }
  } else if (name == "aten.as_strided.default") {
    copies = stridedCopies(listAttribute(call, "size"), listAttribute(call, "stride"));
  } else if (name == "aten.unfold.default") {
    const std::vector<int64_t> shape = shapeOf(call.getResult());
    const auto rank = int64_t(shape.size()) - 1;
    const int64_t count = shape[size_t(dimAttribute(call, "dimension", 0, rank))];
    const bool overlaps = intAttribute(call, "step", 1) < shape.back();
    copies = overlaps ? std::min(count, shape.back()) : 0;
  }
  return copies <= kMaxSliceCopies
             ? Status::success()
             : error<1004>("{} takes {} copies of slices, at most {} are made; run it on the CPU",
                           name, copies, kMaxSliceCopies);
}

} // namespace

Status checkCall(CallOp call, const OpRow &row) {
  SPYRE_RETURN_IF_ERROR(checkAttributes(call, row));
  SPYRE_RETURN_IF_ERROR(checkElementTypes(call, row));
  switch (row.kind) {
  case OpKind::Pointwise:
    SPYRE_RETURN_IF_ERROR(checkPair(call, row));
    return checkBroadcast(call, row);
  case OpKind::Matmul:
    return checkMatmul(call, row);
  case OpKind::Reduction:
    return checkReduction(call, row);
  case OpKind::View:
    SPYRE_RETURN_IF_ERROR(checkView(call, row));
    return checkCopies(call);
  case OpKind::Rearrange:
    SPYRE_RETURN_IF_ERROR(checkFlip(call, row));
    return checkCopies(call);
  case OpKind::TopK:
    return checkTopK(call, row);
  case OpKind::Gather:
    return checkGather(call, row);
  case OpKind::Cat:
    return checkCat(call, row);
  case OpKind::Scatter:
    return checkScatter(call, row);
  case OpKind::Fill:
  case OpKind::Composite:
    return Status::success();
  case OpKind::Copy:
    return typeOf(call.getOperand(0)).getShape() == typeOf(call.getResult()).getShape()
               ? Status::success()
               : error<1004>("{}: a copy keeps the shape", row.name);
  }
  return Status::success();
}

} // namespace spyre::graph
