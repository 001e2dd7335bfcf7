// 130 is reduced and no multiple of 64: the conversion follows the 64 rows, whose order nothing asks for.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK: loop.compute "dl16tofp32" ins(%x {{.*}}) outs(%t_positions : memref<64x130xf32>) vars ["c0", "c1"] extents [130, 64]
// CHECK-NEXT: loop.compute "exp" ins(%t_positions {{.*}}) outs(%u_positions : memref<64x130xf32>)
// CHECK-NEXT: loop.compute "max" ins(%u_positions {{.*}}) outs(%s_positions : memref<64xf32>)
// CHECK-NEXT: loop.compute "fp32todl16" ins(%s_positions {{.*}}) outs(%y : memref<64xf16>)
// CHECK-NEXT: return
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [130, 1] layout {device_size = array<i64: 3, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 130, 1>} : memref<64x130xf16>
  %t = loop.buffer "t" "temp" stride [130, 1] : memref<64x130xf32>
  %u = loop.buffer "u" "temp" stride [130, 1] : memref<64x130xf32>
  %s = loop.buffer "s" "temp" stride [1] : memref<64xf32>
  %y = loop.buffer "y" "output" index 0 stride [1] : memref<64xf16>
  loop.compute "convert" ins(%x : memref<64x130xf16>) outs(%t : memref<64x130xf32>) vars ["c0", "c1"] extents [64, 130] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "exp" ins(%t : memref<64x130xf32>) outs(%u : memref<64x130xf32>) vars ["c0", "c1"] extents [64, 130] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "max" ins(%u : memref<64x130xf32>) outs(%s : memref<64xf32>) vars ["c0", "c1"] extents [64, 130] reductions 1 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]
  loop.compute "convert" ins(%s : memref<64xf32>) outs(%y : memref<64xf16>) vars ["c0"] extents [64] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  return
}
