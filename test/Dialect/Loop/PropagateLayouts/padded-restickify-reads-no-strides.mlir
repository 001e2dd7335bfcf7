// One of three rows in each of 16 groups, to be stored along the groups: 16 are padded to a stick, but rows that are not
// meant lie between them. The rows are taken first, in the layout x has; then the stick changes.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%[[ROWS:.*]] : memref<16x8xf16>)
// CHECK: loop.compute "copy" ins(%[[ROWS]] {{.*}}) outs(%{{.*}} : memref<16x8xf16>)
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [24, 8, 1] layout {device_size = array<i64: 3, 1, 16, 64>, format = "SEN169_FP16", stride_map = array<i64: 8, 64, 24, 1>} : memref<16x3x8xf16>
  %z = loop.buffer "z" "output" index 0 stride [8, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 512, 1, 8>} : memref<16x8xf16>
  loop.compute "copy" ins(%x : memref<16x3x8xf16>) outs(%z : memref<16x8xf16>) vars ["c0", "c1"] extents [16, 8] reductions 0 maps [affine_map<(d0, d1) -> (d0, 1, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
