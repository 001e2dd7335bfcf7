// One case per branch of the checks of calls with indices.
// RUN: spyre-opt %s --spyre-graph-verify --split-input-file --verify-diagnostics

// expected-error @+1 {{SPYRE-E1003: aten.embedding.default on f16 is not supported (operand 1); the result has the type of the table, indices are i32 or i64}}
func.func @main(%arg0: tensor<4x4xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>}) -> (tensor<4x4x4xf16> {graph.stride = array<i64: 16, 4, 1>}) {
  %0 = graph.call "aten.embedding.default"(%arg0, %arg0) : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4x4xf16>
  return %0 : tensor<4x4x4xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.index_select.default: result shape [2, 4] expected, got [4, 2]}}
func.func @main(%arg0: tensor<4x4xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>},
                %arg1: tensor<2xi64> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "i", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4x2xf16> {graph.stride = array<i64: 2, 1>}) {
  %0 = graph.call "aten.index_select.default"(%arg0, %arg1) {dim = 0 : i64} : (tensor<4x4xf16>, tensor<2xi64>) -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.index_select.default: 1 index tensors for dimensions [2] of a table of rank 2}}
func.func @main(%arg0: tensor<4x4xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>},
                %arg1: tensor<2xi64> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "i", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4x2xf16> {graph.stride = array<i64: 2, 1>}) {
  %0 = graph.call "aten.index_select.default"(%arg0, %arg1) {dim = 2 : i64} : (tensor<4x4xf16>, tensor<2xi64>) -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.index.Tensor: 2 index tensors for dimensions [1, 0] of a table of rank 2}}
func.func @main(%arg0: tensor<4x4xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>},
                %arg1: tensor<2xi64> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "i", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<2xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.index.Tensor"(%arg0, %arg1, %arg1) {indices_at = array<i64: 1, 0>} : (tensor<4x4xf16>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xf16>
  return %0 : tensor<2xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.index.Tensor: the index tensors do not broadcast together}}
func.func @main(%arg0: tensor<4x4xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>},
                %arg1: tensor<2xi64> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "i", graph.offset = 0 : i64, graph.stride = array<i64: 1>},
                %arg2: tensor<3xi64> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "j", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<2xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.index.Tensor"(%arg0, %arg1, %arg2) : (tensor<4x4xf16>, tensor<2xi64>, tensor<3xi64>) -> tensor<2xf16>
  return %0 : tensor<2xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1005: aten.index.Tensor: a table and at least one index tensor expected}}
func.func @main(%arg0: tensor<4x4xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>}) -> (tensor<4x4xf16> {graph.stride = array<i64: 4, 1>}) {
  %0 = graph.call "aten.index.Tensor"(%arg0) : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return %0 : tensor<4x4xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.gather.default: index [2] does not choose from [4, 4] along dimension 1}}
func.func @main(%arg0: tensor<4x4xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>},
                %arg1: tensor<2xi64> {graph.layout = {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "i", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<2xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.gather.default"(%arg0, %arg1) {dim = -1 : i64} : (tensor<4x4xf16>, tensor<2xi64>) -> tensor<2xf16>
  return %0 : tensor<2xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.gather.default takes 400 gathers, at most 256 are made}}
func.func @main(%arg0: tensor<400x4xf16> {graph.layout = {device_size = array<i64: 1, 400, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 4, 1>},
                %arg1: tensor<400x2xi64> {graph.layout = {device_size = array<i64: 1, 400, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 2, 1>}, graph.name = "i", graph.offset = 0 : i64, graph.stride = array<i64: 2, 1>}) -> (tensor<400x2xf16> {graph.stride = array<i64: 2, 1>}) {
  %0 = graph.call "aten.gather.default"(%arg0, %arg1) {dim = 1 : i64} : (tensor<400x4xf16>, tensor<400x2xi64>) -> tensor<400x2xf16>
  return %0 : tensor<400x2xf16>
}
