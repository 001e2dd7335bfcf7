// fp16 -> fp32 -> exp -> fp16: all of it on positions, and conversions along the same dimension undo each other.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-arrange-conversions --spyre-loop-arrange-conversions | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-arrange-conversions --spyre-loop-propagate-layouts | FileCheck %s

// CHECK-NOT: "copy"
// CHECK: loop.compute "dl16tofp32" ins(%x {{.*}}) outs(%t_positions : memref<6x256xf32>)
// CHECK-NEXT: loop.compute "exp" ins(%t_positions {{.*}}) outs(%u_positions : memref<6x256xf32>)
// CHECK-NEXT: loop.compute "fp32todl16" ins(%u_positions {{.*}}) outs(%y : memref<6x256xf16>)
// CHECK-NEXT: return
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 6, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<6x256xf16>
  %t = loop.buffer "t" "temp" stride [256, 1] : memref<6x256xf32>
  %u = loop.buffer "u" "temp" stride [256, 1] : memref<6x256xf32>
  %y = loop.buffer "y" "output" index 0 stride [256, 1] : memref<6x256xf16>
  loop.compute "convert" ins(%x : memref<6x256xf16>) outs(%t : memref<6x256xf32>) vars ["c0", "c1"] extents [6, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "exp" ins(%t : memref<6x256xf32>) outs(%u : memref<6x256xf32>) vars ["c0", "c1"] extents [6, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "convert" ins(%u : memref<6x256xf32>) outs(%y : memref<6x256xf16>) vars ["c0", "c1"] extents [6, 256] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
