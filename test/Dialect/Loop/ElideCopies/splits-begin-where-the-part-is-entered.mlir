// 32 rows from row 63 on, then pairs of them: pairs would begin at odd rows, so the rows are copied first.
// RUN: spyre-opt %s --spyre-loop-elide-copies | FileCheck %s

// CHECK: loop.compute "copy" ins(%x : {{.*}} outs(%t :
// CHECK-SAME: extents [32]
// CHECK: loop.compute "copy" ins(%t : {{.*}} outs(%out0 :
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1, 1] layout {device_size = array<i64: 1, 132, 64>, format = "SEN169_FP16", stride_map = array<i64: -1, 1, -1>} : memref<132x1xf16>
  %out0 = loop.buffer "out0" "output" index 0 stride [2, 2, 1] : memref<16x1x2xf16>
  %t = loop.buffer "t" "temp" stride [1, 1] : memref<32x1xf16>
  loop.compute "copy" ins(%x : memref<132x1xf16>) outs(%t : memref<32x1xf16>) vars ["c0"] extents [32] reductions 0 maps [affine_map<(d0) -> (d0 + 63, 0)>, affine_map<(d0) -> (d0, 0)>]
  loop.compute "copy" ins(%t : memref<32x1xf16>) outs(%out0 : memref<16x1x2xf16>) vars ["c0", "c1"] extents [16, 2] reductions 0 maps [affine_map<(d0, d1) -> (d0 * 2 + d1, 0)>, affine_map<(d0, d1) -> (d0, 0, d1)>]
  return
}
