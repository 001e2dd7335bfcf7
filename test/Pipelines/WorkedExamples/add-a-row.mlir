// A row is added to every row. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='add'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('4'), {{[0-9]+}}), sympify('c1'): (sympify('128'), {{[0-9]+}})}
// CHECK: device_size=[2, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[1, 2, 64],
// CHECK-NEXT: device_coordinates=[sympify('0'), sympify('floor(c1/64)'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[2, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<4x128xf16> {graph.layout = {device_size = array<i64: 2, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 128, 1>}, %b: tensor<128xf16> {graph.layout = {device_size = array<i64: 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "b", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4x128xf16> {graph.stride = array<i64: 128, 1>}) {
  %r = graph.call "aten.add.Tensor"(%x, %b) : (tensor<4x128xf16>, tensor<128xf16>) -> tensor<4x128xf16>
  return %r : tensor<4x128xf16>
}
