// 997 rows run as 992 and 5. t is read by these operations alone and has two parts of its own; u is also summed over all rows, stays
// whole and is written in two parts.
// RUN: spyre-opt %s --spyre-loop-even-rows="extent=997 even=992" | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-even-rows="extent=64 even=32" | FileCheck %s --check-prefix=STICKS

// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[REST:.*]] = affine_map<(d0, d1) -> (d0 + 992, d1)>
// CHECK: loop.buffer "t" "temp" {{.*}} : memref<992x64xf16>
// CHECK: loop.buffer "u" "temp" {{.*}} : memref<997x64xf16>
// CHECK: loop.buffer "t_rest" "temp" {{.*}} layout {device_size = array<i64: 1, 5, 64>, {{.*}} : memref<5x64xf16>
// CHECK: loop.compute "exp" ins(%x {{.*}} outs(%t {{.*}} extents [992, 64] reductions 0 maps [#[[ALL]], #[[ALL]]]
// CHECK-NEXT: loop.compute "exp" ins(%x {{.*}} outs(%t_rest {{.*}} extents [5, 64] reductions 0 maps [#[[REST]], #[[ALL]]]
// CHECK-NEXT: loop.compute "neg" ins(%t {{.*}} outs(%u {{.*}} extents [992, 64] reductions 0 maps [#[[ALL]], #[[ALL]]]
// CHECK-NEXT: loop.compute "neg" ins(%t_rest {{.*}} outs(%u {{.*}} extents [5, 64] reductions 0 maps [#[[ALL]], #[[REST]]]
// CHECK-NEXT: loop.compute "sumnonstick" ins(%u {{.*}} extents [64, 997]
// CHECK-NEXT: return
// STICKS: loop.compute "exp" {{.*}} extents [997, 64]
// STICKS-NEXT: loop.compute "neg" {{.*}} extents [997, 64]
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [64, 1] layout {device_size = array<i64: 1, 997, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<997x64xf16>
  %t = loop.buffer "t" "temp" stride [64, 1] layout {device_size = array<i64: 1, 997, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<997x64xf16>
  %u = loop.buffer "u" "temp" stride [64, 1] layout {device_size = array<i64: 1, 997, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<997x64xf16>
  %s = loop.buffer "s" "output" index 0 stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
  loop.compute "exp" ins(%x : memref<997x64xf16>) outs(%t : memref<997x64xf16>) vars ["c0", "c1"] extents [997, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "neg" ins(%t : memref<997x64xf16>) outs(%u : memref<997x64xf16>) vars ["c0", "c1"] extents [997, 64] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "sumnonstick" ins(%u : memref<997x64xf16>) outs(%s : memref<64xf16>) vars ["c0", "c1"] extents [64, 997] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
  return
}
