// The framework computes in the type of the result, and compares in a type that holds both.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK: [[A:%.*]] = graph.call "prims.convert_element_type.default"(%arg0) {{.*}} -> tensor<4x68xf32>
// CHECK: graph.call "aten.add.Tensor"([[A]], %arg1)
// CHECK: [[B:%.*]] = graph.call "prims.convert_element_type.default"(%arg0) {{.*}} -> tensor<4x68xf32>
// CHECK: graph.call "aten.sum.dim_IntList"([[B]])
// CHECK: [[C:%.*]] = graph.call "prims.convert_element_type.default"(%arg0) {{.*}} -> tensor<4x68xf32>
// CHECK: [[D:%.*]] = graph.call "aten.where.self"({{.*}}, [[C]])
// CHECK: graph.call "spyre.device.greaterthan"([[D]], %arg1)
func.func @main(%arg0: tensor<4x68xf16> {graph.layout = {device_size = array<i64: 2, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 68, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 68, 1>}, %arg1: tensor<4x68xf32> {graph.layout = {device_size = array<i64: 3, 4, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 68, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 68, 1>}) -> (tensor<4x68xf32> {graph.stride = array<i64: 68, 1>}, tensor<4xf32> {graph.stride = array<i64: 1>}, tensor<4x68xi1> {graph.stride = array<i64: 68, 1>}) {
  %0 = graph.call "aten.add.Tensor"(%arg0, %arg1) : (tensor<4x68xf16>, tensor<4x68xf32>) -> tensor<4x68xf32>
  %1 = graph.call "aten.sum.dim_IntList"(%arg0) {dim = array<i64: 1>} : (tensor<4x68xf16>) -> tensor<4xf32>
  %2 = graph.call "aten.gt.Tensor"(%arg0, %arg1) : (tensor<4x68xf16>, tensor<4x68xf32>) -> tensor<4x68xi1>
  return %0, %1, %2 : tensor<4x68xf32>, tensor<4xf32>, tensor<4x68xi1>
}
