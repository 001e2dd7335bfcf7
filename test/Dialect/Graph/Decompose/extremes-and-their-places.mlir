// One value is a reduction, which also works along sticks; places and lists are the device's topk. The
// smallest are the largest of the negated elements.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK: %[[LARGEST:.*]] = graph.call "aten.amax.default"(%arg0) {dim = array<i64: 1>, keepdim = true} : (tensor<4x100xf16>) -> tensor<4x1xf16>
// CHECK: %[[VALUES:.*]] = graph.call "aten.view.default"(%[[LARGEST]]) {size = array<i64: 4>}
// CHECK: %[[NEGATIVE:.*]] = graph.call "aten.neg.default"(%arg0)
// CHECK: graph.call "spyre.topkindex.default"(%[[NEGATIVE]]) {dim = 1 : i64, k = 1 : i64} : (tensor<4x100xf16>) -> tensor<4x1xi64>
// CHECK: %[[LIST:.*]] = graph.call "spyre.topkvalue.default"({{.*}}) {dim = 0 : i64, k = 3 : i64} : (tensor<4x100xf16>) -> tensor<3x100xf16>
// CHECK: graph.call "aten.neg.default"(%[[LIST]])
// CHECK: %[[ALL:.*]] = graph.call "aten.view.default"(%arg0) {size = array<i64: 400>}
// CHECK: graph.call "spyre.topkindex.default"(%[[ALL]]) {dim = 0 : i64, k = 1 : i64} : (tensor<400xf16>) -> tensor<1xi64>
func.func @main(%arg0: tensor<4x100xf16>) -> (tensor<4xf16>, tensor<4x1xi64>, tensor<3x100xf16>, tensor<i64>) {
  %0 = graph.call "aten.max.dim"(%arg0) {dim = -1 : i64, result = 0 : i64} : (tensor<4x100xf16>) -> tensor<4xf16>
  %1 = graph.call "aten.min.dim"(%arg0) {dim = 1 : i64, keepdim = true, result = 1 : i64} : (tensor<4x100xf16>) -> tensor<4x1xi64>
  %2 = graph.call "aten.topk.default"(%arg0) {k = 3 : i64, dim = 0 : i64, largest = false, result = 0 : i64} : (tensor<4x100xf16>) -> tensor<3x100xf16>
  %3 = graph.call "aten.argmax.default"(%arg0) : (tensor<4x100xf16>) -> tensor<i64>
  return %0, %1, %2, %3 : tensor<4xf16>, tensor<4x1xi64>, tensor<3x100xf16>, tensor<i64>
}
