// 32 tiles of 256 KiB; the cores of `tiny` hold four each.
func.func @main(%x: tensor<2048x2048xf16> {graph.layout = {device_size = array<i64: 32, 2048, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 2048, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 2048, 1>}) -> (tensor<2048x2048xf16> {graph.stride = array<i64: 2048, 1>}) {
  %0 = graph.call "aten.exp.default"(%x) : (tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
  return %0 : tensor<2048x2048xf16>
}
