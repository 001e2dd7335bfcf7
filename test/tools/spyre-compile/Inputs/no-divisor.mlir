// 37 sticks along one tensor are rows of the other (G-S12): no number of slices keeps 256 MiB per core.
func.func @main(%x: tensor<32x2368x4096xf16> {graph.layout = {device_size = array<i64: 2368, 64, 32, 64>, format = "SEN169_FP16", stride_map = array<i64: 4096, 64, 9699328, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 9699328, 4096, 1>}) -> (tensor<32x4096x2368xf16> {graph.stride = array<i64: 9699328, 2368, 1>}) {
  %0 = graph.call "aten.transpose.int"(%x) {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<32x2368x4096xf16>) -> tensor<32x4096x2368xf16>
  %1 = graph.call "aten.clone.default"(%0) : (tensor<32x4096x2368xf16>) -> tensor<32x4096x2368xf16>
  return %1 : tensor<32x4096x2368xf16>
}
