// The last three variables are lanes, results and what is searched. Places of 16-bit elements are two
// sticks for one, so their buffer ends where a stick of elements does; what is read of it does not.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK-DAG: %[[PLACES:.*]] = loop.buffer {{.*}} : memref<2x128xi64>
// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2) -> (d1, d0)>
// CHECK: loop.compute "topkvalue" ins(%x : memref<5x67xf16>) outs(%out0 : memref<2x67xf16>) vars ["c0", "c1", "c2"] extents [67, 2, 5] reductions 1
// CHECK: loop.compute "topkindex" ins(%x : memref<5x67xf16>) outs(%[[PLACES]] : memref<2x128xi64>) vars ["c0", "c1", "c2"] extents [67, 2, 5] reductions 1
// CHECK: loop.compute "copy" ins(%[[PLACES]] : memref<2x128xi64>) outs(%out1 : memref<2x67xi64>)
func.func @main(%arg0: tensor<5x67xf16> {graph.layout = {device_size = array<i64: 2, 5, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 67, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 67, 1>}) -> (tensor<2x67xf16> {graph.stride = array<i64: 67, 1>}, tensor<2x67xi64> {graph.stride = array<i64: 67, 1>}) {
  %0 = graph.call "spyre.topkvalue.default"(%arg0) {k = 2 : i64, dim = 0 : i64} : (tensor<5x67xf16>) -> tensor<2x67xf16>
  %1 = graph.call "spyre.topkindex.default"(%arg0) {k = 2 : i64, dim = -2 : i64} : (tensor<5x67xf16>) -> tensor<2x67xi64>
  return %0, %1 : tensor<2x67xf16>, tensor<2x67xi64>
}
