// Columns one behind the other: the second write begins at stick 1. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='identity'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('4'), {{[0-9]+}}), sympify('c1'): (sympify('64'), {{[0-9]+}})}
// CHECK: device_size=[1, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[3, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: op='identity'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('4'), {{[0-9]+}}), sympify('c1'): (sympify('128'), {{[0-9]+}})}
// CHECK: device_size=[2, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[3, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64) + 1'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<4x64xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 64, 1>}, %y: tensor<4x128xf16> {graph.layout = {device_size = array<i64: 2, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 128, 1>}) -> (tensor<4x192xf16> {graph.stride = array<i64: 192, 1>}) {
  %r = graph.call "aten.cat.default"(%x, %y) {dim = 1 : i64} : (tensor<4x64xf16>, tensor<4x128xf16>) -> tensor<4x192xf16>
  return %r : tensor<4x192xf16>
}
