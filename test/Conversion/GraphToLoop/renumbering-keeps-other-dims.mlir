// [64, 6, 10] viewed as [64, 4, 15]: the last two dimensions are renumbered, the first stays a dimension of the buffer and
// carries the sticks: dense, no buffer of one element per stick.
// RUN: spyre-opt %s --spyre-graph-to-loop --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: loop.buffer "t0" "temp" stride [60, 1] layout {device_size = array<i64: 1, 60, 64>, {{.*}}} : memref<64x60xf16>
// CHECK-NOT: device_size = array<i64: 60, 1, 64, 64>
func.func @main(%arg0: tensor<64x6x10xf16> {graph.layout = {device_size = array<i64: 6, 1, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 10, 64, 60, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 60, 10, 1>}) -> (tensor<64x4x15xf16> {graph.stride = array<i64: 60, 15, 1>}) {
  %1 = graph.call "aten.view.default"(%arg0) {size = array<i64: 64, 4, 15>} : (tensor<64x6x10xf16>) -> tensor<64x4x15xf16>
  %2 = graph.call "aten.exp.default"(%1) : (tensor<64x4x15xf16>) -> tensor<64x4x15xf16>
  return %2 : tensor<64x4x15xf16>
}
