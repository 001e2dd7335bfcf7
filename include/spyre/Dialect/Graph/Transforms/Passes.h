//===- Passes.h - passes on graph IR --------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>
#include <vector>

namespace spyre::graph {

/// Attribute (string) of a call that a later phase refused when the graph was compiled before: why.
/// spyre-graph-split-host gives such a call back to the caller.
constexpr const char *kRefused = "graph.refused";

/// \p extensions: operations of our own that the machine has (docs/adr/0022); null: all of them.
std::unique_ptr<mlir::Pass>
createSplitHostPass(DecisionTrace *trace = nullptr,
                    const std::vector<std::string> *extensions = nullptr);
std::unique_ptr<mlir::Pass> createVerifyGraphPass();
std::unique_ptr<mlir::Pass> createDecomposePass();
std::unique_ptr<mlir::Pass> createMergeEqualPass();

/// What spyre-graph-verify checks; an error is reported.
mlir::LogicalResult verifyGraph(mlir::ModuleOp module);

/// The only function of a graph module, or null.
mlir::func::FuncOp findMain(mlir::ModuleOp module);

/// Registers the passes of this folder by flag, for spyre-opt.
void registerGraphPasses();

} // namespace spyre::graph
