// Every fp16 element from 2^16 on reads back as infinity: comparisons with infinity have that threshold, those of two tensors
// bound both. Infinite numbers are applied in fp32. Other comparisons, and bf16, stay as they are.
// RUN: spyre-opt %s --spyre-graph-decompose | FileCheck %s

// CHECK: graph.call "spyre.device.greaterequal"(%arg0) {scalar1 = 6.553600e+04 : f64}
// CHECK: graph.call "spyre.device.greaterthan"(%arg0) {scalar1 = -6.553600e+04 : f64}
// CHECK: [[BOUNDED:%.*]] = graph.call "aten.clamp.default"(%arg0) {max = 6.553600e+04 : f64}
// CHECK: graph.call "spyre.device.notequal"([[BOUNDED]]) {scalar1 = 6.553600e+04 : f64}
// CHECK: graph.call "aten.lt.Scalar"(%arg0) {other = 1.000000e+00 : f64}
// CHECK: [[X:%.*]] = graph.call "aten.clamp.default"(%arg0) {max = 6.553600e+04 : f64, min = -6.553600e+04 : f64}
// CHECK: [[Y:%.*]] = graph.call "aten.clamp.default"(%arg1) {max = 6.553600e+04 : f64, min = -6.553600e+04 : f64}
// CHECK: graph.call "spyre.device.lesserthan"([[X]], [[Y]])
// CHECK: graph.call "aten.ne.Tensor"(%arg0, %arg0)
// CHECK: graph.call "aten.eq.Scalar"(%arg2) {other = 0x7FF0000000000000 : f64}
// CHECK: [[WIDE:%.*]] = graph.call "prims.convert_element_type.default"(%arg2) {{.*}} -> tensor<64xf32>
// CHECK: [[SEEN:%.*]] = graph.call "aten.where.self"({{.*}}, [[WIDE]])
// CHECK: [[SUM:%.*]] = graph.call "aten.add.Scalar"([[SEEN]]) {other = 0x7FF0000000000000 : f64}
// CHECK: graph.call "prims.convert_element_type.default"([[SUM]]) {{.*}} -> tensor<64xbf16>
func.func @main(%arg0: tensor<64xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}, %arg1: tensor<64xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 1>}, %arg2: tensor<64xbf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "z", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<64xi1> {graph.stride = array<i64: 1>}, tensor<64xi1> {graph.stride = array<i64: 1>}, tensor<64xi1> {graph.stride = array<i64: 1>}, tensor<64xi1> {graph.stride = array<i64: 1>}, tensor<64xi1> {graph.stride = array<i64: 1>}, tensor<64xi1> {graph.stride = array<i64: 1>}, tensor<64xi1> {graph.stride = array<i64: 1>}, tensor<64xbf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.eq.Scalar"(%arg0) {other = 0x7FF0000000000000 : f64} : (tensor<64xf16>) -> tensor<64xi1>
  %1 = graph.call "aten.lt.Tensor"(%arg0) {scalar0 = -1.0e6 : f64} : (tensor<64xf16>) -> tensor<64xi1>
  %2 = graph.call "aten.ne.Scalar"(%arg0) {other = 0x7FF0000000000000 : f64} : (tensor<64xf16>) -> tensor<64xi1>
  %3 = graph.call "aten.lt.Scalar"(%arg0) {other = 1.0 : f64} : (tensor<64xf16>) -> tensor<64xi1>
  %4 = graph.call "aten.lt.Tensor"(%arg0, %arg1) : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xi1>
  %5 = graph.call "aten.ne.Tensor"(%arg0, %arg0) : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xi1>
  %6 = graph.call "aten.eq.Scalar"(%arg2) {other = 0x7FF0000000000000 : f64} : (tensor<64xbf16>) -> tensor<64xi1>
  %7 = graph.call "aten.add.Scalar"(%arg2) {other = 0x7FF0000000000000 : f64} : (tensor<64xbf16>) -> tensor<64xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<64xi1>, tensor<64xi1>, tensor<64xi1>, tensor<64xi1>, tensor<64xi1>, tensor<64xi1>, tensor<64xi1>, tensor<64xbf16>
}
