// An input is read in other sticks, and then written into: the copy is out of date, which harms nobody.
// RUN: spyre-compile %s --no-cache --compile-to=layout -o %t && FileCheck %s < %t
// CHECK: loop.compute "copy" ins(%in2 {{.*}}outs(%in2_restick
// CHECK: loop.compute "copy" ins(%in3, %in2_restick
// CHECK: loop.compute "copy" ins(%in1 {{.*}}outs(%in2{{ }}
func.func @main(%arg1: tensor<9x67xf32> {graph.layout = {device_size = array<i64: 3, 9, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 67, 1>}, graph.name = "in1", graph.offset = 0 : i64, graph.stride = array<i64: 67, 1>},
    %arg2: tensor<9x67xf32> {graph.layout = {device_size = array<i64: 3, 9, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 67, 1>}, graph.name = "in2", graph.offset = 0 : i64, graph.stride = array<i64: 67, 1>},
    %arg3: tensor<4xi64> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "in3", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<9x4xf32> {graph.stride = array<i64: 4, 1>}, tensor<9x67xf32> {graph.mutates = 1 : i64, graph.stride = array<i64: 67, 1>}) {
  %7 = graph.call "aten.index_select.default"(%arg2, %arg3) {dim = 1 : i64} : (tensor<9x67xf32>, tensor<4xi64>) -> tensor<9x4xf32>
  return %7, %arg1 : tensor<9x4xf32>, tensor<9x67xf32>
}
