// Rows one behind the other: the second write begins at row 5. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='identity'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('5'), {{[0-9]+}}), sympify('c1'): (sympify('128'), {{[0-9]+}})}
// CHECK: device_size=[2, 5, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[2, 8, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: op='identity'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('3'), {{[0-9]+}}), sympify('c1'): (sympify('128'), {{[0-9]+}})}
// CHECK: device_size=[2, 3, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[2, 8, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0 + 5'), sympify('Mod(c1, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<5x128xf16> {graph.layout = {device_size = array<i64: 2, 5, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 128, 1>}, %y: tensor<3x128xf16> {graph.layout = {device_size = array<i64: 2, 3, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 128, 1>}) -> (tensor<8x128xf16> {graph.stride = array<i64: 128, 1>}) {
  %r = graph.call "aten.cat.default"(%x, %y) {dim = 0 : i64} : (tensor<5x128xf16>, tensor<3x128xf16>) -> tensor<8x128xf16>
  return %r : tensor<8x128xf16>
}
