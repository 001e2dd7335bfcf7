// Rows and columns of a product as one dimension: 70 columns are no whole sticks, so the copy stays; 128 are.
// RUN: spyre-opt %s --split-input-file --spyre-loop-elide-copies | FileCheck %s

// CHECK: loop.compute "batchmatmul"{{.*}} outs(%t : memref<16x70xf16>)
// CHECK: loop.compute "copy"
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 16, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<16x64xf16>
  %y = loop.buffer "y" "input" index 1 stride [70, 1] layout {device_size = array<i64: 2, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 70, 1>} : memref<64x70xf16>
  %t = loop.buffer "t" "temp" stride [70, 1] : memref<16x70xf16>
  %z = loop.buffer "z" "output" index 0 stride [1] : memref<1120xf16>
  loop.compute "batchmatmul" ins(%x, %y : memref<16x64xf16>, memref<64x70xf16>) outs(%t : memref<16x70xf16>) vars ["c0", "c1", "c2"]
    extents [16, 70, 64] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  loop.compute "copy" ins(%t : memref<16x70xf16>) outs(%z : memref<1120xf16>) vars ["c0", "c1"] extents [16, 70] reductions 0
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 * 70 + d1)>]
  return
}

// -----

// CHECK: loop.compute "batchmatmul"{{.*}} outs(%z : memref<2048xf16>)
// CHECK-NOT: loop.compute "copy"
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 16, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<16x64xf16>
  %y = loop.buffer "y" "input" index 1 stride [128, 1] layout {device_size = array<i64: 2, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<64x128xf16>
  %t = loop.buffer "t" "temp" stride [128, 1] : memref<16x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [1] : memref<2048xf16>
  loop.compute "batchmatmul" ins(%x, %y : memref<16x64xf16>, memref<64x128xf16>) outs(%t : memref<16x128xf16>) vars ["c0", "c1", "c2"]
    extents [16, 128, 64] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  loop.compute "copy" ins(%t : memref<16x128xf16>) outs(%z : memref<2048xf16>) vars ["c0", "c1"] extents [16, 128] reductions 0
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 * 128 + d1)>]
  return
}
