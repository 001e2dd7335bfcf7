// The new contents have their sticks along the rows: the copy back changes them.
// RUN: spyre-opt %s --spyre-loop-elide-copy-back | FileCheck %s

// CHECK: loop.compute "exp" ins(%y {{.*}} outs(%t :
// CHECK: loop.compute "copy" ins(%t {{.*}} outs(%x :
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<8x128xf16>
  %y = loop.buffer "y" "input" index 1 stride [128, 1] layout {device_size = array<i64: 1, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 8192, 1, 128>} : memref<8x128xf16>
  %t = loop.buffer "t" "temp" stride [128, 1] layout {device_size = array<i64: 1, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 8192, 1, 128>} : memref<8x128xf16>
  loop.compute "exp" ins(%y : memref<8x128xf16>) outs(%t : memref<8x128xf16>) vars ["c0", "c1"] extents [8, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "copy" ins(%t : memref<8x128xf16>) outs(%x : memref<8x128xf16>) vars ["c0", "c1"] extents [8, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
