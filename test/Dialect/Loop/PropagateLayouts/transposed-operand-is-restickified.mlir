// x [128, 256] + y [256, 128] read transposed, both in default layout: lanes of x follow c1, lanes of y follow c0. Ties go to
// the innermost output dimension, so y is copied once and the copy has the other stick.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: %z = loop.buffer "z" {{.*}} layout {device_size = array<i64: 4, 128, 64>
// CHECK: %y_restick = loop.buffer "y_restick" "temp" {{.*}} layout {device_size = array<i64: 4, 128, 64>
// CHECK: loop.compute "copy" ins(%y {{.*}}) outs(%y_restick
// CHECK: loop.compute "add" ins(%x, %y_restick
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<128x256xf16>
  %y = loop.buffer "y" "input" index 1 stride [128, 1] layout {device_size = array<i64: 2, 256, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<256x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [256, 1] : memref<128x256xf16>
  loop.compute "add" ins(%x, %y : memref<128x256xf16>, memref<256x128xf16>) outs(%z : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
