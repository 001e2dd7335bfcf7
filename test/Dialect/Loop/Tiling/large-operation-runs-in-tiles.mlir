// [128, 256] in device order [4 tiles, 128 rows, stick]: a tile of columns is 16,384 bytes. With two cores and a span of 16,384
// no split is enough; two loops over two tiles of columns are. With four cores nothing is to be done.
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=2 span-limit-bytes=16384" | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=4 span-limit-bytes=16384" | FileCheck %s --check-prefix=FITS
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=2 span-limit-bytes=16384" | FileCheck %s --check-prefix=SPLIT
// Again: nothing changes.
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=2 span-limit-bytes=16384" -o %t
// RUN: spyre-opt %t --spyre-loop-work-distribution="cores=2 span-limit-bytes=16384" | diff - %t

// CHECK: loop.compute "exp" {{.*}} extents [128, 256] {{.*}}, tiles = array<i64: 1, 2>}
// CHECK-NOT: loop.compute
// FITS-NOT: tiles
// SPLIT: splits [1, 2] {owners = {{.*}}, tiles = array<i64: 1, 2>}
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %z = loop.buffer "z" "output" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  loop.compute "exp" ins(%x : memref<128x256xf16>) outs(%z : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
