// What has no decomposition on the device says why.
// RUN: spyre-opt %s --split-input-file --verify-diagnostics --spyre-graph-decompose

func.func @main(%arg0: tensor<4xf16>) -> tensor<4xf16> {
  // expected-error @+1 {{SPYRE-E1005: aten.pow: exponent 2.5 is not supported}}
  %0 = graph.call "aten.pow.Tensor_Scalar"(%arg0) {exponent = 2.5 : f64} : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
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
