// The examples of the documents [spec: front-end 1.10], 256 MiB per core and tensor. [32, 8193, 1740]: 8193 rows go over
// three cores at best, 313 MB each. Two parts, each with a division of its own.
// RUN: not spyre-compile %s --planner=compat --compile-to=division -o - 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: spyre-compile %s --compile-to=division -o - | FileCheck %s

// OFF: SPYRE-E3064:
// CHECK: extents [32, 4098, 1740] {{.*}} splits
// CHECK: extents [32, 4095, 1740] {{.*}} splits
// CHECK-NOT: loop.compute
func.func @main(%x: tensor<32x8193x1740xf16> {graph.layout = {device_size = array<i64: 8193, 28, 32, 64>, format = "SEN169_FP16", stride_map = array<i64: 1740, 64, 14255820, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 14255820, 1740, 1>}) -> (tensor<32x8193x1740xf16> {graph.stride = array<i64: 14255820, 1740, 1>}) {
  %0 = graph.call "aten.exp.default"(%x) : (tensor<32x8193x1740xf16>) -> tensor<32x8193x1740xf16>
  return %0 : tensor<32x8193x1740xf16>
}
