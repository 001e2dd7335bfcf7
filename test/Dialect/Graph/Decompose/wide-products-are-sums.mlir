// RUN: spyre-opt --spyre-graph-decompose %s | FileCheck %s
// A product of f32 matrices is a multiplication and a sum over k, in tiles of rows; the second one is too large
// for one tile: 2^22 / (1024 * 512) = 8 rows, 10 of them are asked for.

// CHECK-LABEL: func.func @main
// CHECK-NOT: aten.mm
// CHECK: graph.call "aten.mul.Tensor"{{.*}}tensor<3x40x70xf32>
// CHECK: graph.call "aten.sum.dim_IntList"{{.*}}tensor<3x1x70xf32>
// CHECK: graph.call "aten.slice.Tensor"{{.*}}tensor<8x1024xf32>
// CHECK: graph.call "aten.mul.Tensor"{{.*}}tensor<8x1024x512xf32>
// CHECK: graph.call "aten.slice.Tensor"{{.*}}tensor<2x1024xf32>
// CHECK: graph.call "aten.mul.Tensor"{{.*}}tensor<2x1024x512xf32>
// CHECK: graph.call "aten.cat.default"{{.*}}tensor<10x512xf32>
func.func @main(%a: tensor<3x40xf32>, %b: tensor<40x70xf32>, %c: tensor<10x1024xf32>, %d: tensor<1024x512xf32>) -> (tensor<3x70xf32>, tensor<10x512xf32>) {
  %0 = graph.call "aten.mm.default"(%a, %b) : (tensor<3x40xf32>, tensor<40x70xf32>) -> tensor<3x70xf32>
  %1 = graph.call "aten.mm.default"(%c, %d) : (tensor<10x1024xf32>, tensor<1024x512xf32>) -> tensor<10x512xf32>
  return %0, %1 : tensor<3x70xf32>, tensor<10x512xf32>
}
