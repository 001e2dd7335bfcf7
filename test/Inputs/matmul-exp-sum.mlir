// (x @ y).exp().sum(0) on (55, 67) x (67, 130): the smallest graph with every kind of operation and no aligned size.
func.func @main(%arg0: tensor<55x67xf16> {graph.layout = {device_size = array<i64: 2, 55, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 67, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 67, 1>},
 %arg1: tensor<67x130xf16> {graph.layout = {device_size = array<i64: 3, 67, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 130, 1>}, graph.name = "y", graph.offset = 0 : i64, graph.stride = array<i64: 130, 1>}) -> (tensor<130xf16> {graph.stride = array<i64: 1>}) {
  %0 = graph.call "aten.mm.default"(%arg0, %arg1) : (tensor<55x67xf16>, tensor<67x130xf16>) -> tensor<55x130xf16>
  %1 = graph.call "aten.exp.default"(%0) : (tensor<55x130xf16>) -> tensor<55x130xf16>
  %2 = graph.call "aten.sum.dim_IntList"(%1) {dim = array<i64: 0>, keepdim = false} : (tensor<55x130xf16>) -> tensor<130xf16>
  return %2 : tensor<130xf16>
}
