// What has no decomposition on the device says why.
// RUN: spyre-opt %s --split-input-file --verify-diagnostics --spyre-graph-decompose

func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{SPYRE-E1005: aten.pow: exponent 2.5 is not supported on fp32}}
  %0 = graph.call "aten.pow.Tensor_Scalar"(%arg0) {exponent = 2.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%arg0: tensor<4x3xf16>) -> tensor<5x3xi64> {
  // expected-error @+1 {{SPYRE-E1004: aten.topk.default: 5 of 4 elements}}
  %0 = graph.call "aten.topk.default"(%arg0) {dim = 0 : i64, k = 5 : i64, result = 1 : i64} : (tensor<4x3xf16>) -> tensor<5x3xi64>
  return %0 : tensor<5x3xi64>
}

// -----

func.func @main(%arg0: tensor<4x3xf16>) -> tensor<3xi64> {
  // expected-error @+1 {{SPYRE-E1005: aten.max.dim: result 2; there are values (0) and places (1)}}
  %0 = graph.call "aten.max.dim"(%arg0) {dim = 0 : i64, result = 2 : i64} : (tensor<4x3xf16>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----

func.func @main(%arg0: tensor<4x3xf16>) -> tensor<4xi64> {
  // expected-error @+1 {{SPYRE-E1004: aten.argmin.default: dimension 2 of rank 2}}
  %0 = graph.call "aten.argmin.default"(%arg0) {dim = 2 : i64} : (tensor<4x3xf16>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @main(%arg0: tensor<4x3xf16>, %arg1: tensor<4x3xf16>) -> tensor<4x3xf16> {
  // expected-error @+1 {{SPYRE-E1004: matmul of [4, 3] and [4, 3]}}
  %0 = graph.call "aten.matmul.default"(%arg0, %arg1) : (tensor<4x3xf16>, tensor<4x3xf16>) -> tensor<4x3xf16>
  return %0 : tensor<4x3xf16>
}

// -----

func.func @main(%arg0: tensor<4x3xf16>) -> tensor<4x3xf16> {
  // expected-error @+1 {{SPYRE-E1004: layer_norm over [4] of [4, 3]: the last dimensions are normalised}}
  %0 = graph.call "aten.layer_norm.default"(%arg0) {normalized_shape = array<i64: 4>} : (tensor<4x3xf16>) -> tensor<4x3xf16>
  return %0 : tensor<4x3xf16>
}

// -----

func.func @main(%arg0: tensor<4x3xf16>) -> tensor<4x3xf16> {
  // expected-error @+1 {{SPYRE-E1005: aten.gelu.default: approximate is neither 'none' nor 'tanh'}}
  %0 = graph.call "aten.gelu.default"(%arg0) {approximate = "erf"} : (tensor<4x3xf16>) -> tensor<4x3xf16>
  return %0 : tensor<4x3xf16>
}

// -----

func.func @main(%arg0: tensor<4x4xf16>) -> tensor<4xf16> {
  // expected-error @+1 {{SPYRE-E1005: aten.max.dim: dim must be an integer}}
  %0 = graph.call "aten.max.dim"(%arg0) {dim = array<i64: 0>} : (tensor<4x4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

func.func @main(%arg0: tensor<4x4xf16>) -> tensor<4x2xf16> {
  // expected-error @+1 {{SPYRE-E1005: aten.topk.default: largest must be true or false}}
  %0 = graph.call "aten.topk.default"(%arg0) {dim = 1 : i64, k = 2 : i64, largest = 0 : i64} : (tensor<4x4xf16>) -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}

// -----

func.func @main(%arg0: tensor<2x4x8xf16>) -> tensor<4x2xf16> {
  // expected-error @+1 {{SPYRE-E1004: aten.max.dim: result shape [4, 2] for [2, 4, 1]}}
  %0 = graph.call "aten.max.dim"(%arg0) {dim = 2 : i64} : (tensor<2x4x8xf16>) -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}
