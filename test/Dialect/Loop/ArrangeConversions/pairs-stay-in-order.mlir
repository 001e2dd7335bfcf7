// Rows that a conversion left in its own order: mean and mean of squares lie in pairs, one per row, that no copy of
// elements could put in that order, so the rows are put in order before they are normalised.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK: loop.compute "exx2" ins(%t_standard : {{.*}} outs(%p :
// CHECK: loop.compute "layernormnorm" ins(%t_standard, %p, %s,
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [130, 1] layout {device_size = array<i64: 1, 130, 64>, format = "SEN169_FP16", stride_map = array<i64: 8320, 1, 130>} : memref<64x130xf16>
  %t = loop.buffer "t" "temp" stride [130, 1] : memref<64x130xf32>
  %p = loop.buffer "p" "temp" stride [1] : memref<64xf32>
  %s = loop.buffer "s" "temp" stride [1] : memref<64xf32>
  %one = loop.buffer "one" "constant" stride [] layout {device_size = array<i64: 1, 32>, format = "IEEE_FP32", stride_map = array<i64: -1, -1>} {value = 1.0 : f64} : memref<f32>
  %y = loop.buffer "y" "output" index 0 stride [130, 1] : memref<64x130xf32>
  loop.compute "convert" ins(%x : memref<64x130xf16>) outs(%t : memref<64x130xf32>) vars ["c1", "c0"] extents [130, 64] reductions 0
    maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>]
  loop.compute "exx2" ins(%t : memref<64x130xf32>) outs(%p : memref<64xf32>) vars ["c0", "c1"] extents [64, 130] reductions 1
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] constants {exx2scale = 0.0078125 : f64, useZeroMean = 0.0 : f64}
  loop.compute "layernormscale" ins(%p : memref<64xf32>) outs(%s : memref<64xf32>) vars ["c0"] extents [64] reductions 0
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] constants {eps = 0.03125 : f64}
  loop.compute "layernormnorm" ins(%t, %p, %s, %one, %one : memref<64x130xf32>, memref<64xf32>, memref<64xf32>, memref<f32>, memref<f32>) outs(%y : memref<64x130xf32>) vars ["c0", "c1"] extents [64, 130] reductions 0
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
