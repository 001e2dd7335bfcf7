// fp32todl16 over 13 elements reads the 64 positions of its block: a copy of the 13 it counts would lose some.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: loop.compute "copy" ins(%t : memref<64x4xf32>) outs(%t_restick : memref<64x4xf32>) {{.*}}extents [64, 4]
// CHECK: loop.compute "fp32todl16" ins(%t_restick : memref<64x4xf32>)
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [4, 1] layout {device_size = array<i64: 1, 64, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 4, 1>} : memref<64x4xf32>
  %t = loop.buffer "t" "temp" stride [4, 1] layout {device_size = array<i64: 1, 64, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 4, 1>} : memref<64x4xf32>
  %y = loop.buffer "y" "output" index 0 stride [4, 1] : memref<13x4xf16>
  loop.compute "abs" ins(%x : memref<64x4xf32>) outs(%t : memref<64x4xf32>) vars ["c0", "c1"] extents [64, 4] reductions 0
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "fp32todl16" ins(%t : memref<64x4xf32>) outs(%y : memref<13x4xf16>) vars ["c0", "c1"] extents [4, 13] reductions 0
    maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>]
  return
}
