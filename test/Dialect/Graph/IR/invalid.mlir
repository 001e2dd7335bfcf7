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

// -----

func.func @main(%arg0: tensor<4xf16>) {
  // expected-error @+1 {{'graph.host' op has 1 results, but names 2}}
  %0 = graph.host "aten.sort.default"(%arg0) node 1 results [0, 1] gate 1 "unknown" : (tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @main(%arg0: tensor<4xf16>) {
  // expected-error @+1 {{'graph.host' op node must not be negative, gate is 1..5}}
  %0 = graph.host "aten.sin.default"(%arg0) node 1 results [] gate 6 "unknown" : (tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @main(%arg0: tensor<4xf16>) {
  // expected-error @+1 {{'graph.host' op operands and results must have static shapes}}
  %0 = graph.host "aten.nonzero.default"(%arg0) node 1 results [] gate 1 "unknown" : (tensor<4xf16>) -> tensor<?x1xi64>
  return
}

// -----

func.func @main(%arg0: tensor<4xf16>) {
  // expected-error @+1 {{'graph.host' op results are tensors of integers, floats or complex numbers}}
  %0 = graph.host "aten.sin.default"(%arg0) node 1 results [] gate 1 "unknown" : (tensor<4xf16>) -> tensor<4xindex>
  return
}
