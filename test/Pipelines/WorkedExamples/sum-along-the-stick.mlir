// A sum along the sticks leaves one element per stick. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='sum'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('3'), {{[0-9]+}}), sympify('c1'): (sympify('5'), {{[0-9]+}}), sympify('c2'): (sympify('150'), {{[0-9]+}})}
// CHECK: device_size=[5, 3, 3, 64],
// CHECK-NEXT: device_coordinates=[sympify('c1'), sympify('floor(c2/64)'), sympify('c0'), sympify('Mod(c2, 64)')]
// CHECK: device_size=[1, 5, 3, 64],
// CHECK-NEXT: device_coordinates=[sympify('0'), sympify('c1'), sympify('c0'), sympify('0')]
// CHECK-NOT: op=
func.func @main(%x: tensor<3x5x150xf16> {graph.layout = {device_size = array<i64: 5, 3, 3, 64>, format = "SEN169_FP16", stride_map = array<i64: 150, 64, 750, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 750, 150, 1>}) -> (tensor<3x5xf16> {graph.stride = array<i64: 5, 1>}) {
  %r = graph.call "aten.sum.dim_IntList"(%x) {dim = array<i64: 2>} : (tensor<3x5x150xf16>) -> tensor<3x5xf16>
  return %r : tensor<3x5xf16>
}
