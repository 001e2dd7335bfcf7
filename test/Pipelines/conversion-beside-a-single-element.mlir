// The element behind a conversion begins a stick but walks along none: the conversion, whose sticks lie along its
// result, is copied there.
// RUN: spyre-compile %s -o %t.model --dump-opspec=- | FileCheck %s

// CHECK: op='fp32todl16'
// CHECK: op='identity'
func.func @main(%arg0: tensor<128xf16> {graph.layout = {device_size = array<i64: 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "in0", graph.offset = 0 : i64, graph.stride = array<i64: 1>},
    %arg1: tensor<1xf32> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_FP32", stride_map = array<i64: -1, -1>}, graph.name = "in1", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<129xf16> {graph.stride = array<i64: 1>}) {
  %2 = graph.call "aten.sub.Tensor"(%arg0, %arg1) : (tensor<128xf16>, tensor<1xf32>) -> tensor<128xf32>
  %3 = graph.call "aten.le.Scalar"(%2) {other = -1.00000000000000000e+00 : f64} : (tensor<128xf32>) -> tensor<128xi1>
  %4 = graph.call "aten._to_copy.default"(%3) : (tensor<128xi1>) -> tensor<128xf16>
  %5 = graph.call "aten.constant_pad_nd.default"(%4) {pad = array<i64: 0, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<128xf16>) -> tensor<129xf16>
  return %5 : tensor<129xf16>
}
