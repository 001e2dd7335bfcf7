// [512] read as [16, 32]: rows start inside sticks. The buffer is copied to one element per stick, then to a temp with the
// wanted stick.
// RUN: spyre-opt %s --spyre-loop-propagate-layouts | FileCheck %s

// CHECK: loop.compute "copy" ins(%x {{.*}}) outs(%x_restick : memref<512xf16>)
// CHECK: loop.compute "copy" ins(%x_restick {{.*}}) outs(%x_restick_restick : memref<16x32xf16>)
// CHECK: loop.compute "exp" ins(%x_restick_restick
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1] layout {device_size = array<i64: 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<512xf16>
  %y = loop.buffer "y" "input" index 1 stride [32, 1] layout {device_size = array<i64: 1, 16, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 32, 1>} : memref<16x32xf16>
  %z = loop.buffer "z" "output" index 0 stride [32, 1] layout {device_size = array<i64: 1, 16, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 32, 1>} : memref<16x32xf16>
  loop.compute "exp" ins(%x : memref<512xf16>) outs(%z : memref<16x32xf16>) vars ["c0", "c1"] extents [16, 32] reductions 0 maps [affine_map<(d0, d1) -> (32 * d0 + d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
