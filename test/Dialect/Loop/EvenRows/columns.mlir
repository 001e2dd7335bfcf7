// 50257 columns are 786 sticks, which at most 6 of 32 cores share. As 768 sticks and 18 they run twice; t has two parts. A product is cut
// along N, where it reads no weight twice. Columns that are rows of another operand (the copy) stay.
// RUN: spyre-opt %s --spyre-loop-even-rows="extent=50257 even=49152 columns=true" | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-even-rows="extent=50257 even=49152" | FileCheck %s --check-prefix=ROWS
// RUN: not spyre-opt %s --spyre-loop-even-rows="extent=50257 even=49000 columns=true" 2>&1 | FileCheck %s --check-prefix=STICK
// One column would have no stick of its own.
// RUN: not spyre-opt %s --spyre-loop-even-rows="extent=49153 even=49152 columns=true" 2>&1 | FileCheck %s --check-prefix=ONE

// CHECK: loop.buffer "t" "temp" {{.*}}device_size = array<i64: 768, 2, 64>{{.*}} : memref<2x49152xf16>
// CHECK: loop.buffer "t_rest" "temp" {{.*}}device_size = array<i64: 18, 2, 64>{{.*}} : memref<2x1105xf16>
// CHECK: loop.compute "batchmatmul" {{.*}} outs(%t {{.*}} extents [2, 49152, 64]
// CHECK-NEXT: loop.compute "batchmatmul" {{.*}} outs(%t_rest {{.*}} extents [2, 1105, 64]
// CHECK-NEXT: loop.compute "exp" {{.*}} extents [2, 49152]
// CHECK-NEXT: loop.compute "exp" {{.*}} extents [2, 1105]
// CHECK-NEXT: loop.compute "copy" {{.*}} extents [2, 50257]
// ROWS: loop.compute "batchmatmul" {{.*}} extents [2, 50257, 64]
// STICK: SPYRE-E3146: 50257 rows as 0, or 49000 and the rest
// ONE: SPYRE-E3146: 49153 rows as 0, or 49152 and the rest
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<2x64xf16>
  %w = loop.buffer "w" "input" index 1 stride [50257, 1] layout {device_size = array<i64: 786, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 50257, 1>} : memref<64x50257xf16>
  %t = loop.buffer "t" "temp" stride [50257, 1] layout {device_size = array<i64: 786, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 50257, 1>} : memref<2x50257xf16>
  %u = loop.buffer "u" "temp" stride [50257, 1] layout {device_size = array<i64: 786, 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 50257, 1>} : memref<2x50257xf16>
  %z = loop.buffer "z" "output" index 0 stride [2, 1] layout {device_size = array<i64: 1, 50257, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 2, 1>} : memref<50257x2xf16>
  loop.compute "batchmatmul" ins(%x, %w : memref<2x64xf16>, memref<64x50257xf16>) outs(%t : memref<2x50257xf16>) vars ["c0", "c1", "c2"] extents [2, 50257, 64] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  loop.compute "exp" ins(%t : memref<2x50257xf16>) outs(%u : memref<2x50257xf16>) vars ["c0", "c1"] extents [2, 50257] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "copy" ins(%u : memref<2x50257xf16>) outs(%z : memref<50257x2xf16>) vars ["c0", "c1"] extents [2, 50257] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>]
  return
}
