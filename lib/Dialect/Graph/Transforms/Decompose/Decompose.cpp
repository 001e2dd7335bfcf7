//===- Decompose.cpp - rewrites composite calls ---------------------------------------------===//
#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Graph/Transforms/Gates.h"
#include "spyre/Dialect/Graph/Transforms/Passes.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "Calls.h"

#include <map>

namespace spyre::graph {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "spyre/Dialect/Graph/Transforms/Passes.h.inc"

namespace {

const std::map<std::string, Decomposition> &decompositions() {
  static const std::map<std::string, Decomposition> table = [] {
    std::map<std::string, Decomposition> all;
    for (const auto &list :
         {mathDecompositions(), networkDecompositions(), selectionDecompositions()}) {
      for (const NamedDecomposition &entry : list) {
        all.emplace(entry.name, entry.rule);
      }
    }
    return all;
  }();
  return table;
}

} // namespace

bool isWideProduct(CallOp call) {
  const OpRow *row = findOp(call.getCallee().str());
  const mlir::Type type = elementOf(call.getResult());
  return row && row->kind == OpKind::Matmul &&
         (type.isF32() || type.isInteger(32) || type.isInteger(64));
}

static bool isComposite(CallOp call) {
  const OpRow *row = findOp(call.getCallee().str());
  return row && row->kind == OpKind::Composite;
}

bool isMadeOfOthers(CallOp call) {
  return isSmallArithmetic(call) || meetsInfinity(call) || isComposite(call) ||
         isWideProduct(call) || isCastToFp8(call);
}

static Expected<mlir::Value> madeOf(CallOp call, Calls &calls) {
  if (isSmallArithmetic(call)) {
    return smallArithmetic(call, calls);
  }
  if (meetsInfinity(call)) {
    return withInfinity(call, calls);
  }
  if (isCastToFp8(call)) {
    return castToFp8(call, calls);
  }
  if (isWideProduct(call)) {
    return wideProduct(call, calls);
  }
  auto found = decompositions().find(call.getCallee().str());
  if (found == decompositions().end()) {
    return error<1007>("'{}' has no device operation and no decomposition", call.getCallee().str());
  }
  return found->second(call, calls);
}

Status decomposeCall(CallOp call) {
  Calls calls(call);
  SPYRE_ASSIGN_OR_RETURN(mlir::Value value, madeOf(call, calls));
  if (value.getType() != call.getResult().getType()) {
    std::string made, wanted;
    llvm::raw_string_ostream(made) << value.getType();
    llvm::raw_string_ostream(wanted) << call.getResult().getType();
    return error<1004>("{}: the result is {}, not {}", call.getCallee().str(), made, wanted);
  }
  call.getResult().replaceAllUsesWith(value);
  call.erase();
  return Status::success();
}

namespace {

/// The framework computes in the type of the result, and compares in one that holds both sides:
/// operands of another type are converted to it.
void promote(CallOp call, TypeRule rule) {
  mlir::Type wanted = elementOf(call.getResult());
  if (rule == TypeRule::Compare) {
    const auto types =
        llvm::map_range(call.getOperands(), [](mlir::Value value) { return elementOf(value); });
    const bool areIntegers = llvm::all_of(types, [](mlir::Type type) { return type.isInteger(); });
    wanted = llvm::all_equal(types) ? elementOf(call.getOperand(0))
             : areIntegers          ? mlir::Type(mlir::IntegerType::get(call.getContext(), 64))
                                    : mlir::Type(mlir::Float32Type::get(call.getContext()));
  }
  Calls calls(call);
  for (mlir::OpOperand &operand : call->getOpOperands()) {
    const bool isCondition = rule == TypeRule::Where && operand.getOperandNumber() == 0;
    if (!isCondition) {
      operand.set(calls.convert(operand.get(), wanted));
    }
  }
}

bool promotes(TypeRule rule) {
  return rule == TypeRule::Float || rule == TypeRule::Number || rule == TypeRule::Integer ||
         rule == TypeRule::Compare || rule == TypeRule::Where;
}

/// False after a report of what cannot be.
bool decomposeAll(mlir::func::FuncOp main, llvm::function_ref<bool(CallOp)> isMeant) {
  llvm::SmallVector<CallOp> meant;
  for (CallOp call : main.getOps<CallOp>()) {
    if (isMeant(call)) {
      meant.push_back(call);
    }
  }
  for (CallOp call : meant) {
    if (Status status = decomposeCall(call); !status.ok()) {
      (void)dialect::report(call, namingGate(status));
      return false;
    }
  }
  return true;
}

struct Decompose : impl::DecomposePassBase<Decompose> {
  void runOnOperation() override {
    mlir::func::FuncOp main = findMain(getOperation());
    if (!main) {
      (void)dialect::report(getOperation(),
                            error<1006>("a graph module holds one func.func @main"));
      return signalPassFailure();
    }
    // Composites may be made of products and of conversions.
    for (auto isMeant :
         {isSmallArithmetic, meetsInfinity, isComposite, isWideProduct, isCastToFp8}) {
      if (!decomposeAll(main, isMeant)) {
        return signalPassFailure();
      }
    }
    for (CallOp call : llvm::make_early_inc_range(main.getOps<CallOp>())) {
      const OpRow *row = findOp(call.getCallee().str());
      if (row && promotes(row->types)) {
        promote(call, row->types);
      }
    }
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createDecomposePass() { return std::make_unique<Decompose>(); }

} // namespace spyre::graph
