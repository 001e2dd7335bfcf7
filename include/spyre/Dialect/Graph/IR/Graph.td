//===- Graph.td - graph IR: what the importer hands to the compiler -------------------------===//
//
// One generic operation, and its twin for calls that stay on the host. Which framework operations exist, their arity and attributes is data, in
// OpTable.h, not TableGen: an operation per ATen name would cost half a minute per compiled file.
//===----------------------------------------------------------------------------------------===//
#ifndef SPYRE_DIALECT_GRAPH_TD
#define SPYRE_DIALECT_GRAPH_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::spyre::graph";
  let summary = "Captured framework graphs: values are immutable tensors, operations are named calls.";
  let description = [{
    A module holds one `func.func @main`. Arguments are tensors with the discardable attributes
    `graph.name` (string), `graph.stride` (array<i64>, elements), `graph.offset` (i64, elements) and
    `graph.layout` (dictionary: `device_size`, `stride_map`, `format`); results carry `graph.stride`, and
    `graph.layout` where the caller wants one layout.
    A result with `graph.mutates` (i64) is no result of its own: it becomes the contents of that argument
    when everything else is done.
  }];
}

def Graph_CallOp : Op<Graph_Dialect, "call", [Pure]> {
  let summary = "One call of a framework operation";
  let description = [{
    The callee is the framework's own name. Non-tensor arguments are attributes under the name of the
    schema argument; a number in a tensor position `i` is the attribute `scalar<i>` and takes no
    operand. Whether the callee is known, and whether operands and attributes fit it, is checked by
    `spyre-graph-verify` against the op table, which reports all offenders at once. A call with a `node`
    number is one the caller can run itself: `spyre-graph-split-host` gives it back when the device cannot.

    ```mlir
    %1 = graph.call "aten.sum.dim_IntList"(%0) {dim = array<i64: 0>, keepdim = false}
         : (tensor<256x192xf16>) -> tensor<192xf16>
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyRankedTensor>:$operands,
                       OptionalAttr<I64Attr>:$node);
  let results = (outs AnyRankedTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::llvm::StringRef":$callee,
                                 "::mlir::ValueRange":$operands),
                            [{ build($_builder, $_state, result, callee, operands, nullptr); }]>];
  let assemblyFormat = [{
    $callee `(` $operands `)` (`node` $node^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_HostOp : Op<Graph_Dialect, "host"> {
  let summary = "A call of a framework operation that runs on the CPU";
  let description = [{
    Made by `spyre-graph-split-host` from calls with a `node` number that one of the five gates refused;
    the number tells the caller which call to run. `results` says which of the call's results these are
    (empty: the call has one result, a tensor). Operands and results may be of types the device does not
    hold, when only other host calls use them. Never merged with another one: it may draw random numbers.

    ```mlir
    %1:2 = graph.host "aten.sort.default"(%0) node 12 results [0, 1] gate 1 "not in the op table"
         : (tensor<64xf16>) -> (tensor<64xf16>, tensor<64xi64>)
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyRankedTensor>:$operands, I64Attr:$node,
                       DenseI64ArrayAttr:$result_numbers, I64Attr:$gate, StrAttr:$reason);
  let results = (outs Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = [{
    $callee `(` $operands `)` `node` $node `results` $result_numbers `gate` $gate $reason attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif
