// The rotary embedding of the documents: q [2, 256, 4096] viewed as [2, 256, 32, 2, 64], times cached frequencies
// [2, 256, 2, 2, 64], summed over one dimension, flattened. Every view is an index map: no copy, no restickify.
// RUN: spyre-compile %s --compile-to=division -o - | FileCheck %s
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s --check-prefix=OPS

// CHECK-NOT: "copy"
// CHECK: loop.compute "mul" {{.*}} extents [2, 256, 32, 2, 2, 64] reductions 0
// CHECK-NOT: "copy"
// CHECK: loop.compute "sum" {{.*}} reductions 1
// CHECK-NOT: "copy"
// CHECK: loop.compute "exp"
// OPS-NOT: identity
// OPS-NOT: ReStickify
func.func @main(
    %q: tensor<2x256x4096xf16> {graph.layout = {device_size = array<i64: 256, 64, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 4096, 64, 1048576, 1>}, graph.name = "q", graph.offset = 0 : i64, graph.stride = array<i64: 1048576, 4096, 1>},
    %f: tensor<2x256x2x2x64xf16> {graph.layout = {device_size = array<i64: 256, 2, 2, 1, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 256, 128, 64, 64, 65536, 1>}, graph.name = "freqs", graph.offset = 0 : i64, graph.stride = array<i64: 65536, 256, 128, 64, 1>})
    -> (tensor<2x256x32x128xf16> {graph.stride = array<i64: 1048576, 4096, 128, 1>}) {
  %0 = graph.call "aten.view.default"(%q) {size = array<i64: 2, 256, 32, 128>} : (tensor<2x256x4096xf16>) -> tensor<2x256x32x128xf16>
  %1 = graph.call "aten.view.default"(%0) {size = array<i64: 2, 256, 32, 2, 64>} : (tensor<2x256x32x128xf16>) -> tensor<2x256x32x2x64xf16>
  %2 = graph.call "aten.unsqueeze.default"(%f) {dim = 2 : i64} : (tensor<2x256x2x2x64xf16>) -> tensor<2x256x1x2x2x64xf16>
  %3 = graph.call "aten.unsqueeze.default"(%1) {dim = -3 : i64} : (tensor<2x256x32x2x64xf16>) -> tensor<2x256x32x1x2x64xf16>
  %4 = graph.call "aten.mul.Tensor"(%2, %3) : (tensor<2x256x1x2x2x64xf16>, tensor<2x256x32x1x2x64xf16>) -> tensor<2x256x32x2x2x64xf16>
  %5 = graph.call "aten.sum.dim_IntList"(%4) {dim = array<i64: 4>, keepdim = true} : (tensor<2x256x32x2x2x64xf16>) -> tensor<2x256x32x2x1x64xf16>
  %6 = graph.call "aten.view.default"(%5) {size = array<i64: 2, 256, 32, 128>} : (tensor<2x256x32x2x1x64xf16>) -> tensor<2x256x32x128xf16>
  %7 = graph.call "aten.exp.default"(%6) : (tensor<2x256x32x128xf16>) -> tensor<2x256x32x128xf16>
  return %7 : tensor<2x256x32x128xf16>
}
