// A graph that returns its input, and one value twice, still owns its outputs.
// RUN: spyre-opt %s --spyre-graph-to-loop | FileCheck %s

// CHECK: loop.compute "exp" ins(%x {{.*}}) outs(%out1
// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%out0
// CHECK: loop.compute "copy" ins(%out1 {{.*}}) outs(%out2
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}, tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}, tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}) {
  %0 = graph.call "aten.exp.default"(%arg0) : (tensor<4x6xf16>) -> tensor<4x6xf16>
  return %arg0, %0, %0 : tensor<4x6xf16>, tensor<4x6xf16>, tensor<4x6xf16>
}
