//===- Loop.td - loop IR: one operation per device operation --------------------------------===//
#ifndef SPYRE_DIALECT_LOOP_TD
#define SPYRE_DIALECT_LOOP_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"

def Loop_Dialect : Dialect {
  let name = "loop";
  let cppNamespace = "::spyre::loop";
  let summary = "Device operations as loop nests over named variables with affine accesses to buffers.";
  let description = [{
    A module holds one `func.func @main()` without arguments: buffers first, then operations in program
    order. Planning passes add attributes (layout, splits, pool offset); they never reorder operations.
  }];
  let extraClassDeclaration = [{
    ::spyre::loop::LayoutCache layoutCache;
  }];
}

def Loop_BufferOp : Op<Loop_Dialect, "buffer", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Declares a tensor in device memory";
  let description = [{
    Kinds: `input` and `output` (with their position), `constant` (a scalar the runtime provides, `value`),
    `temp` (an intermediate), `host` (a value of any type that only `loop.host` sees and that never lies on
    the device). `stride` are the host strides of inputs and outputs in elements; the layout is
    fixed for inputs and constants, chosen by `spyre-loop-propagate-layouts` for the others unless given.

    ```mlir
    %x = loop.buffer "x" input index 0 stride [512, 1] : memref<256x512xf16>
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$kind, OptionalAttr<I64Attr>:$index,
                       DenseI64ArrayAttr:$stride, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<DictionaryAttr>:$layout, OptionalAttr<F64Attr>:$value,
                       OptionalAttr<I64Attr>:$pool_offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $name $kind (`index` $index^)? `stride` $stride (`layout` $layout^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Loop_ComputeOp : Op<Loop_Dialect, "compute"> {
  let summary = "One device operation over an iteration space";
  let description = [{
    `vars` name the iteration variables, `extents` their trip counts; the last `reductions` of them are
    reduced. `maps` has one affine map per input, then one for the output, from the variables to the logical
    dimensions of the buffer; accesses are linear with non-negative coefficients (views have been resolved by
    splitting variables, so no division or modulo is left). `copy` moves elements; whether it becomes
    `identity` or `ReStickifyOpHBM` follows from the layouts. `splits` gives the number of cores per variable.
    `constants` are the numbers of the device operation, by name.

    An indirect dimension is chosen by a value: `indirect` lists [input, dimension, index input]; the map of
    the input is 0 there, and the index input, which holds integers, is read through its own map.

    ```mlir
    loop.compute "batchmatmul" ins(%x, %y : memref<256x512xf16>, memref<512x192xf16>)
        outs(%z : memref<256x192xf16>) vars ["c0", "c1", "c2"] extents [256, 192, 512] reductions 1
        maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
              affine_map<(d0, d1, d2) -> (d0, d1)>]
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyMemRef>:$inputs, AnyMemRef:$output,
                       StrArrayAttr:$vars, DenseI64ArrayAttr:$extents, I64Attr:$reductions,
                       AffineMapArrayAttr:$maps, OptionalAttr<DictionaryAttr>:$constants,
                       OptionalAttr<ArrayAttr>:$indirect, OptionalAttr<DenseI64ArrayAttr>:$splits);
  let assemblyFormat = [{
    $callee `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $output `:` type($output) `)`
    `vars` $vars `extents` $extents `reductions` $reductions `maps` $maps (`constants` $constants^)?
    (`indirect` $indirect^)? (`splits` $splits^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Loop_HostOp : Op<Loop_Dialect, "host", [AttrSizedOperandSegments]> {
  let summary = "A call of the framework, on the CPU, between device operations";
  let description = [{
    Reads whole buffers in any layout and writes whole buffers in the default layout; no other operation
    writes those. Buffers it touches have memory of their own instead of a place in the pool. `node`,
    `results`, `gate` and the reason are those of `graph.host`.

    ```mlir
    loop.host "aten.sort.default" ins(%x : memref<64xf16>) outs(%v, %i : memref<64xf16>, memref<64xi64>)
        node 12 results [0, 1] gate 1 "'aten.sort.default' is not in the op table"
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs,
                       I64Attr:$node, DenseI64ArrayAttr:$result_numbers, I64Attr:$gate,
                       StrAttr:$reason);
  let assemblyFormat = [{
    $callee `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` $outputs `:` type($outputs) `)`
    `node` $node `results` $result_numbers `gate` $gate $reason attr-dict
  }];
  let hasVerifier = 1;
}

#endif
