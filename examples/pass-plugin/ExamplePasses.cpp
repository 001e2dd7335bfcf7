//===- ExamplePasses.cpp - passes of a user's, in a library of their own --------------------===//
//
//   example-fuse-silu    graph IR: x * sigmoid(x) becomes one operation
//   example-report-ops   any IR: prints how many operations there are
//   example-forbid       graph IR: refuses a framework operation
//
// Operations are reached by name, so that nothing of the compiler has to be linked.
//===--------------------------------------------------------------------------------------------===//
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

namespace {

/// Name of the framework operation that \p op calls; empty for anything else.
llvm::StringRef calleeOf(mlir::Operation *op) {
  if (!op || op->getName().getStringRef() != "graph.call") {
    return "";
  }
  auto callee = op->getAttrOfType<mlir::StringAttr>("callee");
  return callee ? callee.getValue() : "";
}

class FuseSilu : public mlir::PassWrapper<FuseSilu, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseSilu)
  llvm::StringRef getArgument() const final { return "example-fuse-silu"; }
  llvm::StringRef getDescription() const final { return "x * sigmoid(x) to silu(x)"; }

  void runOnOperation() final {
    getOperation().walk([](mlir::Operation *op) {
      if (calleeOf(op) != "aten.mul.Tensor" || op->getNumOperands() != 2) {
        return;
      }
      for (unsigned side = 0; side < 2; ++side) {
        mlir::Value x = op->getOperand(side);
        mlir::Operation *other = op->getOperand(1 - side).getDefiningOp();
        if (calleeOf(other) == "aten.sigmoid.default" && other->getOperand(0) == x) {
          op->setAttr("callee", mlir::StringAttr::get(op->getContext(), "spyre.silu.default"));
          op->setOperands({x});
          if (other->use_empty()) {
            other->erase();
          }
          return;
        }
      }
    });
  }
};

class ReportOps : public mlir::PassWrapper<ReportOps, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReportOps)
  ReportOps() = default;
  ReportOps(const ReportOps &other) : PassWrapper(other) {}
  llvm::StringRef getArgument() const final { return "example-report-ops"; }
  llvm::StringRef getDescription() const final { return "Prints the number of operations"; }

  void runOnOperation() final {
    int calls = 0, computes = 0, divided = 0;
    getOperation().walk([&](mlir::Operation *op) {
      calls += op->getName().getStringRef() == "graph.call";
      computes += op->getName().getStringRef() == "loop.compute";
      divided += op->hasAttr("splits");
    });
    llvm::errs() << label << ": " << calls << " calls, " << computes << " loops, " << divided
                 << " divided\n";
  }

  Option<std::string> label{*this, "label", llvm::cl::desc("Text in front"),
                            llvm::cl::init("operations")};
};

class Forbid : public mlir::PassWrapper<Forbid, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Forbid)
  Forbid() = default;
  Forbid(const Forbid &other) : PassWrapper(other) {}
  llvm::StringRef getArgument() const final { return "example-forbid"; }
  llvm::StringRef getDescription() const final { return "Refuses a framework operation"; }

  void runOnOperation() final {
    getOperation().walk([&](mlir::Operation *op) {
      if (calleeOf(op) == callee) {
        op->emitError() << callee << " is not wanted here";
        signalPassFailure();
      }
    });
  }

  Option<std::string> callee{*this, "callee", llvm::cl::desc("Framework name"),
                             llvm::cl::init("aten.exp.default")};
};

} // namespace

extern "C" mlir::PassPluginLibraryInfo LLVM_ATTRIBUTE_WEAK mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ExamplePasses", "1", [] {
            mlir::PassRegistration<FuseSilu>();
            mlir::PassRegistration<ReportOps>();
            mlir::PassRegistration<Forbid>();
          }};
}
