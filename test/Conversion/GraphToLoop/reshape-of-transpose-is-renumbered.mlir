// [4, 6] transposed and viewed as [8, 3]: the cut falls inside the dimension of 4, no index map can say it. The elements are
// numbered anew in a buffer of one dimension. Its layout has one element per stick (device_size [1, 24, 64]): there every
// cut is a legal reading.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s
// RUN: spyre-opt %s --spyre-graph-to-loop --spyre-loop-propagate-layouts | FileCheck %s --check-prefix=LAYOUT

// CHECK: %[[ROWS:.*]] = loop.buffer "t0" "temp" stride [1] : memref<24xf16>
// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%[[ROWS]] : memref<24xf16>) vars ["c0", "c1"] extents [6, 4]
// CHECK: loop.compute "exp" ins(%[[ROWS]] : memref<24xf16>) {{.*}} extents [8, 3]
// LAYOUT: loop.buffer "t0" "temp" stride [1] layout {device_size = array<i64: 1, 24, 64>
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<8x3xf16> {graph.stride = array<i64: 3, 1>}) {
  %0 = graph.call "aten.t.default"(%arg0) : (tensor<4x6xf16>) -> tensor<6x4xf16>
  %1 = graph.call "aten.view.default"(%0) {size = array<i64: 8, 3>} : (tensor<6x4xf16>) -> tensor<8x3xf16>
  %2 = graph.call "aten.exp.default"(%1) : (tensor<8x3xf16>) -> tensor<8x3xf16>
  return %2 : tensor<8x3xf16>
}
