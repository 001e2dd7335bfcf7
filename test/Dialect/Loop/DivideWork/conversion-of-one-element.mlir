// One element of [1, 1] is read as one stick along either dimension; its conversion touches two sticks of 32 bits, 256 bytes.
// RUN: spyre-opt %s --spyre-loop-span-reduction="cores=4 span-limit-bytes=256 planner=compat" --spyre-loop-work-distribution="cores=4 span-limit-bytes=256 planner=compat" | FileCheck %s
// RUN: not spyre-opt %s --spyre-loop-span-reduction="cores=4 span-limit-bytes=128 planner=compat" --spyre-loop-work-distribution="cores=4 span-limit-bytes=128 planner=compat tile=false" 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: loop.compute "dl16tofp32" {{.*}} splits [1, 1]
// NONE: SPYRE-E3064: 'dl16tofp32' over c0 1, c1 1: with splits none a core spans 256 bytes of t, the limit is 128
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [1, 1] layout {device_size = array<i64: 1, 1, 64>, format = "SEN169_FP16", stride_map = array<i64: -1, -1, -1>} : memref<1x1xf16>
  %t = loop.buffer "t" "output" index 0 stride [1, 1] layout {device_size = array<i64: 2, 1, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, -1, 1>} : memref<64x1xf32>
  loop.compute "dl16tofp32" ins(%x : memref<1x1xf16>) outs(%t : memref<64x1xf32>) vars ["c0", "c1"] extents [1, 1] reductions 0 maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>]
  return
}
