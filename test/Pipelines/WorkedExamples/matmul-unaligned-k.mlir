// 55 x 67 @ 67 x 128: y gets 128 rows of which the last 61 are zero; x is masked, not padded. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='identity'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('128'), {{[0-9]+}}), sympify('c1'): (sympify('61'), {{[0-9]+}})}
// CHECK: device_size=[1, 1, 64],
// CHECK-NEXT: device_coordinates=[sympify('0'), sympify('0'), sympify('0')]
// CHECK: device_size=[2, 128, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c0/64)'), sympify('c1 + 67'), sympify('Mod(c0, 64)')]
// CHECK: op='identity'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('128'), {{[0-9]+}}), sympify('c1'): (sympify('67'), {{[0-9]+}})}
// CHECK: device_size=[2, 67, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c0/64)'), sympify('c1'), sympify('Mod(c0, 64)')]
// CHECK: device_size=[2, 128, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c0/64)'), sympify('c1'), sympify('Mod(c0, 64)')]
// CHECK: op='batchmatmul'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('55'), {{[0-9]+}}), sympify('c1'): (sympify('128'), {{[0-9]+}}), sympify('c2'): (sympify('67'), {{[0-9]+}})}
// CHECK: device_size=[2, 55, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c2/64)'), sympify('c0'), sympify('Mod(c2, 64)')]
// CHECK: device_size=[2, 128, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c2'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[2, 55, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<55x67xf16> {graph.layout = {device_size = array<i64: 2, 55, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 67, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 67, 1>}, %y: tensor<67x128xf16> {graph.layout = {device_size = array<i64: 2, 67, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 128, 1>}) -> (tensor<55x128xf16> {graph.stride = array<i64: 128, 1>}) {
  %r = graph.call "aten.mm.default"(%x, %y) : (tensor<55x67xf16>, tensor<67x128xf16>) -> tensor<55x128xf16>
  return %r : tensor<55x128xf16>
}
