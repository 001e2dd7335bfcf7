// A bias without a weight stays the bias: the weight is a one.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK: %[[ONE:.*]] = graph.call "aten.full.default"() {fill_value = 1.000000e+00 : f64}
// CHECK: graph.call "spyre.layernormnorm.default"(%arg0, %{{.*}}, %{{.*}}, %[[ONE]], %arg1)
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}, %arg1: tensor<6xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "b", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}) {
  %0 = graph.call "aten.layer_norm.default"(%arg0, %arg1) {absent = array<i64: 2>, normalized_shape = array<i64: 6>} : (tensor<4x6xf16>, tensor<6xf16>) -> tensor<4x6xf16>
  return %0 : tensor<4x6xf16>
}
