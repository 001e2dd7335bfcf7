// Nine variables: two of two values are taken away, one for the ninth name and one for the entry that is then selected.
// RUN: spyre-opt %s --spyre-loop-limit-vars | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-limit-vars -o %t && spyre-opt %t --spyre-loop-limit-vars | diff - %t

// CHECK-COUNT-4: vars ["c2", "c3", "c4", "c5", "c6", "c7", "c8"] extents [3, 2, 2, 2, 2, 2, 64]
// CHECK-NOT: loop.compute
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 384, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<384x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [64, 1] layout {device_size = array<i64: 1, 384, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<384x64xf16>
  loop.compute "exp" ins(%x : memref<384x64xf16>) outs(%z : memref<384x64xf16>) vars ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"] extents [2, 2, 3, 2, 2, 2, 2, 2, 64] reductions 0 maps [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (192 * d0 + 96 * d1 + 32 * d2 + 16 * d3 + 8 * d4 + 4 * d5 + 2 * d6 + d7, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (192 * d7 + 96 * d6 + 32 * d2 + 16 * d3 + 8 * d4 + 4 * d5 + 2 * d1 + d0, d8)>]
  return
}
