// One row of a dimension: a constant coordinate. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='exp'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('4'), {{[0-9]+}}), sympify('c1'): (sympify('64'), {{[0-9]+}})}
// CHECK: device_size=[8, 1, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('3'), sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[1, 1, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('0'), sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<4x8x64xf16> {graph.layout = {device_size = array<i64: 8, 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 512, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 512, 64, 1>}) -> (tensor<4x64xf16> {graph.stride = array<i64: 64, 1>}) {
  %s = graph.call "aten.select.int"(%x) {dim = 1 : i64, index = 3 : i64} : (tensor<4x8x64xf16>) -> tensor<4x64xf16>
  %r = graph.call "aten.exp.default"(%s) : (tensor<4x64xf16>) -> tensor<4x64xf16>
  return %r : tensor<4x64xf16>
}
