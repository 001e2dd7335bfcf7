// x [4, 24, 64] read as [96, 64], times w, read as [4, 24, 128]: batch and rows stay loops of their own, so that work division
// may split either one, and nothing is copied. [spec: front-end 1.4]
// RUN: spyre-opt %s --spyre-graph-to-loop --spyre-loop-elide-output-copies | FileCheck %s

// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-NOT: "temp"
// CHECK: loop.compute "batchmatmul" ins(%x, %w : {{.*}}) outs(%out0 : memref<4x24x128xf16>) {{.*}} extents [4, 24, 128, 64] reductions 1 maps [#[[X]], #[[W]], #[[OUT]]]
// CHECK-NOT: loop.compute
func.func @main(%arg0: tensor<4x24x64xf16> {graph.layout = {device_size = array<i64: 24, 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1536, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1536, 64, 1>}, %arg1: tensor<64x128xf16> {graph.layout = {device_size = array<i64: 2, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}, graph.name = "w", graph.offset = 0 : i64, graph.stride = array<i64: 128, 1>}) -> (tensor<4x24x128xf16> {graph.stride = array<i64: 3072, 128, 1>}) {
  %0 = graph.call "aten.view.default"(%arg0) {size = array<i64: 96, 64>} : (tensor<4x24x64xf16>) -> tensor<96x64xf16>
  %1 = graph.call "aten.mm.default"(%0, %arg1) : (tensor<96x64xf16>, tensor<64x128xf16>) -> tensor<96x128xf16>
  %2 = graph.call "aten.view.default"(%1) {size = array<i64: 4, 24, 128>} : (tensor<96x128xf16>) -> tensor<4x24x128xf16>
  return %2 : tensor<4x24x128xf16>
}
