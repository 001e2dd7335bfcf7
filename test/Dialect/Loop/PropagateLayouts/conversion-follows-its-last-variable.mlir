// The lanes must follow c1, the rows; the input has its sticks along the columns and is copied.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: %t = loop.buffer "t" {{.*}}device_size = array<i64: 4, 6, 32>
// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%x_restick : memref<6x128xf16>)
// CHECK: loop.compute "dl16tofp32" ins(%x_restick
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [6, 1] layout {device_size = array<i64: 1, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 6, 1>} : memref<128x6xf16>
  %t = loop.buffer "t" "output" index 0 stride [6, 1] : memref<128x6xf32>
  loop.compute "dl16tofp32" ins(%x : memref<128x6xf16>) outs(%t : memref<128x6xf32>) vars ["c0", "c1"] extents [6, 128] reductions 0 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>]
  return
}
