// Positions along c0 (40 elements, padded to 64) are not used by exx2, which sums rows along its lanes; the sum of the
// other operation may use them, but its lanes must not be what it sums.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK: loop.compute "exx2"{{.*}}extents [40, 130]
// CHECK: loop.compute "sum"{{.*}}extents [64, 130]
// CHECK-SAME: reduces_padding
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [130, 1] layout {device_size = array<i64: 3, 40, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 130, 1>} : memref<40x130xf16>
  %t = loop.buffer "t" "temp" stride [130, 1] : memref<40x130xf32>
  %e = loop.buffer "e" "output" index 0 stride [1] : memref<40xf32>
  %s = loop.buffer "s" "temp" stride [1] : memref<40xf32>
  %y = loop.buffer "y" "output" index 1 stride [1] : memref<40xf16>
  loop.compute "convert" ins(%x : memref<40x130xf16>) outs(%t : memref<40x130xf32>) vars ["c0", "c1"] extents [40, 130] reductions 0
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "exx2" ins(%t : memref<40x130xf32>) outs(%e : memref<40xf32>) vars ["c0", "c1"] extents [40, 130] reductions 1
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] constants {exx2scale = 0.0078125 : f64, useZeroMean = 0.0 : f64}
  loop.compute "sum" ins(%t : memref<40x130xf32>) outs(%s : memref<40xf32>) vars ["c0", "c1"] extents [40, 130] reductions 1
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]
  loop.compute "convert" ins(%s : memref<40xf32>) outs(%y : memref<40xf16>) vars ["c0"] extents [40] reductions 0
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  return
}
