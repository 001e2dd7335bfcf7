// A table of 1.07 GB, read by index: cores address rows of it, so the limit of 256 MiB per core and tensor does not count its rows, in
// planner and back end alike. Its size is no reason for tiles; all cores are used.
// RUN: spyre-compile %s --compile-to=division -o - | FileCheck %s
// RUN: spyre-compile %s -o %t && ls %t/bundle_0/spyreCodeDir | FileCheck %s --check-prefix=CODE

// CHECK: loop.compute "copy" {{.*}}indirect
// CHECK-SAME: splits
// CHECK-NOT: tiles
// CODE: spyrecode.json
func.func @main(%t: tensor<131072x4096xf16> {graph.layout = {device_size = array<i64: 64, 131072, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 4096, 1>}, graph.name = "t", graph.offset = 0 : i64, graph.stride = array<i64: 4096, 1>}, %i: tensor<1024xi64> {graph.layout = {device_size = array<i64: 32, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>}, graph.name = "i", graph.offset = 0 : i64, graph.stride = array<i64: 1>}) -> (tensor<1024x4096xf16> {graph.stride = array<i64: 4096, 1>}) {
  %0 = graph.call "aten.embedding.default"(%t, %i) : (tensor<131072x4096xf16>, tensor<1024xi64>) -> tensor<1024x4096xf16>
  return %0 : tensor<1024x4096xf16>
}
