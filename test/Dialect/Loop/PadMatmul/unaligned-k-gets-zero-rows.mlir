// K = 67 runs in whole sticks: y gets 128 rows, rows 67..127 are zeroed, rows 0..66 copied. x is left alone.
// RUN: spyre-opt %s --spyre-loop-pad-matmul | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-pad-matmul > %t.once
// RUN: spyre-opt %t.once --spyre-loop-pad-matmul | diff %t.once -

// CHECK-DAG: #[[TAIL:.*]] = affine_map<(d0, d1) -> (d0, d1 + 67)>
// CHECK: %y_padded = loop.buffer "y_padded" "temp" {{.*}} layout {device_size = array<i64: 1, 128, 64>, {{.*}}} : memref<64x128xf16>
// CHECK: loop.compute "copy" ins(%const : memref<f16>) outs(%y_padded {{.*}}) {{.*}} extents [64, 61] reductions 0 maps [#{{.*}}, #[[TAIL]]]
// CHECK: loop.compute "copy" ins(%y : {{.*}}) outs(%y_padded {{.*}}) {{.*}} extents [64, 67]
// CHECK: loop.compute "batchmatmul" ins(%x, %y_padded {{.*}} extents [8, 64, 67]
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [67, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 67, 1>} : memref<8x67xf16>
  %y = loop.buffer "y" "input" index 1 stride [64, 1] layout {device_size = array<i64: 1, 67, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<67x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  loop.compute "batchmatmul" ins(%x, %y : memref<8x67xf16>, memref<67x64xf16>) outs(%z : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 67] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  return
}
