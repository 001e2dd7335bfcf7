// Indices of aten.index may be negative: where(i < 0 and i + 100 >= 0, i + 100, i), in integers, once for both tables of 100
// rows. What is further below is not moved, so that the device's error names the user's own number.
// RUN: spyre-opt %s --spyre-graph-verify --spyre-graph-to-loop | FileCheck %s

// CHECK: loop.compute "add"
// CHECK-COUNT-3: loop.compute "lesserthan"
// CHECK: loop.compute "where3"
// CHECK-NOT: loop.compute "lesserthan"
// CHECK: loop.compute "copy"{{.*}}indirect [array<i64: 1, 0, 0>]
// CHECK: loop.compute "copy"{{.*}}indirect [array<i64: 1, 0, 0>]
func.func @main(%w: tensor<100x64xf16> {graph.layout = {device_size = array<i64: 1, 100, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>}, graph.name = "w", graph.stride = array<i64: 64, 1>},
                %v: tensor<100x64xf16> {graph.layout = {device_size = array<i64: 1, 100, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>}, graph.name = "v", graph.stride = array<i64: 64, 1>},
                %i: tensor<10xi32> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "i", graph.stride = array<i64: 1>})
    -> (tensor<10x64xf16> {graph.stride = array<i64: 64, 1>}, tensor<10x64xf16> {graph.stride = array<i64: 64, 1>}) {
  %0 = graph.call "aten.index.Tensor"(%w, %i) : (tensor<100x64xf16>, tensor<10xi32>) -> tensor<10x64xf16>
  %1 = graph.call "aten.index.Tensor"(%v, %i) : (tensor<100x64xf16>, tensor<10xi32>) -> tensor<10x64xf16>
  return %0, %1 : tensor<10x64xf16>, tensor<10x64xf16>
}
