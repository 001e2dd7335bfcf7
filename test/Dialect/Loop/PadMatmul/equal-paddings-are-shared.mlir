// Two products with the same y read one padded copy of it, unless y gets new contents in between.
// RUN: spyre-opt %s --split-input-file --spyre-loop-pad-matmul | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: loop.buffer "y_padded"
// CHECK-NOT: y_padded_1
// CHECK: loop.compute "batchmatmul" ins(%x, %y_padded {{.*}} outs(%z
// CHECK-NOT: loop.compute "copy"
// CHECK: loop.compute "batchmatmul" ins(%x, %y_padded {{.*}} outs(%w
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [67, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 67, 1>} : memref<8x67xf16>
  %y = loop.buffer "y" "input" index 1 stride [64, 1] layout {device_size = array<i64: 1, 67, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<67x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  %w = loop.buffer "w" "output" index 1 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  loop.compute "batchmatmul" ins(%x, %y : memref<8x67xf16>, memref<67x64xf16>) outs(%z : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 67] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  loop.compute "batchmatmul" ins(%x, %y : memref<8x67xf16>, memref<67x64xf16>) outs(%w : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 67] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  return
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: loop.compute "batchmatmul" ins(%x, %y_padded {{.*}} outs(%z
// CHECK: loop.compute "exp" {{.*}} outs(%y
// CHECK: loop.compute "batchmatmul" ins(%x, %y_padded_1 {{.*}} outs(%w
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [67, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 67, 1>} : memref<8x67xf16>
  %y = loop.buffer "y" "input" index 1 stride [64, 1] layout {device_size = array<i64: 1, 67, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<67x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  %w = loop.buffer "w" "output" index 1 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  loop.compute "batchmatmul" ins(%x, %y : memref<8x67xf16>, memref<67x64xf16>) outs(%z : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 67] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  loop.compute "exp" ins(%y : memref<67x64xf16>) outs(%y : memref<67x64xf16>) vars ["c0", "c1"] extents [67, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "batchmatmul" ins(%x, %y : memref<8x67xf16>, memref<67x64xf16>) outs(%w : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 67] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  return
}
