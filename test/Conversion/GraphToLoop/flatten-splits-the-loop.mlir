// x [50, 10, 200] flattened to [500, 200] plus y [500, 200]: no copy; the loop of 500 becomes 50 x 10 so that both accesses
// are linear.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2) -> (d0 * 10 + d1, d2)>
// CHECK-NOT: "copy"
// CHECK: loop.compute "add" ins(%x, %y : {{.*}}) outs(%out0 : memref<500x200xf16>) vars ["c0", "c1", "c2"] extents [50, 10, 200] reductions 0 maps [#[[X]], #[[Y]], #[[Y]]]
func.func @main(%arg0: tensor<50x10x200xf16> {graph.layout = {device_size = array<i64: 10, 4, 50, 64>, format = "SEN169_FP16", stride_map = array<i64: 200, 64, 2000, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 2000, 200, 1>}, %arg1: tensor<500x200xf16> {graph.layout = {device_size = array<i64: 4, 500, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 200, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 200, 1>}) -> (tensor<500x200xf16> {graph.stride = array<i64: 200, 1>}) {
  %0 = graph.call "aten.view.default"(%arg0) {size = array<i64: 500, 200>} : (tensor<50x10x200xf16>) -> tensor<500x200xf16>
  %1 = graph.call "aten.add.Tensor"(%0, %arg1) : (tensor<500x200xf16>, tensor<500x200xf16>) -> tensor<500x200xf16>
  return %1 : tensor<500x200xf16>
}
