// Rows are split over the cores; the reduced variable and the single column of sticks stay whole.
// RUN: spyre-opt %s --spyre-loop-span-reduction="cores=4 planner=compat" --spyre-loop-work-distribution="cores=4 planner=compat" | FileCheck %s --check-prefix=FOUR
// RUN: spyre-opt %s --spyre-loop-span-reduction="cores=1 planner=compat" --spyre-loop-work-distribution="cores=1 planner=compat" | FileCheck %s --check-prefix=ONE
// RUN: not spyre-opt %s --spyre-loop-span-reduction="cores=0 planner=compat" --spyre-loop-work-distribution="cores=0 planner=compat" 2>&1 | FileCheck %s --check-prefix=NONE

// FOUR: splits [4, 1, 1]
// ONE: splits [1, 1, 1]
// NONE: SPYRE-E3061: 0 cores asked for, device 'openspyre' has 32; give 1 to 32
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<8x128xf16>
  %y = loop.buffer "y" "input" index 1 stride [64, 1] layout {device_size = array<i64: 1, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<128x64xf16>
  %z = loop.buffer "z" "output" index 0 stride [64, 1] layout {device_size = array<i64: 1, 8, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 64, 1>} : memref<8x64xf16>
  loop.compute "batchmatmul" ins(%x, %y : memref<8x128xf16>, memref<128x64xf16>) outs(%z : memref<8x64xf16>) vars ["c0", "c1", "c2"] extents [8, 64, 128] reductions 1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  return
}
