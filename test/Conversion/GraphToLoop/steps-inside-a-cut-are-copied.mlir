// [128] viewed as [8, 16] and every fifth of the 16: places 16 a + 5 b cannot be written as digits, since 5 does not divide
// 16. The cut is copied into a dimension of its own; from there the steps are read (after a copy that pads 16 to 20).
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK: %[[ROWS:.*]] = loop.buffer "t0" "temp" stride [16, 1] : memref<8x16xf16>
// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%[[ROWS]] : memref<8x16xf16>) {{.*}} extents [8, 16]
// CHECK-NOT: ins(%x
// CHECK: loop.compute "exp" {{.*}} extents [8, 4]
func.func @main(%arg0: tensor<128xf16> {graph.layout = {device_size = array<i64: 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<8x4xf16> {graph.stride = array<i64: 4, 1>}) {
  %0 = graph.call "aten.view.default"(%arg0) {size = array<i64: 8, 16>} : (tensor<128xf16>) -> tensor<8x16xf16>
  %1 = graph.call "aten.slice.Tensor"(%0) {dim = 1 : i64, start = 0 : i64, end = 16 : i64, step = 5 : i64} : (tensor<8x16xf16>) -> tensor<8x4xf16>
  %2 = graph.call "aten.exp.default"(%1) : (tensor<8x4xf16>) -> tensor<8x4xf16>
  return %2 : tensor<8x4xf16>
}
