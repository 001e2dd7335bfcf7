// A batch of matrices times one weight, expanded: the weight does not depend on the batch. [spec: front-end 4.5]
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='batchmatmul'
// CHECK: iteration_space={{[{]}}sympify('c0'): (sympify('2'), {{[0-9]+}}), sympify('c1'): (sympify('55'), {{[0-9]+}}), sympify('c2'): (sympify('128'), {{[0-9]+}}), sympify('c3'): (sympify('64'), {{[0-9]+}})}
// CHECK: device_size=[55, 1, 2, 64],
// CHECK-NEXT: device_coordinates=[sympify('c1'), sympify('floor(c3/64)'), sympify('c0'), sympify('Mod(c3, 64)')]
// CHECK: device_size=[1, 2, 64, 64],
// CHECK-NEXT: device_coordinates=[sympify('0'), sympify('floor(c2/64)'), sympify('c3'), sympify('Mod(c2, 64)')]
// CHECK: device_size=[55, 2, 2, 64],
// CHECK-NEXT: device_coordinates=[sympify('c1'), sympify('floor(c2/64)'), sympify('c0'), sympify('Mod(c2, 64)')]
// CHECK-NOT: op=
func.func @main(%x: tensor<2x55x64xf16> {graph.layout = {device_size = array<i64: 55, 1, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 3520, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 3520, 64, 1>}, %w: tensor<64x128xf16> {graph.layout = {device_size = array<i64: 2, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>}, graph.name = "w", graph.offset = 0 : i64, graph.stride = array<i64: 128, 1>}) -> (tensor<2x55x128xf16> {graph.stride = array<i64: 7040, 128, 1>}) {
  %u = graph.call "aten.unsqueeze.default"(%w) {dim = 0 : i64} : (tensor<64x128xf16>) -> tensor<1x64x128xf16>
  %e = graph.call "aten.expand.default"(%u) {size = array<i64: 2, 64, 128>} : (tensor<1x64x128xf16>) -> tensor<2x64x128xf16>
  %r = graph.call "aten.bmm.default"(%x, %e) : (tensor<2x55x64xf16>, tensor<2x64x128xf16>) -> tensor<2x55x128xf16>
  return %r : tensor<2x55x128xf16>
}
