// A copy that changes the stick of [67, 128]: 67 is padded to two sticks in the output and must stay whole; 128 lanes are two
// sticks.
// RUN: spyre-opt %s --spyre-loop-span-reduction="cores=32 planner=compat" --spyre-loop-work-distribution="cores=32 planner=compat" | FileCheck %s

// CHECK: splits [1, 2]
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [128, 1] layout {device_size = array<i64: 2, 67, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 128, 1>} : memref<67x128xf16>
  %z = loop.buffer "z" "output" index 0 stride [128, 1] layout {device_size = array<i64: 2, 128, 64>, format = "SEN169_FP16", stride_map = array<i64: 8192, 1, 128>} : memref<67x128xf16>
  loop.compute "copy" ins(%x : memref<67x128xf16>) outs(%z : memref<67x128xf16>) vars ["c0", "c1"] extents [67, 128] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
