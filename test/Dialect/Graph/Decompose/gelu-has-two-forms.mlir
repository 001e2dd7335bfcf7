// The exact form is one operation; the other is a sigmoid, so that nothing cancels, in fp32, since the sigmoid multiplies
// what its argument lost.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK: graph.call "spyre.device.gelufwd"(%arg0) : (tensor<4x100xf16>) -> tensor<4x100xf16>
// CHECK: graph.call "spyre.device.gelufwd"(%arg0) : (tensor<4x100xf16>) -> tensor<4x100xf16>
// CHECK: %[[WIDE:.*]] = graph.call "prims.convert_element_type.default"(%arg0) : (tensor<4x100xf16>) -> tensor<4x100xf32>
// CHECK: %[[SQUARE:.*]] = graph.call "aten.mul.Tensor"(%[[WIDE]], %[[WIDE]])
// CHECK: %[[CUBIC:.*]] = graph.call "aten.mul.Scalar"(%[[SQUARE]])
// CHECK: %[[FACTOR:.*]] = graph.call "aten.add.Scalar"(%[[CUBIC]])
// CHECK: %[[INNER:.*]] = graph.call "aten.mul.Tensor"(%[[WIDE]], %[[FACTOR]])
// CHECK: %[[GATE:.*]] = graph.call "aten.sigmoid.default"(%[[INNER]])
// CHECK: %[[RESULT:.*]] = graph.call "aten.mul.Tensor"(%[[WIDE]], %[[GATE]])
// CHECK: graph.call "prims.convert_element_type.default"(%[[RESULT]]) : (tensor<4x100xf32>) -> tensor<4x100xf16>
func.func @main(%arg0: tensor<4x100xf16>) -> (tensor<4x100xf16>, tensor<4x100xf16>, tensor<4x100xf16>) {
  %0 = graph.call "aten.gelu.default"(%arg0) : (tensor<4x100xf16>) -> tensor<4x100xf16>
  %1 = graph.call "spyre.gelu.default"(%arg0) {approximate = "none"} : (tensor<4x100xf16>) -> tensor<4x100xf16>
  %2 = graph.call "aten.gelu.default"(%arg0) {approximate = "tanh"} : (tensor<4x100xf16>) -> tensor<4x100xf16>
  return %0, %1, %2 : tensor<4x100xf16>, tensor<4x100xf16>, tensor<4x100xf16>
}
