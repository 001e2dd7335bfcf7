// The examples of the documents [spec: front-end 1.10], 256 MiB per core and tensor. [32, 8192, 17408]: 9.13 GB are more than
// 32 times the limit. Two tiles of half the rows.
// RUN: not spyre-compile %s --planner=compat --compile-to=division -o - 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: spyre-compile %s --compile-to=division -o - | FileCheck %s

// OFF: SPYRE-E3064:
// CHECK: extents [32, 8192, 17408] {{.*}} splits [1, 32, 1] {owners = {{.*}}, tiles = array<i64: 1, 2, 1>}
// CHECK-NOT: loop.compute
func.func @main(%x: tensor<32x8192x17408xf16> {graph.layout = {device_size = array<i64: 8192, 272, 32, 64>, format = "SEN169_FP16", stride_map = array<i64: 17408, 64, 142606336, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 142606336, 17408, 1>}) -> (tensor<32x8192x17408xf16> {graph.stride = array<i64: 142606336, 17408, 1>}) {
  %0 = graph.call "aten.exp.default"(%x) : (tensor<32x8192x17408xf16>) -> tensor<32x8192x17408xf16>
  return %0 : tensor<32x8192x17408xf16>
}
