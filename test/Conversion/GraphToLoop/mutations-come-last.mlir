// x and y change places: each old value is saved before the first of them is overwritten, and the result is
// read before both.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%out0
// CHECK: loop.compute "copy" ins(%y {{.*}}) outs(%[[Y:.*]] : memref
// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%[[X:.*]] : memref
// CHECK: loop.compute "copy" ins(%[[Y]] {{.*}}) outs(%x :
// CHECK: loop.compute "copy" ins(%[[X]] {{.*}}) outs(%y :
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}, %arg1: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}, tensor<4x6xf16> {graph.mutates = 0 : i64, graph.stride = array<i64: 6, 1>}, tensor<4x6xf16> {graph.mutates = 1 : i64, graph.stride = array<i64: 6, 1>}) {
  return %arg0, %arg1, %arg0 : tensor<4x6xf16>, tensor<4x6xf16>, tensor<4x6xf16>
}
