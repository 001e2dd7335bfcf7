//===- Gates.cpp - see Gates.h --------------------------------------------------------------===//
#include "spyre/Dialect/Graph/Transforms/Gates.h"

#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "Decompose/Calls.h"

namespace spyre::graph {

namespace {

struct GateRow {
  Gate gate;
  const char *name;
  int code;
};

constexpr GateRow kGates[] = {{Gate::Compatibility, "compatibility", 1002},
                              {Gate::Schema, "schema", 1005},
                              {Gate::Dtype, "dtype", 1003},
                              {Gate::Shape, "shape", 1004},
                              {Gate::Template, "template", 1007}};
static_assert(std::size(kGates) == kGateCount);

const GateRow *findRow(const Status &status) {
  for (const GateRow &row : kGates) {
    if (row.code == status.code()) {
      return &row;
    }
  }
  return nullptr;
}

} // namespace

const char *gateName(Gate gate) { return kGates[int(gate) - 1].name; }

Gate gateOf(const Status &status) {
  const GateRow *row = findRow(status);
  return row ? row->gate : Gate::Compatibility;
}

Status namingGate(const Status &status) {
  const GateRow *row = findRow(status);
  return row ? Status(status.code(),
                      fmt::format("{} [gate {}: {}]", status.text(), int(row->gate), row->name))
             : status;
}

Status checkTensorType(mlir::Type type, const std::string &what) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape()) {
    return error<1006>("{} must be a tensor with a static shape", what);
  }
  SPYRE_ASSIGN_OR_RETURN([[maybe_unused]] auto hostType,
                         dialect::hostTypeOf(tensor.getElementType()));
  if (tensor.getRank() > layout::kMaxRank) {
    return error<1004>("{} has rank {}, the limit is {}; flatten leading dimensions", what,
                       tensor.getRank(), layout::kMaxRank);
  }
  int64_t elements = 1;
  for (int64_t size : tensor.getShape()) {
    if (size == 0) {
      return error<1004>("{} has a dimension of size 0; run empty tensors on the CPU", what);
    }
    if (__builtin_mul_overflow(elements, size, &elements) || elements > (int64_t(1) << 38)) {
      return error<1004>("{} has more than 2^38 elements; split it", what);
    }
  }
  return Status::success();
}

Status checkGates(CallOp call) {
  const std::string name = call.getCallee().str();
  const OpRow *row = findOp(name);
  if (!row) {
    return error<1002>("'{}' is not in the op table", name);
  }
  SPYRE_RETURN_IF_ERROR(checkTensorType(call.getResult().getType(), "result of " + name));
  for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
    SPYRE_RETURN_IF_ERROR(
        checkTensorType(operand.getType(), fmt::format("operand {} of {}", index, name)));
  }
  return checkCall(call, *row);
}

namespace {

bool isWord(mlir::Value value) {
  const mlir::Type type = elementOf(value);
  return type.isInteger(32) || type.isInteger(64) || isByte(type);
}

/// Integers meet other types: as operands, or as the result of what they are not.
bool convertsIntegers(CallOp call, const OpRow &row) {
  const bool computes =
      row.kind == OpKind::Pointwise || row.kind == OpKind::Reduction || row.kind == OpKind::Copy;
  return computes && llvm::any_of(call.getOperands(), [&](mlir::Value operand) {
           return isWord(operand) != isWord(call.getResult());
         });
}

/// What conversions of integers of 8 and 16 bits need.
void addConversions(mlir::Type from, mlir::Type to, std::vector<std::string> &needed) {
  if (from == to) {
    return;
  }
  for (mlir::Type type : {from, to}) {
    if (type.isInteger(16)) {
      needed.insert(needed.end(), {"x_int16tofp32", "x_fp32toint16"});
    }
  }
  if (from.isSignlessInteger(8)) {
    needed.emplace_back("x_int8todl16");
  }
  if (isByte(to)) {
    needed.insert(needed.end(), {"x_fp32toint32", "x_bitand"});
    return;
  }
  if (isSmallInteger(to)) { // numbers that do not fit wrap
    needed.insert(needed.end(), {"x_fp32toint32", "x_shiftleft", "x_shiftright"});
  }
}

Status checkExtensions(CallOp call, const std::vector<std::string> *extensions) {
  const OpRow &row = *findOp(call.getCallee().str());
  if (!extensions) {
    return Status::success();
  }
  std::vector<std::string> needed;
  if (llvm::StringRef(row.deviceOp).starts_with("x_")) {
    needed.emplace_back(row.deviceOp);
  }
  if (convertsIntegers(call, row)) {
    needed.insert(needed.end(), {"x_fp32toint32", "x_int32tofp32"});
  }
  if (row.kind == OpKind::Copy) {
    addConversions(elementOf(call.getOperand(0)), elementOf(call.getResult()), needed);
  }
  for (const std::string &name : needed) {
    if (llvm::find(*extensions, name) == extensions->end()) {
      return error<1007>("{} needs {}, an extension this machine does not have; run it on the CPU, "
                         "or use a machine that lists it",
                         row.name, name);
    }
  }
  return Status::success();
}

} // namespace

Status checkAllGates(CallOp call, const std::vector<std::string> *extensions) {
  SPYRE_RETURN_IF_ERROR(checkGates(call));
  if (!isMadeOfOthers(call)) {
    return checkExtensions(call, extensions);
  }
  // The trial stands between two clones of the call: everything from the first on goes.
  mlir::OpBuilder builder(call);
  mlir::Operation *begin = builder.clone(*call.getOperation());
  auto trial = llvm::cast<CallOp>(builder.clone(*call.getOperation()));
  Status status = decomposeCall(trial);
  for (mlir::Operation *op = begin->getNextNode(); status.ok() && op != call.getOperation();
       op = op->getNextNode()) {
    if (auto made = llvm::dyn_cast<CallOp>(op)) {
      if (isMadeOfOthers(made)) {
        status = checkAllGates(made, extensions);
        continue;
      }
      status = checkGates(made);
      status = status.ok() ? checkExtensions(made, extensions) : status;
    }
  }
  while (call->getPrevNode() != begin) {
    call->getPrevNode()->erase();
  }
  begin->erase();
  return status;
}

} // namespace spyre::graph
