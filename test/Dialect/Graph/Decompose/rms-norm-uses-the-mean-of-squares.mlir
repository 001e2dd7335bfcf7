// Squares are summed in fp32 and rounded once, as their mean; the mean of the elements counts as 0.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK: %[[PAIR:.*]] = graph.call "spyre.exx2.default"(%arg0) {exx2Scale = 1.000000e-02 : f64, useZeroMean = 1 : i64} : (tensor<4x100xf16>) -> tensor<4x1xf16>
// CHECK: %[[SCALE:.*]] = graph.call "spyre.layernormscale.default"(%[[PAIR]]) {eps = 1.000000e-03 : f64}
// CHECK: %[[BIAS:.*]] = graph.call "aten.full.default"() {fill_value = 0.000000e+00 : f64} : () -> tensor<100xf16>
// CHECK: graph.call "spyre.layernormnorm.default"(%arg0, %[[PAIR]], %[[SCALE]], %arg1, %[[BIAS]])
func.func @main(%arg0: tensor<4x100xf16>, %arg1: tensor<100xf16>) -> tensor<4x100xf16> {
  %0 = graph.call "aten.rms_norm.default"(%arg0, %arg1) {normalized_shape = array<i64: 100>, eps = 1.000000e-03 : f64} : (tensor<4x100xf16>, tensor<100xf16>) -> tensor<4x100xf16>
  return %0 : tensor<4x100xf16>
}
