// A [23, 11] tensor viewed as [253] and put behind 168 others: written in place, the part would be walked in steps of 11,
// which do not divide the 421 elements of the result. The view is copied first, and then written as one piece.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK-DAG: #[[SHIFT:.*]] = affine_map<(d0) -> (d0 + 168)>
// CHECK: loop.compute "copy" ins(%y : memref<23x11xf16>) outs(%[[FLAT:.*]] : memref<253xf16>) {{.*}} extents [23, 11]
// CHECK: loop.compute "copy" ins(%[[FLAT]] : memref<253xf16>) outs(%out0 : memref<421xf16>) vars ["c0"] extents [253] reductions 0 maps [{{.*}}, #[[SHIFT]]]
func.func @main(%arg0: tensor<168xf16> {graph.layout = {device_size = array<i64: 3, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>},
    %arg1: tensor<23x11xf16> {graph.layout = {device_size = array<i64: 1, 23, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 11, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 11, 1>}) -> (tensor<421xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.view.default"(%arg1) {size = array<i64: 253>} : (tensor<23x11xf16>) -> tensor<253xf16>
  %1 = graph.call "aten.cat.default"(%arg0, %0) {dim = 0 : i64} : (tensor<168xf16>, tensor<253xf16>) -> tensor<421xf16>
  return %1 : tensor<421xf16>
}
