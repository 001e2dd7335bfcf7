// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// What lies between two conversions of 8 bits works on positions: 200 elements are two blocks.
// CHECK: loop.compute "fp8todl16" ins(%x {{.*}}) outs(%t_positions : memref<4x256xf16>) {{.*}} extents [4, 200]
// CHECK-NEXT: loop.compute "neg" ins(%t_positions {{.*}}) outs(%u_positions : memref<4x256xf16>) {{.*}} extents [4, 256]
// CHECK-NEXT: loop.compute "qfp8ch" ins(%u_positions {{.*}}) outs(%y : memref<4x200xf8E4M3FN>) {{.*}} extents [4, 200]
// CHECK-NEXT: return
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [200, 1] layout {device_size = array<i64: 2, 4, 128>, format = "SEN143_FP8", stride_map = array<i64: 128, 200, 1>} : memref<4x200xf8E4M3FN>
  %y = loop.buffer "y" "output" index 0 stride [200, 1] : memref<4x200xf8E4M3FN>
  %t = loop.buffer "t" "temp" stride [200, 1] : memref<4x200xf16>
  %u = loop.buffer "u" "temp" stride [200, 1] : memref<4x200xf16>
  loop.compute "convert" ins(%x : memref<4x200xf8E4M3FN>) outs(%t : memref<4x200xf16>) vars ["c0", "c1"] extents [4, 200] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "neg" ins(%t : memref<4x200xf16>) outs(%u : memref<4x200xf16>) vars ["c0", "c1"] extents [4, 200] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "convert" ins(%u : memref<4x200xf16>) outs(%y : memref<4x200xf8E4M3FN>) vars ["c0", "c1"] extents [4, 200] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
