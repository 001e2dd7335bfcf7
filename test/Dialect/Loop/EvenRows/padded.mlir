// 997 rows become 1024: t has them all, x is copied, with 27 of its rows once more. The sum over rows sees 997 of them, and the
// output, which has 997, is written in two parts. What somebody has hinted, or reads in sticks of rows, stays as it is.
// RUN: spyre-opt %s --spyre-loop-even-rows="extent=997 rows=1024 even=992" | FileCheck %s
// RUN: sed -e 's/\(loop.compute "exp".*\)/\1 {hints = array<i64: 1, 0>}/' %s | spyre-opt - --spyre-loop-even-rows="extent=997 rows=1024 even=992" | FileCheck %s --check-prefix=STAYS
// RUN: sed -e 's/\(loop.compute "exp".*\)/\1 {sizes = array<i64: 1, 997, 0, 0>}/' %s | spyre-opt - --spyre-loop-even-rows="extent=997 rows=1024 even=992" | FileCheck %s --check-prefix=STAYS
// RUN: sed -e 's/"t" "temp"/"t" "output" index 2/' %s | spyre-opt - --spyre-loop-even-rows="extent=997 rows=1024 even=992" | FileCheck %s --check-prefix=STAYS
// RUN: sed -e 's/"exp" ins/"x_cumsum" ins/' %s | spyre-opt - --spyre-loop-even-rows="extent=997 rows=1024 even=992" | FileCheck %s --check-prefix=STAYS
// RUN: spyre-opt %s --spyre-loop-even-rows="extent=64 rows=96 even=32" | FileCheck %s --check-prefix=STAYS
// RUN: not spyre-opt %s --spyre-loop-even-rows="extent=997 rows=4096 even=992" 2>&1 | FileCheck %s --check-prefix=TOO-MANY
// RUN: not spyre-opt %s --spyre-loop-even-rows="extent=997 even=997" 2>&1 | FileCheck %s --check-prefix=NO-REST

// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[REST:.*]] = affine_map<(d0, d1) -> (d0 + 992, d1)>
// CHECK-DAG: #[[MORE:.*]] = affine_map<(d0, d1) -> (d0 + 997, d1)>
// CHECK: loop.buffer "t" "temp" stride [64, 1] layout {device_size = array<i64: 1, 1024, 64>, {{.*}}} : memref<1024x64xf16>
// CHECK: loop.buffer "x_rows" "temp" {{.*}} : memref<1024x64xf16>
// CHECK: loop.compute "copy" ins(%x {{.*}} outs(%x_rows {{.*}} extents [992, 64] reductions 0 maps [#[[ALL]], #[[ALL]]]
// CHECK-NEXT: loop.compute "copy" ins(%x {{.*}} outs(%x_rows {{.*}} extents [5, 64] reductions 0 maps [#[[REST]], #[[REST]]]
// CHECK-NEXT: loop.compute "copy" ins(%x {{.*}} outs(%x_rows {{.*}} extents [27, 64] reductions 0 maps [#[[ALL]], #[[MORE]]]
// CHECK-NEXT: loop.compute "exp" ins(%x_rows {{.*}} extents [1024, 64]
// CHECK-NEXT: loop.compute "sumnonstick" ins(%t : memref<1024x64xf16>) {{.*}} extents [64, 997]
// CHECK-NEXT: loop.compute "neg" ins(%t {{.*}} extents [992, 64] reductions 0 maps [#[[ALL]], #[[ALL]]]
// CHECK-NEXT: loop.compute "neg" ins(%t {{.*}} extents [5, 64] reductions 0 maps [#[[REST]], #[[REST]]]
// CHECK-NEXT: return
// STAYS: loop.buffer "t" {{.*}} : memref<997x64xf16>
// STAYS: loop.compute "{{exp|x_cumsum}}" ins(%x {{.*}} extents [997, 64]
// STAYS-NEXT: loop.compute "sumnonstick"
// STAYS-NEXT: loop.compute "neg" {{.*}} extents [997, 64]
// STAYS-NEXT: return
// TOO-MANY: SPYRE-E3146: 997 rows as 4096
// NO-REST: SPYRE-E3146: 997 rows as 0, or 997 and the rest
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 997, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<997x64xf16>
  %t = loop.buffer "t" "temp" stride [64, 1] layout {device_size = array<i64: 1, 997, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<997x64xf16>
  %s = loop.buffer "s" "output" index 0 stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
  %z = loop.buffer "z" "output" index 1 stride [64, 1] layout {device_size = array<i64: 1, 997, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<997x64xf16>
  loop.compute "exp" ins(%x : memref<997x64xf16>) outs(%t : memref<997x64xf16>) vars ["c0", "c1"] extents [997, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "sumnonstick" ins(%t : memref<997x64xf16>) outs(%s : memref<64xf16>) vars ["c0", "c1"] extents [64, 997] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
  loop.compute "neg" ins(%t : memref<997x64xf16>) outs(%z : memref<997x64xf16>) vars ["c0", "c1"] extents [997, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
