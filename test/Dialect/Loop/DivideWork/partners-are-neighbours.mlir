// 4 columns of sticks and 1024 summed rows: 32 cores need parts of the sum. Their partners are neighbours where that is cheaper;
// without the option, and in the documented modes, the first variable changes fastest.
// RUN: spyre-opt %s --spyre-loop-work-distribution | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-work-distribution="fast-reductions=false" | FileCheck %s --check-prefix=PLAIN
// With LX it is asked behind the plan, of what has nothing there.
// RUN: spyre-opt %s --spyre-loop-work-distribution="fast-reductions=false" --spyre-loop-number-cores | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-work-distribution="fast-reductions=false" --spyre-loop-number-cores --spyre-loop-number-cores | FileCheck %s
// RUN: spyre-opt %s --spyre-loop-work-distribution="fast-reductions=false" --spyre-loop-number-cores="planner=compat" | FileCheck %s --check-prefix=PLAIN
// RUN: sed -e 's/"x" "input" index 0 \(.*\)} :/"x" "temp" \1} {lx_address = 0 : i64} :/' %s | spyre-opt - --spyre-loop-work-distribution="fast-reductions=false" --spyre-loop-number-cores | FileCheck %s --check-prefix=PLAIN
// RUN: spyre-opt %s --spyre-loop-span-reduction="planner=compat" --spyre-loop-work-distribution="planner=compat" | FileCheck %s --check-prefix=PLAIN

// CHECK: #[[OWNERS:.*]] = affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>
// CHECK: splits [4, 8] {owners = #[[OWNERS]]}
// PLAIN: #[[OWNERS:.*]] = affine_map<(d0) -> (d0 mod 4, d0 floordiv 4)>
// PLAIN: splits [4, 8] {owners = #[[OWNERS]]}
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [256, 1] layout {device_size = array<i64: 4, 1024, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 256, 1>} : memref<1024x256xf16>
  %z = loop.buffer "z" "output" index 0 stride [1] layout {device_size = array<i64: 4, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<256xf16>
  loop.compute "sum" ins(%x : memref<1024x256xf16>) outs(%z : memref<256xf16>) vars ["c0", "c1"] extents [256, 1024] reductions 1 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>]
  return
}
