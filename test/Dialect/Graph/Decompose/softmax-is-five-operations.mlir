// The maximum is taken off first, so that no power overflows; the reduced dimension is kept with size 1.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK: %[[MAX:.*]] = graph.call "aten.amax.default"(%arg0) {dim = array<i64: 1>, keepdim = true} : (tensor<4x100xf16>) -> tensor<4x1xf16>
// CHECK: %[[SHIFTED:.*]] = graph.call "aten.sub.Tensor"(%arg0, %[[MAX]])
// CHECK: %[[POWERS:.*]] = graph.call "aten.exp.default"(%[[SHIFTED]])
// CHECK: %[[SUM:.*]] = graph.call "aten.sum.dim_IntList"(%[[POWERS]]) {dim = array<i64: 1>, keepdim = true}
// CHECK: graph.call "aten.div.Tensor"(%[[POWERS]], %[[SUM]])
// CHECK-NOT: softmax
func.func @main(%arg0: tensor<4x100xf16>) -> tensor<4x100xf16> {
  %0 = graph.call "aten._softmax.default"(%arg0) {dim = -1 : i64, half_to_float = false} : (tensor<4x100xf16>) -> tensor<4x100xf16>
  return %0 : tensor<4x100xf16>
}
