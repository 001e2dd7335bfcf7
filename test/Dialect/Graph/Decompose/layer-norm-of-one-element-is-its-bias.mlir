// One element is its own mean: no statistics are asked for, which need a dimension to run along.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK-NOT: exx2
// CHECK: %[[ZERO:.*]] = graph.call "aten.sub.Tensor"(%arg0, %arg0)
// CHECK: %[[SCALED:.*]] = graph.call "aten.mul.Tensor"(%[[ZERO]], %arg1)
// CHECK: graph.call "aten.add.Tensor"(%[[SCALED]], %arg2)
func.func @main(%arg0: tensor<3x1xf16>, %arg1: tensor<1xf16>, %arg2: tensor<1xf16>) -> tensor<3x1xf16> {
  %0 = graph.call "aten.layer_norm.default"(%arg0, %arg1, %arg2) {normalized_shape = array<i64: 1>} : (tensor<3x1xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<3x1xf16>
  return %0 : tensor<3x1xf16>
}
