// Results of one node are one call on the host, whichever of them are used and however often.
// RUN: spyre-opt %s --spyre-graph-split-host | FileCheck %s

// CHECK: %[[S:.*]]:2 = graph.host "aten.sort.default"(%arg0) node 3 results [0, 1]
// CHECK-NOT: "aten.sort.default"(
// CHECK: graph.call "aten.exp.default"(%[[S]]#0)
// CHECK: return %{{.*}}, %[[S]]#1, %[[S]]#1
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}, tensor<4xi64> {graph.stride = array<i64: 1>}, tensor<4xi64> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.sort.default"(%arg0) node 3 {result = 0 : i64} : (tensor<4xf16>) -> tensor<4xf16>
  %1 = graph.call "aten.exp.default"(%0) node 4 : (tensor<4xf16>) -> tensor<4xf16>
  %2 = graph.call "aten.sort.default"(%arg0) node 3 {result = 1 : i64} : (tensor<4xf16>) -> tensor<4xi64>
  %3 = graph.call "aten.sort.default"(%arg0) node 3 {result = 1 : i64} : (tensor<4xf16>) -> tensor<4xi64>
  return %1, %2, %3 : tensor<4xf16>, tensor<4xi64>, tensor<4xi64>
}
