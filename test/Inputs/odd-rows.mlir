// Three operations on 997 rows of one stick: only one core can have all of them, or 997.
func.func @main(%arg0: tensor<997x64xf16> {graph.layout = {device_size = array<i64: 1, 997, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 64, 1>}) -> (tensor<997x64xf16> {graph.stride = array<i64: 64, 1>}) {
  %0 = graph.call "aten.exp.default"(%arg0) : (tensor<997x64xf16>) -> tensor<997x64xf16>
  %1 = graph.call "aten.exp.default"(%0) : (tensor<997x64xf16>) -> tensor<997x64xf16>
  %2 = graph.call "aten.exp.default"(%1) : (tensor<997x64xf16>) -> tensor<997x64xf16>
  return %2 : tensor<997x64xf16>
}
