//===- Passes.td - passes on graph IR -------------------------------------------------------===//
#ifndef SPYRE_DIALECT_GRAPH_PASSES_TD
#define SPYRE_DIALECT_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitHostPass : Pass<"spyre-graph-split-host", "::mlir::ModuleOp"> {
  let summary = "Gives calls that the device cannot run back to the caller.";
  let description = [{
    Requires: nothing beyond the op verifiers.
    Ensures: every call that has a `node` number and fails one of the five gates is a `graph.host` with that
    number, the gate and the reason; calls of one node become one operation with several results. The calls
    that stay lose their number, so that equal ones are equal again. Calls without a number are left alone:
    nobody but the device could run them.
    Idempotent. Deterministic. Linear in calls.
  }];
  let constructor = "::spyre::graph::createSplitHostPass()";
}

def VerifyGraphPass : Pass<"spyre-graph-verify", "::mlir::ModuleOp"> {
  let summary = "Checks every call of a graph against the op table; reports all faults at once.";
  let description = [{
    Requires: nothing beyond the op verifiers.
    Ensures: one `func.func @main` whose arguments carry stride, offset and layout; every callee is in the
    op table and its operands, attributes and types fit.
    Idempotent. Deterministic. Linear in calls. Changes nothing.
    Unknown callees give one error (SPYRE-E1002) that names each with its number of uses.
  }];
  let constructor = "::spyre::graph::createVerifyGraphPass()";
}

def DecomposePass : Pass<"spyre-graph-decompose", "::mlir::ModuleOp"> {
  let summary = "Rewrites composite calls (softmax, norms, attention, ...) to calls that are one device operation each.";
  let description = [{
    Requires: spyre-graph-verify.
    Ensures: no callee is of kind Composite. Half types stay half: nothing is computed in another type than the
    call's own, but where the framework's definition says so.
    Idempotent. Deterministic. Linear in calls.
    Example: `aten._softmax(x, dim)` becomes amax, sub, exp, sum, div.
  }];
  let constructor = "::spyre::graph::createDecomposePass()";
}

def MergeEqualPass : Pass<"spyre-graph-merge-equal", "::mlir::ModuleOp"> {
  let summary = "Computes equal calls once, but calls with different hints apart.";
  let description = [{
    Requires: nothing beyond the op verifiers.
    Ensures: no two calls have the same callee, operands, attributes and hints; what nobody uses is gone. Hints stand in
    locations, which are no part of an operation for MLIR's own pass.
    Idempotent. Deterministic. Linear in calls.
  }];
  let constructor = "::spyre::graph::createMergeEqualPass()";
}

#endif
