// All of x, then one row over it.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK: #[[ROW:.*]] = affine_map<(d0) -> (2, d0)>
// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%out0 {{.*}} extents [4, 6]
// CHECK: loop.compute "copy" ins(%y {{.*}}) outs(%out0 {{.*}} extents [6] reductions 0 maps [#{{.*}}, #[[ROW]]]
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}, %arg1: tensor<6xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}) {
  %0 = graph.call "aten.select_scatter.default"(%arg0, %arg1) {dim = 0 : i64, index = -2 : i64} : (tensor<4x6xf16>, tensor<6xf16>) -> tensor<4x6xf16>
  return %0 : tensor<4x6xf16>
}
