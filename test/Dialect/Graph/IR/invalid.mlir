// What the op verifier refuses by itself; names and attributes are the business of spyre-graph-verify.
// RUN: spyre-opt %s --split-input-file --verify-diagnostics

func.func @main(%arg0: tensor<?xf16>) {
  // expected-error @+1 {{'graph.call' op operands and result must have static shapes}}
  %0 = graph.call "aten.exp.default"(%arg0) : (tensor<?xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @main(%arg0: tensor<4xf16>) {
  // expected-error @+1 {{'graph.call' op callee must not be empty}}
  %0 = graph.call ""(%arg0) : (tensor<4xf16>) -> tensor<4xf16>
  return
}
