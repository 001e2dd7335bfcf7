// 37 rows of 13 sticks: 13 equal slices of the sticks, or 26 cores with 19 and 18 rows. The uneven variable changes slowest; without
// the option, and in the documented modes, slices are equal.
// RUN: spyre-opt %s --spyre-loop-work-distribution="uneven=true" | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-work-distribution="uneven=true" --spyre-loop-work-distribution="uneven=true" | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-work-distribution | FileCheck %s --check-prefix=EVEN
// RUN: spyre-opt %s --spyre-loop-work-distribution="uneven=true" --spyre-loop-work-distribution | FileCheck %s --check-prefix=EVEN
// RUN: spyre-opt %s --spyre-loop-span-reduction="planner=compat" --spyre-loop-work-distribution="uneven=true planner=compat" | FileCheck %s --check-prefix=EVEN
// Where equal slices keep all cores busy nothing is uneven.
// RUN: sed -e 's/37/64/g' %s | spyre-opt - --spyre-loop-work-distribution="uneven=true" | FileCheck %s --check-prefix=EQUAL
// What is no variable with slices is refused.
// RUN: sed -e 's/d1)>]$/d1)>] splits [37, 1] {uneven = 1 : i64}/' %s | not spyre-opt - 2>&1 | FileCheck %s --check-prefix=WRONG

// CHECK: #[[OWNERS:.*]] = affine_map<(d0) -> (d0 floordiv 13, d0 mod 13)>
// CHECK: splits [2, 13] {owners = #[[OWNERS]], uneven = 0 : i64}
// EVEN: splits [1, 13]
// EVEN-NOT: uneven
// EQUAL: splits [2, 13]
// EQUAL-NOT: uneven
// WRONG: uneven is the number of a split var that is not reduced
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [832, 1] layout {device_size = array<i64: 13, 37, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 832, 1>} : memref<37x832xf16>
  %z = loop.buffer "z" "output" index 0 stride [832, 1] layout {device_size = array<i64: 13, 37, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 832, 1>} : memref<37x832xf16>
  loop.compute "exp" ins(%x : memref<37x832xf16>) outs(%z : memref<37x832xf16>) vars ["c0", "c1"] extents [37, 832] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
