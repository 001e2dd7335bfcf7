// exp(sin(exp(x))): one operation in the middle that the device does not have.
func.func @main(%arg0: tensor<64xf16> {graph.layout = {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<64xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.exp.default"(%arg0) node 4 : (tensor<64xf16>) -> tensor<64xf16>
  %1 = graph.call "aten.sin.default"(%0) node 5 : (tensor<64xf16>) -> tensor<64xf16> loc("model.py":3:0)
  %2 = graph.call "aten.exp.default"(%1) node 6 : (tensor<64xf16>) -> tensor<64xf16>
  return %2 : tensor<64xf16>
}
