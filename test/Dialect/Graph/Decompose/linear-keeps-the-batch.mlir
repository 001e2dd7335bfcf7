// x [2, 9, 100] times a weight [64, 100]: the rows stay two dimensions, the weight is read for both.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK: %[[T:.*]] = graph.call "aten.transpose.int"(%arg1) {dim0 = 0 : i64, dim1 = 1 : i64}
// CHECK: %[[W:.*]] = graph.call "aten.expand.default"(%[[T]]) {size = array<i64: 2, 100, 64>}
// CHECK: graph.call "spyre.batched_matmul.default"(%arg0, %[[W]]) : (tensor<2x9x100xf16>, tensor<2x100x64xf16>) -> tensor<2x9x64xf16>
func.func @main(%arg0: tensor<2x9x100xf16>, %arg1: tensor<64x100xf16>) -> tensor<2x9x64xf16> {
  %0 = graph.call "aten.linear.default"(%arg0, %arg1) : (tensor<2x9x100xf16>, tensor<64x100xf16>) -> tensor<2x9x64xf16>
  return %0 : tensor<2x9x64xf16>
}
