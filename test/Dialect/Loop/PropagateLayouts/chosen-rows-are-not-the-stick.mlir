// Columns are chosen, and the table has its sticks along them: the whole table is copied to sticks along its rows,
// since what is chosen is not known before.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: %x_restick = loop.buffer "x_restick" "temp" stride [64, 1] layout {device_size = array<i64: 2, 64, 64>
// CHECK: loop.compute "copy" ins(%x : memref<128x64xf16>) outs(%x_restick : memref<128x64xf16>) {{.*}}extents [128, 64]
// CHECK-SAME: why = "stick-differs: 'x', input 0, lies in sticks along dimension 1; copy -> 'y' reads it in sticks along dimension 0"
// CHECK: loop.compute "copy" ins(%i, %x_restick :
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<128x64xf16>
  %i = loop.buffer "i" "input" index 1 stride [1] layout {device_size = array<i64: 1, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>} : memref<5xi64>
  %y = loop.buffer "y" "output" index 0 stride [5, 1] : memref<128x5xf16>
  loop.compute "copy" ins(%i, %x : memref<5xi64>, memref<128x64xf16>) outs(%y : memref<128x5xf16>) vars ["c0", "c1"] extents [128, 5]
    reductions 0 maps [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>]
    indirect [array<i64: 1, 1, 0>]
  return
}
