// Heads are fused: [2, 256, 32, 128] read as [512, 4096]. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='exp'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('2'), {{[0-9]+}}), sympify('c1'): (sympify('256'), {{[0-9]+}}), sympify('c2'): (sympify('32'), {{[0-9]+}}), sympify('c3'): (sympify('128'), {{[0-9]+}})}
// CHECK: device_size=[256, 32, 2, 2, 64],
// CHECK-NEXT: device_coordinates=[sympify('c1'), sympify('c2'), sympify('floor(c3/64)'), sympify('c0'), sympify('Mod(c3, 64)')]
// CHECK: device_size=[32, 2, 2, 256, 64],
// CHECK-NEXT: device_coordinates=[sympify('c2'), sympify('floor(c3/64)'), sympify('c0'), sympify('c1'), sympify('Mod(c3, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<2x256x32x128xf16> {graph.layout = {device_size = array<i64: 256, 32, 2, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 4096, 128, 64, 1048576, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1048576, 4096, 128, 1>}) -> (tensor<512x4096xf16> {graph.stride = array<i64: 4096, 1>}) {
  %v = graph.call "aten.view.default"(%x) {size = array<i64: 512, 4096>} : (tensor<2x256x32x128xf16>) -> tensor<512x4096xf16>
  %r = graph.call "aten.exp.default"(%v) : (tensor<512x4096xf16>) -> tensor<512x4096xf16>
  return %r : tensor<512x4096xf16>
}
