// x - max(x): one element per stick meets sticks. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='max'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('4'), {{[0-9]+}}), sympify('c1'): (sympify('128'), {{[0-9]+}})}
// CHECK: device_size=[2, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[1, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('0'), sympify('c0'), sympify('0')]
// CHECK: op='sub'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('4'), {{[0-9]+}}), sympify('c1'): (sympify('128'), {{[0-9]+}})}
// CHECK: device_size=[2, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK: device_size=[1, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('0'), sympify('c0'), sympify('0')]
// CHECK: device_size=[2, 4, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<4x128xf16> {graph.layout = {device_size = array<i64: 2, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 128, 1>}) -> (tensor<4x128xf16> {graph.stride = array<i64: 128, 1>}) {
  %m = graph.call "aten.amax.default"(%x) {dim = array<i64: 1>, keepdim = true} : (tensor<4x128xf16>) -> tensor<4x1xf16>
  %r = graph.call "aten.sub.Tensor"(%x, %m) : (tensor<4x128xf16>, tensor<4x1xf16>) -> tensor<4x128xf16>
  return %r : tensor<4x128xf16>
}
