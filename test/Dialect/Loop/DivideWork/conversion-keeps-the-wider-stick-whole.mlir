// 128 elements are two sticks of 16 bits and four of 32: two cores at most.
// RUN: spyre-opt %s --spyre-loop-span-reduction="cores=32 planner=compat" --spyre-loop-work-distribution="cores=32 planner=compat" | FileCheck %s

// CHECK: loop.compute "dl16tofp32" {{.*}} splits [2]
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1] layout {device_size = array<i64: 2, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 1>} : memref<128xf16>
  %t = loop.buffer "t" "output" index 0 stride [1] layout {device_size = array<i64: 4, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 1>} : memref<128xf32>
  loop.compute "dl16tofp32" ins(%x : memref<128xf16>) outs(%t : memref<128xf32>) vars ["c0"] extents [128] reductions 0 maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  return
}
