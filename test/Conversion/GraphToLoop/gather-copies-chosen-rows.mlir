// An embedding is one copy: the index tensor is an input, and the table's dimension 0 is read where it says.
// RUN: spyre-opt %s --spyre-graph-verify --spyre-graph-to-loop | FileCheck %s

// CHECK-DAG: #[[INDEX:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[TABLE:.*]] = affine_map<(d0, d1, d2) -> (0, d2)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK: loop.compute "copy" ins(%i, %w : memref<4x10xi64>, memref<100x256xf16>) outs(%out0 : memref<4x10x256xf16>)
// CHECK-SAME: extents [4, 10, 256] reductions 0 maps [#[[INDEX]], #[[TABLE]], #[[OUT]]]
// CHECK-SAME: indirect [array<i64: 1, 0, 0>]
// CHECK-NOT: loop.compute
func.func @main(%w: tensor<100x256xf16> {graph.layout = {device_size = array<i64: 4, 100, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>}, graph.name = "w", graph.stride = array<i64: 256, 1>},
                %i: tensor<4x10xi64> {graph.layout = {device_size = array<i64: 1, 4, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 10, 1>}, graph.name = "i", graph.stride = array<i64: 10, 1>})
    -> (tensor<4x10x256xf16> {graph.stride = array<i64: 2560, 256, 1>}) {
  %0 = graph.call "aten.embedding.default"(%w, %i) : (tensor<100x256xf16>, tensor<4x10xi64>) -> tensor<4x10x256xf16>
  return %0 : tensor<4x10x256xf16>
}
