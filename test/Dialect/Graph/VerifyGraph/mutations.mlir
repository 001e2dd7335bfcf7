// Which contents an argument can get, and parts that do not fit.
// RUN: spyre-opt %s --split-input-file --verify-diagnostics --spyre-graph-verify

// expected-error @+1 {{SPYRE-E1006: result 0: graph.mutates is the number of an argument, 0..0}}
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<4x6xf16> {graph.mutates = 1 : i64, graph.stride = array<i64: 6, 1>}) {
  return %arg0 : tensor<4x6xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1006: result 1: argument 0 is mutated twice; give its last contents only}}
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<4x6xf16> {graph.mutates = 0 : i64, graph.stride = array<i64: 6, 1>}, tensor<4x6xf16> {graph.mutates = 0 : i64, graph.stride = array<i64: 6, 1>}) {
  return %arg0, %arg0 : tensor<4x6xf16>, tensor<4x6xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1006: result 0 has not the type of argument 0, which it mutates}}
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<24xf16> {graph.mutates = 0 : i64, graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.view.default"(%arg0) {size = array<i64: 24>} : (tensor<4x6xf16>) -> tensor<24xf16>
  return %0 : tensor<24xf16>
}

// -----

// expected-error @+1 {{SPYRE-E1004: aten.slice_scatter.default: [4, 6] is no part of [4, 6] along dimension 0 from 1 every 1; empty parts and parts with gaps run on the CPU [gate 4: shape]}}
func.func @main(%arg0: tensor<4x6xf16> {graph.layout = {device_size = array<i64: 1, 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 6, 1>}) -> (tensor<4x6xf16> {graph.stride = array<i64: 6, 1>}) {
  %0 = graph.call "aten.slice_scatter.default"(%arg0, %arg0) {dim = 0 : i64, start = 1 : i64} : (tensor<4x6xf16>, tensor<4x6xf16>) -> tensor<4x6xf16>
  return %0 : tensor<4x6xf16>
}
