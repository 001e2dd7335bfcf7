// Several reduced dimensions become single reductions, highest first and the one with the sticks last; keepdim is a view.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s
// RUN: sed -e 's/array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>/array<i64: 1, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 384, 1, 6>/' %s | spyre-opt - --spyre-graph-to-loop | FileCheck %s --check-prefix=ROWS

// CHECK: loop.compute "max" ins(%x : memref<4x6xf16>) outs(%[[T:.*]] : memref<6xf16>) vars ["c0", "c1"] extents [6, 4] reductions 1
// CHECK: loop.compute "max" ins(%[[T]] : memref<6xf16>) outs(%[[U:.*]] : memref<f16>) vars ["c0"] extents [6] reductions 1
// ROWS: loop.compute "max" ins(%x : memref<4x6xf16>) outs(%[[T:.*]] : memref<4xf16>) vars ["c0", "c1"] extents [4, 6] reductions 1
// ROWS: loop.compute "max" ins(%[[T]] : memref<4xf16>) outs(%[[U:.*]] : memref<f16>) vars ["c0"] extents [4] reductions 1
// CHECK: loop.compute "copy" ins(%[[U]] : memref<f16>) outs(%out0 : memref<1x1xf16>)
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<1x1xf16> {graph.stride = array<i64: 1, 1>}) {
  %0 = graph.call "aten.amax.default"(%arg0) {dim = array<i64: 0, -1>, keepdim = true} : (tensor<4x6xf16>) -> tensor<1x1xf16>
  return %0 : tensor<1x1xf16>
}
