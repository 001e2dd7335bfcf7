// Two index tensors name one of 6 * 70 joined places. A second number of 70 would be the place of another row there, so each
// number first chooses from as many zeros as its own dimension has places.
// RUN: spyre-opt %s --spyre-graph-verify --spyre-graph-to-loop | FileCheck %s

// CHECK: loop.compute "where3"
// CHECK: loop.compute "copy"{{.*}}outs(%[[SIX:[^ ]+]] : memref<6xi32>){{.*}}index-check
// CHECK: loop.compute "copy" ins(%{{.*}}, %[[SIX]] : {{.*}}indirect [array<i64: 1, 0, 0>]
// CHECK: loop.compute "add"
// CHECK: loop.compute "where3"
// CHECK: loop.compute "copy"{{.*}}outs(%[[SEVENTY:[^ ]+]] : memref<70xi32>){{.*}}index-check
// CHECK: loop.compute "copy" ins(%{{.*}}, %[[SEVENTY]] : {{.*}}indirect [array<i64: 1, 0, 0>]
// CHECK: loop.compute "add"
// CHECK: loop.compute "mul"
// CHECK: loop.compute "add"
// CHECK: loop.compute "copy"{{.*}}memref<420x64xf16>{{.*}}indirect [array<i64: 1, 0, 0>]
// CHECK-NOT: indirect
func.func @main(%x: tensor<6x70x64xf16> {graph.layout = {device_size = array<i64: 6, 1, 70, 64>, format = "SEN169_FP16", stride_map = array<i64: 4480, 64, 64, 1>}, graph.name = "x", graph.stride = array<i64: 4480, 64, 1>},
                %i: tensor<10xi32> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "i", graph.stride = array<i64: 1>},
                %j: tensor<10xi32> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "j", graph.stride = array<i64: 1>})
    -> (tensor<10x64xf16> {graph.stride = array<i64: 64, 1>}) {
  %0 = graph.call "aten.index.Tensor"(%x, %i, %j) : (tensor<6x70x64xf16>, tensor<10xi32>, tensor<10xi32>) -> tensor<10x64xf16>
  return %0 : tensor<10x64xf16>
}
