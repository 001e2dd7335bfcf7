//===- VerifyGraph.cpp - checks a captured graph and reports everything at once -------------===//
#include "spyre/Base/Status.h"
#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Graph/Transforms/Gates.h"
#include "spyre/Dialect/Graph/Transforms/Passes.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include <map>
#include <set>

namespace spyre::graph {

#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "spyre/Dialect/Graph/Transforms/Passes.h.inc"

mlir::func::FuncOp findMain(mlir::ModuleOp module) {
  auto functions = module.getOps<mlir::func::FuncOp>();
  if (std::distance(functions.begin(), functions.end()) != 1 ||
      std::distance(module.getBody()->begin(), module.getBody()->end()) != 1) {
    return nullptr;
  }
  mlir::func::FuncOp main = *functions.begin();
  return main.getName() == "main" && !main.isExternal() ? main : nullptr;
}

namespace {

/// Stride array of a function argument or result against its tensor type.
Status checkStride(mlir::Attribute attribute, mlir::RankedTensorType type,
                   const std::string &what) {
  auto stride = llvm::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(attribute);
  if (!stride || int64_t(stride.size()) != type.getRank()) {
    return error<1006>("{} needs graph.stride with {} entries", what, type.getRank());
  }
  for (int64_t value : stride.asArrayRef()) {
    if (value < 0 || value > (int64_t(1) << 47)) {
      return error<1006>("{} has stride {}; strides are 0..2^47 elements", what, value);
    }
  }
  return Status::success();
}

/// Each argument gets new contents at most once, of its own type.
Status checkMutations(mlir::func::FuncOp main) {
  std::set<int64_t> seen;
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    mlir::Attribute attribute = main.getResultAttr(i, "graph.mutates");
    if (!attribute) {
      continue;
    }
    auto index = llvm::dyn_cast<mlir::IntegerAttr>(attribute);
    if (!index || index.getInt() < 0 || index.getInt() >= int64_t(main.getNumArguments())) {
      return error<1006>("result {}: graph.mutates is the number of an argument, 0..{}", i,
                         int64_t(main.getNumArguments()) - 1);
    }
    if (!seen.insert(index.getInt()).second) {
      return error<1006>("result {}: argument {} is mutated twice; give its last contents only", i,
                         index.getInt());
    }
    if (main.getResultTypes()[i] != main.getArgument(unsigned(index.getInt())).getType()) {
      return error<1006>("result {} has not the type of argument {}, which it mutates", i,
                         index.getInt());
    }
  }
  return Status::success();
}

/// Device layout of an argument or result against its tensor type.
Status checkLayout(mlir::Attribute attribute, mlir::RankedTensorType type,
                   const std::string &what) {
  SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, dialect::layoutFromAttr(attribute));
  if (layout.arrangement != layout::ElementArrangement::Standard) {
    return error<2009>("{}: its elements are arranged as {} inside sticks, which operations do not "
                       "read; convert it to the standard arrangement first",
                       what, layout::arrangementName(layout.arrangement));
  }
  SPYRE_ASSIGN_OR_RETURN(numerics::HostType hostType, dialect::hostTypeOf(type.getElementType()));
  if (layout.format != numerics::deviceFormat(hostType)) {
    return error<1006>("{}: layout format {} is not the device format {} of its element type", what,
                       numerics::formatName(layout.format),
                       numerics::formatName(numerics::deviceFormat(hostType)));
  }
  return Status::success();
}

Status checkSignature(mlir::func::FuncOp main) {
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    std::string what = fmt::format("argument {}", i);
    SPYRE_RETURN_IF_ERROR(checkTensorType(main.getArgument(i).getType(), what));
    auto type = llvm::cast<mlir::RankedTensorType>(main.getArgument(i).getType());
    SPYRE_RETURN_IF_ERROR(checkStride(main.getArgAttr(i, "graph.stride"), type, what));
    if (!llvm::isa_and_present<mlir::StringAttr>(main.getArgAttr(i, "graph.name"))) {
      return error<1006>("{} needs graph.name", what);
    }
    SPYRE_RETURN_IF_ERROR(checkLayout(main.getArgAttr(i, "graph.layout"), type, what));
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    std::string what = fmt::format("result {}", i);
    SPYRE_RETURN_IF_ERROR(checkTensorType(main.getResultTypes()[i], what));
    auto type = llvm::cast<mlir::RankedTensorType>(main.getResultTypes()[i]);
    SPYRE_RETURN_IF_ERROR(checkStride(main.getResultAttr(i, "graph.stride"), type, what));
    if (mlir::Attribute layout = main.getResultAttr(i, "graph.layout")) {
      SPYRE_RETURN_IF_ERROR(checkLayout(layout, type, what));
    }
  }
  return checkMutations(main);
}

/// All callees the table does not know, with counts, sorted by name.
Status checkCallees(mlir::func::FuncOp main) {
  std::map<std::string, int> unknown;
  main.walk([&](CallOp call) {
    if (!findOp(call.getCallee().str())) {
      ++unknown[call.getCallee().str()];
    }
  });
  if (unknown.empty()) {
    return Status::success();
  }
  std::string list;
  int total = 0;
  for (const auto &[name, count] : unknown) {
    list += fmt::format("{}{} ({}x)", list.empty() ? "" : ", ", name, count);
    total += count;
  }
  return error<1002>(
      "{} call(s) of {} operation(s) that the device compiler does not know: {}; move them "
      "out of the compiled region or run them on the CPU",
      total, unknown.size(), list);
}

Status checkCalls(mlir::func::FuncOp main) {
  for (mlir::Operation &op : main.getBody().front()) {
    if (auto call = llvm::dyn_cast<CallOp>(op)) {
      SPYRE_RETURN_IF_ERROR(checkGates(call));
    } else if (!llvm::isa<HostOp, mlir::func::ReturnOp>(op)) {
      return error<1006>("operation '{}' is not part of graph IR",
                         op.getName().getStringRef().str());
    }
  }
  return Status::success();
}

struct VerifyGraph : impl::VerifyGraphPassBase<VerifyGraph> {
  void runOnOperation() override {
    if (mlir::failed(verifyGraph(getOperation()))) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace

mlir::LogicalResult verifyGraph(mlir::ModuleOp module) {
  mlir::func::FuncOp main = findMain(module);
  if (!main || !llvm::hasSingleElement(main.getBody())) {
    return dialect::report(module,
                           error<1006>("a graph module holds one func.func @main with one block"));
  }
  for (auto check : {checkSignature, checkCallees, checkCalls}) {
    if (Status status = check(main); !status.ok()) {
      return dialect::report(main, namingGate(status));
    }
  }
  return mlir::success();
}

std::unique_ptr<mlir::Pass> createVerifyGraphPass() { return std::make_unique<VerifyGraph>(); }

} // namespace spyre::graph
