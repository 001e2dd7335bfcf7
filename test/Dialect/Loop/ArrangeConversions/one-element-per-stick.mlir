// A sum of sticks leaves one element per stick: it is converted as it is, without a change of order and without padding.
// RUN: spyre-opt %s --spyre-loop-arrange-conversions | FileCheck %s

// CHECK: loop.compute "sum" ins(%t0_positions {{.*}}outs(%t1
// CHECK: loop.compute "copy" ins(%t1 {{.*}}outs(%t1_blocks : memref<16x64xf32>) vars ["c0", "c1"] extents [16, 1]
// CHECK: loop.compute "fp32todl16" ins(%t1_blocks {{.*}}outs(%out0_converted : memref<16x1xf16>) vars ["c0", "c1"] extents [16, 1]
// CHECK: loop.compute "copy" ins(%out0_converted {{.*}}outs(%out0
// CHECK-NOT: loop.compute
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 16, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<16x64xf16>
  %t0 = loop.buffer "t0" "temp" stride [64, 1] : memref<16x64xf32>
  %t1 = loop.buffer "t1" "temp" stride [1] : memref<16xf32>
  %out0 = loop.buffer "out0" "output" index 0 stride [1] : memref<16xf16>
  loop.compute "convert" ins(%x : memref<16x64xf16>) outs(%t0 : memref<16x64xf32>) vars ["c0", "c1"] extents [16, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "sum" ins(%t0 : memref<16x64xf32>) outs(%t1 : memref<16xf32>) vars ["c0", "c1"] extents [16, 64] reductions 1 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]
  loop.compute "convert" ins(%t1 : memref<16xf32>) outs(%out0 : memref<16xf16>) vars ["c0"] extents [16] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  return
}
