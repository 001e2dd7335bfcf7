// Only the caller reads the result: 16 bits are rearranged, then converted into the result.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK: loop.compute "copy" ins(%x : memref<6x256xf16>) outs(%t_standard : memref<6x256xf16>) {{.*}} extents [6, 4, 4, 2, 8]
// CHECK-NEXT: loop.compute "dl16tofp32" ins(%t_standard {{.*}}) outs(%t : memref<6x256xf32>)
// CHECK-NEXT: return
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<6x256xf16>
  %t = loop.buffer "t" "output" index 0 stride [256, 1] : memref<6x256xf32>
  loop.compute "convert" ins(%x : memref<6x256xf16>) outs(%t : memref<6x256xf32>) vars ["c0", "c1"] extents [6, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
