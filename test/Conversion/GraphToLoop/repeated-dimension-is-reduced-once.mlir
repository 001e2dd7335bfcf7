// x [4, 1] repeated to [4, 6] and reduced over the first dimension: the sum runs over x itself and its result is repeated.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK: loop.compute "sum" ins(%x : memref<4x1xf16>) outs(%{{.*}} : memref<1xf16>) vars ["c0"] extents [4] reductions 1
// CHECK: loop.compute "exp" {{.*}} outs(%out0 : memref<6xf16>)
func.func @main(%arg0: tensor<4x1xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: -1, 1, -1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1, 1>}) -> (tensor<6xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.expand.default"(%arg0) {size = array<i64: 4, 6>} : (tensor<4x1xf16>) -> tensor<4x6xf16>
  %1 = graph.call "aten.sum.dim_IntList"(%0) {dim = array<i64: 0>} : (tensor<4x6xf16>) -> tensor<6xf16>
  %2 = graph.call "aten.exp.default"(%1) : (tensor<6xf16>) -> tensor<6xf16>
  return %2 : tensor<6xf16>
}
