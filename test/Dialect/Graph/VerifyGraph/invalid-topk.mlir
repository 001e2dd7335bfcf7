// One case per branch of the checks of calls for the largest elements.
// RUN: spyre-opt %s --spyre-graph-verify --split-input-file --verify-diagnostics

// expected-error @+1 {{SPYRE-E1003: spyre.topkindex.default on f16 is not supported (operand 0); places of f16, bf16 or f32 elements are i64}}
func.func @main(%arg0: tensor<100x80xf16> {graph.layout = {device_size = array<i64: 2, 100, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 80, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 80, 1>}) -> (tensor<2x80xf16> {graph.stride = array<i64: 80, 1>}) {
  %0 = graph.call "spyre.topkindex.default"(%arg0) {dim = 0 : i64, k = 2 : i64} : (tensor<100x80xf16>) -> tensor<2x80xf16>
  return %0 : tensor<2x80xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: spyre.topkvalue.default: the 65 largest of 100; the device finds up to 64 of up to 2097152}}
func.func @main(%arg0: tensor<100x80xf16> {graph.layout = {device_size = array<i64: 2, 100, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 80, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 80, 1>}) -> (tensor<65x80xf16> {graph.stride = array<i64: 80, 1>}) {
  %0 = graph.call "spyre.topkvalue.default"(%arg0) {dim = 0 : i64, k = 65 : i64} : (tensor<100x80xf16>) -> tensor<65x80xf16>
  return %0 : tensor<65x80xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: spyre.topkvalue.default: dimension 2 of rank 2}}
func.func @main(%arg0: tensor<100x80xf16> {graph.layout = {device_size = array<i64: 2, 100, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 80, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 80, 1>}) -> (tensor<2x80xf16> {graph.stride = array<i64: 80, 1>}) {
  %0 = graph.call "spyre.topkvalue.default"(%arg0) {dim = 2 : i64, k = 2 : i64} : (tensor<100x80xf16>) -> tensor<2x80xf16>
  return %0 : tensor<2x80xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: spyre.topkindex.default: result shape [2, 80] expected, got [3, 80]}}
func.func @main(%arg0: tensor<100x80xf16> {graph.layout = {device_size = array<i64: 2, 100, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 80, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 80, 1>}) -> (tensor<3x80xi64> {graph.stride = array<i64: 80, 1>}) {
  %0 = graph.call "spyre.topkindex.default"(%arg0) {dim = 0 : i64, k = 2 : i64} : (tensor<100x80xf16>) -> tensor<3x80xi64>
  return %0 : tensor<3x80xi64>
}

// -----

// expected-error @+1 {{SPYRE-E1005: spyre.topkvalue.default: k must be an integer}}
func.func @main(%arg0: tensor<100x80xf16> {graph.layout = {device_size = array<i64: 2, 100, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 80, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 80, 1>}) -> (tensor<2x80xf16> {graph.stride = array<i64: 80, 1>}) {
  %0 = graph.call "spyre.topkvalue.default"(%arg0) {dim = 0 : i64, k = 2.0 : f64} : (tensor<100x80xf16>) -> tensor<2x80xf16>
  return %0 : tensor<2x80xf16>
}
