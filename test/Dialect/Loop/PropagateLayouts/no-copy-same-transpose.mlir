// Both operands are read transposed: the output takes their stick and nothing is copied.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: %z = loop.buffer "z" {{.*}} layout {device_size = array<i64: 2, 256, 64>, format = "SEN169_FP16", stride_map = array<i64: 16384, 1, 256>}
// CHECK-NOT: "copy"
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 256, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<256x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [256, 1] : memref<128x256xf16>
  loop.compute "add" ins(%x, %x : memref<256x128xf16>, memref<256x128xf16>) outs(%z : memref<128x256xf16>) vars ["c0", "c1"] extents [128, 256] reductions 0 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
