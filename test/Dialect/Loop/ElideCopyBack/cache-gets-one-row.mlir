// cache[3] = row: the copy of the cache goes with the copy back, only the row is written.
// RUN: spyre-opt %s --spyre-loop-elide-copy-back | FileCheck %s

// CHECK-NOT: "temp"
// CHECK: loop.compute "copy" ins(%row {{.*}} outs(%cache {{.*}} extents [128]
// CHECK-NOT: loop.compute
func.func @main() {
  %cache = loop.buffer "cache" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<8x128xf16>
  %row = loop.buffer "row" "input" index 1 stride [1] layout {device_size = array<i64: 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<128xf16>
  %t = loop.buffer "t" "temp" stride [128, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<8x128xf16>
  loop.compute "copy" ins(%cache : memref<8x128xf16>) outs(%t : memref<8x128xf16>) vars ["c0", "c1"] extents [8, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "copy" ins(%row : memref<128xf16>) outs(%t : memref<8x128xf16>) vars ["c0"] extents [128] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (3, d0)>]
  loop.compute "copy" ins(%t : memref<8x128xf16>) outs(%cache : memref<8x128xf16>) vars ["c0", "c1"] extents [8, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
