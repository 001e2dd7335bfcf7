//===- Graph.td - graph IR: what the importer hands to the compiler -------------------------===//
//
// One generic operation. Which framework operations exist, their arity and attributes is data, in
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
    `graph.layout` (dictionary: `device_size`, `stride_map`, `format`); results carry `graph.stride`.
  }];
}

def Graph_CallOp : Op<Graph_Dialect, "call", [Pure]> {
  let summary = "One call of a framework operation";
  let description = [{
    The callee is the framework's own name. Non-tensor arguments are attributes under the name of the
    schema argument; a number in a tensor position `i` is the attribute `scalar<i>` and takes no
    operand. Whether the callee is known, and whether operands and attributes fit it, is checked by
    `spyre-graph-verify` against the op table, which reports all offenders at once.

    ```mlir
    %1 = graph.call "aten.sum.dim_IntList"(%0) {dim = array<i64: 0>, keepdim = false}
         : (tensor<256x192xf16>) -> tensor<192xf16>
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyRankedTensor>:$operands);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$callee `(` $operands `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
