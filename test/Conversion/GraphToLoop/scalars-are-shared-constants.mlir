// A number in a tensor position becomes a constant buffer; equal numbers share one.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK-COUNT-1: loop.buffer "const" "constant" stride [] {{.*}} {value = 2.000000e+00 : f64} : memref<f16>
// CHECK-NOT: "constant"
// CHECK: loop.compute "mul" ins(%x, %const
// CHECK: loop.compute "add" ins(%const, %{{.*}} : memref<f16>, memref<4x6xf16>)
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}) {
  %0 = graph.call "aten.mul.Tensor"(%arg0) {scalar1 = 2.0 : f64} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  %1 = graph.call "aten.add.Tensor"(%0) {scalar0 = 2 : i64} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  return %1 : tensor<4x6xf16>
}
