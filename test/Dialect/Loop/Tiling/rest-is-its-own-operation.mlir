// Five tiles of columns, the last one not full, on two cores that hold one each: two loops over two, and one more.
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=2 span-limit-bytes=16384" | FileCheck %s

// CHECK: #[[REST:.*]] = affine_map<(d0, d1) -> (d0, d1 + 256)>
// CHECK: loop.compute "exp" {{.*}} extents [128, 256] {{.*}}, tiles = array<i64: 1, 2>}
// CHECK: loop.compute "exp" {{.*}} extents [128, 44] {{.*}} maps [#[[REST]], #[[REST]]] splits
// CHECK-NOT: loop.compute
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [300, 1] layout {device_size = array<i64: 5, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 300, 1>} : memref<128x300xf16>
  %z = loop.buffer "z" "output" index 0 stride [300, 1] layout {device_size = array<i64: 5, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 300, 1>} : memref<128x300xf16>
  loop.compute "exp" ins(%x : memref<128x300xf16>) outs(%z : memref<128x300xf16>) vars ["c0", "c1"] extents [128, 300] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
