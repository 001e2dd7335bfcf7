// Nobody but the device could run a call without a number: it is an error, which names the gate.
// RUN: not spyre-opt %s --spyre-graph-split-host --spyre-graph-verify 2>&1 | FileCheck %s

// CHECK: SPYRE-E1002: 1 call(s) of 1 operation(s) that the device compiler does not know: aten.cos.default (1x)
// CHECK-SAME: [gate 1: compatibility]
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.sin.default"(%arg0) node 1 : (tensor<4xf16>) -> tensor<4xf16>
  %1 = graph.call "aten.cos.default"(%0) : (tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}
