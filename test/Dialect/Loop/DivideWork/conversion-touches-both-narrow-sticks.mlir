// 32 columns are half a stick of 16 bits. A conversion works on whole ones, so it touches both sticks of 32 bits, which lie 64
// rows apart: 16 rows per core span 64 + 16 sticks, 10,240 bytes, in both directions.
// RUN: spyre-opt %s --spyre-loop-span-reduction="cores=4 span-limit-bytes=10240 planner=compat" --spyre-loop-work-distribution="cores=4 span-limit-bytes=10240 planner=compat" | FileCheck %s
// RUN: not spyre-opt %s --spyre-loop-span-reduction="cores=4 span-limit-bytes=10112 planner=compat" --spyre-loop-work-distribution="cores=4 span-limit-bytes=10112 planner=compat tile=false" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=4 span-limit-bytes=10240" | FileCheck %s --check-prefix=FITS
// Tiles of 32 rows are 8 rows per core: 64 + 8 sticks.
// RUN: spyre-opt %s --spyre-loop-work-distribution="cores=4 span-limit-bytes=9216" | FileCheck %s --check-prefix=TILES

// CHECK: loop.compute "dl16tofp32" {{.*}} splits [4, 1]
// CHECK: loop.compute "fp32todl16" {{.*}} splits [4, 1]
// NONE: SPYRE-E3064: 'dl16tofp32' over c0 64, c1 32: with splits c0 4 a core spans 10240 bytes of t, the limit is 10112
// FITS-NOT: tiles
// TILES: loop.compute "dl16tofp32" {{.*}} splits [4, 1] {owners = {{.*}}, tiles = array<i64: 2, 1>}
// TILES: loop.compute "fp32todl16" {{.*}} splits [4, 1] {owners = {{.*}}, tiles = array<i64: 2, 1>}
func.func @main() {
  %x = loop.buffer "x" "input" index 0 stride [32, 1] layout {device_size = array<i64: 1, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 32, 1>} : memref<64x32xf16>
  %t = loop.buffer "t" "temp" stride [64, 1] layout {device_size = array<i64: 2, 64, 32>, format = "IEEE_FP32", stride_map = array<i64: 32, 64, 1>} : memref<64x64xf32>
  %z = loop.buffer "z" "output" index 0 stride [32, 1] layout {device_size = array<i64: 1, 64, 64>, format = "SEN169_FP16", stride_map = array<i64: 64, 32, 1>} : memref<64x32xf16>
  loop.compute "dl16tofp32" ins(%x : memref<64x32xf16>) outs(%t : memref<64x64xf32>) vars ["c0", "c1"] extents [64, 32] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  loop.compute "fp32todl16" ins(%t : memref<64x64xf32>) outs(%z : memref<64x32xf16>) vars ["c0", "c1"] extents [64, 32] reductions 0 maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
  return
}
