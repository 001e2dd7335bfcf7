// t [97, 64] is the second operand of a product over K = 97, which reads whole sticks of rows that must be zero behind K; and u is read
// by a copy that makes sticks of rows. Neither is given more rows, and x is not copied.
// RUN: spyre-opt %s --spyre-loop-even-rows="extent=97 rows=128 even=96" | FileCheck %s

// CHECK: loop.buffer "t" {{.*}} : memref<97x64xf16>
// CHECK: loop.buffer "u" {{.*}} : memref<97x64xf16>
// CHECK: loop.compute "exp" ins(%x {{.*}} extents [97, 64]
// CHECK-NEXT: loop.compute "neg" ins(%x {{.*}} extents [97, 64]
// CHECK-NEXT: loop.compute "batchmatmul"
// CHECK-NEXT: loop.compute "copy"
// CHECK-NEXT: return
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 97, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<97x64xf16>
  %w = loop.buffer "w" "input" index 1 stride [97, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 97, 1>} : memref<8x97xf16>
  %t = loop.buffer "t" "temp" stride [64, 1] layout {device_size = array<i64: 1, 97, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<97x64xf16>
  %u = loop.buffer "u" "temp" stride [64, 1] layout {device_size = array<i64: 1, 97, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<97x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  %v = loop.buffer "v" "output" index 1 stride [97, 1] layout {device_size = array<i64: 2, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 97, 1>} : memref<64x97xf16>
  loop.compute "exp" ins(%x : memref<97x64xf16>) outs(%t : memref<97x64xf16>) vars ["c0", "c1"] extents [97, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "neg" ins(%x : memref<97x64xf16>) outs(%u : memref<97x64xf16>) vars ["c0", "c1"] extents [97, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "batchmatmul" ins(%w, %t : memref<8x97xf16>, memref<97x64xf16>) outs(%z : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 97] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  loop.compute "copy" ins(%u : memref<97x64xf16>) outs(%v : memref<64x97xf16>) vars ["c0", "c1"] extents [97, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>]
  return
}
