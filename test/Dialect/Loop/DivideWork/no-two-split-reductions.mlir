// One operation that sums two dimensions, both of which hints divide: partial sums of two dimensions cannot be combined. The compiler itself
// reduces one dimension after the other, so this comes from a phase that somebody edited.
// RUN: not spyre-opt %s --spyre-loop-work-distribution 2>&1 | FileCheck %s
// RUN: not spyre-opt %s --spyre-loop-span-reduction="planner=compat" --spyre-loop-work-distribution="planner=compat" 2>&1 | FileCheck %s
// RUN: not spyre-compile %s --from layout --no-cache -o %t.model 2>&1 | FileCheck %s
// RUN: sed -e "s/0, 2, 4/0, 1, 4/" %s | not spyre-opt - --spyre-loop-work-distribution 2>&1 | FileCheck %s --check-prefix=ONE

// CHECK: SPYRE-E3063: {{.*}}'sumnonstick': hints split 2 reduction dimensions (c1, c2), at most 1 can be; drop one of the hints
// ONE: SPYRE-E3069: {{.*}}4 slices of c2 (16 pieces) are not possible by rule multiReduction
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1024, 64, 1] layout {device_size = array<i64: 16, 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1024, 1>} : memref<8x16x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [1] layout {device_size = array<i64: 1, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<64xf16>
  loop.compute "sumnonstick" ins(%x : memref<8x16x64xf16>) outs(%z : memref<64xf16>) vars ["c0", "c1", "c2"] extents [64, 8, 16] reductions 2 maps [affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0)>] {hints = array<i64: 0, 2, 4>}
  return
}
