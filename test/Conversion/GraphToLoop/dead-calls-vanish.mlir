// A chain of calls whose result nobody returns leaves no operation and no buffer behind.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK-NOT: "temp"
// CHECK: loop.compute "exp"
// CHECK-NOT: loop.compute
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}) {
  %0 = graph.call "aten.mul.Tensor"(%arg0, %arg0) : (tensor<4x6xf16>, tensor<4x6xf16>) -> tensor<4x6xf16>
  %1 = graph.call "aten.mul.Tensor"(%0, %arg0) : (tensor<4x6xf16>, tensor<4x6xf16>) -> tensor<4x6xf16>
  %2 = graph.call "aten.exp.default"(%arg0) : (tensor<4x6xf16>) -> tensor<4x6xf16>
  return %2 : tensor<4x6xf16>
}
