// Equal calls are computed once, whatever their lines; calls with other hints, or with none, are others. Where slices were asked for makes
// no difference; tiles are loops, and those of another scope are other loops.
// RUN: spyre-opt %s --spyre-graph-merge-equal | FileCheck %s
// RUN: spyre-opt %s --spyre-graph-merge-equal --spyre-graph-merge-equal | FileCheck %s

// CHECK-COUNT-3: graph.call "aten.exp.default"
// CHECK-NOT: graph.call "aten.exp.default"
// CHECK-COUNT-2: graph.call "aten.abs.default"
// CHECK-NOT: graph.hints
func.func @main(%x: tensor<4xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<4xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.exp.default"(%x) : (tensor<4xf16>) -> tensor<4xf16> loc(fused<{work_div = [["m", 4, 0]]}>["a.py":1:0])
  %1 = graph.call "aten.exp.default"(%x) : (tensor<4xf16>) -> tensor<4xf16> loc(fused<{work_div = [["m", 4, 1]]}>["a.py":2:0])
  %2 = graph.call "aten.exp.default"(%x) : (tensor<4xf16>) -> tensor<4xf16> loc(fused<{work_div = [["m", 2, 2]]}>["a.py":3:0])
  %3 = graph.call "aten.exp.default"(%x) : (tensor<4xf16>) -> tensor<4xf16> loc("a.py":4:0)
  %4 = graph.call "aten.exp.default"(%x) : (tensor<4xf16>) -> tensor<4xf16> loc("a.py":5:0)
  %5 = graph.call "aten.add.Tensor"(%0, %1) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %6 = graph.call "aten.add.Tensor"(%2, %3) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %7 = graph.call "aten.add.Tensor"(%5, %6) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %8 = graph.call "aten.add.Tensor"(%7, %4) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %9 = graph.call "aten.abs.default"(%8) : (tensor<4xf16>) -> tensor<4xf16> loc(fused<{tiles = [["m", 2, 3]]}>["a.py":6:0])
  %10 = graph.call "aten.abs.default"(%8) : (tensor<4xf16>) -> tensor<4xf16> loc(fused<{tiles = [["m", 2, 4]]}>["a.py":7:0])
  %11 = graph.call "aten.add.Tensor"(%9, %10) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %11 : tensor<4xf16>
}
