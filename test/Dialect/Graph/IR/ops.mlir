// Graph IR prints and parses back to itself. One call with attributes of each kind.
// RUN: spyre-opt %s | spyre-opt | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: graph.name = "x"
func.func @main(%arg0: tensor<4x8xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 8, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 8, 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}) {
  // CHECK: graph.call "aten.add.Tensor"(%{{.*}}) {scalar1 = 1.500000e+00 : f64} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %0 = graph.call "aten.add.Tensor"(%arg0) {scalar1 = 1.5 : f64} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  // CHECK: graph.call "aten.sum.dim_IntList"(%{{.*}}) {dim = array<i64: 1>, keepdim = false}
  %1 = graph.call "aten.sum.dim_IntList"(%0) {dim = array<i64: 1>, keepdim = false} : (tensor<4x8xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}
