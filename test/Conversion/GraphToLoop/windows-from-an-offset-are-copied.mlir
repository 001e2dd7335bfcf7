// Windows of 4 every 5 elements, from element 32 on: 32 = 6 * 5 + 2, so the last element of a window would be in the next
// group of 5. What is read is copied to where it begins at 0 (and ends at a multiple of 5).
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK: loop.compute "copy" ins(%x : memref<135xf16>) outs(%[[PART:.*]] : memref<45xf16>) {{.*}} extents [44]
// CHECK: loop.compute "exp" ins(%[[PART]] : memref<45xf16>) {{.*}} extents [9, 4]
func.func @main(%arg0: tensor<135xf16> {graph.layout = {device_size = array<i64: 3, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<9x4xf16> {graph.stride = array<i64: 4, 1>}) {
  %0 = graph.call "aten.narrow.default"(%arg0) {dim = 0 : i64, start = 32 : i64, length = 46 : i64} : (tensor<135xf16>) -> tensor<46xf16>
  %1 = graph.call "aten.unfold.default"(%0) {dimension = 0 : i64, size = 4 : i64, step = 5 : i64} : (tensor<46xf16>) -> tensor<9x4xf16>
  %2 = graph.call "aten.exp.default"(%1) : (tensor<9x4xf16>) -> tensor<9x4xf16>
  return %2 : tensor<9x4xf16>
}
