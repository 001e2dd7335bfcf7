// Transposed copies of the failure logs [spec: work-division 25]: no even division without padding keeps 256 MiB per core and tensor
// on 32 cores. The proof says why, and the operation runs in tiles. Another shape of the same kind: [262144, 3840].
// RUN: spyre-compile %s --compile-to=division --trace-decisions=%t.json -o - | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.json
// RUN: sed -e 's/131072/262144/g' -e 's/5120/3840/g' -e 's/array<i64: 80,/array<i64: 60,/' %s | spyre-compile - --compile-to=division --trace-decisions=%t.json -o - | FileCheck %s --check-prefix=PARTS
// RUN: FileCheck %s --check-prefix=OTHER --input-file=%t.json

// CHECK: loop.compute "copy" {{.*}}tiles = array<i64:
// PARTS: loop.compute "copy" {{.*}} extents [2048, 262144]
// PARTS: loop.compute "copy" {{.*}} extents [1792, 262144]
// WHY: no even division without padding exists: all 26 combinations on 32 cores were tried
// WHY-SAME: 40 cores of 32
// OTHER: no even division without padding exists
// OTHER-SAME: 80 cores of 32
func.func @main(%x: tensor<131072x5120xf16> {graph.layout = {device_size = array<i64: 80, 131072, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 5120, 1>}, graph.name = "x", graph.offset = 0 : i64, graph.stride = array<i64: 5120, 1>}) -> (tensor<5120x131072xf16> {graph.stride = array<i64: 131072, 1>}) {
  %0 = graph.call "aten.transpose.int"(%x) {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<131072x5120xf16>) -> tensor<5120x131072xf16>
  %1 = graph.call "aten.clone.default"(%0) : (tensor<5120x131072xf16>) -> tensor<5120x131072xf16>
  return %1 : tensor<5120x131072xf16>
}
