// Attention scores: q [2, 4, 32, 64] and k [2, 4, 64, 128] read as batches of 8, the product read as [2, 4, 32, 128]: sequence
// and head stay loops of their own and nothing is copied. [spec: front-end 1.6]
// RUN: spyre-opt %s --spyre-graph-to-loop --spyre-loop-elide-output-copies | FileCheck %s

// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-NOT: "temp"
// CHECK: loop.compute "batchmatmul" ins(%q, %k : {{.*}}) outs(%out0 : memref<2x4x32x128xf16>) {{.*}} extents [2, 4, 32, 128, 64] reductions 1 maps [#[[Q]], #[[K]], #[[OUT]]]
// CHECK-NOT: loop.compute
func.func @main(%arg0: tensor<2x4x32x64xf16> {graph.layout = {device_size = array<i64: 4, 32, 1, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 2048, 64, 64, 8192, 1>}, graph.name = "q", graph.offset = 0 : i64, graph.stride = array<i64: 8192, 2048, 64, 1>}, %arg1: tensor<2x4x64x128xf16> {graph.layout = {device_size = array<i64: 4, 64, 2, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 8192, 128, 64, 32768, 1>}, graph.name = "k", graph.offset = 0 : i64, graph.stride = array<i64: 32768, 8192, 128, 1>}) -> (tensor<2x4x32x128xf16> {graph.stride = array<i64: 16384, 4096, 128, 1>}) {
  %0 = graph.call "aten.view.default"(%arg0) {size = array<i64: 8, 32, 64>} : (tensor<2x4x32x64xf16>) -> tensor<8x32x64xf16>
  %1 = graph.call "aten.view.default"(%arg1) {size = array<i64: 8, 64, 128>} : (tensor<2x4x64x128xf16>) -> tensor<8x64x128xf16>
  %2 = graph.call "aten.bmm.default"(%0, %1) : (tensor<8x32x64xf16>, tensor<8x64x128xf16>) -> tensor<8x32x128xf16>
  %3 = graph.call "aten.view.default"(%2) {size = array<i64: 2, 4, 32, 128>} : (tensor<8x32x128xf16>) -> tensor<2x4x32x128xf16>
  return %3 : tensor<2x4x32x128xf16>
}
