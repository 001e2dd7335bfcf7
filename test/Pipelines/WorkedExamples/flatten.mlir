// x [50, 10, 200] flattened + y [500, 200]: the loop of 500 splits into 50 x 10, nothing is copied. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='add'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('50'), {{[0-9]+}}), sympify('c1'): (sympify('10'), {{[0-9]+}}), sympify('c2'): (sympify('200'), {{[0-9]+}})}
// CHECK: device_size=[10, 4, 50, 64],
// CHECK-NEXT: device_coordinates=[sympify('c1'), sympify('floor(c2/64)'), sympify('c0'), sympify('Mod(c2, 64)')]
// CHECK: device_size=[4, 50, 10, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c2/64)'), sympify('c0'), sympify('c1'), sympify('Mod(c2, 64)')]
// CHECK: device_size=[4, 50, 10, 64],
// CHECK-NEXT: device_coordinates=[sympify('floor(c2/64)'), sympify('c0'), sympify('c1'), sympify('Mod(c2, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<50x10x200xf16> {graph.layout = {device_size = array<i64: 10, 4, 50, 64>, format = "SEN169_FP16", stride_map = array<i64: 200, 64, 2000, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 2000, 200, 1>}, %y: tensor<500x200xf16> {graph.layout = {device_size = array<i64: 4, 500, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 200, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 200, 1>}) -> (tensor<500x200xf16> {graph.stride = array<i64: 200, 1>}) {
  %f = graph.call "aten.view.default"(%x) {size = array<i64: 500, 200>} : (tensor<50x10x200xf16>) -> tensor<500x200xf16>
  %r = graph.call "aten.add.Tensor"(%f, %y) : (tensor<500x200xf16>, tensor<500x200xf16>) -> tensor<500x200xf16>
  return %r : tensor<500x200xf16>
}
