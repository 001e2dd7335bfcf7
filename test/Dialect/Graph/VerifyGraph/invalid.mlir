// Each fault of a captured graph has its number; unknown operations are all named at once.
// RUN: spyre-opt %s --split-input-file --verify-diagnostics --spyre-graph-verify

// expected-error @+1 {{SPYRE-E1002: 3 call(s) of 2 operation(s) that the device compiler does not know: aten.cos.default (1x), aten.sin.default (2x); move them out of the compiled region or run them on the CPU [gate 1: compatibility]}}
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.sin.default"(%arg0) : (tensor<4xf16>) -> tensor<4xf16>
  %1 = graph.call "aten.cos.default"(%0) : (tensor<4xf16>) -> tensor<4xf16>
  %2 = graph.call "aten.sin.default"(%1) : (tensor<4xf16>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1006: argument 0 needs graph.stride with 1 entries}}
func.func @main(%arg0: tensor<4xf16>) {
  return
}

// -----

// expected-error @+1 {{SPYRE-E1005: aten.add.Tensor: alpha other than 1}}
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.add.Tensor"(%arg0, %arg0) {alpha = 2 : i64} : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1005: aten.exp.default: attribute 'speed' is not known for this operation [gate 2: schema]}}
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.exp.default"(%arg0) {speed = 2 : i64} : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1003: aten.exp.default on f16 to i32 is not supported (operand 0); compute in f16, bf16 or f32; operands of these, i1 and i8 to i64 are converted; convert with .to() first [gate 3: dtype]}}
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xi32> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.exp.default"(%arg0) : (tensor<4xf16>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.sum.dim_IntList: dim 3 is out of range or repeated for shape [4]}}
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<f16> {graph.stride = array<i64>}) {
  %0 = graph.call "aten.sum.dim_IntList"(%arg0) {dim = array<i64: 3>} : (tensor<4xf16>) -> tensor<f16>
  return %0 : tensor<f16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.mm.default: shapes [4] x [4] -> [4] do not fit [gate 4: shape]}}
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.mm.default"(%arg0, %arg0) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.view.default: 4 elements cannot be viewed as shape [5]}}
func.func @main(%arg0: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<5xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.view.default"(%arg0) {size = array<i64: 5>} : (tensor<4xf16>) -> tensor<5xf16>
  return %0 : tensor<5xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: argument 0 has a dimension of size 0}}
func.func @main(%arg0: tensor<0xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) {
  return
}

// -----

// expected-error @+1 {{SPYRE-E1004: spyre.layernormscale.default: the operand is not the result of spyre.exx2 in the same graph; call both in one function}}
func.func @main(%arg0: tensor<4x1xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1, 1>}) -> (tensor<4x1xf16> {graph.stride = array<i64: 1, 1>}) {
  %0 = graph.call "spyre.layernormscale.default"(%arg0) {eps = 0.1 : f64} : (tensor<4x1xf16>) -> tensor<4x1xf16>
  return %0 : tensor<4x1xf16>
}
