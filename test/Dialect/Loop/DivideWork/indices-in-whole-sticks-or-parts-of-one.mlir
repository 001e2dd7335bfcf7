// 96 indices are three sticks, and the rows they choose have two: six cores as documented. 80 indices are no whole number of
// sticks and stay whole there. Our back end also divides less than a stick of indices: best has more cores, and never more
// than a stick that is not whole (40 indices on two cores).
// RUN: spyre-opt %s --spyre-loop-span-reduction="cores=32 planner=compat" --spyre-loop-work-distribution="cores=32 planner=compat" | FileCheck %s --check-prefix=MANY
// RUN: spyre-opt %s --spyre-loop-span-reduction="cores=2 planner=compat" --spyre-loop-work-distribution="cores=2 planner=compat" | FileCheck %s --check-prefix=TWO
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=32" | FileCheck %s --check-prefix=BEST
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=2" | FileCheck %s --check-prefix=TWO
// The documented machine reads rows of a table whole.
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=32 device=spyre" | FileCheck %s --check-prefix=TABLE

// MANY: extents [96, 128]{{.*}}splits [3, 2]
// TWO: extents [96, 128]{{.*}}splits [1, 2]
// BEST: extents [96, 128]{{.*}}splits [{{[0-9][0-9]}}, 2]
// TABLE: extents [96, 128]{{.*}}splits [3, 1]
// MANY: extents [80, 128]{{.*}}splits [1, 2]
// TWO: extents [80, 128]{{.*}}splits [1, 2]
// BEST: extents [80, 128]{{.*}}splits [{{[0-9][0-9]}}, 2]
// TABLE: extents [80, 128]{{.*}}splits [1, 1]
func.func @main() {
  %w = loop.buffer "w" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 50, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<50x128xf16>
  %i = loop.buffer "i" "input" index 1 stride [1] layout {device_size = array<i64: 3, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>} : memref<96xi32>
  %j = loop.buffer "j" "input" index 2 stride [1] layout {device_size = array<i64: 3, 32>, format = "IEEE_INT32", stride_map = array<i64: 32, 1>} : memref<80xi32>
  %y = loop.buffer "y" "output" index 0 stride [128, 1] layout {device_size = array<i64: 2, 96, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<96x128xf16>
  %z = loop.buffer "z" "output" index 1 stride [128, 1] layout {device_size = array<i64: 2, 80, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<80x128xf16>
  loop.compute "copy" ins(%i, %w : memref<96xi32>, memref<50x128xf16>) outs(%y : memref<96x128xf16>) vars ["c0", "c1"] extents [96, 128]
    reductions 0 maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    indirect [array<i64: 1, 0, 0>]
  loop.compute "copy" ins(%j, %w : memref<80xi32>, memref<50x128xf16>) outs(%z : memref<80x128xf16>) vars ["c0", "c1"] extents [80, 128]
    reductions 0 maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
    indirect [array<i64: 1, 0, 0>]
  return
}
