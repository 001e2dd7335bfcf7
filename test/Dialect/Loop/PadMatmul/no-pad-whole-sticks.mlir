// K = 128 is two whole sticks: nothing to pad.
// RUN: spyre-opt %s --spyre-loop-pad-matmul | FileCheck %s

// CHECK-NOT: _padded
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<8x128xf16>
  %y = loop.buffer "y" "input" index 1 stride [64, 1] layout {device_size = array<i64: 1, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<128x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  loop.compute "batchmatmul" ins(%x, %y : memref<8x128xf16>, memref<128x64xf16>) outs(%z : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 128] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  return
}
