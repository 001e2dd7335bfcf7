// A call with a number that a gate refuses goes back to the caller, with the gate and the reason; a
// composite is asked what it would be made of. What stays loses its number.
// RUN: spyre-opt %s --spyre-graph-split-host --spyre-graph-verify | FileCheck %s

// CHECK: graph.call "aten.exp.default"(%arg0) :
// CHECK: graph.host "aten.sin.default"({{.*}}) node 1 results [] gate 1 "'aten.sin.default' is not in the op table"
// CHECK: graph.host "aten.add.Tensor"({{.*}}) node 2 results [] gate 2 "aten.add.Tensor: alpha other than 1
// CHECK: graph.host "aten._to_copy.default"({{.*}}) node 3 results [] gate 3 "element type f64 has no device format
// CHECK: graph.host "aten.exp.default"({{.*}}) node 4 results [] gate 3
// CHECK: graph.host "aten.slice.Tensor"({{.*}}) node 5 results [] gate 4
// CHECK: graph.host "aten.softmax.int"({{.*}}) node 6 results [] gate 4
// CHECK-NOT: aten.amax
// CHECK: graph.call "aten.softmax.int"(%arg0) {dim = 0 : i64}
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.exp.default"(%arg0) node 0 : (tensor<4xf16>) -> tensor<4xf16>
  %1 = graph.call "aten.sin.default"(%0) node 1 : (tensor<4xf16>) -> tensor<4xf16>
  %2 = graph.call "aten.add.Tensor"(%1, %1) node 2 {alpha = 2 : i64} : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %3 = graph.call "aten._to_copy.default"(%2) node 3 {dtype = "float64"} : (tensor<4xf16>) -> tensor<4xf64>
  %4 = graph.call "aten.exp.default"(%3) node 4 : (tensor<4xf64>) -> tensor<4xf64>
  %5 = graph.call "aten.slice.Tensor"(%arg0) node 5 {start = 4 : i64} : (tensor<4xf16>) -> tensor<0xf16>
  %6 = graph.call "aten.softmax.int"(%arg0) node 6 {dim = 3 : i64} : (tensor<4xf16>) -> tensor<4xf16>
  %7 = graph.call "aten.softmax.int"(%arg0) node 7 {dim = 0 : i64} : (tensor<4xf16>) -> tensor<4xf16>
  return %7 : tensor<4xf16>
}
